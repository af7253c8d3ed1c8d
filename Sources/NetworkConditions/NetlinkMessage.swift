package import TransferModel

/// One message of the kernel, as far as it is used here. The numbers are those of `linux/rtnetlink.h` and
/// `linux/if_link.h`: a part of the kernel's interface that never changes.
package enum NetlinkMessage: Hashable, Sendable {
    case link(Link)
    case address(LinkAddress)
    case route(Route)
    /// The end of an answer of several messages.
    case done
    /// An error number; 0 reports success.
    case failed(Int32)
    /// A message that is not used, or is cut short.
    case other

    /// An interface as the kernel describes it.
    package struct Link: Hashable, Sendable {
        /// The number by which the kernel knows the interface.
        package var index: UInt32
        /// The interface's name, such as `eth0`.
        package var name: String
        /// Whether the interface is switched on (`IFF_UP`).
        package var isUp = false
        /// Whether the interface has a carrier and is not dormant, so that it can carry packets.
        package var isRunning = false
        /// Whether it is the loopback interface.
        package var isLoopback = false
        /// The `ARPHRD_…` number of its hardware: 1 is Ethernet.
        package var hardware: UInt16 = 1
        /// How it was made: `vlan`, `bridge`, `tun`, …; `nil` for a device's own interface.
        package var kind: String?
        /// The index of the interface it stands on; `nil` if there is none in this network namespace.
        package var base: UInt32?
        /// The index of the bridge or bond of which it is a port.
        package var master: UInt32?

        package init(index: UInt32, name: String) {
            self.index = index
            self.name = name
        }
    }

    /// An address of an interface.
    package struct LinkAddress: Hashable, Sendable {
        /// The interface's index.
        package var link: UInt32
        /// The address on this side.
        package var address: NetworkAddress
        /// Whether the address may not be used: IPv6 still checks whether another machine has it, or found one that
        /// does.
        package var isTentative: Bool

        package init(link: UInt32, address: NetworkAddress, isTentative: Bool) {
            self.link = link
            self.address = address
            self.isTentative = isTentative
        }
    }

    /// Where packets to one address go.
    package struct Route: Hashable, Sendable {
        /// What becomes of packets on the route.
        package enum Kind: Hashable, Sendable { case unicast, local, refused }
        /// What becomes of the packets.
        package var kind: Kind
        /// The index of the interface they leave by; `nil` where there are several, in `nextLinks`.
        package var link: UInt32?
        /// The interfaces of a route with several ways.
        package var nextLinks: [UInt32]

        package init(kind: Kind, link: UInt32?, nextLinks: [UInt32]) {
            self.kind = kind
            self.link = link
            self.nextLinks = nextLinks
        }
    }
}

/// Splits a datagram of the kernel into its messages.
package struct NetlinkParser {
    /// One message with what its head says.
    package struct Item: Hashable, Sendable {
        /// The number of the request that it answers; 0 for an unasked message.
        package var sequence: UInt32
        /// Whether the table changed while it was being sent, so that it may not fit together.
        package var isInterrupted: Bool
        /// The message's content.
        package var message: NetlinkMessage
    }

    /// Returns the messages; stops at the first whose length is invalid.
    package static func items(in bytes: ArraySlice<UInt8>) -> [Item] {
        var items: [Item] = []
        var rest = WireBytes(bytes)
        while let length: UInt32 = rest.number(0), let type: UInt16 = rest.number(4),
            let flags: UInt16 = rest.number(6), let sequence: UInt32 = rest.number(8)
        {
            let length = Int(length)
            guard length >= 16, length <= rest.count else { break }
            let body = WireBytes(rest.bytes.prefix(length).dropFirst(16))
            items.append(
                Item(sequence: sequence, isInterrupted: flags & 0x10 != 0, message: message(type, body)))
            rest = rest.dropping((length + 3) & ~3)
        }
        return items
    }

    private static func message(_ type: UInt16, _ body: WireBytes) -> NetlinkMessage {
        switch type {
        case 2: body.number(0, Int32.self).map { .failed($0 == .min ? .max : -$0) } ?? .other
        case 3: .done
        case 16: link(body).map { .link($0) } ?? .other
        case 20: address(body).map { .address($0) } ?? .other
        case 24, 25: route(body)
        default: .other
        }
    }

    // MARK: Links

    /// Reads an `ifinfomsg`: a family, a hardware type, an index, flags, a mask.
    private static func link(_ body: WireBytes) -> NetlinkMessage.Link? {
        guard let hardware: UInt16 = body.number(2), let index: Int32 = body.number(4), index > 0,
            let flags: UInt32 = body.number(8), body.count >= 16
        else { return nil }
        var link = NetlinkMessage.Link(index: UInt32(index), name: "")
        (link.isUp, link.isLoopback) = (flags & 1 != 0, flags & 8 != 0)
        // `IFF_LOWER_UP` without `IFF_DORMANT`; `IFF_RUNNING` says the same up to a second later.
        link.isRunning = flags & 0x10000 != 0 && flags & 0x20000 == 0
        link.hardware = hardware
        var isBaseElsewhere = false
        body.dropping(16).forEachAttribute { type, value in
            switch type {
            case 3: link.name = value.text ?? ""
            case 5: link.base = value.number(0)
            case 10: link.master = value.number(0)
            case 18: value.forEachAttribute { if $0 == 1 { link.kind = $1.text } }
            case 37: isBaseElsewhere = true
            default: break
            }
        }
        // The other end of a pair and a tunnel's own index are no interfaces that it stands on.
        if isBaseElsewhere || link.base == link.index || link.base == 0 || !stacked.contains(link.kind ?? "") {
            link.base = nil
        }
        return link.name.isEmpty ? nil : link
    }

    private static let stacked: Set = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "ipoib", "macsec"]

    // MARK: Addresses

    /// Reads an `ifaddrmsg`: a family, a length of prefix, flags, a scope, an index.
    private static func address(_ body: WireBytes) -> NetlinkMessage.LinkAddress? {
        guard let link: UInt32 = body.number(4), let short = body.byte(2) else { return nil }
        var (flags, own, other) = (UInt32(short), [UInt8]?.none, [UInt8]?.none)
        body.dropping(8).forEachAttribute { type, value in
            switch type {
            // The other end's address on a point-to-point link, else this side's.
            case 1: other = Array(value.bytes)
            case 2: own = Array(value.bytes)
            case 8: flags = value.number(0) ?? flags
            default: break
            }
        }
        guard let address = (own ?? other).flatMap({ NetworkAddress($0) }) else { return nil }
        return NetlinkMessage.LinkAddress(link: link, address: address, isTentative: flags & 0x48 != 0)
    }

    // MARK: Routes

    /// Reads an `rtmsg`: a family, two lengths of prefix, a type of service, a table, an origin, a scope, a kind,
    /// flags.
    private static func route(_ body: WireBytes) -> NetlinkMessage {
        guard let kind = body.byte(7), body.count >= 12 else { return .other }
        var route = NetlinkMessage.Route(kind: .refused, link: nil, nextLinks: [])
        switch kind {
        case 2: route.kind = .local
        // Unicast, and broadcasts and groups that leave the machine as well.
        case 1, 3, 4, 5: route.kind = .unicast
        default: break
        }
        body.dropping(12).forEachAttribute { type, value in
            switch type {
            case 4: route.link = value.number(0)
            case 9: route.nextLinks = nextLinks(value)
            default: break
            }
        }
        return .route(route)
    }

    /// Reads `rtnexthop` records: each has its whole length, flags, hops, an index.
    private static func nextLinks(_ value: WireBytes) -> [UInt32] {
        var links: [UInt32] = []
        var rest = value
        while let length: UInt16 = rest.number(0), let link: UInt32 = rest.number(4), length >= 8,
            Int(length) <= rest.count
        {
            links.append(link)
            rest = rest.dropping((Int(length) + 3) & ~3)
        }
        return links
    }
}
