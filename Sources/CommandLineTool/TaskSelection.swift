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
        let pattern = Array(pattern.utf8)
        var found = false
        for (index, task) in job.tasks.enumerated() where Self.matches(Array(task.id.utf8)[...], pattern[...]) {
            isChosen[index] = value
            found = true
        }
        if !found { throw UsageError("no task matches `\(flag) \(String(decoding: pattern, as: UTF8.self))`") }
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

    /// `*` stands for any run of characters. Without recursion: the last `*` is the only one to come back to.
    static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        var text = text
        var pattern = pattern
        var retry: (text: ArraySlice<UInt8>, pattern: ArraySlice<UInt8>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (text, pattern)
            } else if let next = pattern.first, next == text.first {
                text = text.dropFirst()
                pattern = pattern.dropFirst()
            } else if text.isEmpty, pattern.isEmpty {
                return true
            } else if let again = retry, !again.text.isEmpty {
                text = again.text.dropFirst()
                pattern = again.pattern
                retry = (text, pattern)
            } else {
                return false
            }
        }
    }
}
