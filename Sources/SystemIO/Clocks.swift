import Glibc
package import TransferModel

/// The system's clocks. Only a shell reads them, once per turn; rules get the values.
package enum Clocks {
    package static func now() -> Now {
        Now(
            instant: Instant(nanoseconds: read(CLOCK_MONOTONIC)), boot: Instant(nanoseconds: read(CLOCK_BOOTTIME)),
            wall: WallTime(nanoseconds: read(CLOCK_REALTIME)))
    }

    package static func instant() -> Instant { Instant(nanoseconds: read(CLOCK_MONOTONIC)) }
    package static func wall() -> WallTime { WallTime(nanoseconds: read(CLOCK_REALTIME)) }
    /// Processor time of the calling thread, for measuring.
    package static func threadTime() -> TimeSpan { TimeSpan(nanoseconds: read(CLOCK_THREAD_CPUTIME_ID)) }
    package static func processTime() -> TimeSpan { TimeSpan(nanoseconds: read(CLOCK_PROCESS_CPUTIME_ID)) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
