/// What a server may do to a body on its way, as named in `Content-Encoding`.
package enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate, br, zstd

    /// What a request asks for that wants its answer packed. `deflate` is left out: servers do not agree on what it is.
    package static let asked = "gzip, br, zstd"
}
