/// Why bytes could not be decoded as a record.
package struct RecordProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Class of the problem, which tells damage from a later version's format.
    package enum Kind: Hashable, Sendable {
        /// The bytes end before the record does.
        case cutShort
        /// Bytes are left behind the record's end.
        case leftover
        /// No writer writes this: a number of too many bits, a flag that is neither 0 nor 1, a text that is not UTF-8.
        case malformed
        /// A later version of the program may have written it.
        case unknown
    }
    /// Class of the problem.
    package let kind: Kind
    /// Position in the bytes, and what was to be read there.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// Decodes the values of a `RecordWriter`, in the same order. Whatever the bytes are, it ends in a value or in a
/// `RecordProblem`, and takes no more memory than a small multiple of their number.
package struct RecordReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Makes a problem at the current position.
    package func problem(_ kind: RecordProblem.Kind, _ what: String) -> RecordProblem {
        RecordProblem(kind, "byte \(position) of \(bytes.count): \(what)")
    }

    /// Throws if bytes are left; to be called after the last value.
    package func finish() throws(RecordProblem) {
        guard position == bytes.count else { throw problem(.leftover, "something stands behind the record's end") }
    }

    /// Reads one byte as it is.
    package mutating func byte() throws(RecordProblem) -> UInt8 {
        guard position < bytes.count else { throw problem(.cutShort, "a byte is missing") }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads an unsigned number; refuses encodings longer than necessary.
    package mutating func unsigned() throws(RecordProblem) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            guard byte >= 0x80 else {
                // The tenth byte has one bit left, and no writer ends a number with a byte that adds nothing.
                guard shift < 63 || byte <= 1, shift == 0 || byte != 0 else { break }
                return number
            }
        }
        throw problem(.malformed, "that is no number")
    }

    /// Reads a signed number.
    package mutating func int64() throws(RecordProblem) -> Int64 {
        let folded = try unsigned()
        return Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    /// Reads a signed number, as `RecordWriter` writes an `Int`.
    package mutating func int() throws(RecordProblem) -> Int { Int(try int64()) }

    /// Reads an unsigned number that must fit the given type.
    package mutating func exactly<Number: FixedWidthInteger>(_: Number.Type) throws(RecordProblem) -> Number {
        guard let number = Number(exactly: try unsigned()) else { throw problem(.malformed, "the number is too large") }
        return number
    }

    /// Reads a flag; a byte other than 0 or 1 is malformed.
    package mutating func flag() throws(RecordProblem) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw problem(.malformed, "a flag is neither yes nor no")
        }
    }

    /// Reads the length of a text or list. Each element takes at least a byte: a length above the number of bytes left
    /// is a problem.
    package mutating func count() throws(RecordProblem) -> Int {
        let count = try unsigned()
        guard count <= UInt64(bytes.count - position) else { throw problem(.cutShort, "\(count) bytes are missing") }
        return Int(count)
    }

    /// Reads a text; invalid UTF-8 is malformed.
    package mutating func text() throws(RecordProblem) -> String {
        let count = try count()
        guard let text = String(validating: bytes[position..<position + count], as: UTF8.self) else {
            throw problem(.malformed, "a text is no UTF-8")
        }
        position += count
        return text
    }

    /// Reads bytes after their number.
    package mutating func blob() throws(RecordProblem) -> [UInt8] {
        let count = try count()
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    /// Reads the flag of an optional value, and the value where there is one.
    package mutating func optional<Value>(
        _ read: (inout RecordReader) throws(RecordProblem) -> Value
    ) throws(RecordProblem) -> Value? {
        try flag() ? try read(&self) : nil
    }

    /// Reads an optional text.
    package mutating func optionalText() throws(RecordProblem) -> String? {
        try flag() ? try text() : nil
    }

    /// Reads an optional signed number.
    package mutating func optionalInt64() throws(RecordProblem) -> Int64? {
        try flag() ? try int64() : nil
    }

    /// Reads a list, each element with `read`.
    package mutating func list<Element>(
        _ read: (inout RecordReader) throws(RecordProblem) -> Element
    ) throws(RecordProblem) -> [Element] {
        let count = try count()
        var list: [Element] = []
        // Reserves little for the announced count: an element in memory may be far larger than a byte.
        list.reserveCapacity(min(count, 64))
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }
}
