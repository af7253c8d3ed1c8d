import Testing
import TransferModel

@testable import Scheduling

@Suite struct RunClockTests {
    private func time(_ seconds: Int64, date: Int64) -> Now {
        let instant = Instant(nanoseconds: seconds * 1_000_000_000)
        return Now(instant: instant, boot: instant, wall: WallTime(nanoseconds: date * 1_000_000_000))
    }

    @Test func aRunBeganWhenItsFirstProcessDid() {
        #expect(RunClock(time(100, date: 0)).beganAt == Instant(nanoseconds: 100_000_000_000))
        #expect(RunClock(time(100, date: 0), elapsed: .seconds(40)).beganAt == Instant(nanoseconds: 60_000_000_000))
    }

    /// A date after ten seconds, and whether it was set.
    @Test(arguments: [(1_010, false), (1_011, false), (1_012, true), (1_008, true)] as [(Int64, Bool)])
    func noticesADateThatWasSet(_ date: Int64, isSet: Bool) {
        var clock = RunClock(time(100, date: 1_000))
        let result = clock.beginTurn(time(110, date: date))
        #expect(result == isSet && clock.now.instant == Instant(nanoseconds: 110_000_000_000))
        let next = clock.beginTurn(time(111, date: date + 1))
        #expect(!next, "told once")
    }

    @Test func reportsBetweenTurnsHideNoJump() {
        var clock = RunClock(time(100, date: 1_000))
        clock.set(time(101, date: 5_000))
        let isSet = clock.beginTurn(time(102, date: 5_001))
        #expect(isSet)
    }
}

@Suite struct CurrentConditionsTests {
    private let first = TaskIndex(raw: 0)
    private let second = TaskIndex(raw: 1)
    private let none = Conditions.none

    @Test func withoutALookTheyHoldBackNothing() {
        let conditions = CurrentConditions(nil)
        #expect(conditions.present == nil && !conditions.areStrict)
    }

    @Test func withoutANetworkTheyAreStrict() {
        #expect(CurrentConditions(none).areStrict)
    }

    @Test func eachReportCountsAndOnlyAnotherOneIsAChange() {
        var conditions = CurrentConditions(nil)
        let changes = [conditions.change(to: none), conditions.change(to: none)]
        #expect(changes == [true, false] && conditions.number == 2 && conditions.present == none)
    }

    @Test func aTaskThatWaitsAgainIsTakenOnceAtItsNewPlace() {
        var conditions = CurrentConditions(none)
        conditions.awaitChange(first, of: 2)
        conditions.awaitChange(second, of: 2)
        conditions.awaitChange(first, of: 2)
        let waiting = conditions.takeWaiting()
        let rest = conditions.takeWaiting()
        #expect(waiting == [second, first] && rest.isEmpty)
    }

    @Test func aTaskThatWasAddedMayWait() {
        var conditions = CurrentConditions(none)
        conditions.awaitChange(first, of: 1)
        conditions.awaitChange(TaskIndex(raw: 9), of: 10)
        let waiting = conditions.takeWaiting()
        #expect(waiting == [first, TaskIndex(raw: 9)])
    }

    @Test func aDiscretionaryTaskIsKnownWhileItRuns() {
        var conditions = CurrentConditions(none)
        conditions.began(discretionary: second)
        #expect(conditions.discretionary == [second])
        conditions.attemptEnded(second)
        #expect(conditions.discretionary.isEmpty)
    }
}
