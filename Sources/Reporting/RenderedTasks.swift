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

    private var full: [[UInt8]] = []
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
        if !current.isEmpty { full.append(current) }
        current = []
        current.reserveCapacity(Self.chunkSize)
    }

    /// Hands out the tasks in file order in as few pieces as can be, the last without its comma.
    func forEachPiece<Problem: Error>(_ body: (ArraySlice<UInt8>) throws(Problem) -> Void) throws(Problem) {
        guard let last = places.lastIndex(where: { $0.count > 0 }) else { return }
        var piece = Place(chunk: 0, start: 0, count: 0)
        for place in places[...last] where place.count > 0 {
            if place.chunk == piece.chunk, place.start == piece.start + piece.count {
                piece.count += place.count
            } else {
                if piece.count > 0 { try body(bytes(of: piece)) }
                piece = place
            }
        }
        piece.count -= UInt32(Self.separator.count)
        try body(bytes(of: piece))
    }

    private func bytes(of place: Place) -> ArraySlice<UInt8> {
        let chunk = Int(place.chunk) == full.count ? current : full[Int(place.chunk)]
        return chunk[Int(place.start)..<Int(place.start + place.count)]
    }
}
