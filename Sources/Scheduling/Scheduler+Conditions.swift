import TransferModel

// Networks and power: which tasks may start under them, which wait until they change, and which are interrupted.

extension Scheduler {
    // MARK: What stands in the way

    /// What is missing for a request to the origin; `nil` where nothing is, or the conditions are not looked up.
    func shortage(of task: TaskIndex, at origin: OriginID?) -> Shortage? {
        guard conditions.areStrict, let present = conditions.present else { return nil }
        let number = policyNumber(of: task)
        let isDiscretionary = plan.policies[number].isDiscretionary
        guard needsNetwork(origin, present) else {
            return isDiscretionary && !present.power.isPlentiful ? .power : nil
        }
        let terms = plan.policies[number].terms
        return isDiscretionary ? present.discretionaryShortage(of: terms) : present.shortage(of: terms)
    }

    /// Whether a request to the origin needs a network. One to this machine does not, unless the operator dictates the
    /// conditions.
    private func needsNetwork(_ origin: OriginID?, _ present: Conditions) -> Bool {
        guard let origin else { return false }
        return present.isDictated || !plan.localOrigins.contains(origin)
    }

    /// Whether the task waits until a network is there; others fail at once, and all do where conditions are not looked
    /// up.
    func waitsForNetwork(_ task: TaskIndex) -> Bool {
        conditions.present != nil && plan.policies[policyNumber(of: task)].waitsForConnectivity
    }

    /// Whether the task waits for the shortage to end. A shortage of money or power passes, and only discretionary
    /// tasks meet it; for a network that is missing altogether only tasks with `waitsForConnectivity` wait.
    private func waits(_ task: TaskIndex, for shortage: Shortage) -> Bool {
        switch shortage {
        case .metered, .power: true
        case .noNetwork, .notAllowed: waitsForNetwork(task)
        }
    }

    /// Whether no permitted route led to the host, and nothing has changed since.
    private func isWithoutRoute(_ index: Int) -> Bool {
        tasks[index].hasNoRoute && tasks[index].conditionsMet == conditions.number
    }

    // MARK: About to start

    /// Whether something is missing for a task that nothing else keeps from starting. Then it waits or has ended.
    mutating func isHeldBack(_ task: TaskIndex, in lane: Int) -> Bool {
        let index = Int(task.raw)
        guard conditions.areStrict || tasks[index].hasNoRoute else { return false }
        guard let shortage = shortage(of: task, at: slots.lanes[lane].origin) else {
            guard isWithoutRoute(index) else { return false }
            holdBack(task, .network)
            return true
        }
        if waits(task, for: shortage) {
            holdBack(task, shortage.reason)
        } else {
            end(task, .finish(.failed, conditions.present?.error(for: shortage), nil))
        }
        return true
    }

    private mutating func holdBack(_ task: TaskIndex, _ reason: WaitReason) {
        let index = Int(task.raw)
        guard !plan.putsOffWhatWaits else {
            end(task, .finish(.deferred, nil, reason == .power ? .power : .network))
            return
        }
        leavePhase(index)
        park(task, reason)
    }

    private mutating func park(_ task: TaskIndex, _ reason: WaitReason) {
        let index = Int(task.raw)
        tasks.enter(.awaitingConditions(reason), index, at: now.instant)
        retries.stop(task, at: now.instant)
        conditions.awaitChange(task, of: tasks.count)
        actions.append(.waiting(task, reason))
        if reason == .power {
            stopResourceClock(index)
        } else if !isClosed(index) {
            runResourceClock(task)
        }
    }

    // MARK: They change

    mutating func take(_ news: Conditions) {
        if conditions.change(to: news) {
            for task in conditions.discretionary.sorted() { interruptIfShort(task) }
        }
        for task in conditions.takeWaiting() {
            if case .awaitingConditions(let reason) = tasks[task].phase { judgeAnew(task, waitingFor: reason) }
        }
    }

    /// Interrupts a discretionary task whose terms are not met any more. Where no permitted network is left at all, its
    /// executor ends it.
    private mutating func interruptIfShort(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, tasks[index].isCounted, !runEnding.isEnding(task), !comesToItsEnd(task),
            let shortage = shortage(of: task, at: origin(of: task)), waits(task, for: shortage)
        else { return }
        if plan.putsOffWhatWaits {
            end(task, .finish(.deferred, nil, shortage == .power ? .power : .network))
        } else {
            interrupt(task)
        }
    }

    private mutating func judgeAnew(_ task: TaskIndex, waitingFor reason: WaitReason) {
        if let shortage = shortage(of: task, at: nextOrigin(of: task)), waits(task, for: shortage) {
            guard shortage.reason != reason else { return conditions.awaitChange(task, of: tasks.count) }
            return park(task, shortage.reason)
        }
        makeReady(task)
    }

    private func nextOrigin(of task: TaskIndex) -> OriginID? {
        guard isMirrored(task), let round = mirrors[task] else { return plan.tasks[Int(task.raw)].origin }
        return round.origins[bestMirror(of: round, for: task)]
    }

    // MARK: Attempts that lose their network

    /// How the attempt lost its network; `nil` where its failure is the host's.
    func networkLoss(of task: TaskIndex, _ error: TransferError, _ verdict: Verdict) -> NetworkLoss? {
        if error.name == .noPermittedRoute {
            // What the attempt met may be over: then the next finds out.
            let isOld = tasks[task].conditionsMet != conditions.number && waitsForNetwork(task)
            return isOld ? .gone : .noRoute
        }
        if verdict.lostNetwork { return .gone }
        guard error.name.mayBeTheNetworks, conditions.areStrict, let present = conditions.present,
            needsNetwork(origin(of: task), present),
            present.shortage(of: plan.policies[policyNumber(of: task)].terms) != nil
        else { return nil }
        return .gone
    }

    /// The network failed, not the task: the attempt counts as no try, and another follows when a network is there.
    mutating func goOnWithNetwork(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?, _ loss: NetworkLoss
    ) {
        guard policy(of: task).retry.mayRepeat(verdict) else {
            return finish(task, .failed, error.asRefusal, verdict.status)
        }
        if case .finish(let outcome, let error, let deferral) = meant {
            return finish(task, outcome, error, verdict.status, deferral)
        }
        switch nextTry(of: task) {
        case .allowed: break
        case .deferred(let reason): return finish(task, .deferred, nil, verdict.status, reason)
        case .none: return finish(task, .failed, error.asRefusal, verdict.status)
        }
        if isFreshRound(task) { tasks[task].tries -= 1 }
        tasks[task].hasNoRoute = loss == .noRoute
        startNextAttempt(task, error)
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
}

extension Conditions {
    /// Of a task that does not wait.
    fileprivate func error(for shortage: Shortage) -> TransferError {
        let message = "it needs \(words(for: shortage))"
        guard case .notAllowed(let objection) = shortage else { return TransferError(.notConnectedToInternet, message) }
        return TransferError(.dataNotAllowed, message, reason: objection)
    }
}

extension TransferError {
    /// What a task fails with for want of a route: the same by the contract's name.
    var asRefusal: TransferError {
        guard name == .noPermittedRoute else { return self }
        var error = self
        error.name = reason == nil ? .notConnectedToInternet : .dataNotAllowed
        return error
    }
}
