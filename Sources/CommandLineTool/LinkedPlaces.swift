import SystemIO
import TransferModel

/// Finds paths of a job that links make the same file, or nested in each other.
///
/// The loader checks the paths as written. Links that are made during the run, and names that servers give, are checked
/// where they occur.
enum LinkedPlaces {
    static func check(_ job: Job) throws(UsageError) {
        try checkGroups(job.groups)
        try checkReads(job)
    }

    // MARK: Groups

    /// Checks that no group's folder contains another's: each is published as a whole, and would remove the other.
    private static func checkGroups(_ groups: [GroupSpecification]) throws(UsageError) {
        guard groups.count > 1 else { return }
        let folders = groups.compactMap { group in
            group.to.plain.map { path in
                (
                    name: group.name, path: RawName(trimmed(path)),
                    place: Folders.resolvedAsFarAsThere(RawName(trimmed(path)))
                )
            }
        }
        for (number, one) in folders.enumerated() {
            for other in folders[(number + 1)...]
            where Folders.isAt(one.place, orIn: other.place) || Folders.isAt(other.place, orIn: one.place) {
                let ways = [one, other].filter { $0.path != $0.place }.map { "`\($0.path)` leads to `\($0.place)`" }
                throw UsageError(
                    "the groups `\(one.name)` and `\(other.name)` publish into one folder: "
                        + ways.joined(separator: ", "),
                    hint: "give each a `to` of its own, none below another")
            }
        }
    }

    // MARK: Files that are written

    /// Returns a conflict between two tasks whose `to` is one file because one of them is a symlink. In a run the
    /// second task would fail.
    static func sharedFile(_ job: Job) -> OutputPlaces.Conflict? {
        var linked: [(task: Int, path: String, end: String)] = []
        for (number, task) in job.tasks.enumerated() {
            guard let path = file(task), let end = Self.end(path) else { continue }
            linked.append((number, path, end))
        }
        guard !linked.isEmpty else { return nil }
        var owners: [ExactText: Int] = [:]
        let names = Set(linked.map { ExactText(Folders.split($0.end).name) })
        for (number, task) in job.tasks.enumerated() {
            guard let path = file(task), names.contains(ExactText(Folders.split(path).name)), end(path) == nil,
                let place = Self.place(path)
            else { continue }
            owners[ExactText(place)] = number
        }
        for link in linked {
            if let owner = owners.updateValue(link.task, forKey: ExactText(link.end)) {
                let (task, other) = (job.tasks[link.task], job.tasks[owner])
                return OutputPlaces.Conflict(
                    message:
                        "`\(link.path)` leads to \(link.end), which is already the file of the task `\(other.id)`: "
                        + "give `\(task.id)` another `to`",
                    task: TaskIndex(raw: UInt32(link.task)))
            }
        }
        return nil
    }

    private static func file(_ task: TaskSpecification) -> String? {
        guard task.group == nil, let path = task.destination, path.utf8.last != UInt8(ascii: "/") else { return nil }
        return path
    }

    /// The target of a link; `nil` for a path that is no link, or whose target cannot be a destination: the run reports
    /// that.
    private static func end(_ path: String) -> String? {
        do throws(DestinationLink.Problem) { return try DestinationLink.end(of: path) } catch { return nil }
    }

    private static func place(_ path: String) -> String? {
        let (folder, name) = Folders.split(path)
        return Folders.resolved(folder)?.appending(RawName(name)).text
    }

    private static func trimmed(_ path: String) -> String {
        path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }

    // MARK: Files that are sent

    /// Checks that a task that sends another task's file needs that task: otherwise chance decides which version is
    /// sent.
    private static func checkReads(_ job: Job) throws(UsageError) {
        let senders = job.tasks.indices.filter { job.tasks[$0].options.values.body?.plainFiles.isEmpty == false }
        guard !senders.isEmpty else { return }
        var writers: [ExactText: [Int]] = [:]
        var linked: [Int: String] = [:]
        for (number, task) in job.tasks.enumerated() {
            guard let path = task.destination, path.utf8.last != UInt8(ascii: "/") else { continue }
            writers[ExactText(Folders.split(path).name), default: []].append(number)
            if let end = file(task).flatMap(end) {
                linked[number] = end
                writers[ExactText(Folders.split(end).name), default: []].append(number)
            }
        }
        guard !writers.isEmpty else { return }
        for sender in senders {
            for path in job.tasks[sender].options.values.body?.plainFiles ?? [] {
                try checkRead(path, by: sender, writers, linked, job)
            }
        }
    }

    /// Checks one file to send. `linked` has the targets of destinations that are links.
    private static func checkRead(
        _ path: String, by sender: Int, _ writers: [ExactText: [Int]], _ linked: [Int: String], _ job: Job
    ) throws(UsageError) {
        let (folder, name) = Folders.split(path)
        // Nearly always there is no file of that name, and no path needs to be resolved.
        guard let alike = writers[ExactText(name)],
            alike.contains(where: { !job.tasks[$0].destination.isExactly(path) })
        else { return }
        let place = Folders.resolvedAsFarAsThere(RawName(folder))
        for writer in alike where writer != sender {
            guard let other = job.tasks[writer].destination, !other.isExactly(path),
                Folders.resolvedAsFarAsThere(RawName(Folders.split(linked[writer] ?? other).folder)) == place,
                Folders.split(linked[writer] ?? other).name.isExactly(name), !needs(sender, writer, job)
            else { continue }
            let (reads, writes) = (job.tasks[sender].id, job.tasks[writer].id)
            throw UsageError(
                "the task `\(reads)` sends `\(path)`, which `\(writes)` writes as `\(other)`, but does not need it",
                hint: "add `needs: [\(writes)]` to `\(reads)`, or let one of them use another file")
        }
    }

    private static func needs(_ task: Int, _ wanted: Int, _ job: Job) -> Bool {
        var seen: Set<TaskIndex> = []
        var rest = [TaskIndex(raw: UInt32(task))]
        while let next = rest.popLast() {
            let needed = job.tasks[Int(next.raw)].needs
            if needed.contains(TaskIndex(raw: UInt32(wanted))) { return true }
            rest += needed.filter { seen.insert($0).inserted }
        }
        return false
    }
}
