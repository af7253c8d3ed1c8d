import FileDelivery
import Reporting
import SystemIO
import TransferModel

/// A file that a run writes beside its tasks' files, and its name in a sentence: "the report".
struct OutputFile: Hashable {
    let path: String
    let what: String
}

/// Checks that no two files of a run are the same, where the last one written would replace the others.
enum OutputPlaces {
    /// Two files of a run that are the same.
    struct Conflict: Error {
        let message: String
        /// The task that would overwrite another file; `nil` for two files of the run itself.
        var task: TaskIndex?
    }

    /// Checks a run's files before it begins. `job.reserved` includes the files that the run itself writes.
    static func check(_ job: Job, _ files: [OutputFile]) throws(OutputProblem) {
        do throws(Conflict) {
            try checkAll(job, files)
        } catch {
            throw OutputProblem(error.message)
        }
    }

    /// Returns the conflict that would end a run of this job without further options, or `nil`.
    static func conflict(of job: Job) -> Conflict? {
        let files = RunOutputs.files(job)
        do throws(Conflict) {
            try checkAll(RunOutputs.reserving(job, files), files)
            return nil
        } catch {
            return error
        }
    }

    private static func checkAll(_ job: Job, _ files: [OutputFile]) throws(Conflict) {
        let own = job.files.filter { $0 != "-" }.map { OutputFile(path: $0, what: "the job itself") }
        try check(own + files)
        try checkInputs(job)
        try checkGroups(job)
    }

    /// Throws for the second of two paths that are one file.
    static func check(_ files: [OutputFile]) throws(Conflict) {
        var taken: [(place: RawName, what: String)] = []
        for file in files {
            guard let place = place(file.path) else { continue }
            if let other = taken.first(where: { $0.place == place }) {
                throw Conflict(
                    message: "cannot write \(file.what) to \(file.path): it is the place of \(other.what)")
            }
            taken.append((place, file.what))
        }
    }

    /// Checks that no task overwrites the job's inputs or the run's own files. Names are compared first, because the
    /// tasks may be many.
    private static func checkInputs(_ job: Job) throws(Conflict) {
        var inputs: [String: [(place: RawName, input: Job.Reserved)]] = [:]
        for input in job.reserved where !input.mayBeNamed {
            guard let place = place(input.path) else { continue }
            // A `to` is text: no task writes to a name that is none.
            for name in Set([Folders.split(place).name.text, Folders.split(input.path).name].compactMap(\.self)) {
                inputs[name, default: []].append((place, input))
            }
        }
        for index in job.tasks.indices {
            guard let destination = job.tasks[index].destination, let alike = inputs[Folders.split(destination).name],
                let place = place(destination), let input = alike.first(where: { $0.place == place })?.input
            else { continue }
            throw Conflict(
                message:
                    "the task `\(job.tasks[index].id)` would write over \(input.what), \(input.path): give it another `to`",
                task: TaskIndex(raw: UInt32(index)))
        }
    }

    /// Checks that no group with `extraneous: remove` removes the job's inputs, the run's own files or files that tasks
    /// send.
    private static func checkGroups(_ job: Job) throws(Conflict) {
        for (number, group) in job.groups.enumerated() where group.extraneous == .remove {
            let index = GroupIndex(raw: UInt16(number))
            guard job.tasks.contains(where: { $0.group == index }),
                let folder = Folders.resolved(group.to.revealed),
                let held = ReservedPlaces(job.reserved + sent(in: folder, index, job)).first(inResolved: folder)
            else { continue }
            throw Conflict(
                message:
                    "the group `\(group.name)` with `extraneous: remove` would take \(held.what) away, \(held.path): "
                    + "keep that outside the group's folder")
        }
    }

    /// The files in a folder that tasks send and no member of the group writes.
    private static func sent(in folder: RawName, _ group: GroupIndex, _ job: Job) -> [Job.Reserved] {
        let members = Members(of: group, job)
        var isThere: [ExactText: Bool] = [:]
        var found: [Job.Reserved] = []
        for task in job.tasks {
            for path in task.options.values.body?.plainFiles ?? [] {
                let above = Folders.split(path).folder
                let isIn =
                    isThere[ExactText(above)] ?? Folders.resolved(above).map { Folders.isAt($0, orIn: folder) } ?? false
                isThere[ExactText(above)] = isIn
                guard isIn, !members.mayWrite(path) else { continue }
                found.append(Job.Reserved(path: path, what: "what the task `\(task.id)` sends"))
            }
        }
        return found
    }

    private struct Members {
        private var files: Set<ExactText> = []
        private var folders: [String] = []
        /// Whether the file of some member is unknown yet.
        private var mayWriteAll = false

        init(of group: GroupIndex, _ job: Job) {
            for task in job.tasks where task.group == group { add(task.destination) }
            for path in job.groups[Int(group.raw)].absent { add(path) }
        }

        private mutating func add(_ destination: String?) {
            guard let path = destination.map(PathText.withoutDots) else { return mayWriteAll = true }
            if path.utf8.last == UInt8(ascii: "/") { folders.append(path) } else { files.insert(ExactText(path)) }
        }

        func mayWrite(_ path: String) -> Bool {
            let path = PathText.withoutDots(path)
            return mayWriteAll || files.contains(ExactText(path))
                || folders.contains { path.utf8.starts(with: $0.utf8) }
        }
    }

    /// The resolved path; `nil` for a path that is no regular file, such as a terminal or `/dev/null`.
    private static func place(_ path: String) -> RawName? {
        if let place = Folders.resolved(path) { return (try? FileFacts.of(path))?.isRegular == true ? place : nil }
        let (folder, name) = Folders.split(path)
        // Missing folders are made.
        return Folders.resolvedAsFarAsThere(RawName(folder)).appending(RawName(name))
    }
}
