import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

@Suite struct ProcessorTests {
    /// Elsewhere once at least, for the system may bring it back at once; and free to go anywhere as before.
    @Test func whoLeavesGoesOnElsewhereAndMayGoAnywhereAfterwards() throws {
        let (places, before, after) = try onAThread {
            let before = Processors.allowed
            var places = [Processors.current]
            for _ in 0..<100 {
                Processor.leave()
                places.append(Processors.current)
            }
            return (places, before, Processors.allowed)
        }
        #expect(Set(places).count > 1 || before.count == 1)
        #expect(!before.isEmpty && before == after)
    }

    @Test func whoMayUseOnlyOneStaysThere() throws {
        let (here, afterwards, allowed, counts) = try onAThread {
            let here = Processors.current ?? 0
            let counts = [Processor.count, Processors.allowed.count]
            Processors.allow(only: here)
            Processor.leave()
            return (here, Processors.current, Processors.allowed, counts + [Processor.count])
        }
        #expect(afterwards == here)
        #expect(allowed == [here])
        #expect(counts[0] == counts[1] && counts[2] == 1)
    }

    /// Two that both want the same one.
    @Test func whoeverMadeWayIsCounted() throws {
        let here = Mutex<Int?>(nil)
        let isDone = Mutex(false)
        let other = try Thread(named: "other") {
            let place = Processors.current ?? 0
            Processors.allow(only: place)
            here.withLock { $0 = place }
            while !isDone.withLock({ $0 }) {}
        }
        defer {
            isDone.withLock { $0 = true }
            other.join()
        }
        let (first, last) = try onAThread {
            while here.withLock({ $0 }) == nil { usleep(1000) }
            Processors.allow(only: here.withLock { $0 } ?? 0)
            let (first, start) = (Processor.timesMadeWay, Clocks.instant())
            while Processor.timesMadeWay == first, Clocks.instant() < start + .seconds(20) {}
            return (first, Processor.timesMadeWay)
        }
        #expect(last > first)
    }
}

private func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) throws -> T {
    let result = Mutex<T?>(nil)
    try Thread(named: "processor") { result.withLock { $0 = body() } }.join()
    return try #require(result.withLock { $0 })
}
