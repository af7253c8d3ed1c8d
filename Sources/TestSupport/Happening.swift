internal import Glibc
package import TransferModel

/// Waits until `condition` holds; returns false if it does not within `time`, which is long enough for a busy machine.
/// For `#expect`: a poll that gives up without a failure hides a late event behind another fault.
package func happens(within time: TimeSpan = .seconds(60), _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicClock.now + time
    while try !condition() {
        guard MonotonicClock.now < deadline else { return false }
        usleep(2000)
    }
    return true
}
