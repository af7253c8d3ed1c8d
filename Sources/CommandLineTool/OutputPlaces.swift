import FileDelivery
import Reporting
import SystemIO
import TransferModel

/// A file that a run writes beside what its tasks fetch, and how a sentence names it: "the report".
struct OutputFile: Hashable {
    let path: String
    let what: String
}

/// Where a run writes beside what its tasks fetch: no two of these may become one file, of which only the last is left.
enum OutputPlaces {
    struct Conflict: Error {
        let message: String
        /// Who would write over what is not its own.
        var task: TaskIndex?
    }

    /// Before a run begins. `job` has all that is reserved, what the run itself writes too.
    static func check(_ job: Job, _ files: [OutputFile]) throws(OutputProblem) {
        do throws(Conflict) {
            try look(job, files)
        } catch {
            throw OutputProblem(error.message)
        }
    }

    /// What would end a run of this job that is told nothing else.
    static func conflict(of job: Job) -> Conflict? {
        let files = RunOutputs.files(job)
        do throws(Conflict) {
            try look(RunOutputs.reserving(job, files), files)
            return nil
        } catch {
            return error
        }
    }

    private static func look(_ job: Job, _ files: [OutputFile]) throws(Conflict) {
        let own = job.file == "-" ? [] : [OutputFile(path: job.file, what: "the job itself")]
        try check(own + files)
        try checkInputs(job)
        try checkGroups(job)
    }

    /// Refuses the second of two files that are one place.
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

    /// Neither what the job is made of nor what the run writes is to be replaced by what a task fetches. By names first: the
    /// tasks may be many.
    private static func checkInputs(_ job: Job) throws(Conflict) {
        var inputs: [String: [(place: RawName, input: Job.Reserved)]] = [:]
        for input in job.reserved {
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

    /// Nor is it to go with what no member of a group names.
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

    /// What tasks send from there and no member writes there.
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
        /// What one writes is not known yet.
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

    /// `nil` for what is no file of its own, such as a terminal or `/dev/null`.
    private static func place(_ path: String) -> RawName? {
        if let place = Folders.resolved(path) { return (try? FileFacts.of(path))?.isRegular == true ? place : nil }
        let (folder, name) = Folders.split(path)
        return Folders.resolved(folder).map { $0.appending(RawName(name)) }
    }
}
