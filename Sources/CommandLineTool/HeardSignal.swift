import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// What was heard of the signals that end a command. One thread notes them.
package final class HeardSignal: Sendable {
    package enum Meaning: Sendable {
        /// To end in good order.
        case first
        /// It came along with the first: nobody's further wish.
        case companion
        /// To end here and now.
        case second
    }

    private let first = Atomic<Int32>(0)
    /// When somebody first wished for the end, in nanoseconds; 0: nobody did.
    private let wished = Atomic<Int64>(0)
    /// `timeout` tells a command and then the group that it belongs to. Nobody presses a key twice as fast.
    private static let together = TimeSpan.milliseconds(100)

    package init() {}

    /// A terminal that goes away tells so itself, its shell once more, and who ends a whole login sends SIGTERM beside it: of
    /// those only a wish that follows another is one to make haste.
    package func note(_ number: Int32, at now: Instant = Clocks.instant()) -> Meaning {
        let before = first.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
        if number == SIGHUP { return before.exchanged ? .first : .companion }
        let wish = wished.compareExchange(
            expected: 0, desired: max(1, now.nanoseconds), ordering: .acquiringAndReleasing)
        if before.exchanged { return .first }
        let isSame = before.original == number && now.nanoseconds - wish.original < Self.together.nanoseconds
        return wish.exchanged || isSame ? .companion : .second
    }

    /// The first that came.
    var number: Int32? {
        let number = first.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }
}
