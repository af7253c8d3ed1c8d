package import HTTPRules
package import TransferModel

/// Judges one response of a server: what its headers said, and what its body must be.
///
/// Made anew for each response, and kept until the next one comes. Does no I/O.
package struct Response: Sendable {
    let rules: AttemptRules
    /// Status of the response; `nil` as long as none has come.
    package let status: Int?
    private let version: HTTPProtocol
    /// How the body is packed, if it is to be unpacked: in the order in which the codings were applied.
    package private(set) var codings: [ContentCoding] = []
    /// The strongest digest that the response brings of a download's body. It proves the body's end too.
    package private(set) var sentDigest: SentDigest?
    /// Checksum of the request's body as an object store reports to have stored it.
    private var takenSum: Checksum?
    /// The path that a rule of `onResponse`, or an upload's `to`, sends the body to.
    package private(set) var target: String?
    /// An upload's `to`.
    private let answerPath: String?
    /// Whether the headers are not as expected: the body is shown in the report and does not become a file.
    package private(set) var isDeclined = false
    /// Whether the response missed something that the job names: a status, a type or headers.
    package private(set) var missesWhatIsNamed = false
    /// The offset in the file of the body's first byte: past 0 when it continues a part.
    package private(set) var offset: Int64 = 0
    /// Headers of the whole file that this response completes.
    package private(set) var fileHeaders: HeaderBlock?
    /// Checks the first bytes of the body, until they are settled.
    private var start: BodyStart?
    /// Whether only a digest can say that the body is whole.
    package private(set) var endIsUnproven = false

    /// A response of which nothing but the status line is known; without a status it stands for one that did not come.
    package init(
        _ rules: AttemptRules, status: Int? = nil, version: HTTPProtocol = .http1, savingAt answerPath: String? = nil
    ) {
        self.rules = rules
        self.answerPath = answerPath
        self.status = status
        self.version = version
    }

    /// The task's type, or a download where the body goes to a file all the same.
    package var type: TaskType { target == nil ? rules.type : .download }
    /// The most bytes the result may have.
    package var maximumSize: Int64? { target == nil ? rules.maximumSize : rules.maximumFile }
    /// The most bytes the attempt may receive as its result.
    package var receivableSize: Int64? { AttemptRules.receivable(maximumSize, packed: !codings.isEmpty) }
    /// Bounds of the body that is written or reported.
    package var sizes: SizeBounds {
        SizeBounds(maximum: maximumSize, exact: rules.expect.size, least: rules.expect.minimumSize)
    }

    /// Whether a body sent with `Expect` may be refused: HTTP/1.1 only, libcurl leaves the header out in HTTP/2.
    func refusesExpectation(of request: OutgoingRequest) -> Bool {
        status == 417 && request.expectsContinue && request.sendsBody && version == .http1
    }

    /// Reads how the body ends. The headers of a body that is all here already (`heldLength`) need not state its
    /// length.
    func framing(
        of request: OutgoingRequest, _ headers: HeaderBlock, heldLength: Int64?
    ) throws(TransferError) -> BodyFraming {
        let told = try BodyFraming.of(headers, status: status ?? 0, method: request.method, version: version)
        guard told == .untilClose else { return told }
        if let heldLength { return .length(heldLength) }
        // Other protocols than HTTP say when all was sent.
        return request.url.isHTTP ? .untilClose : .chunked(announced: nil)
    }

    /// Notes that the body continues a part.
    mutating func continues(at offset: Int64, _ fileHeaders: HeaderBlock) {
        (self.offset, self.fileHeaders) = (offset, fileHeaders)
    }

    /// Notes that the part which the response continues is dropped.
    mutating func partIsDropped() { offset = 0 }

    // MARK: Rules of the job

    /// Returns why the task ends with this response, where a rule of `onResponse` says so; the first rule that matches
    /// decides. A rule may also make the response a download.
    package mutating func obeyRules(_ headers: HeaderBlock, length: Int64?) -> TransferError? {
        target = answerPath
        guard !rules.onResponse.isEmpty else { return nil }
        let type = headers.first("content-type").flatMap { MediaType($0) }
        guard let rule = rules.onResponse.first(where: { $0.matches(status, type, length) }) else { return nil }
        switch rule.action {
        case .allow: return nil
        case .download:
            target = rule.to
            return nil
        case .cancel:
            return TransferError(.cancelled, "a rule of `onResponse` cancels \(rule.words(status, type, length))")
        }
    }

    // MARK: Headers

    /// The meaning of a response that is neither a redirect nor a challenge.
    package enum Verdict: Sendable {
        /// The response is the result; the framing says how its body ends.
        case result(BodyFraming)
        /// The response is not as expected. Its body says why and is read for the report.
        case declined(TransferError)
        /// The response fails the attempt, and its body is not read.
        case failed(TransferError)
        /// A rule of `onResponse` ends the task with the response.
        case ruledOut(TransferError)
        /// The rest of a file fits the part, and is not as expected: all of the file may be.
        case restIsUnusable(String)
        /// A 304 to a condition that the job asks by itself.
        case notModified
        /// The stream's end would prove nothing: the body is fetched again, alone on a connection.
        case unprovenStream
    }

    /// Facts about a request's credentials and proxy that count when its response is judged.
    package struct Circumstances: Sendable {
        /// Whether a refused redirect is accepted as the result.
        package var acceptsRedirect = false
        /// The proxy that answered in the server's place.
        package var asker: Origin?
        /// The digest in an object store's `ETag`.
        package var storeDigest: SentDigest?
        /// Whether the body that the request sent is held against that digest.
        package var sumsBody = false
        package init() {}
    }

    /// Judges the headers in the order of their weight: rules, status, content, length, type and headers, coding.
    package mutating func judge(
        _ headers: HeaderBlock, _ framing: BodyFraming, of request: OutgoingRequest, _ circumstances: Circumstances
    ) -> Verdict {
        if let error = obeyRules(headers, length: framing.length.map { offset + $0 }) { return .ruledOut(error) }
        let unknownCoding = readCodings(headers, framing)
        // A 206 that completes a partial file counts as a 200 for the whole file.
        if let status,
            let miss = rules.missedStatus(
                offset > 0 ? 200 : status, isAccepted: circumstances.acceptsRedirect, asker: circumstances.asker,
                to: request)
        {
            missesWhatIsNamed = rules.expect.status != .success
            return decline(rules.withAllMisses(miss, headers))
        }
        if let miss = missedContent(headers, of: request) { return decline(miss) }
        if saysUnchanged(to: request) { return .notModified }
        if let length = framing.length,
            let error = misfit(offset + length, verb: "the server announced") ?? unreadable(offset + length)
        {
            return offset > 0 ? .restIsUnusable(error.message) : .failed(error)
        }
        if let miss = rules.missedHead(fileHeaders ?? headers) {
            if offset > 0 { return .restIsUnusable(miss.message) }
            missesWhatIsNamed = true
            return decline(miss)
        }
        if let unknownCoding { return .failed(unknownCoding) }
        readDigests(headers, framing, circumstances)
        let provesNothing = version == .http2 && framing == .untilClose && !provesByDigest
        // One repetition is enough: a transport that uses HTTP/2 all the same is not asked again.
        if provesNothing, request.mayUseHTTP2, HTTPMethod.isSafe(request.method) { return .unprovenStream }
        if offset == 0 { start = BodyStart(rules.expect) }
        return .result(framing)
    }

    private mutating func readDigests(
        _ headers: HeaderBlock, _ framing: BodyFraming, _ circumstances: Circumstances
    ) {
        // A body that is continued is hashed as its first response said.
        if type == .download, framing != .none, offset == 0, let status {
            // A range that the job itself asks for is all of its file.
            sentDigest =
                status == 206
                ? SentDigests.ofPart(headers)
                : SentDigests.strongest(headers, status: status) ?? circumstances.storeDigest
        }
        takenSum = circumstances.sumsBody ? circumstances.storeDigest?.checksum : nil
    }

    /// Returns why the body cannot be unpacked, if so.
    private mutating func readCodings(_ headers: HeaderBlock, _ framing: BodyFraming) -> TransferError? {
        guard rules.decodes, framing != .none else { return nil }
        do throws(TransferError) {
            codings = try ContentEncoding.codings(headers)
            if rules.unpacksFile { codings.insert(.file, at: 0) }
            return nil
        } catch {
            return error
        }
    }

    private var provesByDigest: Bool { rules.hasChecksum || sentDigest != nil }

    private mutating func decline(_ miss: TransferError) -> Verdict {
        (target, isDeclined) = (nil, true)
        return .declined(miss)
    }

    /// Returns why a response without content is no result: 204 and 205 bring no file, and a HEAD has only what its
    /// headers say.
    private func missedContent(_ headers: HeaderBlock, of request: OutgoingRequest) -> TransferError? {
        if type == .download, let status, [204, 205, 304].contains(status), !saysUnchanged(to: request) {
            return TransferError(
                .unexpectedResponse, "the server answered \(status): there is no content to make a file of")
        }
        guard request.method == "HEAD" else { return nil }
        if type == .download {
            return TransferError(.unexpectedResponse, "a HEAD brings no content to make a file of")
        }
        // A HEAD does not say how long a packed body is once unpacked.
        if rules.decodes, Resuming.coding(headers) != nil { return nil }
        let bounds = SizeBounds(exact: rules.expect.size, least: rules.expect.minimumSize)
        guard let length = headers.first("content-length").flatMap({ Int64($0) }) else {
            let isAsked = bounds.exact != nil || bounds.least != nil
            return isAsked ? TransferError(.unexpectedResponse, "the server announced no length") : nil
        }
        return bounds.misfit(length, verb: "the server announced")
    }

    /// Whether the response is a 304 to a condition that the job itself sets and expects: the file here is current. A
    /// body that must be read or proven needs the file's bytes.
    private func saysUnchanged(to request: OutgoingRequest) -> Bool {
        status == 304 && rules.type == .download && request.isPlainGet && !rules.hasChecksum
            && rules.answer == nil
            && request.headers.contains { $0.isNamed("if-none-match") || $0.isNamed("if-modified-since") }
    }

    /// Returns why a body of that length is too long to be looked into, which is known before its first byte where the
    /// server states the length.
    private func unreadable(_ length: Int64) -> TransferError? {
        guard type == .download, length > AnswerRules.longest, rules.answer?.readsBody == true else { return nil }
        return TransferError(
            .unexpectedResponse,
            "the server announced \(length) bytes: `expect.body` and `capture` look into files of up to \(AnswerRules.longest)"
        )
    }

    /// Returns why a body of `length` received bytes is not the one wanted. The unpacked length is known only after
    /// unpacking.
    private func misfit(_ length: Int64, verb: String) -> TransferError? {
        if let most = receivableSize, length > most { return SizeBounds.tooLong(maximumSize ?? most) }
        return codings.isEmpty ? sizes.misfit(length, verb: verb) : nil
    }

    // MARK: The body

    /// Returns why a body is not read on, after `received` bytes of its own and `framing` bytes of chunk sizes,
    /// extensions and trailers; `nil` where it is read on. Framing counts for `maximumSize` as far as it is more than
    /// the body and 1 MiB: a server may send a byte in each chunk, but not chunks without bytes.
    package func refusal(framing: Int64, beside received: Int64) -> TransferError? {
        guard let most = receivableSize, offset + received + max(0, framing - received - (1 << 20)) > most else {
            return nil
        }
        return TransferError(
            .dataLengthExceedsMaximum,
            "the answer is longer than `maximumSize`, \(maximumSize ?? most) bytes: its chunk sizes, extensions and "
                + "trailers have \(framing) beside \(received) of the body")
    }

    /// Whether `began` wants to see the next bytes of the body.
    package var watchesBody: Bool { start?.isSettled == false }

    /// Takes the beginning of the result's body as it comes, and throws if it is not the one wanted.
    package mutating func began(_ bytes: some Sequence<UInt8>) throws(TransferError) { try start?.take(bytes) }

    /// Judges the end of the result's body, and returns whether nothing proves its length.
    ///
    /// - Parameter sentSum: the MD5 of the request's body, which an object store may tell again.
    package mutating func judgeEnd(
        _ framing: BodyFraming, _ end: TransportEnd, of request: OutgoingRequest, sentSum: Checksum?
    ) throws(TransferError) -> Bool {
        if let error = end.error { throw error }
        // Checked first: a body that was given up because it is too long was not cut by the server.
        if let most = receivableSize, offset + end.received > most { throw SizeBounds.tooLong(maximumSize ?? most) }
        if let error = unsentBody(of: request, end) { throw error }
        let bodyEnd = BodyEnd(
            received: end.received, version: version, isSecure: request.url.isSecure,
            sawCloseNotify: end.sawCloseNotify)
        switch Completeness.judge(framing, bodyEnd) {
        case .cut(let error): throw error
        case .whole: break
        case .unverified, .unprovenStream:
            endIsUnproven = true
            if rules.requireLength, !provesByDigest {
                throw TransferError(.lengthUnproven, "nothing the server sent proves where the body ends")
            }
        }
        if request.method != "HEAD", let error = misfit(offset + end.received, verb: "the body has") { throw error }
        try start?.end()
        if let sentSum, let takenSum, sentSum != takenSum {
            throw TransferError(
                .checksumMismatch, "the store's `ETag` says it took \(takenSum), what was sent is \(sentSum)")
        }
        return endIsUnproven && !provesByDigest
    }

    /// Returns why a response is no success although its status says so: a server cannot have stored what was not sent.
    /// libcurl calls a response complete when the server ends the connection with it, however much of the body is still
    /// to be sent. The same holds where the response says that the success is to be had elsewhere.
    func unsentBody(
        of request: OutgoingRequest, _ end: TransportEnd, answeredElsewhere: Bool = false
    ) -> TransferError? {
        guard request.url.isHTTP, let status, answeredElsewhere || (200..<300).contains(status) else { return nil }
        if end.leftBody {
            // Asked by `Expect`, the server does not want the body and says where the result is.
            if answeredElsewhere, request.expectsContinue { return nil }
            // Unasked, the server did not wait for a body that it cannot do without.
            let when =
                request.expectsContinue
                ? "without asking for the body: nothing of it was sent" : "before it had any of the body"
            let what = "the server answered \(status) \(when)"
            return TransferError(answeredElsewhere ? .networkConnectionLost : .badServerResponse, what)
        }
        guard let sent = end.cutBody else { return nil }
        let part = sent.total.map { "\(sent.bytes) of \($0) bytes" } ?? "\(sent.bytes) bytes, not all,"
        return TransferError(
            .networkConnectionLost,
            "the server answered \(status) and ended the connection when \(part) of the body had been sent")
    }
}

extension BodyFraming {
    /// The length that the headers announce exactly.
    var length: Int64? { if case .length(let length) = self { length } else { nil } }
}

extension AttemptRules {
    /// Whether a response may become a file although the task is no download.
    package var mayBecomeDownload: Bool { onResponse.contains { $0.action == .download } }

    /// Whether the job has no rule of `onResponse`.
    package var onResponseIsEmpty: Bool { onResponse.isEmpty }
}

extension ResponseRule {
    /// Whether the rule matches. What the rule does not name may be anything; an unknown length is longer than nothing.
    fileprivate func matches(_ status: Int?, _ type: MediaType?, _ length: Int64?) -> Bool {
        if let wanted = self.status, status.map({ wanted.contains($0) }) != true { return false }
        if let pattern = mimeType, type?.matches(pattern) != true { return false }
        if let bound = largerThan { return length.map { $0 > bound } ?? false }
        return true
    }

    fileprivate func words(_ status: Int?, _ type: MediaType?, _ length: Int64?) -> String {
        var words: [String] = []
        if self.status != nil, let status { words.append("with status \(status)") }
        if mimeType != nil { words.append("of type \(type?.type ?? "none")") }
        if largerThan != nil { words.append("of \(length ?? 0) bytes") }
        return words.isEmpty ? "every answer" : "an answer \(words.joined(separator: " and "))"
    }
}
