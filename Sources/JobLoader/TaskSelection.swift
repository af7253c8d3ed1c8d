import Diagnostics
package import TransferModel

/// The tasks of a job that a run is limited to with `--only` and `--except`.
///
/// `--only` selects the tasks that match and all tasks that they need, of a needed group all members. `--except` leaves
/// tasks out; tasks that need one of them run as if it had succeeded already.
package struct TaskSelection: Hashable, Sendable {
    /// Ids and patterns of `--only`; if empty, all tasks are selected.
    package var only: [String]
    /// Ids and patterns of `--except`.
    package var except: [String]

    package init(only: [String] = [], except: [String] = []) {
        self.only = only
        self.except = except
    }

    /// A pattern that no task's id matches.
    package struct Problem: Error, Hashable, Sendable {
        /// The pattern with its flag in front, such as `--only a*`.
        package let pattern: String
        /// What would match; `nil` if nothing is near.
        package let hint: String?
    }

    /// Returns the job with the selected tasks only. Throws if a pattern matches no task.
    package func apply(to job: Job) throws(Problem) -> Job {
        guard !only.isEmpty || !except.isEmpty else { return job }
        var isChosen = try chosen(in: job)
        for index in withoutList(isChosen, job) { isChosen[index] = false }
        return job.keeping(isChosen)
    }

    /// Returns the ids of templates that are left out because the task that captures or brings their list is: they cannot
    /// become tasks without it.
    package func templatesWithoutList(in job: Job) throws(Problem) -> [String] {
        guard !except.isEmpty, job.tasks.contains(where: \.isTemplate) else { return [] }
        return withoutList(try chosen(in: job), job).map { job.tasks[$0].id }
    }

    /// What the patterns choose, by task.
    private func chosen(in job: Job) throws(Problem) -> [Bool] {
        var isChosen = [Bool](repeating: only.isEmpty, count: job.tasks.count)
        let places = places(in: job)
        for pattern in only { try choose(pattern, job, places, &isChosen, true, flag: "--only") }
        isChosen = Self.withNeeds(isChosen, of: job)
        for pattern in except { try choose(pattern, job, places, &isChosen, false, flag: "--except") }
        return isChosen
    }

    /// Returns the chosen templates whose list's task is not chosen.
    private func withoutList(_ isChosen: [Bool], _ job: Job) -> [Int] {
        guard !except.isEmpty, job.tasks.contains(where: \.isTemplate) else { return [] }
        let left = Set(job.tasks.indices.lazy.filter { !isChosen[$0] }.map { job.tasks[$0].id })
        return job.tasks.indices.filter { index in
            isChosen[index]
                && job.tasks[index].options.values.template?.sourceTasks.contains { left.contains($0) } == true
        }
    }

    /// Returns the places of ids where many are named: looking each of them up in all tasks would take long.
    private func places(in job: Job) -> [String: Int]? {
        guard only.count + except.count > 16 else { return nil }
        return Dictionary(job.tasks.enumerated().map { ($0.element.id, $0.offset) }) { first, _ in first }
    }

    private func choose(
        _ pattern: String, _ job: Job, _ places: [String: Int]?, _ isChosen: inout [Bool], _ value: Bool, flag: String
    ) throws(Problem) {
        if let place = places?[pattern] {
            isChosen[place] = value
            return
        }
        let wanted = TaskPattern(pattern)
        var found = false
        for (index, task) in job.tasks.enumerated() where wanted.matches(task.id) {
            isChosen[index] = value
            found = true
        }
        if !found { throw Problem(pattern: "\(flag) \(wanted)", hint: Self.hint(pattern, job, flag)) }
    }

    /// Returns what an id that no task has may stand for: a task that is made in the run, or another id.
    private static func hint(_ text: String, _ job: Job, _ flag: String) -> String? {
        if let template = job.tasks.first(where: { $0.isTemplate && mayMake(text, $0.id) }) {
            return "`\(template.id)` becomes its tasks in the run: `\(flag) '\(template.id)'` means all of them"
        }
        let ids = job.tasks.prefix(10_000).map(\.id)
        if let near = Spelling.closest(to: text, among: ids) { return "did you mean `\(near)`?" }
        let shown = ids.prefix(12).map { "`\($0)`" }.joined(separator: ", ")
        return shown.isEmpty ? nil : "there are \(shown)\(job.tasks.count > 12 ? ", …" : "")"
    }

    /// Returns whether a task that `forEach` makes of this id can have an id that the pattern matches.
    private static func mayMake(_ wanted: String, _ id: String) -> Bool {
        guard let template = try? TemplateParser.parse(Array(id.utf8)) else { return false }
        var pattern: [UInt8] = []
        for segment in template.segments {
            switch segment {
            case .literal(let text): pattern += text.utf8
            case .reference: pattern.append(UInt8(ascii: "*"))
            }
        }
        return Glob.matches(Array(wanted.utf8), pattern) || Glob.matches(pattern, Array(wanted.utf8))
    }

    /// Returns the chosen tasks and all that they need.
    static func withNeeds(_ chosen: [Bool], of job: Job) -> [Bool] {
        var isChosen = chosen
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
            // A needed group is needed with all members. Each group is handled once.
            for group in job.tasks[index].options.values.neededGroups {
                for member in members.removeValue(forKey: group) ?? [] where !isChosen[member] {
                    isChosen[member] = true
                    open.append(member)
                }
            }
        }
        return isChosen
    }
}
