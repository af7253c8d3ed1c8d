package import TransferModel

/// The headers of an answer whose body was to hold a secret and was never read through: a server may have written the secret
/// into one of them too, and nobody knows what it is. What is about the message alone is told.
package enum HeaderMask {
    private static let told: Set<String> = [
        "accept-ranges", "age", "allow", "cache-control", "connection", "content-digest", "content-encoding",
        "content-language", "content-length", "content-md5", "content-range", "content-type", "date", "etag", "expires",
        "keep-alive", "last-modified", "pragma", "repr-digest", "retry-after", "server", "set-cookie",
        "strict-transport-security", "transfer-encoding", "vary", "via",
    ]

    package static func masked(_ headers: HeaderBlock) -> HeaderBlock {
        HeaderBlock(
            headers.lines.map { line in
                let name = headers.name(line)
                return (name, told.contains(name.lowercased()) ? headers.value(line) : "***")
            })
    }
}
