package import HTTPRules
package import TransferModel

// Session state: what requests get from it, and what it learns from responses.

extension AttemptLife {
    /// Makes the first request go over https where its host demands that. Call before anything is sent.
    package func secure(_ sessionState: SessionState, at now: WallTime) {
        let home = sessionState.secured(builder.home, at: now)
        let begin = sessionState.secured(builder.begin, at: now)
        guard home != nil || begin != nil else { return }
        if let home { builder.home = home }
        if let begin { builder.begin = begin }
        request.url = builder.begin
        // Conditions and a range may hold for one origin only: they are added anew for this one.
        request.headers = builder.headers(at: builder.begin)
        request.isConditional = false
        resumption.addRange(to: &request)
        addCondition()
    }

    /// Returns the request's headers with cookies, credentials, tracing and signature of the session, or `nil` if the
    /// session adds nothing.
    package func withSessionHeaders(
        _ request: OutgoingRequest, from sessionState: inout SessionState, at now: WallTime
    ) -> [HeaderField]? {
        var headers = sessionState.dress(request.headers, to: request.url, builder.visit, at: now)
        if let authorization { headers = (headers ?? request.headers) + [authorization] }
        if let field = tracing?.header(to: request.url, beside: headers ?? request.headers) {
            headers = (headers ?? request.headers) + [field]
        }
        if !builder.signatureLines.isEmpty { builder.signatureLines = [] }
        if rules.challenges.signsRequests { headers = builder.signed(headers, request, at: now) ?? headers }
        return headers
    }

    /// Returns a request as it goes out: without its condition and range where these belong to the response to another
    /// user's request, or to one with other headers that the response depends on. Such a request gets all of its own
    /// response.
    ///
    /// - Parameters:
    ///   - request: the request with the session's headers.
    ///   - proof: what proves the user to the server beside the headers.
    package func withoutConditions(_ request: OutgoingRequest, proof: String?, at now: WallTime) -> OutgoingRequest {
        let plain = resumption.withoutConditions(
            request, typed: self.request.headers, names: rules.credentialNames, proof: proof,
            condition: builder.condition)
        return plain.map { builder.signedAnew($0, at: now) } ?? request
    }

    /// Returns the values of the job's own cookies that a request to the URL carries.
    package func presets(to url: ResourceURL, of sessionState: SessionState, at now: WallTime) -> [String] {
        sessionState.presets(to: url, builder.visit, at: now)
    }

    /// Learns from any response what its server says of itself: cookies, and whether it wants https only.
    package func learn(_ headers: HeaderBlock, sessionState: inout SessionState, at now: WallTime) {
        sessionState.take(headers, from: request.url, builder.visit, at: now)
    }
}
