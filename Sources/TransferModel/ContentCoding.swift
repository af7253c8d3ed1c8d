/// What a server may do to a body on its way, as named in `Content-Encoding`.
package enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate, br, zstd
    /// Only of files: no `Content-Encoding` is called so.
    case xz
    /// A file that is packed in itself, or not: its first bytes say how.
    case file = "packed"

    /// What a `Content-Encoding` names; `nil` for what is none.
    package init?(named name: String) {
        guard let coding = ContentCoding(rawValue: name), coding != .xz, coding != .file else { return nil }
        self = coding
    }

    /// What a request asks for that wants its answer packed. `deflate` is left out: servers do not agree on what it is.
    package static let asked = "gzip, br, zstd"
}

/// What a download undoes of how its bytes are packed.
package enum Decompression: Hashable, Sendable {
    case no
    /// The answer's `Content-Encoding`.
    case answer
    /// That, and then what the file itself is by its first bytes: gzip, zstd or xz.
    case file
}
