import TransferModel

/// How a run ends before its tasks do.
enum Stop: Hashable, Sendable {
    /// The first failure: nothing new starts but tasks whose `when` runs after one; what runs may finish.
    case failing
    /// A deadline: nothing new starts, what runs may finish, and the rest is for the next run.
    case deferring(Deferral)
    /// The run is cancelled at once, with all that runs.
    case cancelling(TransferError)
}

/// How a task ends, or is interrupted, before its attempt comes to its own end.
enum Ending: Sendable {
    case finish(TaskOutcome, TransferError?, Deferral?)
    /// Its window closed, it was suspended, or it began to cost money: it begins again when it may.
    case interrupt
}

/// Tracks whether the run may still start tasks, and what its running tasks were told to end with.
///
/// `RunEnding` knows no phases: the scheduler asks it only about tasks that run.
struct RunEnding: Sendable {
    /// What a request to end a running task leads to.
    enum Request: Hashable, Sendable {
        /// The executor is to be told.
        case new
        /// The executor was told to interrupt the task; it ends instead of beginning again.
        case replacesInterruption
        /// The task was told to end before; the first ending counts.
        case tooLate
    }

    /// Leaving the run in good order to another process, which goes on where this run's events end.
    private struct Handover: Sendable {
        /// Tasks whose requests cannot be sent again: they are not started any more, and those under way come to their
        /// end.
        let awaited: Set<TaskIndex>
        /// The awaited tasks have ended: the others were interrupted, and nothing starts.
        var isClear = false
    }

    /// Why nothing new starts; `nil` while the run goes on.
    private(set) var stop: Stop?
    /// Why nothing new starts for now, while what runs goes on; empty where it may.
    var pauses: Set<StartPause> = []
    /// How many tasks failed, of which too many end the run.
    var failures: FailureShare
    private var endings: [TaskIndex: Ending] = [:]
    private var handover: Handover?

    init(stopWhen rule: RunLimits.StopRule? = nil) { failures = FailureShare(rule) }

    // MARK: The run

    /// Stops the run. Returns `false` where an earlier stop stays in force: a cancelled run stays cancelled, and a
    /// milder stop follows another only to end what that left running (`evenRunning`).
    ///
    /// Not inlined: the optimizer of Swift 6.3.1 ends with an ownership error where this becomes a part of
    /// `attemptEnded`.
    @inline(never)
    mutating func begin(_ new: Stop, evenRunning: Bool = false) -> Bool {
        switch (stop, new) {
        case (.cancelling, _): return false
        case (nil, _), (_, .cancelling): break
        case (.failing, _), (.deferring, _): guard evenRunning else { return false }
        }
        stop = new
        return true
    }

    /// What becomes of a task that would begin again.
    enum NextTry: Hashable, Sendable {
        case allowed
        /// The task is put off to the next run.
        case deferred(Deferral)
        /// The task begins no more: the run ends.
        case none
    }

    /// Whether a task may begin again.
    var nextTry: NextTry {
        switch stop {
        case nil: .allowed
        case .deferring(let reason): .deferred(reason)
        case .failing, .cancelling: .none
        }
    }

    // MARK: Running tasks

    /// Asks a running task to end.
    mutating func end(_ task: TaskIndex, _ ending: Ending) -> Request {
        switch endings[task] {
        case .finish: return .tooLate
        case let present:
            endings[task] = ending
            return present == nil ? .new : .replacesInterruption
        }
    }

    func isEnding(_ task: TaskIndex) -> Bool { !endings.isEmpty && endings[task] != nil }

    func isInterrupted(_ task: TaskIndex) -> Bool { if case .interrupt? = endings[task] { true } else { false } }

    /// The attempt of the task is over: removes and returns what it was told to end with.
    mutating func attemptEnded(_ task: TaskIndex) -> Ending? {
        endings.isEmpty ? nil : endings.removeValue(forKey: task)
    }

    // MARK: Handover

    /// Begins to leave the run to another process. The first call counts.
    mutating func beginHandover(awaiting tasks: Set<TaskIndex>) {
        if handover == nil { handover = Handover(awaited: tasks) }
    }

    var isHandingOver: Bool { handover != nil }

    /// Whether all that is awaited has ended, so that nothing starts here any more.
    var isHandoverClear: Bool { handover?.isClear == true }

    /// Whether the next process is to start the task.
    func isLeftToSuccessor(_ task: TaskIndex) -> Bool {
        guard let handover else { return false }
        return handover.isClear || handover.awaited.contains(task)
    }

    /// Clears the handover once no awaited task runs any more. Returns whether that happened now.
    mutating func clearHandover(isRunning: (TaskIndex) -> Bool) -> Bool {
        guard let present = handover, !present.isClear, !present.awaited.contains(where: isRunning) else {
            return false
        }
        handover?.isClear = true
        return true
    }
}
