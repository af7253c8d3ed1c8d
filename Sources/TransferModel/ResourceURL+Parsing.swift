extension ResourceURL {
    /// Most bytes of a URL: more than any server accepts, and few enough for every offset to fit its field.
    private static let maximumLength = 60_000

    /// Returns the URL that a person wrote: spaces and non-ASCII characters are encoded, escapes stay as they are.
    package static func parse(_ text: String) throws(URLProblem) -> ResourceURL {
        var parser = Parser(Array(text.utf8))
        return try parser.parse()
    }

    /// Returns the URL that a `Location` means, resolved against this one (RFC 3986, section 5.2).
    package func resolving(_ reference: String) throws(URLProblem) -> ResourceURL {
        let trimmed = reference.trimmingSpaces()
        if Self.isAbsolute(trimmed) { return try Self.parse(trimmed) }
        let bare = trimmed.prefixBefore(UInt8(ascii: "#"))
        if bare.isEmpty { return self }
        if bare.hasPrefix("//") { return try Self.parse("\(scheme):\(bare)") }
        if bare.hasPrefix("/") { return try sibling(bare) }
        if bare.hasPrefix("?") { return try sibling(path + bare) }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        return try sibling(folder + bare)
    }

    /// Returns the URL with another path and query under the same authority, user information included.
    private func sibling(_ pathAndQuery: String) throws(URLProblem) -> ResourceURL {
        let port = port == Self.defaultPort(scheme) ? "" : ":\(port)"
        let other = try Self.parse("\(scheme)://\(host)\(port)\(pathAndQuery)")
        return userInformation.map { other.with(userInformation: $0) } ?? other
    }

    /// The URL over https, `nil` unless it is an http one: port 80 becomes 443, any other port stays.
    package var secured: ResourceURL? {
        guard schemeIs("http"), let other = try? Self.parse("https\(text.dropFirst("http".count))") else { return nil }
        return userInformation.map { other.with(userInformation: $0) } ?? other
    }

    /// Returns the port of a URL that names none; 0 for schemes without ports.
    package static func defaultPort(_ scheme: String) -> UInt16 {
        switch scheme {
        case "http": 80
        case "https": 443
        case "ftp": 21
        default: 0
        }
    }

    /// Whether the text begins with a scheme.
    static func isAbsolute(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text.utf8[..<colon]
        guard let first = scheme.first, Parser.isLetter(first) else { return false }
        return scheme.allSatisfy { Parser.isSchemeByte($0) }
    }
}

extension ResourceURL {
    /// Reads a URL in one pass over its bytes and writes its normal form.
    fileprivate struct Parser {
        let source: [UInt8]
        var output: [UInt8] = []
        var position = 0

        init(_ source: [UInt8]) {
            self.source = source
            output.reserveCapacity(source.count + 8)
        }

        mutating func parse() throws(URLProblem) -> ResourceURL {
            guard source.count <= maximumLength else { throw problem("longer than \(maximumLength) bytes", 0) }
            try refuseControls()
            let scheme = try readScheme()
            if scheme == "data" { return try finishOpaque(scheme) }
            guard remaining.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else {
                throw problem("`\(scheme):` must be followed by `//`", position)
            }
            position += 2
            output += [UInt8(ascii: "/"), UInt8(ascii: "/")]
            let user = try readUserInformation()
            let port = try readAuthority(scheme)
            let hostEnd = scheme == "file" ? output.count : hostEndBeforePort
            let pathStart = output.count
            readPath()
            let pathEnd = output.count
            readQuery()
            return ResourceURL(
                text: String(decoding: output, as: UTF8.self), schemeEnd: UInt16(scheme.utf8.count),
                hostEnd: UInt16(hostEnd), pathStart: UInt32(pathStart), pathEnd: UInt32(pathEnd), port: port,
                userInformation: user)
        }

        private var hostEndBeforePort = 0
        private var remaining: ArraySlice<UInt8> { source[position...] }

        private func problem(_ message: String, _ offset: Int) -> URLProblem {
            URLProblem(message: message, offset: offset)
        }

        private func refuseControls() throws(URLProblem) {
            if let index = source.firstIndex(where: { $0 < 0x20 || $0 == 0x7F }) {
                throw problem("a control character stands in the URL", index)
            }
        }

        static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
        static func isSchemeByte(_ byte: UInt8) -> Bool {
            isLetter(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }

        private mutating func readScheme() throws(URLProblem) -> String {
            guard let colon = source.firstIndex(of: UInt8(ascii: ":")), let first = source.first,
                Self.isLetter(first), source[..<colon].allSatisfy({ Self.isSchemeByte($0) }), colon <= 64
            else { throw problem("it has no scheme, such as `https://`", 0) }
            for byte in source[..<colon] { output.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
            let scheme = String(decoding: output, as: UTF8.self)
            output.append(UInt8(ascii: ":"))
            position = colon + 1
            return scheme
        }

        /// Reads the rest of a `data:` URL, which has no authority, encoding what must be.
        private mutating func finishOpaque(_ scheme: String) throws(URLProblem) -> ResourceURL {
            let start = output.count
            copy(.opaque, until: UInt8(ascii: "#"))
            return ResourceURL(
                text: String(decoding: output, as: UTF8.self), schemeEnd: UInt16(scheme.utf8.count),
                hostEnd: UInt16(scheme.utf8.count), pathStart: UInt32(start), pathEnd: UInt32(output.count), port: 0,
                userInformation: nil)
        }

        private var authorityEnd: Int {
            remaining.firstIndex {
                $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
                    || $0 == UInt8(ascii: "\\")
            } ?? source.count
        }

        private mutating func readUserInformation() throws(URLProblem) -> String? {
            let end = authorityEnd
            guard let at = source[position..<end].lastIndex(of: UInt8(ascii: "@")) else { return nil }
            let text = String(decoding: source[position..<at], as: UTF8.self)
            position = at + 1
            return text
        }

        private mutating func readAuthority(_ scheme: String) throws(URLProblem) -> UInt16 {
            let end = authorityEnd
            if end < source.count, source[end] == UInt8(ascii: "\\") {
                throw problem("a backslash cannot stand in or after the host", end)
            }
            let start = position
            position = end
            if scheme == "file" {
                let host = String(decoding: source[start..<end], as: UTF8.self)
                guard host.isEmpty || host.lowercased() == "localhost" else {
                    throw problem("a file URL names a file of this machine: `file:///path`", start)
                }
                return 0
            }
            let (hostRange, portRange) = try split(start, end)
            guard !hostRange.isEmpty else { throw problem("it names no host", start) }
            try appendHost(hostRange)
            hostEndBeforePort = output.count
            return try appendPort(portRange, scheme)
        }

        private func split(_ start: Int, _ end: Int) throws(URLProblem) -> (Range<Int>, Range<Int>?) {
            if start < end, source[start] == UInt8(ascii: "[") {
                guard let close = source[start..<end].firstIndex(of: UInt8(ascii: "]")) else {
                    throw problem("the `[` of an IPv6 address is not closed", start)
                }
                if close + 1 == end { return (start..<end, nil) }
                guard source[close + 1] == UInt8(ascii: ":") else {
                    throw problem("only a port can follow `]`", close + 1)
                }
                return (start..<(close + 1), (close + 2)..<end)
            }
            guard let colon = source[start..<end].firstIndex(of: UInt8(ascii: ":")) else { return (start..<end, nil) }
            return (start..<colon, (colon + 1)..<end)
        }

        private mutating func appendHost(_ range: Range<Int>) throws(URLProblem) {
            let text = String(decoding: source[range], as: UTF8.self)
            if text.hasPrefix("[") {
                guard let address = HostName.ipv6(text) else {
                    throw problem("`\(text)` is no IPv6 address", range.lowerBound)
                }
                output += Array(address.utf8)
                return
            }
            guard let ascii = HostName.ascii(text) else {
                throw problem("`\(text)` is no host name", range.lowerBound)
            }
            output += Array(ascii.utf8)
        }

        private mutating func appendPort(_ range: Range<Int>?, _ scheme: String) throws(URLProblem) -> UInt16 {
            let standard = defaultPort(scheme)
            guard let range, !range.isEmpty else { return standard }
            guard source[range].allSatisfy({ (0x30...0x39).contains($0) }),
                let port = UInt16(String(decoding: source[range], as: UTF8.self)), port > 0
            else { throw problem("the port must be a number from 1 to 65535", range.lowerBound) }
            if port != standard { output += Array(":\(port)".utf8) }
            return port
        }

        private mutating func readPath() {
            let start = output.count
            if position >= source.count || source[position] != UInt8(ascii: "/") { output.append(UInt8(ascii: "/")) }
            copy(.path, until: UInt8(ascii: "?"))
            if hasDots(from: start) { removeDotSegments(from: start) }
        }

        private mutating func readQuery() {
            guard position < source.count, source[position] == UInt8(ascii: "?") else { return }
            output.append(UInt8(ascii: "?"))
            position += 1
            copy(.query, until: UInt8(ascii: "#"))
        }

        /// Copies everything up to `end` or the fragment, whole runs at once, encoding what must be.
        private mutating func copy(_ allowed: PathSet, until end: UInt8) {
            while true {
                let start = position
                while position < source.count, allowed.contains(source[position]) { position += 1 }
                output += source[start..<position]
                guard position < source.count, source[position] != end, source[position] != UInt8(ascii: "#")
                else { return }
                appendOdd(source[position])
            }
        }

        /// Appends an escape as it is, and any other byte that may not stand here encoded, a lone `%` included.
        private mutating func appendOdd(_ byte: UInt8) {
            position += 1
            let isEscape =
                byte == UInt8(ascii: "%") && position + 1 < source.count
                && PercentEncoding.hexValue(source[position]) != nil
                && PercentEncoding.hexValue(source[position + 1]) != nil
            if isEscape { output.append(byte) } else { PercentEncoding.append(byte, to: &output) }
        }

        private func hasDots(from start: Int) -> Bool {
            var before: UInt8 = 0
            for byte in output[start...] {
                if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { return true }
                before = byte
            }
            return false
        }

        private mutating func removeDotSegments(from start: Int) {
            let path = Array(output[start...])
            var kept: [ArraySlice<UInt8>] = []
            let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            for (index, segment) in segments.enumerated() {
                let isLast = index == segments.count - 1
                if segment.elementsEqual([0x2E]) {
                    if isLast { kept.append([]) }
                } else if segment.elementsEqual([0x2E, 0x2E]) {
                    if !kept.isEmpty { kept.removeLast() }
                    if isLast { kept.append([]) }
                } else {
                    kept.append(segment)
                }
            }
            output.removeSubrange(start...)
            for segment in kept {
                output.append(UInt8(ascii: "/"))
                output += segment
            }
            if kept.isEmpty { output.append(UInt8(ascii: "/")) }
        }
    }

    /// The bytes that stand as they are in a part of the URL; all others are percent-encoded.
    fileprivate enum PathSet {
        case path
        case query
        case opaque

        func contains(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
                UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","),
                UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/"):
                true
            case UInt8(ascii: "?"): self != .path
            default: false
            }
        }
    }
}

extension String {
    fileprivate func trimmingSpaces() -> String {
        var slice = self[...]
        while let first = slice.utf8.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.utf8.last, last == 0x20 || last == 0x09 { slice = slice.dropLast() }
        return String(slice)
    }

    fileprivate func prefixBefore(_ byte: UInt8) -> String {
        utf8.firstIndex(of: byte).map { String(self[..<$0]) } ?? self
    }
}
