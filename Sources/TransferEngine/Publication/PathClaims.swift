import TransferModel

/// Whose file a path is, by what the job says and what servers named since.
struct PathClaims {
    private var owners: [ExactText: TaskIndex] = [:]
    /// What servers named for a task.
    private var named: [TaskIndex: [ExactText]] = [:]
    /// Who sends the file at a path.
    private var senders: [ExactText: [TaskIndex]] = [:]

    init(_ job: Job) {
        for (number, task) in job.tasks.enumerated() { add(task, TaskIndex(raw: UInt32(number))) }
    }

    /// What the job says of a task. A name that a server gave another task before stays that one's.
    mutating func add(_ task: TaskSpecification, _ index: TaskIndex) {
        if let path = task.destination, path.utf8.last != UInt8(ascii: "/") {
            let place = ExactText(PathText.withoutDots(path))
            if named.isEmpty || owners[place] == nil { owners[place] = index }
        }
        if let address = task.options.values.object?.address, owners[ExactText(address)] == nil {
            owners[ExactText(address)] = index
        }
        for path in task.options.values.body?.plainFiles ?? [] {
            senders[ExactText(PathText.withoutDots(path)), default: []].append(index)
        }
    }

    /// `nil` when the task has it now; `refusal` is the name of the error else.
    mutating func claim(
        _ path: String, _ task: TaskIndex, _ job: Job, _ refusal: ErrorName = .destinationExists
    ) -> TransferError? {
        claim(ExactText(PathText.withoutDots(path)), path, task, job, refusal)
    }

    /// Claims the object at a URL. Returns why the task cannot have it; `nil` when it has it now.
    mutating func claim(object address: String, _ task: TaskIndex, _ job: Job) -> TransferError? {
        claim(ExactText(address), address, task, job, .destinationExists)
    }

    private mutating func claim(
        _ place: ExactText, _ path: String, _ task: TaskIndex, _ job: Job, _ refusal: ErrorName
    ) -> TransferError? {
        if let owner = owners[place], owner != task {
            let id = job.tasks[Int(owner.raw)].id
            return TransferError(refusal, "\(path) is already the file of the task `\(id)`")
        }
        // As the loader says of paths that it knows: whoever reads what another writes needs that one.
        if let sender = senders[place]?.first(where: { !Self.needs($0, task, job) }) {
            let id = job.tasks[Int(sender.raw)].id
            return TransferError(
                refusal, "\(path) is what the task `\(id)` sends, which does not need this one")
        }
        if owners.updateValue(task, forKey: place) == nil { named[task, default: []].append(place) }
        return nil
    }

    /// Gives up the names that servers gave a task that has ended without a file.
    mutating func release(_ task: TaskIndex) {
        for place in named.removeValue(forKey: task) ?? [] { owners[place] = nil }
    }

    private static func needs(_ task: TaskIndex, _ wanted: TaskIndex, _ job: Job) -> Bool {
        var seen: Set<TaskIndex> = []
        var rest = [task]
        while let next = rest.popLast() {
            let needs = job.tasks[Int(next.raw)].needs
            if needs.contains(wanted) { return true }
            rest += needs.filter { seen.insert($0).inserted }
        }
        return false
    }
}
