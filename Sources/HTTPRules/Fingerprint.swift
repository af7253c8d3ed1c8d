/// FNV-1a: the same in every process, as `Hasher` is not. Against accidents, not against people.
package struct Fingerprint: Sendable {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325
    package var value: Int64 { Int64(bitPattern: state) }

    package init() {}

    package mutating func add(_ text: String) { add(text[...]) }

    package mutating func add(_ text: Substring) {
        let bytes = text.utf8.span
        for index in bytes.indices { mix(bytes[index]) }
        // A byte that no UTF-8 has: two texts are never one longer text.
        mix(0xFF)
    }

    package mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { mix(byte) }
        // The length tells where they end: they may hold any byte.
        add(Int64(bytes.count))
    }

    package mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { mix(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func mix(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
