/// Some tasks of a job, as a job of their own.
package struct JobPart: Sendable {
    /// The job with these tasks alone.
    package var job: Job
    /// The tasks' numbers in the whole job, by their numbers in the part.
    package let numbers: [TaskIndex]
    /// Ids of tasks outside the part that its tasks need, by the needing task's number in the part.
    package let outside: [TaskIndex: [String]]
}

extension Job {
    /// Returns the job with some of its tasks only; needs of other tasks count as fulfilled.
    package func keeping(_ isChosen: [Bool]) -> Job { part(isChosen).job }

    /// Returns some of the job's tasks as a part, with every task number in them adapted.
    package func part(_ isChosen: [Bool]) -> JobPart {
        var places = [TaskIndex?](repeating: nil, count: tasks.count)
        var numbers: [TaskIndex] = []
        for index in isChosen.indices where isChosen[index] {
            places[index] = TaskIndex(raw: UInt32(numbers.count))
            numbers.append(TaskIndex(raw: UInt32(index)))
        }
        var outside: [TaskIndex: [String]] = [:]
        var options = MovedOptions(job: self, places: places)
        var result = self
        for (task, isChosen) in zip(tasks, isChosen) where !isChosen {
            if let group = task.group { result.groups[Int(group.raw)].absent.append(task.destination) }
        }
        result.tasks = numbers.enumerated().map { place, number in
            var task = tasks[Int(number.raw)]
            let missing = task.needs.filter { places[Int($0.raw)] == nil }
            if !missing.isEmpty { outside[TaskIndex(raw: UInt32(place))] = missing.map { tasks[Int($0.raw)].id } }
            task.needs = task.needs.compactMap { places[Int($0.raw)] }
            if case .task? = task.options.values.checksum { task.options = options.moved(task.options) }
            return task
        }
        return JobPart(job: result, numbers: numbers, outside: outside)
    }
}

/// Adapts options that name a task as the source of a checksum. Tasks that shared their options still do afterwards.
private struct MovedOptions {
    let job: Job
    let places: [TaskIndex?]
    private var known: [ObjectIdentifier: TaskOptions] = [:]

    init(job: Job, places: [TaskIndex?]) {
        self.job = job
        self.places = places
    }

    mutating func moved(_ options: TaskOptions) -> TaskOptions {
        if let moved = known[ObjectIdentifier(options)] { return moved }
        var values = options.values
        if case .task(let task, let listed)? = values.checksum {
            values.checksum =
                places[Int(task.raw)].map { .task($0, listed) } ?? .url(file(of: job.tasks[Int(task.raw)]), listed)
        }
        let moved = TaskOptions(values)
        known[ObjectIdentifier(options)] = moved
        return moved
    }

    /// Returns the place where a task outside the part puts its file, or has put it already.
    private func file(of task: TaskSpecification) -> ResourceURL {
        var path = task.destination ?? "/\(task.id)"
        if path.hasSuffix("/") { path += task.location.url?.lastPathComponent ?? task.id }
        let text = "file://" + PercentEncoding.encode(path, keepingSlash: true)
        // A percent-encoded path always makes a URL.
        guard let url = try? ResourceURL.parse(text) else { preconditionFailure("\(text) is no URL") }
        return url
    }
}
