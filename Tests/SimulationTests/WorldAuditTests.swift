import Scheduling
import Simulation
import TestSupport
import Testing
import TransferModel

/// A scheduler that lies is found out: each promise with an action that breaks it.
@Suite struct WorldAuditTests {
    private static let first = TaskIndex(raw: 0)
    private static let second = TaskIndex(raw: 1)
    private static let origin = OriginID(raw: 0)

    /// Two tasks at one host, and whoever watches them.
    private struct Scene {
        var setting = SimulatedSetting(SchedulingPlan())
        var model = WorldModel()
        var now: Now

        init() {
            model.hosts = [WorldModel.Host()]
            setting.plan.policies = [SchedulingPlan.TaskPolicy()]
            setting.plan.policies[0].retry.jitter = .none
            setting.plan.policies[0].retry.attempts = 3
            setting.plan.sessions = [
                SchedulingPlan.Session(
                    maximumConnectionsPerHost: 6, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                    cancelsOnInvalidation: false)
            ]
            setting.plan.tasks = (0..<2).map { _ in
                SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: WorldAuditTests.origin, policy: 0)
            }
            now = setting.start
        }

        mutating func pass(_ span: TimeSpan) {
            now = Now(instant: now.instant + span, boot: now.boot + span, wall: now.wall + span)
        }

        /// What the audit finds in a story.
        mutating func violations(_ story: (inout WorldAudit, inout Scene) -> Void) -> [String] {
            var audit = WorldAudit(setting, model)
            story(&audit, &self)
            return audit.violations
        }
    }

    private static func start(_ audit: inout WorldAudit, _ task: TaskIndex, _ scene: Scene, attempt: Int = 1) {
        audit.sees(.perform(.start(task, attempt: attempt, mirror: 0)), at: scene.now)
    }

    private static func answer(_ audit: inout WorldAudit, _ status: Int, _ scene: Scene, quota: RequestQuota? = nil) {
        audit.sees(.answered(first, Answer(status: status, quota: quota)), at: scene.now)
    }

    private static func fail(_ audit: inout WorldAudit, _ scene: Scene, status: Int, retryAfter: TimeSpan? = nil) {
        let error = TransferError(.unexpectedResponse, "no")
        audit.sees(.released(first, origin), at: scene.now)
        audit.sees(
            .ended(first, Verdict(.failed(error), status: status, retryAfter: retryAfter, sentSomething: true)),
            at: scene.now)
    }

    private static func retry(_ audit: inout WorldAudit, _ scene: Scene, backoff: TimeSpan) {
        let end = AttemptEnd(
            outcome: .failed, error: TransferError(.unexpectedResponse, "no"), backoff: backoff, held: .zero)
        audit.sees(.attemptEnded(first, end), at: scene.now)
    }

    /// Both tasks start; only what `change` says makes that wrong.
    private static func bothStart(_ change: (inout Scene) -> Void) -> String {
        var scene = Scene()
        change(&scene)
        return scene.violations { audit, scene in
            start(&audit, first, scene)
            start(&audit, second, scene)
        }.joined(separator: "; ")
    }

    @Test func limitsOnNumbers() {
        #expect(Self.bothStart { _ in } == "")
        #expect(Self.bothStart { $0.setting.plan.maximumConcurrentTasks = 1 }.contains("2 tasks run"))
        #expect(Self.bothStart { $0.setting.plan.sessions[0].maximumConcurrentTasks = 1 }.contains("of session 0 run"))
        #expect(Self.bothStart { $0.setting.plan.sessions[0].maximumConnectionsPerHost = 1 }.contains("2 requests at"))
        let limit = { (limits: OriginLimits) in Self.bothStart { $0.setting.hostLimits = [(Self.origin, limits)] } }
        #expect(limit(OriginLimits(maximumConnections: 1)).contains("2 connections to host 0"))
        #expect(limit(OriginLimits(requestsPerSecond: RequestRate(perSecond: 1))).contains("`limits.hosts`"))
        #expect(limit(OriginLimits(requestsPerSecond: RequestRate(perSecond: 1, burst: 2))) == "")
        let rate = RequestRate(perSecond: 1)
        #expect(Self.bothStart { $0.setting.plan.sessions[0].requestsPerSecond = rate }.contains("requestsPerSecond"))
    }

    @Test func whatHoldsATaskBack() {
        #expect(Self.bothStart { $0.setting.plan.policies[0].isSuspended = true }.contains("is suspended"))
        let closed = WindowRule { _ in WindowRule.State(isOpen: false, changesAt: nil) }
        #expect(Self.bothStart { $0.setting.plan.sessions[0].window = closed }.contains("outside its window"))
        let begin = Moment.afterStart(.seconds(1))
        #expect(Self.bothStart { $0.setting.plan.policies[0].earliestBegin = begin }.contains("`earliestBegin`"))
        #expect(Self.bothStart { $0.setting.plan.tasks[1].needs = [Self.first] }.contains("which it needs"))
        #expect(Self.bothStart { $0.setting.plan.finishBy = .afterStart(.zero) }.contains("after the end began"))
        #expect(Self.bothStart { $0.setting.plan.timeout = .zero }.contains("after the end began"))
    }

    @Test func hostsThatWantToBeLeftAlone() {
        var scene = Scene()
        let tooEarly = scene.violations { audit, scene in
            Self.start(&audit, Self.first, scene)
            Self.answer(&audit, 503, scene)
            Self.fail(&audit, scene, status: 503, retryAfter: .seconds(2))
            Self.retry(&audit, scene, backoff: .seconds(2))
            scene.pass(.seconds(1))
            Self.start(&audit, Self.second, scene)
        }
        #expect(tooEarly.first?.contains("asked for quiet") == true)

        var other = Scene()
        let twoProbes = other.violations { audit, scene in
            Self.start(&audit, Self.first, scene)
            Self.answer(&audit, 503, scene)
            Self.fail(&audit, scene, status: 503, retryAfter: .seconds(2))
            Self.retry(&audit, scene, backoff: .seconds(2))
            scene.pass(.seconds(2))
            Self.start(&audit, Self.second, scene)
            Self.start(&audit, Self.first, scene, attempt: 2)
        }
        #expect(twoProbes.first?.contains("second probe") == true)

        var quota = Scene()
        let tooMany = quota.violations { audit, scene in
            Self.start(&audit, Self.first, scene)
            Self.answer(&audit, 200, scene, quota: RequestQuota(remaining: 0, resetsAfter: .seconds(5)))
            Self.start(&audit, Self.second, scene)
        }
        #expect(tooMany.first?.contains("takes no more requests") == true)
    }

    /// Both hosts are places of the second task. The first host failed lately; the other rests after a 429, and then the
    /// first task probes it.
    @Test func theOrderOfPlaces() {
        func found(_ place: Int, answered: Int?) -> String {
            var scene = Scene()
            scene.model.hosts.append(WorldModel.Host())
            let other = OriginID(raw: 1)
            scene.setting.plan.tasks[0].origin = other
            scene.setting.plan.tasks.append(scene.setting.plan.tasks[1])
            for task in [1, 2] { scene.setting.plan.mirrors[TaskIndex(raw: UInt32(task))] = [Self.origin, other] }
            return scene.violations { audit, scene in
                let third = TaskIndex(raw: 2)
                Self.start(&audit, third, scene)
                let missing = Verdict(
                    .failed(TransferError(.unexpectedResponse, "no")), status: 404, sentSomething: true)
                audit.sees(.ended(third, missing), at: scene.now)
                let next = AttemptEnd(outcome: .failed, error: missing.error, backoff: nil, held: .zero)
                audit.sees(.attemptEnded(third, next), at: scene.now)
                audit.sees(.perform(.start(third, attempt: 2, mirror: 1)), at: scene.now)
                Self.start(&audit, Self.first, scene)
                Self.answer(&audit, 429, scene)
                Self.fail(&audit, scene, status: 429)
                Self.retry(&audit, scene, backoff: .seconds(1))
                // To what was sent before the pause: that opens no host.
                audit.sees(.answered(third, Answer(status: 200)), at: scene.now)
                scene.pass(.seconds(60))
                Self.start(&audit, Self.first, scene, attempt: 2)
                if let answered { Self.answer(&audit, answered, scene) }
                audit.sees(.perform(.start(Self.second, attempt: 1, mirror: place)), at: scene.now)
            }.joined(separator: "; ")
        }
        #expect(found(0, answered: nil) == "")
        #expect(found(1, answered: 200) == "")
        #expect(found(0, answered: 200).contains("task 1 starts at place 0 before place 1"))
    }

    @Test func backoffs() {
        func found(_ backoff: TimeSpan, retryAfter: TimeSpan? = nil, status: Int = 500) -> String {
            var scene = Scene()
            return scene.violations { audit, scene in
                Self.start(&audit, Self.first, scene)
                Self.fail(&audit, scene, status: status, retryAfter: retryAfter)
                Self.retry(&audit, scene, backoff: backoff)
            }.joined(separator: "; ")
        }
        #expect(found(.seconds(1)) == "")
        #expect(found(.milliseconds(900)).contains("waits 0.9 s, not 1.0 s"))
        #expect(found(.seconds(61)).contains("longer than its policy"))
        #expect(found(.seconds(2), retryAfter: .seconds(3)).contains("less than the server asked for"))
        #expect(found(.seconds(1), status: 404).contains("retries after 404"))
    }

    /// `retry.for`: no attempt after its time, and none is given up before.
    @Test func patience() {
        func scene(_ seconds: Int64) -> Scene {
            var scene = Scene()
            scene.setting.plan.policies[0].retry.attempts = nil
            scene.setting.plan.policies[0].retry.writtenPatience = .seconds(seconds)
            return scene
        }
        func found(_ seconds: Int64, pauses: [Int64]) -> String {
            var scene = scene(seconds)
            return scene.violations { audit, scene in
                for (number, pause) in pauses.enumerated() {
                    Self.start(&audit, Self.first, scene, attempt: number + 1)
                    Self.answer(&audit, 500, scene)
                    Self.fail(&audit, scene, status: 500)
                    Self.retry(&audit, scene, backoff: .seconds(pause))
                    scene.pass(.seconds(pause))
                }
            }.joined(separator: "; ")
        }
        #expect(found(10, pauses: [1, 2, 4, 3]) == "")
        #expect(found(10, pauses: [1, 2, 4, 8]).contains("pauses beyond its `retry.for`"))
        #expect(found(10, pauses: [1, 2, 2]).contains("waits 2.0 s, not 4.0 s"))
        func givenUp(after seconds: Int64) -> String {
            var scene = scene(10)
            return scene.violations { audit, scene in
                Self.start(&audit, Self.first, scene)
                Self.answer(&audit, 500, scene)
                Self.fail(&audit, scene, status: 500)
                Self.retry(&audit, scene, backoff: .seconds(1))
                scene.pass(.seconds(seconds))
                Self.start(&audit, Self.first, scene, attempt: 2)
                Self.answer(&audit, 500, scene)
                Self.fail(&audit, scene, status: 500)
                let waits = [TaskRecord.Wait(reason: .backoff, duration: .seconds(seconds))]
                audit.sees(
                    .finished(
                        Self.first,
                        Conclusion(
                            outcome: .failed, error: TransferError(.unexpectedResponse, "no"), tolerated: false,
                            waits: waits, attempts: 2, duration: .seconds(seconds), held: .zero, staged: .zero,
                            deferral: nil)), at: scene.now)
            }.joined(separator: "; ")
        }
        #expect(givenUp(after: 10) == "")
        #expect(givenUp(after: 9).contains("given up too early"))
    }

    /// `limits.stopWhen`: nothing starts once it is met.
    @Test func tooManyFailures() {
        func found(_ atLeast: Int) -> String {
            var scene = Scene()
            scene.setting.plan.stopWhen = RunLimits.StopRule(failedPercent: 100, atLeast: atLeast)
            return scene.violations { audit, scene in
                Self.start(&audit, Self.first, scene)
                Self.answer(&audit, 404, scene)
                Self.fail(&audit, scene, status: 404)
                audit.sees(
                    .finished(
                        Self.first,
                        Conclusion(
                            outcome: .failed, error: TransferError(.unexpectedResponse, "no"), tolerated: false,
                            waits: [], attempts: 1, duration: .zero, held: .zero, staged: .zero, deferral: nil)),
                    at: scene.now)
                Self.start(&audit, Self.second, scene)
            }.joined(separator: "; ")
        }
        #expect(found(2) == "")
        #expect(found(1).contains("starts after the end began"))
    }

    /// A number of connections that is found stays within its bounds, and is told from where it was.
    @Test func foundConnections() {
        func found(_ from: Int, _ to: Int, _ reason: ConnectionStep.Reason) -> String {
            var scene = Scene()
            scene.setting.plan.sessions[0].connectionRange = ConnectionRange(minimum: 2, maximum: 6)
            return scene.violations { audit, scene in
                let step = ConnectionController.Step(from: from, to: to, reason: reason)
                audit.sees(.connectionsChanged(SessionIndex(raw: 0), Self.origin, step), at: scene.now)
            }.joined(separator: "; ")
        }
        #expect(found(4, 6, .moreThroughput) == "" && found(4, 3, .tooManyRequests) == "")
        #expect(found(4, 7, .moreThroughput).contains("change to 7"))
        #expect(found(4, 1, .unavailable).contains("change to 1"))
        #expect(found(5, 6, .moreThroughput).contains("change from 5"))
        #expect(found(4, 5, .tooManyRequests).contains("tooManyRequests changes 4 to 5"))
        var fixed = Scene()
        let violations = fixed.violations { audit, scene in
            let step = ConnectionController.Step(from: 6, to: 5, reason: .slower)
            audit.sees(.connectionsChanged(SessionIndex(raw: 0), Self.origin, step), at: scene.now)
        }
        #expect(violations.joined().contains("is fixed and changes"))
    }

    @Test func bytesAndCredit() {
        func found(_ change: (inout SchedulingPlan) -> Void) -> String {
            var scene = Scene()
            change(&scene.setting.plan)
            return scene.violations { audit, scene in
                Self.start(&audit, Self.first, scene)
                audit.sees(.moved(Self.first, bytes: 100_000), at: scene.now)
                audit.turnEnded(at: scene.now)
            }.joined(separator: "; ")
        }
        #expect(found { _ in } == "")
        #expect(found { $0.bandwidth = .steady(50_000) }.contains("`limits.bandwidth`"))
        #expect(found { $0.sessions[0].bandwidth = .steady(50_000) }.contains("bandwidth of session 0"))
        #expect(found { $0.bandwidth = Self.limit(50_000, after: .zero) }.contains("`limits.bandwidth`"))
        #expect(found { $0.maximumBytes = 50_000 }.contains("after `limits.maximumBytes`"))
    }

    private static func limit(_ rate: Int64, after span: TimeSpan) -> RateRule {
        let change = SimulatedSetting(SchedulingPlan()).start.wall + span
        return RateRule { date in
            date < change
                ? RateRule.State(rate: nil, changesAt: change) : RateRule.State(rate: rate, changesAt: nil)
        }
    }

    /// What was under way when a limit came is reported late, and is no more than the transfers of that moment had.
    @Test(arguments: [(100_000, true), (200_000, false)] as [(Int64, Bool)])
    func aLimitThatComesInMidRun(_ bytes: Int64, _ isAllowed: Bool) {
        var scene = Scene()
        scene.model.reportEvery = 100_000
        scene.setting.plan.bandwidth = Self.limit(10_000, after: .seconds(1))
        let found = scene.violations { audit, scene in
            Self.start(&audit, Self.first, scene)
            audit.sees(.moved(Self.first, bytes: 1_000_000), at: scene.now)
            scene.pass(.seconds(2))
            audit.sees(.moved(Self.first, bytes: 1), at: scene.now)
            scene.pass(.seconds(5))
            audit.sees(.moved(Self.first, bytes: bytes), at: scene.now)
        }
        #expect(found.isEmpty == isAllowed, "\(found)")
    }

    @Test func endsOfTasksAndGroups() {
        func conclusion(_ outcome: TaskOutcome, attempts: Int = 1) -> Conclusion {
            Conclusion(
                outcome: outcome, error: outcome == .succeeded ? nil : TransferError(.cancelled, "x"),
                tolerated: false, waits: [], attempts: attempts, duration: .zero, held: .zero, staged: .zero,
                deferral: nil)
        }
        func found(_ outcome: TaskOutcome, verdict: Verdict?, twice: Bool = false, group: Bool = false) -> String {
            var scene = Scene()
            if group {
                scene.setting.plan.groupCount = 1
                for task in 0..<2 { scene.setting.plan.tasks[task].group = GroupIndex(raw: 0) }
            }
            return scene.violations { audit, scene in
                Self.start(&audit, Self.first, scene)
                if let verdict { audit.sees(.ended(Self.first, verdict), at: scene.now) }
                if group { audit.sees(.perform(.publish(GroupIndex(raw: 0))), at: scene.now) }
                audit.sees(.finished(Self.first, conclusion(outcome)), at: scene.now)
                if twice { audit.sees(.finished(Self.first, conclusion(outcome)), at: scene.now) }
                audit.turnEnded(at: scene.now)
            }.joined(separator: "; ")
        }
        let success = Verdict(.succeeded, status: 200)
        let lost = Verdict(.failed(TransferError(.networkConnectionLost, "x")))
        #expect(found(.succeeded, verdict: success) == "")
        #expect(found(.succeeded, verdict: nil).contains("finished while it runs"))
        #expect(found(.succeeded, verdict: lost).contains("did not succeed"))
        #expect(found(.succeeded, verdict: success, twice: true).contains("finished twice"))
        #expect(found(.cancelled, verdict: lost).contains("cancelled for nothing"))
        #expect(found(.skipped, verdict: lost).contains("was skipped"))
        #expect(found(.failed, verdict: lost).contains("given up too early"))
        #expect(found(.succeeded, verdict: success, group: true).contains("is published without task 1"))
    }
}
