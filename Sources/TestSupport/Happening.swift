internal import Glibc
package import TransferModel

/// Waits until `condition` holds; false when it does not within that time, which is what a machine may take that does
/// something else at the moment. For `#expect`: a poll that gives up without a word hides a late event behind another fault.
package func happens(within time: TimeSpan = .seconds(60), _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicClock.now + time
    while try !condition() {
        guard MonotonicClock.now < deadline else { return false }
        usleep(2000)
    }
    return true
}
