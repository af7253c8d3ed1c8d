import Diagnostics
package import TransferModel

/// The tasks of a job that a run is limited to with `--only` and `--except`.
///
/// `--only` selects the tasks that match and all tasks that they need, of a needed group all members. `--except` leaves
/// tasks out; tasks that need one of them run as if it had succeeded already. A template whose tasks may match runs, and
/// of the tasks that it becomes those that do not match are left out (`applied(to:)`).
package struct TaskSelection: Hashable, Sendable {
    /// Ids and patterns of `--only`; if empty, all tasks are selected.
    package var only: [String]
    /// Ids and patterns of `--except`.
    package var except: [String]
    /// Whether `only` also selects the tasks that the matching ones need.
    package var addsNeeds = true

    package init(only: [String] = [], except: [String] = [], addsNeeds: Bool = true) {
        self.only = only
        self.except = except
        self.addsNeeds = addsNeeds
    }

    /// A pattern that no task's id matches.
    package struct Problem: Error, Hashable, Sendable {
        /// The pattern with its flag in front, such as `--only a*`.
        package let pattern: String
        /// What would match; `nil` if nothing is near.
        package let hint: String?
    }

    /// Whether no task is left out.
    package var isEverything: Bool { only.isEmpty && except.isEmpty }

    /// Returns the job with the selected tasks only. Throws if a pattern can match no task.
    package func apply(to job: Job) throws(Problem) -> Job {
        guard !isEverything else { return job }
        var chosen = try chosen(in: job)
        for index in withoutList(chosen.isChosen, job) { chosen.isChosen[index] = false }
        var part = job.keeping(chosen.isChosen)
        // Which files the tasks of a template write that do not run is not known: no file of its group is extraneous.
        for index in chosen.cut where chosen.isChosen[index] {
            if let group = job.tasks[index].group { part.groups[Int(group.raw)].absent.append(nil) }
        }
        return part
    }

    /// Returns the ids of templates that are left out because the task that captures or brings their list is: they cannot
    /// become tasks without it.
    package func templatesWithoutList(in job: Job) throws(Problem) -> [String] {
        guard !except.isEmpty, job.tasks.contains(where: \.isTemplate) else { return [] }
        return withoutList(try chosen(in: job).isChosen, job).map { job.tasks[$0].id }
    }

    /// Returns the job without those tasks of its templates that the patterns leave out. Fails if none of the tasks of a
    /// template is left for a pattern that no other task can match.
    package func applied(to expanded: ExpandedJob) -> Result<ExpandedJob, TransferError> {
        guard !isEverything, !expanded.made.isEmpty else { return .success(expanded) }
        let job = expanded.job
        let (taking, leaving) = (IDPatterns(only), IDPatterns(except))
        let rows = rows(of: job, made: expanded.made)
        var isKept = [Bool](repeating: true, count: job.tasks.count)
        for made in expanded.made {
            let isPart = rows.byRow.contains(Int(made.template.raw))
            for index in made.tasks {
                let id = job.tasks[index].id
                isKept[index] = (!isPart || taking.match(id)) && !leaving.match(id)
            }
            guard made.tasks == expanded.added, isPart, !made.tasks.isEmpty,
                let pattern = rows.sole[Int(made.template.raw)],
                !made.tasks.contains(where: { taking.match(job.tasks[$0].id) })
            else { continue }
            let count = made.tasks.count
            let what = count == 1 ? "its one task does not match" : "none of its \(count) tasks matches"
            return .failure(TransferError(.expansionFailed, "\(what) `\(pattern)`"))
        }
        return .success(expanded.keeping(isKept))
    }

    /// Throws if one of these ids and patterns can match no task; `flag` is the option that they were given with.
    package static func check(_ patterns: [String], in job: Job, flag: String) throws(Problem) {
        let ids = JobIDs(job, lookups: patterns.count)
        for pattern in patterns where ids.matches(of: pattern).isEmpty { throw problem(pattern, job, flag: flag) }
    }

    // MARK: The choice

    private struct Choice {
        var isChosen: [Bool]
        /// Templates of whose tasks not all run.
        var cut: Set<Int>
    }

    /// What the patterns choose, by task.
    private func chosen(in job: Job) throws(Problem) -> Choice {
        var isChosen = [Bool](repeating: only.isEmpty, count: job.tasks.count)
        let ids = JobIDs(job, lookups: only.count + except.count)
        for pattern in only {
            let found = ids.matches(of: pattern)
            guard !found.isEmpty else { throw Self.problem(pattern, job, flag: "--only") }
            for index in found.tasks + found.makers { isChosen[index] = true }
        }
        if addsNeeds { isChosen = Self.withNeeds(isChosen, of: job) }
        var cut = rows(of: job).byRow
        for pattern in except {
            let found = ids.matches(of: pattern)
            guard !found.isEmpty else { throw Self.problem(pattern, job, flag: "--except") }
            for index in found.tasks { isChosen[index] = false }
            cut.formUnion(found.makers)
        }
        return Choice(isChosen: isChosen, cut: cut)
    }

    /// Returns the templates of whose tasks only some run, and of each a pattern that no other task can match, if there
    /// is one.
    ///
    /// `made` are the tasks that templates became, behind all others of the job.
    private func rows(
        of job: Job, made: [ExpandedTemplate] = []
    ) -> (byRow: Set<Int>, sole: [Int: String]) {
        guard !only.isEmpty, job.tasks.contains(where: \.isTemplate) else { return ([], [:]) }
        let ids = JobIDs(job, writtenCount: made.map(\.tasks.lowerBound).min(), lookups: only.count)
        var isChosen = [Bool](repeating: false, count: job.tasks.count)
        var byRow: Set<Int> = []
        var sole: [Int: String] = [:]
        for pattern in only {
            let found = ids.matches(of: pattern)
            for index in found.tasks { isChosen[index] = true }
            byRow.formUnion(found.makers)
            if found.tasks.isEmpty, found.makers.count == 1 { sole[found.makers[0]] = pattern }
        }
        byRow = byRow.filter { !isChosen[$0] }
        guard addsNeeds, !byRow.isEmpty else { return (byRow, sole) }
        for index in byRow { isChosen[index] = true }
        let needed = Self.needed(by: Self.withNeeds(isChosen, of: job), in: job)
        byRow.subtract(needed)
        // What needs a template needs the tasks that it became instead.
        for made in made where made.tasks.contains(where: { needed.contains($0) }) {
            byRow.remove(Int(made.template.raw))
        }
        return (byRow, sole)
    }

    /// Returns the tasks that one of the chosen ones needs.
    private static func needed(by isChosen: [Bool], in job: Job) -> Set<Int> {
        let chosen = job.tasks.indices.lazy.filter { isChosen[$0] }.map { job.tasks[$0] }
        let groups = Set(chosen.flatMap(\.options.values.neededGroups))
        var needed = Set(chosen.flatMap { $0.needs.map { Int($0.raw) } })
        guard !groups.isEmpty else { return needed }
        for (index, task) in job.tasks.enumerated() {
            if let group = task.group, groups.contains(job.groups[Int(group.raw)].name) { needed.insert(index) }
        }
        return needed
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

    /// Returns what is wrong with a pattern that no task's id matches, and another id that may be meant.
    private static func problem(_ pattern: String, _ job: Job, flag: String) -> Problem {
        let ids = job.tasks.prefix(10_000).map(\.id)
        let shown = ids.prefix(12).map { "`\($0)`" }.joined(separator: ", ")
        let near = Spelling.closest(to: pattern, among: ids).map { "did you mean `\($0)`?" }
        let all = shown.isEmpty ? nil : "there are \(shown)\(job.tasks.count > 12 ? ", …" : "")"
        return Problem(pattern: "\(flag) \(pattern)", hint: near ?? all)
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

/// Ids and patterns of ids.
private struct IDPatterns {
    private var ids: Set<String> = []
    private var patterns: [TaskPattern] = []

    init(_ texts: [String]) {
        for text in texts {
            if text.utf8.contains(UInt8(ascii: "*")) { patterns.append(TaskPattern(text)) } else { ids.insert(text) }
        }
    }

    /// Decides whether one of them matches the id.
    func match(_ id: String) -> Bool { ids.contains(id) || patterns.contains { $0.matches(id) } }
}
