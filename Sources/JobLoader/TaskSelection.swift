package import TransferModel

/// `--only` and `--except`: which tasks of a job a run is about.
///
/// `--only` takes the tasks that match and whatever they need, of a group they need all members; `--except` leaves tasks
/// out, and those that need one of them run as if it had succeeded already.
package struct TaskSelection: Hashable, Sendable {
    package var only: [String]
    package var except: [String]

    package init(only: [String] = [], except: [String] = []) {
        self.only = only
        self.except = except
    }

    /// No task matches what was asked for.
    package struct Problem: Error, Hashable, Sendable {
        /// With its flag, as it was typed.
        package let pattern: String
    }

    package func apply(to job: Job) throws(Problem) -> Job {
        guard !only.isEmpty || !except.isEmpty else { return job }
        var isChosen = [Bool](repeating: only.isEmpty, count: job.tasks.count)
        for pattern in only { try choose(pattern, job, &isChosen, true, flag: "--only") }
        includeNeeds(job, &isChosen)
        for pattern in except { try choose(pattern, job, &isChosen, false, flag: "--except") }
        return job.keeping(isChosen)
    }

    private func choose(
        _ pattern: String, _ job: Job, _ isChosen: inout [Bool], _ value: Bool, flag: String
    ) throws(Problem) {
        let wanted = TaskPattern(pattern)
        var found = false
        for (index, task) in job.tasks.enumerated() where wanted.matches(task.id) {
            isChosen[index] = value
            found = true
        }
        if !found { throw Problem(pattern: "\(flag) \(wanted)") }
    }

    private func includeNeeds(_ job: Job, _ isChosen: inout [Bool]) {
        var members: [String: [Int]] = [:]
        for (index, task) in job.tasks.enumerated() {
            if let group = task.group { members[job.groups[Int(group.raw)].name, default: []].append(index) }
        }
        var open = isChosen.indices.filter { isChosen[$0] }
        while let index = open.popLast() {
            for need in job.tasks[index].needs where !isChosen[Int(need.raw)] {
                isChosen[Int(need.raw)] = true
                open.append(Int(need.raw))
            }
            // A group that is needed is needed whole. Each is looked at once.
            for group in job.tasks[index].options.values.neededGroups {
                for member in members.removeValue(forKey: group) ?? [] where !isChosen[member] {
                    isChosen[member] = true
                    open.append(member)
                }
            }
        }
    }
}
