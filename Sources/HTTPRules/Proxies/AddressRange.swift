internal import Glibc

/// A range of IP addresses with the same first bits: `10.0.0.0/8`, `fd00::/8`, `[::1]`, `127.0.0.1`. An IPv4 address
/// written as an IPv6 one (`::ffff:10.1.2.3`) counts as the IPv4 address.
package struct AddressRange: Hashable, Sendable {
    private let start: [UInt8]
    private let bits: Int

    /// `nil` when the text is neither an address nor a range.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, let address = Self.rawBytes(of: first) else { return nil }
        var bits = address.count * 8
        if parts.count == 2 {
            guard let number = UInt8(parts[1]), Int(number) <= bits else { return nil }
            bits = Int(number)
        }
        if Self.isMapped(address), bits >= 96 {
            (start, self.bits) = (Array(address[12...]), bits - 96)
        } else {
            (start, self.bits) = (address, bits)
        }
    }

    /// Returns the 4 or 16 bytes of an address in its text form, with or without brackets; `nil` for a name.
    package static func bytes(of host: String) -> [UInt8]? {
        guard let address = rawBytes(of: host) else { return nil }
        return isMapped(address) ? Array(address[12...]) : address
    }

    /// Whether the range contains an address, given as its 4 or 16 bytes.
    package func contains(_ address: [UInt8]) -> Bool {
        guard address.count == start.count else { return false }
        let whole = bits / 8
        guard address[..<whole] == start[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (address[whole] ^ start[whole]) >> (8 - UInt8(rest)) == 0
    }

    private static func isMapped(_ address: [UInt8]) -> Bool {
        address.count == 16 && address[..<10].allSatisfy { $0 == 0 } && address[10] == 0xFF && address[11] == 0xFF
    }

    private static func rawBytes(of text: String) -> [UInt8]? {
        guard let first = text.utf8.first, text.utf8.count <= 48 else { return nil }
        // Most names are recognized by their first character, without a call.
        let isHex = (0x30...0x39).contains(first) || (0x61...0x66).contains(first | 0x20)
        guard isHex || first == UInt8(ascii: ":") || first == UInt8(ascii: "[") else { return nil }
        var bare = text[...]
        if bare.hasPrefix("["), bare.hasSuffix("]") { bare = bare.dropFirst().dropLast() }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, String(bare), &bytes) == 1 { return bytes }
        }
        return nil
    }
}
