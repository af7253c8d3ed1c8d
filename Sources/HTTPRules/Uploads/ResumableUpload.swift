package import TransferModel

/// An upload that a server holds the beginning of: enough to ask how many bytes that is, and to send the rest.
package struct UploadPoint: Hashable, Sendable {
    /// URL of the upload on the server. It is a secret of sorts: with it anyone can change the upload.
    package var place: String
    /// Version of the protocol that the server speaks.
    package var dialect: UploadDialect
    /// Length of the whole body in bytes.
    package var length: Int64
    /// Upper bound of the bytes that the server can hold; `nil` when a run ended before it was recorded.
    package var sent: Int64?
    /// Bytes that one request may append, at most; `nil` without a limit.
    package var maximumAppend: Int64?
    /// Time until which the server promises to keep the upload; `nil` without a promise.
    package var expires: WallTime?
    /// Status of an answer that refused the whole body after it was sent: that the server holds all of it is then no
    /// success.
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
/// The first request is an ordinary upload that says that it could be resumed. A server that supports this names a URL
/// in a 104; after a cut the client asks there how much arrived (HEAD) and sends the rest (PATCH). Without a 104 it was
/// a plain upload.
package struct ResumableUpload: Sendable {
    /// The next action of the caller.
    package enum Step: Hashable, Sendable {
        /// Send the whole body to the task's URL.
        case create
        /// Ask the server how many bytes it holds.
        case ask
        /// Send these bytes of the body.
        case append(Range<Int64>)
        /// End the attempt with this error.
        case fail(TransferError)
    }

    private enum Phase: Hashable, Sendable {
        case creating
        case asking
        case appending(Range<Int64>)
    }

    private let length: Int64
    /// Whether the whole body may be sent a second time when the fate of the first is unknown.
    private let mayRepeat: Bool
    /// Whether the upload began in an earlier attempt.
    private let isContinued: Bool
    private var phase: Phase
    private var triedDialects: Set<UploadDialect>
    /// Version of the protocol that the server speaks, or that the next request assumes.
    package private(set) var dialect: UploadDialect
    /// The upload that the server holds, as long as it may be of use.
    package private(set) var point: UploadPoint?
    /// Why an upload that the server holds could not be continued; `nil` when none was given up.
    package private(set) var startedOver: String?
    /// An upload that the server holds and that the present credentials may not continue.
    private var barred: UploadPoint?
    /// Whether the server says that it holds everything, but its answer to the complete upload was lost.
    package private(set) var lacksAnswer = false
    /// Offset of the first byte that this attempt sent of an upload that an earlier attempt began; 0 when it sent all.
    package private(set) var resumedFrom: Int64 = 0
    /// Upper bound of the bytes that may have arrived; `nil` when unknown.
    private var sent: Int64?
    private var isTrusted = true
    /// Consecutive answers since the server's offset last reached a new maximum.
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

    /// Whether requests go to the upload's own URL, no longer to the task's.
    package var isAtPlace: Bool { phase != .creating }

    // MARK: What requests say

    /// Header fields of the next request that belong to the protocol.
    package var headers: [HeaderField] {
        switch phase {
        case .creating: dialect.creation(length: length)
        case .asking: dialect.question
        case .appending(let range):
            dialect.append(at: range.lowerBound, isLast: range.upperBound == length, length: length)
        }
    }

    /// Method of the next request; `nil` for the task's own.
    package var method: String? {
        switch phase {
        case .creating: nil
        case .asking: "HEAD"
        case .appending: "PATCH"
        }
    }

    /// Bytes of the body that go with the next request; `nil` for all of them, or none.
    package var range: Range<Int64>? { if case .appending(let range) = phase { range } else { nil } }

    /// Notes that the body was handed to the connection up to this offset.
    package mutating func noteSent(_ offset: Int64) {
        guard let known = sent, offset > known else { return }
        sent = offset
        point?.sent = offset
    }

    // MARK: What the server says

    /// Handles a 104 that answers the request to `url`. Returns the next step when the request is to be ended before
    /// its answer, else `nil`.
    package mutating func interim(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) -> Step? {
        let facts = UploadFacts(headers)
        guard phase == .creating, isTrusted, let location = headers.firstReference("location"),
            let told = facts.dialect ?? .standard, let place = Self.place(location, from: url)
        else { return nil }
        if let point, point.place != place {
            // One request, two URLs: neither can be trusted.
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

    /// Returns the upload's URL, only on the origin of `url`: other servers promised nothing, and no data must go
    /// there.
    private static func place(_ location: String, from url: ResourceURL) -> String? {
        guard !location.isEmpty, let place = try? url.resolving(location), place.hasSameOrigin(as: url),
            place.userInformation == nil
        else { return nil }
        return place.text
    }

    /// Notes that the first request is sent again for reasons outside this protocol, so that its upload will get
    /// another URL.
    package mutating func begin() {
        guard phase == .creating else { return }
        (point, isTrusted, sent) = (nil, true, 0)
    }

    /// Handles the final answer to the request to `url`. Returns the next step, or `nil` when the answer is judged like
    /// any other.
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
            // The server speaks another draft, and names it.
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

    /// Handles a success that holds only a beginning, after no 104, or none that arrived: the answer itself names the
    /// upload's URL.
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
            // The claim to hold everything has to pass the same checks as an offset.
            if let doubt = doubt(facts) ?? doubt(facts.offset) { return startOver(doubt) }
            if let refused = point?.refused { return startOver(after: refused) }
            (point, lacksAnswer, resumedFrom) = (nil, true, isContinued && startedOver == nil ? length : 0)
            return nil
        case 300..<400: return startOver("the server does not say how much it has, but sends elsewhere (\(status))")
        // Treat an upload of another user as missing. A 401 says only that credentials are missing.
        case 403: return startOverBarred()
        case 401, 407, 408, 425, 429: return nil
        case 400..<500: return startOver("the server does not know the upload any more (\(status))")
        default: return nil
        }
    }

    private mutating func appended(_ status: Int, _ facts: UploadFacts, _ range: Range<Int64>) -> Step? {
        switch status {
        case 200..<300 where doubt(facts) != nil: return idle(then: .asking)
        // The server cannot hold bytes that this piece did not bring.
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

    /// Why an answer's claim to hold everything contradicts its own offset, or `nil`.
    private func doubt(_ facts: UploadFacts) -> String? {
        guard facts.isComplete == true, let offset = facts.offset, offset != length else { return nil }
        return "the server says it has all, and that it has \(offset) bytes of \(length)"
    }

    /// Why the server cannot hold as many bytes as it says, or `nil`.
    private func doubt(_ offset: Int64?) -> String? {
        guard let offset else { return "the server does not say how much it has" }
        guard offset <= length else { return "the server says it has \(offset) bytes of \(length)" }
        return sent.flatMap { offset > $0 ? "the server says it has \(offset) bytes, and \($0) were sent" : nil }
    }

    /// Sends the rest from `offset` on, or starts over when that offset cannot be right.
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

    /// Decides whether the server's upload is still of use after a final answer that is no success.
    private mutating func settle(_ status: Int, _ facts: UploadFacts) {
        // The server holds everything, and the processing of it failed: sending it again does not change that.
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

    /// Starts over after the server refused a complete upload: only another answer can say that the processing
    /// succeeded. A server that answered 429 or 503 did not begin with it.
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

    /// Restores the upload of an earlier attempt or run after a 401 or 403: credentials that may not upload at all say
    /// nothing about it.
    private mutating func regain() {
        guard let barred else { return }
        // The bytes of this request did not go to that upload.
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
