package import TransferModel

/// A file of checksums, as `sha256sum` and related tools write them: GNU lines (`HASH  NAME`, `HASH *NAME`, with a
/// backslash before the hash if the name is escaped; handwritten ones also with one blank), BSD lines (`SHA256 (NAME) =
/// HASH`, and OpenSSL's `SHA2-256(NAME)= HASH`), Debian's release files (` HASH SIZE NAME`, each file once for each
/// algorithm), or one bare hash.
package struct ChecksumList: Sendable {
    /// One line: a name's hash.
    package struct Line: Sendable {
        /// Name or path of the file, unescaped.
        package let name: [UInt8]
        /// The hash and its algorithm. A GNU line names no algorithm, so the hash's length decides: 128 digits are
        /// taken for SHA-512.
        package let checksum: Checksum
        fileprivate let namesAlgorithm: Bool
        /// Length of the file in bytes, from a line of a release file; `nil` for other lines.
        package let size: Int64?

        /// Parses one line; `nil` if it has none of the known forms.
        package init?(_ bytes: some Collection<UInt8>) {
            guard let line = Line.bsd(Array(bytes)) ?? Line.gnu(Array(bytes)) ?? Line.release(Array(bytes)) else {
                return nil
            }
            self = line
        }

        private init(name: [UInt8], checksum: Checksum, namesAlgorithm: Bool, size: Int64? = nil) {
            self.size = size
            self.name = name
            self.checksum = checksum
            self.namesAlgorithm = namesAlgorithm
        }

        private static func gnu(_ line: [UInt8]) -> Line? {
            let isEscaped = line.first == UInt8(ascii: "\\")
            let digits = line.dropFirst(isEscaped ? 1 : 0).prefix { PercentEncoding.hexValue($0) != nil }
            let rest = line[digits.endIndex...]
            guard let first = rest.first, isBlank(first), let checksum = ChecksumList.checksum(digits, nil) else {
                return nil
            }
            // A mark, ` ` or `*`, stands after the blank; without one the name begins at once.
            let isMarked = [0x20, UInt8(ascii: "*")].contains(rest.dropFirst().first)
            let name = first == 0x20 ? Array(rest.dropFirst(isMarked ? 2 : 1)) : Array(rest.drop(while: isBlank))
            guard !name.isEmpty else { return nil }
            return Line(name: isEscaped ? unescaped(name) : name, checksum: checksum, namesAlgorithm: false)
        }

        /// Parses ` HASH     SIZE NAME`, which begins with a blank. The heading above the line names the algorithm, but
        /// the hash's length is enough to tell it.
        private static func release(_ line: [UInt8]) -> Line? {
            guard let first = line.first, isBlank(first) else { return nil }
            let words = line.split(whereSeparator: { isBlank($0) })
            guard words.count == 3, let checksum = ChecksumList.checksum(words[0], nil),
                words[1].allSatisfy({ (0x30...0x39).contains($0) }),
                let size = Int64(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            return Line(name: Array(words[2]), checksum: checksum, namesAlgorithm: false, size: size)
        }

        /// Undoes the escapes of coreutils, which marks lines whose name has a line break or backslash in it.
        private static func unescaped(_ name: [UInt8]) -> [UInt8] {
            var result: [UInt8] = []
            var bytes = name[...]
            while let byte = bytes.popFirst() {
                guard byte == UInt8(ascii: "\\"), let next = bytes.popFirst() else {
                    result.append(byte)
                    continue
                }
                switch next {
                case UInt8(ascii: "n"): result.append(0x0A)
                case UInt8(ascii: "r"): result.append(0x0D)
                default: result.append(next)
                }
            }
            return result
        }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

        /// Parses `SHA256 (NAME) = HASH`, with or without the blanks. No hash holds a `=`, so the last one separates
        /// name and hash.
        private static func bsd(_ line: [UInt8]) -> Line? {
            guard let open = line.firstIndex(of: UInt8(ascii: "(")),
                let equals = line.lastIndex(of: UInt8(ascii: "=")),
                let close = line[..<equals].lastIndex(where: { !isBlank($0) }), line[close] == UInt8(ascii: ")"),
                open + 1 < close
            else { return nil }
            let name = String(decoding: line[..<open], as: UTF8.self).lowercased()
            let blanks = name.reversed().prefix { $0 == " " }.count
            guard let algorithm = names[String(name.dropLast(blanks))],
                let checksum = ChecksumList.checksum(line[(equals + 1)...].drop(while: isBlank), algorithm)
            else { return nil }
            return Line(name: Array(line[(open + 1)..<close]), checksum: checksum, namesAlgorithm: true)
        }

        private static let names: [String: DigestAlgorithm] = [
            "sha256": .sha256, "sha512": .sha512, "sha1": .sha1, "md5": .md5, "blake2b": .blake2b,
            // OpenSSL's names.
            "sha2-256": .sha256, "sha2-512": .sha512, "blake2b-512": .blake2b, "blake2b512": .blake2b,
        ]
    }

    /// Why a list has no usable checksum for an entry: no line for it, or several lines with different hashes.
    package enum Problem: Error, Hashable, Sendable {
        case noLine
        case severalLines(Int)
    }

    /// The lines by the last component of their names: a job may look up many files in one list.
    private var lines: [[UInt8]: [Line]] = [:]
    private var isRelease = false
    /// The text of a file with a single line, without blanks: it may be a bare hash.
    private var bare: [UInt8]?

    /// Parses a list. Lines of no known form are skipped: signatures stand around some lists.
    package init(_ bytes: [UInt8]) {
        let body = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        let all = body.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }.filter { !$0.isEmpty }
        for bytes in all where bytes.first != UInt8(ascii: "#") {
            guard let line = Line(bytes) else { continue }
            if line.size != nil { isRelease = true }
            lines[Self.lastComponent(line.name), default: []].append(line)
        }
        if all.count == 1, let only = all.first { bare = only.filter { $0 != 0x20 && $0 != 0x09 } }
    }

    /// Returns the one checksum of `entry`: that of the line with exactly this name, else that of the line whose path
    /// ends in it. Lines whose name is in `fuller` take precedence; of these names, the first that the list has counts.
    /// With an `algorithm`, only hashes that it can have made count.
    package func checksum(
        of entry: String, fuller: [String] = [], _ algorithm: DigestAlgorithm?
    ) throws(Problem) -> Checksum {
        if lines.isEmpty, let bare, let checksum = Self.checksum(bare, algorithm) { return checksum }
        let wanted = Self.plain(Array(entry.utf8))
        let fitting = (lines[Self.lastComponent(wanted)] ?? []).compactMap { line in
            Self.checksum(of: line, algorithm).map { (name: Self.plain(line.name), checksum: $0) }
        }
        let fullest = fuller.map { Array($0.utf8) }.first { name in fitting.contains { $0.name == name } } ?? wanted
        var found = fitting.filter { $0.name == fullest }
        if found.isEmpty { found = fitting.filter { $0.name.ends(with: [UInt8(ascii: "/")] + wanted) } }
        guard !found.isEmpty else { throw .noLine }
        // A release file has each file's hash by several algorithms: if none is given, the strongest counts.
        if algorithm == nil, isRelease {
            let longest = found.map(\.checksum.bytes.count).max()
            found = found.filter { $0.checksum.bytes.count == longest }
        }
        // Lines with the same hash count as one.
        guard let best = found.first, found.allSatisfy({ $0.checksum == best.checksum }) else {
            throw .severalLines(found.count)
        }
        return best.checksum
    }

    /// Returns the names that a list may have for the file at this path of a server: first the path relative to the
    /// list's folder, if that is above the file; then the path's ends, longest first, but not the last component alone.
    package static func fullerNames(of path: String, listAt list: String?) -> [String] {
        let parts = path.split(separator: "/")
        guard parts.count > 1 else { return [] }
        var names = (0..<(parts.count - 1)).suffix(mostParts).map { parts[$0...].joined(separator: "/") }
        guard let list else { return names }
        let folder = list.split(separator: "/", omittingEmptySubsequences: false).dropLast().filter { !$0.isEmpty }
        if folder.count < parts.count, parts.starts(with: folder) {
            names.insert(parts[folder.count...].joined(separator: "/"), at: 0)
        }
        return names
    }

    /// Largest number of names: no list has longer paths, and a URL may have thousands of slashes.
    private static let mostParts = 32

    private static func lastComponent(_ name: [UInt8]) -> [UInt8] {
        Array(name.suffix(from: (name.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1))
    }

    private static func checksum(of line: Line, _ algorithm: DigestAlgorithm?) -> Checksum? {
        guard let algorithm, algorithm != line.checksum.algorithm else { return line.checksum }
        guard !line.namesAlgorithm, line.checksum.bytes.count == algorithm.byteCount else { return nil }
        return Checksum(algorithm: algorithm, bytes: line.checksum.bytes)
    }

    /// Returns the name without `./` at its start.
    private static func plain(_ name: [UInt8]) -> [UInt8] {
        Array(name.starts(with: Array("./".utf8)) ? name.dropFirst(2) : name[...])
    }

    /// Decodes a hash of the algorithm, or without one of any algorithm of that length; `nil` if it is none.
    fileprivate static func checksum(_ digits: some Collection<UInt8>, _ algorithm: DigestAlgorithm?) -> Checksum? {
        guard let bytes = Hex.decode(digits) else { return nil }
        let guessed = DigestAlgorithm.allCases.first { $0.byteCount == bytes.count }
        guard let algorithm = algorithm ?? guessed, algorithm.byteCount == bytes.count else { return nil }
        return Checksum(algorithm: algorithm, bytes: bytes)
    }
}

extension [UInt8] {
    fileprivate func ends(with other: [UInt8]) -> Bool { suffix(other.count) == other[...] }
}

private enum Hex {
    static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = PercentEncoding.hexValue(digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }
}
