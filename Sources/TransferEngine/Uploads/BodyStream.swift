import CurlCore
import Synchronization
import SystemIO
import TransferModel

/// What a command writes, on its way from the thread that reads it to the loop, which never waits for it. So much and no more lies
/// between: a command that is faster than the network waits.
final class BodyStream: Sendable {
    private static let capacity = 256 << 10

    fileprivate struct State {
        var bytes: [UInt8] = []
        /// Where what is waiting begins in `bytes`, a ring, and how much that is.
        var (first, count) = (0, 0)
        /// So many were taken.
        var handedOver: Int64 = 0
        /// All was written, and how that ended.
        var end: Result<Void, TransferError>?
        var isWanted = true
        var loopWaits = false
        var writerWaits = false
    }
    private let state = Mutex(State())
    private let space = WakeSignal()
    /// Tells the loop that there is something to take.
    private let tell: @Sendable () -> Void
    private let cancel: @Sendable () -> Void

    /// `cancel` ends whoever writes, from any thread.
    init(tell: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void) {
        self.tell = tell
        self.cancel = cancel
    }

    // MARK: The thread that reads

    /// Waits until there is room; `false` when nobody wants more.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let (isWanted, taken, loopWaited) = state.withLock { state in
                guard state.isWanted else { return (false, 0, false) }
                let taken = state.put(rest, Self.capacity)
                state.writerWaits = taken < rest.count
                defer { if taken > 0 { state.loopWaits = false } }
                return (true, taken, taken > 0 && state.loopWaits)
            }
            if loopWaited { tell() }
            guard isWanted else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            if !rest.isEmpty { space.wait() }
        }
        return true
    }

    func end(_ result: Result<Void, TransferError>) {
        state.withLock { $0.end = result }
        tell()
    }

    // MARK: The loop

    /// The next bytes; `left` says how many are still announced. The last of those is held back until it is certain that it
    /// is the last and that all went well: else a server could take what broke off for the whole.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, left: Int64?
    ) throws(TransferError) -> BodyFill {
        let (filled, writerWaited) = state.withLock { state in
            let filled = state.read(into: buffer, left: left)
            let waited = state.writerWaits && state.count < Self.capacity
            if waited { state.writerWaits = false }
            return (filled, waited)
        }
        if writerWaited { space.signal() }
        return try filled.get()
    }

    /// Nothing more is wanted.
    func leave() {
        let wasWanted = state.withLock { state in
            defer {
                state.isWanted = false
                (state.bytes, state.first, state.count) = ([], 0, 0)
            }
            return state.isWanted
        }
        guard wasWanted else { return }
        space.signal()
        cancel()
    }
}

extension BodyStream.State {
    fileprivate mutating func put(_ source: UnsafeRawBufferPointer, _ capacity: Int) -> Int {
        if bytes.isEmpty { bytes = Array(repeating: 0, count: capacity) }
        let taken = min(source.count, capacity - count)
        let place = (first + count) % capacity
        let head = min(taken, capacity - place)
        bytes.withUnsafeMutableBytes { ring in
            ring[place..<place + head].copyBytes(from: source[..<head])
            ring[..<(taken - head)].copyBytes(from: source[head..<taken])
        }
        count += taken
        return taken
    }

    fileprivate mutating func read(
        into buffer: UnsafeMutableRawBufferPointer, left: Int64?
    ) -> Result<BodyFill, TransferError> {
        if case .failure(let error)? = end { return .failure(error) }
        let isWhole = end != nil
        var most = Int64(min(count, buffer.count))
        if let left {
            if Int64(count) > left { return .failure(Self.wrongLength("more than the \(left + handedOver) bytes")) }
            if isWhole, Int64(count) < left {
                return .failure(Self.wrongLength("\(handedOver + Int64(count)) bytes and not the \(left + handedOver)"))
            }
            if !isWhole { most = min(most, left - 1) }
        }
        if most == 0 {
            if isWhole { return .success(.bytes(0)) }
            loopWaits = true
            return .success(.pause)
        }
        move(Int(most), into: buffer)
        return .success(.bytes(Int(most)))
    }

    private mutating func move(_ taken: Int, into buffer: UnsafeMutableRawBufferPointer) {
        let capacity = bytes.count
        let head = min(taken, capacity - first)
        bytes.withUnsafeBytes { ring in
            buffer[..<head].copyBytes(from: ring[first..<first + head])
            buffer[head..<taken].copyBytes(from: ring[..<(taken - head)])
        }
        first = (first + taken) % capacity
        count -= taken
        handedOver += Int64(taken)
    }

    private static func wrongLength(_ what: String) -> TransferError {
        TransferError(.bodyCommandFailed, "the body's command wrote \(what) that `length` says")
    }
}
