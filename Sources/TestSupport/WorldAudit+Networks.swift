internal import Scheduling
internal import Simulation
internal import TransferModel

// Networks and power: no task starts without them; a wait is reported once, and only while it has a reason.

extension WorldAudit {
    /// The audit's state of one task's networks.
    struct NetworkPage {
        /// Number of the conditions under which its last attempt began; `foundNoRoute` says whether that attempt found
        /// no route.
        var met = 0
        var foundNoRoute = false
        /// Time since which a network or power is missing; `nil` while none is. `barred` is the total before it.
        var barredSince: Instant?
        var barred = TimeSpan.zero
        /// The last reported wait for a network or power; `nil` when a further report is due.
        var waitsFor: WaitReason?
        /// What the end of its last attempt says about networks.
        var loss: Loss?
    }

    enum Loss { case noRoute, gone }

    // MARK: What is missing

    func shortage(_ task: TaskIndex, at origin: OriginID?) -> Shortage? {
        guard let conditions else { return nil }
        let policy = policy(task)
        let staysHere = origin.map { plan.localOrigins.contains($0) && !conditions.isDictated } ?? true
        if staysHere { return policy.isDiscretionary && !conditions.power.isPlentiful ? .power : nil }
        if policy.isDiscretionary { return conditions.discretionaryShortage(of: policy.terms) }
        return conditions.shortage(of: policy.terms)
    }

    func places(_ task: TaskIndex) -> [OriginID?] { plan.mirrors[task] ?? [facts(task).origin] }

    func waitsForNetwork(_ task: TaskIndex) -> Bool { conditions != nil && policy(task).waitsForConnectivity }

    /// The reason for which the task waits instead of using the origin or failing, or `nil`.
    private func held(_ task: TaskIndex, from origin: OriginID?) -> WaitReason? {
        switch shortage(task, at: origin) {
        case .power: .power
        case .metered: .network
        case .noNetwork, .notAllowed: waitsForNetwork(task) ? .network : nil
        case nil: nil
        }
    }

    /// Whether the task has a reason to wait at one of its URLs at least.
    private func isBarred(_ task: TaskIndex) -> Bool {
        let page = networks[Int(task.raw)]
        if page.foundNoRoute, page.met == conditionsNumber { return true }
        return places(task).contains { held(task, from: $0) != nil }
    }

    mutating func openNetworkPages(_ begin: Instant) {
        for index in pages.indices where isBarred(TaskIndex(raw: UInt32(index))) {
            networks[index].barredSince = begin
        }
    }

    private mutating func noteBarred(_ index: Int, _ now: Now) {
        let isBarred = isBarred(TaskIndex(raw: UInt32(index)))
        if isBarred, networks[index].barredSince == nil { networks[index].barredSince = now.instant }
        if !isBarred, let since = networks[index].barredSince {
            networks[index].barred += now.instant - since
            networks[index].barredSince = nil
        }
    }

    // MARK: What was said

    mutating func change(to news: Conditions, _ now: Now) {
        changes += 1
        conditionsNumber += 1
        conditions = news
        for index in pages.indices {
            noteBarred(index, now)
            // A task that may start again, and does not for other reasons, is reported again when a network or power is
            // missing once more.
            let task = TaskIndex(raw: UInt32(index))
            if places(task).contains(where: { held(task, from: $0) != networks[index].waitsFor }) {
                networks[index].waitsFor = nil
            }
        }
    }

    mutating func waiting(_ task: TaskIndex, _ reason: WaitReason, _ now: Now) {
        let index = Int(task.raw)
        let isPutOff = plan.putsOffWhatWaits && [.network, .power, .window, .earliestBegin].contains(reason)
        hold(!isPutOff, now, "task \(index) waits for \(reason.rawValue) in a run that does not wait for that")
        // A wait that the first of two changes caused may not hold after the second.
        defer { networks[index].waitsFor = changes < 2 ? reason : nil }
        let isNews = reason != .hostParked || networks[index].waitsFor != reason || pages[index].mirrors != nil
        hold(isNews, now, "task \(index) is told twice that its host is parked")
        guard reason == .network || reason == .power else { return }
        hold(
            networks[index].waitsFor != reason, now, "task \(index) is told twice that it waits for \(reason.rawValue)")
        if reason == .network, pages[index].begunAt == nil { pages[index].begunAt = now.instant }
        guard changes < 2 else { return }
        hold(isBarred(task), now, "task \(index) waits for \(reason.rawValue) and needs nothing")
    }

    mutating func startUnder(_ task: TaskIndex, _ origin: OriginID?, _ now: Now) {
        let index = Int(task.raw)
        if let missing = shortage(task, at: origin) { hold(false, now, "task \(index) starts for all the \(missing)") }
        let isHopeless = networks[index].foundNoRoute && networks[index].met == conditionsNumber
        hold(!isHopeless || pages[index].mirrors != nil, now, "task \(index) starts again where no route led")
        networks[index].met = conditionsNumber
        networks[index].foundNoRoute = false
        networks[index].waitsFor = nil
        networks[index].loss = nil
        noteBarred(index, now)
    }

    // MARK: Ends

    /// Notes what the end of an attempt says about networks; called before any other use of the verdict.
    mutating func noteLoss(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        let index = Int(task.raw)
        guard case .failed(let error) = verdict.outcome else { return }
        if error.name == .noPermittedRoute {
            let isOld = networks[index].met != conditionsNumber && waitsForNetwork(task)
            networks[index].loss = isOld ? .gone : .noRoute
            if !isOld, waitsForNetwork(task) { networks[index].foundNoRoute = true }
            noteBarred(index, now)
        } else if verdict.lostNetwork || isWithoutNetwork(task, error.name) {
            networks[index].loss = .gone
        }
    }

    private func isWithoutNetwork(_ task: TaskIndex, _ name: ErrorName) -> Bool {
        guard let conditions, Self.deadNames.contains(name) || name == .notConnectedToInternet,
            let origin = pages[Int(task.raw)].origin, conditions.isDictated || !plan.localOrigins.contains(origin)
        else { return false }
        return conditions.shortage(of: policy(task).terms) != nil
    }

    /// Whether the attempt ended for its network alone, so that another follows and this one does not count.
    mutating func goesOnWithNetwork(_ task: TaskIndex, _ end: AttemptEnd, _ now: Now) -> Bool {
        let index = Int(task.raw)
        guard let loss = networks[index].loss, waitsForNetwork(task), end.backoff == nil else { return false }
        if let page = pages[index].mirrors {
            if loss == .noRoute {
                // Either the round has a next URL, or it begins anew.
                let isAnew = page.isRoundOver && page.failures.allSatisfy { $0.foundNoRoute }
                guard isAnew || page.wasCharged else { return false }
                pages[index].mirrors?.failures = []
                pages[index].tries -= 1
                return true
            }
            if page.failures.isEmpty || page.wasCharged { pages[index].tries -= 1 }
            return true
        }
        pages[index].tries -= 1
        return true
    }

    mutating func checkShortage(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        let page = networks[index]
        let barred = page.barred + (page.barredSince.map { now.instant - $0 } ?? .zero)
        let waited = conclusion.waits.filter { $0.reason == .network || $0.reason == .power }
        let sum = waited.reduce(TimeSpan.zero) { $0 + $1.duration }
        hold(
            sum <= barred, now,
            "task \(index) waited \(sum.seconds) s, and something was missing for \(barred.seconds) s")
        if plan.putsOffWhatWaits {
            let isWaiting = !waited.isEmpty || conclusion.waits.contains { $0.reason == .earliestBegin }
            hold(!isWaiting, now, "task \(index) waited in a run that does not")
        }
        guard conclusion.outcome == .failed, let error = conclusion.error else { return }
        hold(error.name != .noPermittedRoute, now, "task \(index) failed with an executor's word")
        guard error.name == .notConnectedToInternet || error.name == .dataNotAllowed, !pages[index].isOwed else {
            return
        }
        let isRight = pages[index].hasFailed ? page.loss != nil || pages[index].mirrors != nil : !waitsForNetwork(task)
        hold(isRight, now, "task \(index) failed for want of a network")
        hold(
            (error.name == .dataNotAllowed) == (error.reason != nil), now, "task \(index): \(error) has a wrong reason")
        if !pages[index].hasFailed, changes < 2 {
            hold(
                places(task).contains { shortage(task, at: $0) != nil }, now,
                "task \(index) failed with a network there")
        }
    }

    /// Whether the task may be put off for this reason, its own or one of a task that it needs or is published with.
    func isPutOffRightly(_ task: TaskIndex, _ deferral: Deferral, _ now: Now) -> Bool {
        switch deferral {
        case .finishBy: return plan.finishBy != nil
        case .suspended: return pages.contains { $0.isSuspended }
        case .maximumBytes: break
        case .network, .power, .window, .earliestBegin: guard plan.putsOffWhatWaits else { return false }
        }
        let others =
            facts(task).needs.map { Int($0.raw) }
            + ([facts(task).group].compactMap { $0 } + facts(task).neededGroups).flatMap { groups[Int($0.raw)].members }
        if others.contains(where: { pages[$0].conclusion?.deferral == deferral }) { return true }
        switch deferral {
        case .maximumBytes:
            return hasMovedAll || answersTooLong >= Scheduler.mostAnswersTooLong
                || pages[Int(task.raw)].verdict?.isForNextRun == true
        // The window may have opened again after it ended a task that had not come to its end.
        case .window: return !isOpen(facts(task).session, now) || pages[Int(task.raw)].isCancelled
        case .earliestBegin: return moment(policy(task).earliestBegin).map { $0 > now.wall } ?? false
        // Its last request may have gone to another host than its first.
        default:
            return isBarred(task) || changes > 1 || pages[Int(task.raw)].isCancelled || mayBeInterrupted(task)
        }
    }

    /// Whether a discretionary task may be ended because a condition for it is missing.
    func mayBeInterrupted(_ task: TaskIndex) -> Bool {
        policy(task).isDiscretionary && (changes > 1 || shortage(task, at: pages[Int(task.raw)].origin) != nil)
    }
}
