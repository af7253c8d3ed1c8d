import Glibc
import SystemIO
import TextFormats
import TransferModel

/// Why a list or report cannot be used for a verification: one sentence that names it.
package struct VerificationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence.
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Reads a file of checksums line by line: GNU, BSD and OpenSSL lines, Debian's release files, or one bare hash, which
/// belongs to the file of the same name without its ending (`a.iso.sha256`).
package final class ChecksumListReader {
    /// Name of the list in messages.
    package let name: String
    /// Number of lines that belong to no list, without empty ones, comments and an OpenPGP signature around it.
    package private(set) var skipped = 0
    /// Number of the first skipped line, from 1.
    package private(set) var firstSkipped = 0
    private let folder: String
    private var lines: LineReader
    private var number = 0
    private var found = 0
    private var bare: ExpectedFile?
    private var armour = Armour.none

    private enum Armour { case none, heading, signature }

    /// Longest line: no path is longer, escaped and with a hash.
    private static let longest = 64 << 10

    /// `read` appends bytes of the file from an offset, at most the number that it is given. Relative names begin at
    /// `folder`.
    package init(
        name: String, folder: String, read: @escaping (Int, Int64, inout [UInt8]) throws(VerificationProblem) -> Int
    ) {
        self.name = name
        self.folder = folder
        lines = LineReader(longest: Self.longest, read: read)
    }

    /// Returns the next file; `nil` at the end. A list without any line of a known form is an error.
    package func next() throws(VerificationProblem) -> ExpectedFile? {
        while let line = try lines.next() {
            number += 1
            let line = number == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line[...]
            if isAround(line) { continue }
            if let parsed = ChecksumList.Line(line) {
                found += 1
                return ExpectedFile(
                    RawName(bytes: parsed.name), in: folder, bytes: parsed.size, checksum: parsed.checksum)
            }
            if found == 0, bare == nil, skipped == 0, let only = bareHash(line) { bare = only } else { skip() }
        }
        guard found == 0 else { return nil }
        found += 1
        guard let bare, skipped == 0 else {
            throw VerificationProblem(
                "\(name) has no line of a checksum file, such as `HASH  NAME` or `SHA256 (NAME) = HASH`")
        }
        return bare
    }

    private func skip() {
        skipped += 1
        if firstSkipped == 0 { firstSkipped = number }
    }

    /// Whether a line is empty, a comment, or belongs to a signature around the list.
    private func isAround(_ line: ArraySlice<UInt8>) -> Bool {
        let isBlank = line.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        if line.starts(with: "-----BEGIN PGP SIGNED".utf8) { armour = .heading }
        if line.starts(with: "-----BEGIN PGP SIGNATURE".utf8) { armour = .signature }
        switch armour {
        case .signature: return true
        case .heading:
            if isBlank { armour = .none }
            return true
        case .none: return isBlank || line.first == UInt8(ascii: "#")
        }
    }

    private func bareHash(_ line: ArraySlice<UInt8>) -> ExpectedFile? {
        let digits = line.filter { $0 != 0x20 && $0 != 0x09 }
        guard let checksum = ChecksumList.Line(digits + Array("  x".utf8))?.checksum else { return nil }
        let base = Folders.split(name).name
        guard let dot = base.lastIndex(of: "."), dot != base.startIndex else { return nil }
        return ExpectedFile(RawName(String(base[..<dot])), in: folder, bytes: nil, checksum: checksum)
    }
}

/// Splits a file into lines without holding it in memory.
private struct LineReader {
    let longest: Int
    let read: (Int, Int64, inout [UInt8]) throws(VerificationProblem) -> Int
    private var bytes: [UInt8] = []
    private var position = 0
    private var offset: Int64 = 0
    private var isAtEnd = false

    init(longest: Int, read: @escaping (Int, Int64, inout [UInt8]) throws(VerificationProblem) -> Int) {
        self.longest = longest
        self.read = read
    }

    /// Returns the next line without its end; only the first part of a line that is too long.
    mutating func next() throws(VerificationProblem) -> [UInt8]? {
        var scanned = position
        while true {
            if let end = bytes[scanned...].firstIndex(of: 0x0A) {
                defer { position = end + 1 }
                return trimmed(bytes[position..<end])
            }
            scanned = bytes.count
            if isAtEnd {
                guard position < bytes.count else { return nil }
                defer { position = bytes.count }
                return trimmed(bytes[position...])
            }
            if position > 0 {
                bytes.removeFirst(position)
                scanned -= position
                position = 0
            }
            if bytes.count > longest { bytes.removeLast(bytes.count - longest) }
            scanned = min(scanned, bytes.count)
            let count = try read(256 << 10, offset, &bytes)
            offset += Int64(count)
            if count == 0 { isAtEnd = true }
        }
    }

    private func trimmed(_ line: ArraySlice<UInt8>) -> [UInt8] {
        Array((line.last == 0x0D ? line.dropLast() : line).prefix(longest))
    }
}
