internal import Scheduling
package import Simulation
package import TransferModel

/// A job that uses everything a plan can express, and a network in which everything goes wrong, both from one seed.
package struct RandomWorld: Sendable {
    /// The job: its plan, limits, commands and clocks.
    package var setting: SimulatedSetting
    /// The network.
    package var model = WorldModel()

    /// Most tasks of a job: small jobs show what large ones do, and a thousand of them take less time.
    private static let mostTasks = 30

    package init(seed: UInt64) {
        var random = Seeded(seed: seed)
        setting = SimulatedSetting(SchedulingPlan())
        model.seed = random.next()
        for _ in 0..<(1 + random.below(5)) { model.hosts.append(Self.host(&random)) }
        shapeWorld(&random)
        shapeRun(&random)
        let count = random.oneIn(10) ? 1 + random.below(2) : random.below(Self.mostTasks + 1)
        // A body that starts over in each window may never be complete.
        if random.oneIn(2), !setting.plan.sessions.contains(where: { $0.window != nil }) {
            model.wholes = random.below(1_000)
        }
        addTasks(count, &random)
        addCommands(count, &random)
        addNetworks(&random)
    }

    private static func span(_ random: inout Seeded, below milliseconds: Int) -> TimeSpan {
        .milliseconds(Int64(random.below(milliseconds)))
    }

    private static func intervals(_ random: inout Seeded) -> [WorldModel.Interval] {
        (0..<random.below(3)).map { _ in
            let from = span(&random, below: 20_000)
            return WorldModel.Interval(from: from, to: from + span(&random, below: 6_000))
        }
    }

    // MARK: The network

    private static func host(_ random: inout Seeded) -> WorldModel.Host {
        var host = WorldModel.Host()
        host.latency = span(&random, below: random.oneIn(4) ? 800 : 80)
        host.bandwidth = random.oneIn(3) ? nil : Int64(20_000 + random.below(2_000_000))
        host.version = random.oneIn(3) ? .http2 : .http1
        if random.oneIn(12) {
            host.refusals = [.always]
        } else if random.oneIn(4) {
            host.refusals = intervals(&random)
        }
        if random.oneIn(5) { host.overloads = intervals(&random) }
        if random.oneIn(5) {
            host.quota = WorldModel.Quota(
                limit: 1 + random.below(6), window: .milliseconds(Int64(200 + random.below(3_000))),
                isTold: !random.oneIn(3), tellsPolicy: random.oneIn(2))
        }
        if !random.oneIn(3) { host.faults = faults(&random) }
        return host
    }

    private static func faults(_ random: inout Seeded) -> WorldModel.Faults {
        var faults = WorldModel.Faults()
        func share() -> Int { random.oneIn(2) ? 0 : random.below(160) }
        faults.serverErrors = share()
        faults.missing = share() / 2
        faults.tooMany = share()
        faults.unavailable = share()
        faults.cuts = share()
        faults.silences = share() / 2
        faults.redirects = share()
        faults.hangUps = random.oneIn(8) ? 1_000 : share()
        if random.oneIn(3) { faults.badPaths = random.below(1_000) }
        faults.doubts = share()
        if random.oneIn(2) { faults.retryAfter = span(&random, below: 6_000) }
        return faults
    }

    private mutating func shapeWorld(_ random: inout Seeded) {
        if random.oneIn(5) { model.outages = Self.intervals(&random) }
        model.sizes = random.oneIn(4) ? .fixed(0) : .between(0, Int64(1 + random.below(100_000)))
        model.deliveryTime = random.oneIn(2) ? .zero : Self.span(&random, below: 300)
        model.publishTime = Self.span(&random, below: 400)
        model.publishFailures = random.oneIn(2) ? 0 : 300
        model.patience = .milliseconds(Int64(300 + random.below(3_000)))
        model.cancelTime = random.oneIn(2) ? .zero : Self.span(&random, below: 60)
        model.reportEvery = Int64(4_096 + random.below(60_000))
        model.readAtOnce = random.oneIn(2) ? 0 : Int64(random.below(16_384))
        if random.oneIn(2) { model.uploads = random.below(1_000) }
        if random.oneIn(2) {
            model.segments = 2 + random.below(7)
            model.leastSegment = Int64(1 + random.below(8_000))
            // Long enough that other tasks arrive while the segments move.
            if random.oneIn(2) { model.sizes = .between(0, 600_000) }
        }
        setting.lateness = random.oneIn(2) ? .zero : .milliseconds(Int64(1 + random.below(50)))
    }

    // MARK: The run

    private mutating func shapeRun(_ random: inout Seeded) {
        setting.plan.seed = random.next()
        setting.plan.ownTries = (unanswered: 1 + random.below(8), answered: 1 + random.below(16))
        setting.plan.failFast = random.oneIn(8)
        if random.oneIn(8) {
            setting.plan.stopWhen = RunLimits.StopRule(
                failedPercent: Double(5 * (1 + random.below(20))), atLeast: 1 + random.below(12))
        }
        setting.plan.tellsLimitWaits = random.oneIn(2)
        setting.plan.maximumConcurrentTasks = 1 + random.below(10)
        if random.oneIn(6) { setting.plan.bandwidth = rateRule(&random, below: 400_000) }
        if random.oneIn(12) { setting.plan.timeout = Self.span(&random, below: 20_000) }
        if random.oneIn(12) { setting.plan.finishBy = moment(&random, below: 20_000) }
        if random.oneIn(8) { setting.plan.maximumBytes = Int64(random.below(500_000)) }
        for _ in 0..<(1 + random.below(3)) { setting.plan.sessions.append(session(&random)) }
        for _ in 0..<4 { setting.plan.policies.append(policy(&random)) }
        for origin in model.hosts.indices where random.oneIn(4) {
            setting.hostLimits.append(
                (
                    OriginID(raw: UInt32(origin)),
                    OriginLimits(
                        maximumConnections: random.oneIn(2) ? 1 + random.below(4) : nil,
                        requestsPerSecond: random.oneIn(2) ? Self.rate(&random) : nil)
                ))
        }
    }

    private func moment(_ random: inout Seeded, below milliseconds: Int) -> Moment {
        let span = Self.span(&random, below: milliseconds)
        return random.oneIn(2) ? .afterStart(span) : .at(setting.start.wall + span)
    }

    private static func rate(_ random: inout Seeded) -> RequestRate {
        RequestRate(perSecond: Double(1 + random.below(200)) / 2, burst: 1 + random.below(5))
    }

    private func session(_ random: inout Seeded) -> SchedulingPlan.Session {
        var session = SchedulingPlan.Session(
            maximumConnectionsPerHost: 1 + random.below(5),
            maximumConcurrentTasks: random.oneIn(2) ? 1 + random.below(6) : nil,
            streamsPerConnection: 1 + random.below(12), cancelsOnInvalidation: random.oneIn(2))
        if random.oneIn(4) {
            let least = 1 + random.below(session.maximumConnectionsPerHost)
            session.connectionRange = ConnectionRange(minimum: least, maximum: session.maximumConnectionsPerHost)
        }
        if random.oneIn(5) { session.requestsPerSecond = Self.rate(&random) }
        if random.oneIn(6) { session.bandwidth = rateRule(&random, below: 400_000) }
        if random.oneIn(6) { session.window = window(&random) }
        return session
    }

    /// Returns a rule that is open for a part of every few seconds.
    private func window(_ random: inout Seeded) -> WindowRule {
        let period = Int64(4_000 + random.below(8_000)) * 1_000_000
        let open = Int64(2_000 + random.below(2_000)) * 1_000_000
        let origin = setting.start.wall.nanoseconds - Int64(random.below(10_000)) * 1_000_000
        return WindowRule { date in
            let place = (date.nanoseconds - origin) % period
            let isOpen = place < open
            let rest = isOpen ? open - place : period - place
            return WindowRule.State(isOpen: isOpen, changesAt: date + TimeSpan(nanoseconds: rest))
        }
    }

    /// Returns one rate, or two that alternate every few seconds, one of which may be no limit.
    private func rateRule(_ random: inout Seeded, below most: Int) -> RateRule {
        let rate = Int64(20_000 + random.below(most))
        if !random.oneIn(3) { return .steady(rate) }
        let other = random.oneIn(3) ? nil : Int64(20_000 + random.below(most))
        let hours = window(&random)
        return RateRule { date in
            let state = hours.state(at: date)
            return RateRule.State(rate: state.isOpen ? rate : other, changesAt: state.changesAt)
        }
    }

    private func policy(_ random: inout Seeded) -> SchedulingPlan.TaskPolicy {
        var policy = SchedulingPlan.TaskPolicy()
        policy.priority = random.oneIn(3) ? random.pick([0, 0.25, 0.75, 1]) : 0.5
        policy.retry.attempts = random.oneIn(3) ? nil : 1 + random.below(4)
        policy.retry.initialBackoff = Self.span(&random, below: 1_500)
        policy.retry.maximumBackoff = .milliseconds(Int64(1 + random.below(4_000)))
        policy.retry.multiplier = random.pick([0.5, 1, 2, 10])
        policy.retry.jitter = random.pick([.equal, .full, .none, .none])
        policy.retry.honorsRetryAfter = !random.oneIn(4)
        policy.retry.maximumRetryAfter = Self.span(&random, below: 6_000)
        if policy.retry.attempts == nil || random.oneIn(3) {
            policy.retry.writtenPatience = Self.span(&random, below: random.oneIn(4) ? 90_000 : 12_000)
        }
        // Or a host that is always down would be asked thousands of times.
        if policy.retry.attempts == nil {
            policy.retry.initialBackoff = .milliseconds(100) + policy.retry.initialBackoff
            policy.retry.maximumBackoff = .milliseconds(500) + policy.retry.maximumBackoff
            policy.retry.multiplier = max(1, policy.retry.multiplier)
        }
        if random.oneIn(8) {
            policy.retry = RetryPolicy()
            // In a background session nothing else bounds it, and a run would last for days.
            policy.retry.writtenPatience = .seconds(60)
        }
        if random.oneIn(5) { policy.timeoutForResource = .milliseconds(Int64(1 + random.below(8_000))) }
        // A download that each attempt brings further has no other bound.
        if policy.retry.attempts == nil { policy.timeoutForResource = min(policy.timeoutForResource, .seconds(1_800)) }
        switch random.below(5) {
        case 0: policy.allowFailure = .any
        case 1: policy.allowFailure = .statuses(StatusSet(404, 503))
        default: break
        }
        if random.oneIn(8) { policy.bandwidth = rateRule(&random, below: 200_000) }
        if random.oneIn(8) { policy.earliestBegin = moment(&random, below: 8_000) }
        policy.isSuspended = random.oneIn(16)
        return policy
    }

    // MARK: Tasks

    /// Adds tasks. Needs lead to earlier tasks of a shuffled order, so that they go both ways in the file. A group is a
    /// run of that order, so that no circle can lead out of it and back.
    private mutating func addTasks(_ count: Int, _ random: inout Seeded) {
        let order = (0..<count).shuffled(using: &random)
        var rank = Array(repeating: 0, count: count)
        for (place, task) in order.enumerated() { rank[task] = place }
        var group = [GroupIndex?](repeating: nil, count: count)
        var place = random.below(count + 1)
        while count > 0, place < count, random.oneIn(3) {
            let end = min(count, place + 1 + random.below(6))
            for member in order[place..<end] { group[member] = GroupIndex(raw: UInt16(setting.plan.groupCount)) }
            setting.plan.groupCount += 1
            place = end + random.below(4)
        }
        for index in 0..<count { addTask(index, rank, order, group, &random) }
        // One group has no members in the run: tasks that need it wait for nothing.
        for index in stride(from: 3, to: count, by: 5) {
            setting.plan.tasks[index].neededGroups.append(GroupIndex(raw: UInt16(setting.plan.groupCount)))
        }
        setting.plan.groupCount += 1
    }

    private mutating func addTask(
        _ index: Int, _ rank: [Int], _ order: [Int], _ group: [GroupIndex?], _ random: inout Seeded
    ) {
        var needs: Set<Int> = []
        var groups: Set<GroupIndex> = []
        while rank[index] > 0, random.oneIn(3), needs.count < 3 { needs.insert(order[random.below(rank[index])]) }
        if rank[index] > 0, random.oneIn(8), let needed = group[order[random.below(rank[index])]],
            needed != group[index]
        {
            groups.insert(needed)
        }
        setting.plan.tasks.append(
            SchedulingPlan.Task(
                session: SessionIndex(raw: UInt16(random.below(setting.plan.sessions.count))),
                origin: random.oneIn(12) ? nil : OriginID(raw: UInt32(random.below(model.hosts.count))),
                policy: random.below(4),
                needs: needs.sorted().map { TaskIndex(raw: UInt32($0)) }, group: group[index],
                neededGroups: groups.sorted()))
        addMirrors(index, &random)
        addCondition(index, &random)
    }

    /// Gives some tasks that need others and belong to no group a `when`, by a policy of their own.
    private mutating func addCondition(_ index: Int, _ random: inout Seeded) {
        guard setting.plan.tasks[index].group == nil, !setting.plan.tasks[index].needs.isEmpty, random.oneIn(4) else {
            return
        }
        var policy = setting.plan.policies[setting.plan.tasks[index].policy]
        policy.when = random.pick(NeedsCondition.allCases)
        setting.plan.tasks[index].policy = setting.plan.policies.count
        setting.plan.policies.append(policy)
    }

    /// Gives the task mirrors. The first one is its own origin; the same host may come twice.
    private mutating func addMirrors(_ index: Int, _ random: inout Seeded) {
        guard random.oneIn(4) else { return }
        let others = (0..<(1 + random.below(3))).map { _ in
            random.oneIn(12) ? nil : OriginID(raw: UInt32(random.below(model.hosts.count)))
        }
        setting.plan.mirrors[TaskIndex(raw: UInt32(index))] = [setting.plan.tasks[index].origin] + others
    }

    /// Adds commands. Suspended tasks are resumed in the end, since a run waits for ever for a task that a command
    /// suspended.
    private mutating func addCommands(_ count: Int, _ random: inout Seeded) {
        guard count > 0, random.oneIn(4) else { return }
        let all = (0..<count).map { TaskIndex(raw: UInt32($0)) }
        for _ in 0..<(1 + random.below(4)) {
            let some = (0..<(1 + random.below(5))).map { _ in random.pick(all) }
            let command: RunCommand =
                switch random.below(6) {
                case 0: .cancel(some, keepPartial: random.oneIn(2))
                case 1: .resume(some)
                case 2: random.oneIn(3) ? .stop(signal: 15) : .suspend(some)
                default: .suspend(some)
                }
            setting.commands.append((Self.span(&random, below: 15_000), command))
        }
        setting.commands.sort { $0.after < $1.after }
        setting.commands.append((.seconds(20), .resume(all)))
    }
}

/// Runs one random job in one random world and checks it against every rule.
package enum RandomRun {
    /// A run that takes as many turns does not end; the longest of 300,000 took 80,000.
    package static let mostTurns = 400_000
    /// Nor one that lasts as long: the longest of them lasted three hours, for a host that hung up on nearly everyone and
    /// a window that was mostly closed.
    package static let mostTime = TimeSpan.seconds(7 * 86_400)

    /// Returns what was wrong, if anything, and the result of the run. With `rules`, the events are checked too.
    package static func check(seed: UInt64, rules: Bool) -> (problems: [String], result: SimulationResult) {
        let world = RandomWorld(seed: seed)
        let consumer = CheckingConsumer(TraceFacts(world.setting))
        var run = SimulatedRun(
            world.setting, in: world.model, observer: WorldAudit(world.setting, world.model),
            tape: rules ? EventTape(consumer) : nil)
        let result = run.run(mostTurns: mostTurns, mostTime: mostTime)
        run.observer.close(result)
        var problems = run.observer.violations
        if rules, result.ending == .finished { problems += consumer.finish().map { "\($0)" } }
        return (problems, result)
    }
}

extension TraceFacts {
    /// The facts of a simulated run.
    package init(_ setting: SimulatedSetting) {
        let plan = setting.plan
        var members = [[Int]](repeating: [], count: plan.groupCount)
        for (index, task) in plan.tasks.enumerated() {
            if let group = task.group { members[Int(group.raw)].append(index) }
        }
        let tasks = plan.tasks.enumerated().map { index, task in
            let policy = plan.policies[task.policy]
            let isOwn = { (need: TaskIndex) in task.group != nil && plan.tasks[Int(need.raw)].group == task.group }
            var facts = Task(
                id: "t\(index)", session: Int(task.session.raw),
                needs: task.needs.filter { !isOwn($0) }.map { Int($0.raw) },
                retry: policy.retry, mirrors: plan.mirrorCount(of: TaskIndex(raw: UInt32(index))),
                earliestBegin: policy.earliestBegin, mayFail: policy.allowFailure != .no)
            facts.verified = task.needs.filter(isOwn).map { Int($0.raw) }
            facts.members = task.neededGroups.flatMap { members[Int($0.raw)] }
            facts.isGrouped = task.group != nil
            facts.waitsForConnectivity = policy.waitsForConnectivity
            facts.isDiscretionary = policy.isDiscretionary
            facts.when = policy.when
            return facts
        }
        self.init(
            tasks: tasks,
            sessions: plan.sessions.enumerated().map {
                Session(name: "s\($0)", maximumConcurrentTasks: $1.maximumConcurrentTasks)
            })
        maximumConcurrentTasks = plan.maximumConcurrentTasks
        failFast = plan.failFast
        stopWhen = plan.stopWhen
        timeout = plan.timeout
        finishBy = plan.finishBy
        takesCommands = setting.hasOrders
        putsOffWhatWaits = plan.putsOffWhatWaits
    }
}
