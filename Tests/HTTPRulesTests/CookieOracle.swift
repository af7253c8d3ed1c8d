/// Cookies written down once more, the slow and obvious way: one list, text by text, nothing shared with the jar. What it
/// knows of the world is what the random tests put into it: a few suffixes, a few dates.
struct CookieOracle {
    struct Entry: Equatable {
        var name: String
        var value: String
        var domain: String
        var hostOnly: Bool
        var path: String
        /// Milliseconds, as all times here.
        var end: Int?
        var secure: Bool
        var number: Int
        /// Counts uses, as the order in which cookies go asks for no more.
        var used: Int
    }

    struct Place {
        var https: Bool
        var host: String
        var path: String
    }

    static let suffixes: Set<String> = ["com", "org", "uk", "co.uk", "io", "github.io", "localhost"]
    static let addresses: Set<String> = ["10.0.0.1", "[::1]"]
    /// From the test's first moment, 2026-11-21 07:00 UTC; -1 is past, `nil` no date.
    static let dates: [(text: String, end: Int?)] = [
        ("Sat, 21 Nov 2026 07:00:02 GMT", 2_000), ("21-nov-26 7:1:0", 60_000), ("Thu, 01 Jan 1970 00:00:00 GMT", -1),
        ("soon", nil), ("", nil), ("31 Feb 2027 00:00:00", nil),
    ]

    var entries: [Entry] = []
    private var made = 0
    private var uses = 0

    /// The registrable domain, or the domain itself.
    static func site(_ domain: String) -> String {
        if addresses.contains(domain) || suffixes.contains(domain) { return domain }
        var site = domain
        while let dot = site.firstIndex(of: ".") {
            let above = String(site[site.index(after: dot)...])
            if suffixes.contains(above) { return site }
            site = above
        }
        return site
    }

    private mutating func nextUse() -> Int {
        uses += 1
        return uses
    }

    // MARK: Taking

    mutating func set(_ line: String, from place: Place, now: Int) {
        entries.removeAll { ($0.end ?? .max) <= now }
        guard var entry = Self.entry(line, place, now: now) else { return }
        if !place.https, !entry.secure, entries.contains(where: { Self.hides(entry, $0) }) { return }
        if let old = entries.firstIndex(where: { Self.isSame($0, entry) }) {
            entry.number = entries[old].number
            entries.remove(at: old)
        } else {
            made += 1
            entry.number = made
        }
        if (entry.end ?? .max) <= now { return }
        entry.used = nextUse()
        entries.append(entry)
        let site = Self.site(entry.domain)
        while entries.filter({ Self.site($0.domain) == site }).count > 180 { evict(from: site) }
    }

    private mutating func evict(from site: String) {
        let all = entries.filter { Self.site($0.domain) == site }
        let plain = all.filter { !$0.secure }
        let victim = (plain.isEmpty ? all : plain).sorted { $0.used < $1.used }[0]
        entries.removeAll { $0 == victim }
    }

    private static func isSame(_ left: Entry, _ right: Entry) -> Bool {
        left.name == right.name && left.domain == right.domain && left.path == right.path
            && left.hostOnly == right.hostOnly
    }

    private static func hides(_ new: Entry, _ old: Entry) -> Bool {
        old.secure && old.name == new.name && pathMatches(new.path, old.path) && site(old.domain) == site(new.domain)
            && (domainMatches(new.domain, old.domain) || domainMatches(old.domain, new.domain))
    }

    private static func entry(_ line: String, _ place: Place, now: Int) -> Entry? {
        let parts = line.components(";")
        var (name, value) = halves(parts[0])
        if value == nil { (name, value) = ("", name) }
        guard let value, !(name.isEmpty && value.isEmpty), name.utf8.count + value.utf8.count <= 4096 else {
            return nil
        }
        let attributes = parts.dropFirst().map { halves($0) }.map { ($0.0.lowercased(), $0.1 ?? "") }
        func last(_ wanted: String) -> String? { attributes.last { $0.0 == wanted }?.1 }

        var domain = (last("domain") ?? "").lowercased()
        if domain.hasPrefix(".") { domain.removeFirst() }
        var hostOnly = domain.isEmpty
        if !hostOnly {
            guard domainMatches(place.host, domain) else { return nil }
            if addresses.contains(domain) { hostOnly = true }
            if suffixes.contains(domain) {
                guard domain == place.host else { return nil }
                hostOnly = true
            }
        }
        var path = last("path") ?? ""
        if !path.hasPrefix("/") { path = standardPath(place.path) }
        let secure = last("secure") != nil
        if secure, !place.https { return nil }
        if last("samesite")?.lowercased() == "none", !secure { return nil }
        let said = (name.isEmpty ? value : name).lowercased()
        if said.hasPrefix("__secure-") || said.hasPrefix("__host-"), name.isEmpty || !secure { return nil }
        if said.hasPrefix("__host-"), !hostOnly || path != "/" || last("path") == nil { return nil }
        return Entry(
            name: name, value: value, domain: hostOnly ? place.host : domain, hostOnly: hostOnly, path: path,
            end: end(attributes, now: now), secure: secure, number: 0, used: 0)
    }

    private static func end(_ attributes: [(String, String)], now: Int) -> Int? {
        let ages = attributes.filter { $0.0 == "max-age" }.compactMap { Int($0.1) }
        if let age = ages.last { return age <= 0 ? -1 : now + min(age, 34_560_000) * 1000 }
        let said = attributes.filter { $0.0 == "expires" }
        return said.compactMap { said in dates.first { $0.text == said.1 }?.end }.last
    }

    private static func halves(_ text: String) -> (String, String?) {
        let halves = text.components("=")
        let name = halves[0].trimmed
        return halves.count == 1 ? (name, nil) : (name, halves.dropFirst().joined(separator: "=").trimmed)
    }

    private static func standardPath(_ path: String) -> String {
        let folders = path.components("/").dropLast()
        return folders.count < 2 ? "/" : folders.joined(separator: "/")
    }

    private static func domainMatches(_ host: String, _ domain: String) -> Bool {
        host == domain || (!addresses.contains(host) && host.hasSuffix("." + domain))
    }

    private static func pathMatches(_ path: String, _ own: String) -> Bool {
        path == own || path.hasPrefix(own.hasSuffix("/") ? own : own + "/")
    }

    // MARK: Sending

    mutating func header(to place: Place, now: Int) -> String {
        entries.removeAll { ($0.end ?? .max) <= now }
        let sent = entries.filter { entry in
            (entry.hostOnly ? entry.domain == place.host : Self.domainMatches(place.host, entry.domain))
                && Self.pathMatches(place.path, entry.path) && (place.https || !entry.secure)
        }
        let ordered = sent.sorted { ($1.path.utf8.count, $0.number) < ($0.path.utf8.count, $1.number) }
        for one in ordered {
            guard let index = entries.firstIndex(where: { $0.number == one.number }) else { continue }
            entries[index].used = nextUse()
        }
        return ordered.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
}

extension String {
    fileprivate func components(_ separator: Character) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
    }

    fileprivate var trimmed: String {
        var text = self[...]
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
