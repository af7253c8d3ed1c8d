import Glibc

/// Finds a key's row by the bytes of its name, without making a string of a known key.
struct KeyIndex: Sendable {
    private let names: [StaticString]
    /// A hash table with linear probing: a row's number plus one; 0 is free.
    private let slots: [UInt8]
    private let mask: Int

    init(_ names: [StaticString]) {
        precondition(names.count < 128, "more keys than a slot can number")
        var size = 8
        while size < names.count * 3 { size *= 2 }
        var slots = [UInt8](repeating: 0, count: size)
        for (number, name) in names.enumerated() {
            var slot = name.withUTF8Buffer { Self.hash($0) } & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt8(number + 1)
        }
        self.names = names
        self.slots = slots
        mask = size - 1
    }

    /// Hashes length and three letters, which differ for nearly all keys.
    @inline(__always)
    private static func hash(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        guard !name.isEmpty else { return 0 }
        let (first, middle, last) = (Int(name[0]), Int(name[name.count / 2]), Int(name[name.count - 1]))
        return name.count &* 7 &+ first &* 31 &+ middle &* 131 &+ last &* 61
    }

    func find(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        var slot = Self.hash(name) & mask
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            let known = names[number]
            if known.utf8CodeUnitCount == name.count, let start = name.baseAddress,
                memcmp(known.utf8Start, start, name.count) == 0
            {
                return number
            }
            slot = (slot + 1) & mask
        }
        return nil
    }
}
