import HTTPRules
package import TransferModel

// Requests that are signed, by who has a key for where they go.

extension AttemptLife {
    private func signer(of request: OutgoingRequest) -> AWSSignature? {
        guard rules.challenges.signsRequests, request.url.isHTTP else { return nil }
        return rules.challenges.signature(for: request.url.origin, named: rules.origins(from: begin))
    }

    /// Nobody signs what says itself who it is from.
    private func signature(for request: OutgoingRequest) -> AWSSignature? {
        guard rules.challenges.signsRequests,
            !request.headers.contains(where: { $0.isNamed("authorization") })
        else { return nil }
        return signer(of: request)
    }

    /// SHA-256 of what one request sends of the body.
    struct BodyDigest {
        /// `nil`: all of it.
        let range: Range<Int64>?
        let bytes: [UInt8]
    }

    /// Whether a body that lies in a file must be read before the request can be signed. An object store takes one
    /// unseen, where nobody can change it on the way.
    package func needsBodyDigest(_ request: OutgoingRequest) -> Bool {
        guard rules.challenges.signsRequests, request.sendsBody, knownDigest(of: request) == nil,
            rules.entity() == nil, let signature = signature(for: request)
        else { return false }
        return !(signature.maySignUnseen && request.url.isSecure)
    }

    package func learnDigest(of request: OutgoingRequest, _ bytes: [UInt8]) {
        bodyDigest = BodyDigest(range: request.bodyRange, bytes: bytes)
    }

    private func knownDigest(of request: OutgoingRequest) -> [UInt8]? {
        bodyDigest.flatMap { $0.range == request.bodyRange ? $0.bytes : nil }
    }

    /// Whether whoever signs the last request signs bodies unseen.
    package var maySignUnseen: Bool { signature(for: request)?.maySignUnseen ?? true }

    func signed(_ headers: [HeaderField]?, _ request: OutgoingRequest, at now: WallTime) -> [HeaderField]? {
        guard let signature = signature(for: request) else { return nil }
        let headers = headers ?? request.headers
        signatureLines = signature.added(
            to: headers, method: request.method, url: request.url, payload: payload(request), at: now)
        return headers + signatureLines
    }

    /// A request that is another than the one that was signed: fewer headers, another method.
    package func signedAnew(_ request: OutgoingRequest, at now: WallTime) -> OutgoingRequest {
        guard !signatureLines.isEmpty else { return request }
        var request = request
        request.headers.removeAll { signatureLines.contains($0) }
        if let headers = signed(nil, request, at: now) { request.headers = headers }
        return request
    }

    /// The URL as it goes out.
    package func wireURL(_ request: OutgoingRequest) -> String {
        guard request.isDressed, let signer = signer(of: request) else { return request.url.text }
        return signer.spelled(request.url)
    }

    private func payload(_ request: OutgoingRequest) -> AWSSignature.Payload {
        guard request.sendsBody else { return .sha256(AWSSignature.sha256([])) }
        if let known = knownDigest(of: request) { return .sha256(known) }
        guard let entity = rules.entity() else { return .unsigned }
        let range = request.bodyRange ?? 0..<Int64(entity.count)
        return .sha256(AWSSignature.sha256(Array(entity[Int(range.lowerBound)..<Int(range.upperBound)])))
    }

    /// Whether what the request sends is held against what an object store says it took.
    package func sumsBody(_ request: OutgoingRequest) -> Bool {
        rules.challenges.signsRequests && request.method == "PUT" && request.sendsBody && request.bodyRange == nil
            && signer(of: request)?.tellsMD5 == true
    }

    /// An object store's `ETag` is the MD5 of what was put in one piece and is not encrypted with a key of its own.
    func storeDigest(_ status: Int, _ headers: HeaderBlock) -> SentDigest? {
        guard status == 200, let signature = signature(for: request), signature.tellsMD5 else { return nil }
        return SentDigests.ofObject(headers)
    }
}
