package import HTTPRules
package import TransferModel

// What a session learned of servers: cookies that outlive it, hosts that must be requested over https only, and
// credentials with permanent persistence.

extension Store {
    /// Returns what earlier runs of the session learned of servers: its cookies, https-only hosts and credentials,
    /// expired ones included.
    package func sessionState(_ session: StoredSession) throws(StoreError) -> SessionState.Kept {
        try read { () throws(StoreError) in
            var kept = SessionState.Kept()
            let cookies = try database.prepare(
                """
                SELECT name, value, domain, hostOnly, path, expires, created, used, secure, httpOnly, sameSite
                FROM cookies WHERE session = ?
                """)
            cookies.bind(1, session.id)
            while try cookies.step() { kept.cookies.append(cookies.cookie) }
            let hosts = try database.prepare(
                "SELECT host, expires, coversSubdomains FROM secureHosts WHERE session = ?")
            hosts.bind(1, session.id)
            while try hosts.step() {
                kept.secureHosts.append(
                    StrictTransport.Entry(
                        host: hosts.text(0) ?? "", expires: WallTime(nanoseconds: hosts.integer(1) ?? 0),
                        coversSubdomains: hosts.integer(2) == 1))
            }
            try readCredentials(session, &kept)
            return kept
        }
    }

    /// Writes the changes in their order in one transaction, and deletes the session's cookies and https-only hosts
    /// that have expired at `now`. Cookies that other processes changed stay as they are.
    package func learn(
        _ session: StoredSession, _ changes: [SessionState.Change], now: WallTime
    ) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try batch { () throws(StoreError) in
            try noteLateUse(of: session, now: now)
            let writer = try SessionStateWriter(database, session)
            for change in changes { try writer.write(change) }
            try writer.removeEnded(now)
        }
    }
}

private struct SessionStateWriter: ~Copyable {
    private let putCookie: Statement
    private let removeCookie: Statement
    private let putHost: Statement
    private let removeHost: Statement
    private let endCookies: Statement
    private let endHosts: Statement
    private let credentials: CredentialWriter

    init(_ database: borrowing Database, _ session: StoredSession) throws(StoreError) {
        let putCookie = try database.prepare(
            """
            INSERT OR REPLACE INTO cookies (session, name, value, domain, hostOnly, path, expires, created, used, secure,
                httpOnly, sameSite)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let removeCookie = try database.prepare(
            "DELETE FROM cookies WHERE session = ? AND name = ? AND domain = ? AND hostOnly = ? AND path = ?")
        let putHost = try database.prepare(
            "INSERT OR REPLACE INTO secureHosts (session, host, expires, coversSubdomains) VALUES (?, ?, ?, ?)")
        let removeHost = try database.prepare("DELETE FROM secureHosts WHERE session = ? AND host = ?")
        let endCookies = try database.prepare("DELETE FROM cookies WHERE session = ? AND expires <= ?")
        let endHosts = try database.prepare("DELETE FROM secureHosts WHERE session = ? AND expires <= ?")
        let credentials = try CredentialWriter(database, session)
        putCookie.bind(1, session.id)
        removeCookie.bind(1, session.id)
        putHost.bind(1, session.id)
        removeHost.bind(1, session.id)
        endCookies.bind(1, session.id)
        endHosts.bind(1, session.id)
        self.putCookie = putCookie
        self.removeCookie = removeCookie
        self.putHost = putHost
        self.removeHost = removeHost
        self.endCookies = endCookies
        self.endHosts = endHosts
        self.credentials = credentials
    }

    func write(_ change: SessionState.Change) throws(StoreError) {
        switch change {
        case .cookie(let cookie): try put(cookie)
        case .noCookie(let id):
            removeCookie.bind(2, id.name)
            removeCookie.bind(3, id.domain)
            removeCookie.bind(4, id.isHostOnly ? 1 : 0)
            removeCookie.bind(5, id.path)
            try removeCookie.run()
        case .secureHost(let entry):
            putHost.bind(2, entry.host)
            putHost.bind(3, entry.expires.nanoseconds)
            putHost.bind(4, entry.coversSubdomains ? 1 : 0)
            try putHost.run()
        case .noSecureHost(let host):
            removeHost.bind(2, host)
            try removeHost.run()
        case .credential(let change): try credentials.write(change)
        }
    }

    private func put(_ cookie: Cookie) throws(StoreError) {
        putCookie.bind(2, cookie.name)
        putCookie.bind(3, cookie.value.revealed)
        putCookie.bind(4, cookie.domain)
        putCookie.bind(5, cookie.isHostOnly ? 1 : 0)
        putCookie.bind(6, cookie.path)
        putCookie.bind(7, cookie.expires?.nanoseconds ?? 0)
        putCookie.bind(8, cookie.created.nanoseconds)
        putCookie.bind(9, cookie.lastUsed.nanoseconds)
        putCookie.bind(10, cookie.isSecure ? 1 : 0)
        putCookie.bind(11, cookie.isHTTPOnly ? 1 : 0)
        putCookie.bind(12, cookie.sameSite.rawValue)
        try putCookie.run()
    }

    func removeEnded(_ now: WallTime) throws(StoreError) {
        endCookies.bind(2, now.nanoseconds)
        try endCookies.run()
        endHosts.bind(2, now.nanoseconds)
        try endHosts.run()
    }
}

extension Statement {
    fileprivate var cookie: Cookie {
        let name = text(0) ?? ""
        var cookie = Cookie(
            name: name, value: Cookie.secret(text(1) ?? "", of: name), domain: text(2) ?? "",
            isHostOnly: integer(3) == 1, path: text(4) ?? "/",
            expires: WallTime(nanoseconds: integer(5) ?? 0), created: WallTime(nanoseconds: integer(6) ?? 0),
            lastUsed: WallTime(nanoseconds: integer(7) ?? 0))
        cookie.isSecure = integer(8) == 1
        cookie.isHTTPOnly = integer(9) == 1
        cookie.sameSite = text(10).flatMap { Cookie.SameSite(rawValue: $0) } ?? .unset
        return cookie
    }
}
