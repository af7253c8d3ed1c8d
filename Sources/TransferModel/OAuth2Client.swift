/// A credential's `oauth2`: who asks which server for access tokens (RFC 6749), and with what.
package struct OAuth2Client: Hashable, Sendable {
    /// `clientAuthentication`: whether id and secret go in an `Authorization` header or in the body of the request.
    package enum Authentication: String, CaseIterable, Sendable { case basic, body }
    /// What the server gives a token for.
    package enum Grant: Hashable, Sendable {
        /// The client's own id and secret.
        case clientCredentials
        /// A token that a person allowed once; a server may give a new one with each access token.
        case refreshToken(SecretText)
        /// What another party says of the client (RFC 7523).
        case assertion(Assertion)
    }
    /// Where an assertion comes from.
    package enum Assertion: Hashable, Sendable {
        case text(SecretText)
        /// Absolute path of a file that is read each time: its owner renews it.
        case file(String)
        /// GitHub Actions' address for OIDC tokens, and the token that opens it.
        case github(url: ResourceURL, token: SecretText)
    }

    /// Where tokens are given.
    package var tokenURL: ResourceURL
    /// The client's id.
    package var clientID: SecretText
    /// The client's secret; `nil` for a client that has none.
    package var clientSecret: SecretText?
    /// What the server gives a token for.
    package var grant: Grant
    /// What the token is to allow, names with spaces between them; `nil` leaves it to the server.
    package var scope: String?
    /// Whom the token is for; of GitHub's assertions, who is to believe them.
    package var audience: String?
    /// How id and secret are sent.
    package var authentication = Authentication.basic
    /// The only hosts that its tokens may be sent to; `nil`: the servers that the task names.
    package var hosts: [HostPattern]?

    package init(tokenURL: ResourceURL, clientID: SecretText, grant: Grant) {
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.grant = grant
    }

    /// The texts of the job that give access: no output may show them.
    package var secrets: [SecretText] {
        var texts = [clientSecret].compactMap(\.self)
        switch grant {
        case .clientCredentials, .assertion(.file): break
        case .refreshToken(let text), .assertion(.text(let text)), .assertion(.github(_, let text)): texts.append(text)
        }
        return texts
    }
}
