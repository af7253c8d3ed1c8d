import TransferModel

/// `--only` and `--except`: which tasks of a job a run is about.
///
/// `--only` takes the tasks that match and whatever they need; `--except` leaves tasks out, and those that need one of
/// them run as if it had succeeded already.
struct TaskSelection {
    let only: [String]
    let except: [String]

    func apply(to job: Job) throws(UsageError) -> Job {
        guard !only.isEmpty || !except.isEmpty else { return job }
        var isChosen = [Bool](repeating: only.isEmpty, count: job.tasks.count)
        for pattern in only { try choose(pattern, job, &isChosen, true, flag: "--only") }
        includeNeeds(job, &isChosen)
        for pattern in except { try choose(pattern, job, &isChosen, false, flag: "--except") }
        return renumbered(job, isChosen)
    }

    private func choose(
        _ pattern: String, _ job: Job, _ isChosen: inout [Bool], _ value: Bool, flag: String
    ) throws(UsageError) {
        let pattern = TaskPattern(pattern)
        var found = false
        for (index, task) in job.tasks.enumerated() where pattern.matches(task.id) {
            isChosen[index] = value
            found = true
        }
        if !found { throw UsageError("no task matches `\(flag) \(pattern)`") }
    }

    private func includeNeeds(_ job: Job, _ isChosen: inout [Bool]) {
        var open = isChosen.indices.filter { isChosen[$0] }
        while let index = open.popLast() {
            for need in job.tasks[index].needs where !isChosen[Int(need.raw)] {
                isChosen[Int(need.raw)] = true
                open.append(Int(need.raw))
            }
        }
    }

    private func renumbered(_ job: Job, _ isChosen: [Bool]) -> Job {
        var numbers = [TaskIndex?](repeating: nil, count: job.tasks.count)
        var next: UInt32 = 0
        for index in isChosen.indices where isChosen[index] {
            numbers[index] = TaskIndex(raw: next)
            next += 1
        }
        var result = job
        result.tasks = []
        for index in isChosen.indices where isChosen[index] {
            var task = job.tasks[index]
            task.needs = task.needs.compactMap { numbers[Int($0.raw)] }
            result.tasks.append(task)
        }
        return result
    }
}
