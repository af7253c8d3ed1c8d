package import HTTPRules
package import TransferModel

/// Negotiates the rest of a half-done file with the server: which request asks for a range, what its response means,
/// and when the bytes that an earlier attempt left are given up.
///
/// Does no I/O. The offset of the result's first byte belongs to one response (`Response.offset`), not to the
/// negotiation.
package struct ResumeNegotiation: Sendable {
    /// Whether a digest of the job proves the whole file: then the rest may come from another place.
    private let isProven: Bool
    /// The bytes that an earlier attempt left, as long as they may be continued; `nil` for none.
    package private(set) var point: ResumePoint?
    /// Why all of the file is asked for although a part of it is here. The part is removed only when the whole file
    /// comes.
    private var setAside: String?
    /// Why the bytes of the earlier attempt could not be continued.
    package private(set) var startedOver: String?
    /// The present request as it went out, for comparison with the one whose response was kept.
    package private(set) var mark = RequestMark()
    /// Whether the present request went out without its condition or range, because the kept response was another
    /// user's.
    package private(set) var conditionsRemoved = false

    package init(_ point: ResumePoint?, isProven: Bool) {
        self.point = point
        self.isProven = isProven
    }

    // MARK: Requests

    /// Resumes from bytes that an earlier attempt left, from the next request on.
    package mutating func resume(from point: ResumePoint) { self.point = point }

    /// Notes why an upload could not be continued.
    mutating func noteStartedOver(_ why: String) { startedOver = why }

    /// Whether the part may be completed from any URL and by any user, because the job states the digest of the whole
    /// file.
    private func completesAnywhere(_ point: ResumePoint) -> Bool { point.isForeign && isProven }

    private func continues(_ point: ResumePoint, at url: ResourceURL) -> Bool {
        completesAnywhere(point) || point.isFrom(url, isProven: isProven)
    }

    /// Adds `Range` and `If-Range` to a request that can continue the part. After some requests that brought nothing of
    /// the rest it asks for all of the file instead.
    package mutating func addRange(to request: inout OutgoingRequest) {
        guard let point, setAside == nil, request.isPlainGet, continues(point, at: request.url) else { return }
        guard point.unanswered < ResumePoint.mostUnanswered else {
            return setAside = "\(ResumePoint.mostUnanswered) requests for the rest brought nothing of it"
        }
        request.headers += Resuming.headers(for: point)
    }

    private static func removeRange(from request: inout OutgoingRequest) {
        request.headers.removeAll { $0.name == "Range" || $0.name == "If-Range" }
    }

    /// Notes the request as it goes out and returns it without condition and range if they belong to another request's
    /// response: another user, or another header that the response depends on. Returns `nil` if it may go out as it is.
    ///
    /// - Parameters:
    ///   - typed: the headers of the request before those of the session were added.
    ///   - names: which headers mean credentials.
    ///   - proof: what proves the user to the server beside the headers.
    package mutating func withoutConditions(
        _ request: OutgoingRequest, typed: [HeaderField], names: CredentialNames = .standard, proof: String?,
        condition: RequestCondition?
    ) -> OutgoingRequest? {
        mark = RequestMark(typed: typed, sent: request.headers, proof: proof, names: names)
        conditionsRemoved = false
        guard request.isConditional || point != nil else { return nil }
        // A condition on the file's own time does not depend on the user.
        if request.isConditional, condition?.size != nil { return nil }
        if let point, completesAnywhere(point) { return nil }
        if mark.fits(request.isConditional ? condition?.asked : point?.asked) { return nil }
        conditionsRemoved = true
        var plain = request
        plain.headers.removeAll { $0 == condition?.header }
        Self.removeRange(from: &plain)
        plain.isConditional = false
        return plain
    }

    // MARK: Responses

    /// What a response means for the part.
    package enum Verdict: Sendable {
        /// The response is judged like any other, with this framing: if it is the result, it is the whole file.
        case whole(BodyFraming)
        /// The response continues the part at `offset`; `fileHeaders` describe the whole file.
        case rest(BodyFraming, offset: Int64, fileHeaders: HeaderBlock)
        /// Send the same request again, without the range.
        case askAgain
        /// The response is a part of the file although all of it was asked for.
        case failed(TransferError)
    }

    /// Judges the response to `request`, which is no redirect, and takes the range off the request where it is given
    /// up.
    package mutating func judge(
        _ request: inout OutgoingRequest, status: Int, _ headers: HeaderBlock, _ framing: BodyFraming,
        _ rules: AttemptRules
    ) -> Verdict {
        let verdict = judgeRange(&request, status: status, headers, framing, rules)
        // A rest counts as an answer once a byte of it has come.
        if case .rest = verdict {} else { point?.unanswered = 0 }
        return verdict
    }

    private mutating func judgeRange(
        _ request: inout OutgoingRequest, status: Int, _ headers: HeaderBlock, _ framing: BodyFraming,
        _ rules: AttemptRules
    ) -> Verdict {
        guard let point, setAside == nil, continues(point, at: request.url), !conditionsRemoved else {
            return judgeWhole(&request, status: status, headers, framing, rules)
        }
        switch Resuming.judge(point, status: status, headers, isProven: isProven) {
        case nil:
            guard Resuming.mayRefuseRange(status: status, headers),
                status == 204 || rules.missedStatus(status, isAccepted: false) != nil
            else { return .whole(framing) }
            setAside = "the server answered \(status) to the request for the rest"
            Self.removeRange(from: &request)
            return .askAgain
        case .append(let length):
            guard let held = framing.holding(length) else {
                drop(
                    "the server announced another length than that of the \(length) bytes that were missing",
                    from: &request)
                return .askAgain
            }
            return .rest(
                held, offset: point.offset, fileHeaders: Resuming.headers(point.headers, completedBy: headers))
        case .whole(let why, let length):
            drop(why, from: &request)
            // The response may state no length this time, and be cut.
            return .whole(length.flatMap { framing.holding($0) } ?? framing)
        case .askAgain(let why):
            drop(why, from: &request)
            return .askAgain
        }
    }

    /// Judges the response where no range was asked for, unless by the job itself.
    private mutating func judgeWhole(
        _ request: inout OutgoingRequest, status: Int, _ headers: HeaderBlock, _ framing: BodyFraming,
        _ rules: AttemptRules
    ) -> Verdict {
        if point != nil, status == 200 { drop(setAside ?? whyWhole(request), from: &request) }
        guard rules.expect.status == .success, !rules.asksForPart else { return .whole(framing) }
        if status == 200, rules.type == .download, let why = Resuming.partialWhole(headers) {
            return .failed(TransferError(.badServerResponse, why))
        }
        guard status == 206 else { return .whole(framing) }
        return .failed(
            TransferError(.badServerResponse, "the server sent a part of the file, asked for was all of it"))
    }

    private func whyWhole(_ request: OutgoingRequest) -> String {
        conditionsRemoved
            ? "what is there was sent to somebody else: the request says another user, or another header that the "
                + "answer depends on"
            : "the file is at another place now: \(request.url.text)"
    }

    /// Gives the part up, and takes the range off the request.
    package mutating func drop(_ why: String, from request: inout OutgoingRequest) {
        point = nil
        startedOver = why
        Self.removeRange(from: &request)
    }

    /// Gives the part up because the whole file comes as the result.
    mutating func dropForWhole(status: Int, from request: inout OutgoingRequest) {
        if point != nil { drop(setAside ?? "the server answered \(status)", from: &request) }
    }

    /// Counts a request that ended without a byte of the body. If a request for all of the file ends so too, the range
    /// was not the reason.
    package mutating func countUnanswered(_ end: TransportEnd, at url: ResourceURL) {
        guard let point, end.mayBeTheRange, !conditionsRemoved, continues(point, at: url) else { return }
        self.point?.unanswered = setAside == nil ? point.unanswered + 1 : 0
    }
}
