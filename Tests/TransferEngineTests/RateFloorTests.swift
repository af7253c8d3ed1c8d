import Testing
import TransferEngine
import TransferModel

/// A transfer that moves so many bytes in each tenth of a second, looked at as the engine does.
struct RateFloorTests {
    /// When the floor finds it too slow, in seconds of the transfer's own time; `nil` when it never does.
    private func slowAfter(_ rate: Int64, over: Int64, _ tenths: [Int64]) -> Double? {
        var floor = RateFloor(MinimumRate(rate: rate, over: .seconds(over)))
        var time = TimeSpan.zero
        for bytes in tenths {
            time = time + .milliseconds(100)
            if bytes > 0 { floor.moved(bytes) }
            if case .isTooSlow = floor.look(at: time) { return time.seconds }
        }
        return nil
    }

    private func each(_ bytes: Int64, _ seconds: Int) -> [Int64] { Array(repeating: bytes, count: seconds * 10) }

    @Test func aDrip_endsAfterTheTimeAndNoLater() throws {
        let end = try #require(slowAfter(1_000, over: 3, each(10, 60)))
        #expect(end >= 3 && end <= 3.5)
    }

    @Test func whatIsAsFastAsItMust_goesOn() { #expect(slowAfter(1_000, over: 3, each(100, 60)) == nil) }

    @Test func burstsCountOverTheWholeTime() {
        // 3,000 bytes at once and nothing for almost three seconds, again and again.
        let bursts = (0..<20).flatMap { _ in [3_100] + Array(repeating: 0, count: 29) as [Int64] }
        #expect(slowAfter(1_000, over: 3, bursts) == nil)
    }

    @Test func whatWasFastAtFirst_endsWhenItDrips() throws {
        let end = try #require(slowAfter(1_000, over: 3, each(100_000, 10) + each(1, 60)))
        #expect(end >= 13 && end <= 13.5)
    }

    @Test func nothingMovedYet_isNotTooSlow() { #expect(slowAfter(1_000, over: 3, each(0, 600)) == nil) }

    @Test func aNewRequest_beginsAnew() {
        var floor = RateFloor(MinimumRate(rate: 1_000, over: .seconds(3)))
        floor.moved(1)
        for tenth in 1...29 {
            #expect(floor.look(at: .milliseconds(Int64(tenth) * 100)) != .isTooSlow(bytes: 0, .zero))
        }
        floor.restart()
        #expect(floor.look(at: .seconds(9)) == .holds(nextLook: .milliseconds(300)))
    }
}
