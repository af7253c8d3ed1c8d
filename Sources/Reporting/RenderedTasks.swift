internal import TextFormats

/// The rendered tasks: bytes in the order the tasks ended, read out in the order of the file.
///
/// They lie in chunks that are never moved or doubled. Each task is followed by `,` and a line break, so that tasks
/// that ended in the file's order are one run of bytes.
struct RenderedTasks {
    private struct Place {
        var chunk: UInt32
        var start: UInt32
        /// 0: not rendered yet.
        var count: UInt32
    }

    private static let chunkSize = 256 << 10
    /// A task that is larger than this grows the chunk it ends.
    private static let usualTask = 8 << 10
    private static let separator: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "\n")]

    /// A chunk that is full: in memory, or at a place in the spool.
    private enum Chunk {
        case memory([UInt8])
        case spooled(Int64)
    }

    /// Where full chunks go, if anywhere.
    var spool: Spool?
    private var full: [Chunk] = []
    private var current: [UInt8] = []
    private var places: [Place]

    init(count: Int) {
        places = [Place](repeating: Place(chunk: 0, start: 0, count: 0), count: count)
    }

    func contains(_ task: Int) -> Bool { places[task].count > 0 }

    /// Renders one task at the end of the current chunk.
    mutating func append(_ task: Int, _ render: (inout JSONWriter) -> Void) {
        if current.count + Self.usualTask > current.capacity { startChunk() }
        var writer = JSONWriter()
        swap(&writer.bytes, &current)
        let start = writer.bytes.count
        render(&writer)
        writer.bytes += Self.separator
        places[task] = Place(
            chunk: UInt32(full.count), start: UInt32(start), count: UInt32(writer.bytes.count - start))
        swap(&writer.bytes, &current)
    }

    private mutating func startChunk() {
        guard !current.isEmpty else { return current.reserveCapacity(Self.chunkSize) }
        if let offset = spool?.append(current) {
            full.append(.spooled(offset))
            current.removeAll(keepingCapacity: true)
        } else {
            full.append(.memory(current))
            current = []
            current.reserveCapacity(Self.chunkSize)
        }
    }

    /// Hands out the tasks in file order in as few pieces as can be, the last without its comma.
    func forEachPiece(_ body: (ArraySlice<UInt8>) throws(OutputProblem) -> Void) throws(OutputProblem) {
        guard let last = places.lastIndex(where: { $0.count > 0 }) else { return }
        var piece = Place(chunk: 0, start: 0, count: 0)
        for place in places[...last] where place.count > 0 {
            if place.chunk == piece.chunk, place.start == piece.start + piece.count {
                piece.count += place.count
            } else {
                if piece.count > 0 { try body(try bytes(of: piece)) }
                piece = place
            }
        }
        piece.count -= UInt32(Self.separator.count)
        try body(try bytes(of: piece))
    }

    private func bytes(of place: Place) throws(OutputProblem) -> ArraySlice<UInt8> {
        guard Int(place.chunk) < full.count else { return current[Int(place.start)..<Int(place.start + place.count)] }
        switch full[Int(place.chunk)] {
        case .memory(let chunk): return chunk[Int(place.start)..<Int(place.start + place.count)]
        case .spooled(let offset):
            guard let spool else { throw OutputProblem("the report's spool is gone") }
            return try spool.read(Int(place.count), at: offset + Int64(place.start))[...]
        }
    }
}
