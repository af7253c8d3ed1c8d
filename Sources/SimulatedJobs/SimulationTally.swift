import Scheduling
import Simulation
import TransferModel

/// Counts what happens in a simulated run.
struct SimulationTally: SimulationObserver, Sendable {
    /// Counts what happened at one host.
    struct Host: Sendable {
        var tasks = 0
        var requests = 0
        var bytes: Int64 = 0
        /// Requests under way, and the most that were at a time.
        var under = 0
        var peak = 0
        var first: Instant?
        var last: Instant?
    }

    /// Times that tasks waited for one reason.
    struct Wait: Sendable {
        var tasks = 0
        var time = TimeSpan.zero
        var longest = TimeSpan.zero
    }

    private(set) var hosts: [Host]
    private(set) var waits: [WaitReason: Wait] = [:]
    private(set) var outcomes: [TaskOutcome: Int] = [:]
    private(set) var tolerated = 0
    private(set) var attempts = 0
    /// Number of tasks of which an attempt began.
    private(set) var begun = 0
    private(set) var bytes: Int64 = 0
    private(set) var taskTime = TimeSpan.zero
    /// Number of attempts that failed, by what happened to them.
    private(set) var faults: [String: Int] = [:]
    private(set) var running = 0
    private(set) var peak = 0
    private var origins: [TaskIndex: OriginID] = [:]

    private let plan: SchedulingPlan

    init(_ plan: SchedulingPlan, hosts: Int) {
        self.plan = plan
        self.hosts = [Host](repeating: Host(), count: hosts)
    }

    mutating func sees(_ report: ExecutorReport, at now: Now) {
        switch report {
        case .moved(let task, let count):
            bytes += count
            guard let origin = origins[task] else { return }
            hosts[Int(origin.raw)].bytes += count
            hosts[Int(origin.raw)].last = now.instant
        case .needsGrant(let task, let origin, _): origins[task] = origin
        case .released(_, let origin), .gaveBack(_, let origin, _): hosts[Int(origin.raw)].under -= 1
        case .ended(let task, let verdict):
            running -= 1
            if let origin = origins.removeValue(forKey: task) { hosts[Int(origin.raw)].last = now.instant }
            guard let error = verdict.error, error.name != .cancelled else { return }
            faults[Self.words(error, verdict.status), default: 0] += 1
        default: break
        }
    }

    private static func words(_ error: TransferError, _ status: Int?) -> String {
        switch error.name {
        case .unexpectedResponse: "answered \(status ?? 0)"
        case .timedOut: "not answered in time"
        case .networkConnectionLost where status != nil: "cut within the body"
        case .networkConnectionLost: "hung up on"
        default: error.message
        }
    }

    mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}

    mutating func sees(_ action: SchedulerAction, at now: Now) {
        switch action {
        case .perform(.start(let task, let number, let mirror)):
            attempts += 1
            if number == 1 { begun += 1 }
            running += 1
            peak = max(peak, running)
            guard let origin = plan.origin(of: task, mirror: mirror) else { return }
            origins[task] = origin
            if number == 1 { hosts[Int(origin.raw)].tasks += 1 }
            asks(origin, now)
        case .perform(.grant(_, let origin)), .perform(.lend(_, let origin)): asks(origin, now)
        case .finished(_, let conclusion):
            outcomes[conclusion.outcome, default: 0] += 1
            if conclusion.tolerated { tolerated += 1 }
            taskTime = taskTime + conclusion.duration
            for wait in conclusion.waits {
                waits[wait.reason, default: Wait()].tasks += 1
                waits[wait.reason, default: Wait()].time += wait.duration
                waits[wait.reason, default: Wait()].longest = max(
                    waits[wait.reason]?.longest ?? .zero, wait.duration)
            }
        default: break
        }
    }

    /// Notes that a request begins at a host.
    private mutating func asks(_ origin: OriginID, _ now: Now) {
        let number = Int(origin.raw)
        hosts[number].requests += 1
        hosts[number].under += 1
        hosts[number].peak = max(hosts[number].peak, hosts[number].under)
        hosts[number].first = hosts[number].first ?? now.instant
    }

    mutating func turnEnded(at now: Now) {}
}
