import Simulation
import TestSupport
import Testing
import TransferModel

/// Random jobs in random worlds.
@Suite struct RandomWorldTests {
    /// A few of those that `simulation-check` goes through in the release build.
    @Test func everyRunKeepsItsRules() {
        let first = Seeded("everyRunKeepsItsRules").seed
        for round in 0..<Rounds.scaled(500) {
            let seed = first &+ UInt64(round)
            let (problems, _) = RandomRun.check(seed: seed, rules: true)
            guard problems.isEmpty else {
                Issue.record("TRANSFER_RUN_SEED=\(seed) brings back: \(problems)")
                return
            }
        }
    }

    /// However often the process that carries a run ends, and wherever its events are cut.
    @Test func everyRunThatGoesOnKeepsItsRules() {
        let first = Seeded("everyRunThatGoesOnKeepsItsRules").seed
        var cuts = 0
        for round in 0..<Rounds.scaled(400) {
            let seed = first &+ UInt64(round)
            let (problems, cut, _) = InterruptedRun.check(seed: seed)
            cuts += cut
            guard problems.isEmpty else {
                Issue.record("TRANSFER_RUN_SEED=\(seed) brings back: \(problems)")
                return
            }
        }
        #expect(cuts > 400)
    }

    @Test func theSameSeedGivesTheSameTrace() {
        for seed in 1...40 as ClosedRange<UInt64> {
            let first = RandomRun.check(seed: seed, rules: false).result
            let second = RandomRun.check(seed: seed, rules: true).result
            #expect(first == second)
        }
        let traces = Set((1...40).map { RandomRun.check(seed: UInt64($0), rules: false).result.trace })
        #expect(traces.count > 30)
    }
}
