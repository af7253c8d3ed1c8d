package import TransferModel

/// A file of checksums, as `sha256sum` and its kin write them: GNU lines (`HASH  NAME`, `HASH *NAME`, with a backslash
/// before the hash when the name is escaped; by hand also with one blank), BSD lines (`SHA256 (NAME) = HASH`, and
/// OpenSSL's `SHA2-256(NAME)= HASH`), Debian's release files (` HASH SIZE NAME`, each file once for each algorithm), or one
/// bare hash.
package struct ChecksumList: Sendable {
    /// One line: a name's hash.
    package struct Line: Sendable {
        package let name: [UInt8]
        /// Of a GNU line, guessed from the hash's length: 128 digits are taken for SHA-512.
        package let checksum: Checksum
        fileprivate let namesAlgorithm: Bool
        /// Of a line of a release file, how long the file is.
        package let size: Int64?

        /// `nil` when it is no line of either kind.
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
            // After the blank stands a mark, ` ` or `*`; where none does, the name begins at once.
            let isMarked = [0x20, UInt8(ascii: "*")].contains(rest.dropFirst().first)
            let name = first == 0x20 ? Array(rest.dropFirst(isMarked ? 2 : 1)) : Array(rest.drop(while: isBlank))
            guard !name.isEmpty else { return nil }
            return Line(name: isEscaped ? unescaped(name) : name, checksum: checksum, namesAlgorithm: false)
        }

        /// ` HASH     SIZE NAME`: begins with a blank. The heading above it names the algorithm, and the hash's length tells it.
        private static func release(_ line: [UInt8]) -> Line? {
            guard let first = line.first, isBlank(first) else { return nil }
            let words = line.split(whereSeparator: { isBlank($0) })
            guard words.count == 3, let checksum = ChecksumList.checksum(words[0], nil),
                words[1].allSatisfy({ (0x30...0x39).contains($0) }),
                let size = Int64(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            return Line(name: Array(words[2]), checksum: checksum, namesAlgorithm: false, size: size)
        }

        /// coreutils writes a name with a line break or backslash in it escaped, and marks the line.
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

        /// `SHA256 (NAME) = HASH`, with or without the blanks. No hash holds a `=`, so the last one parts the two.
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
            // What OpenSSL calls them.
            "sha2-256": .sha256, "sha2-512": .sha512, "blake2b-512": .blake2b, "blake2b512": .blake2b,
        ]
    }

    /// Why a file has no checksum for an entry.
    package enum Problem: Error, Hashable, Sendable {
        case noLine
        case severalLines(Int)
    }

    /// By the last component of their names: a job may ask one list for each of its files.
    private var lines: [[UInt8]: [Line]] = [:]
    private var isRelease = false
    /// The hash of a file that holds nothing else.
    private var bare: [UInt8]?

    /// Lines that are of neither kind are passed over: signatures stand around some lists.
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

    /// The one checksum of `entry`: that of the line with just this name, else that of the line whose path ends in it. A line
    /// with one of `fuller` for its name goes before them, the first of these that there is.
    /// With an `algorithm` only hashes that it can have made count.
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
        // A release file says each file's hash by several algorithms: without a word the strongest counts.
        if algorithm == nil, isRelease {
            let longest = found.map(\.checksum.bytes.count).max()
            found = found.filter { $0.checksum.bytes.count == longest }
        }
        // The same said twice is said once.
        guard let best = found.first, found.allSatisfy({ $0.checksum == best.checksum }) else {
            throw .severalLines(found.count)
        }
        return best.checksum
    }

    /// How lists may call the file at this path of a server: as seen from the folder that the list is in, if that is above it;
    /// else by as much of the path as there is in the list, but not by the last component alone.
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

    /// No list has longer paths, and a URL may have thousands of slashes.
    private static let mostParts = 32

    private static func lastComponent(_ name: [UInt8]) -> [UInt8] {
        Array(name.suffix(from: (name.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1))
    }

    private static func checksum(of line: Line, _ algorithm: DigestAlgorithm?) -> Checksum? {
        guard let algorithm, algorithm != line.checksum.algorithm else { return line.checksum }
        guard !line.namesAlgorithm, line.checksum.bytes.count == algorithm.byteCount else { return nil }
        return Checksum(algorithm: algorithm, bytes: line.checksum.bytes)
    }

    /// Without `./` at its start.
    private static func plain(_ name: [UInt8]) -> [UInt8] {
        Array(name.starts(with: Array("./".utf8)) ? name.dropFirst(2) : name[...])
    }

    /// `nil` when it is no hash of the algorithm, or without one of any.
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
