internal import TextFormats

/// The rendered tasks: bytes in the order in which the tasks ended, put into the order of the job file.
///
/// They stay in chunks that are never moved, until all tasks before them in the file have ended as well: then they go
/// into the draft of the report, if there is one. Each task is followed by `,` and a line break, so that tasks that
/// ended in the file's order are one run of bytes.
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
    /// Most full chunks in memory that wait for earlier tasks.
    private static let mostWaiting = 16
    private static let separator: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "\n")]

    /// A chunk that is full.
    private enum Chunk {
        case memory([UInt8])
        /// At a place in the spool.
        case spooled(Int64)
        /// All its tasks are in the draft.
        case drafted
    }

    private var draft: ReportDraft?
    /// Storage for chunks that wait too long; `nil` without one.
    private var spool: Spool?
    private var full: [Chunk] = []
    /// Number of tasks that are not in the draft, by full chunk.
    private var undrafted: [UInt32] = []
    private var waiting = 0
    /// The first chunk that may be in memory.
    private var firstWaiting = 0
    private var current: [UInt8] = []
    private var currentTasks: UInt32 = 0
    private var places: [Place]
    /// The first task in the file that is not in the draft.
    private var next = 0

    init(count: Int) {
        places = [Place](repeating: Place(chunk: 0, start: 0, count: 0), count: count)
    }

    func contains(_ task: Int) -> Bool { places[task].count > 0 || isGone(task) }

    /// More tasks follow after all others.
    mutating func grow(by more: Int) {
        places += [Place](repeating: Place(chunk: 0, start: 0, count: 0), count: more)
    }

    /// Marks a template that was replaced by tasks: the report has no entry for it.
    mutating func drop(_ task: Int) { places[task].chunk = .max }

    private func isGone(_ task: Int) -> Bool { places[task].chunk == .max }

    /// Whether the tasks are long enough for a draft.
    var isLong: Bool { !full.isEmpty }

    /// From now on tasks in the file's order go into the draft, and chunks that wait long into the spool.
    mutating func begin(_ draft: ReportDraft?, _ spool: Spool?) {
        (self.draft, self.spool) = (draft, spool)
        makeRoom()
    }

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
        currentTasks += 1
    }

    private mutating func startChunk() {
        closeChunk()
        makeRoom()
        current.reserveCapacity(Self.chunkSize)
    }

    private mutating func closeChunk() {
        if current.isEmpty { return }
        full.append(.memory(current))
        undrafted.append(currentTasks)
        waiting += 1
        (current, currentTasks) = ([], 0)
    }

    private mutating func makeRoom() {
        advance()
        while waiting > Self.mostWaiting, putAside() {}
    }

    /// Moves the next tasks of the file's order into the draft.
    private mutating func advance() {
        guard let draft, !draft.hasFailed, !draft.hasName else { return }
        skipGone()
        while let piece = piece(from: next), Int(piece.chunk) < full.count {
            guard let bytes = try? bytes(of: piece), draft.append(bytes) else { return }
            let (chunk, first) = (Int(piece.chunk), next)
            next = end(of: piece, from: next)
            undrafted[chunk] -= UInt32(next - first)
            skipGone()
            guard undrafted[chunk] == 0 else { continue }
            if case .memory = full[chunk] { waiting -= 1 }
            full[chunk] = .drafted
        }
    }

    private mutating func skipGone() {
        while next < places.count, isGone(next) { next += 1 }
    }

    /// Moves the oldest chunk in memory to the spool; `false` without a spool that takes it.
    private mutating func putAside() -> Bool {
        while firstWaiting < full.count {
            guard case .memory(let chunk) = full[firstWaiting] else {
                firstWaiting += 1
                continue
            }
            guard let offset = spool?.append(chunk) else { return false }
            full[firstWaiting] = .spooled(offset)
            waiting -= 1
            return true
        }
        return false
    }

    /// As many tasks from this one on as are one run of bytes; `nil` when it is not rendered.
    private func piece(from task: Int) -> Place? {
        guard task < places.count, places[task].count > 0 else { return nil }
        var piece = places[task]
        for place in places[(task + 1)...] {
            guard place.count > 0, place.chunk == piece.chunk, place.start == piece.start + piece.count else { break }
            piece.count += place.count
        }
        return piece
    }

    /// The task after the last of a piece that begins with this one.
    private func end(of piece: Place, from first: Int) -> Int {
        var (task, length) = (first, UInt32(0))
        while length < piece.count {
            length += places[task].count
            task += 1
        }
        return task
    }

    // MARK: The end

    /// Makes the draft the whole report; `nil` where that cannot be, and the pieces have to be copied.
    mutating func complete(_ path: String, _ head: [UInt8], _ end: [UInt8]) -> ReportDraft? {
        guard let draft, draft.path == path, !draft.hasFailed, !draft.hasName else { return nil }
        closeChunk()
        advance()
        guard next == places.count, draft.close(head, end, replacing: Self.separator.count) else { return nil }
        return draft
    }

    /// Hands out the tasks in file order in as few pieces as can be, the last without its comma.
    func forEachPiece(_ body: (ArraySlice<UInt8>) throws(OutputProblem) -> Void) throws(OutputProblem) {
        guard let last = places.lastIndex(where: { $0.count > 0 }) else { return }
        if let draft, next > 0 {
            let end = draft.count - (last < next ? Self.separator.count : 0)
            for start in stride(from: 0, to: end, by: Self.chunkSize) {
                try body(try draft.read(start..<min(end, start + Self.chunkSize))[...])
            }
        }
        var task = next
        while task <= last {
            guard var piece = piece(from: task) else {
                task += 1
                continue
            }
            task = end(of: piece, from: task)
            if task > last { piece.count -= UInt32(Self.separator.count) }
            try body(try bytes(of: piece))
        }
    }

    private func bytes(of place: Place) throws(OutputProblem) -> ArraySlice<UInt8> {
        guard Int(place.chunk) < full.count else { return current[Int(place.start)..<Int(place.start + place.count)] }
        switch full[Int(place.chunk)] {
        case .memory(let chunk): return chunk[Int(place.start)..<Int(place.start + place.count)]
        case .spooled(let offset):
            guard let spool else { throw OutputProblem("the report's spool is gone") }
            return try spool.read(Int(place.count), at: offset + Int64(place.start))[...]
        case .drafted: throw OutputProblem("a task is asked for that is in the report already")
        }
    }
}
