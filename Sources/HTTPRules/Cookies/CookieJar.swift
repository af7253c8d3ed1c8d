package import TransferModel

/// The cookies of one session (RFC 6265bis): what answers set goes in, `Cookie` headers come out.
///
/// It reads no clock, and each cookie in it is plain values: a store fills it with ``init(stored:at:)`` and follows
/// what ``take(_:from:at:accepting:)`` returns. What has ended is not told: who keeps a cookie knows its end.
package struct CookieJar: Sendable {
    package static let maximumPerDomain = 50
    package static let maximum = 3000

    /// By domain; a request looks up its host and the few names above it.
    var shelves: [String: [Cookie]] = [:]
    package private(set) var count = 0
    /// No cookie ends before; most turns of time end none.
    private var nextEnd = WallTime(nanoseconds: .max)
    private var lastCreated = WallTime(nanoseconds: .min)

    package init() {}

    /// With what an earlier run left, in any order, less what has ended since. Of too many the usual ones go.
    package init(stored: [Cookie], at now: WallTime) {
        for cookie in stored where !cookie.isExpired(at: now) {
            _ = put(cookie, created: cookie.created, at: now)
        }
    }

    package var isEmpty: Bool { count == 0 }

    /// All of them, in the order in which they came.
    package var cookies: [Cookie] { shelves.values.flatMap { $0 }.sorted { Self.isEarlier($0, $1) } }

    /// What may go to disk: neither cookies that end with the session nor those that the job brings along.
    package var persistent: [Cookie] { cookies.filter { $0.isPersistent } }

    /// The session is over.
    package mutating func removeSessionCookies() { removeAll { $0.expires == nil } }

    /// What has ended goes. Everything here that looks at cookies does this first.
    package mutating func removeExpired(at now: WallTime) {
        if nextEnd <= now { removeAll { $0.isExpired(at: now) } }
    }

    private mutating func removeAll(where isMeant: (Cookie) -> Bool) {
        for (domain, shelf) in shelves where shelf.contains(where: isMeant) {
            let rest = shelf.filter { !isMeant($0) }
            shelves[domain] = rest.isEmpty ? nil : rest
            count -= shelf.count - rest.count
        }
        nextEnd = shelves.values.joined().lazy.compactMap { $0.expires }.min() ?? WallTime(nanoseconds: .max)
    }

    // MARK: One cookie

    package subscript(id: Cookie.ID) -> Cookie? { place(of: id).flatMap { shelves[id.domain]?[$0] } }

    @discardableResult
    package mutating func remove(_ id: Cookie.ID) -> Cookie? {
        guard let place = place(of: id), let cookie = shelves[id.domain]?.remove(at: place) else { return nil }
        if shelves[id.domain]?.isEmpty == true { shelves[id.domain] = nil }
        count -= 1
        return cookie
    }

    private func place(of id: Cookie.ID) -> Int? { shelves[id.domain]?.firstIndex { $0.has(id) } }

    /// Puts it in the place of the one that is there under its identity and makes room. `created` is given for what comes
    /// from a store. Returned is what had to go.
    mutating func put(_ cookie: Cookie, created: WallTime? = nil, at now: WallTime) -> [Cookie.ID] {
        var cookie = cookie
        let old = remove(cookie.id)
        cookie.created = old?.created ?? created ?? max(now, lastCreated + TimeSpan(nanoseconds: 1))
        lastCreated = max(lastCreated, cookie.created)
        shelves[cookie.domain, default: []].append(cookie)
        count += 1
        if let end = cookie.expires { nextEnd = min(nextEnd, end) }
        return makeRoom(in: cookie.domain, at: now)
    }

    // MARK: Room

    /// In the order of section 5.7: what has ended, then (in an overfull domain) what is not `Secure`, then what was not
    /// used for longest.
    private mutating func makeRoom(in domain: String, at now: WallTime) -> [Cookie.ID] {
        guard (shelves[domain]?.count ?? 0) > Self.maximumPerDomain || count > Self.maximum else { return [] }
        removeExpired(at: now)
        var removed: [Cookie.ID] = []
        while let shelf = shelves[domain], shelf.count > Self.maximumPerDomain {
            let plain = shelf.filter { !$0.isSecure }
            guard let idlest = Self.idlest(plain.isEmpty ? shelf : plain) else { break }
            remove(idlest.id)
            removed.append(idlest.id)
        }
        while count > Self.maximum, let idlest = Self.idlest(shelves.values.joined()) {
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

    /// Two runs that share a store can make cookies at one moment: then their names decide.
    static func isEarlier(_ left: Cookie, _ right: Cookie) -> Bool {
        if left.created != right.created { return left.created < right.created }
        return left.id.description.utf8.lexicographicallyPrecedes(right.id.description.utf8)
    }
}
