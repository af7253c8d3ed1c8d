package import HTTPRules
package import TransferModel

/// The state machine of one attempt, request by request: what to send next, what a response means, what to keep. No
/// I/O, no clock.
///
/// `AttemptLife` owns the present request and its state. What requests say is computed by `RequestBuilder`, the rest of
/// a half-done file is negotiated by `ResumeNegotiation`, a response is judged by `Response`, and credentials are
/// exchanged by `LoginExchange`. Inputs are `head`, `interim`, `began`, `ended`, `proxyAsked` and `found`.
///
/// A class that is not shared: its owner calls it twenty times for each small file, and would copy it each time if it
/// were a value.
package final class AttemptLife {
    let rules: AttemptRules
    /// Computes what the requests say, and keeps what that depends on.
    var builder: RequestBuilder
    /// The present request: about to be sent, under way, or the last one.
    package internal(set) var request: OutgoingRequest
    /// How far the present request is.
    var state = State.requesting
    /// The last response, until the next one comes.
    package internal(set) var response: Response
    /// What is negotiated about bytes that an earlier attempt left.
    var resumption: ResumeNegotiation
    /// The HEAD that is asked before the task's own request; the present request is that HEAD.
    var question = Question.none
    /// Whether the server broke the connection off at the HEAD, or did not answer it.
    private(set) var questionIsUnanswered = false
    /// The exchange of challenges and credentials; nothing for most attempts.
    var login = Login.none
    /// Whether a server answered `Expect` with 417: this attempt sends its body without asking.
    var expectationIsRefused = false
    /// The session's `tracing`; `nil` for most sessions.
    package var tracing: TracePropagation?
    /// The proxy that the request goes through.
    package var proxy: Origin?
    /// MD5 of the last request's body, where an object store may repeat it in its answer.
    package var sentSum: Checksum?
    /// The earlier answer that the result must match (`--locked`, a saved plan); `nil` in most runs.
    package var held: HeldTask?

    /// The path that the answer to an upload is saved at; `nil` where it goes into the report.
    private let answerPath: String?

    /// `home`: the task's own URL, where the attempt begins at another one. `answerPath`: where the answer to an upload
    /// is saved.
    package init(
        _ url: ResourceURL, _ rules: AttemptRules, resume: ResumePoint? = nil, home: ResourceURL? = nil,
        savingAnswerAt answerPath: String? = nil
    ) {
        self.answerPath = answerPath
        self.rules = rules
        builder = RequestBuilder(url, rules, home: home)
        request = builder.firstRequest()
        response = Response(rules)
        resumption = ResumeNegotiation(resume, isProven: rules.hasChecksum)
        resumption.addRange(to: &request)
    }

    /// Notes that a server outside named the URL that the attempt begins at. Call before anything is sent.
    package func isLedFromPublic() {
        guard !rules.redirects.toPrivate else { return }
        builder.ledFromPublic.begin = true
        request.isLedFromPublic = true
    }

    /// Whether a server outside led to `target`, so that its request must not connect to an address inside. A cached
    /// answer may have come from anywhere, and leads to its own host alone.
    package func leads(to target: ResourceURL, from source: AnswerSource) -> Bool {
        if rules.redirects.toPrivate { return false }
        if request.isLedFromPublic { return true }
        return switch source {
        case .inside: false
        case .outside: true
        case .unknown: target.host != request.url.host
        }
    }

    /// Returns why the first request must not be sent: it holds a secret that must not go there.
    package func refusalToBegin() -> TransferError? { builder.barredSecret(in: request) }

    /// Whether the last response, as far as its headers were read, is the attempt's result and not a step on the way.
    package var isFinalAnswer: Bool { if case .answered(let meaning) = state { meaning.isFinal } else { false } }

    // MARK: The last response

    /// The status of the last response; what a verdict tells the scheduler.
    package var lastStatus: Int? { response.status }
    /// How the last response's body is packed, if it is to be unpacked: in the order in which the codings were applied.
    package var codings: [ContentCoding] { response.codings }
    /// The strongest digest that the last response brings of a download's body.
    package var sentDigest: SentDigest? { response.sentDigest }
    /// The path that a rule of `onResponse` sends the last response's body to.
    package var target: String? { response.target }
    /// Whether the headers of the last response are not as expected: its body does not become a file.
    package var isDeclined: Bool { response.isDeclined }
    /// Whether the last response missed something that the job names: a status, a type or headers.
    package var missesWhatIsNamed: Bool { response.missesWhatIsNamed }
    /// The offset in the file of the last response's first byte: past 0 when it continues a part.
    package var offset: Int64 { response.offset }
    /// Headers of the whole file that the last response completes; `nil` for a response that is whole itself.
    package var fileHeaders: HeaderBlock? { response.fileHeaders }
    /// Whether only a digest can say that the last response's body is whole.
    package var endIsUnproven: Bool { response.endIsUnproven }
    /// The most bytes the result may have.
    package var maximumSize: Int64? { response.maximumSize }
    /// The most bytes the attempt may receive as its result.
    package var receivableSize: Int64? { response.receivableSize }
    /// The task's type, or a download if a rule makes one of it.
    package var type: TaskType { response.type }
    /// Bounds of the body that is written or reported.
    package var sizes: SizeBounds { response.sizes }
    /// Whether `began` wants to see the next bytes of the body.
    package var watchesBody: Bool { response.watchesBody }

    /// The length of the whole result that the last response announced.
    package var announcedLength: Int64? {
        guard case .result(let framing, _)? = state.meaning else { return nil }
        return framing.length.map { offset + $0 }
    }

    /// Whether the last response, if it is the result, has a body.
    package var hasBody: Bool { if case .result(.none, _)? = state.meaning { false } else { true } }

    /// Returns the error with which a rule of `onResponse` ends a task whose source needs no connection (`file:`,
    /// `data:`): its type and length are known, and it has no status.
    package func obeyRules(_ headers: HeaderBlock, length: Int64?) -> TransferError? {
        response.obeyRules(headers, length: length)
    }

    // MARK: The existing file

    /// Sends the condition with each request to its URL. Call before the first request.
    package func ask(under condition: RequestCondition) {
        builder.condition = condition
        addCondition()
    }

    /// Returns the same request for all of the file, because the existing file changed since the request was sent.
    package func askForAll() -> OutgoingRequest {
        builder.removeCondition(from: &request)
        if case .length = question {
            request.method = rules.method
            question = .none
        }
        builder.condition = nil
        return request
    }

    private func askForLength() -> OutgoingRequest {
        builder.removeCondition(from: &request)
        question = .length
        request.method = "HEAD"
        return request
    }

    func addCondition() { builder.addCondition(to: &request, isResumed: resume != nil) }

    // MARK: Bytes that an earlier attempt left

    /// The bytes that an earlier attempt left, as long as they may be continued; `nil` for none.
    package var resume: ResumePoint? { resumption.point }
    /// Why the bytes of the earlier attempt could not be continued.
    package var startedOver: String? { resumption.startedOver }

    /// Resumes from a partial file: adds `Range` and `If-Range` to the present request. Call before it is sent.
    package func resume(from point: ResumePoint) {
        resumption.resume(from: point)
        resumption.addRange(to: &request)
    }

    /// Asks for the file past all caches on the way, and reports why. Call before the first request.
    package func passCaches(because why: String) {
        builder.passCaches(from: &request)
        resumption.noteStartedOver(why)
    }

    /// Notes for the report why bytes that an earlier attempt brought are fetched again.
    package func noteStartedOver(_ why: String) { resumption.noteStartedOver(why) }

    /// Gives the partial file up: the next request asks for all of the file.
    package func startOver(_ why: String) {
        resumption.drop(why, from: &request)
        response.partIsDropped()
    }

    /// Whether the partial file may stay: nothing in the last response spoke against it.
    package var keepsPart: Bool { resume != nil && offset == 0 && lastStatus.map { Resuming.outlives($0) } ?? true }

    /// Whether the job itself asks for a range: what comes is then judged as all of the file.
    package var asksForPart: Bool { rules.asksForPart }

    /// Returns a mark of the last request, kept beside its response to recognise the same user later; `key` is new each
    /// time.
    package func asked(_ headers: HeaderBlock, key: @autoclosure () -> UInt64) -> String? {
        resumption.mark.text(answer: headers, key: key())
    }

    private func countUnanswered(_ end: TransportEnd) {
        if question.isOfDownload, end.mayBeTheRange { questionIsUnanswered = true }
        resumption.countUnanswered(end, at: request.url)
    }

    // MARK: A response comes

    /// Takes the final headers of a response.
    ///
    /// - Parameter heldLength: the length of a body that is all there already, out of a cache: then the headers need not say
    ///   where it ends, and what its server had to say of itself was learned when it came.
    /// - Parameter source: where the answer came from; asked for only where the answer leads somewhere.
    package func head(
        status: Int, version: HTTPProtocol, headers: HeaderBlock, heldLength: Int64? = nil,
        sessionState: inout SessionState, at now: WallTime, from source: @autoclosure () -> AnswerSource = .unknown
    ) -> HeadDecision {
        if heldLength == nil { learn(headers, sessionState: &sessionState, at: now) }
        response = Response(rules, status: status, version: version, savingAt: answerPath)
        var query: CredentialQuery?
        let verdict = judge(status: status, headers, heldLength: heldLength, &sessionState, at: now, &query, source)
        state =
            query.map { .awaitingCredential($0, meaning: verdict.meaning, end: nil) } ?? .answered(verdict.meaning)
        return verdict.body
    }

    /// Judges the response. If a credential must be looked up before, that is put into `query`.
    private func judge(
        status: Int, _ headers: HeaderBlock, heldLength: Int64?, _ sessionState: inout SessionState, at now: WallTime,
        _ query: inout CredentialQuery?, _ source: () -> AnswerSource
    ) -> HeadVerdict {
        let framing: BodyFraming
        do throws(TransferError) {
            framing = try response.framing(of: request, headers, heldLength: heldLength)
        } catch {
            return .abort(.failure(error, nil))
        }
        if status == 304, request.isConditional, !resumption.conditionsRemoved {
            if let moved = held?.objection(to: headers, from: request.url, size: nil) {
                return .abort(.failure(moved, nil))
            }
            return .discard(meaningOf304(headers))
        }
        if response.refusesExpectation(of: request) {
            beginUploadAgain()
            // libcurl would repeat the request by itself, and not report that.
            return .abort(.expectationRefused)
        }
        switch handleChallenge(status: status, headers, &sessionState) {
        case .settled(let verdict):
            beginUploadAgain()
            return verdict
        case .lookUp(let asked): query = asked
        case .none: break
        }
        if let verdict = handleUploadAnswer(status: status, headers, from: source) { return verdict }
        let decision = Redirects.decide(
            status: status, location: headers.firstReference("location"), method: request.method, from: request.url,
            hops: builder.hops, policy: rules.redirects, rewrites: rules.rewrites,
            secured: { sessionState.secured($0, at: now) },
            isFromOutside: request.isLedFromPublic || source() == .outside)
        switch decision {
        case .follow(let target, let method, let keepsBody):
            let isLed = leads(to: target, from: source())
            return .discard(redirect(to: target, method: method, keepsBody: keepsBody, status: status, isLed: isLed))
        case .refuse(let target, let refusal):
            if case .part(let part) = question { return .discard(judgeForeignPart(part, status: status, headers)) }
            return judgeRefused(target, refusal, status: status, headers, framing)
        case .final: return judgeFinal(status: status, headers, framing)
        }
    }

    private func meaningOf304(_ headers: HeaderBlock) -> ResponseMeaning {
        switch builder.condition?.word(of: headers) {
        case .same, nil: .notModified
        case .other: .conditionIsUnusable
        case .unproven: .conditionIsUnproven
        }
    }

    private func redirect(
        to target: ResourceURL, method: String, keepsBody: Bool, status: Int, isLed: Bool
    ) -> ResponseMeaning {
        var hop = builder.hop(
            from: request, to: target, method: method, keepsBody: keepsBody, asking: uploadQuestion)
        hop.request.isLedFromPublic = isLed
        let record = RedirectRecord(
            status: status, from: request.url.text, to: target.text, method: method, action: .followed,
            stripped: hop.stripped)
        return .redirect(hop, record)
    }

    /// A refused redirect fails the attempt or, where the policy accepts it, is the result as it stands.
    private func judgeRefused(
        _ target: String, _ refusal: TransferError, status: Int, _ headers: HeaderBlock, _ framing: BodyFraming
    ) -> HeadVerdict {
        let accepts = rules.redirects.onRefuse == .accept && refusal.name != .httpTooManyRedirects
        let record = RedirectRecord(
            status: status, from: request.url.text, to: target, method: request.method,
            action: accepts ? .accepted : .refused, stripped: [])
        return accepts
            ? judgeResult(status: status, headers, framing, accepting: record) : .discard(.failure(refusal, record))
    }

    private func judgeFinal(status: Int, _ headers: HeaderBlock, _ framing: BodyFraming) -> HeadVerdict {
        switch question {
        case .none: break
        case .upload(let question): return .discard(judgeNeed(question, status, headers))
        case .length:
            let isSame = builder.condition?.isMet(byHead: status, headers) == true
            return .discard(isSame ? .notModified : .conditionIsUnusable)
        case .part(let part): return .discard(judgeForeignPart(part, status: status, headers))
        }
        switch resumption.judge(&request, status: status, headers, framing, rules) {
        case .whole(let framing): return judgeResult(status: status, headers, framing, accepting: nil)
        case .rest(let framing, let offset, let fileHeaders):
            response.continues(at: offset, fileHeaders)
            return judgeResult(status: status, headers, framing, accepting: nil)
        case .askAgain: return .discard(.rangeIsUnusable)
        case .failed(let error): return .abort(.failure(error, nil))
        }
    }

    /// Judges a response that is the result, or would be. `redirect` is there when a refused redirect is accepted.
    private func judgeResult(
        status: Int, _ headers: HeaderBlock, _ framing: BodyFraming, accepting redirect: RedirectRecord?
    ) -> HeadVerdict {
        var circumstances = Response.Circumstances()
        circumstances.acceptsRedirect = redirect != nil
        circumstances.asker = asker(status)
        circumstances.storeDigest = builder.storeDigest(request, status: status, headers)
        circumstances.sumsBody = builder.sumsBody(request)
        switch response.judge(headers, framing, of: request, circumstances) {
        case .result(let framing):
            let size = headers.has("content-encoding") ? nil : framing.length.map { offset + $0 }
            if let moved = held?.objection(to: headers, from: request.url, size: size) {
                return .abort(.failure(moved, redirect))
            }
            if offset == 0 { resumption.dropForWhole(status: status, from: &request) }
            return .keep(.result(framing, redirect))
        case .declined(let miss): return .keep(.failure(miss, redirect))
        case .failed(let error): return .abort(.failure(error, redirect))
        case .ruledOut(let error): return .abort(.ruledOut(error))
        case .restIsUnusable(let why):
            // A request for the rest of the same part would end the same each time.
            startOver("the rest is not as expected: \(why)")
            return .discard(.rangeIsUnusable)
        case .notModified: return .discard(.notModified)
        case .unprovenStream: return .abort(.unprovenStream)
        }
    }

    /// Takes the beginning of the result's body as it comes. Returns `false` if it is not the one wanted: then the
    /// transfer is to end, and `ended` says why.
    package func began(_ bytes: some Sequence<UInt8>) -> Bool {
        guard case .result(_, let redirect)? = state.meaning else { return true }
        do throws(TransferError) {
            try response.began(bytes)
            return true
        } catch {
            state.replaceMeaning(.failure(error, redirect))
            return false
        }
    }

    /// Returns the error that ends the body because of its `framing` bytes, beside `received` bytes of its own; `nil`
    /// if it is read on.
    package func refusal(framing: Int64, beside received: Int64) -> TransferError? {
        response.refusal(framing: framing, beside: received)
    }

    // MARK: The transfer ends

    /// Takes the end of the request's transfer. A response whose meaning its headers settled keeps that meaning
    /// however its body ended.
    package func ended(_ end: TransportEnd) -> NextStep {
        if case .awaitingCredential(let query, let meaning, _) = state {
            state = .awaitingCredential(query, meaning: meaning, end: end)
            return .ask(query)
        }
        let meaning = state.meaning
        state = .requesting
        guard let meaning else { return endedWithoutAnswer(end) }
        switch meaning {
        case .redirect(let hop, let record):
            if !hop.keepsBody, let error = response.unsentBody(of: request, end, answeredElsewhere: true) {
                return .fail(error, record.refused)
            }
            return follow(hop, record)
        case .notModified: return .keep
        case .conditionIsUnusable: return .send(askForAll(), nil)
        case .conditionIsUnproven: return .send(askForLength(), nil)
        case .unprovenStream:
            request.mayUseHTTP2 = false
            return .send(request, nil)
        case .expectationRefused:
            (request.expectsContinue, expectationIsRefused) = (false, true)
            return sendWholeAgain()
        case .rangeIsUnusable, .challengeAnswered: return .send(request, nil)
        case .upload(let step): return proceed(with: step)
        case .uploadIsNeeded: return .send(uploadAfterQuestion(), nil)
        case .uploadIsThere: return .isThere
        case .partJudged(let verdict):
            endQuestion()
            return .judged(verdict)
        case .cancelled(let error), .ruledOut(let error): return .cancel(error)
        case .failure(let error, let record): return .fail(error, record)
        case .result(let framing, let record): return judgeEnd(framing, end, record)
        }
    }

    private func endedWithoutAnswer(_ end: TransportEnd) -> NextStep {
        // Over HTTP/1.1 the answer that a server sends before it has read the body is not lost.
        if end.lostAnswer, request.mayUseHTTP2, request.sendsBody, HTTPMethod.isIdempotent(request.method) {
            request.mayUseHTTP2 = false
            return sendWholeAgain()
        }
        if let upload = uploadWithoutAnswer(end) { return upload }
        countUnanswered(end)
        return .fail(end.error ?? TransferError(.badServerResponse, "the server sent no answer"), nil)
    }

    private func judgeEnd(_ framing: BodyFraming, _ end: TransportEnd, _ record: RedirectRecord?) -> NextStep {
        if offset > 0, end.received == 0 { countUnanswered(end) }
        do throws(TransferError) {
            let isUnverified = try response.judgeEnd(framing, end, of: request, sentSum: sentSum)
            return .deliver(lengthUnverified: isUnverified, record)
        } catch {
            return .fail(error, record)
        }
    }

    /// Sends the whole body again with the task's own request: the server has nothing of it, and the URL that it named
    /// was meant for the upload that is given up.
    private func sendWholeAgain() -> NextStep {
        beginUploadAgain()
        return .send(request, nil)
    }

    private func follow(_ hop: RequestBuilder.Hop, _ record: RedirectRecord) -> NextStep {
        builder.followed(hop, from: request)
        request = hop.request
        resumption.addRange(to: &request)
        addCondition()
        builder.addUpload(to: &request)
        if let barred = builder.barredSecret(in: request) { return .fail(barred, record.refused) }
        return .send(request, record)
    }

    /// Returns why the redirect that leads to `target` must not be followed: its URL holds a secret that must not go
    /// there.
    package static func refusal(ofRedirectTo target: ResourceURL, _ secrets: BoundSecrets) -> TransferError? {
        RequestBuilder.barredSecret(inRedirectTo: target, secrets)
    }
}
