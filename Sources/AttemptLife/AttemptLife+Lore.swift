package import HTTPRules
package import TransferModel

// What the session knows of servers, put into requests.

extension AttemptLife {
    /// Before anything is sent: a host that wants to be asked over https only is not asked over http.
    package func secure(_ lore: SessionLore, at now: WallTime) {
        guard let secured = lore.secured(builder.begin, at: now) else { return }
        builder.begin = secured
        request.url = secured
        // Conditions and a range may be for one origin only: they are added anew for this one.
        request.headers = rules.headers
        request.isConditional = false
        addRange()
        addCondition()
    }

    /// A request's headers with what the session knows; `nil` when they stay as they are.
    package func dressed(
        _ request: OutgoingRequest, by lore: inout SessionLore, at now: WallTime
    ) -> [HeaderField]? {
        var headers = lore.dress(request.headers, to: request.url, builder.visit, at: now)
        if let authorization { headers = (headers ?? request.headers) + [authorization] }
        if let field = tracing?.header(to: request.url, beside: headers ?? request.headers) {
            headers = (headers ?? request.headers) + [field]
        }
        if !builder.signatureLines.isEmpty { builder.signatureLines = [] }
        if rules.challenges.signsRequests { headers = builder.signed(headers, request, at: now) ?? headers }
        return headers
    }

    /// The cookies of the job's own that a request there carries.
    package func presets(to url: ResourceURL, of lore: SessionLore, at now: WallTime) -> [String] {
        lore.presets(to: url, builder.visit, at: now)
    }
}
