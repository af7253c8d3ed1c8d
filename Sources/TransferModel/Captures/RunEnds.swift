/// What has become of a run's tasks so far, as tasks with a `when` may name it: `${run.outcome}`, `${run.failed}`,
/// `${run.error}`, `${tasks.ID.outcome}` and `${tasks.ID.error}`. Commands at the run's end may name those of the run.
package struct RunEnds: Sendable {
    /// A value of the whole run.
    package enum RunName: String, CaseIterable, Sendable { case outcome, failed, error }
    /// A value of one task's end.
    package enum TaskName: String, CaseIterable, Sendable { case outcome, error }

    /// The id under which values of the whole run are referred to: no task has it.
    package static let run = ""
    /// The name of a page's number, which is referred to like a value of the run: `${page}`.
    package static let page = "page"

    private struct End: Sendable {
        let outcome: TaskOutcome
        let error: String?
    }
    private var ends: [String: End] = [:]
    /// Ids of the tasks whose ends some task names. The ends of others are only counted.
    private var named: Set<String> = []
    private var facts = ExitFacts()
    private var failed = 0
    /// Whether a command cancelled a task, and whether a task or a hook did not succeed for a reason of its own.
    private var (wasCancelled, hasOtherCause) = (false, false)
    /// The first task that failed, or did not succeed for another reason (`firstTrouble`), and why, in one line.
    private var firstFailure: String?
    private var firstTrouble: String?

    package init() {}

    /// For counting every end of a run.
    package static var ofWholeRun: RunEnds {
        var ends = RunEnds()
        ends.isUsed = true
        return ends
    }

    /// Whether a task names an end or an outcome, so that ends are to be counted.
    package private(set) var isUsed = false

    /// Notes which ends the texts of these tasks name.
    package mutating func use(in tasks: [TaskSpecification]) {
        // By index: most jobs have no such task, and copying a million of them would show.
        for index in tasks.indices where tasks[index].options.values.when != nil {
            tasks[index].forEachPlace { text in
                for case .capture(let id, let name, _) in text.pieces
                where id == Self.run && name != Self.page || TaskName(rawValue: name) != nil {
                    isUsed = true
                    named.insert(id)
                }
            }
        }
    }

    /// Notes which ends the texts of a run's tasks name. What `--except` left out of the run counts as succeeded.
    package init(of tasks: [TaskSpecification]) {
        use(in: tasks)
        // A task that a template may still become has an end of its own.
        guard isUsed, !tasks.contains(where: \.isTemplate) else { return }
        var absent = named
        for index in tasks.indices { absent.remove(tasks[index].id) }
        for id in absent { ends[id] = End(outcome: .succeeded, error: nil) }
    }

    /// Counts the end of a task. `message` and `error` are the error's message, without secrets, and name.
    package mutating func count(
        _ id: String, _ outcome: TaskOutcome, tolerated: Bool, isPassedOver: Bool, message: String?,
        error: ErrorName? = nil
    ) {
        guard isUsed else { return }
        facts.count(outcome, tolerated: tolerated, isPassedOver: isPassedOver)
        if outcome == .failed, !tolerated { failed += 1 }
        if outcome == .cancelled, message == TransferError.cancelledByCommand.message {
            wasCancelled = true
        } else if outcome == .failed || outcome == .cancelled, !tolerated {
            hasOtherCause = true
        }
        noteCause(id, outcome, tolerated: tolerated, message, error)
        if named.contains(id) { ends[id] = End(outcome: outcome, error: message.map { Self.line($0) }) }
    }

    /// Notes the first cause of the run's not succeeding, as the summary says it. What was skipped has its cause elsewhere.
    private mutating func noteCause(
        _ id: String, _ outcome: TaskOutcome, tolerated: Bool, _ message: String?, _ error: ErrorName?
    ) {
        guard firstFailure == nil, !tolerated, let message, outcome != .succeeded, outcome != .skipped else { return }
        let name = error.map { " (\($0.rawValue))" } ?? ""
        let words = Self.line("\(id) \(outcome.rawValue)\(name): \(message)")
        if outcome == .failed { firstFailure = words } else if firstTrouble == nil { firstTrouble = words }
    }

    /// Counts the failure of a command that followed a task.
    package mutating func countFailedHook() { (facts.hasFailure, hasOtherCause) = (true, true) }

    /// Returns a run's outcome as commands at its end are told it: `cancelled` where `cancel` alone made it fail.
    package func told(_ outcome: RunOutcome) -> RunOutcome {
        outcome == .failed && wasCancelled && !hasOtherCause ? .cancelled : outcome
    }

    /// Returns the value under that name; `nil` where there is none, or the task has not ended.
    func value(_ task: String, _ name: String) -> CapturedValue? {
        guard task != Self.run else { return RunName(rawValue: name).map { value($0) } }
        guard let known = TaskName(rawValue: name), let end = ends[task] else { return nil }
        switch known {
        case .outcome: return CapturedValue(name: name, text: end.outcome.rawValue)
        case .error: return Self.text(name, end.error)
        }
    }

    /// An error's text, or `null` where there is none.
    private static func text(_ name: String, _ error: String?) -> CapturedValue {
        CapturedValue(name: name, text: error ?? "", value: error.map { .string($0) } ?? .null)
    }

    private func value(_ name: RunName) -> CapturedValue {
        switch name {
        case .outcome: CapturedValue(name: name.rawValue, text: told(facts.status.outcome).rawValue)
        case .failed: CapturedValue(name: name.rawValue, text: "\(failed)", value: .number("\(failed)"))
        case .error: Self.text(name.rawValue, firstFailure ?? firstTrouble)
        }
    }

    /// Most bytes of an error's text: it may go into a header.
    private static let longest = 4 << 10

    /// The text as one line: it may quote what a server said, and a control character could add a line to a header.
    private static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        var length = 0
        for scalar in text.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= longest else { break }
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            line.append(isControl || (0x2028...0x2029).contains(scalar.value) ? " " : scalar)
        }
        return String(line)
    }
}

/// How a reference to a value of mid-run is written: `${tasks.ID.NAME}`, or `${run.NAME}` for one of the whole run.
package enum LateReference {
    /// Returns the reference without its `${}`.
    package static func name(_ task: String, _ name: String) -> String {
        guard task == RunEnds.run else { return "tasks.\(RowList.task(of: task) ?? task).\(name)" }
        return name == RunEnds.page ? name : "run.\(name)"
    }
}
