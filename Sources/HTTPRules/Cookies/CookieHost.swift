import TransferModel

/// A URL's host as cookies compare it: without a dot at its end, which makes no difference. (libcurl takes `com.` for a
/// registrable name, and so lets `example.com.` set cookies for all of `com.`.)
struct CookieHost {
    let name: String
    /// Whether the host is an IP address, which has no names below it.
    let isAddress: Bool

    init(_ url: ResourceURL) { self.init(name: url.host) }

    /// `name` in the form of ``ResourceURL``.
    init(name host: String) {
        let dotted = host.utf8.last == UInt8(ascii: ".")
        name = dotted ? String(host.dropLast()) : host
        isAddress = name.utf8.first == UInt8(ascii: "[") || name.utf8.allSatisfy { $0 == 0x2E || Self.isDigit($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Whether a cookie of this domain matches the host (RFC 6265bis, section 5.1.3).
    func matches(_ domain: String) -> Bool {
        isNamed(domain) || (!isAddress && Self.isName(name, below: domain))
    }

    /// Whether the name is `domain`, byte for byte: Swift takes the Kelvin sign for a `K`.
    func isNamed(_ domain: String) -> Bool { name.utf8.elementsEqual(domain.utf8) }

    static func isName(_ name: String, below domain: String) -> Bool {
        let (name, domain) = (name.utf8, domain.utf8)
        guard !domain.isEmpty, name.count > domain.count else { return false }
        let rest = name.dropLast(domain.count)
        return rest.last == UInt8(ascii: ".") && name.suffix(domain.count).elementsEqual(domain)
    }

    /// The name itself and all names above it, longest first: the domains that its cookies can have.
    var domains: [String] {
        if isAddress { return [name] }
        var domains = [name]
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            domains.append(String(Substring(rest)))
        }
        return domains
    }

    /// Whether both belong to one site: the same registrable domain, or the same host where there is none.
    func isSameSite(as other: CookieHost) -> Bool {
        if name == other.name { return true }
        if isAddress || other.isAddress { return false }
        guard let site = PublicSuffixes.registrableDomain(of: name) else { return false }
        return site == PublicSuffixes.registrableDomain(of: other.name)
    }
}

/// Compares paths of cookies (RFC 6265bis, section 5.1.4) as bytes: paths that only Unicode considers equal differ.
enum CookiePath {
    /// The default path of a cookie: the folder of the URL's path, without its last `/`.
    static func standard(of url: ResourceURL) -> String {
        let path = url.path
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    static func matches(request: String, cookie: String) -> Bool {
        let (request, cookie) = (request.utf8, cookie.utf8)
        guard request.starts(with: cookie) else { return false }
        return request.count == cookie.count || cookie.last == UInt8(ascii: "/")
            || request.dropFirst(cookie.count).first == UInt8(ascii: "/")
    }
}
