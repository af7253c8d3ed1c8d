import SystemIO
import TransferModel

/// What the job's text alone does not tell: by a link two of its paths are one place, or one lies in the other.
///
/// What is found here the loader says of paths that are alike as they are written. Of links that are made in mid-run, and of
/// names that servers give, whoever meets them says it.
enum LinkedPlaces {
    static func check(_ job: Job) throws(UsageError) {
        try checkGroups(job.groups)
        try checkReads(job)
    }

    // MARK: Groups

    /// Each is put in place as a whole, and would take the other away with what stood there.
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

    private static func trimmed(_ path: String) -> String {
        path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }

    // MARK: Files that are sent

    /// Whoever sends what another task writes must need that one: else it is by chance which of the two files goes out.
    private static func checkReads(_ job: Job) throws(UsageError) {
        let senders = job.tasks.indices.filter { job.tasks[$0].options.values.body?.plainFiles.isEmpty == false }
        guard !senders.isEmpty else { return }
        var writers: [ExactText: [Int]] = [:]
        for (number, task) in job.tasks.enumerated() {
            guard let path = task.destination, path.utf8.last != UInt8(ascii: "/") else { continue }
            writers[ExactText(Folders.split(path).name), default: []].append(number)
        }
        guard !writers.isEmpty else { return }
        for sender in senders {
            for path in job.tasks[sender].options.values.body?.plainFiles ?? [] {
                try checkRead(path, by: sender, writers, job)
            }
        }
    }

    /// A file gets its name by a rename: what stands at the end of its own path is no link for it.
    private static func checkRead(
        _ path: String, by sender: Int, _ writers: [ExactText: [Int]], _ job: Job
    ) throws(UsageError) {
        let (folder, name) = Folders.split(path)
        // Nearly always the whole answer, and no way is gone for it.
        guard let alike = writers[ExactText(name)],
            alike.contains(where: { !job.tasks[$0].destination.isExactly(path) })
        else { return }
        let place = Folders.resolvedAsFarAsThere(RawName(folder))
        for writer in alike where writer != sender {
            guard let other = job.tasks[writer].destination, !other.isExactly(path),
                Folders.resolvedAsFarAsThere(RawName(Folders.split(other).folder)) == place, !needs(sender, writer, job)
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
