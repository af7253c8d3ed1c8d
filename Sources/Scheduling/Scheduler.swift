package import TransferModel

/// Who may start, when, and why not yet: one pure state machine. Time is an argument, what to do is returned.
///
/// A turn: tell it what happened (`take`, `command`), then `turn` for what to do. A task's life here:
/// blocked by needs → queued in its lane → running → (backing off → queued …) → finished.
package struct Scheduler {
    package let plan: SchedulingPlan
    package internal(set) var finishedCount = 0
    var tasks: [TaskState]
    var lanes: [TaskLane] = []
    var sessions: [SessionState]
    /// By an origin's number.
    var origins: [OriginState] = []
    /// Lanes whose slots are to be given out anew.
    var changedLanes: [Int] = []
    var timers = Heap<Timer>()
    /// Timers of tasks that have finished meanwhile, still in the heap.
    var voidTimers = 0
    var dependants: Dependants
    var running = 0
    var actions: [SchedulerAction] = []
    var random: RandomBits
    /// Set by a signal, a deadline or the first failure: nothing new starts.
    var stopping: Stop?
    let beganAt: Instant
    /// What a running task was told to end with; its executor may still say otherwise.
    var endings: [TaskIndex: Ending] = [:]
    /// Tasks to be skipped because one they need did not succeed.
    var skipped: [TaskIndex] = []
    var isSkipping = false

    package init(_ plan: SchedulingPlan, now: Now) {
        self.plan = plan
        tasks = plan.tasks.map { TaskState(openNeeds: UInt32($0.needs.count), since: now.instant) }
        dependants = Dependants(plan.tasks)
        sessions = plan.sessions.map { SessionState(limit: $0.maximumConcurrentTasks ?? .max) }
        random = RandomBits(seed: plan.seed)
        beganAt = now.instant
        for index in plan.tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            if plan.tasks[index].needs.isEmpty {
                enqueue(task, now.instant)
            } else {
                tasks[index].phase = .blocked
                actions.append(.waiting(task, .dependency))
            }
        }
    }

    package var isFinished: Bool { finishedCount == tasks.count }

    /// When `turn` has to be called again although nothing happened.
    package var nextDeadline: Instant? { timers.first?.due }

    /// Peak connections and number of tasks of each origin that a session met. Streams that share a connection
    /// count as one.
    package func hosts(of session: SessionIndex) -> [(origin: OriginID, peak: Int, tasks: Int)] {
        sessions[Int(session.raw)].lanes.compactMap { lane in
            lanes[lane].origin.map { ($0, lanes[lane].peak, lanes[lane].tasks) }
        }
    }

    // MARK: What happened

    package mutating func take(_ report: ExecutorReport, now: Now) {
        switch report {
        case .moved: break
        case .needsGrant(let task, let origin): askForSlot(task, origin, now.instant)
        case .released(let task, _): giveBackSlot(task, now.instant)
        case .transferred(let task): stopCounting(task, now.instant)
        case .protocolIs(let origin, let version): learn(origin, version, now.instant)
        case .ended(let task, let verdict): attemptEnded(task, verdict, now.instant)
        }
    }

    package mutating func command(_ command: RunCommand, now: Now) {
        guard stopping != .cancelling else { return }
        let error: TransferError
        switch command {
        case .stop: error = TransferError(.cancelled, "the run was stopped by a signal")
        case .timeOut: error = TransferError(.timedOut, "the run's `limits.timeout` is over")
        case .suspend, .resume, .cancel: return
        }
        stopping = .cancelling
        for index in tasks.indices {
            end(TaskIndex(raw: UInt32(index)), Ending(outcome: .cancelled, error: error), now.instant)
        }
    }

    /// What to do now. Starts as many tasks as the limits let.
    package mutating func turn(now: Now) -> [SchedulerAction] {
        fireTimers(now.instant)
        giveOutSlots(now.instant)
        startWhatMay(now.instant)
        dropVoidTimers()
        defer { actions = [] }
        return actions
    }
}

/// How a run ends before its tasks do.
enum Stop: Hashable, Sendable {
    /// Nothing new starts; what runs may finish.
    case finishing
    case cancelling
}

/// How a task ends that is not left to its own end.
struct Ending: Sendable {
    let outcome: TaskOutcome
    let error: TransferError
}
