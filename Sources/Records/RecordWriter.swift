/// Encodes values into bytes, one behind the other: numbers in as few bytes as they need, texts and lists after their
/// length. The order of the values is not recorded: the reader must know it.
package struct RecordWriter: Sendable {
    /// The encoded values so far.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 64) { bytes.reserveCapacity(capacity) }

    /// Empties the writer and keeps its memory for the next record.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends one byte as it is.
    package mutating func put(byte: UInt8) { bytes.append(byte) }

    /// Appends a number in groups of seven bits, the lowest first; the top bit of a byte says that more follow.
    package mutating func put(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a signed number zigzag-encoded: numbers near zero are short, whatever their sign.
    package mutating func put(_ number: Int64) { put(UInt64(bitPattern: number << 1 ^ number >> 63)) }
    /// Appends a signed number, as an `Int64`.
    package mutating func put(_ number: Int) { put(Int64(number)) }
    /// Appends a flag as the byte 0 or 1.
    package mutating func put(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    /// Appends a text as UTF-8 after its length in bytes.
    package mutating func put(_ text: String) {
        put(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends bytes after their number.
    package mutating func put(_ part: [UInt8]) {
        put(UInt64(part.count))
        bytes.append(contentsOf: part)
    }

    /// Appends a flag that tells whether there is a value, and then the value.
    package mutating func put<Value>(_ value: Value?, _ write: (inout RecordWriter, Value) -> Void) {
        put(value != nil)
        if let value { write(&self, value) }
    }

    /// Appends an optional text.
    package mutating func put(_ text: String?) { put(text) { $0.put($1) } }
    /// Appends an optional number.
    package mutating func put(_ number: Int64?) { put(number) { $0.put($1) } }

    /// Appends a list: its count, and then its elements.
    package mutating func put<Element>(_ list: [Element], _ write: (inout RecordWriter, Element) -> Void) {
        put(UInt64(list.count))
        for element in list { write(&self, element) }
    }
}
