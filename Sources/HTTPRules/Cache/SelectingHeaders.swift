package import TransferModel

/// The values that a request had in the headers named by its answer's `Vary` (RFC 9111, section 4.1).
package struct SelectingHeaders: Hashable, Sendable {
    /// One header and its recorded value.
    package struct Field: Hashable, Sendable {
        /// Name in lower case.
        package let name: String
        /// The recorded value, or that the request had none.
        package let mark: CacheMark
        package init(name: String, mark: CacheMark) {
            self.name = name
            self.mark = mark
        }
    }
    /// Fields sorted by name.
    package let fields: [Field]

    package init(fields: [Field]) { self.fields = fields }

    /// `nil` for `Vary: *`, which no request matches.
    package init?(_ answer: HeaderBlock, request: CacheRequest) {
        var names: Set<String> = []
        for member in answer.members("vary") {
            if member == [UInt8(ascii: "*")] { return nil }
            names.insert(String(member).lowercased())
        }
        fields = names.sorted().map { Field(name: $0, mark: Self.mark($0, request)) }
    }

    /// Whether a request has the same values.
    package func matches(_ request: CacheRequest) -> Bool {
        fields.allSatisfy { $0.mark.isSame(as: Self.mark($0.name, request)) }
    }

    var canMatch: Bool { fields.allSatisfy { $0.mark != .unknown } }

    private static func mark(_ name: String, _ request: CacheRequest) -> CacheMark {
        let values = request.headers.all(named: name)
        return values.isEmpty ? .absent : request.marker.mark(normal(name, values))
    }

    /// One text for all spellings of a value: lines joined, blanks around commas removed, letter case folded where it
    /// means nothing. The order of languages stays: servers read a preference into it.
    private static func normal(_ name: String, _ values: [String]) -> String {
        let members = values.flatMap { HeaderBlock.members(of: $0) }.map { String($0) }
        switch name {
        case "accept-language", "accept-charset": return members.map(weighted).joined(separator: ",")
        case "accept-encoding": return members.map(weighted).sorted().joined(separator: ",")
        default: return members.joined(separator: ",")
        }
    }

    /// `GZIP ; Q=0.5` → `gzip;q=0.5`
    private static func weighted(_ member: String) -> String {
        String(decoding: member.lowercased().utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
    }
}

extension StoredResponse {
    /// Whether the request accepts the body's coding. A body in a coding known here that this request does not accept
    /// is no answer to it, whatever `Vary` leaves out: a download would become a packed file because a data task had
    /// asked first.
    func isReadable(by request: CacheRequest) -> Bool {
        let codings = headers.members("content-encoding").map { String($0).lowercased() }.filter {
            $0 == "x-gzip" || ContentCoding(named: $0) != nil
        }
        guard !codings.isEmpty, request.headers.first("accept-encoding") != nil else { return true }
        let accepted = request.headers.members("accept-encoding").map { member in
            String(Array(member.prefix { $0 != UInt8(ascii: ";") }).trimmed()).lowercased()
        }
        return accepted.contains("*") || codings.allSatisfy { accepted.contains($0) }
    }
}
