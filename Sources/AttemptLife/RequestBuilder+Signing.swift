import HTTPRules
import TransferModel

// Requests that are signed, where one of the task's credentials has a key for the server they go to.

extension RequestBuilder {
    /// SHA-256 of what one request sends of the body.
    struct BodyDigest: Sendable {
        /// The part of the body that the request sends; `nil` is all of it.
        let range: Range<Int64>?
        let bytes: [UInt8]
    }

    private func signer(of request: OutgoingRequest) -> AWSSignature? {
        guard rules.challenges.signsRequests, request.url.isHTTP else { return nil }
        return rules.challenges.signature(for: request.url.origin, named: rules.origins(ofTaskAt: home))
    }

    /// Returns the signature of the request. A request whose own headers authorize it is not signed.
    func signature(for request: OutgoingRequest) -> AWSSignature? {
        guard rules.challenges.signsRequests,
            !request.headers.contains(where: { $0.isNamed("authorization") })
        else { return nil }
        return signer(of: request)
    }

    /// Whether a body that lies in a file must be read before the request can be signed. An object store takes one
    /// unseen over TLS, where it cannot be changed on the way.
    func needsBodyDigest(_ request: OutgoingRequest) -> Bool {
        guard rules.challenges.signsRequests, request.sendsBody, knownDigest(of: request) == nil,
            rules.entity() == nil, let signature = signature(for: request)
        else { return false }
        return !(signature.maySignUnseen && request.url.isSecure)
    }

    private func knownDigest(of request: OutgoingRequest) -> [UInt8]? {
        bodyDigest.flatMap { $0.range == request.bodyRange ? $0.bytes : nil }
    }

    /// Returns the headers with those of the signature, or `nil` if the request is not signed.
    mutating func signed(_ headers: [HeaderField]?, _ request: OutgoingRequest, at now: WallTime) -> [HeaderField]? {
        guard let signature = signature(for: request) else { return nil }
        let headers = headers ?? request.headers
        signatureLines = signature.added(
            to: headers, method: request.method, url: request.url, payload: payload(request), at: now)
        return headers + signatureLines
    }

    /// Returns the request with a signature of its own: it has other headers or another method than the one that was
    /// signed.
    mutating func signedAnew(_ request: OutgoingRequest, at now: WallTime) -> OutgoingRequest {
        guard !signatureLines.isEmpty else { return request }
        var request = request
        let old = signatureLines
        request.headers.removeAll { old.contains($0) }
        if let headers = signed(nil, request, at: now) { request.headers = headers }
        return request
    }

    /// Returns the URL as it goes out: a signed URL is spelled as its signature says.
    func wireURL(_ request: OutgoingRequest) -> String {
        guard request.hasSessionHeaders, let signer = signer(of: request) else { return request.url.text }
        return signer.spelled(request.url)
    }

    private func payload(_ request: OutgoingRequest) -> AWSSignature.Payload {
        guard request.sendsBody else { return .sha256(AWSSignature.sha256([])) }
        if let known = knownDigest(of: request) { return .sha256(known) }
        guard let entity = rules.entity() else { return .unsigned }
        let range = request.bodyRange ?? 0..<Int64(entity.count)
        return .sha256(AWSSignature.sha256(Array(entity[Int(range.lowerBound)..<Int(range.upperBound)])))
    }

    /// Whether the body that the request sends is held against the sum that an object store says it took.
    func sumsBody(_ request: OutgoingRequest) -> Bool {
        rules.challenges.signsRequests && request.method == "PUT" && request.sendsBody && request.bodyRange == nil
            && signer(of: request)?.tellsMD5 == true
    }

    /// Returns the digest that an object store's `ETag` holds: the MD5 of what was put in one piece and is not
    /// encrypted with a key of its own.
    func storeDigest(_ request: OutgoingRequest, status: Int, _ headers: HeaderBlock) -> SentDigest? {
        guard status == 200, let signature = signature(for: request), signature.tellsMD5 else { return nil }
        return SentDigests.ofObject(headers)
    }
}
