import TransferModel

/// Builds requests to the kernel.
enum NetlinkRequest {
    /// The flags of a request for a whole table.
    private static let dump: UInt16 = 0x301
    private static let single: UInt16 = 0x001

    /// Asks for every interface, without its counters.
    static func links(sequence: UInt32) -> [UInt8] {
        var message = WireMessage(type: 18, flags: dump, sequence: sequence)
        message.append(zeros: 16)
        message.attribute(29, UInt32(1 << 3))
        return message.finished
    }

    /// Asks for every address of both families.
    static func addresses(sequence: UInt32) -> [UInt8] {
        var message = WireMessage(type: 22, flags: dump, sequence: sequence)
        message.append(zeros: 8)
        return message.finished
    }

    /// Asks where packets to the address go. `byTable` asks for the table's entry rather than for the resulting route:
    /// for an interface without a route, IPv4 would claim that the address lies directly behind it.
    static func route(
        to address: NetworkAddress, over link: UInt32?, byTable: Bool, sequence: UInt32
    ) -> [UInt8] {
        var message = WireMessage(type: 26, flags: single, sequence: sequence)
        message.append(address.isIPv4 ? UInt8(2) : UInt8(10))
        message.append(UInt8(address.bytes.count * 8))
        message.append(zeros: 6)
        message.append(UInt32(byTable ? 0x2000 : 0))
        message.attribute(1, address.bytes)
        if let link { message.attribute(4, link) }
        return message.finished
    }
}
