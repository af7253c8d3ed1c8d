/// A kind of address that is not for the public Internet, by the name that `addresses` has for it. Ranges for
/// documentation (such as 203.0.113.0/24) are of no class: nothing answers there, unless someone set it up on purpose.
package enum AddressClass: String, CaseIterable, Sendable {
    // In the order in which an address that is of several classes is described by one.
    case metadata, loopback, unspecified, linkLocal, `private`, shared, uniqueLocal, multicast, reserved

    /// The address ranges of the class.
    package var ranges: [AddressRange] { Self.table[self] ?? [] }

    /// Whether the address, or the IPv4 address inside it, is of this class. An address may be of several: 169.254.169.254
    /// is link-local, and a cloud's metadata service.
    package func contains(_ address: NetworkAddress) -> Bool { ranges.contains { $0.contains(address) } }

    /// Returns the class that says most about the address; `nil` for one of the public Internet.
    package static func of(_ address: NetworkAddress) -> AddressClass? { allCases.first { $0.contains(address) } }

    /// Whether what listens there is inside this machine, its network or its cloud, so that a server outside must not
    /// lead there.
    package var isInside: Bool {
        switch self {
        case .metadata, .loopback, .unspecified, .linkLocal, .private, .shared, .uniqueLocal: true
        case .multicast, .reserved: false
        }
    }

    /// The class of an address with its article, for messages: "a private address".
    package var words: String {
        switch self {
        case .metadata: "the address of a cloud's metadata service"
        case .loopback: "a loopback address"
        case .unspecified: "an unspecified address, which is this machine"
        case .linkLocal: "a link-local address"
        case .private: "a private address"
        case .shared: "a shared address (100.64.0.0/10)"
        case .uniqueLocal: "a unique local address"
        case .multicast: "a multicast address"
        case .reserved: "a reserved address"
        }
    }

    private static let table: [AddressClass: [AddressRange]] = [
        .metadata: [
            // AWS, Azure, Google, Oracle, OpenStack and most others; AWS's for containers and pods; Tencent; Scaleway.
            .ipv4(169, 254, 169, 254), .ipv4(169, 254, 170, 2), .ipv4(169, 254, 170, 23), .ipv4(169, 254, 0, 23),
            .ipv4(169, 254, 42, 42),
            // Alibaba, Azure's agent, Oracle.
            .ipv4(100, 100, 100, 200), .ipv4(168, 63, 129, 16), .ipv4(192, 0, 0, 192),
            // AWS and its pods, Google, Oracle, Scaleway, OpenStack.
            .ipv6([0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x254]), .ipv6([0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x23]),
            .ipv6([0xFD20, 0xCE, 0, 0, 0, 0, 0, 0x254]), .ipv6([0xFD00, 0xC1, 0, 0, 0, 0, 0xA9FE, 0xA9FE]),
            .ipv6([0xFD00, 0x42, 0, 0, 0, 0, 0, 0x42]), .ipv6([0xFE80, 0, 0, 0, 0, 0, 0xA9FE, 0xA9FE]),
        ],
        .loopback: [.ipv4(127, 0, 0, 0, length: 8), .ipv6([0, 0, 0, 0, 0, 0, 0, 1])],
        .unspecified: [.ipv4(0, 0, 0, 0, length: 8), .ipv6([0, 0, 0, 0, 0, 0, 0, 0])],
        .linkLocal: [.ipv4(169, 254, 0, 0, length: 16), .ipv6([0xFE80], length: 10)],
        .private: [
            .ipv4(10, 0, 0, 0, length: 8), .ipv4(172, 16, 0, 0, length: 12), .ipv4(192, 168, 0, 0, length: 16),
            // Translated to whatever the local network says (RFC 8215).
            .ipv6([0x64, 0xFF9B, 1], length: 48),
        ],
        .shared: [.ipv4(100, 64, 0, 0, length: 10)],
        // The second was the first's precursor (RFC 3879), and networks still use it.
        .uniqueLocal: [.ipv6([0xFC00], length: 7), .ipv6([0xFEC0], length: 10)],
        .multicast: [.ipv4(224, 0, 0, 0, length: 4), .ipv6([0xFF00], length: 8)],
        // Protocols of the IETF, benchmarks, the future and broadcast; what routers discard.
        .reserved: [
            .ipv4(192, 0, 0, 0, length: 24), .ipv4(198, 18, 0, 0, length: 15), .ipv4(240, 0, 0, 0, length: 4),
            .ipv6([0x100], length: 64),
        ],
    ]
}

extension NetworkAddress {
    /// The IPv4 address that packets to this IPv6 address are for, or `nil` without one: `::a.b.c.d`, a translated
    /// address (`64:ff9b::/96`, `::ffff:0:0:0/96`), 6to4 (`2002::/16`) and Teredo (`2001::/32`). A mapped address
    /// (`::ffff:a.b.c.d`) is an IPv4 address in the first place.
    package var inner: NetworkAddress? {
        guard !isIPv4 else { return nil }
        let inside: [UInt8]
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x02, _, _): inside = Array(bytes[2..<6])
        case (0x20, 0x01, 0, 0): inside = bytes[12...].map { ~$0 }
        case (0, 0x64, 0xFF, 0x9B) where bytes[4..<12].allSatisfy { $0 == 0 }: inside = Array(bytes[12...])
        case (0, 0, 0, 0) where bytes[4..<12].allSatisfy { $0 == 0 }:
            // `::` and `::1` are no IPv4 addresses.
            if bytes[12..<15].allSatisfy({ $0 == 0 }), bytes[15] <= 1 { return nil }
            inside = Array(bytes[12...])
        case (0, 0, 0, 0) where bytes[4..<8] == [0, 0, 0, 0] && bytes[8..<12] == [0xFF, 0xFF, 0, 0]:
            inside = Array(bytes[12...])
        default: return nil
        }
        return NetworkAddress(inside)
    }
}
