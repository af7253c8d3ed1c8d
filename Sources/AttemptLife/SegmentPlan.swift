/// Plans one body in several ranges at once: which stream brings which bytes, which bytes are missing, and which part
/// is next.
///
/// The first stream is the answer to the ordinary request and reaches to the end of the body. Further ones take parts
/// off what others still have before them: a stream ends where the next part begins, whatever it asked for. No byte is
/// ever given to two streams; what a stream leaves behind is missing until another takes it.
package struct SegmentPlan: Sendable {
    /// Identifies a stream within one plan.
    package struct StreamID: Hashable, Sendable {
        /// Number of the stream, from 0 in the order of their beginning.
        package let raw: Int
    }

    /// Below that, no part is worth a request of its own.
    package static let smallestPart: Int64 = 1 << 20

    struct Stream: Sendable {
        let id: StreamID
        /// Where its next byte belongs.
        var next: Int64
        /// It brings what lies before this.
        var end: Int64
        /// It could go on up to here: what it asked for, until it is told to stop.
        var limit: Int64
        var rest: Int64 { end - next }
    }

    /// Why a stream is over.
    package enum End: Sendable {
        /// It brought what it was to bring.
        case done
        case failed
        /// The server does not answer ranges as it should: it is asked for no more.
        case refused
        /// Its slot was wanted for something else.
        case recalled
    }

    /// How things stand when a stream is over.
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
    /// Where the first stream began.
    private let start: Int64
    private(set) var streams: [Stream] = []
    /// Ranges that no stream has brought or brings, in order.
    private(set) var missing: [Range<Int64>] = []
    /// The most streams at one time. One that fails is not replaced: the next might fare no better.
    private var most: Int
    private var takesRanges = true
    private var count = 0

    /// The stream of the ordinary request.
    package static let first = StreamID(raw: 0)

    /// The first stream is under way and brings all of it, as things are.
    package init(_ range: Range<Int64>, most: Int) {
        start = range.lowerBound
        total = range.upperBound
        self.most = most
        open(range)
    }

    /// Whether a body of this length is worth more than one stream.
    package static func isWorthwhile(_ length: Int64) -> Bool { length >= 2 * smallestPart }

    // MARK: How far it is

    /// Streams under way.
    package var liveCount: Int { streams.count }

    /// Every byte before this offset has come.
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

    /// One that is done has nothing left to do but what another has before it.
    package var hasIdlePlace: Bool { takesRanges && streams.count < most && openings == 0 }

    // MARK: Streams begin

    /// What that many further streams shall ask for, as far as there is anything for them.
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

    /// What is missing goes first, from the front; then the far part of what the stream with most before it has. When
    /// several begin together all get the same; one alone takes half.
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

    /// What becomes of bytes that a stream brought.
    package struct Taken: Hashable, Sendable {
        /// Where the first of them belongs.
        package var offset: Int64
        /// So many are wanted; the rest is another's.
        package var count: Int
        /// It has brought all that it is to bring.
        package var isDone: Bool
        /// Nothing more of its answer is wanted, although more would come.
        package var mustStop: Bool

        package init(offset: Int64, count: Int, isDone: Bool, mustStop: Bool) {
            self.offset = offset
            self.count = count
            self.isDone = isDone
            self.mustStop = mustStop
        }
    }

    /// Places the `count` bytes that a stream brought next; bytes beyond its end are not taken.
    package mutating func received(_ count: Int, by id: StreamID) -> Taken {
        guard let place = place(of: id) else { return Taken(offset: 0, count: 0, isDone: true, mustStop: true) }
        let offset = streams[place].next
        let wanted = min(Int64(count), streams[place].rest)
        streams[place].next += wanted
        let isDone = streams[place].rest == 0
        let mustStop = isDone && (streams[place].limit > streams[place].end || wanted < count)
        // From here on it cannot be given more.
        if mustStop { streams[place].limit = streams[place].end }
        return Taken(offset: offset, count: Int(wanted), isDone: isDone, mustStop: mustStop)
    }

    private func place(of id: StreamID) -> Int? { streams.firstIndex { $0.id == id } }

    /// Whether a range was answered as it should not be: the server is asked for no more.
    package var isRefused: Bool { !takesRanges }

    // MARK: Streams end

    /// The stream is over, and what it did not bring is anybody's.
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

    /// A stream that was to end where the bytes begin goes on, as far as it asked for; what it does not reach is
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

    /// Puts it among what is missing, as one with what touches it, and tells where.
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

    /// Which further stream is the least loss when one must go: the one with most before it, of which most can be taken
    /// by others. Never the first, which costs nothing to let run, unless there is no other.
    package var mostDispensable: StreamID? {
        let others = streams.filter { $0.id != Self.first }
        return (others.isEmpty ? streams : others).max { $0.rest < $1.rest }?.id
    }
}
