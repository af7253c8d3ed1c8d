package import TransferModel

/// A zone's offset from UTC at any time: the transitions of a TZif file (RFC 9636), then its footer's rule.
package struct TimeZoneRules: Equatable, Sendable {
    /// When the offset changes, in seconds since 1970, ascending; `offsets` holds what it changes to.
    private var transitions: [Int] = []
    private var offsets: [Int] = []
    private var offsetBeforeFirst = 0
    private var rule: PosixTimeZone?

    /// Parses a TZif file of any version; `nil` if the bytes are none.
    package init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard var header = Header(&reader) else { return nil }
        var width = 4
        if header.version >= UInt8(ascii: "2") {
            // The first block is for old readers, which know only 32-bit times.
            guard reader.skip(header.blockLength(timeWidth: 4)), let second = Header(&reader) else { return nil }
            header = second
            width = 8
        }
        guard readBlock(&reader, header, width: width) else { return nil }
        if width == 8 {
            guard let footer = reader.footer() else { return nil }
            rule = footer.isEmpty ? nil : PosixTimeZone(footer)
            if !footer.isEmpty, rule == nil { return nil }
        }
    }

    /// Returns the zone's offset at a time, in seconds east of UTC.
    package func offset(at time: WallTime) -> Int {
        let seconds = floorDivide(Int(time.nanoseconds), 1_000_000_000)
        guard let first = transitions.first, let last = transitions.last else {
            return rule?.offset(at: seconds) ?? offsetBeforeFirst
        }
        if seconds < first { return offsetBeforeFirst }
        if seconds >= last, let rule { return rule.offset(at: seconds) }
        var low = 0
        var high = transitions.count
        while low + 1 < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle } else { high = middle }
        }
        return offsets[low]
    }

    private mutating func readBlock(_ reader: inout Reader, _ header: Header, width: Int) -> Bool {
        guard header.types > 0, header.blockLength(timeWidth: width) <= reader.bytes.count else { return false }
        transitions = (0..<header.times).map { _ in reader.integer(width) }
        let kinds = (0..<header.times).map { _ in reader.integer(1) & 0xFF }
        let typeOffsets = (0..<header.types).map { _ in
            let offset = reader.integer(4)
            _ = reader.skip(2)
            return offset
        }
        guard kinds.allSatisfy({ $0 < typeOffsets.count }),
            zip(transitions, transitions.dropFirst()).allSatisfy({ $0 < $1 })
        else { return false }
        offsets = kinds.map { typeOffsets[$0] }
        offsetBeforeFirst = typeOffsets[0]
        return reader.skip(header.characters + header.leaps * (width + 4) + header.standardFlags + header.utcFlags)
    }

    private struct Header {
        let version: UInt8
        let utcFlags, standardFlags, leaps, times, types, characters: Int

        init?(_ reader: inout Reader) {
            guard reader.bytes.count >= 44, reader.bytes.starts(with: "TZif".utf8), reader.skip(4) else { return nil }
            version = UInt8(truncatingIfNeeded: reader.integer(1))
            _ = reader.skip(15)
            utcFlags = reader.integer(4)
            standardFlags = reader.integer(4)
            leaps = reader.integer(4)
            times = reader.integer(4)
            types = reader.integer(4)
            characters = reader.integer(4)
            let counts = [utcFlags, standardFlags, leaps, times, types, characters]
            guard counts.allSatisfy({ $0 >= 0 && $0 < 1 << 24 }) else { return nil }
        }

        func blockLength(timeWidth: Int) -> Int {
            times * (timeWidth + 1) + types * 6 + characters + leaps * (timeWidth + 4) + standardFlags + utcFlags
        }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func skip(_ count: Int) -> Bool {
            guard count <= bytes.count else { return false }
            bytes = bytes.dropFirst(count)
            return true
        }

        /// Takes a big-endian signed integer; the caller has checked the length.
        mutating func integer(_ width: Int) -> Int {
            let value = bytes.prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
            bytes = bytes.dropFirst(width)
            let unused = 64 - 8 * width
            return Int(Int64(bitPattern: value << unused) >> unused)
        }

        /// Returns the text between two line feeds; `nil` without them.
        mutating func footer() -> ArraySlice<UInt8>? {
            guard bytes.first == 0x0A, let end = bytes.dropFirst().firstIndex(of: 0x0A) else { return nil }
            return bytes[(bytes.startIndex + 1)..<end]
        }
    }
}
