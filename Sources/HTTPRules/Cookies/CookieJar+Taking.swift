package import TransferModel

/// What became of a cookie that a server sent.
package enum CookieOutcome: Hashable, Sendable {
    /// Stored; `replaced` says whether a cookie with this id was there before.
    case kept(Cookie.ID, replaced: Bool)
    /// Deleted by the server, which sent it with an expiry in the past.
    case removed(Cookie.ID)
    /// Removed because there were too many.
    case evicted(Cookie.ID)
    /// Not stored, for this reason.
    case refused(name: String, CookieRefusal)
}

extension CookieJar {
    /// Stores the cookies of an answer of any status, as far as `policy` allows it.
    package mutating func take(
        _ headers: HeaderBlock, from url: ResourceURL, at now: WallTime, accepting policy: CookieAcceptance
    ) -> [CookieOutcome] {
        var outcomes: [CookieOutcome] = []
        var isAllowed: Bool?
        for line in headers.lines where headers.isNamed(line, "set-cookie") {
            // Most answers set none, so the policy is checked only for the first.
            let allowed = isAllowed ?? (url.isHTTP && policy.allows(url))
            isAllowed = allowed
            guard allowed else { break }
            let value = Array(headers.bytes[Int(line.valueStart)..<Int(line.valueEnd)])
            outcomes += take(setCookie: value, from: url, at: now)
        }
        return outcomes
    }

    /// Stores the cookie of one line, whose value is `setCookie`.
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
        let id = cookie.id
        let old = index.place(of: id).flatMap { index[$0] }
        let isRemoval = cookie.isExpired(at: now)
        if isRemoval { remove(id) } else { put(cookie, at: now) }
        noteChange(of: id, wasStored: old?.isStored == true)
        if isRemoval { return old == nil ? [] : [.removed(id)] }
        let evicted = makeRoom(for: cookie, at: now)
        return [.kept(id, replaced: old != nil)] + (evicted.map { [.evicted($0)] } ?? [])
    }

    /// Whether a cookie from an http answer would shadow one that only https may set ("leave secure cookies alone"): a
    /// `Secure` one of its name and site, of a domain above or below, for some of its paths.
    private mutating func hidesSecureCookie(_ cookie: Cookie) -> Bool {
        let host = CookieHost(name: cookie.domain)
        return index.containsSecure(ofSite: index.site(of: cookie.domain)) { other in
            other.name.utf8.elementsEqual(cookie.name.utf8)
                && CookiePath.matches(request: cookie.path, cookie: other.path)
                && (host.matches(other.domain) || CookieHost(name: other.domain).matches(cookie.domain))
        }
    }
}

extension Cookie {
    /// Makes the cookie of a line after checking it against the URL that sent it (section 5.7, without the checks
    /// against other cookies).
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

    /// Marks a cookie's value as secret. Every value is one, the job's own too: it gives access to a session.
    package static func secret(_ value: String, of name: String) -> SecretText {
        value.isEmpty ? "" : SecretText(pieces: [.secret(name: "cookie \(name)", value: value, hosts: nil)])
    }

    /// Whether an allowed `Domain` names no more than the host itself.
    private static func isHostOnly(_ domain: String, _ host: CookieHost) throws(CookieRefusal) -> Bool {
        if domain.isEmpty { return true }
        guard host.matches(domain) else { throw .otherDomain }
        if host.isAddress { return true }
        guard PublicSuffixes.contains(domain) else { return false }
        guard host.isNamed(domain) else { throw .publicSuffix }
        return true
    }

    /// Checks the name's prefix. A nameless cookie is sent as its value alone, which must not look like a name with a
    /// prefix.
    func checkPrefix(namesPath: Bool) throws(CookieRefusal) {
        let text = (name.isEmpty ? value.revealed : name).utf8
        let isHost = text.beginsWithWord("__host-")
        guard isHost || text.beginsWithWord("__secure-") else { return }
        guard !name.isEmpty, isSecure else { throw .prefix }
        if isHost, !isHostOnly || !namesPath || path != "/" { throw .prefix }
    }
}
