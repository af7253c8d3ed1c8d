package import TransferModel

/// The cookies of one session (RFC 6265bis): stores those that answers set, and makes `Cookie` headers.
///
/// It reads no clock, and its cookies are plain values: a store fills it with ``init(stored:at:)`` and records what
/// ``takeChanges()`` returns. It is bounded, and a cookie costs the same to add however many there are.
package struct CookieJar: Sendable {
    /// Cookies of one site, at most: of a registrable domain with all names below it, so that a server cannot fill the
    /// jar from many names.
    package static let maximumPerSite = 180
    /// Cookies of one jar, at most.
    package static let maximum = 3000

    var index = CookieIndex()
    /// Cookies that the store has in another form than the jar, or that one of the two lacks. The value says whether
    /// the store has the cookie.
    private var unrecorded: [Cookie.ID: Bool] = [:]
    private var lastCreated = WallTime(nanoseconds: .min)

    package init() {}

    /// Takes over the cookies of an earlier run, in any order, without the expired ones. Of too many the usual ones are
    /// removed, and ``takeChanges()`` returns them.
    package init(stored: [Cookie], at now: WallTime) {
        let byUse = stored.sorted { left, right in
            left.lastUsed == right.lastUsed ? Self.isEarlier(left, right) : left.lastUsed < right.lastUsed
        }
        for cookie in byUse where !cookie.isExpired(at: now) {
            put(cookie, created: cookie.created, isStored: true, at: now)
            makeRoom(for: cookie, at: now)
        }
    }

    /// Number of cookies.
    package var count: Int { index.count }
    /// Whether the jar has no cookies.
    package var isEmpty: Bool { count == 0 }
    /// Number of cookies that were looked at so far, by which tests measure the work.
    package var steps: Int { index.steps }

    /// All cookies, in the order of arrival.
    package var cookies: [Cookie] { index.all.sorted { Self.isEarlier($0, $1) } }

    /// Cookies that may be written to disk: without those that end with the session or that the job sets.
    package var persistent: [Cookie] { cookies.filter { $0.isPersistent } }

    /// Removes expired cookies; called before cookies are sent or stored. The store removes those by itself whose end
    /// it knows; one that it has with another end stays noted.
    package mutating func removeExpired(at now: WallTime) {
        while let next = index.nextEnd, index[next]?.cookie.isExpired(at: now) == true {
            guard let ended = index.remove(next), unrecorded[ended.cookie.id] != nil else { continue }
            noteChange(of: ended.cookie.id, wasStored: ended.isStored)
        }
    }

    // MARK: One cookie

    /// The cookie with this id, or `nil`.
    package subscript(id: Cookie.ID) -> Cookie? { index.place(of: id).flatMap { index[$0]?.cookie } }

    /// Removes and returns the cookie with this id.
    @discardableResult
    package mutating func remove(_ id: Cookie.ID) -> Cookie? { removeEntry(id)?.cookie }

    mutating func removeEntry(_ id: Cookie.ID) -> CookieIndex.Entry? {
        index.place(of: id).flatMap { index.remove($0) }
    }

    /// Stores a cookie in place of the one with its id; ``makeRoom(for:at:)`` follows. `created` is given for a cookie
    /// from a store.
    mutating func put(_ cookie: Cookie, created: WallTime? = nil, isStored: Bool = false, at now: WallTime) {
        var cookie = cookie
        let old = removeEntry(cookie.id)
        cookie.created = old?.cookie.created ?? created ?? max(now, lastCreated + TimeSpan(nanoseconds: 1))
        lastCreated = max(lastCreated, cookie.created)
        index.insert(cookie, isStored: isStored || old?.isStored == true)
    }

    /// Orders by arrival. Two runs that share a store can create cookies at one moment: then their names decide.
    static func isEarlier(_ left: Cookie, _ right: Cookie) -> Bool {
        if left.created != right.created { return left.created < right.created }
        return left.id.description.utf8.lexicographicallyPrecedes(right.id.description.utf8)
    }

    // MARK: Room

    /// After `cookie` was added, removes the one that is too many, if there is one: expired ones go first, then (of a
    /// site with too many) those that are not `Secure`, then those not used for longest (section 5.7).
    @discardableResult
    mutating func makeRoom(for cookie: Cookie, at now: WallTime) -> Cookie.ID? {
        let site = index.site(of: cookie.domain)
        func isFull() -> Bool { index.count(ofSite: site) > Self.maximumPerSite || index.count > Self.maximum }
        if isFull() { removeExpired(at: now) }
        guard isFull() else { return nil }
        let isOfSite = index.count(ofSite: site) > Self.maximumPerSite
        guard let oldest = isOfSite ? index.oldest(ofSite: site) : index.oldest, let entry = index.remove(oldest)
        else { return nil }
        noteChange(of: entry.cookie.id, wasStored: entry.isStored)
        return entry.cookie.id
    }

    // MARK: The store

    /// Notes that the store has to write or remove a cookie; nothing for one that it never had and need not have, so
    /// that a flood of cookies between two writes costs it no more than the jar holds.
    mutating func noteChange(of id: Cookie.ID, wasStored: Bool) {
        let isStored = wasStored || unrecorded[id] == true
        unrecorded[id] = isStored || self[id]?.isPersistent == true ? isStored : nil
    }

    /// Whether ``takeChanges()`` has something to return.
    package var hasChanges: Bool { !unrecorded.isEmpty }

    /// Returns what the store has to write and to remove since the last call, in no order.
    package mutating func takeChanges() -> [SessionState.Change] {
        let ids = unrecorded.keys
        unrecorded = [:]
        var changes: [SessionState.Change] = []
        for id in ids {
            let place = index.place(of: id)
            let kept = place.flatMap { index[$0]?.cookie }.flatMap { $0.isPersistent ? $0 : nil }
            if let place { index.setStored(place, kept != nil) }
            changes.append(kept.map { .cookie($0) } ?? .noCookie(id))
        }
        return changes
    }
}
