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
    var laneNumbers: [LaneKey: Int] = [:]
    var ready = Heap<ReadyLane> { $0.isBefore($1) }
    var timers = Heap<Timer> { $0.due < $1.due }
    var dependants: Dependants
    var sessionRunning: [Int]
    var running = 0
    var actions: [SchedulerAction] = []
    var random: RandomBits
    /// Set by a signal, a deadline or the first failure: nothing new starts.
    var stopping: Stop?
    let beganAt: Instant
    /// Tasks to be skipped because one they need did not succeed.
    var skipped: [TaskIndex] = []
    var isSkipping = false

    package init(_ plan: SchedulingPlan, now: Now) {
        self.plan = plan
        tasks = plan.tasks.map { TaskState(openNeeds: UInt32($0.needs.count), since: now.instant) }
        dependants = Dependants(plan.tasks)
        sessionRunning = Array(repeating: 0, count: plan.sessions.count)
        random = RandomBits(seed: plan.seed)
        beganAt = now.instant
        ready = Heap { $0.isBefore($1) }
        for index in plan.tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            if plan.tasks[index].needs.isEmpty {
                enqueue(task, now: now.instant)
            } else {
                tasks[index].phase = .blocked
                actions.append(.waiting(task, .dependency))
            }
        }
    }

    package var isFinished: Bool { finishedCount == tasks.count }

    /// When `turn` has to be called again although nothing happened.
    package var nextDeadline: Instant? { timers.first?.due }

    /// Peak slots and number of tasks of each origin that a session met.
    package func hosts(of session: SessionIndex) -> [(origin: OriginID, peak: Int, tasks: Int)] {
        lanes.compactMap { lane in
            guard lane.session == session, let origin = lane.origin else { return nil }
            return (origin, lane.peak, lane.tasks)
        }
    }

    // MARK: What happened

    package mutating func take(_ report: ExecutorReport, now: Now) {
        switch report {
        case .moved: break
        case .needsGrant(let task, let origin): askForSlot(task, origin, now.instant)
        case .released(let task, let origin): giveBackSlot(task, origin, now.instant)
        case .transferred(let task): stopCounting(task)
        case .protocolIs(let origin, let version): learn(origin, version, now.instant)
        case .ended(let task, let verdict): attemptEnded(task, verdict, now)
        }
    }

    package mutating func command(_ command: RunCommand, now: Now) {
        guard stopping == nil || stopping == .finishing else { return }
        switch command {
        case .stop: stop(.cancelling(TransferError(.cancelled, "the run was stopped by a signal")), now)
        case .timeOut: stop(.cancelling(TransferError(.timedOut, "the run's `limits.timeout` is over")), now)
        }
    }

    /// What to do now. Starts as many tasks as the limits let.
    package mutating func turn(now: Now) -> [SchedulerAction] {
        fireTimers(now)
        startWhatMay(now.instant)
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }
}

/// How a run ends before its tasks do.
enum Stop: Hashable, Sendable {
    /// Nothing new starts; what runs may finish.
    case finishing
    case cancelling(TransferError)
}
