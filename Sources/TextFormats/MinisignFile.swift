package import TransferModel

/// A minisign signature file. Line 1 is a comment, line 2 the file's signature, line 3 the trusted comment, and line 4
/// signs lines 2 and 3.
package struct MinisignSignature: Hashable, Sendable {
    /// What is signed: the file's bytes (`Ed`, the older form), or their BLAKE2b-512 digest (`ED`).
    package enum Form: Hashable, Sendable { case plain, prehashed }

    /// What is signed.
    package let form: Form
    /// Id of the key that made the signature, in the order of the file.
    package let keyID: [UInt8]
    /// Signature of the file, 64 bytes.
    package let signature: [UInt8]
    /// Text after `trusted comment: `.
    package let trustedComment: [UInt8]
    /// Signature of `signature` and `trustedComment` in a row, 64 bytes.
    package let global: [UInt8]

    /// Longest file in bytes: `minisign` writes and reads comments of at most 1 and 8 KiB.
    package static let longest = 16 << 10

    /// Why a file is no signature: a clause for people, such as `its line 2 is not base64`.
    package struct Problem: Error, Hashable, Sendable {
        /// The clause.
        package let words: String
        init(_ words: String) { self.words = words }
    }

    /// Parses a signature file. What stands after its four lines is passed over, as `minisign` does.
    package init(_ bytes: [UInt8]) throws(Problem) {
        guard bytes.count <= Self.longest else { throw Problem("it is longer than \(Self.longest >> 10) KiB") }
        let lines = MinisignLines(bytes).first(4)
        guard let first = lines.first, first.starts(with: MinisignLines.untrusted) else {
            throw Problem("it does not begin with `untrusted comment:`")
        }
        guard lines.count == 4 else { throw Problem("it has \(lines.count) of 4 lines") }
        guard let packed = Base64.decode(String(decoding: lines[1], as: UTF8.self)) else {
            throw Problem("its line 2 is not base64")
        }
        guard packed.count == 74 else { throw Problem("its line 2 has \(packed.count) bytes, not 74") }
        switch packed.prefix(2) {
        case [0x45, 0x64]: form = .plain
        case [0x45, 0x44]: form = .prehashed
        default: throw Problem("it is of a kind that only other programs know")
        }
        guard lines[2].starts(with: MinisignLines.trusted) else {
            throw Problem("its line 3 is no `trusted comment:`")
        }
        guard let global = Base64.decode(String(decoding: lines[3], as: UTF8.self)), global.count == 64 else {
            throw Problem("its line 4 is not base64 of 64 bytes")
        }
        keyID = Array(packed[2..<10])
        signature = Array(packed[10...])
        trustedComment = Array(lines[2].dropFirst(MinisignLines.trusted.count))
        self.global = global
    }
}

extension MinisignKey {
    /// Length of a key's base64 text.
    package static let textLength = 56

    /// Decodes the base64 text of a public key, as `minisign -P` takes it; `nil` if it is none.
    package init?(base64 text: String) {
        guard text.utf8.count == Self.textLength, let packed = Base64.decode(text), packed.count == 42,
            packed.starts(with: [0x45, 0x64])
        else { return nil }
        self.init(id: Array(packed[2..<10]), bytes: Array(packed[10...]))
    }

    /// Parses a public key file: a comment and the key, or the key alone; `nil` if it is none.
    package init?(file bytes: [UInt8]) {
        let lines = MinisignLines(bytes).first(2)
        guard let first = lines.first else { return nil }
        let key = first.starts(with: MinisignLines.untrusted) ? lines.dropFirst().first : first
        guard let key else { return nil }
        self.init(base64: String(decoding: key, as: UTF8.self))
    }
}

/// Lines of a minisign file, without their ends.
private struct MinisignLines {
    static let untrusted = Array("untrusted comment:".utf8)
    static let trusted = Array("trusted comment: ".utf8)
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func first(_ count: Int) -> [ArraySlice<UInt8>] {
        var lines = bytes.split(separator: 0x0A, maxSplits: count, omittingEmptySubsequences: false).prefix(count)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.prefix($0.count - $0.reversed().prefix { $0 == 0x0D }.count) }
    }
}
