import Scheduling
import Simulation
import TestSupport
import Testing
import TransferModel

/// `maximumConnectionsPerHost: auto` on modelled hosts, each with a capacity that nothing tells.
@Suite struct FoundConnectionsTests {
    /// What bounds a host.
    enum Kind: String, CaseIterable {
        case throughput, connections, rate, crowd
    }

    /// A host with a capacity drawn at random, a job that takes it about four minutes, and fixed numbers of connections
    /// among which is the best one.
    private struct Scene {
        var model = WorldModel()
        var tasks = 0
        var candidates: [Int] = []

        init(_ kind: Kind, _ random: inout Seeded) {
            func between(_ least: Double, _ most: Double) -> Double {
                least + (most - least) * Double(random.below(10_001)) / 10_000
            }
            var host = WorldModel.Host()
            var rate = 0.0
            var latency = between(0.2, 0.8)
            // The random part of a latency is an eighth of it on average.
            let mean = { latency * 1.125 }
            switch kind {
            case .throughput:
                latency = between(0.05, 0.4)
                let size = Int64(between(50_000, 500_000))
                host.bandwidth = Int64(between(500_000, 8_000_000))
                model.sizes = .fixed(size)
                rate = min(Double(host.bandwidth ?? 1) / Double(size), 16 / mean())
                candidates = [2, 4, 8, 16]
            case .connections:
                let most = 3 + random.below(10)
                host.mostRequests = most
                rate = Double(most) / mean()
                candidates = [most - 1, most]
            case .rate:
                let best = 3 + random.below(8)
                latency = between(0.5, 1)
                let limit = Int(Double(best) * 10 / mean() * 1.03)
                host.quota = WorldModel.Quota(limit: limit, window: .seconds(10), isTold: false, tellsPolicy: false)
                rate = Double(limit) / 10
                candidates = [best, best + 1]
            case .crowd:
                let from = 3 + random.below(6)
                host.crowdedFrom = from
                host.crowding = 0.5
                latency = between(0.2, 0.6)
                rate = Double(from) / mean()
                candidates = [from - 1, from, from + 1]
            }
            if host.bandwidth == nil { model.sizes = .fixed(1_000) }
            host.latency = TimeSpan(nanoseconds: Int64(latency * 1e9))
            model.hosts = [host]
            model.seed = random.next()
            tasks = Int(rate * 240)
        }

        func run(_ connections: Int, range: ConnectionRange? = nil) -> Outcome {
            var setting = SimulatedSetting(SchedulingPlan())
            var session = SchedulingPlan.Session(
                maximumConnectionsPerHost: connections, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                cancelsOnInvalidation: false)
            session.connectionRange = range
            setting.plan.sessions = [session]
            setting.plan.policies = [SchedulingPlan.TaskPolicy()]
            setting.plan.tasks = (0..<tasks).map { _ in
                SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: OriginID(raw: 0), policy: 0)
            }
            var run = SimulatedRun(setting, in: model, observer: Watch())
            let result = run.run(mostTurns: 1_000_000)
            return Outcome(
                seconds: result.duration.seconds, refused: run.observer.refused, steps: run.observer.steps,
                succeeded: result.outcomes[.succeeded] ?? 0)
        }
    }

    private struct Outcome {
        var seconds: Double
        var refused: Int
        var steps: [ConnectionController.Step]
        var succeeded: Int
    }

    /// Counts what the host refused, and keeps the steps.
    private struct Watch: SimulationObserver {
        var refused = 0
        var steps: [ConnectionController.Step] = []

        mutating func sees(_ report: ExecutorReport, at now: Now) {
            if case .answered(_, let answer) = report, answer.status == 429 || answer.status == 503 { refused += 1 }
        }
        mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}
        mutating func sees(_ action: SchedulerAction, at now: Now) {
            if case .connectionsChanged(_, _, let step) = action { steps.append(step) }
        }
        mutating func turnEnded(at now: Now) {}
    }

    /// Within a tenth of the best fixed number on average over many hosts; a few of them, or a single one, may hide
    /// their bounds better than that.
    @Test(arguments: Kind.allCases) func theNumberThatIsFound_isNearlyAsFastAsTheBestFixedOne(_ kind: Kind) {
        let first = Seeded("theNumberThatIsFound").seed
        var excess = 0.0
        let rounds = Rounds.scaled(5)
        for round in 0..<rounds {
            let seed = first &+ UInt64(round)
            var random = Seeded(seed: seed)
            let scene = Scene(kind, &random)
            let best = scene.candidates.filter { $0 >= 2 }.map { scene.run($0).seconds }.min() ?? 0
            let found = scene.run(16, range: .standard)
            let place: Comment = "\(kind.rawValue), TRANSFER_RUN_SEED=\(seed): \(found.seconds) s, best \(best) s"
            #expect(found.succeeded == scene.tasks, place)
            #expect(found.seconds <= 1.6 * best, place)
            excess += found.seconds / best - 1
            // A storm would be many hundreds.
            #expect(found.refused <= 200, "\(found.refused) refused; \(place)")
            #expect(found.steps.allSatisfy { (2...16).contains($0.to) && $0.from != $0.to }, place)
        }
        #expect(excess / Double(rounds) <= (Rounds.isLong ? 0.1 : 0.25), "\(kind.rawValue), TRANSFER_RUN_SEED=\(first)")
    }

    @Test func theSameSeed_givesTheSameSteps() {
        var random = Seeded(seed: 11)
        let scene = Scene(.connections, &random)
        let (first, second) = (scene.run(16, range: .standard), scene.run(16, range: .standard))
        #expect(first.steps == second.steps && !first.steps.isEmpty)
    }

    @Test func aFixedNumber_neverChanges() {
        var random = Seeded(seed: 12)
        #expect(Scene(.connections, &random).run(6).steps.isEmpty)
    }

    @Test func overHTTP2_thereIsNoNumberToFind() {
        var random = Seeded(seed: 13)
        var scene = Scene(.throughput, &random)
        scene.model.hosts[0].version = .http2
        let found = scene.run(16, range: .standard)
        #expect(found.steps.isEmpty && found.succeeded == scene.tasks)
    }
}
