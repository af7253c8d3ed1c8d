import HTTPRules
package import TransferModel

// Signed requests: what the engine calls of `RequestBuilder+Signing`.

extension AttemptLife {
    /// Whether a body that lies in a file must be read before the request can be signed. An object store takes one
    /// unseen over TLS, where it cannot be changed on the way.
    package func needsBodyDigest(_ request: OutgoingRequest) -> Bool { builder.needsBodyDigest(request) }

    /// Notes the SHA-256 of what the request sends of the body, which the engine has read from its file.
    package func learnDigest(of request: OutgoingRequest, _ bytes: [UInt8]) {
        builder.bodyDigest = RequestBuilder.BodyDigest(range: request.bodyRange, bytes: bytes)
    }

    /// Whether the credential that signs the present request signs bodies unseen.
    package var maySignUnseen: Bool { builder.signature(for: request)?.maySignUnseen ?? true }

    /// Returns the request with a signature of its own: it has other headers or another method than the one that was
    /// signed.
    package func signedAnew(_ request: OutgoingRequest, at now: WallTime) -> OutgoingRequest {
        builder.signedAnew(request, at: now)
    }

    /// Returns the URL as it goes out: a signed URL is spelled as its signature says.
    package func wireURL(_ request: OutgoingRequest) -> String { builder.wireURL(request) }

    /// Whether the body that the request sends is held against the sum that an object store says it took.
    package func sumsBody(_ request: OutgoingRequest) -> Bool { builder.sumsBody(request) }
}
