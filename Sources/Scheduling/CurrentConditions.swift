import TransferModel

/// Tracks the networks and the power that are there now, the tasks that wait for others, and the running tasks that a
/// change may end.
struct CurrentConditions: Sendable {
    private struct Waiting: Sendable {
        let task: TaskIndex
        /// The task's wait that this is; a task that waits again has a higher one.
        let wait: UInt32
    }
    /// `nil` where the conditions are not looked up: then no task waits for them.
    private(set) var present: Conditions?
    /// Counts the changes, so that an attempt can be asked whether it met the present conditions.
    private(set) var number: UInt32 = 0
    /// Whether a task with the strictest terms would have to wait. On most machines none would, and no task is judged.
    private(set) var areStrict = false
    /// Waits in the order in which they began. That of a task that has moved on stays until the next change.
    private var waiting: [Waiting] = []
    /// How often each task waited, by task. Grows with the first one.
    private var waitCounts: [UInt32] = []
    /// Running tasks that are interrupted when the conditions begin to cost money or power.
    private(set) var discretionary: Set<TaskIndex> = []

    private static let strictest = NetworkTerms(
        allowsCellular: false, allowsExpensive: false, allowsConstrained: false)

    /// Origins on this machine, which need no network.
    private let localOrigins: Set<OriginID>

    init(_ present: Conditions?, localOrigins: Set<OriginID> = []) {
        self.localOrigins = localOrigins
        set(present)
    }

    private mutating func set(_ conditions: Conditions?) {
        present = conditions
        areStrict = conditions?.discretionaryShortage(of: Self.strictest) != nil
    }

    /// Takes in a report of the conditions. Returns whether they changed. An equal report says that routes came or
    /// went: then a host that was out of reach may not be any more.
    mutating func change(to conditions: Conditions) -> Bool {
        number &+= 1
        guard conditions != present else { return false }
        set(conditions)
        return true
    }

    /// The task waits for other conditions. `count` is the number of tasks, to which some may have been added.
    mutating func awaitChange(_ task: TaskIndex, of count: Int) {
        if waitCounts.count < count { waitCounts += Array(repeating: 0, count: count - waitCounts.count) }
        waitCounts[Int(task.raw)] &+= 1
        waiting.append(Waiting(task: task, wait: waitCounts[Int(task.raw)]))
    }

    /// Removes and returns the tasks that may still wait, each once and in the order of their last waits.
    mutating func takeWaiting() -> [TaskIndex] {
        defer { waiting = [] }
        return waiting.compactMap { waitCounts[Int($0.task.raw)] == $0.wait ? $0.task : nil }
    }

    /// Whether a task may wait for other conditions.
    var isAwaited: Bool { !waiting.isEmpty }

    mutating func began(discretionary task: TaskIndex) { discretionary.insert(task) }
    mutating func attemptEnded(_ task: TaskIndex) { if !discretionary.isEmpty { discretionary.remove(task) } }

    // MARK: What is missing

    /// Returns what is missing for a request to the origin; `nil` where nothing is, or the conditions are not looked
    /// up.
    func shortage(under policy: SchedulingPlan.TaskPolicy, at origin: OriginID?) -> Shortage? {
        guard areStrict, let present else { return nil }
        guard needsNetwork(origin, present) else {
            return policy.isDiscretionary && !present.power.isPlentiful ? .power : nil
        }
        return policy.isDiscretionary
            ? present.discretionaryShortage(of: policy.terms) : present.shortage(of: policy.terms)
    }

    /// Whether a request to the origin needs a network. One to this machine does not, unless the operator dictates the
    /// conditions.
    private func needsNetwork(_ origin: OriginID?, _ present: Conditions) -> Bool {
        guard let origin else { return false }
        return present.isDictated || !localOrigins.contains(origin)
    }

    /// Whether a task waits until a network is there; others fail at once, and all do where conditions are not looked
    /// up.
    func letsWaitForNetwork(_ policy: SchedulingPlan.TaskPolicy) -> Bool {
        present != nil && policy.waitsForConnectivity
    }

    /// Whether a task waits for the shortage to end. A shortage of money or power passes, and only discretionary tasks
    /// meet it; for a network that is missing altogether only tasks with `waitsForConnectivity` wait.
    func letsWait(_ policy: SchedulingPlan.TaskPolicy, for shortage: Shortage) -> Bool {
        switch shortage {
        case .metered, .power: true
        case .noNetwork, .notAllowed: letsWaitForNetwork(policy)
        }
    }

    /// How an attempt lost its network; `nil` where its failure is the host's. `number` is that of the conditions under
    /// which the attempt began.
    func networkLoss(
        _ error: TransferError, _ verdict: Verdict, under policy: SchedulingPlan.TaskPolicy, at origin: OriginID?,
        since number: UInt32
    ) -> NetworkLoss? {
        if error.name == .noPermittedRoute {
            // The conditions have changed since the attempt began: another attempt finds out whether a route is there.
            return number != self.number && letsWaitForNetwork(policy) ? .gone : .noRoute
        }
        if verdict.lostNetwork { return .gone }
        guard error.name.mayBeTheNetworks, areStrict, let present, needsNetwork(origin, present),
            present.shortage(of: policy.terms) != nil
        else { return nil }
        return .gone
    }
}

/// How an attempt came to be without a network.
enum NetworkLoss: Sendable {
    /// None that it may use leads to the host.
    case noRoute
    /// The one it used went away, or may not be used any more.
    case gone
}

extension Shortage {
    var reason: WaitReason { self == .power ? .power : .network }
    var deferral: Deferral { self == .power ? .power : .network }
}

extension Conditions {
    /// The error of a task that does not wait for the shortage to end.
    func error(for shortage: Shortage) -> TransferError {
        let message = "it needs \(words(for: shortage))"
        guard case .notAllowed(let objection) = shortage else { return TransferError(.notConnectedToInternet, message) }
        return TransferError(.dataNotAllowed, message, reason: objection)
    }
}

extension TransferError {
    /// The error with which a task fails that has no route: the same under the name that users know.
    var asRefusal: TransferError {
        guard name == .noPermittedRoute else { return self }
        var error = self
        error.name = reason == nil ? .notConnectedToInternet : .dataNotAllowed
        return error
    }
}
