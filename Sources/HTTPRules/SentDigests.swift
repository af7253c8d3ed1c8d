import TextFormats
package import TransferModel

/// Reads the digests that servers send with their answers: `Repr-Digest` and `Content-Digest` (RFC 9530), and the older
/// `Content-MD5`.
package enum SentDigests {
    /// Returns the strongest digest, of those that can be computed here, of the whole file that these headers announce;
    /// `nil` without one. A malformed header counts as missing.
    package static func strongest(_ headers: HeaderBlock, status: Int) -> SentDigest? {
        var known = dictionary("Repr-Digest", headers.all("repr-digest"))
        // These headers cover only the bytes of this message: of a part, when the message carries a part.
        if status != 206 { known += ofContent(headers) }
        return strongest(known)
    }

    /// Returns the strongest digest of the whole file from the answer to a HEAD. `Content-Digest` is then that of an
    /// empty body (RFC 9530, section 2); `Content-MD5` is what a GET would have brought.
    package static func ofHead(_ headers: HeaderBlock) -> SentDigest? {
        let known = dictionary("Repr-Digest", headers.all("repr-digest"))
        return strongest(contentMD5(headers.all("content-md5")).map { known + [$0] } ?? known)
    }

    /// Returns the strongest digest of the bytes of a message that brings a part of a file; `whole` is the digest that
    /// the file's first answer announced.
    ///
    /// Some servers send the whole file's `Content-MD5` with each part, as RFC 1864 may be read; others the part's (RFC
    /// 2616, section 14.15). So it counts for the part only where the whole file's is known to be another.
    package static func ofPart(_ headers: HeaderBlock, whole: SentDigest? = nil) -> SentDigest? {
        if let told = strongest(dictionary("Content-Digest", headers.all("content-digest"))) { return told }
        guard let whole, whole.header == md5Header, let told = contentMD5(headers.all("content-md5")) else {
            return nil
        }
        return told == whole ? nil : told
    }

    private static let md5Header = "Content-MD5"

    private static func ofContent(_ headers: HeaderBlock) -> [SentDigest] {
        let known = dictionary("Content-Digest", headers.all("content-digest"))
        return contentMD5(headers.all("content-md5")).map { known + [$0] } ?? known
    }

    /// Returns the first of the strongest digests.
    private static func strongest(_ known: [SentDigest]) -> SentDigest? {
        known.max { strength($0) < strength($1) }.flatMap { best in
            known.first { strength($0) == strength(best) }
        }
    }

    /// Returns the digest that an object store's `ETag` is: the MD5 of an object that was put in one piece. The tag of
    /// an object put in several pieces contains a dash, and the tag of one encrypted with a key of its own is no
    /// digest; `nil` for both.
    package static func ofObject(_ headers: HeaderBlock) -> SentDigest? {
        let encryption = headers.first("x-amz-server-side-encryption")
        guard encryption == nil || encryption == "AES256",
            headers.first("x-amz-server-side-encryption-customer-algorithm") == nil,
            let tag = headers.first("etag"), tag.utf8.count == 34, tag.hasPrefix("\""), tag.hasSuffix("\"")
        else { return nil }
        let digits = Array(tag.utf8.dropFirst().dropLast())
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { place -> UInt8? in
            guard let high = PercentEncoding.hexValue(digits[place]),
                let low = PercentEncoding.hexValue(digits[place + 1])
            else { return nil }
            return high << 4 | low
        }
        guard bytes.count == DigestAlgorithm.md5.byteCount else { return nil }
        return SentDigest(header: "ETag", checksum: Checksum(algorithm: .md5, bytes: bytes))
    }

    private static func dictionary(_ header: String, _ lines: [String]) -> [SentDigest] {
        guard !lines.isEmpty else { return [] }
        let members = StructuredDictionary.byteSequences(lines.joined(separator: ", ")) ?? []
        return members.compactMap { member in
            guard let algorithm = algorithms[member.key], member.bytes.count == algorithm.byteCount else { return nil }
            return SentDigest(header: header, checksum: Checksum(algorithm: algorithm, bytes: member.bytes))
        }
    }

    /// Decodes `Content-MD5`; `nil` where two of them differ.
    private static func contentMD5(_ lines: [String]) -> SentDigest? {
        guard let line = lines.first, lines.allSatisfy({ $0 == line }), let bytes = Base64.decode(line),
            bytes.count == DigestAlgorithm.md5.byteCount
        else { return nil }
        return SentDigest(header: md5Header, checksum: Checksum(algorithm: .md5, bytes: bytes))
    }

    /// IANA's "Hash Algorithms for HTTP Digest Fields", as far as they are digests and not checksums.
    private static let algorithms: [String: DigestAlgorithm] = [
        "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5,
    ]

    private static func strength(_ digest: SentDigest) -> Int {
        switch digest.checksum.algorithm {
        case .md5, .xxh3: 0
        case .sha1: 1
        case .sha256: 2
        case .sha512, .blake2b: 3
        }
    }
}
