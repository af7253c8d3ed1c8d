import Scheduling
import TestSupport
import TransferModel

/// A scheduler before a world that does only what the test says.
struct Stage: ~Copyable {
    var scheduler: Scheduler
    var clock = ManualClock()
    var running: [Int] = []
    var granted: [Int] = []
    var lent: [Int] = []
    var recalled: [Int] = []
    var cancelled: [Int] = []
    var backoffs: [TimeSpan] = []
    /// Of each start, the place among the task's `urls`.
    var mirrors: [Int] = []
    var attemptEnds: [AttemptEnd] = []
    var credits: [Int: Int64] = [:]
    var told: [Int: WaitReason] = [:]
    /// Each wait that was told, in order.
    var tellings: [Int: [WaitReason]] = [:]
    var published: [Int] = []
    var givenUp: [Int] = []
    var discarded: [Int] = []
    var ends: [Int: Conclusion] = [:]
    var order: [Int] = []
    var expanding: [Int] = []

    init(_ plan: SchedulingPlan, limits: [UInt32: OriginLimits] = [:]) {
        scheduler = Scheduler(plan, now: clock.now)
        for (origin, limits) in limits { scheduler.limit(OriginID(raw: origin), to: limits) }
        turn()
    }

    /// Goes on with what another one began.
    init(
        _ plan: SchedulingPlan, goingOn history: RunHistory, hasCrashed: Bool = false, at clock: ManualClock,
        lost: Set<TaskIndex> = []
    ) {
        self.clock = clock
        scheduler = Scheduler(plan, now: clock.now, history: history, hasCrashed: hasCrashed, lost: lost)
        turn()
    }

    /// Moves the clock, gives the scheduler a turn and says who started in it.
    @discardableResult
    mutating func turn(after span: TimeSpan = .zero) -> [Int] {
        var started: [Int] = []
        for action in scheduler.turn(now: clock.advance(span)) {
            switch action {
            case .perform(.start(let task, _, let mirror)):
                started.append(Int(task.raw))
                mirrors.append(mirror)
            case .perform(.grant(let task, _)): granted.append(Int(task.raw))
            case .perform(.lend(let task, _)): lent.append(Int(task.raw))
            case .perform(.recall(let task, _)): recalled.append(Int(task.raw))
            case .perform(.cancel(let task, _)): cancelled.append(Int(task.raw))
            case .attemptEnded(_, let end):
                attemptEnds.append(end)
                if let backoff = end.backoff { backoffs.append(backoff) }
            case .perform(.credit(let task, let bytes)): credits[Int(task.raw), default: 0] += bytes
            case .perform(.publish(let group)): published.append(Int(group.raw))
            case .perform(.giveUp(let group)): givenUp.append(Int(group.raw))
            case .perform(.discard(let group)): discarded.append(Int(group.raw))
            case .waiting(let task, let reason):
                told[Int(task.raw)] = reason
                tellings[Int(task.raw), default: []].append(reason)
            case .expand(let task): expanding.append(Int(task.raw))
            case .finished(let task, let conclusion):
                ends[Int(task.raw)] = conclusion
                order.append(Int(task.raw))
            default: break
            }
        }
        running += started
        return started
    }

    mutating func end(_ task: Int, _ verdict: Verdict = Verdict(.succeeded, status: 200)) {
        running.removeAll { $0 == task }
        scheduler.receive(.ended(TaskIndex(raw: UInt32(task)), verdict), now: clock.now)
    }

    @discardableResult
    mutating func command(_ command: RunCommand) -> [Int] {
        scheduler.command(command, now: clock.now).map { Int($0.raw) }
    }

    mutating func receive(_ report: ExecutorReport) { scheduler.receive(report, now: clock.now) }

    mutating func answer(_ task: Int, _ status: Int = 200, _ quota: RequestQuota? = nil) {
        receive(.answered(TaskIndex(raw: UInt32(task)), Answer(status: status, quota: quota)))
    }

    mutating func couldUse(_ slots: Int, _ task: Int) {
        receive(.couldUse(TaskIndex(raw: UInt32(task)), host, slots: slots))
    }

    mutating func giveBack(_ task: Int, wasAnswered: Bool = true) {
        receive(.gaveBack(TaskIndex(raw: UInt32(task)), host, wasAnswered: wasAnswered))
    }

    /// The attempt ends as it was told to.
    mutating func endCancelled(_ task: Int) {
        end(task, Verdict(.cancelled(TransferError(.cancelled, "the transfer was cancelled"))))
    }

    func wait(_ task: Int, _ reason: WaitReason) -> TimeSpan {
        ends[task]?.waits.first { $0.reason == reason }?.duration ?? .zero
    }
}

func plan(
    _ tasks: Int, perHost: Int = 6, run: Int = 64, session: Int? = nil, origins: Int = 1, streams: Int = 100,
    sessions: Int = 1, _ change: (inout SchedulingPlan) -> Void = { _ in }
) -> SchedulingPlan {
    var plan = SchedulingPlan()
    plan.maximumConcurrentTasks = run
    for _ in 0..<sessions {
        plan.sessions.append(
            SchedulingPlan.Session(
                maximumConnectionsPerHost: perHost, maximumConcurrentTasks: session, streamsPerConnection: streams,
                cancelsOnInvalidation: false))
    }
    for index in 0..<tasks {
        var policy = SchedulingPlan.TaskPolicy()
        policy.retry.jitter = .none
        // Few, and no time: what bounds the tries is the subject of `PatienceTests`.
        policy.retry.attempts = 3
        plan.policies.append(policy)
        plan.tasks.append(
            SchedulingPlan.Task(
                session: SessionIndex(raw: UInt16(index % sessions)),
                origin: OriginID(raw: UInt32(index % origins)), policy: index))
    }
    change(&plan)
    return plan
}

func needs(_ tasks: Int...) -> [TaskIndex] { tasks.map { TaskIndex(raw: UInt32($0)) } }
let host = OriginID(raw: 0)
