/// Plans one body in several ranges at once: which stream brings which bytes, which bytes are missing, and which part
/// is next.
///
/// The first stream is the answer to the ordinary request and reaches to the end of the body. Further streams take over
/// parts that others have still to bring: a stream ends where the next part begins, whatever it asked for. No byte is
/// ever given to two streams; what a stream leaves behind is missing until another takes it.
package struct SegmentPlan: Sendable {
    /// Identifies a stream within one plan.
    package struct StreamID: Hashable, Sendable {
        /// Number of the stream, from 0 in the order of their beginning.
        package let raw: Int
    }

    /// Length in bytes below which no part is worth a request of its own.
    package static let smallestPart: Int64 = 1 << 20

    struct Stream: Sendable {
        let id: StreamID
        /// Offset of its next byte in the body.
        var next: Int64
        /// Offset before which the stream brings all bytes.
        var end: Int64
        /// Offset up to which the stream could go on: the end of its request, until it is told to stop.
        var limit: Int64
        var rest: Int64 { end - next }
    }

    /// Why a stream is over.
    package enum End: Sendable {
        /// The stream brought all that it was to bring.
        case done
        case failed
        /// The server answered the range wrongly: it is asked for no more.
        case refused
        /// Its slot was needed for another task.
        case recalled
    }

    /// What follows when a stream is over.
    package enum Outlook: Hashable, Sendable {
        case complete
        case goesOn
        /// No stream is under way, bytes are missing, and the server would send them.
        case needsStream
        /// No stream is under way, bytes are missing, and no further stream may begin.
        case lost
    }

    /// Length of the whole body: the end of the last range.
    package let total: Int64
    /// Offset at which the first stream began.
    private let start: Int64
    private(set) var streams: [Stream] = []
    /// Ranges that no stream has brought or is bringing, in order.
    private(set) var missing: [Range<Int64>] = []
    /// Most streams at a time. A stream that fails is not replaced: the next might fail as well.
    private var most: Int
    private var takesRanges = true
    private var count = 0

    /// The stream of the ordinary request.
    package static let first = StreamID(raw: 0)

    /// The first stream is under way and brings all of it, as things are. `there`: ranges that an earlier run brought, in
    /// order; the first stream ends where the first of them begins.
    package init(_ range: Range<Int64>, most: Int, there: [Range<Int64>] = []) {
        start = range.lowerBound
        total = range.upperBound
        self.most = most
        let open = Self.holes(in: range, there)
        count = 1
        streams = [
            Stream(
                id: Self.first, next: start, end: open.first?.upperBound ?? total, limit: total)
        ]
        missing = Array(open.dropFirst())
    }

    /// Returns what is not there of a range, in order; the first hole begins with the range.
    static func holes(in range: Range<Int64>, _ there: [Range<Int64>]) -> [Range<Int64>] {
        var holes: [Range<Int64>] = []
        var place = range.lowerBound
        for part in there where part.upperBound > place && part.lowerBound < range.upperBound {
            if part.lowerBound > place { holes.append(place..<part.lowerBound) }
            place = min(part.upperBound, range.upperBound)
        }
        if place < range.upperBound { holes.append(place..<range.upperBound) }
        return holes
    }

    /// Whether a body of this length is worth more than one stream.
    package static func isWorthwhile(_ length: Int64) -> Bool { length >= 2 * smallestPart }

    // MARK: How far it is

    /// Streams under way.
    package var liveCount: Int { streams.count }

    /// Offset before which every byte has come.
    package var frontier: Int64 {
        var least = missing.first?.lowerBound ?? total
        for stream in streams where stream.rest > 0 { least = min(least, stream.next) }
        return least
    }

    /// Bytes that came since the first stream began.
    package var received: Int64 {
        let open = streams.reduce(0) { $0 + $1.rest } + missing.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        return total - start - open
    }

    /// Whether the stream is under way and has bytes to bring.
    package func isLive(_ id: StreamID) -> Bool { place(of: id).map { streams[$0].rest > 0 } ?? false }

    /// How many more streams would have something to do if they began together.
    package var openings: Int {
        guard takesRanges, most > streams.count else { return 0 }
        var trial = self
        return trial.begin(most - streams.count).count
    }

    /// Whether another stream could run but would find nothing to do.
    package var hasIdlePlace: Bool { takesRanges && streams.count < most && openings == 0 }

    // MARK: Streams begin

    /// Begins up to `wanted` further streams, as far as there is anything left for them, and returns what each asks
    /// for.
    package mutating func begin(_ wanted: Int) -> [(id: StreamID, range: Range<Int64>)] {
        var begun: [(id: StreamID, range: Range<Int64>)] = []
        while takesRanges, begun.count < wanted, streams.count < most,
            let range = nextPart(of: wanted, left: wanted - begun.count)
        {
            begun.append((open(range), range))
        }
        return begun
    }

    @discardableResult
    private mutating func open(_ range: Range<Int64>) -> StreamID {
        let id = StreamID(raw: count)
        count += 1
        streams.append(Stream(id: id, next: range.lowerBound, end: range.upperBound, limit: range.upperBound))
        return id
    }

    /// Returns the part for the next stream. Missing ranges go first, from the front; then the far part of the stream
    /// that has most still to bring. Streams that begin together get equal parts; one alone takes half.
    private mutating func nextPart(of wanted: Int, left: Int) -> Range<Int64>? {
        if !missing.isEmpty { return missing.removeFirst() }
        guard let slowest = streams.indices.max(by: { streams[$0].rest < streams[$1].rest }) else { return nil }
        let rest = streams[slowest].rest
        guard rest >= 2 * Self.smallestPart else { return nil }
        var share = rest / 2
        if wanted > 1 {
            let all = streams.reduce(0) { $0 + $1.rest }
            share = min(share, max(Self.smallestPart, all / Int64(streams.count + left)))
        }
        let end = streams[slowest].end
        streams[slowest].end = end - share
        return (end - share)..<end
    }

    // MARK: Bytes come

    /// Says what to do with bytes that a stream brought.
    package struct Taken: Hashable, Sendable {
        /// Offset of the first byte in the body.
        package var offset: Int64
        /// Number of bytes to use; the rest belongs to another stream.
        package var count: Int
        /// Whether the stream has brought all that it is to bring.
        package var isDone: Bool
        /// Whether the stream must be stopped: more of its answer would come than is wanted.
        package var mustStop: Bool

        package init(offset: Int64, count: Int, isDone: Bool, mustStop: Bool) {
            self.offset = offset
            self.count = count
            self.isDone = isDone
            self.mustStop = mustStop
        }
    }

    /// Notes `count` bytes that a stream brought next; bytes beyond its end are not used.
    package mutating func received(_ count: Int, by id: StreamID) -> Taken {
        guard let place = place(of: id) else { return Taken(offset: 0, count: 0, isDone: true, mustStop: true) }
        let offset = streams[place].next
        let wanted = min(Int64(count), streams[place].rest)
        streams[place].next += wanted
        let isDone = streams[place].rest == 0
        let mustStop = isDone && (streams[place].limit > streams[place].end || wanted < count)
        // A stopped stream cannot be given more.
        if mustStop { streams[place].limit = streams[place].end }
        return Taken(offset: offset, count: Int(wanted), isDone: isDone, mustStop: mustStop)
    }

    private func place(of id: StreamID) -> Int? { streams.firstIndex { $0.id == id } }

    /// Whether the server answered a range wrongly, so that it is asked for no more.
    package var isRefused: Bool { !takesRanges }

    // MARK: Streams end

    /// The stream is over. What it did not bring is missing, and may go to any stream.
    package mutating func end(_ id: StreamID, _ end: End) -> Outlook {
        guard let place = place(of: id) else { return outlook(after: end) }
        let stream = streams.remove(at: place)
        if stream.rest > 0 { giveBack(stream.next..<stream.end) }
        switch end {
        case .done, .recalled: break
        case .failed: most = max(1, streams.count)
        case .refused: takesRanges = false
        }
        return outlook(after: end)
    }

    private func outlook(after end: End) -> Outlook {
        guard streams.isEmpty else { return .goesOn }
        if missing.isEmpty { return .complete }
        switch end {
        case .done, .recalled: return takesRanges ? .needsStream : .lost
        case .failed, .refused: return .lost
        }
    }

    /// Gives the range back to the stream that was to end where it begins, as far as that asked for; the rest is
    /// missing.
    private mutating func giveBack(_ range: Range<Int64>) {
        let place = insert(range)
        let part = missing[place]
        guard let before = streams.firstIndex(where: { $0.end == part.lowerBound && $0.limit > $0.end }) else { return }
        streams[before].end = min(streams[before].limit, part.upperBound)
        if streams[before].end == part.upperBound {
            missing.remove(at: place)
        } else {
            missing[place] = streams[before].end..<part.upperBound
        }
    }

    /// Adds the range to the missing ones, joined with those that it touches, and returns its place.
    private mutating func insert(_ range: Range<Int64>) -> Int {
        var place = missing.firstIndex { $0.lowerBound > range.lowerBound } ?? missing.count
        missing.insert(range, at: place)
        if place + 1 < missing.count, missing[place].upperBound == missing[place + 1].lowerBound {
            missing[place] = missing[place].lowerBound..<missing.remove(at: place + 1).upperBound
        }
        if place > 0, missing[place - 1].upperBound == missing[place].lowerBound {
            place -= 1
            missing[place] = missing[place].lowerBound..<missing.remove(at: place + 1).upperBound
        }
        return place
    }

    /// The stream to end when one must go: of the further ones, the one with most still to bring, which others can take
    /// over. The first, which costs nothing to let run, only if there is no other.
    package var mostDispensable: StreamID? {
        let others = streams.filter { $0.id != Self.first }
        return (others.isEmpty ? streams : others).max { $0.rest < $1.rest }?.id
    }
}
