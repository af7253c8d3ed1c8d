import TextFormats
package import TransferModel

/// A request for an access token, as RFC 6749 and RFC 7523 (section 2.1) write it.
package struct TokenRequest: Sendable {
    /// Header fields beside those that every request has.
    package let headers: [HeaderField]
    /// The form that is posted.
    package let body: [UInt8]
    /// The texts that the form is made of, for the secrets in them.
    package let texts: [SecretText]

    /// - Parameter proof: the refresh token or the assertion; `nil` where the client's own secret is all.
    package init(_ client: OAuth2Client, proof: SecretText?) {
        var form: [(name: String, value: SecretText)] = []
        var wantsAudience = true
        switch client.grant {
        case .clientCredentials: form = [("grant_type", "client_credentials")]
        case .refreshToken: form = [("grant_type", "refresh_token"), ("refresh_token", proof ?? "")]
        case .assertion(let assertion):
            form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", proof ?? "")]
            // GitHub's assertion names its audience itself.
            if case .github = assertion { wantsAudience = false }
        }
        if let scope = client.scope { form.append(("scope", SecretText(scope))) }
        if wantsAudience, let audience = client.audience { form.append(("audience", SecretText(audience))) }
        var headers = [
            HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"),
            HeaderField(name: "Accept", value: "application/json"),
        ]
        switch (client.clientSecret, client.authentication) {
        case (let secret?, .basic):
            headers.append(HeaderField(name: "Authorization", value: Self.basic(client.clientID, secret)))
        case (let secret?, .body): form += [("client_id", client.clientID), ("client_secret", secret)]
        case (nil, _): form.append(("client_id", client.clientID))
        }
        self.headers = headers
        body = Array(form.map { "\($0.name)=\(PercentEncoding.encode($0.value.revealed))" }.joined(separator: "&").utf8)
        texts = form.map(\.value)
    }

    /// Both are encoded as in a form first (RFC 6749, section 2.3.1): a colon of theirs is none between them.
    private static func basic(_ id: SecretText, _ secret: SecretText) -> SecretText {
        let pair = PercentEncoding.encode(id.revealed) + ":" + PercentEncoding.encode(secret.revealed)
        // Bound where its parts are.
        let bonds = (id.pieces + secret.pieces).compactMap { piece -> SecretText.Piece? in
            guard case .secret(let name, _, let hosts?) = piece else { return nil }
            return .secret(name: name, value: "", hosts: hosts)
        }
        return SecretText(
            pieces: [
                .literal("Basic "), .secret(name: "client secret", value: Base64.encode(pair.utf8), hosts: nil),
            ] + bonds)
    }
}

/// The request for GitHub Actions' OIDC token, which is the assertion of the job that runs.
package struct GitHubTokenRequest: Sendable {
    /// The runner's address with the audience.
    package let url: ResourceURL
    /// Header fields beside those that every request has.
    package let headers: [HeaderField]

    package init(_ url: ResourceURL, token: SecretText, audience: String) {
        self.url = url.adding(encodedQuery: "audience=\(PercentEncoding.encode(audience))")
        headers = [
            HeaderField(name: "Accept", value: "application/json"),
            HeaderField(name: "Authorization", value: SecretText(pieces: [.literal("Bearer ")] + token.pieces)),
        ]
    }
}
