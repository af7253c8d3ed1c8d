package import TransferModel

/// The hosts that required https for all requests, by a header in an https answer (RFC 6797).
///
/// The header is ignored in an http answer and from a host that is an IP address.
package struct StrictTransport: Sendable {
    /// One host's requirement.
    package struct Entry: Hashable, Sendable {
        /// Host name in lower case and ASCII, without a dot at the end.
        package let host: String
        /// Time at which the requirement ends.
        package let expires: WallTime
        /// Whether the names below the host are covered too.
        package let coversSubdomains: Bool
        package init(host: String, expires: WallTime, coversSubdomains: Bool) {
            self.host = host
            self.expires = expires
            self.coversSubdomains = coversSubdomains
        }
    }

    /// A change that an answer made, for the store.
    package enum Change: Hashable, Sendable {
        case noted(Entry)
        case removed(host: String)
    }

    /// Hosts that are remembered, at most, so that a server with a wildcard name cannot fill the memory.
    package static let maximum = 10_000
    /// Longest time for which a requirement counts.
    static let longest = TimeSpan.seconds(10 * 365 * 86_400)

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Takes over what earlier runs recorded, without the entries that have expired.
    package init(stored: [Entry], at now: WallTime) {
        for entry in stored.prefix(Self.maximum) where entry.expires > now { entries[entry.host] = entry }
    }

    /// Whether no host requires https.
    package var isEmpty: Bool { entries.isEmpty }
    /// All entries, sorted by host.
    package var all: [Entry] { entries.values.sorted { $0.host < $1.host } }

    /// Returns the https URL to which a request to `url` must go; `nil` when it may go as it is. Port 80 becomes 443,
    /// another stays.
    package func secured(_ url: ResourceURL, at now: WallTime) -> ResourceURL? {
        guard !entries.isEmpty, url.schemeIs("http"), let host = Self.host(url), covers(host, at: now) else {
            return nil
        }
        return url.secured
    }

    private func covers(_ host: CookieHost, at now: WallTime) -> Bool {
        host.domains.contains { domain in
            guard let entry = entries[domain], entry.expires > now else { return false }
            return entry.coversSubdomains || host.isNamed(domain)
        }
    }

    /// Learns from an answer from `url` and returns the change, or `nil` when nothing changed that is worth recording.
    /// The caller must have checked that the connection is trusted.
    package mutating func take(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) -> Change? {
        guard url.isSecure, let value = headers.first("strict-transport-security"), let host = Self.host(url)?.name,
            let directives = Directives(value)
        else { return nil }
        guard directives.age > .zero else {
            return entries.removeValue(forKey: host).map { .removed(host: $0.host) }
        }
        let entry = Entry(
            host: host, expires: now + directives.age,
            coversSubdomains: directives.coversSubdomains)
        let old = entries[host]
        if old == nil, entries.count >= Self.maximum { makeRoom(at: now) }
        entries[host] = entry
        // Every answer repeats the header: a change of the end by less than a day is not recorded.
        if let old, old.coversSubdomains == entry.coversSubdomains, old.expires > now,
            entry.expires - old.expires < .seconds(86_400), old.expires - entry.expires < .seconds(86_400)
        {
            return nil
        }
        return .noted(entry)
    }

    private mutating func makeRoom(at now: WallTime) {
        entries = entries.filter { $0.value.expires > now }
        if entries.count >= Self.maximum, let first = entries.values.min(by: { $0.expires < $1.expires }) {
            entries[first.host] = nil
        }
    }

    private static func host(_ url: ResourceURL) -> CookieHost? {
        let host = CookieHost(url)
        return host.isAddress || host.name.isEmpty ? nil : host
    }

    /// The directives of the header (RFC 6797, section 6.1): each once, `max-age` required, unknown ones skipped.
    struct Directives {
        var age = TimeSpan.zero
        var coversSubdomains = false

        init?(_ value: String) {
            var seen: Set<String> = []
            for part in value.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                    .map { String($0.trimmed()) }
                guard let name = pair.first?.lowercased(), !name.isEmpty else { continue }
                guard seen.insert(name).inserted else { return nil }
                switch name {
                case "max-age":
                    guard pair.count == 2, let seconds = Self.seconds(pair[1]) else { return nil }
                    age = seconds
                case "includesubdomains":
                    guard pair.count == 1 else { return nil }
                    coversSubdomains = true
                default: break
                }
            }
            guard seen.contains("max-age") else { return nil }
        }

        private static func seconds(_ text: String) -> TimeSpan? {
            var digits = text.utf8[...]
            if digits.count >= 2, digits.first == 0x22, digits.last == 0x22 { digits = digits.dropFirst().dropLast() }
            guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            // More digits than a number holds count as the longest time.
            guard let count = Int64(String(decoding: digits, as: UTF8.self)) else { return longest }
            return .seconds(min(count, longest.nanoseconds / 1_000_000_000))
        }
    }
}
