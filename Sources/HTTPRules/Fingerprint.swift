/// An FNV-1a hash, which is the same in every process, as `Hasher`'s is not. It guards against accidents, not against
/// attackers.
package struct Fingerprint: Sendable {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325
    /// The hash of everything added so far.
    package var value: Int64 { Int64(bitPattern: state) }

    package init() {}

    /// Adds a text and a separator.
    package mutating func add(_ text: String) { add(text[...]) }

    /// Adds a text and a separator, so that two texts never hash like their concatenation.
    package mutating func add(_ text: Substring) {
        let bytes = text.utf8.span
        for index in bytes.indices { mix(bytes[index]) }
        // A byte that never occurs in UTF-8.
        mix(0xFF)
    }

    /// Adds bytes and their count.
    package mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { mix(byte) }
        // The count separates the bytes from what follows: they may hold any byte.
        add(Int64(bytes.count))
    }

    /// Adds the eight bytes of a number, lowest first.
    package mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { mix(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func mix(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
