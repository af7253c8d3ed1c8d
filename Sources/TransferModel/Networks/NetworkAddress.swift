/// An IPv4 or IPv6 address as bytes, without a port.
package struct NetworkAddress: Hashable, Sendable {
    /// The address in network byte order: 4 bytes or 16.
    package let bytes: [UInt8]
    /// The interface that a link-local IPv6 address is meant on; 0 where none is stated.
    package let scope: UInt32

    /// `nil` for another number of bytes. An IPv4 address mapped into IPv6 becomes the IPv4 address, since a connection
    /// to `::ffff:127.0.0.1` is answered from 127.0.0.1.
    package init?(_ bytes: [UInt8], scope: UInt32 = 0) {
        switch bytes.count {
        case 4: self.bytes = bytes
        case 16 where bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF:
            self.bytes = Array(bytes[12...])
        case 16: self.bytes = bytes
        default: return nil
        }
        self.scope = scope
    }

    init(ipv4 bytes: [UInt8]) { (self.bytes, scope) = (bytes, 0) }
    /// Makes an IPv6 address of its first bytes; the others are 0.
    init(ipv6 bytes: [UInt8]) { (self.bytes, scope) = (bytes + [UInt8](repeating: 0, count: 16 - bytes.count), 0) }

    /// Whether it is an IPv4 address.
    package var isIPv4: Bool { bytes.count == 4 }

    /// Whether packets to it never leave the machine. The unspecified address is answered by the machine itself.
    package var isLoopback: Bool {
        if isIPv4 { return bytes[0] == 127 || bytes.allSatisfy { $0 == 0 } }
        return bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] <= 1
    }

    /// Whether it is in fe80::/10: every IPv6 interface has one of these, even with nothing at the other end.
    package var isLinkLocalIPv6: Bool { !isIPv4 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }
}
