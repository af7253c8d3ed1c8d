import Glibc
package import TransferModel

/// The system's clocks. Only an event loop reads them, once per turn; state machines get the values.
package enum Clocks {
    /// Returns the monotonic, boot and wall time, read one after the other.
    package static func now() -> Now {
        Now(
            instant: Instant(nanoseconds: read(CLOCK_MONOTONIC)), boot: Instant(nanoseconds: read(CLOCK_BOOTTIME)),
            wall: WallTime(nanoseconds: read(CLOCK_REALTIME)))
    }

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
