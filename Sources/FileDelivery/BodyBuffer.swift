import Synchronization
import SystemIO

/// A piece of memory for body bytes, filled by the loop and written by a delivery thread. It is passed from one to the
/// other as a whole, never shared, and used again, so that a long download uses the same few pages throughout.
///
/// Unchecked, since handing it over goes through a mailbox's lock.
package final class BodyBuffer: @unchecked Sendable {
    // Exactly one thread has the buffer at a time: it travels inside orders and comes back through the pool, both
    // locked.
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes in the buffer.
    package private(set) var count = 0
    /// The most bytes that a buffer takes.
    package static let capacity = 256 << 10

    fileprivate init() { memory = .allocate(byteCount: Self.capacity, alignment: 4096) }
    deinit { memory.deallocate() }

    /// The number of bytes that still fit.
    package var space: Int { Self.capacity - count }

    /// Appends bytes, which must fit.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= space, "a body buffer was overfilled")
        Memory.copy(bytes, to: memory + count)
        count += bytes.count
    }

    /// Appends as many bytes as fit and returns the rest.
    package func fill(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let taken = min(space, bytes.count)
        append(UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
        return UnsafeRawBufferPointer(rebasing: bytes[taken...])
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    fileprivate func empty() { count = 0 }
}

/// The buffers that are free, for any thread.
package final class BufferPool: Sendable {
    private let free = Mutex<[BodyBuffer]>([])
    /// Greatest number of free buffers that are kept, no more than may be under way at once.
    private static let kept = 32

    package init() {}

    /// Returns a free buffer, or a new one.
    package func take() -> BodyBuffer {
        free.withLock { $0.popLast() } ?? BodyBuffer()
    }

    /// Takes a buffer back whose bytes were written.
    package func give(_ buffer: BodyBuffer) {
        buffer.empty()
        free.withLock { if $0.count < Self.kept { $0.append(buffer) } }
    }
}

/// A piece of a body on its way to disk.
package enum BodyPiece: Sendable {
    /// A short body as a whole, or the beginning of a long one.
    case bytes([UInt8])
    case buffer(BodyBuffer)

    /// No bytes.
    package static let none = BodyPiece.bytes([])

    /// The number of bytes.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .buffer(let buffer): buffer.count
        }
    }

    /// Calls `body` with the bytes, which are valid only during the call.
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
