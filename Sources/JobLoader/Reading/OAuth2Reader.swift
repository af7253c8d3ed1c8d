import Diagnostics
import TransferModel
import YAMLTree

/// Reads `credentials.oauth2`.
struct OAuth2Reader {
    let reader: Reader

    func oauth2(_ node: NodeID) -> OAuth2Draft? {
        var draft = OAuth2Draft.blank
        draft.node = node
        Sections.oauth2.decode(node, into: &draft, reader)
        return reader.tree.kind(node) == .mapping ? draft : nil
    }

    func tokenURL(_ node: NodeID) -> ResourceURL? {
        guard let url = reader.url(node) else { return nil }
        guard url.isHTTP, url.userInformation == nil else {
            return reader.error(
                "invalid-value", "`tokenURL` is an http or https URL without user and password",
                hint: "who asks is said by `clientID` and `clientSecret`", node)
        }
        if !url.isSecure, !Self.isThisMachine(url.host) {
            reader.warning(
                "clear-text-token", "`tokenURL` is no https URL: anybody on the way can read the secret and the token",
                at: reader.tree.span(node))
        }
        return url
    }

    private static func isThisMachine(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || host.hasPrefix("127.")
    }

    func assertion(_ node: NodeID) -> OAuth2Client.Assertion? {
        if reader.tree.kind(node) == .mapping {
            var draft = Sections.AssertionDraft.blank
            Sections.assertion.decode(node, into: &draft, reader)
            return draft.file.map { .file($0) }
        }
        guard let text = reader.secretText(node, .either([.text, .object("assertion")])) else { return nil }
        return text.plain == "github" ? gitHubAssertion(node) : .text(text)
    }

    /// Returns where GitHub Actions gives the job's OIDC token, as it says in the environment.
    private func gitHubAssertion(_ node: NodeID) -> OAuth2Client.Assertion? {
        let (place, key) = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        reader.record(.environment, place, node)
        reader.record(.secret, key, node)
        let text = (try? reader.resources.environment(place)) ?? nil
        guard let text, let token = reader.names.secrets.value(key, reader, at: reader.tree.span(node)) else {
            return lacksGitHub(text == nil ? place : key, node)
        }
        guard let url = try? ResourceURL.parse(text), url.isHTTP else {
            return reader.error("invalid-url", "the environment's `\(place)` is no http or https URL", node)
        }
        reader.recordHost(url.origin, node)
        return .github(url: url, token: token)
    }

    private func lacksGitHub(_ name: String, _ node: NodeID) -> OAuth2Client.Assertion? {
        let hint = "GitHub Actions sets it for a job with `permissions: { id-token: write }`"
        guard reader.missingValues == .tolerated else {
            return reader.error(
                "missing-value", "`assertion: github` needs the environment's `\(name)`, which is not set", hint: hint,
                node)
        }
        reader.warning(
            "missing-value", "the environment has no `\(name)` here, and a run needs it", hint: hint,
            at: reader.tree.span(node))
        let url = try? ResourceURL.parse("https://\(MissingValue.placeholder)/")
        return url.map { .github(url: $0, token: reader.names.secrets.placeholder("ACTIONS_ID_TOKEN_REQUEST_TOKEN")) }
    }

    /// Returns the client that a credential with `oauth2` is.
    func client(_ draft: OAuth2Draft, of credential: CredentialDraft, _ node: NodeID) -> OAuth2Client? {
        let others = ["realm", "preemptive", "maximumFailures", "persistence"]
        if let name = others.first(where: CredentialReader(reader: reader).writtenKeys(node).contains)
            ?? (credential.proxy ? "proxy" : nil)
        {
            reader.error(
                "conflicting-keys",
                "`\(name)` is about servers that ask, and a token of `oauth2` goes to its servers unasked",
                hint: "leave it out", at: spanOfKey(name, in: node))
        }
        if let method = credential.method, method != .any, method != .bearer {
            reader.error(
                "conflicting-keys",
                "a token of `oauth2` is shown by `method: bearer` alone, not by `\(method.rawValue)`",
                hint: "leave `method` out", at: spanOfKey("method", in: node))
        }
        guard let url = draft.tokenURL, let id = draft.clientID, let grant = grant(draft) else { return nil }
        var client = OAuth2Client(tokenURL: url, clientID: id, grant: grant)
        (client.clientSecret, client.authentication) = (draft.clientSecret, draft.authentication)
        (client.scope, client.audience) = (draft.scope, draft.audience)
        client.hosts = credential.host.map { host in
            [host] + [HostPattern("\(url.host):\(url.port)")].compactMap(\.self)
        }
        return client
    }

    private func spanOfKey(_ name: String, in node: NodeID) -> SourceSpan {
        reader.tree.entries(node).first { reader.tree.text($0.key) == name }.map { reader.tree.span($0.key) }
            ?? reader.beginning(node)
    }

    private func grant(_ draft: OAuth2Draft) -> OAuth2Client.Grant? {
        if let text = draft.refreshToken { return .refreshToken(text) }
        if let assertion = draft.assertion { return .assertion(assertion) }
        if draft.clientSecret != nil { return .clientCredentials }
        // A key that is present but could not be read was reported already.
        if CredentialReader(reader: reader).writtenKeys(draft.node).isDisjoint(with: [
            "clientSecret", "refreshToken", "assertion",
        ]) {
            reader.error(
                "missing-key", "`oauth2` must say what it shows the server",
                hint: "give it a `clientSecret`, a `refreshToken` or an `assertion`", at: reader.beginning(draft.node))
        }
        return nil
    }
}
