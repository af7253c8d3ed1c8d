package import TransferModel

/// Masks the headers of an answer whose body was to contain a secret and was not read to its end: the server may have
/// written the secret into a header too, and its value is unknown. Headers about the message alone stay.
package enum HeaderMask {
    private static let told: Set<String> = [
        "accept-ranges", "age", "allow", "cache-control", "connection", "content-digest", "content-encoding",
        "content-language", "content-length", "content-md5", "content-range", "content-type", "date", "etag", "expires",
        "keep-alive", "last-modified", "pragma", "repr-digest", "retry-after", "server", "set-cookie",
        "strict-transport-security", "transfer-encoding", "vary", "via",
    ]

    /// Returns the headers with `***` as the value of every header that might contain the secret.
    package static func masked(_ headers: HeaderBlock) -> HeaderBlock {
        HeaderBlock(
            headers.lines.map { line in
                let name = headers.name(line)
                return (name, told.contains(name.lowercased()) ? headers.value(line) : "***")
            })
    }
}
