import HTTPRules
package import TransferModel

/// The life of one attempt, hop by hop: what to send next, what an answer means, what to keep. No I/O, no clock.
package struct AttemptLife: Sendable {
    /// What the headers said and what they lead to.
    private enum Answer: Sendable {
        case none
        case redirect(ResourceURL, method: String, keepsBody: Bool, RedirectRecord)
        case result(BodyFraming, RedirectRecord?)
        /// The same request again, alone on a connection: this stream's end would prove nothing.
        case unprovenStream
        case failure(TransferError, RedirectRecord?)
    }

    private let rules: AttemptRules
    /// The URL the task names, where it began.
    private let begin: ResourceURL
    package private(set) var request: OutgoingRequest
    /// Of the last answer; what a verdict tells the scheduler.
    package private(set) var lastStatus: Int?
    private var answer = Answer.none
    private var answerVersion = HTTPProtocol.http1
    private var hops = 0
    /// What the last answer's body must begin with, as far as it was not seen yet.
    private var start: BodyStart?
    /// The strongest digest that the last answer brought of a download's body. It proves the body's end too.
    package private(set) var sentDigest: SentDigest?
    /// A redirect took the body off, and with it the headers that described it.
    private var hasLostBody = false

    package init(_ url: ResourceURL, _ rules: AttemptRules) {
        self.rules = rules
        begin = url
        // Uploads ride on HTTP/1.1 unless HTTP/2 was asked for: this libcurl's HTTP/2 uploads stall and lose their end.
        // So does what must not be sent twice: the answer of a shared stream may have to be fetched again.
        let mayUseHTTP2 =
            rules.version == .http2
            || (rules.version == .auto && !rules.hasBody && HTTPMethod.isSafe(rules.method))
        request = OutgoingRequest(
            url: url, method: rules.method, headers: rules.headers, sendsBody: rules.hasBody, mayUseHTTP2: mayUseHTTP2)
    }

    /// A secret that must not go where the first request goes, before anything is sent.
    package func refusalToBegin() -> TransferError? { barredSecret(request) }

    /// Whether the last answer, as far as its headers were read, is the attempt's result and not a step on the way.
    package var isFinalAnswer: Bool {
        switch answer {
        case .none, .redirect, .unprovenStream: false
        case .result, .failure: true
        }
    }

    /// The most bytes the attempt may receive as its result.
    package var maximumSize: Int64? { rules.maximumSize }
    package var type: TaskType { rules.type }

    /// The length the last answer announced.
    package var announcedLength: Int64? {
        switch answer {
        case .result(.length(let length), _): length
        default: nil
        }
    }

    // MARK: What happens

    /// The final headers of an answer were read.
    package mutating func head(status: Int, version: HTTPProtocol, headers: HeaderBlock) -> HeadDecision {
        lastStatus = status
        (start, sentDigest) = (nil, nil)
        answerVersion = version
        let framing: BodyFraming
        do throws(TransferError) {
            framing = try BodyFraming.of(headers, status: status, method: request.method, version: version)
        } catch {
            answer = .failure(error, nil)
            return .abort
        }
        let decision = Redirects.decide(
            status: status, location: headers.first("location"), method: request.method, from: request.url, hops: hops,
            policy: rules.redirects)
        switch decision {
        case .follow(let target, let method, let keepsBody):
            return follow(target, method: method, keepsBody: keepsBody, status: status)
        case .refuse(let target, let refusal):
            return refuse(target, refusal, status: status, headers: headers, framing)
        case .final:
            return judge(status: status, headers: headers, framing, nil)
        }
    }

    /// A refused redirect fails the attempt or, where the policy accepts it, is the result as it stands.
    private mutating func refuse(
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

    private mutating func follow(
        _ target: ResourceURL, method: String, keepsBody: Bool, status: Int
    ) -> HeadDecision {
        let stripped = request.headers.filter { !keeps($0, target) }.map(\.name)
        let record = RedirectRecord(
            status: status, from: request.url.text, to: target.text, method: method, action: .followed,
            stripped: stripped)
        answer = .redirect(target, method: method, keepsBody: keepsBody, record)
        return .discard
    }

    private func keeps(_ header: HeaderField, _ target: ResourceURL) -> Bool {
        let isNamed = begin.hasSameOrigin(as: target) || rules.mirrors.contains { $0.hasSameOrigin(as: target) }
        return isNamed || Redirects.crossesOrigins(header)
    }

    /// `accepted` is there when a redirect that was refused is the result.
    private mutating func judge(
        status: Int, headers: HeaderBlock, _ framing: BodyFraming, _ accepted: RedirectRecord?
    ) -> HeadDecision {
        if let miss = rules.missedStatus(status, isAccepted: accepted != nil) {
            return decline(miss, accepted)
        }
        if case .length(let length) = framing, let error = rules.misfit(length, verb: "the server announced") {
            answer = .failure(error, accepted)
            return .abort
        }
        if let miss = rules.missedType(headers) ?? rules.headerExpectations.miss(in: headers) {
            return decline(miss, accepted)
        }
        if rules.type == .download, framing != .none {
            sentDigest = SentDigests.strongest(headers, status: status)
        }
        let provesNothing = answerVersion == .http2 && framing == .untilClose && !provesByDigest
        // Once alone is enough: a transport that speaks HTTP/2 all the same is not asked for ever.
        if provesNothing, request.mayUseHTTP2, HTTPMethod.isSafe(request.method) {
            answer = .unprovenStream
            return .abort
        }
        answer = .result(framing, accepted)
        start = BodyStart(rules.expect)
        return .keep
    }

    private var provesByDigest: Bool { rules.hasChecksum || sentDigest != nil }

    /// An answer that is not the one expected. Its body may be worth telling in the report, but never becomes a file.
    private mutating func decline(_ miss: TransferError, _ accepted: RedirectRecord?) -> HeadDecision {
        answer = .failure(miss, accepted)
        return rules.type == .download ? .discard : .keep
    }

    /// Whether `began` wants to see the next bytes of the body.
    package var watchesBody: Bool { start?.isSettled == false }

    /// The beginning of the result's body, as it comes. `false`: it is not the one wanted, and `ended` says why.
    package mutating func began(_ bytes: some Sequence<UInt8>) -> Bool {
        guard case .result(_, let accepted) = answer else { return true }
        do throws(TransferError) {
            try start?.take(bytes)
            return true
        } catch {
            answer = .failure(error, accepted)
            return false
        }
    }

    /// The transport is done with the request. An answer whose meaning its headers settled keeps that meaning
    /// whatever became of its body.
    package mutating func ended(_ end: TransportEnd) -> NextStep {
        defer { answer = .none }
        switch answer {
        case .none:
            return .fail(end.error ?? TransferError(.badServerResponse, "the server sent no answer"), nil)
        case .redirect(let target, let method, let keepsBody, let record):
            return proceed(to: target, method: method, keepsBody: keepsBody, record)
        case .unprovenStream:
            request.mayUseHTTP2 = false
            return .send(request, nil)
        case .failure(let error, let record):
            return .fail(error, record)
        case .result(let framing, let record):
            return accept(framing, end, record)
        }
    }

    private mutating func proceed(
        to target: ResourceURL, method: String, keepsBody: Bool, _ record: RedirectRecord
    ) -> NextStep {
        hops += 1
        if request.sendsBody, !keepsBody {
            request.sendsBody = false
            hasLostBody = true
        }
        request.url = target
        request.method = method
        // From what was typed, not from what the last hop kept: a way that comes back to an origin the task names
        // brings its headers back.
        request.headers = rules.headers.filter { header in
            keeps(header, target) && !(hasLostBody && header.name.lowercased().hasPrefix("content-"))
        }
        if let barred = barredSecret(request) { return .fail(barred, record) }
        return .send(request, record)
    }

    private func barredSecret(_ request: OutgoingRequest) -> TransferError? {
        for header in request.headers {
            if let name = header.value.secretBarred(from: request.url.origin) {
                return TransferError(
                    .secretBarred, "the secret `\(name)` in `\(header.name)` must not go to \(request.url.host)")
            }
        }
        guard request.sendsBody else { return nil }
        for text in rules.bodyTexts {
            if let name = text.secretBarred(from: request.url.origin) {
                return TransferError(
                    .secretBarred, "the secret `\(name)` in the body must not go to \(request.url.host)")
            }
        }
        return nil
    }

    private mutating func accept(_ framing: BodyFraming, _ end: TransportEnd, _ record: RedirectRecord?) -> NextStep {
        if let error = end.error { return .fail(error, record) }
        // First: a body that was left because it is too long was not cut by the server.
        if let maximum = rules.maximumSize, end.received > maximum {
            return .fail(AttemptRules.tooLong(maximum), record)
        }
        let bodyEnd = BodyEnd(
            received: end.received, version: answerVersion, isSecure: request.url.isSecure,
            sawCloseNotify: end.sawCloseNotify)
        switch Completeness.judge(framing, bodyEnd) {
        case .cut(let error): return .fail(error, record)
        case .whole: return checkSize(end, unverified: false, record)
        case .unverified, .unprovenStream:
            if rules.requireLength, !provesByDigest {
                return .fail(
                    TransferError(.lengthUnproven, "nothing the server sent proves where the body ends"), record)
            }
            return checkSize(end, unverified: !provesByDigest, record)
        }
    }

    private mutating func checkSize(_ end: TransportEnd, unverified: Bool, _ record: RedirectRecord?) -> NextStep {
        if let error = rules.misfit(end.received, verb: "the body has") { return .fail(error, record) }
        do throws(TransferError) {
            try start?.end()
        } catch {
            return .fail(error, record)
        }
        return .deliver(lengthUnverified: unverified, record)
    }
}
