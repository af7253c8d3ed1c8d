import Testing
import TransferModel

@testable import TransferEngine

@Suite struct BandwidthCreditTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test func withoutALimit_nothingIsEverUsedUp() {
        var credit = BandwidthCredit(rate: nil)
        credit.spend(1 << 30)
        let isUsedUp = credit.isUsedUp(at: at(1))
        let canContinue = credit.add(10, at: at(2))
        #expect(credit.bytes == nil && !isUsedUp && !canContinue && !credit.isPaused)
    }

    @Test func underALimit_nothingMovesBeforeTheFirstCredit() {
        var credit = BandwidthCredit(rate: 100)
        let isUsedUp = credit.isUsedUp(at: at(1))
        #expect(isUsedUp && credit.isPaused)
        let canContinue = credit.add(50, at: at(3))
        #expect(canContinue && !credit.isPaused && credit.pause.total == .seconds(2))
    }

    @Test func whatWasReadTooMuch_isPaidBackFirst() {
        var credit = BandwidthCredit(rate: 100)
        _ = credit.add(10, at: at(0))
        credit.spend(30)
        let isUsedUp = credit.isUsedUp(at: at(1))
        #expect(credit.bytes == -20 && isUsedUp)
        let exact = credit.add(20, at: at(2))
        #expect(!exact && credit.isPaused, "a balance of 0 lets nothing move")
        let more = credit.add(1, at: at(5))
        #expect(more && credit.pause.total == .seconds(4))
    }

    @Test func creditThatComesWhileBytesMove_endsNoPause() {
        var credit = BandwidthCredit(rate: 100)
        _ = credit.add(10, at: at(0))
        let hadStopped = credit.add(10, at: at(1))
        #expect(!hadStopped && credit.bytes == 20 && credit.pause.total == .zero)
    }
}

@Suite struct WaitClockTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test func severalWaits_addUp() {
        var clock = WaitClock()
        clock.start(at: at(1))
        clock.start(at: at(2))
        #expect(clock.elapsed(at: at(4)) == .seconds(3), "a wait under way begins no second time")
        let (first, second) = (clock.stop(at: at(5)), clock.stop(at: at(6)))
        #expect(first && !second)
        clock.start(at: at(10))
        #expect(clock.elapsed(at: at(11)) == .seconds(5) && clock.total == .seconds(4))
    }
}
