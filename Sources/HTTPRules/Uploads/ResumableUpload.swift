package import TransferModel

/// An upload of which the server holds a beginning: enough to ask how much that is, and to send the rest.
package struct UploadPoint: Hashable, Sendable {
    /// Where the server keeps it. Whoever knows this may change it.
    package var place: String
    package var dialect: UploadDialect
    /// Of the whole body.
    package var length: Int64
    /// No more than this can be there; `nil` when a run ended before it was written down.
    package var sent: Int64?
    /// No request may bring more.
    package var maximumAppend: Int64?
    /// From then on the server does not promise to know it.
    package var expires: WallTime?
    /// The status of an answer that said no to all that was sent: that all of it is there is then no success.
    package var refused: Int?

    package init(place: String, dialect: UploadDialect, length: Int64, sent: Int64?) {
        self.place = place
        self.dialect = dialect
        self.length = length
        self.sent = sent
    }
}

/// The client's side of a resumable upload, request by request. No I/O, no clock.
///
/// The first request is an ordinary upload that says that it could be resumed. A server that can names a place in a 104; after
/// a cut the client asks there how much arrived (HEAD) and sends the rest (PATCH). Without a 104 it was a plain upload.
package struct ResumableUpload: Sendable {
    /// What to send next.
    package enum Step: Hashable, Sendable {
        case create
        case ask
        case append(Range<Int64>)
        case fail(TransferError)
    }

    private enum Phase: Hashable, Sendable {
        case creating
        case asking
        case appending(Range<Int64>)
    }

    private let length: Int64
    /// Whether the whole may be sent a second time where nobody knows what became of the first.
    private let mayRepeat: Bool
    /// It began in an earlier attempt.
    private let isContinued: Bool
    private var phase: Phase
    private var triedDialects: Set<UploadDialect>
    /// Which it speaks, or would if the server did.
    package private(set) var dialect: UploadDialect
    /// What the server holds, as long as that may be of use.
    package private(set) var point: UploadPoint?
    /// Why what was there could not be gone on with.
    package private(set) var startedOver: String?
    /// What the server holds and does not show to whoever asks now.
    private var barred: UploadPoint?
    /// The server says that all is there, and what it answered to that was lost.
    package private(set) var lacksAnswer = false
    /// The first byte that this attempt sent of what an earlier one had begun.
    package private(set) var resumedFrom: Int64 = 0
    /// So many bytes may have arrived; `nil`: nobody knows.
    private var sent: Int64?
    private var isTrusted = true
    /// Answers that brought nothing forward, since the server last had more than ever before.
    private var idleRounds = 0
    private var furthest: Int64 = 0
    private static let mostIdleRounds = 4

    package init(length: Int64, dialect: UploadDialect, point: UploadPoint? = nil, mayRepeat: Bool) {
        self.length = length
        self.mayRepeat = mayRepeat
        self.point = point
        self.dialect = point?.dialect ?? dialect
        triedDialects = [self.dialect]
        isContinued = point != nil
        phase = point == nil ? .creating : .asking
        sent = point.map(\.sent) ?? 0
    }

    /// Whether requests go to the upload's own place by now.
    package var isAtPlace: Bool { phase != .creating }

    // MARK: What requests say

    package var headers: [HeaderField] {
        switch phase {
        case .creating: dialect.creation(length: length)
        case .asking: dialect.question
        case .appending(let range):
            dialect.append(at: range.lowerBound, isLast: range.upperBound == length, length: length)
        }
    }

    package var method: String? {
        switch phase {
        case .creating: nil
        case .asking: "HEAD"
        case .appending: "PATCH"
        }
    }

    /// The part of the body that goes with it; `nil` for all of it, or none.
    package var range: Range<Int64>? { if case .appending(let range) = phase { range } else { nil } }

    /// The body was handed over up to there.
    package mutating func noteSent(_ offset: Int64) {
        guard let known = sent, offset > known else { return }
        sent = offset
        point?.sent = offset
    }

    // MARK: What the server says

    /// A 104 of the request that went to `url`. What it leads to before the answer, if so: then the request is to end.
    package mutating func interim(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) -> Step? {
        let facts = UploadFacts(headers)
        guard phase == .creating, isTrusted, let location = headers.firstReference("location"),
            let told = facts.dialect ?? .standard, let place = Self.place(location, from: url)
        else { return nil }
        if let point, point.place != place {
            // One request, two places: neither is to be believed.
            (isTrusted, self.point) = (false, nil)
            return nil
        }
        dialect = told
        var point = UploadPoint(place: place, dialect: told, length: length, sent: sent)
        point.maximumAppend = facts.maximumAppend
        point.expires = facts.age.map { now + $0 }
        self.point = point
        if let most = facts.maximumSize, most < length {
            self.point = nil
            return .fail(
                TransferError(
                    .dataLengthExceedsMaximum, "the server takes at most \(most) bytes, the body has \(length)"))
        }
        guard let most = facts.maximumAppend, most < length else { return nil }
        return enter(.asking)
    }

    /// Only at the server that was asked: elsewhere nobody was promised anything, and nothing of ours is to go there.
    private static func place(_ location: String, from url: ResourceURL) -> String? {
        guard !location.isEmpty, let place = try? url.resolving(location), place.hasSameOrigin(as: url),
            place.userInformation == nil
        else { return nil }
        return place.text
    }

    /// The first request goes out once more, for reasons that have nothing to do with this: its place will be another.
    package mutating func begin() {
        guard phase == .creating else { return }
        (point, isTrusted, sent) = (nil, true, 0)
    }

    /// A final answer of the request that went to `url`; `nil`: it is judged like any other.
    package mutating func answered(_ status: Int, _ headers: HeaderBlock, from url: ResourceURL) -> Step? {
        let facts = UploadFacts(headers)
        if let most = facts.maximumAppend { point?.maximumAppend = most }
        switch phase {
        case .creating:
            if point == nil, (200..<300).contains(status), facts.isShort(of: length) {
                return createdInPart(headers, facts, from: url)
            }
            let step = created(status, facts)
            if step == nil, status == 401 || status == 403 { regain() }
            return step
        case .asking: return told(status, facts)
        case .appending(let range): return appended(status, facts, range)
        }
    }

    private mutating func created(_ status: Int, _ facts: UploadFacts) -> Step? {
        if (200..<300).contains(status), let doubt = doubt(facts) {
            return point == nil ? startOver(doubt) : idle(then: .asking)
        }
        guard let point else {
            // It speaks another draft, and says which.
            guard (400..<500).contains(status), case .some(.some(let other)) = facts.dialect,
                triedDialects.insert(other).inserted
            else { return nil }
            dialect = other
            return .create
        }
        if status == 413, let most = point.maximumAppend, most < length { return enter(.asking) }
        if (200..<300).contains(status), facts.isShort(of: length) { return idle(then: .asking) }
        settle(status, facts)
        return nil
    }

    /// The server has no more than a beginning, and there was no 104, or none that came through. Where it is says the answer.
    private mutating func createdInPart(_ headers: HeaderBlock, _ facts: UploadFacts, from url: ResourceURL) -> Step {
        guard isTrusted, let location = headers.firstReference("location"),
            let told = facts.dialect ?? .standard, let place = Self.place(location, from: url)
        else {
            return startOver("the server says that it does not have all of the upload, and not where the rest goes")
        }
        dialect = told
        point = UploadPoint(place: place, dialect: told, length: length, sent: sent)
        point?.maximumAppend = facts.maximumAppend
        return idle(then: .asking)
    }

    private mutating func told(_ status: Int, _ facts: UploadFacts) -> Step? {
        switch status {
        case 200..<300:
            if let told = facts.length, told != length {
                return startOver("the server has an upload of \(told) bytes there, and not of \(length)")
            }
            guard facts.isComplete == true else { return goOn(at: facts.offset) }
            // What an offset short of the end is held to, this word is too.
            if let doubt = doubt(facts) ?? doubt(facts.offset) { return startOver(doubt) }
            if let refused = point?.refused { return startOver(after: refused) }
            (point, lacksAnswer, resumedFrom) = (nil, true, isContinued && startedOver == nil ? length : 0)
            return nil
        case 300..<400: return startOver("the server does not say how much it has, but sends elsewhere (\(status))")
        // Somebody else's, by now: as if it were not there. A 401 says no more than that nobody knows who asks.
        case 403: return startOverBarred()
        case 401, 407, 408, 425, 429: return nil
        case 400..<500: return startOver("the server does not know the upload any more (\(status))")
        default: return nil
        }
    }

    private mutating func appended(_ status: Int, _ facts: UploadFacts, _ range: Range<Int64>) -> Step? {
        switch status {
        case 200..<300 where doubt(facts) != nil: return idle(then: .asking)
        // It cannot have what this piece did not bring.
        case 200..<300 where facts.isComplete == true && range.upperBound < length: return idle(then: .asking)
        case _ where facts.isComplete == true:
            point = nil
            return nil
        case 200..<300:
            if range.upperBound == length, !facts.isShort(of: length) {
                point = nil
                return nil
            }
            guard range.upperBound < length else { return idle(then: .asking) }
            if let failure = idle() { return failure }
            return goOn(at: facts.offset ?? range.upperBound)
        case 300..<400: return startOver("the server sends elsewhere (\(status))")
        case 404, 410: return startOver("the server does not know the upload any more (\(status))")
        case 409:
            guard facts.offset != nil else { return idle(then: .asking) }
            if let failure = idle() { return failure }
            return goOn(at: facts.offset)
        case 413:
            guard let most = facts.maximumAppend, most < Int64(range.count) else { break }
            return idle(then: .asking)
        default: break
        }
        settle(status, facts)
        return nil
    }

    /// Why an answer that says that all is there is not to be believed, as far as it shows from that alone.
    private func doubt(_ facts: UploadFacts) -> String? {
        guard facts.isComplete == true, let offset = facts.offset, offset != length else { return nil }
        return "the server says it has all, and that it has \(offset) bytes of \(length)"
    }

    /// Why the server cannot have so much.
    private func doubt(_ offset: Int64?) -> String? {
        guard let offset else { return "the server does not say how much it has" }
        guard offset <= length else { return "the server says it has \(offset) bytes of \(length)" }
        return sent.flatMap { offset > $0 ? "the server says it has \(offset) bytes, and \($0) were sent" : nil }
    }

    /// The rest from there on, if that can be.
    private mutating func goOn(at offset: Int64?) -> Step {
        if let doubt = doubt(offset) { return startOver(doubt) }
        let offset = offset ?? 0
        if offset > furthest { (furthest, idleRounds) = (offset, 0) }
        point?.refused = nil
        if isContinued, startedOver == nil, resumedFrom == 0 { resumedFrom = offset }
        let most = point?.maximumAppend ?? length
        let end = most < length - offset ? offset + most : length
        return enter(.appending(offset..<end))
    }

    /// Whether what the server holds is of use after a final answer that did not end well.
    private mutating func settle(_ status: Int, _ facts: UploadFacts) {
        // All has arrived, and what it was for failed: sending it again does not mend that.
        let isOver = facts.isComplete == true
        if isOver || status < 500 && ![408, 425, 429].contains(status) { point = nil }
        point?.refused = status
    }

    // MARK: Going on

    private mutating func enter(_ phase: Phase) -> Step {
        self.phase = phase
        switch phase {
        case .creating: return .create
        case .asking: return .ask
        case .appending(let range): return .append(range)
        }
    }

    private mutating func idle() -> Step? {
        idleRounds += 1
        guard idleRounds > Self.mostIdleRounds else { return nil }
        point = nil
        return .fail(
            TransferError(.uploadNotResumed, "the server says again and again that it does not have all of the upload"))
    }

    private mutating func idle(then phase: Phase) -> Step { idle() ?? enter(phase) }

    /// All of it is not enough: what it was for has failed, and only another answer can say that it succeeded. Whoever said
    /// that he was busy did not begin with it.
    private mutating func startOver(after refused: Int) -> Step {
        startOver(
            "the server has all of the upload, and answered it with \(refused)",
            mayRepeat: mayRepeat || refused == 429 || refused == 503)
    }

    private mutating func startOverBarred() -> Step {
        let held = point
        let step = startOver("the server does not let whoever asks now go on with the upload (403)")
        if case .create = step { barred = held } else { point = held }
        return step
    }

    /// Whoever asks may not upload at all: that says nothing of what an earlier attempt or run left.
    private mutating func regain() {
        guard let barred else { return }
        // What was sent now was not sent there.
        (point, sent) = (barred, nil)
    }

    private mutating func startOver(_ why: String) -> Step { startOver(why, mayRepeat: mayRepeat) }

    private mutating func startOver(_ why: String, mayRepeat: Bool) -> Step {
        point = nil
        if let failure = idle() { return failure }
        guard mayRepeat else {
            return .fail(
                TransferError(.uploadNotResumed, "\(why): the upload cannot go on, and a POST is not sent twice"))
        }
        (startedOver, resumedFrom, sent, isTrusted) = (why, 0, 0, true)
        return enter(.creating)
    }
}
