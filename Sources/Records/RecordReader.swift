/// Why bytes are no record.
package struct RecordProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// They end before the record does.
        case cutShort
        /// Something stands behind the record's end.
        case leftover
        /// No writer writes this: a number of too many bits, a flag that is neither, a text that is no UTF-8.
        case malformed
        /// A later version of the program may have written it.
        case unknown
    }
    package let kind: Kind
    /// Where, and what was to be read there.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// Takes out what a `RecordWriter` put in, in the same order. Whatever the bytes are, it ends in a value or in a
/// `RecordProblem`, and takes no more memory than a small multiple of their number.
package struct RecordReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package func problem(_ kind: RecordProblem.Kind, _ what: String) -> RecordProblem {
        RecordProblem(kind, "byte \(position) of \(bytes.count): \(what)")
    }

    /// After the last value: nothing may be left.
    package func finish() throws(RecordProblem) {
        guard position == bytes.count else { throw problem(.leftover, "something stands behind the record's end") }
    }

    package mutating func byte() throws(RecordProblem) -> UInt8 {
        guard position < bytes.count else { throw problem(.cutShort, "a byte is missing") }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func unsigned() throws(RecordProblem) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            guard byte >= 0x80 else {
                // The last byte has one bit left, and one that adds nothing was written by nobody.
                guard shift < 63 || byte <= 1, shift == 0 || byte != 0 else { break }
                return number
            }
        }
        throw problem(.malformed, "that is no number")
    }

    package mutating func int64() throws(RecordProblem) -> Int64 {
        let folded = try unsigned()
        return Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    package mutating func int() throws(RecordProblem) -> Int { Int(try int64()) }

    /// A number that must fit.
    package mutating func exactly<Number: FixedWidthInteger>(_: Number.Type) throws(RecordProblem) -> Number {
        guard let number = Number(exactly: try unsigned()) else { throw problem(.malformed, "the number is too large") }
        return number
    }

    package mutating func flag() throws(RecordProblem) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw problem(.malformed, "a flag is neither yes nor no")
        }
    }

    /// How many follow. Each takes a byte at least, so that there are no more than bytes are left.
    package mutating func count() throws(RecordProblem) -> Int {
        let count = try unsigned()
        guard count <= UInt64(bytes.count - position) else { throw problem(.cutShort, "\(count) bytes are missing") }
        return Int(count)
    }

    package mutating func text() throws(RecordProblem) -> String {
        let count = try count()
        guard let text = String(validating: bytes[position..<position + count], as: UTF8.self) else {
            throw problem(.malformed, "a text is no UTF-8")
        }
        position += count
        return text
    }

    package mutating func blob() throws(RecordProblem) -> [UInt8] {
        let count = try count()
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    package mutating func optional<Value>(
        _ read: (inout RecordReader) throws(RecordProblem) -> Value
    ) throws(RecordProblem) -> Value? {
        try flag() ? try read(&self) : nil
    }

    package mutating func optionalText() throws(RecordProblem) -> String? {
        try flag() ? try text() : nil
    }

    package mutating func optionalInt64() throws(RecordProblem) -> Int64? {
        try flag() ? try int64() : nil
    }

    package mutating func list<Element>(
        _ read: (inout RecordReader) throws(RecordProblem) -> Element
    ) throws(RecordProblem) -> [Element] {
        let count = try count()
        var list: [Element] = []
        // What is announced is believed only as it comes: an element in memory may be far larger than a byte.
        list.reserveCapacity(min(count, 64))
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }
}
