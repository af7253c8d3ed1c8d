package import Diagnostics
package import TransferModel

/// The split of a job into the part that the background process carries and the part that the command carries.
package struct JobSplit {
    /// The tasks in background sessions.
    package let background: JobPart
    /// The tasks in all other sessions.
    package let foreground: JobPart

    package init(_ job: Job) {
        let isBackground = job.tasks.map { job.sessions[Int($0.session.raw)].kind == .background }
        var background = job.part(isBackground)
        foreground = job.part(isBackground.map { !$0 })
        // The command that carries the other part writes the report of the whole, and runs the job's `onFinish`.
        if !foreground.numbers.isEmpty { background.job.onFinish = nil }
        self.background = background
    }

    /// Whether the whole job is in background sessions, so that the command only has to follow.
    package var isWhole: Bool { foreground.numbers.isEmpty }

    // MARK: What cannot be carried apart

    /// Returns what makes the job impossible to split. `isDetached`: the command does not stay, so that neither part
    /// learns how the other's tasks end.
    package static func problems(_ job: Job, isDetached: Bool) -> [Diagnostic] {
        let isBackground = job.tasks.map { job.sessions[Int($0.session.raw)].kind == .background }
        var found: [Diagnostic] = []
        for (index, task) in job.tasks.enumerated() {
            // Only the process that expands the template knows the tasks that it becomes.
            let need = task.needs.first {
                job.tasks[Int($0.raw)].isTemplate && isBackground[Int($0.raw)] != isBackground[index]
            }
            guard let need = need.map({ job.tasks[Int($0.raw)].id }) else { continue }
            found.append(
                problem(
                    "captured-across-sessions",
                    "`\(task.id)` needs `\(need)`, tasks that another process makes of what was captured",
                    "let all of them be in background sessions, or none", task))
        }
        found += conditions(job, isBackground)
        var groups: [GroupIndex: Bool] = [:]
        for (index, task) in job.tasks.enumerated() {
            if let group = task.group, groups.updateValue(isBackground[index], forKey: group) == !isBackground[index] {
                found.append(
                    problem(
                        "group-across-sessions",
                        "the group `\(job.groups[Int(group.raw)].name)` has members in background sessions and in others",
                        "one process publishes a group: let all its members be in background sessions, or none", task))
            }
        }
        for (index, task) in job.tasks.enumerated() {
            for name in task.options.values.neededGroups {
                guard let group = job.groups.firstIndex(where: { $0.name == name }),
                    let isOther = groups[GroupIndex(raw: UInt16(group))], isOther != isBackground[index]
                else { continue }
                found.append(
                    problem(
                        "group-across-sessions",
                        "`\(task.id)` needs the group `\(name)`, which another process publishes",
                        "name the tasks that it needs instead of `group.\(name)`", task))
            }
            guard isDetached, let need = task.needs.first(where: { isBackground[Int($0.raw)] != isBackground[index] })
            else { continue }
            let other = job.tasks[Int(need.raw)].id
            found.append(
                problem(
                    "detached-needs",
                    isBackground[index]
                        ? "`\(task.id)` is to be handed over and left, and needs `\(other)`, which this command carries"
                        : "`\(task.id)` needs `\(other)`, which is handed over and left",
                    "run it without `--detach`, or put both into background sessions", task))
        }
        return found
    }

    /// Refuses tasks with a `when` whose needs are carried by both processes.
    private static func conditions(_ job: Job, _ isBackground: [Bool]) -> [Diagnostic] {
        guard job.tasks.contains(where: { $0.options.values.when != nil }), Set(isBackground).count == 2 else {
            return []
        }
        var found: [Diagnostic] = []
        for (index, task) in job.tasks.enumerated() {
            let crossing = task.needs.first { need in
                isBackground[Int(need.raw)] != isBackground[index]
                    && (task.options.values.when != nil || job.tasks[Int(need.raw)].options.values.when != nil)
            }
            if let crossing {
                let other = job.tasks[Int(crossing.raw)].id
                found.append(
                    problem(
                        "when-across-sessions",
                        task.options.values.when == nil
                            ? "`\(task.id)` needs `\(other)`, which has a `when` and which another process carries"
                            : "`\(task.id)` has a `when` and needs `\(other)`, which another process carries",
                        "let both be in background sessions, or none, and name under `needs` what is on its side", task)
                )
            } else if task.options.values.when != nil, task.namesRun {
                found.append(
                    problem(
                        "when-across-sessions",
                        "`\(task.id)` uses `${run.…}`, and this run is carried by two processes of which each knows its own",
                        "let all tasks be in background sessions, or none", task))
            }
        }
        return found
    }

    private static func problem(
        _ code: String, _ message: String, _ hint: String, _ task: TaskSpecification
    ) -> Diagnostic {
        Diagnostic(
            severity: .error, code: code, message: message, hint: hint,
            span: SourceSpan(line: Int(task.line), column: 1))
    }
}

extension TaskSpecification {
    /// Whether a text of the task holds a value of the whole run.
    fileprivate var namesRun: Bool {
        var found = false
        forEachPlace { text in
            for case .capture(RunEnds.run, _, _) in text.pieces { found = true }
        }
        return found
    }
}
