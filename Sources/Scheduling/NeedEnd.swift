import TransferModel

/// What the end of a task or group means for the tasks that need it.
enum NeedEnd: Sendable {
    case good
    /// The task or group did not succeed; with a deferral it was put off.
    case bad(Deferral?, Blame)
    /// The task was skipped without harm, since a `when` was not met: neither a success nor a failure.
    case passedOver(Blame)
}

/// Tracks what became of the needs of tasks with a `when`, and whether the job has tasks that run after a failure.
struct NeedsConditions: Sendable {
    private struct Ends: Sendable {
        var hasFailure = false
        var deferral: Deferral?
    }
    /// How needs ended that did not succeed, by the task that needs them; only for tasks whose `when` runs after a
    /// failure.
    private var ends: [TaskIndex: Ends] = [:]
    /// Whether a task of the run has such a `when`: then a run that ends early by a failure goes on for it.
    private(set) var areThere = false

    init(_ policies: [SchedulingPlan.TaskPolicy]) { add(policies) }

    mutating func add(_ policies: [SchedulingPlan.TaskPolicy]) {
        if policies.contains(where: { $0.when?.runsAfterFailure == true }) { areThere = true }
    }

    /// A need of the task has ended.
    mutating func needEnded(_ end: NeedEnd, for task: TaskIndex) {
        guard case .bad(let deferral, _) = end else { return }
        ends[task, default: Ends()].hasFailure = true
        if ends[task]?.deferral == nil { ends[task]?.deferral = deferral }
    }

    /// Whether a task begins when all of its needs have ended.
    enum Judgement: Hashable, Sendable {
        case begins
        case passedOver
        /// A need was put off to the next run: what comes after it is put off as well.
        case putOff(Deferral)
    }

    func judgement(of task: TaskIndex, _ when: NeedsCondition?) -> Judgement {
        guard let when, when.runsAfterFailure else { return .begins }
        if let deferral = ends[task]?.deferral { return .putOff(deferral) }
        return when == .finished || ends[task]?.hasFailure == true ? .begins : .passedOver
    }
}
