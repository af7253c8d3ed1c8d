import Scheduling
import Simulation
import TestSupport
import Testing
import TransferModel

/// The modelled world alone: what it does to transfers, by hand-made figures.
@Suite struct SimulatedWorldTests {
    /// A job of tasks at host 0 and the world it meets.
    private struct Scene {
        var setting = SimulatedSetting(SchedulingPlan())
        var model = WorldModel()

        init(tasks: Int, hosts: Int = 1, size: Int64 = 1_000, bandwidth: Int64? = 1_000) {
            var host = WorldModel.Host()
            host.latency = .zero
            host.bandwidth = bandwidth
            model.hosts = Array(repeating: host, count: hosts)
            model.sizes = .fixed(size)
            var policy = SchedulingPlan.TaskPolicy()
            policy.retry.jitter = .none
            policy.retry.attempts = 3
            setting.plan.policies = [policy]
            setting.plan.sessions = [
                SchedulingPlan.Session(
                    maximumConnectionsPerHost: 6, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                    cancelsOnInvalidation: false)
            ]
            for _ in 0..<tasks {
                setting.plan.tasks.append(
                    SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: OriginID(raw: 0), policy: 0))
            }
        }

        func run() -> (history: AttemptHistory, result: SimulationResult) {
            var run = SimulatedRun(
                setting, in: model, observer: AttemptHistory(tasks: setting.plan.tasks.count))
            let result = run.run(mostTurns: 100_000)
            return (run.observer, result)
        }

        /// Seconds after the beginning at which a task finished.
        func seconds(_ history: AttemptHistory, _ task: Int) -> Double {
            history.finishedAt[task].map { ($0 - setting.start.instant).seconds } ?? -1
        }
    }

    @Test func transfersShareTheirHostsBandwidth() {
        var scene = Scene(tasks: 2)
        scene.model.sizes = .listed([1_000, 500])
        let (history, result) = scene.run()
        // Both at 500 a second until the shorter one is done, then one at 1,000.
        #expect(abs(scene.seconds(history, 1) - 1) < 0.001)
        #expect(abs(scene.seconds(history, 0) - 1.5) < 0.001)
        #expect(result.outcomes == [.succeeded: 2])
        #expect(history.bytes == [1_000, 500])
    }

    @Test func latencyAndDeliveryTakeTheirTime() {
        var scene = Scene(tasks: 1, bandwidth: nil)
        scene.model.hosts[0].latency = .milliseconds(100)
        scene.model.deliveryTime = .seconds(2)
        let seconds = scene.seconds(scene.run().history, 0)
        #expect(seconds >= 2.1 && seconds < 2.126)
    }

    @Test func aHostThatRefusesIsTriedAsOftenAsThePolicySays() {
        var scene = Scene(tasks: 1)
        scene.model.hosts[0].refusals = [.always]
        let (history, result) = scene.run()
        #expect(history.attempts == [3])
        #expect(history.errors == [.cannotConnectToHost])
        #expect(result.duration == .seconds(3))
    }

    /// A job that says nothing of `retry`, and a host that is away for five minutes: answering 503, refusing connections,
    /// or cutting them.
    @Test(arguments: ["503", "refused", "reset"]) func theDefaultJob_survivesAnOutageOfFiveMinutes(_ kind: String) {
        var scene = Scene(tasks: 40, size: 1_000, bandwidth: 2_000)
        scene.setting.plan.policies[0].retry = RetryPolicy()
        let outage = WorldModel.Interval(from: .seconds(5), to: .seconds(305))
        switch kind {
        case "503": scene.model.hosts[0].overloads = [outage]
        case "refused": scene.model.hosts[0].refusals = [outage]
        default: scene.model.outages = [outage]
        }
        let (_, result) = scene.run()
        #expect(result.outcomes == [.succeeded: 40])
        #expect(result.duration > .seconds(305) && result.duration < .seconds(420), "\(result.duration.seconds) s")
        // A host that is away is left alone: not each task asks every half minute.
        #expect(result.attempts < 200, "\(result.attempts) attempts")
    }

    /// Each twentieth answer of a host is a 503 that asks for nothing: only the tasks that met one wait.
    @Test func a503NowAndThen_costsNoMoreThanThePausesOfItsTasks() {
        var scene = Scene(tasks: 300, bandwidth: nil)
        scene.setting.plan.policies[0].retry = RetryPolicy()
        scene.model.hosts[0].latency = .milliseconds(10)
        scene.model.hosts[0].faults.unavailable = 50
        let (_, result) = scene.run()
        #expect(result.outcomes == [.succeeded: 300] && result.attempts > 305)
        #expect(result.duration < .seconds(5), "\(result.duration.seconds) s")
    }

    @Test func theDefaultJob_givesUpAHostThatNeverAnsweredAfterAMinute() {
        var scene = Scene(tasks: 40)
        scene.setting.plan.policies[0].retry = RetryPolicy()
        scene.model.hosts[0].refusals = [.always]
        let (history, result) = scene.run()
        #expect(result.outcomes == [.failed: 40])
        #expect(result.duration >= .seconds(60) && result.duration <= .seconds(75), "\(result.duration.seconds) s")
        #expect(history.errors.allSatisfy { $0 == .cannotConnectToHost })
    }

    @Test func anOutageCutsWhatIsUnderWayAndTheRestIsFetchedLater() {
        var scene = Scene(tasks: 1, size: 10_000)
        scene.model.outages = [WorldModel.Interval(from: .seconds(3), to: .milliseconds(3_500))]
        let (history, result) = scene.run()
        #expect(history.attempts == [2])
        #expect(history.outcomes == [.succeeded])
        #expect(history.bytes == [10_000], "what was kept is not fetched again")
        // Three seconds, a second of back-off, and the seven that were left.
        #expect(abs(result.duration.seconds - 11) < 0.01)
    }

    @Test func aCutIsAFailureAfterSomeBytes() {
        var scene = Scene(tasks: 20, size: 1_000)
        scene.model.hosts[0].faults.cuts = 1_000
        let (history, _) = scene.run()
        #expect(history.errors.allSatisfy { $0 == .networkConnectionLost })
        #expect(history.bytes.allSatisfy { $0 < 1_000 })
        #expect(history.bytes.contains { $0 > 0 })
    }

    @Test func aSilentHostIsWaitedForNoLongerThanPatience() {
        var scene = Scene(tasks: 1)
        scene.setting.plan.policies[0].retry.attempts = 1
        scene.model.hosts[0].faults.silences = 1_000
        scene.model.patience = .seconds(7)
        let (history, result) = scene.run()
        #expect(history.errors == [.timedOut])
        #expect(result.duration == .seconds(7))
    }

    @Test func aQuotaThatIsToldIsKept() {
        func statuses(isTold: Bool) -> [Int] {
            var scene = Scene(tasks: 9, bandwidth: nil)
            scene.setting.plan.maximumConcurrentTasks = 1
            scene.model.hosts[0].latency = .milliseconds(1)
            scene.model.hosts[0].quota = WorldModel.Quota(
                limit: 3, window: .seconds(10), isTold: isTold, tellsPolicy: isTold)
            let (history, result) = scene.run()
            #expect(result.outcomes == [.succeeded: 9])
            #expect(result.duration > .seconds(20) && result.duration < .seconds(40))
            return history.statuses.flatMap { $0 }
        }
        #expect(!statuses(isTold: true).contains(429))
        #expect(statuses(isTold: false).contains(429))
    }

    @Test func overloadsAskForTheTimeTheyWereTold() {
        var scene = Scene(tasks: 1, bandwidth: nil)
        scene.model.hosts[0].overloads = [WorldModel.Interval(from: .zero, to: .seconds(5))]
        scene.model.hosts[0].faults.retryAfter = .seconds(8)
        let (history, result) = scene.run()
        #expect(history.statuses == [[503, 200]])
        #expect(result.duration == .seconds(8))
    }

    @Test func redirectsLeadToAnotherHost() {
        var scene = Scene(tasks: 1, hosts: 2, bandwidth: nil)
        scene.model.hosts[0].faults.redirects = 1_000
        scene.model.mostHops = 30
        let (history, _) = scene.run()
        #expect(history.outcomes == [.succeeded])
        #expect(history.statuses[0].last == 200)
        #expect(history.statuses[0].dropLast().allSatisfy { $0 == 302 })
        #expect(history.statuses[0].count > 1)
    }

    @Test func bodiesUnderABandwidthWaitForTheirCredit() {
        var scene = Scene(tasks: 4, size: 25_000, bandwidth: nil)
        scene.setting.plan.bandwidth = .steady(10_000)
        let (history, result) = scene.run()
        #expect(history.bytes == [25_000, 25_000, 25_000, 25_000])
        #expect(result.duration.seconds > 9 && result.duration.seconds < 11)
    }

    @Test func aGroupThatCannotBePutInPlaceFails() {
        func outcomes(failures: Int) -> [TaskOutcome: Int] {
            var scene = Scene(tasks: 3)
            scene.setting.plan.groupCount = 1
            for task in 0..<3 { scene.setting.plan.tasks[task].group = GroupIndex(raw: 0) }
            scene.model.publishFailures = failures
            return scene.run().result.outcomes
        }
        #expect(outcomes(failures: 0) == [.succeeded: 3])
        #expect(outcomes(failures: 1_000) == [.failed: 3])
    }

    @Test func aRunThatNobodyGoesOnWithIsStuck() {
        var scene = Scene(tasks: 2)
        scene.setting.commands = [(.milliseconds(100), .suspend([TaskIndex(raw: 1)]))]
        let result = scene.run().result
        #expect(result.ending == .stuck)
        #expect(result.outcomes == [.succeeded: 1])
    }

    @Test func anotherSeedIsAnotherWorld() {
        var scene = Scene(tasks: 30)
        scene.model.hosts[0].faults.serverErrors = 500
        let first = scene.run().result.trace
        #expect(scene.run().result.trace == first)
        scene.model.seed = 2
        #expect(scene.run().result.trace != first)
    }
}
