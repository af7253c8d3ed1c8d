import TransferModel

/// Holds what all parts of the scheduler read and change: the job, the time, the tasks, what falls due, and the actions
/// of the turn.
///
/// Cannot be copied, so that no part works on an old table of tasks.
struct RunState: ~Copyable {
    /// The job. Templates add tasks to it.
    var plan: SchedulingPlan
    var clock: RunClock
    var tasks: TaskTable
    var timers = TimerQueues()
    /// What the turn asks of the executor so far, in order.
    var actions: [SchedulerAction] = []

    init(_ plan: SchedulingPlan, now: Now, elapsed: TimeSpan) {
        self.plan = plan
        clock = RunClock(now, elapsed: elapsed)
        tasks = TaskTable(count: plan.tasks.count, at: now.instant)
    }

    /// The time as the last call to the scheduler said it.
    var now: Now { clock.now }

    /// Whether the task waits in the lane: its queue may still hold tasks that have moved on.
    func isQueued(_ task: TaskIndex, in lane: Int) -> Bool {
        tasks[task].phase == .queued && Int(tasks[task].lane) == lane
    }

    /// Tells that an attempt ended which is not its task's last. `pause` is the wait before the next one.
    mutating func endAttempt(
        of task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError, pause: TimeSpan? = nil,
        until deadline: Instant? = nil
    ) {
        let held = tasks[task].takeWaitInAttempt()
        actions.append(
            .attemptEnded(
                task, AttemptEnd(outcome: outcome, error: error, backoff: pause, held: held, until: deadline)))
    }

    // MARK: timeoutForResource

    /// Gives the task's clock all of its time and starts it.
    mutating func beginResourceClock(_ task: TaskIndex) {
        tasks[task].resourceClock.begin(left: plan[policyOf: task].timeoutForResource)
        startResourceClock(task)
    }

    /// Starts the task's clock if it has begun: nothing but the network holds the task back.
    mutating func startResourceClock(_ task: TaskIndex) {
        guard let due = tasks[task].resourceClock.start(at: now.instant) else { return }
        timers.add(Timer(due: due, kind: .resource, index: task.raw))
    }

    /// Starts the task's clock, whether or not it has begun.
    mutating func runResourceClock(_ task: TaskIndex) {
        if tasks[task].resourceClock.hasBegun { startResourceClock(task) } else { beginResourceClock(task) }
    }

    /// Stops the task's clock, which keeps the time that is left.
    mutating func stopResourceClock(_ task: TaskIndex) {
        if tasks[task].resourceClock.stop(at: now.instant) { timers.timerBecameVoid() }
    }
}
