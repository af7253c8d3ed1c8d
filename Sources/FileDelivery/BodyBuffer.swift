import Synchronization
import SystemIO

/// A piece of memory for body bytes, filled by the loop and written by a delivery thread: handed from one to the
/// other whole, never shared, and used again, so that a long download touches the same few pages all along.
///
/// Unchecked, for that handing over goes through a mailbox's lock.
package final class BodyBuffer: @unchecked Sendable {
    // Exactly one thread has it at a time: it travels inside orders and comes back through the pool, both locked.
    private let memory: UnsafeMutableRawPointer
    package private(set) var count = 0
    package static let capacity = 256 << 10

    fileprivate init() { memory = .allocate(byteCount: Self.capacity, alignment: 4096) }
    deinit { memory.deallocate() }

    package var space: Int { Self.capacity - count }

    /// `bytes` must fit.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= space, "a body buffer was overfilled")
        Memory.copy(bytes, to: memory + count)
        count += bytes.count
    }

    /// As much of the beginning as there is room for; gives back the rest.
    package func fill(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let taken = min(space, bytes.count)
        append(UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        return UnsafeRawBufferPointer(rebasing: bytes[taken...])
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    fileprivate func empty() { count = 0 }
}

/// Buffers that are free.
package final class BufferPool: Sendable {
    private let free = Mutex<[BodyBuffer]>([])
    /// More than what may be outstanding at once is not kept.
    private static let kept = 32

    package init() {}

    package func take() -> BodyBuffer {
        free.withLock { $0.popLast() } ?? BodyBuffer()
    }

    package func give(_ buffer: BodyBuffer) {
        buffer.empty()
        free.withLock { if $0.count < Self.kept { $0.append(buffer) } }
    }
}

/// A piece of a body on its way to disk.
package enum BodyPiece: Sendable {
    /// A short body, whole, or the beginning of a long one.
    case bytes([UInt8])
    case buffer(BodyBuffer)

    package static let none = BodyPiece.bytes([])

    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .buffer(let buffer): buffer.count
        }
    }

    package func withBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        switch self {
        case .bytes(let bytes):
            try bytes.withUnsafeBufferPointer { bytes throws(Failure) in try body(UnsafeRawBufferPointer(bytes)) }
        case .buffer(let buffer): try body(buffer.bytes)
        }
    }
}
