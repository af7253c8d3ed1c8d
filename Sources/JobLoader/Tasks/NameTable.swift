/// Finds equal names among a million: a flat array of hashes; names are compared only if their hashes match.
struct NameTable {
    /// The upper half of a name's hash and its entry's number plus one; 0 is free.
    private var slots: [UInt64]
    private var names: [String] = []
    private var owners: [UInt32] = []
    /// Random for each table, so that no file can be written so that its names collide.
    private let seed: UInt64

    init(expecting count: Int = 0) {
        var size = 16
        while size < count * 2 { size *= 2 }
        slots = [UInt64](repeating: 0, count: size)
        seed = UInt64.random(in: .min ... .max) | 1
        names.reserveCapacity(count)
        owners.reserveCapacity(count)
    }

    /// Adds a name. Returns `nil` if it is new, else its first owner.
    mutating func insert(_ name: String, owner: UInt32) -> UInt32? {
        if (names.count + 1) * 2 > slots.count { grow() }
        let hash = hash(name)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let entry = Int(slots[slot] & 0xFFFF_FFFF) - 1
            if slots[slot] >> 32 == hash >> 32, names[entry] == name { return owners[entry] }
            slot = (slot + 1) & (slots.count - 1)
        }
        names.append(name)
        owners.append(owner)
        slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(names.count)
        return nil
    }

    func owner(of name: String) -> UInt32? {
        let hash = hash(name)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let entry = Int(slots[slot] & 0xFFFF_FFFF) - 1
            if slots[slot] >> 32 == hash >> 32, names[entry] == name { return owners[entry] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private mutating func grow() {
        var larger = [UInt64](repeating: 0, count: slots.count * 2)
        for (entry, name) in names.enumerated() {
            let hash = hash(name)
            var slot = Int(truncatingIfNeeded: hash) & (larger.count - 1)
            while larger[slot] != 0 { slot = (slot + 1) & (larger.count - 1) }
            larger[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(entry + 1)
        }
        slots = larger
    }

    private func hash(_ name: String) -> UInt64 {
        let quick = name.utf8.withContiguousStorageIfAvailable { hash($0) }
        if let quick { return quick }
        var copy = name
        return copy.withUTF8 { hash($0) }
    }

    private func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let raw = UnsafeRawBufferPointer(bytes)
        var value = seed ^ UInt64(truncatingIfNeeded: raw.count) &* 0x9E37_79B9_7F4A_7C15
        var offset = 0
        while offset + 8 <= raw.count {
            value = mix(value ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < raw.count {
            rest = rest << 8 | UInt64(raw[offset])
            offset += 1
        }
        return mix(mix(value ^ rest))
    }

    private func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F ^ seed)
        return product.high ^ product.low
    }
}
