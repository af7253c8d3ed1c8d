package import TransferModel

/// What became of cookies that were sent, for the events and the store.
package enum CookieOutcome: Hashable, Sendable {
    /// In the place of another or not.
    case kept(Cookie.ID, replaced: Bool)
    /// By the server's word: sent with an end that has passed.
    case removed(Cookie.ID)
    /// There were too many.
    case evicted(Cookie.ID)
    case refused(name: String, CookieRefusal)
}

extension CookieJar {
    /// Takes the cookies of an answer, whatever its status. Nothing happens where `policy` does not allow it.
    package mutating func take(
        _ headers: HeaderBlock, from url: ResourceURL, at now: WallTime, accepting policy: CookieAcceptance
    ) -> [CookieOutcome] {
        var outcomes: [CookieOutcome] = []
        var isAllowed: Bool?
        for line in headers.lines where headers.isNamed(line, "set-cookie") {
            // Most answers set none: the policy is asked by the first.
            let allowed = isAllowed ?? (url.isHTTP && policy.allows(url))
            isAllowed = allowed
            guard allowed else { break }
            let value = Array(headers.bytes[Int(line.valueStart)..<Int(line.valueEnd)])
            outcomes += take(setCookie: value, from: url, at: now)
        }
        return outcomes
    }

    /// Takes one line, of which `setCookie` is the value.
    package mutating func take(setCookie line: [UInt8], from url: ResourceURL, at now: WallTime) -> [CookieOutcome] {
        removeExpired(at: now)
        var name = ""
        do throws(CookieRefusal) {
            let received = try SetCookie(line, at: now)
            name = received.name
            let cookie = try Cookie(received, from: url, at: now)
            if !url.isSecure, !cookie.isSecure, hidesSecureCookie(cookie) { throw .hidesSecureCookie }
            return keep(cookie, at: now)
        } catch {
            return [.refused(name: name, error)]
        }
    }

    private mutating func keep(_ cookie: Cookie, at now: WallTime) -> [CookieOutcome] {
        if cookie.isExpired(at: now) { return remove(cookie.id).map { [.removed($0.id)] } ?? [] }
        let replaced = self[cookie.id] != nil
        let evicted = put(cookie, at: now)
        return [.kept(cookie.id, replaced: replaced)] + evicted.map { .evicted($0) }
    }

    /// Whoever can write into an http answer must not be able to put a cookie before one that only https may set
    /// ("leave secure cookies alone"): one of its name, of a domain above or below, that goes to some of its paths.
    private func hidesSecureCookie(_ cookie: Cookie) -> Bool {
        let host = CookieHost(name: cookie.domain)
        for (domain, shelf) in shelves where host.matches(domain) || CookieHost(name: domain).matches(cookie.domain) {
            for other in shelf where other.isSecure && other.name.utf8.elementsEqual(cookie.name.utf8) {
                if CookiePath.matches(request: cookie.path, cookie: other.path) { return true }
            }
        }
        return false
    }
}

extension Cookie {
    /// What a line says, held against where it came from (section 5.7, up to what concerns other cookies).
    init(_ received: SetCookie, from url: ResourceURL, at now: WallTime) throws(CookieRefusal) {
        let host = CookieHost(url)
        self.init(
            name: received.name, value: Self.secret(received.value, of: received.name), domain: host.name,
            isHostOnly: try Self.isHostOnly(received.domain, host), path: received.path ?? CookiePath.standard(of: url),
            expires: received.expires, created: now, lastUsed: now)
        if !isHostOnly { domain = received.domain }
        isSecure = received.isSecure
        isHTTPOnly = received.isHTTPOnly
        sameSite = received.sameSite
        if isSecure, !url.isSecure { throw .secureOverHTTP }
        if sameSite == .none, !isSecure { throw .sameSiteNoneNotSecure }
        try checkPrefix(namesPath: received.namesPath)
    }

    /// Every value is one, the job's own too: what names a session opens it.
    package static func secret(_ value: String, of name: String) -> SecretText {
        value.isEmpty ? "" : SecretText(pieces: [.secret(name: "cookie \(name)", value: value, hosts: nil)])
    }

    /// Whether a `Domain` that may be named says no more than the host does.
    private static func isHostOnly(_ domain: String, _ host: CookieHost) throws(CookieRefusal) -> Bool {
        if domain.isEmpty { return true }
        guard host.matches(domain) else { throw .otherDomain }
        if host.isAddress { return true }
        guard PublicSuffixes.contains(domain) else { return false }
        guard host.isNamed(domain) else { throw .publicSuffix }
        return true
    }

    /// A nameless cookie is sent as its value alone: it must not look like one with a prefix either.
    func checkPrefix(namesPath: Bool) throws(CookieRefusal) {
        let text = (name.isEmpty ? value.revealed : name).utf8
        let isHost = text.beginsWithWord("__host-")
        guard isHost || text.beginsWithWord("__secure-") else { return }
        guard !name.isEmpty, isSecure else { throw .prefix }
        if isHost, !isHostOnly || !namesPath || path != "/" { throw .prefix }
    }
}
