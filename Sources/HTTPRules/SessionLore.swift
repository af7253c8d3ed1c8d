package import TransferModel

/// What a session knows of the servers it spoke with: its cookies, who is to be asked over https only, and who it is
/// where. A value that
/// reads no clock; a store follows its changes.
package struct SessionLore: Sendable {
    /// What is to be kept for the next run, or not any more.
    package enum Change: Hashable, Sendable {
        case cookie(Cookie)
        case noCookie(Cookie.ID)
        case secureHost(StrictTransport.Entry)
        case noSecureHost(String)
        case credential(CredentialChange)
    }

    /// What an earlier run left.
    package struct Kept: Sendable {
        package var cookies: [Cookie] = []
        package var secureHosts: [StrictTransport.Entry] = []
        package var credentials: [StoredCredential] = []
        package init() {}
        package var isEmpty: Bool { cookies.isEmpty && secureHosts.isEmpty && credentials.isEmpty }
    }

    package private(set) var jar = CookieJar()
    package private(set) var transport = StrictTransport()
    /// Who it is where; asked and changed by the desks of its tasks.
    package var book = CredentialBook()
    /// Secrets that must not come back to other hosts in a cookie that somebody made of them.
    package var bound = BoundSecrets([])
    private let cookies: CookieConfiguration
    /// From the session's file of cookies.
    private let fileCookies: [Cookie]
    /// Whether a certificate proves who says something.
    private let trustsPeers: Bool
    private var changes: [Change] = []

    package init(_ configuration: SessionConfiguration, at now: WallTime) {
        cookies = configuration.cookies
        trustsPeers = configuration.tls.policy != .insecure
        // What cannot be a cookie was refused when the job was read.
        fileCookies = cookies.fileBytes.map { CookieFile.read($0, at: now).cookies } ?? []
        jar.add(fromFile: fileCookies, at: now)
        _ = jar.add(cookies.preset, at: now)
    }

    /// For the requests of nobody's session.
    package init() {
        cookies = CookieConfiguration()
        fileCookies = []
        trustsPeers = true
    }

    package mutating func recall(_ kept: Kept, at now: WallTime) {
        jar = CookieJar(stored: kept.cookies, at: now)
        jar.add(fromFile: fileCookies, at: now)
        _ = jar.add(cookies.preset, at: now)
        transport = StrictTransport(stored: kept.secureHosts, at: now)
        book.take(stored: kept.credentials)
    }

    package var hasChanges: Bool { !changes.isEmpty || book.hasChanges }
    /// Since it was asked last.
    package mutating func takeChanges() -> [Change] {
        if !hasChanges { return [] }
        defer { changes = [] }
        return changes + book.takeChanges().map { .credential($0) }
    }

    /// Where a request to `url` really goes; `nil` when it may go as it is.
    package func secured(_ url: ResourceURL, at now: WallTime) -> ResourceURL? { transport.secured(url, at: now) }

    // MARK: Answers

    /// What an answer, whatever its status, says of its server.
    package mutating func take(_ headers: HeaderBlock, from url: ResourceURL, _ visit: Visit, at now: WallTime) {
        if trustsPeers, url.isSecure { takeTransport(headers, from: url, at: now) }
        guard visit.usesCookies else { return }
        let policy = CookieAcceptance(cookies.accept, mainDocument: visit.mainDocument, asked: visit.asked)
        for outcome in jar.take(headers, from: url, at: now, accepting: policy) { note(outcome) }
    }

    private mutating func takeTransport(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) {
        switch transport.take(headers, from: url, at: now) {
        case .noted(let entry): changes.append(.secureHost(entry))
        case .removed(let host): changes.append(.noSecureHost(host))
        case nil: break
        }
    }

    private mutating func note(_ outcome: CookieOutcome) {
        switch outcome {
        case .kept(let id, let replaced):
            if let cookie = jar[id], cookie.isPersistent {
                changes.append(.cookie(cookie))
            } else if replaced {
                changes.append(.noCookie(id))
            }
        case .removed(let id), .evicted(let id): changes.append(.noCookie(id))
        case .refused: break
        }
    }

    // MARK: Requests

    /// The request's header lines with what the session knows; `nil` when they stay as they are.
    package mutating func dress(
        _ headers: [HeaderField], to url: ResourceURL, _ visit: Visit, at now: WallTime
    ) -> [HeaderField]? {
        guard cookies.send, visit.usesCookies, !jar.isEmpty else { return nil }
        guard let value = jar.header(for: url, at: now, minding: bound).value else { return nil }
        return Self.adding(value, to: headers)
    }

    /// What such a request says of who asks by cookies that the job itself writes. What a server sets takes their place.
    package func presets(to url: ResourceURL, _ visit: Visit, at now: WallTime) -> [String] {
        guard !cookies.preset.isEmpty || !fileCookies.isEmpty, cookies.send, visit.usesCookies, url.isHTTP else {
            return []
        }
        return jar.presets(for: url, at: now)
    }

    /// One line, as RFC 6265 asks for: what the job wrote itself, then the jar's.
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

/// What a task says of the session's lore.
package struct Visit: Sendable {
    package var usesCookies = true
    package var mainDocument: ResourceURL?
    /// What the task asked for before any redirect.
    package var asked: ResourceURL
    package init(asked: ResourceURL) { self.asked = asked }
}
