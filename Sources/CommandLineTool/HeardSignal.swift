import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// Remembers the signals that end a command. Called by one thread.
package final class HeardSignal: Sendable {
    /// What a signal means for the command.
    package enum Meaning: Sendable {
        /// End in good order.
        case first
        /// Ignore it: it belongs to the first signal.
        case companion
        /// End at once.
        case second
    }

    private let first = Atomic<Int32>(0)
    /// Time of the first signal other than SIGHUP, in nanoseconds; 0 before it.
    private let wished = Atomic<Int64>(0)
    /// Time within which a repeated signal belongs to the first: `timeout` signals a command and then its process
    /// group. No user presses a key twice as fast.
    private static let together = TimeSpan.milliseconds(100)

    package init() {}

    /// Notes a signal and returns what it means. A terminal that closes sends SIGHUP, its shell sends it once more, and
    /// the end of a login sends SIGTERM beside it: only a signal after another one of the user's own means to hurry.
    package func signalReceived(_ number: Int32, at now: Instant = Clocks.instant()) -> Meaning {
        let before = first.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
        if number == SIGHUP { return before.exchanged ? .first : .companion }
        let wish = wished.compareExchange(
            expected: 0, desired: max(1, now.nanoseconds), ordering: .acquiringAndReleasing)
        if before.exchanged { return .first }
        let isSame = before.original == number && now.nanoseconds - wish.original < Self.together.nanoseconds
        return wish.exchanged || isSame ? .companion : .second
    }

    /// The first signal; `nil` before it.
    var number: Int32? {
        let number = first.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }
}
