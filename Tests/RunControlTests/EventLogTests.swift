import JobRunner
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// When events come to those who fold them.
@Suite struct EventLogTests {
    /// Counts what came, and wakes who waits for it.
    private final class Counter: EventConsumer {
        let count = Atomic<Int>(0)
        let wake = WakeSignal()

        func consume(_ events: ArraySlice<Event>) {
            count.add(events.count, ordering: .acquiringAndReleasing)
            wake.signal()
        }

        func wait() -> Bool { wake.wait(nanoseconds: 30_000_000_000) }
    }

    private let now = ManualClock().now

    private func log(_ counter: Counter, patience: TimeSpan) throws -> EventLog {
        try EventLog(consumers: [counter], redactor: nil, now: now, patience: patience)
    }

    @Test func whoeverFollowsARunHearsOfEachTurnAtOnce() throws {
        let counter = Counter()
        let log = try log(counter, patience: .zero)
        for turn in 1...3 {
            log.append(.taskResumed)
            log.handOver(at: now.instant)
            while counter.count.load(ordering: .acquiring) < turn { try #require(counter.wait()) }
        }
        #expect(log.finish() == nil)
    }

    @Test func withoutAFollowerEventsWaitForOthersButNotForLong() throws {
        let counter = Counter()
        let log = try log(counter, patience: .milliseconds(50))
        for milliseconds: Int64 in 0..<50 {
            log.append(.taskResumed)
            log.handOver(at: now.instant + .milliseconds(milliseconds))
        }
        #expect(counter.count.load(ordering: .acquiring) == 0)
        #expect(log.due == now.instant + .milliseconds(50))
        log.handOver(at: log.due)
        #expect(counter.wait() && counter.count.load(ordering: .acquiring) == 50)
        #expect(log.due == .distantFuture)
        #expect(log.finish() == nil)
    }

    @Test func manyAreHandedOverHoweverShortTheyLay() throws {
        let counter = Counter()
        let log = try log(counter, patience: .seconds(3_600))
        for _ in 0..<512 { log.append(.taskResumed) }
        log.handOver(at: now.instant)
        #expect(counter.wait() && counter.count.load(ordering: .acquiring) == 512)
        // And what is left comes at the end.
        log.append(.taskResumed)
        log.handOver(at: now.instant)
        #expect(log.finish() == nil)
        #expect(counter.count.load(ordering: .acquiring) == 513)
    }

    /// The run waits for who folds them, so fewer of them are to be left over then.
    @Test func towardsTheEndFewerAreMany() throws {
        let counter = Counter()
        let log = try log(counter, patience: .seconds(3_600))
        for _ in 0..<32 { log.append(.taskResumed) }
        log.handOver(at: now.instant)
        #expect(log.due < .distantFuture)
        log.handOver(at: now.instant, nearsEnd: true)
        #expect(log.due == .distantFuture)
        #expect(counter.wait() && counter.count.load(ordering: .acquiring) == 32)
        // A few do not wake anybody.
        log.append(.taskResumed)
        log.handOver(at: now.instant, nearsEnd: true)
        #expect(log.due < .distantFuture)
        log.beginToFinish()
        #expect(counter.wait() && counter.count.load(ordering: .acquiring) == 33)
        #expect(log.finish() == nil)
    }
}
