import Reporting
import TestSupport
import Testing
import TransferModel

/// What is shown of a run while the date is set.
@Suite struct SteadyTimeTests {
    private final class Shown: EventConsumer {
        var times: [WallTime] = []
        var ticks: [WallTime] = []
        var lacks: [String?] = []
        var nextTick: WallTime?
        func consume(_ events: ArraySlice<Event>) {
            times += events.map(\.time)
            for case .waiting(_, let lacks) in events.map(\.kind) { self.lacks.append(lacks) }
        }
        func tick(_ now: WallTime) { ticks.append(now) }
    }

    private final class Clock {
        var now = ManualClock().now
        func pass(_ span: TimeSpan, andSet jump: TimeSpan = .zero) {
            now = Now(instant: now.instant + span, boot: now.boot + span, wall: now.wall + span + jump)
        }
    }

    private func event(_ time: WallTime) -> ArraySlice<Event> {
        [Event(time: time, sequence: 1, session: nil, task: nil, kind: .taskResumed)]
    }

    @Test(arguments: [TimeSpan.seconds(3600), .seconds(-3600)])
    func passedTime_isThatOfTheEvenClock_whenTheDateIsSet(_ jump: TimeSpan) throws {
        let (shown, clock) = (Shown(), Clock())
        let start = clock.now.wall
        let steady = SteadyTime(shown) { clock.now }
        try steady.consume(event(start))
        shown.nextTick = start + .seconds(30)
        #expect(steady.nextTick == start + .seconds(30))
        clock.pass(.seconds(10), andSet: jump)
        try steady.consume(event(clock.now.wall))
        #expect(shown.times == [start, start + .seconds(10)])
        #expect(steady.nextTick == start + .seconds(30) + jump, "as the caller's clock shows it")
        clock.pass(.seconds(20))
        try steady.tick(clock.now.wall)
        #expect(shown.ticks == [start + .seconds(30)])
    }

    /// Who comes back later is not told how long it was then.
    @Test(arguments: [WaitReason.window, .earliestBegin])
    func timeToCome_ofAnEarlierEvent_isSaidWithoutHowLongItWasThen(_ reason: WaitReason) throws {
        let (shown, clock) = (Shown(), Clock())
        let steady = SteadyTime(shown) { clock.now }
        let words = "its `window` until 01:00 UTC (in 3 h)"
        for time in [clock.now.wall + .seconds(-3600), clock.now.wall] {
            let kind = Event.Kind.waiting(reason, lacks: words)
            try steady.consume([Event(time: time, sequence: 1, session: nil, task: nil, kind: kind)])
        }
        #expect(shown.lacks == ["its `window` until 01:00 UTC", words])
        #expect(shown.times == [clock.now.wall + .seconds(-3600), clock.now.wall])
    }

    @Test func slowCorrectionOfTheDate_changesNothing() throws {
        let (shown, clock) = (Shown(), Clock())
        let steady = SteadyTime(shown) { clock.now }
        clock.pass(.seconds(10), andSet: .milliseconds(300))
        try steady.consume(event(clock.now.wall))
        #expect(shown.times == [clock.now.wall])
    }
}
