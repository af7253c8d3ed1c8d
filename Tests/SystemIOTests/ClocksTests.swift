import Glibc
import Testing
import TransferModel

@testable import SystemIO

/// A thread may lose its processor at any point between two readings of the clocks.
@Suite struct ClocksTests {
    /// Clocks that show the same time, and lose some before the readings that `pauses` names.
    private static func now(losing pauses: [Int: Int64]) -> Now {
        var (time, count) = (Int64(1_000_000), 0)
        return Clocks.now(attempts: 4) { _ in
            time += 50 + (pauses[count] ?? 0)
            count += 1
            return time
        }
    }

    private static func distance(_ now: Now) -> Int64 {
        max(now.wall.nanoseconds, now.boot.nanoseconds) - now.instant.nanoseconds
    }

    @Test(arguments: 0..<4) func aPauseBetweenTwoReadings_isNoTime(_ place: Int) {
        let now = Self.now(losing: [place: 6_000_000])
        #expect((0...100).contains(Self.distance(now)))
    }

    @Test func ofManyPauses_theShortestCounts() {
        let now = Self.now(losing: [1: 6_000_000, 5: 7_000_000, 8: 2_000_000, 11: 5_000_000])
        #expect((2_000_000...2_000_100).contains(Self.distance(now)))
    }

    @Test func withoutAPause_threeClocksAreReadOnce() {
        var clocks: [clockid_t] = []
        _ = Clocks.now(attempts: 4) {
            clocks.append($0)
            return 0
        }
        #expect(clocks == [CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_MONOTONIC])
    }
}
