package import TransferModel

/// How much of a piece is written at once, on one disk.
///
/// The longer a write, the larger the pieces of memory that Linux keeps it in, and the less it takes. Up to 32 KiB each
/// processor has some at hand that were used before; larger ones may be those that a virtual machine's host had taken back,
/// and each of their pages costs a fault of the host's. So the one is weighed against the other, now and then.
package struct WriteStep {
    package static let short = 32 << 10
    /// So many bytes are judged together.
    package static let window: Int64 = 512 << 10
    /// So many bytes are written in one way before both are weighed again; more of them each time that the long way is
    /// the dearer.
    package static let stay: Int64 = 32 << 20
    package static let longestStay: Int64 = 1 << 30
    /// On the long way one piece of so many bytes is weighed meanwhile: to ask for the time takes some as well.
    private static let sample: Int64 = 1 << 20

    /// Nanoseconds for a mebibyte.
    private typealias Price = Int64

    private enum State {
        case weighingShort(bytes: Int64, time: TimeSpan)
        case weighingLong(bytes: Int64, time: TimeSpan, short: Price)
        case short(left: Int64)
        case long(left: Int64, unweighed: Int64, short: Price)
    }
    private var state = State.weighingShort(bytes: 0, time: .zero)
    private var nextStay = stay

    package init() {}

    package var isLong: Bool {
        switch state {
        case .weighingLong, .long: true
        case .weighingShort, .short: false
        }
    }

    /// Whether it matters what the next piece takes.
    package var isWeighing: Bool {
        switch state {
        case .weighingShort, .weighingLong: true
        case .short: false
        case .long(_, let unweighed, _): unweighed >= Self.sample
        }
    }

    /// `time` counts while it is weighed.
    package mutating func wrote(_ count: Int, took time: TimeSpan) {
        let count = Int64(count)
        switch state {
        case .weighingShort(let bytes, let sum):
            let (bytes, time) = (bytes + count, sum + time)
            state =
                bytes < Self.window
                ? .weighingShort(bytes: bytes, time: time)
                : .weighingLong(bytes: 0, time: .zero, short: Self.price(bytes, time))
        case .weighingLong(let bytes, let sum, let short):
            let (bytes, time) = (bytes + count, sum + time)
            guard bytes >= Self.window else {
                return state = .weighingLong(bytes: bytes, time: time, short: short)
            }
            guard Self.price(bytes, time) < short else { return stayShort() }
            state = .long(left: Self.stay, unweighed: 0, short: short)
            nextStay = Self.stay
        case .short(let left): state = left > count ? .short(left: left - count) : WriteStep().state
        case .long(let left, let unweighed, let short):
            let isWeighed = unweighed >= Self.sample
            // One may have met an interrupt, whose time counts as the thread's own.
            if isWeighed, Self.price(count, time) > 2 * short { return stayShort() }
            guard left > count else { return state = WriteStep().state }
            state = .long(left: left - count, unweighed: isWeighed ? 0 : unweighed + count, short: short)
        }
    }

    private mutating func stayShort() {
        state = .short(left: nextStay)
        nextStay = min(2 * nextStay, Self.longestStay)
    }

    private static func price(_ bytes: Int64, _ time: TimeSpan) -> Price { (time.nanoseconds << 20) / bytes }
}
