package import TransferModel

/// Whether what is written to one disk should stay in the system's memory.
///
/// Linux keeps a copy of all that is written, and mostly that costs next to nothing. Where memory has to be fetched from
/// the host of a virtual machine it is the dearest part of a download: several times what the disk takes for the same
/// bytes. There, and only there, what was written leaves the memory as soon as the disk has it, and the next bytes use its
/// pages again. Who reads the file afterwards reads it from the disk: so one that is slower than memory is left alone.
package struct CacheBypass {
    package enum Way: Hashable {
        /// As ever. It is told what it took of the processor.
        case kept
        /// Gone from memory once it is on the disk.
        case passing
        /// The same, and the disk is waited for. It is told how long that took.
        case proving
    }

    /// Each such write goes to the disk by itself, which is worth it for no less.
    package static let smallest = 64 << 10
    /// What keeping may take of the processor, a page and a piece: memory that was used before takes a third of it, and each
    /// piece that goes to the disk by itself has its own price.
    package static let dearPage = TimeSpan.microseconds(5)
    package static let ownWay = TimeSpan.microseconds(48)
    /// What a disk takes for any write, however short.
    package static let latency = TimeSpan.microseconds(200)
    /// So many bytes are judged together.
    private static let window: Int64 = 512 << 10
    /// So many judgements in a row must say that memory is dear: one may have met an interrupt, whose time counts as the
    /// thread's own.
    private static let judgements = 3
    /// After one that says it is not, so many bytes are not weighed: to ask for the time takes some as well.
    private static let calmFor: Int64 = 4 << 20
    /// So many bytes pass before memory and disk are looked at again: some disks are fast for a while.
    private static let passesFor: Int64 = 64 << 20
    /// After so many a disk that was slow is; twice as many each time that it still is.
    private static let slowFor: Int64 = 32 << 20
    private static let slowForMost: Int64 = 1 << 30
    /// A busy processor may have made a single look slow.
    private static let looks = 3
    private static let page: Int64 = 4096

    private enum State {
        /// `bytes` were kept, at the price of `time`; it is dear if that is more than `bound`, as it was `dear` times
        /// before.
        case weighing(bytes: Int64, time: TimeSpan, bound: TimeSpan, dear: Int)
        /// A page in memory costs `page`. The disk was looked at before, and found slower, so many times.
        case proving(page: TimeSpan, slow: Int)
        case passing(left: Int64)
        /// Nothing is asked meanwhile: the disk was found slow, or memory at hand a moment ago.
        case resting(left: Int64)
        case unknownThere

        static let fresh = weighing(dear: 0)
        static func weighing(dear: Int) -> State { .weighing(bytes: 0, time: .zero, bound: .zero, dear: dear) }
    }
    private var state = State.fresh
    private var rest = slowFor

    package init() {}

    /// How `count` bytes are to be written.
    package func way(_ count: Int) -> Way {
        guard count >= Self.smallest else { return .kept }
        return switch state {
        case .weighing, .resting, .unknownThere: .kept
        case .proving: .proving
        case .passing: .passing
        }
    }

    /// Whether it matters what keeping takes now.
    package var isWeighing: Bool { if case .weighing = state { true } else { false } }

    /// `time` counts while it is weighed.
    package mutating func wasKept(_ count: Int, took time: TimeSpan) {
        switch state {
        case .weighing(let before, let sum, let most, let dear):
            let (bytes, time) = (before + Int64(count), sum + time)
            let bound = most + Self.price(of: count, Self.dearPage) + Self.ownWay
            guard bytes >= Self.window else {
                return state = .weighing(bytes: bytes, time: time, bound: bound, dear: dear)
            }
            guard time > bound else { return state = .resting(left: Self.calmFor) }
            guard dear + 1 >= Self.judgements else { return state = .weighing(dear: dear + 1) }
            state = .proving(page: TimeSpan(nanoseconds: time.nanoseconds / (bytes / Self.page)), slow: 0)
        case .resting(let left): state = left > Int64(count) ? .resting(left: left - Int64(count)) : .fresh
        case .proving, .passing, .unknownThere: break
        }
    }

    private static func price(of count: Int, _ page: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: page.nanoseconds * (Int64(count) / Self.page))
    }

    /// When enough has passed, both are asked again: memory may be at hand by then.
    package mutating func passed(_ count: Int) {
        guard case .passing(let left) = state else { return }
        state = left > Int64(count) ? .passing(left: left - Int64(count)) : .fresh
    }

    /// `time` from the beginning of the write until the disk had it.
    package mutating func proved(_ count: Int, took time: TimeSpan) {
        guard case .proving(let page, let slow) = state else { return }
        if time <= Self.price(of: count, page) + Self.latency {
            state = .passing(left: Self.passesFor)
            rest = Self.slowFor
        } else if slow + 1 < Self.looks {
            state = .proving(page: page, slow: slow + 1)
        } else {
            state = .resting(left: rest)
            rest = min(2 * rest, Self.slowForMost)
        }
    }

    /// The kernel or the filesystem knows only how to keep.
    package mutating func isUnknown() { state = .unknownThere }
}
