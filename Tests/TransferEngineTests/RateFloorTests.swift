import Testing
import TransferEngine
import TransferModel

/// A transfer that moves so many bytes in each tenth of a second, looked at as the engine does.
struct RateFloorTests {
    /// When the floor finds it too slow, in seconds of the transfer's own time; `nil` when it never does.
    private func slowAfter(_ rate: Int64, over: Int64, _ tenths: [Int64]) -> Double? {
        var floor = RateFloor(MinimumRate(rate: rate, over: .seconds(over)), timeout: .seconds(60))
        var time = TimeSpan.zero
        for bytes in tenths {
            time = time + .milliseconds(100)
            if bytes > 0 { floor.moved(bytes) }
            if case .isTooSlow = floor.check(at: time) { return time.seconds }
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
        var floor = RateFloor(MinimumRate(rate: 1_000, over: .seconds(3)), timeout: .seconds(60))
        floor.moved(1)
        for tenth in 1...29 {
            #expect(floor.check(at: .milliseconds(Int64(tenth) * 100)) != .isTooSlow(bytes: 0, .zero))
        }
        floor.restart()
        #expect(floor.check(at: .seconds(9)) == .holds(nextCheck: .milliseconds(300)))
    }

    // MARK: Without a `minimumRate`

    /// When a request that moves `bytes` each second is found too slow, in seconds.
    private func slowAfter(eachSecond bytes: Int64, timeout: TimeSpan, seconds: Int64 = 20_000) -> Int64? {
        var floor = RateFloor(nil, timeout: timeout)
        for second in 1...seconds {
            floor.moved(bytes)
            if case .isTooSlow = floor.check(at: .seconds(second)) { return second }
        }
        return nil
    }

    @Test func aByteASecond_isNoProgressAfterTenMinutes() throws {
        let end = try #require(slowAfter(eachSecond: 1, timeout: .seconds(60)))
        #expect(end >= 600 && end <= 660)
    }

    @Test func twoBytesASecond_goOn() { #expect(slowAfter(eachSecond: 2, timeout: .seconds(60)) == nil) }

    /// In that time no byte need move at all.
    @Test func aTimeoutLongerThanTenMinutes_isTheTimeInWhichBytesMustMove() throws {
        var floor = RateFloor(nil, timeout: .seconds(3_600))
        floor.moved(100)
        for second in stride(from: Int64(60), through: 3_540, by: 60) {
            guard case .holds = floor.check(at: .seconds(second)) else {
                Issue.record("too slow after \(second) s")
                return
            }
        }
        #expect(floor.check(at: .seconds(3_960)) == .isTooSlow(bytes: 100, .seconds(3_900)))
    }

    @Test func whatIsTooSlow_isToldByItsBytes() {
        let floor = RateFloor(nil, timeout: .seconds(60))
        #expect(
            floor.error(612, in: .milliseconds(612_300)).message
                == "612 B moved in 612 s, less than the 1 kB that is progress without a `minimumRate`")
    }

    // MARK: Silence

    private func silenceDue(activity: Int64, arrival: Int64) -> Double {
        let due = RateFloor.silenceDue(
            activity: Instant(nanoseconds: 0) + .seconds(activity),
            arrival: Instant(nanoseconds: 0) + .seconds(arrival),
            timeout: .seconds(60))
        return (due - Instant(nanoseconds: 0)).seconds
    }

    @Test func halfALineOrRecord_isNoSilence() { #expect(silenceDue(activity: 100, arrival: 150) == 210) }
    @Test func halvesWithoutEnd_areSilenceAfterTenMinutes() {
        #expect(silenceDue(activity: 100, arrival: 5_000) == 760)
    }
}
