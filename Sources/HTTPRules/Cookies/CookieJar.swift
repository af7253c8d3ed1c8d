package import TransferModel

/// The cookies of one session (RFC 6265bis): stores those that answers set, and makes `Cookie` headers.
///
/// It reads no clock, and its cookies are plain values: a store fills it with ``init(stored:at:)`` and records what
/// ``take(_:from:at:accepting:)`` returns. Expired cookies are not reported, because the store knows their expiry.
package struct CookieJar: Sendable {
    /// Cookies of one domain, at most.
    package static let maximumPerDomain = 50
    /// Cookies of one jar, at most.
    package static let maximum = 3000

    /// Cookies by domain; a request looks up its host and the few names above it.
    var cookiesByDomain: [String: [Cookie]] = [:]
    /// Number of cookies.
    package private(set) var count = 0
    /// Time before which no cookie expires, so that most calls need not check each.
    private var nextEnd = WallTime(nanoseconds: .max)
    private var lastCreated = WallTime(nanoseconds: .min)

    package init() {}

    /// Takes over the cookies of an earlier run, in any order, without the expired ones. Of too many the usual ones are
    /// removed.
    package init(stored: [Cookie], at now: WallTime) {
        for cookie in stored where !cookie.isExpired(at: now) {
            _ = put(cookie, created: cookie.created, at: now)
        }
    }

    /// Whether the jar has no cookies.
    package var isEmpty: Bool { count == 0 }

    /// All cookies, in the order of arrival.
    package var cookies: [Cookie] { cookiesByDomain.values.flatMap { $0 }.sorted { Self.isEarlier($0, $1) } }

    /// Cookies that may be written to disk: without those that end with the session or that the job sets.
    package var persistent: [Cookie] { cookies.filter { $0.isPersistent } }

    /// Removes the cookies that end with the session.
    package mutating func removeSessionCookies() { removeAll { $0.expires == nil } }

    /// Removes expired cookies; called before cookies are sent or stored.
    package mutating func removeExpired(at now: WallTime) {
        if nextEnd <= now { removeAll { $0.isExpired(at: now) } }
    }

    private mutating func removeAll(where isMeant: (Cookie) -> Bool) {
        for (domain, stored) in cookiesByDomain where stored.contains(where: isMeant) {
            let rest = stored.filter { !isMeant($0) }
            cookiesByDomain[domain] = rest.isEmpty ? nil : rest
            count -= stored.count - rest.count
        }
        nextEnd = cookiesByDomain.values.joined().lazy.compactMap { $0.expires }.min() ?? WallTime(nanoseconds: .max)
    }

    // MARK: One cookie

    /// The cookie with this id, or `nil`.
    package subscript(id: Cookie.ID) -> Cookie? { place(of: id).flatMap { cookiesByDomain[id.domain]?[$0] } }

    /// Removes and returns the cookie with this id.
    @discardableResult
    package mutating func remove(_ id: Cookie.ID) -> Cookie? {
        guard let place = place(of: id), let cookie = cookiesByDomain[id.domain]?.remove(at: place) else { return nil }
        if cookiesByDomain[id.domain]?.isEmpty == true { cookiesByDomain[id.domain] = nil }
        count -= 1
        return cookie
    }

    private func place(of id: Cookie.ID) -> Int? { cookiesByDomain[id.domain]?.firstIndex { $0.has(id) } }

    /// Stores a cookie in place of the one with its id and returns those removed to make room. `created` is given for a
    /// cookie from a store.
    mutating func put(_ cookie: Cookie, created: WallTime? = nil, at now: WallTime) -> [Cookie.ID] {
        var cookie = cookie
        let old = remove(cookie.id)
        cookie.created = old?.created ?? created ?? max(now, lastCreated + TimeSpan(nanoseconds: 1))
        lastCreated = max(lastCreated, cookie.created)
        cookiesByDomain[cookie.domain, default: []].append(cookie)
        count += 1
        if let end = cookie.expires { nextEnd = min(nextEnd, end) }
        return makeRoom(in: cookie.domain, at: now)
    }

    // MARK: Room

    /// Removes surplus cookies in the order of section 5.7: expired ones, then (in a domain with too many) those that
    /// are not `Secure`, then those not used for longest.
    private mutating func makeRoom(in domain: String, at now: WallTime) -> [Cookie.ID] {
        guard (cookiesByDomain[domain]?.count ?? 0) > Self.maximumPerDomain || count > Self.maximum else { return [] }
        removeExpired(at: now)
        var removed: [Cookie.ID] = []
        while let stored = cookiesByDomain[domain], stored.count > Self.maximumPerDomain {
            let plain = stored.filter { !$0.isSecure }
            guard let idlest = Self.idlest(plain.isEmpty ? stored : plain) else { break }
            remove(idlest.id)
            removed.append(idlest.id)
        }
        while count > Self.maximum, let idlest = Self.idlest(cookiesByDomain.values.joined()) {
            remove(idlest.id)
            removed.append(idlest.id)
        }
        return removed
    }

    private static func idlest(_ cookies: some Sequence<Cookie>) -> Cookie? {
        cookies.min { left, right in
            left.lastUsed == right.lastUsed ? isEarlier(left, right) : left.lastUsed < right.lastUsed
        }
    }

    /// Orders by arrival. Two runs that share a store can create cookies at one moment: then their names decide.
    static func isEarlier(_ left: Cookie, _ right: Cookie) -> Bool {
        if left.created != right.created { return left.created < right.created }
        return left.id.description.utf8.lexicographicallyPrecedes(right.id.description.utf8)
    }
}
