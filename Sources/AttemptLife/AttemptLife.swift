package import HTTPRules
package import TransferModel

/// The life of one attempt, hop by hop: what to send next, what an answer means, what to keep. No I/O, no clock.
///
/// A class, though nobody shares one: it is asked twenty times for each small file, and copied each time it were a value
/// in another object.
package final class AttemptLife {
    /// What the headers said and what they lead to.
    enum Answer: Sendable {
        case none
        case redirect(RequestBuilder.Hop, RedirectRecord)
        case result(BodyFraming, RedirectRecord?)
        /// A 304 to a condition of ours. One that nobody asked for is an answer like any other.
        case notModified
        /// The same request again, alone on a connection: this stream's end would prove nothing.
        case unprovenStream
        /// The same request without a range: what came does not continue what is there.
        case rangeOfNoUse
        /// The same request, and its body without asking.
        case expectationRefused
        /// The same request without a condition: what came says nothing of the file that stands there.
        case conditionOfNoUse
        /// A HEAD, which says how long the server's file is.
        case conditionUnproven
        case failure(TransferError, RedirectRecord?)
        /// The same request, and who it is from.
        case challenged
        /// To the question whether the upload is needed: it is, or the server has something there.
        case uploadIsNeeded, uploadIsThere
        /// To the question about a part that another program left.
        case judged(ForeignPart.Verdict)
        /// What the upload goes on with.
        case upload(ResumableUpload.Step)
        case cancelled(TransferError)
        /// A rule of `onResponse` ends the task with this answer.
        case ruledOut(TransferError)
    }

    let rules: AttemptRules
    /// Computes what the requests say, and keeps what that depends on.
    var builder: RequestBuilder
    /// Nothing for most.
    package var tracing: TracePropagation?
    package internal(set) var request: OutgoingRequest
    /// Of the last answer; what a verdict tells the scheduler.
    package private(set) var lastStatus: Int?
    var answer = Answer.none
    /// What it was asked, and showed; nothing for most.
    var login = Login.none
    /// The proxy that the request goes through.
    package var proxy: Origin?
    private var answerVersion = HTTPProtocol.http1
    /// A digest alone can say whether the body is whole.
    package private(set) var endIsUnproven = false
    /// What the last answer's body must begin with, as far as it was not seen yet.
    private var start: BodyStart?
    /// The strongest digest that the last answer brought of a download's body. It proves the body's end too.
    package private(set) var sentDigest: SentDigest?
    /// How the last answer's body is packed, if it is to be unpacked: in the order in which the codings were applied.
    package private(set) var codings: [ContentCoding] = []
    /// The request under way is a HEAD for the sake of the condition.
    private var asksForLength = false
    /// MD5 of the last request's body, where an object store may tell it again.
    package var sentSum: Checksum?
    /// What the store tells of what it took.
    private var takenSum: Checksum?
    /// What is there of an earlier attempt, as long as it may be of use.
    package private(set) var resume: ResumePoint?
    /// Why all of the file is asked for although a part is there. That goes when all of it comes, and not before.
    private var setAside: String?
    /// Where a rule of `onResponse` sends the last answer's body.
    package internal(set) var target: String?
    /// The last answer missed what its headers were to say: what its body holds is not what was asked for.
    package private(set) var isDeclined = false
    /// What it missed stands in the job: a status, a type or headers. Then so may what its body was to be.
    package private(set) var missesWhatIsNamed = false
    /// Where the result's first byte belongs: past 0 when it continues what is there.
    package private(set) var offset: Int64 = 0
    /// Why what was there could not be continued.
    package internal(set) var startedOver: String?
    /// What is said of the whole file that this answer completes.
    package private(set) var fileHeaders: HeaderBlock?
    /// What is asked before the upload, until that is answered.
    var uploadQuestion: UploadQuestion?
    /// Asked by a HEAD before a part that another program left is adopted.
    var partQuestion = PartQuestion()
    /// The request as it went out.
    private(set) var mark = RequestMark()
    /// Its condition or range was left out: what is there was answered to somebody else.
    private var isBare = false

    package init(_ url: ResourceURL, _ rules: AttemptRules, resume: ResumePoint? = nil) {
        self.rules = rules
        self.resume = resume
        builder = RequestBuilder(url, rules)
        request = builder.firstRequest()
        addRange()
    }

    /// A secret that must not go where the first request goes, before anything is sent.
    package func refusalToBegin() -> TransferError? { builder.barredSecret(in: request) }

    /// Whether the last answer, as far as its headers were read, is the attempt's result and not a step on the way.
    package var isFinalAnswer: Bool {
        if isAsking { return false }
        return switch answer {
        case .none, .redirect, .unprovenStream, .rangeOfNoUse, .expectationRefused, .conditionOfNoUse,
            .conditionUnproven, .challenged, .upload, .cancelled, .uploadIsNeeded,
            .judged:
            false
        case .uploadIsThere, .result, .notModified, .failure, .ruledOut: true
        }
    }

    /// The most bytes the result may have.
    package var maximumSize: Int64? { target == nil ? rules.maximumSize : rules.maximumFile }
    /// The most bytes the attempt may receive as its result.
    package var receivableSize: Int64? { AttemptRules.receivable(maximumSize, packed: !codings.isEmpty) }
    /// That of the task, or a download if a rule makes one of it.
    package var type: TaskType { target == nil ? rules.type : .download }

    /// The length the last answer announced.
    package var announcedLength: Int64? {
        switch answer {
        case .result(.length(let length), _): offset + length
        default: nil
        }
    }

    /// Of the last answer, if that is the result.
    package var hasBody: Bool { if case .result(.none, _) = answer { false } else { true } }

    // MARK: The file that stands there

    /// Before anything is sent: whichever request goes to the condition's URL carries it.
    package func ask(under condition: RequestCondition) {
        builder.condition = condition
        addCondition()
    }

    /// The file is not there any more as it was when it was asked about: the same request for all of it.
    package func askForAll() -> OutgoingRequest {
        builder.removeCondition(from: &request)
        if asksForLength { request.method = rules.method }
        asksForLength = false
        builder.condition = nil
        return request
    }

    private func askForLength() -> OutgoingRequest {
        builder.removeCondition(from: &request)
        asksForLength = true
        request.method = "HEAD"
        return request
    }

    func addCondition() { builder.addCondition(to: &request, isResumed: resume != nil) }

    private var condition: RequestCondition? { builder.condition }

    // MARK: Who asked for what is there

    /// A request as it is about to go out, dressed by what the session knows. What was answered to another one is not asked
    /// about: this one gets all of its answer.
    package func bared(_ request: OutgoingRequest, proof: String?, at now: WallTime) -> OutgoingRequest {
        mark = RequestMark(typed: self.request.headers, sent: request.headers, proof: proof)
        isBare = false
        guard request.isConditional || resume != nil else { return request }
        // What is asked by its time alone is held against the answer, whoever asks.
        if request.isConditional, condition?.size != nil { return request }
        if let resume, completesAnywhere(resume) { return request }
        if mark.fits(request.isConditional ? condition?.asked : resume?.asked) { return request }
        isBare = true
        var bare = request
        bare.headers.removeAll { $0 == condition?.header || $0.name == "Range" || $0.name == "If-Range" }
        bare.isConditional = false
        return signedAnew(bare, at: now)
    }

    /// What may be kept of the last request beside its answer; `key` is new each time.
    package func asked(_ headers: HeaderBlock, key: @autoclosure () -> UInt64) -> String? {
        mark.text(answer: headers, key: key())
    }

    // MARK: What an earlier attempt or run left

    /// Before anything is sent: what is there is good, and the rest is asked for.
    package func goOn(from point: ResumePoint) {
        resume = point
        addRange()
    }

    /// What was there is of no use.
    package func startOver(_ why: String) { dropResume(why) }

    func addRange() {
        guard let resume, setAside == nil, request.method == "GET", continues(resume) else { return }
        guard resume.unanswered < ResumePoint.mostUnanswered else {
            return setAside = "\(ResumePoint.mostUnanswered) requests for the rest brought nothing of it"
        }
        request.headers += Resuming.headers(for: resume)
    }

    /// The last answer said nothing against what is there.
    package var keepsPart: Bool { resume != nil && offset == 0 && lastStatus.map { Resuming.outlives($0) } ?? true }

    /// It ended without a byte of what was asked for. When a request for all of the file does so too, it was not the range.
    private func countUnanswered(_ end: TransportEnd) {
        partQuestion.unanswered(end, asksForLength: asksForLength)
        guard let point = resume, end.mayBeTheRange, !isBare, continues(point) else { return }
        resume?.unanswered = setAside == nil ? point.unanswered + 1 : 0
    }

    private func continues(_ point: ResumePoint) -> Bool {
        completesAnywhere(point) || point.isFrom(request.url, isProven: rules.hasChecksum)
    }

    /// What an answer, of use or not, says of its server.
    package func learn(_ headers: HeaderBlock, lore: inout SessionLore, at now: WallTime) {
        lore.take(headers, from: request.url, builder.visit, at: now)
    }

    // MARK: What happens

    /// The final headers of an answer were read. `heldLength` is that of a body which is all there already, out of a cache:
    /// then nothing else need say where it ends, and what its server had to say of itself was heard when it came.
    package func head(
        status: Int, version: HTTPProtocol, headers: HeaderBlock, heldLength: Int64? = nil, lore: inout SessionLore,
        at now: WallTime
    ) -> HeadDecision {
        if heldLength == nil { learn(headers, lore: &lore, at: now) }
        lastStatus = status
        (start, sentDigest) = (nil, nil)
        answerVersion = version
        offset = 0
        codings = []
        (target, isDeclined, missesWhatIsNamed, fileHeaders) = (nil, false, false, nil)
        var framing: BodyFraming
        do throws(TransferError) {
            let told = try BodyFraming.of(headers, status: status, method: request.method, version: version)
            framing = told == .untilClose ? heldLength.map { .length($0) } ?? endless : told
        } catch {
            answer = .failure(error, nil)
            return .abort
        }
        if status == 304, request.isConditional, !isBare {
            switch condition?.word(of: headers) {
            case .same, nil: answer = .notModified
            case .other: answer = .conditionOfNoUse
            case .unproven: answer = .conditionUnproven
            }
            return .discard
        }
        if status == 417, asksToContinue {
            answer = .expectationRefused
            beginUploadAgain()
            // libcurl would repeat it by itself, and nobody would be told.
            return .abort
        }
        if let decision = meet(status: status, headers, &lore) {
            beginUploadAgain()
            return decision
        }
        if let decision = meetUpload(status: status, headers) { return decision }
        let decision = Redirects.decide(
            status: status, location: headers.firstReference("location"), method: request.method, from: request.url,
            hops: builder.hops, policy: rules.redirects, rewrites: rules.rewrites,
            secured: { lore.secured($0, at: now) })
        switch decision {
        case .follow(let target, let method, let keepsBody):
            return follow(target, method: method, keepsBody: keepsBody, status: status)
        case .refuse(let target, let refusal):
            if let part = partQuestion.part { return judgeForeignPart(part, status: status, headers) }
            return refuse(target, refusal, status: status, headers: headers, framing)
        case .final:
            if let uploadQuestion { return judgeNeed(uploadQuestion, status, headers) }
            if asksForLength {
                answer = condition?.isMet(byHead: status, headers) == true ? .notModified : .conditionOfNoUse
                return .discard
            }
            if let part = partQuestion.part { return judgeForeignPart(part, status: status, headers) }
            let decision = judgeRange(status: status, headers: headers, &framing)
            // Of the rest a byte has yet to come.
            if offset == 0 { resume?.unanswered = 0 }
            if let decision { return decision }
            return judge(status: status, headers: headers, framing, nil)
        }
    }

    /// In HTTP/2 libcurl leaves that out.
    private var asksToContinue: Bool { request.expectsContinue && request.sendsBody && answerVersion == .http1 }

    /// How a body ends that says nothing of its length. Beyond HTTP the transport is told when all was sent.
    private var endless: BodyFraming { request.url.isHTTP ? .untilClose : .chunked(announced: nil) }

    /// A refused redirect fails the attempt or, where the policy accepts it, is the result as it stands.
    private func refuse(
        _ target: String, _ refusal: TransferError, status: Int, headers: HeaderBlock, _ framing: BodyFraming
    ) -> HeadDecision {
        let accepts = rules.redirects.onRefuse == .accept && refusal.name != .httpTooManyRedirects
        let record = RedirectRecord(
            status: status, from: request.url.text, to: target, method: request.method,
            action: accepts ? .accepted : .refused, stripped: [])
        if accepts { return judge(status: status, headers: headers, framing, record) }
        answer = .failure(refusal, record)
        return .discard
    }

    private func follow(
        _ target: ResourceURL, method: String, keepsBody: Bool, status: Int
    ) -> HeadDecision {
        let hop = builder.hop(
            from: request, to: target, method: method, keepsBody: keepsBody, asking: uploadQuestion)
        let record = RedirectRecord(
            status: status, from: request.url.text, to: target.text, method: method, action: .followed,
            stripped: hop.stripped)
        answer = .redirect(hop, record)
        return .discard
    }

    /// What an answer to a request for the rest means; `nil` when it is judged like any other.
    private func judgeRange(status: Int, headers: HeaderBlock, _ framing: inout BodyFraming) -> HeadDecision? {
        guard let point = resume, setAside == nil, continues(point), !isBare else {
            return judgeWhole(status: status, headers)
        }
        switch Resuming.judge(point, status: status, headers, isProven: rules.hasChecksum) {
        case nil:
            guard Resuming.mayRefuseRange(status: status, headers),
                status == 204 || rules.missedStatus(status, isAccepted: false) != nil
            else { return nil }
            setAside = "the server answered \(status) to the request for the rest"
            removeRange()
            answer = .rangeOfNoUse
            return .discard
        case .append(let length):
            guard let held = framing.holding(length) else {
                dropResume("the server announced another length than that of the \(length) bytes that were missing")
                answer = .rangeOfNoUse
                return .discard
            }
            (offset, framing) = (point.offset, held)
            fileHeaders = Resuming.headers(point.headers, completedBy: headers)
            return nil
        case .whole(let why, let length):
            dropResume(why)
            // It may say nothing of its length this time, and be cut.
            if let length, let held = framing.holding(length) { framing = held }
            return nil
        case .askAgain(let why):
            dropResume(why)
            answer = .rangeOfNoUse
            return .discard
        }
    }

    private var whyWhole: String {
        isBare
            ? "what is there was sent to somebody else: the request says another user, or another header that the "
                + "answer depends on"
            : "the file is at another place now: \(request.url.text)"
    }

    /// The same where no range was asked for, unless by the job itself.
    private func judgeWhole(status: Int, _ headers: HeaderBlock) -> HeadDecision? {
        if resume != nil, status == 200 {
            dropResume(setAside ?? whyWhole)
        }
        guard rules.expect.status == .success, !asksForPart else { return nil }
        if status == 200, rules.type == .download, let why = Resuming.partialWhole(headers) {
            answer = .failure(TransferError(.badServerResponse, why), nil)
            return .abort
        }
        guard status == 206 else { return nil }
        answer = .failure(
            TransferError(.badServerResponse, "the server sent a part of the file, asked for was all of it"), nil)
        return .abort
    }

    /// The job itself asks for a range: that is its own affair.
    package var asksForPart: Bool { rules.headers.contains { $0.isNamed("range") } }

    private func dropResume(_ why: String) {
        resume = nil
        offset = 0
        startedOver = why
        removeRange()
    }

    private func removeRange() { request.headers.removeAll { $0.name == "Range" || $0.name == "If-Range" } }

    /// `accepted` is there when a redirect that was refused is the result.
    private func judge(
        status: Int, headers: HeaderBlock, _ framing: BodyFraming, _ accepted: RedirectRecord?
    ) -> HeadDecision {
        if let decision = obeyRules(status: status, headers, framing) { return decision }
        let unknownCoding = readCodings(headers, framing)
        // A part that was asked for to complete what is there stands for the whole.
        let isAccepted = accepted != nil
        if let miss = rules.missedStatus(
            offset > 0 ? 200 : status, isAccepted: isAccepted, asker: asker(status), to: request)
        {
            missesWhatIsNamed = rules.expect.status != .success
            return decline(rules.withAllMisses(miss, headers), accepted)
        }
        if let miss = missedContent(status: status, headers) { return decline(miss, accepted) }
        if saysUnchanged(status) {
            answer = .notModified
            return .discard
        }
        if case .length(let length) = framing,
            let error = misfit(offset + length, verb: "the server announced") ?? unreadable(offset + length)
        {
            if offset > 0 { return declinePart(error) }
            answer = .failure(error, accepted)
            return .abort
        }
        let said = fileHeaders ?? headers
        if let miss = rules.missedHead(said) {
            if offset > 0 { return declinePart(miss) }
            missesWhatIsNamed = true
            return decline(miss, accepted)
        }
        if let unknownCoding {
            answer = .failure(unknownCoding, accepted)
            return .abort
        }
        // What is continued was hashed as its first answer said.
        if type == .download, framing != .none, offset == 0 {
            // A part that the job itself asks for is all of its file.
            sentDigest =
                status == 206
                ? SentDigests.ofPart(headers)
                : SentDigests.strongest(headers, status: status)
                    ?? builder.storeDigest(request, status: status, headers)
        }
        takenSum = sumsBody(request) ? builder.storeDigest(request, status: status, headers)?.checksum : nil
        let provesNothing = answerVersion == .http2 && framing == .untilClose && !provesByDigest
        // Once alone is enough: a transport that speaks HTTP/2 all the same is not asked for ever.
        if provesNothing, request.mayUseHTTP2, HTTPMethod.isSafe(request.method) {
            answer = .unprovenStream
            return .abort
        }
        if resume != nil, offset == 0 { dropResume(setAside ?? "the server answered \(status)") }
        answer = .result(framing, accepted)
        if offset == 0 { start = BodyStart(rules.expect) }
        return .keep
    }

    /// Gives back why the body cannot be unpacked, if so.
    private func readCodings(_ headers: HeaderBlock, _ framing: BodyFraming) -> TransferError? {
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

    /// An answer that is not the one expected. Its body says why, and is told in the report; it never becomes a file.
    private func decline(_ miss: TransferError, _ accepted: RedirectRecord?) -> HeadDecision {
        answer = .failure(miss, accepted)
        (target, isDeclined) = (nil, true)
        return .keep
    }

    /// The rest fits and is not as expected. All of the file may be: with the same part, it would be the same each time.
    private func declinePart(_ miss: TransferError) -> HeadDecision {
        dropResume("the rest is not as expected: \(miss.message)")
        answer = .rangeOfNoUse
        return .discard
    }

    /// Whether `began` wants to see the next bytes of the body.
    package var watchesBody: Bool { start?.isSettled == false }

    /// The beginning of the result's body, as it comes. `false`: it is not the one wanted, and `ended` says why.
    package func began(_ bytes: some Sequence<UInt8>) -> Bool {
        guard case .result(_, let accepted) = answer else { return true }
        do throws(TransferError) {
            try start?.take(bytes)
            return true
        } catch {
            answer = .failure(error, accepted)
            return false
        }
    }

    /// Why a body of which so many bytes come in is not the one wanted. What they unpack to is known only to who does
    /// that.
    private func misfit(_ length: Int64, verb: String) -> TransferError? {
        if let most = receivableSize, length > most { return SizeBounds.tooLong(maximumSize ?? most) }
        return codings.isEmpty ? sizes.misfit(length, verb: verb) : nil
    }

    /// The transport is done with the request. An answer whose meaning its headers settled keeps that meaning
    /// whatever became of its body.
    package func ended(_ end: TransportEnd) -> NextStep {
        if let query = postpone(end) { return .ask(query) }
        defer { answer = .none }
        switch answer {
        case .none:
            // Over HTTP/1.1 what a server answers early is heard.
            if end.lostAnswer, request.mayUseHTTP2, request.sendsBody, HTTPMethod.isIdempotent(request.method) {
                request.mayUseHTTP2 = false
                return sendWholeAgain()
            }
            if let upload = uploadWithoutAnswer(end) { return upload }
            countUnanswered(end)
            return .fail(end.error ?? TransferError(.badServerResponse, "the server sent no answer"), nil)
        case .redirect(let hop, let record):
            if !hop.keepsBody, let error = unsentBody(end, answeredElsewhere: true) {
                return .fail(error, record.refused)
            }
            return take(hop, record)
        case .notModified: return .keep
        case .conditionOfNoUse: return .send(askForAll(), nil)
        case .conditionUnproven: return .send(askForLength(), nil)
        case .unprovenStream:
            request.mayUseHTTP2 = false
            return .send(request, nil)
        case .expectationRefused:
            request.expectsContinue = false
            return sendWholeAgain()
        case .rangeOfNoUse, .challenged:
            return .send(request, nil)
        case .upload(let step): return proceed(with: step)
        case .uploadIsNeeded: return .send(uploadAfterQuestion(), nil)
        case .uploadIsThere: return .isThere
        case .judged(let verdict):
            endQuestion()
            return .judged(verdict)
        case .cancelled(let error), .ruledOut(let error): return .cancel(error)
        case .failure(let error, let record):
            return .fail(error, record)
        case .result(let framing, let record):
            if offset > 0, end.received == 0 { countUnanswered(end) }
            return accept(framing, end, record)
        }
    }

    /// The same body, to whoever has none of it: what was said of a place for it meant the first.
    private func sendWholeAgain() -> NextStep {
        beginUploadAgain()
        return .send(request, nil)
    }

    private func take(_ hop: RequestBuilder.Hop, _ record: RedirectRecord) -> NextStep {
        builder.take(hop, from: request)
        request = hop.request
        addRange()
        addCondition()
        builder.addUpload(to: &request)
        if let barred = builder.barredSecret(in: request) { return .fail(barred, record.refused) }
        return .send(request, record)
    }

    /// Returns why the redirect that leads to `target` must not be followed: its URL holds a secret that must not go there.
    package static func refusal(ofRedirectTo target: ResourceURL, _ secrets: BoundSecrets) -> TransferError? {
        RequestBuilder.barredSecret(inRedirectTo: target, secrets)
    }

    private func accept(_ framing: BodyFraming, _ end: TransportEnd, _ record: RedirectRecord?) -> NextStep {
        if let error = end.error { return .fail(error, record) }
        // First: a body that was left because it is too long was not cut by the server.
        if let most = receivableSize, offset + end.received > most {
            return .fail(SizeBounds.tooLong(maximumSize ?? most), record)
        }
        if let error = unsentBody(end) { return .fail(error, record) }
        let bodyEnd = BodyEnd(
            received: end.received, version: answerVersion, isSecure: request.url.isSecure,
            sawCloseNotify: end.sawCloseNotify)
        endIsUnproven = false
        switch Completeness.judge(framing, bodyEnd) {
        case .cut(let error): return .fail(error, record)
        case .whole: return checkSize(end, unverified: false, record)
        case .unverified, .unprovenStream:
            endIsUnproven = true
            if rules.requireLength, !provesByDigest {
                return .fail(
                    TransferError(.lengthUnproven, "nothing the server sent proves where the body ends"), record)
            }
            return checkSize(end, unverified: !provesByDigest, record)
        }
    }

    private func checkSize(_ end: TransportEnd, unverified: Bool, _ record: RedirectRecord?) -> NextStep {
        if request.method != "HEAD", let error = misfit(offset + end.received, verb: "the body has") {
            return .fail(error, record)
        }
        do throws(TransferError) {
            try start?.end()
        } catch {
            return .fail(error, record)
        }
        if let sentSum, let takenSum, sentSum != takenSum {
            return .fail(
                TransferError(
                    .checksumMismatch, "the store's `ETag` says it took \(takenSum), what was sent is \(sentSum)"),
                record)
        }
        return .deliver(lengthUnverified: unverified, record)
    }
}
