/// The public key of a minisign signature (Ed25519).
package struct MinisignKey: Hashable, Sendable, CustomStringConvertible {
    /// The eight bytes that name the key, in the order in which files have them.
    package let id: [UInt8]
    /// The Ed25519 public key, 32 bytes.
    package let bytes: [UInt8]
    package init(id: [UInt8], bytes: [UInt8]) {
        self.id = id
        self.bytes = bytes
    }

    /// The key's id as `minisign` prints it.
    package var description: String { Self.name(of: id) }

    /// Returns the id as `minisign` prints it: the last byte first, in hex digits.
    package static func name(of id: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let text = id.reversed().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The signature that a checksum file must have before it is used.
package struct RequiredSignature: Hashable, Sendable {
    /// The key that must have made the signature.
    package let key: MinisignKey
    /// Where the signature is.
    package let url: ResourceURL
    package init(key: MinisignKey, url: ResourceURL) {
        self.key = key
        self.url = url
    }

    /// Returns where a file's signature is by custom: beside the file, under its name and `.minisig`.
    package static func usualPlace(of file: ResourceURL) -> ResourceURL { file.appending(toPath: ".minisig") }
}

/// Which line of a checksum file is meant, and how the file proves itself.
package struct ListedChecksum: Hashable, Sendable {
    /// The hash function; `nil`: it follows from the digest's length.
    package var algorithm: DigestAlgorithm?
    /// The file name to look for; `nil`: the last component of the task's URL.
    package var entry: String?
    /// The signature that the checksum file must have; `nil` for none.
    package var signature: RequiredSignature?
    package init(algorithm: DigestAlgorithm? = nil, entry: String? = nil, signature: RequiredSignature? = nil) {
        self.algorithm = algorithm
        self.entry = entry
        self.signature = signature
    }
}

extension ChecksumSource {
    /// The signature that the checksum file must have; `nil` for none.
    package var signature: RequiredSignature? {
        switch self {
        case .task(_, let listed), .url(_, let listed): listed.signature
        case .literal, .awaited: nil
        }
    }
}
