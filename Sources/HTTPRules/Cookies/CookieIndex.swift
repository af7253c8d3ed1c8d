import TransferModel

/// The cookies of a jar: by identity, by domain, by their end, and by last use, in all and of each site.
///
/// The cost of an operation does not grow with the number of cookies, except that keeping the ends in order costs up to
/// the binary logarithm of it.
struct CookieIndex: Sendable {
    /// A cookie's position, valid until the cookie is removed.
    typealias Place = Int

    struct Entry: Sendable {
        var cookie: Cookie
        /// Whether the store has the cookie, in this or an earlier form.
        var isStored: Bool
        let site: String
        fileprivate var placeInDomain = 0
        /// Position in `ends`; `nil` for a cookie that ends with the session.
        fileprivate var placeInEnds: Int?
    }
    private struct Domain: Sendable {
        let site: String
        var places: [Place] = []
    }
    private struct Site: Sendable {
        var count = 0
        var plain = Chains.Ends()
        var secure = Chains.Ends()
    }

    private var entries: [Entry?] = []
    private var free: [Place] = []
    private var places: [Cookie.ID: Place] = [:]
    private var domains: [String: Domain] = [:]
    private var sites: [String: Site] = [:]
    /// All cookies, the least recently used first.
    private var uses = Chains.Ends()
    private var useOrder = Chains()
    private var siteOrder = Chains()
    /// A binary heap: the cookie that ends next comes first.
    private var ends: [Place] = []
    /// Number of elements that were looked at so far, by which tests measure the work.
    private(set) var steps = 0

    var count: Int { places.count }
    var all: some Sequence<Cookie> { entries.lazy.compactMap { $0?.cookie } }

    // MARK: Looking up

    subscript(place: Place) -> Entry? { entries[place] }

    func place(of id: Cookie.ID) -> Place? { places[id] }

    /// The cookies of exactly this domain, in no order.
    func places(in domain: String) -> [Place] { domains[domain]?.places ?? [] }

    func count(ofSite site: String) -> Int { sites[site]?.count ?? 0 }

    /// The site of a cookie's domain: its registrable domain, or the domain itself where there is none.
    func site(of domain: String) -> String {
        if let known = domains[domain] { return known.site }
        return CookieHost(name: domain).isAddress ? domain : PublicSuffixes.registrableDomain(of: domain) ?? domain
    }

    /// Whether one of a site's `Secure` cookies is meant.
    mutating func containsSecure(ofSite site: String, where isMeant: (Cookie) -> Bool) -> Bool {
        var next = sites[site]?.secure.first
        while let place = next {
            steps += 1
            if let cookie = entries[place]?.cookie, isMeant(cookie) { return true }
            next = siteOrder.following(place)
        }
        return false
    }

    /// The cookie that ends next; `nil` when all end with the session.
    var nextEnd: Place? { ends.first }

    /// The least recently used cookie.
    var oldest: Place? { uses.first }

    /// The cookie of a site that goes first: the least recently used of those that are not `Secure`, else of all.
    func oldest(ofSite site: String) -> Place? { sites[site]?.plain.first ?? sites[site]?.secure.first }

    // MARK: Changing

    /// Adds a cookie as the last used one; no other has its identity.
    mutating func insert(_ cookie: Cookie, isStored: Bool) {
        steps += 1
        let site = site(of: cookie.domain)
        var entry = Entry(cookie: cookie, isStored: isStored, site: site)
        let place = free.popLast() ?? entries.count
        if place == entries.count { entries.append(nil) }
        entry.placeInDomain = domains[cookie.domain]?.places.count ?? 0
        entries[place] = entry
        places[cookie.id] = place
        domains[cookie.domain, default: Domain(site: site)].places.append(place)
        sites[site, default: Site()].count += 1
        link(place, isSecure: cookie.isSecure, site)
        if cookie.expires != nil {
            ends.append(place)
            rise(from: ends.count - 1)
        }
    }

    @discardableResult
    mutating func remove(_ place: Place) -> Entry? {
        guard let entry = entries[place] else { return nil }
        steps += 1
        unlink(place, isSecure: entry.cookie.isSecure, entry.site)
        if let end = entry.placeInEnds { removeEnd(at: end) }
        leaveDomain(place, entry)
        sites[entry.site]?.count -= 1
        if count(ofSite: entry.site) == 0 { sites[entry.site] = nil }
        places[entry.cookie.id] = nil
        entries[place] = nil
        free.append(place)
        return entry
    }

    /// Makes a cookie the last used one.
    mutating func use(_ place: Place, at now: WallTime) {
        guard let entry = entries[place] else { return }
        steps += 1
        entries[place]?.cookie.lastUsed = now
        unlink(place, isSecure: entry.cookie.isSecure, entry.site)
        link(place, isSecure: entry.cookie.isSecure, entry.site)
    }

    mutating func setStored(_ place: Place, _ isStored: Bool) { entries[place]?.isStored = isStored }

    private mutating func link(_ place: Place, isSecure: Bool, _ site: String) {
        useOrder.append(place, to: &uses)
        if isSecure {
            siteOrder.append(place, to: &sites[site, default: Site()].secure)
        } else {
            siteOrder.append(place, to: &sites[site, default: Site()].plain)
        }
    }

    private mutating func unlink(_ place: Place, isSecure: Bool, _ site: String) {
        useOrder.remove(place, from: &uses)
        if isSecure {
            siteOrder.remove(place, from: &sites[site, default: Site()].secure)
        } else {
            siteOrder.remove(place, from: &sites[site, default: Site()].plain)
        }
    }

    /// Removes a place from its domain's list; the last one takes its position.
    private mutating func leaveDomain(_ place: Place, _ entry: Entry) {
        let domain = entry.cookie.domain
        guard let last = domains[domain]?.places.popLast() else { return }
        if last != place {
            domains[domain]?.places[entry.placeInDomain] = last
            entries[last]?.placeInDomain = entry.placeInDomain
        }
        if domains[domain]?.places.isEmpty == true { domains[domain] = nil }
    }

    // MARK: Ends

    private func end(at index: Int) -> WallTime? { entries[ends[index]]?.cookie.expires }

    private func endsEarlier(_ left: Int, _ right: Int) -> Bool {
        guard let one = end(at: left), let other = end(at: right) else { return false }
        return one < other
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0, endsEarlier(index, (index - 1) / 2) {
            swapEnds(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
        entries[ends[index]]?.placeInEnds = index
    }

    private mutating func sink(from start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < ends.count && endsEarlier(child, least) {
                least = child
            }
            if least == index { break }
            swapEnds(index, least)
            index = least
        }
        entries[ends[index]]?.placeInEnds = index
    }

    private mutating func swapEnds(_ left: Int, _ right: Int) {
        steps += 1
        ends.swapAt(left, right)
        entries[ends[left]]?.placeInEnds = left
        entries[ends[right]]?.placeInEnds = right
    }

    private mutating func removeEnd(at index: Int) {
        let last = ends.count - 1
        if index != last { swapEnds(index, last) }
        ends.removeLast()
        guard index < last else { return }
        sink(from: index)
        rise(from: index)
    }
}

/// Doubly linked chains of small numbers, each number in at most one chain.
struct Chains: Sendable {
    /// First and last number of a chain; `nil` for an empty one.
    struct Ends: Sendable {
        fileprivate(set) var first: Int?
        fileprivate(set) var last: Int?
    }
    private var before: [Int?] = []
    private var after: [Int?] = []

    func following(_ number: Int) -> Int? { after[number] }

    mutating func append(_ number: Int, to chain: inout Ends) {
        while after.count <= number {
            before.append(nil)
            after.append(nil)
        }
        (before[number], after[number]) = (chain.last, nil)
        if let last = chain.last { after[last] = number } else { chain.first = number }
        chain.last = number
    }

    mutating func remove(_ number: Int, from chain: inout Ends) {
        if let earlier = before[number] { after[earlier] = after[number] } else { chain.first = after[number] }
        if let later = after[number] { before[later] = before[number] } else { chain.last = before[number] }
    }
}
