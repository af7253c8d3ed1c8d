package import HTTPRules
package import TransferModel

/// Computes what an attempt's requests say: where they go, which of the task's headers they carry, and what must not go
/// there.
///
/// Does no I/O. The machine (`AttemptLife`) decides which request comes next and keeps the present one; everything that
/// depends on the task's rules and on the hops taken so far is computed here.
package struct RequestBuilder: ~Copyable, Sendable {
    let rules: AttemptRules
    /// The URL that the attempt begins at: the task's own, over https where its host demands that.
    var begin: ResourceURL
    /// The task's own URL, over https where its host demands that: the task's headers are meant for that origin.
    /// Another one than `begin` for later pages of a task.
    var home: ResourceURL
    /// How the task's requests use the session's cookies.
    let visit: Visit
    /// The number of redirects followed since the task's own request, or the question before it, was sent.
    package private(set) var hops = 0
    /// Whether a redirect took the body off: neither the body nor the headers that describe it are sent again.
    package private(set) var hasLostBody = false
    /// Whether a request that is not idempotent was answered by a redirect to a request of another method.
    package private(set) var hasTakenEffect = false
    /// The validator of the existing file, sent with each GET to the condition's URL.
    package var condition: RequestCondition?
    /// Whether caches on the way are to ask the server, because a cached copy may be the wrong file that came before.
    private(set) var passesCaches = false
    /// The resumable upload; nothing for most tasks.
    var upload = Upload.none
    /// The header fields that the signature added to the last request that was signed.
    var signatureLines: [HeaderField] = []
    /// Whether a server outside named the URL that the attempt begins at, or the place of its upload.
    var ledFromPublic = (begin: false, place: false)
    /// SHA-256 of the body that the last signed request sends, once the engine has read it from its file.
    var bodyDigest: BodyDigest?

    /// A resumable upload, boxed: most attempts have none.
    indirect enum Upload: Sendable {
        case none
        case open(ResumableUpload)
    }

    /// `home`: the task's own URL, where the attempt begins at another one.
    package init(_ url: ResourceURL, _ rules: AttemptRules, home: ResourceURL? = nil) {
        self.rules = rules
        begin = url
        self.home = home ?? url
        var visit = Visit(asked: home ?? url)
        visit.usesCookies = rules.usesCookies
        visit.mainDocument = rules.mainDocument
        self.visit = visit
    }

    // MARK: The task's own request

    /// Returns the attempt's first request, without a range and without a condition.
    package func firstRequest() -> OutgoingRequest {
        // Uploads ride on HTTP/1.1 unless HTTP/2 was asked for: this libcurl's HTTP/2 uploads stall and lose their end.
        // A request that must not be sent twice does so too: the answer of a shared stream may have to be fetched
        // again.
        let mayUseHTTP2 =
            rules.version == .http2
            || (rules.version == .auto && !rules.hasBody && HTTPMethod.isSafe(rules.method))
        var request = OutgoingRequest(
            // Storing a file on an ftp server is idempotent.
            url: begin, method: begin.isFTP && rules.hasBody ? "PUT" : rules.method, headers: headers(at: begin),
            sendsBody: rules.hasBody, mayUseHTTP2: mayUseHTTP2)
        request.expectsContinue = rules.expectsContinue
        return request
    }

    /// Returns the task's own request again, where it began, after a question that was asked before it.
    package mutating func afterQuestion(_ request: OutgoingRequest) -> OutgoingRequest {
        hops = 0
        var request = request
        request.url = begin
        request.method = rules.method
        request.headers = headers(at: begin)
        request.hasSessionHeaders = false
        request.isLedFromPublic = ledFromPublic.begin
        return request
    }

    /// The task's headers that a request there may carry.
    func headers(at url: ResourceURL) -> [HeaderField] {
        if isNamed(url) { return rules.headers }
        return rules.headers.filter {
            Redirects.crossesOrigins($0, to: url.origin, withBody: rules.hasBody, rules.redirects)
        }
    }

    // MARK: Redirects

    /// One redirect: the request that follows it, and what that request lacks of the redirected one.
    package struct Hop: Sendable {
        /// The next request, without range, condition and upload headers, which depend on where it goes.
        package internal(set) var request: OutgoingRequest
        /// The names of the task's headers that the redirected request carried and the next one must not: they are
        /// meant for the origins that the task names.
        package let stripped: [String]
        /// The names of the task's headers that go with the body that the redirect takes off.
        package let droppedWithBody: [String]
        /// Whether a body, if there is one, is sent again.
        package let keepsBody: Bool
    }

    /// Decides about one of the task's headers in the request that follows a redirect.
    private enum HeaderFate {
        case kept, stripped, droppedWithBody
    }

    /// Computes the request that follows a redirect of `request`. What is reported as stripped and what the next
    /// request carries come from one look at each header.
    ///
    /// - Parameter question: what the redirected request asks before the upload, if it does not upload itself.
    package func hop(
        from request: OutgoingRequest, to target: ResourceURL, method: String, keepsBody: Bool,
        asking question: UploadQuestion? = nil
    ) -> Hop {
        let losesBody = hasLostBody || request.sendsBody && !keepsBody
        let way = Way(target: target, isNamed: isNamed(target), losesBody: losesBody, sendsBody: request.sendsBody)
        var (kept, stripped, dropped): ([HeaderField], [String], [String]) = ([], [], [])
        // The job's headers are judged, not those that the last hop kept: a redirect that comes back to an origin the
        // task names brings its headers back.
        for header in rules.headers {
            switch fate(of: header, way) {
            case .kept: kept.append(header)
            case .stripped: if request.headers.contains(header) { stripped.append(header.name) }
            case .droppedWithBody: if request.headers.contains(header) { dropped.append(header.name) }
            }
        }
        var next = request
        next.url = target
        next.method = method
        next.headers = question?.headers(kept) ?? kept
        if !keepsBody { next.sendsBody = false }
        next.isConditional = false
        addCachePassing(to: &next)
        return Hop(request: next, stripped: stripped, droppedWithBody: dropped, keepsBody: keepsBody)
    }

    /// Facts about a request's target that decide which headers it carries.
    private struct Way {
        let target: ResourceURL
        let isNamed: Bool
        let losesBody: Bool
        let sendsBody: Bool
    }

    private func fate(of header: HeaderField, _ way: Way) -> HeaderFate {
        if way.losesBody, Self.describesBody(header) { return .droppedWithBody }
        let crosses =
            way.isNamed
            || Redirects.crossesOrigins(
                header, to: way.target.origin, withBody: way.sendsBody && !way.losesBody, rules.redirects)
        return crosses ? .kept : .stripped
    }

    /// Notes that the hop is taken from `request`.
    package mutating func followed(_ hop: Hop, from request: OutgoingRequest) {
        hops += 1
        if hop.request.method != request.method, !HTTPMethod.isIdempotent(request.method) { hasTakenEffect = true }
        if request.sendsBody, !hop.keepsBody { hasLostBody = true }
    }

    /// Whether the task itself names the origin: all of its headers may go there.
    private func isNamed(_ target: ResourceURL) -> Bool {
        home.hasSameOrigin(as: target) || rules.mirrors.contains { $0.hasSameOrigin(as: target) }
    }

    /// The credential among the task's headers that the request does not carry, because it went to a server that the task
    /// does not name; `nil` where none was held back.
    func heldBack(from request: OutgoingRequest) -> (header: String, meantFor: Origin)? {
        guard !isNamed(request.url) else { return nil }
        let lacking = rules.headers.first { header in
            rules.credentialNames.isHeader(header.name) && !request.headers.contains(header)
        }
        return lacking.map { ($0.name, home.origin) }
    }

    /// Whether what the task says of who it is went along: all of it to a server that the task names, elsewhere a header
    /// that means a credential.
    func showsWhoItIs(_ request: OutgoingRequest) -> Bool {
        isNamed(request.url) || request.headers.contains { rules.credentialNames.isHeader($0.name) }
    }

    private static func describesBody(_ header: HeaderField) -> Bool {
        header.name.lowercased().hasPrefix("content-")
    }

    // MARK: Caches on the way

    /// Asks past all caches from `request` on.
    mutating func passCaches(from request: inout OutgoingRequest) {
        passesCaches = true
        addCachePassing(to: &request)
    }

    /// Adds `Cache-Control: no-cache` (RFC 9111, section 5.2.1.4), unless the job writes that header itself.
    private func addCachePassing(to request: inout OutgoingRequest) {
        guard passesCaches, request.url.isHTTP, !request.headers.contains(where: { $0.isNamed("cache-control") }) else {
            return
        }
        request.headers.append(HeaderField(name: "Cache-Control", value: SecretText("no-cache")))
        request.hasSessionHeaders = true
    }

    // MARK: Conditions

    /// Adds the condition to a request that it means something to. A request for the rest of a newer version
    /// (`isResumed`) has conditions of its own.
    package func addCondition(to request: inout OutgoingRequest, isResumed: Bool) {
        guard let condition, !isResumed, request.isPlainGet,
            condition.url.map({ $0 == request.url.text }) != false
        else { return }
        request.headers.append(condition.header)
        request.isConditional = true
    }

    /// Removes the condition again from a request that carries it.
    package func removeCondition(from request: inout OutgoingRequest) {
        if let header = condition?.header, request.isConditional { request.headers.removeAll { $0 == header } }
        request.isConditional = false
    }

    // MARK: Resumable uploads

    var openUpload: ResumableUpload? { if case .open(let upload) = upload { upload } else { nil } }

    /// Adds to a request with the whole body that the upload could be resumed.
    func addUpload(to request: inout OutgoingRequest) {
        guard let upload = openUpload, !upload.isAtPlace, request.sendsBody else { return }
        request.headers += upload.headers
        request.hasSessionHeaders = true
    }

    /// Returns the upload's next request after `request`: the whole from the beginning, a question, or the rest.
    func request(for upload: ResumableUpload, after request: OutgoingRequest) -> OutgoingRequest {
        var next = requestWithoutState(of: upload, mayUseHTTP2: request.mayUseHTTP2)
        next.headers += upload.headers
        next.hasSessionHeaders = true
        next.isLedFromPublic = upload.isAtPlace ? ledFromPublic.place : ledFromPublic.begin
        next.expectsContinue = request.expectsContinue
        return next
    }

    private func requestWithoutState(of upload: ResumableUpload, mayUseHTTP2: Bool) -> OutgoingRequest {
        let place = upload.point.flatMap { try? ResourceURL.parse($0.place) }
        guard let method = upload.method, let place else {
            return OutgoingRequest(
                url: begin, method: rules.method, headers: headers(at: begin), sendsBody: true, mayUseHTTP2: mayUseHTTP2
            )
        }
        // The request that began the upload described the whole body.
        let way = Way(target: place, isNamed: isNamed(place), losesBody: true, sendsBody: true)
        let headers = rules.headers.filter { fate(of: $0, way) == .kept }
        return OutgoingRequest(
            url: place, method: method, headers: headers, sendsBody: upload.range != nil, bodyRange: upload.range,
            mayUseHTTP2: mayUseHTTP2)
    }

    // MARK: Secrets

    /// Returns why the request must not be sent: a header or the body holds a secret that must not go to its origin.
    package func barredSecret(in request: OutgoingRequest) -> TransferError? {
        for header in request.headers {
            guard let name = header.value.secretBarred(from: request.url.origin) else { continue }
            let place = header.value.barredPlace(request.url.origin)
            return TransferError(
                .secretBarred, "the secret `\(name)` in `\(header.name)` must not go to \(place)")
        }
        guard request.sendsBody, !rules.bodyTexts.isEmpty else { return nil }
        let isNamed = isNamed(request.url)
        for text in rules.bodyTexts {
            if let name = text.secretBarred(from: request.url.origin) {
                let place = text.barredPlace(request.url.origin)
                return TransferError(.secretBarred, "the secret `\(name)` in the body must not go to \(place)")
            }
            guard !isNamed, let name = text.unboundSecret else { continue }
            return TransferError(
                .secretBarred,
                "the secret `\(name)` in the body must not go to \(request.url.origin): neither the task's URL nor the "
                    + "secret's `hosts` names it")
        }
        return nil
    }

    /// Returns why a redirect to `target` must not be followed: its URL holds a secret that must not go there. A server
    /// that was shown a secret may write it into the address that it redirects to.
    package static func barredSecret(inRedirectTo target: ResourceURL, _ secrets: BoundSecrets) -> TransferError? {
        guard let barred = secrets.barred(from: target) else { return nil }
        return TransferError(
            .secretBarred,
            "the server's redirect holds the secret `\(barred.secret)`, which must not go to \(barred.place)")
    }
}
