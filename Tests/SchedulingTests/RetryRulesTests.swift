import Testing
import TransferModel

@testable import Scheduling

@Suite struct RetryRulesTests {
    private func policy(_ change: (inout RetryPolicy) -> Void = { _ in }) -> RetryPolicy {
        var policy = RetryPolicy()
        policy.jitter = .none
        change(&policy)
        return policy
    }

    private func verdict(_ status: Int? = nil, _ change: (inout Verdict) -> Void = { _ in }) -> Verdict {
        var verdict = Verdict(.failed(TransferError(.timedOut, "")), status: status)
        change(&verdict)
        return verdict
    }

    @Test func pausesGrowUpToTheLongest() {
        let pauses = [1, 2, 3, 7, 1_000_000].map { policy().longestPause(after: $0) }
        #expect(pauses == [1, 2, 4, 30, 30].map { TimeSpan.seconds($0) })
    }

    @Test func aFactorBelowOneShortensPauses() {
        let shrinking = policy { $0.multiplier = 0.5 }
        #expect(shrinking.longestPause(after: 2) == .milliseconds(500))
        let steady = policy { $0.multiplier = 1 }
        #expect(steady.longestPause(after: 1_000) == .seconds(1))
    }

    @Test func aRandomPartIsNoLongerThanThePause() {
        var random = RandomBits(seed: 5)
        let jittered = policy { $0.jitter = .full }
        let pauses = (0..<200).map { _ in jittered.pause(after: 3, &random) }
        #expect(pauses.allSatisfy { $0 >= .zero && $0 <= .seconds(4) } && Set(pauses).count > 100)
        let parks = (0..<200).map { _ in jittered.park(after: 3, &random) }
        #expect(parks.allSatisfy { $0 >= .seconds(2) && $0 <= .seconds(4) } && Set(parks).count > 100)
    }

    @Test func equalJitter_keepsHalfOfThePause() {
        var random = RandomBits(seed: 6)
        let equal = policy { $0.jitter = .equal }
        let pauses = (0..<200).map { _ in equal.pause(after: 3, &random) }
        #expect(pauses.allSatisfy { $0 >= .seconds(2) && $0 <= .seconds(4) } && Set(pauses).count > 100)
        #expect(RetryPolicy().jitter == .equal)
    }

    @Test func withoutJitterPausesAreExact() {
        var random = RandomBits(seed: 5)
        let pauses = [policy().pause(after: 2, &random), policy().park(after: 2, &random)]
        #expect(pauses == [.seconds(2), .seconds(2)])
    }

    @Test func whatMayHaveTakenEffectIsNotRepeated() {
        let post = verdict {
            $0.isIdempotent = false
            $0.sentSomething = true
        }
        #expect(!policy().mayRepeat(post))
        #expect(policy { $0.nonIdempotent = true }.mayRepeat(post), "the job says so")
        var unsent = post
        unsent.sentSomething = false
        var busy = post
        busy.status = 503
        #expect(policy().mayRepeat(unsent) && policy().mayRepeat(busy))
    }

    @Test func aStatusHealsIfThePolicyNamesIt() {
        let error = TransferError(.unexpectedResponse, "")
        #expect(policy().canHeal(error, verdict(503)) && !policy().canHeal(error, verdict(404)))
        #expect(!policy().canHeal(error, verdict()))
    }
}
