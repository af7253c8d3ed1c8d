import FileDelivery
import SystemIO

/// Collects the bytes of a download's body: a short one as it comes, a long one in whole buffers of the pool, so that a
/// body which begins at 0 writes each page of its file once. It makes the only copy of a body's bytes in this process.
struct BodyCoalescer {
    /// The body so far while it is short.
    private var start: [UInt8] = []
    /// The buffer that is being filled, once the body is long.
    private var buffer: BodyBuffer?

    /// Bytes that were not handed over yet.
    var count: Int { start.count + (buffer?.count ?? 0) }

    /// Makes room for a body of that length.
    mutating func reserve(_ length: Int64, from pool: BufferPool) {
        if length > BodyBuffer.capacity {
            buffer = pool.take()
        } else {
            start.reserveCapacity(Int(length))
        }
    }

    /// Takes bytes, and passes what is full to `hand`.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer, from pool: BufferPool, hand: (BodyPiece) -> Void
    ) {
        if buffer == nil, start.count + bytes.count <= BodyBuffer.capacity { return start.append(copying: bytes) }
        var rest = bytes
        var current: BodyBuffer
        if let buffer {
            current = buffer
        } else {
            let room = BodyBuffer.capacity - start.count
            start.append(copying: UnsafeRawBufferPointer(rebasing: bytes[..<room]))
            rest = UnsafeRawBufferPointer(rebasing: bytes[room...])
            hand(.bytes(start))
            start = []
            current = pool.take()
        }
        while rest.count > 0 {
            if current.space == 0 {
                hand(.buffer(current))
                current = pool.take()
            }
            rest = current.fill(rest)
        }
        buffer = current
    }

    /// Passes what is there to `hand`, although it is not full; the body goes on.
    mutating func handOver(from pool: BufferPool, hand: (BodyPiece) -> Void) {
        guard count > 0 else { return }
        hand(takeRest())
        buffer = pool.take()
    }

    /// Returns what was not handed over yet, and is empty afterwards.
    mutating func takeRest() -> BodyPiece {
        defer {
            start = []
            buffer = nil
        }
        return buffer.map { .buffer($0) } ?? .bytes(start)
    }
}
