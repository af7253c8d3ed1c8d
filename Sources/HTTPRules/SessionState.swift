package import TransferModel

/// What a session has learned of its servers: its cookies, the hosts that require https, and the credentials that work.
/// A value that reads no clock; a store records its changes.
package struct SessionState: Sendable {
    /// A change that the store has to record for the next run.
    package enum Change: Hashable, Sendable {
        case cookie(Cookie)
        case noCookie(Cookie.ID)
        case secureHost(StrictTransport.Entry)
        case noSecureHost(String)
        case credential(CredentialChange)
    }

    /// What the store recorded in earlier runs.
    package struct Kept: Sendable {
        /// Persistent cookies.
        package var cookies: [Cookie] = []
        /// Hosts that require https.
        package var secureHosts: [StrictTransport.Entry] = []
        /// Credentials that a server accepted.
        package var credentials: [StoredCredential] = []
        package init() {}
        /// Whether earlier runs left nothing.
        package var isEmpty: Bool { cookies.isEmpty && secureHosts.isEmpty && credentials.isEmpty }
    }

    /// The session's cookies.
    package private(set) var jar = CookieJar()
    /// The hosts that require https.
    package private(set) var transport = StrictTransport()
    /// The session's credentials, queried and changed by the `ChallengeResponder`s of its tasks.
    package var accepted = AcceptedCredentials()
    /// Secrets bound to hosts; a cookie that a server made from one must not go to other hosts.
    package var bound = BoundSecrets([])
    private let cookies: CookieConfiguration
    /// Cookies from the session's cookie file.
    private let fileCookies: [Cookie]
    /// Whether servers' certificates are checked, so that what an https answer says is authentic.
    private let trustsPeers: Bool
    private var changes: [Change] = []

    package init(_ configuration: SessionConfiguration, at now: WallTime) {
        cookies = configuration.cookies
        trustsPeers = configuration.tls.policy != .insecure
        // Loading the job already rejected bytes that cannot be cookies.
        fileCookies = cookies.fileBytes.map { CookieFile.read($0, at: now).cookies } ?? []
        jar.add(fromFile: fileCookies, at: now)
        _ = jar.add(cookies.preset, at: now)
    }

    /// Makes an empty state for requests that belong to no session.
    package init() {
        cookies = CookieConfiguration()
        fileCookies = []
        trustsPeers = true
    }

    /// Replaces cookies, https hosts and credentials by those of earlier runs, then adds the session's file and preset
    /// cookies again.
    package mutating func recall(_ kept: Kept, at now: WallTime) {
        jar = CookieJar(stored: kept.cookies, at: now)
        jar.add(fromFile: fileCookies, at: now)
        _ = jar.add(cookies.preset, at: now)
        transport = StrictTransport(stored: kept.secureHosts, at: now)
        accepted.take(stored: kept.credentials)
    }

    /// Whether there are changes that the store has not taken yet.
    package var hasChanges: Bool { !changes.isEmpty || jar.hasChanges || accepted.hasChanges }
    /// Returns the changes since the last call.
    package mutating func takeChanges() -> [Change] {
        if !hasChanges { return [] }
        defer { changes = [] }
        return jar.takeChanges() + changes + accepted.takeChanges().map { .credential($0) }
    }

    /// Returns the https URL to which a request to `url` must go; `nil` when it may go as it is.
    package func secured(_ url: ResourceURL, at now: WallTime) -> ResourceURL? { transport.secured(url, at: now) }

    // MARK: Answers

    /// Learns cookies and the requirement of https from an answer of any status.
    package mutating func take(_ headers: HeaderBlock, from url: ResourceURL, _ visit: Visit, at now: WallTime) {
        if trustsPeers, url.isSecure { takeTransport(headers, from: url, at: now) }
        guard visit.usesCookies else { return }
        let policy = CookieAcceptance(cookies.accept, mainDocument: visit.mainDocument, asked: visit.asked)
        _ = jar.take(headers, from: url, at: now, accepting: policy)
    }

    private mutating func takeTransport(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) {
        switch transport.take(headers, from: url, at: now) {
        case .noted(let entry): changes.append(.secureHost(entry))
        case .removed(let host): changes.append(.noSecureHost(host))
        case nil: break
        }
    }

    // MARK: Requests

    /// Returns the request's header fields with the session's cookies added; `nil` when they stay as they are.
    package mutating func dress(
        _ headers: [HeaderField], to url: ResourceURL, _ visit: Visit, at now: WallTime
    ) -> [HeaderField]? {
        guard cookies.send, visit.usesCookies, !jar.isEmpty else { return nil }
        guard let value = jar.header(for: url, at: now, minding: bound).value else { return nil }
        return Self.adding(value, to: headers)
    }

    /// Returns names and values of the cookies preset by the job that a request to `url` carries, as part of its
    /// identity. A cookie of the same name from a server replaces the preset.
    package func presets(to url: ResourceURL, _ visit: Visit, at now: WallTime) -> [String] {
        guard !cookies.preset.isEmpty || !fileCookies.isEmpty, cookies.send, visit.usesCookies, url.isHTTP else {
            return []
        }
        return jar.presets(for: url, at: now)
    }

    /// Merges cookies into one header line, as RFC 6265 requires: the job's own first, then the jar's.
    private static func adding(_ cookies: SecretText, to headers: [HeaderField]) -> [HeaderField] {
        var dressed = headers.filter { !$0.isNamed("cookie") }
        let typed = headers.filter { $0.isNamed("cookie") && !$0.value.revealed.isEmpty }
        let values = typed.map(\.value) + [cookies]
        let pieces = values.enumerated().flatMap { place, value in
            (place == 0 ? [] : [SecretText.Piece.literal("; ")]) + value.pieces
        }
        dressed.append(HeaderField(name: typed.first?.name ?? "Cookie", value: SecretText(pieces: pieces)))
        return dressed
    }
}

/// How a task's requests use the session's cookies.
package struct Visit: Sendable {
    /// Whether the task's requests send and accept cookies.
    package var usesCookies = true
    /// URL of the main document for the session's rule on third-party cookies; `nil` when the task names none.
    package var mainDocument: ResourceURL?
    /// URL of the task before any redirect.
    package var asked: ResourceURL
    package init(asked: ResourceURL) { self.asked = asked }
}
