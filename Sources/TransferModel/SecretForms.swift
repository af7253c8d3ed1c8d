/// The other forms in which a secret may turn up: as a URL comes to spell it, with other line ends, and parts by which
/// it can be recognised.
struct SecretForms {
    /// All of the secret, spelled in another way.
    private(set) var whole: Set<String> = []
    /// Lines of the secret, and parts of a URL that look like a key.
    private(set) var parts: Set<String> = []

    private static let longestURL = 8192
    /// Least bytes of a host name; a shorter one in small letters may be any word.
    private static let shortestHost = 8
    private static let shortestLine = 8
    private static let shortestPart = 12

    init(_ value: String) {
        let bytes = value.utf8
        if bytes.contains(0x0A) { addLines(of: value) }
        guard bytes.count <= Self.longestURL, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return }
        if bytes.contains(where: { Self.isOfURLs($0) }) { addURLs(of: value) }
        if bytes.count >= Self.shortestHost, let host = HostName.ascii(value) { add(host, of: value) }
        whole.remove(value)
        parts.remove(value)
    }

    // MARK: Lines

    /// Adds the secret with other line ends, which a server may send it back with, and its lines.
    private mutating func addLines(of value: String) {
        var lines: [String] = []
        for line in value.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            lines.append(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
        for ending in ["\n", "\r\n"] { whole.insert(lines.joined(separator: ending)) }
        // The first and last line of a key say what kind of key it is, as those of any other key do.
        parts.formUnion(lines.filter { $0.utf8.count >= Self.shortestLine && !$0.hasPrefix("-----") })
    }

    // MARK: URLs

    private static func isOfURLs(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "&"), UInt8(ascii: "="),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Adds the secret as it comes to stand in a URL: as all of it, from the host on, or in the path.
    private mutating func addURLs(of value: String) {
        if let url = try? ResourceURL.parse(value) {
            add(url.text, of: value)
            return addParts(of: url)
        }
        if let url = try? ResourceURL.parse("http://" + value) {
            add(String(url.text.dropFirst("http://".count)), of: value)
        }
        let path = value.hasPrefix("/") ? String(value.dropFirst()) : value
        if let url = try? ResourceURL.parse("http://h/" + path) {
            add(String(url.text.dropFirst("http://h/".count)), of: value)
            addParts(of: url)
        }
    }

    /// Adds a form, unless so little is left (of a mere fragment, or of dots that lead up) that it could be anything. A
    /// form that only got a slash at its end is found as the secret itself.
    private mutating func add(_ form: String, of value: String) {
        if form.utf8.starts(with: value.utf8) { return }
        if form.utf8.count >= 8 || form.utf8.count * 2 >= value.utf8.count { whole.insert(form) }
    }

    /// Adds components of the path and values of the query. A component with a dot is taken for a file name and not for
    /// a key.
    private mutating func addParts(of url: ResourceURL) {
        for component in url.path.split(separator: "/") where !component.utf8.contains(UInt8(ascii: ".")) {
            addPart(String(component))
        }
        for field in (url.query ?? "").split(separator: "&") {
            let value = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last
            addPart(value.map { String($0) } ?? "")
        }
    }

    /// Adds a part that is long enough and holds a digit; others may be words.
    private mutating func addPart(_ written: String) {
        let part = PercentEncoding.decode(written) ?? written
        guard part.utf8.count >= Self.shortestPart, part.utf8.contains(where: { (0x30...0x39).contains($0) }) else {
            return
        }
        parts.insert(part)
    }
}
