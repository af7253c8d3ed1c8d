import Glibc
import Synchronization

/// What was heard of the signals that end a command. One thread notes them.
final class HeardSignal: Sendable {
    enum Meaning {
        /// To end in good order.
        case first
        /// It came along with the first: nobody's further wish.
        case companion
        /// To end here and now.
        case second
    }

    private let first = Atomic<Int32>(0)
    private let isWished = Atomic<Bool>(false)

    /// A terminal that goes away tells so itself, its shell once more, and who ends a whole login sends SIGTERM beside it: of
    /// those only a wish that follows another is one to make haste.
    func note(_ number: Int32) -> Meaning {
        let isFirst = first.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing).exchanged
        let isWish = number != SIGHUP
        let wasWished = isWish && isWished.exchange(true, ordering: .acquiringAndReleasing)
        if isFirst { return .first }
        return wasWished ? .second : .companion
    }

    /// The first that came.
    var number: Int32? {
        let number = first.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }
}
