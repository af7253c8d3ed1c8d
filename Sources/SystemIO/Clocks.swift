import Glibc
package import TransferModel

/// The system's clocks. Only an event loop reads them, once per turn; state machines get the values.
package enum Clocks {
    /// Returns the monotonic, boot and wall time of one moment.
    ///
    /// A thread that loses its processor between two readings would measure a time that no clock has shown, so readings
    /// that lie too far apart are taken again; of `attempts`, the closest ones count.
    package static func now() -> Now { now(attempts: 4, reading: read) }

    static func now(attempts: Int, reading read: (clockid_t) -> Int64) -> Now {
        var before = read(CLOCK_MONOTONIC)
        var (closest, instant, boot, wall) = (Int64.max, before, Int64(0), Int64(0))
        for _ in 0..<attempts where closest > closeEnough {
            let others = (boot: read(CLOCK_BOOTTIME), wall: read(CLOCK_REALTIME))
            let after = read(CLOCK_MONOTONIC)
            if after - before < closest {
                (closest, instant, boot, wall) = (after - before, before, others.boot, others.wall)
            }
            before = after
        }
        return Now(
            instant: Instant(nanoseconds: instant), boot: Instant(nanoseconds: boot), wall: WallTime(nanoseconds: wall))
    }

    /// A tenth of a millisecond: far longer than reading the clocks takes, and far shorter than a thread's turn.
    private static let closeEnough: Int64 = 100_000

    /// Returns the monotonic time (`CLOCK_MONOTONIC`), which stands still while the machine sleeps.
    package static func instant() -> Instant { Instant(nanoseconds: read(CLOCK_MONOTONIC)) }
    /// Returns the date and time (`CLOCK_REALTIME`).
    package static func wall() -> WallTime { WallTime(nanoseconds: read(CLOCK_REALTIME)) }
    /// Returns the processor time of the calling thread, for measurements.
    package static func threadTime() -> TimeSpan { TimeSpan(nanoseconds: read(CLOCK_THREAD_CPUTIME_ID)) }
    /// Returns the processor time of the whole process, for measurements.
    package static func processTime() -> TimeSpan { TimeSpan(nanoseconds: read(CLOCK_PROCESS_CPUTIME_ID)) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
