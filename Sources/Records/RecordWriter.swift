/// Puts values into bytes, one behind the other: numbers in as few bytes as they need, texts and lists after their length.
/// What order they come in is known to whoever reads them again.
package struct RecordWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 64) { bytes.reserveCapacity(capacity) }

    /// Its memory is kept for what comes next.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func put(byte: UInt8) { bytes.append(byte) }

    /// Seven bits a byte, the lowest first.
    package mutating func put(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Numbers near zero are short, whatever their sign.
    package mutating func put(_ number: Int64) { put(UInt64(bitPattern: number << 1 ^ number >> 63)) }
    package mutating func put(_ number: Int) { put(Int64(number)) }
    package mutating func put(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    package mutating func put(_ text: String) {
        put(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    package mutating func put(_ part: [UInt8]) {
        put(UInt64(part.count))
        bytes.append(contentsOf: part)
    }

    package mutating func put<Value>(_ value: Value?, _ write: (inout RecordWriter, Value) -> Void) {
        put(value != nil)
        if let value { write(&self, value) }
    }

    package mutating func put(_ text: String?) { put(text) { $0.put($1) } }
    package mutating func put(_ number: Int64?) { put(number) { $0.put($1) } }

    package mutating func put<Element>(_ list: [Element], _ write: (inout RecordWriter, Element) -> Void) {
        put(UInt64(list.count))
        for element in list { write(&self, element) }
    }
}
