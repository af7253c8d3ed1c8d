import NetworkConditions
import TestSupport
import Testing
import TransferModel

private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

struct SettlingTests {
    @Test func oneChangeIsLookedAtAfterAMoment() {
        var settling = Settling()
        #expect(settling.due == nil)
        settling.noteChange(at(1000))
        #expect(settling.due == at(1020))
        settling.hasLooked()
        #expect(settling.due == nil)
    }

    @Test func aBurstIsOneAndNeverLate() {
        var settling = Settling()
        for time in stride(from: Int64(0), through: 1000, by: 10) {
            settling.noteChange(at(time))
            #expect(settling.due == at(min(time + 20, 200)))
        }
    }
}

struct CarrierGraceTests {
    private func table(isUp: Bool = true, isRunning: Bool, hasAddress: Bool = true) -> LinkTable {
        var link = NetlinkMessage.Link(index: 2, name: "eth0")
        (link.isUp, link.isRunning) = (isUp, isRunning)
        let addresses = hasAddress ? [UInt32(2): Set([NetworkAddress([10, 0, 0, 1])].compactMap { $0 })] : [:]
        return LinkTable(links: [link], addresses: addresses)
    }

    /// One, asked again and again.
    private final class Asked {
        private var grace = CarrierGrace()
        var due: Instant? { grace.due }

        @discardableResult
        func runs(_ table: LinkTable, _ milliseconds: Int64) -> Bool {
            grace.apply(to: table, now: at(milliseconds)).links[0].isRunning
        }
    }

    @Test func aLostCarrierHasASecond() {
        let grace = Asked()
        #expect(grace.runs(table(isRunning: true), 0) && grace.due == nil)
        #expect(grace.runs(table(isRunning: false), 100))
        #expect(grace.due == at(1100))
        #expect(grace.runs(table(isRunning: false), 1099) && grace.due == at(1100))
        #expect(!grace.runs(table(isRunning: false), 1100))
        #expect(grace.due == nil && !grace.runs(table(isRunning: false), 5000))
    }

    @Test func onceItIsBackTheNextLossHasAnother() {
        let grace = Asked()
        grace.runs(table(isRunning: true), 0)
        #expect(grace.runs(table(isRunning: false), 100))
        #expect(grace.runs(table(isRunning: true), 900) && grace.due == nil)
        #expect(grace.runs(table(isRunning: false), 1500) && grace.due == at(2500))
    }

    @Test func everythingElseCountsAtOnce() {
        for left in [table(isUp: false, isRunning: false), table(isRunning: false, hasAddress: false)] {
            let grace = Asked()
            grace.runs(table(isRunning: true), 0)
            #expect(!grace.runs(left, 100) && grace.due == nil)
        }
        // One that never had a carrier has none to lose.
        let grace = Asked()
        #expect(!grace.runs(table(isRunning: false), 0) && grace.due == nil)
    }
}

struct SleepClockTests {
    @Test func sleepShowsInTheDifferenceOfTwoClocks() {
        var clock = SleepClock()
        var found: [Bool] = []
        for (seconds, asleep) in [(0, 500), (100, 500), (101, 510), (102, 521), (103, 521)] as [(Int64, Int64)] {
            let now = Now(
                instant: at(seconds * 1000), boot: at((seconds + asleep) * 1000), wall: WallTime(nanoseconds: 0))
            found.append(clock.hasSlept(now))
        }
        #expect(found == [false, false, false, true, false])
    }
}
