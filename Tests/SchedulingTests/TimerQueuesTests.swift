import Testing
import TransferModel

@testable import Scheduling

@Suite struct TimerQueuesTests {
    private func timer(_ seconds: Int64, _ index: UInt32) -> Scheduling.Timer {
        Scheduling.Timer(due: Instant(nanoseconds: seconds * 1_000_000_000), kind: .retry, index: index)
    }

    private func now(_ seconds: Int64, wall: Int64 = 0) -> Now {
        let instant = Instant(nanoseconds: seconds * 1_000_000_000)
        return Now(instant: instant, boot: instant, wall: WallTime(nanoseconds: wall * 1_000_000_000))
    }

    @Test func timersComeInTheOrderTheyAreDue() {
        var queues = TimerQueues()
        for (place, seconds) in [5, 1, 3, 9].enumerated() { queues.add(timer(Int64(seconds), UInt32(place))) }
        var found: [UInt32] = []
        while let timer = queues.popDue(at: now(5).instant) { found.append(timer.index) }
        #expect(found == [1, 2, 0])
        #expect(queues.nextDue(after: now(5)) == now(9).instant)
    }

    @Test func theNextIsTheEarlierOfAnInstantAndADate() {
        var queues = TimerQueues()
        #expect(queues.nextDue(after: now(0)) == nil && !queues.waitForDate)
        queues.add(DateTimer(due: WallTime(nanoseconds: 110_000_000_000), kind: .window, index: 0))
        #expect(queues.nextDue(after: now(0, wall: 100)) == now(10).instant && queues.waitForDate)
        queues.add(timer(4, 0))
        #expect(queues.nextDue(after: now(0, wall: 100)) == now(4).instant)
        // A date that has passed is due now.
        #expect(queues.nextDue(after: now(3, wall: 200)) == now(3).instant)
        #expect(queues.popDue(on: WallTime(nanoseconds: 109_000_000_000)) == nil)
        #expect(queues.popDue(on: WallTime(nanoseconds: 110_000_000_000)) != nil && !queues.waitForDate)
    }

    @Test func voidTimersWakeNoLoop() {
        var queues = TimerQueues()
        for index in 0..<200 { queues.add(timer(Int64(index), UInt32(index))) }
        queues.removeVoid { $0.index < 3 }
        #expect(queues.nextDue(after: now(0)) == now(3).instant)
        // Few are known to be void: one in the middle stays until it would be next.
        var asked = 0
        queues.removeVoid {
            asked += 1
            return $0.index == 100
        }
        #expect(asked == 1)
        for _ in 0..<120 { queues.timerBecameVoid() }
        queues.removeVoid { $0.index >= 4 }
        #expect(queues.popDue(at: now(500).instant)?.index == 3)
        #expect(queues.popDue(at: now(500).instant) == nil)
    }
}
