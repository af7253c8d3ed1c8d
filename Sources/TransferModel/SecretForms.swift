/// What else of a secret may turn up than its own text: what a URL makes of it, other line ends, and parts of it by which
/// it is known.
struct SecretForms {
    /// All of it, written in another way.
    private(set) var whole: Set<String> = []
    /// Lines of it, and parts of a URL that look like a key.
    private(set) var parts: Set<String> = []

    private static let longestURL = 8192
    /// In small letters a shorter one is some word.
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

    /// A server may send a key back with the line ends of its own, or a line of it.
    private mutating func addLines(of value: String) {
        var lines: [String] = []
        for line in value.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            lines.append(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
        for ending in ["\n", "\r\n"] { whole.insert(lines.joined(separator: ending)) }
        // Its first and last line say what kind of key it is, as those of any other do.
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

    /// As it comes to stand in a URL: as all of it, from its host on, or in its path.
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

    /// What little is left of one (all but a fragment, dots that lead up) could be anything. Where only a slash came
    /// to it, it is found as it is.
    private mutating func add(_ form: String, of value: String) {
        if form.utf8.starts(with: value.utf8) { return }
        if form.utf8.count >= 8 || form.utf8.count * 2 >= value.utf8.count { whole.insert(form) }
    }

    /// The components of its path and the values of its query. A name of a file is no key, and neither is a word.
    private mutating func addParts(of url: ResourceURL) {
        for component in url.path.split(separator: "/") where !component.utf8.contains(UInt8(ascii: ".")) {
            addPart(String(component))
        }
        for field in (url.query ?? "").split(separator: "&") {
            let value = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last
            addPart(value.map { String($0) } ?? "")
        }
    }

    private mutating func addPart(_ written: String) {
        let part = PercentEncoding.decode(written) ?? written
        guard part.utf8.count >= Self.shortestPart, part.utf8.contains(where: { (0x30...0x39).contains($0) }) else {
            return
        }
        parts.insert(part)
    }
}
