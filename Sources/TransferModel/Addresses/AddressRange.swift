internal import Glibc

/// A range of addresses in CIDR form: `10.1.0.0/16`, `fd00::/8`, or one address. The IPv4 address inside an IPv6 address
/// is in the range that the IPv4 address is in.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The first address of the range; all bits after `length` are 0.
    package let first: NetworkAddress
    /// How many leading bits the addresses of the range have in common.
    package let length: Int

    private init(first: NetworkAddress, length: Int) {
        self.first = first
        self.length = length
    }

    /// Whether the address, or the IPv4 address inside it, is in the range.
    package func contains(_ address: NetworkAddress) -> Bool {
        holds(address) || address.inner.map { holds($0) } == true
    }

    private func holds(_ address: NetworkAddress) -> Bool {
        guard address.bytes.count == first.bytes.count else { return false }
        let whole = length / 8
        for place in 0..<whole where address.bytes[place] != first.bytes[place] { return false }
        let mask = Self.mask(length % 8)
        return mask == 0 || address.bytes[whole] & mask == first.bytes[whole]
    }

    /// The leading `count` bits of a byte.
    private static func mask(_ count: Int) -> UInt8 { count == 0 ? 0 : ~(0xFF >> UInt8(count)) }

    /// `10.1.0.0/16`, or the address alone where the range holds only one.
    package var description: String {
        length == first.bytes.count * 8 ? first.description : "\(first)/\(length)"
    }

    // MARK: Reading

    /// Why a text is no range of addresses.
    package struct Problem: Error, Hashable {
        /// What is wrong, as the end of a sentence that begins with the text.
        package let message: String
        /// What would be right.
        package let hint: String
    }

    private static let usualHint = "write `10.1.0.0/16`, `fd00::/8`, or one address such as `10.1.2.3`"

    /// Reads `10.1.0.0/16`, `fd00::/8`, `10.1.2.3` and `::1`. A mapped range (`::ffff:10.0.0.0/104`) is the IPv4 range.
    package static func parse(_ text: String) throws(Problem) -> AddressRange {
        if text.isEmpty { throw Problem(message: "is empty", hint: usualHint) }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let written = parts[0]
        guard let address = NetworkAddress(literal: written) else {
            throw Problem(message: "is no address and no range of addresses", hint: hint(for: written))
        }
        if written.hasPrefix("[") {
            throw Problem(message: "has brackets around its address", hint: "leave the brackets out")
        }
        guard parts.count == 2 else { return AddressRange(first: address, length: address.bytes.count * 8) }
        // As an IPv6 address a mapped one has 96 bits before those of IPv4.
        let isMapped = address.isIPv4 && written.contains(":")
        let bits = isMapped ? 128 : address.bytes.count * 8
        let least = isMapped ? 96 : 0
        guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(parts[1]),
            (least...bits).contains(length)
        else {
            throw Problem(
                message: "has `\(parts[1].prefix(20))` where the length of its prefix must be",
                hint: "the length of this prefix is a number from \(least) to \(bits)")
        }
        let range = AddressRange(first: address.keeping(length - least), length: length - least)
        guard range.first == address else {
            throw Problem(
                message: "has bits set after its prefix",
                hint: "write `\(range)` for the range, or `\(address)` for the one address")
        }
        return range
    }

    private static func hint(for text: Substring) -> String {
        if text.contains("%") { return "an address with the name of an interface is not taken; \(usualHint)" }
        if text.contains("]:") || text.contains(".") && text.contains(":") {
            return "leave the port out: a range is for all ports"
        }
        return text.contains(where: \.isLetter) && !text.contains(":")
            ? "a name has no fixed address: \(usualHint)" : usualHint
    }

    // MARK: Making

    /// Returns a range of IPv4 addresses; without `length` the one address.
    static func ipv4(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, length: Int = 32) -> AddressRange {
        AddressRange(first: NetworkAddress(ipv4: [a, b, c, d]), length: length)
    }

    /// Returns a range of IPv6 addresses by its first groups of 16 bits; without `length` the one address.
    static func ipv6(_ groups: [UInt16], length: Int = 128) -> AddressRange {
        let bytes = groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return AddressRange(first: NetworkAddress(ipv6: bytes), length: length)
    }
}

extension NetworkAddress: CustomStringConvertible {
    /// Reads an address as text, an IPv6 one with or without brackets; `nil` for a name, and for an address with the
    /// name of an interface.
    package init?(literal text: some StringProtocol) {
        guard text.utf8.count <= 48 else { return nil }
        var bare = String(text)
        if bare.hasPrefix("["), bare.hasSuffix("]") { bare = String(bare.dropFirst().dropLast()) }
        let isIPv6 = bare.utf8.contains(UInt8(ascii: ":"))
        // Both have the address in network byte order, in 4 bytes or 16.
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, bare, &bytes) == 1 else { return nil }
        self.init(bytes)
    }

    /// The address in its shortest form, without brackets.
    package var description: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count)) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the address with only its leading `count` bits.
    fileprivate func keeping(_ count: Int) -> NetworkAddress {
        let kept = bytes.enumerated().map { place, byte in
            let bits = min(8, max(0, count - place * 8))
            return bits == 8 ? byte : byte & ~(0xFF >> UInt8(bits))
        }
        return isIPv4 ? NetworkAddress(ipv4: kept) : NetworkAddress(ipv6: kept)
    }
}

extension ResourceURL {
    /// The address that the URL's host says itself; `nil` for a name that has to be looked up. `localhost` and the names
    /// below it are this machine, whoever looks them up (RFC 6761).
    package var literalAddress: NetworkAddress? {
        let host = host
        if let address = NetworkAddress(literal: host) { return address }
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return name == "localhost" || name.hasSuffix(".localhost") ? NetworkAddress(ipv4: [127, 0, 0, 1]) : nil
    }

    /// Whether the host itself says that it is inside this machine, its network or its cloud.
    package var isInside: Bool { literalAddress.flatMap { AddressClass.of($0) }?.isInside == true }
}
