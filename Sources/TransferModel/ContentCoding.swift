/// A way in which a body is packed, named as in `Content-Encoding`.
package enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate, br, zstd
    /// Packing of files only; no `Content-Encoding` has this name.
    case xz
    /// A file that may be packed itself: its first bytes tell how.
    case file = "packed"

    /// `nil` when `name` is no `Content-Encoding` that is known here.
    package init?(named name: String) {
        guard let coding = ContentCoding(rawValue: name), coding != .xz, coding != .file else { return nil }
        self = coding
    }

    /// `Accept-Encoding` of a request for a packed answer. `deflate` is left out, since servers do not agree on what it
    /// means.
    package static let asked = "gzip, br, zstd"
}

/// What a download undoes of how its bytes are packed.
package enum Decompression: Hashable, Sendable {
    case no
    /// The `Content-Encoding` of the answer.
    case answer
    /// The `Content-Encoding`, and then the packing of the file itself by its first bytes: gzip, zstd or xz.
    case file
}
