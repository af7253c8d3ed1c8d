import SystemIO
import Testing
import TransferModel

/// Waits for what happens, and fails the test when it does not: a poll that gives up without a word makes of a late event a
/// wrong result somewhere else. The time is what a machine may take that does something else at the moment.
@discardableResult
func waitUntil(
    within time: TimeSpan = .seconds(60), _ location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) rethrows -> Bool {
    let deadline = Clocks.instant() + time
    while try !condition() {
        guard Clocks.instant() < deadline else {
            Issue.record("it did not happen within \(time.seconds) s", sourceLocation: location)
            return false
        }
        Polling.sleep(milliseconds: 5)
    }
    return true
}
