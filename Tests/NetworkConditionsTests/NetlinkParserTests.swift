import NetworkConditions
import TestSupport
import Testing
import TransferModel

/// Messages of the kernel's as bytes: well-formed ones are read, others end nothing.
struct NetlinkParserTests {
    /// A message put together as the kernel does; only its length is filled in.
    struct Bytes {
        var bytes: [UInt8] = []
        init(_ bytes: [UInt8] = []) { self.bytes = bytes }
        func u16(_ value: UInt16) -> Bytes { appending(value) }
        func u32(_ value: UInt32) -> Bytes { appending(value) }
        func raw(_ more: [UInt8]) -> Bytes { Bytes(bytes + more) }
        func attribute(_ type: UInt16, _ value: [UInt8]) -> Bytes {
            let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
            return u16(UInt16(4 + value.count)).u16(type).raw(value + padding)
        }
        func number(_ type: UInt16, _ value: UInt32) -> Bytes { attribute(type, Bytes().u32(value).bytes) }
        private func appending<Number: FixedWidthInteger>(_ value: Number) -> Bytes {
            Bytes(bytes + withUnsafeBytes(of: value) { Array($0) })
        }
    }

    static func message(_ type: UInt16, _ body: Bytes, flags: UInt16 = 0, sequence: UInt32 = 7) -> [UInt8] {
        Bytes().u32(UInt32(16 + body.bytes.count)).u16(type).u16(flags).u32(sequence).u32(0).bytes + body.bytes
    }

    static func link(
        _ index: UInt32, _ name: String, flags: UInt32 = 0x10041, more: (Bytes) -> Bytes = { $0 }
    ) -> [UInt8] {
        message(
            16,
            more(Bytes([0, 0]).u16(1).u32(index).u32(flags).u32(0).attribute(3, Array(name.utf8) + [0])))
    }

    static let info = Bytes().attribute(1, Array("vlan".utf8) + [0]).bytes

    private func only(_ bytes: [UInt8]) -> NetlinkMessage? {
        let items = NetlinkParser.items(in: bytes[...])
        return items.count == 1 ? items[0].message : nil
    }

    @Test func linksAreRead() {
        var wanted = NetlinkMessage.Link(index: 5, name: "vlan7")
        (wanted.isUp, wanted.isRunning, wanted.kind, wanted.base, wanted.master) = (true, true, "vlan", 2, 9)
        #expect(
            only(Self.link(5, "vlan7") { $0.number(5, 2).number(10, 9).attribute(18, Self.info) }) == .link(wanted))
        // In another namespace, where 2 is something else.
        wanted.base = nil
        #expect(
            only(Self.link(5, "vlan7") { $0.number(5, 2).number(10, 9).attribute(18, Self.info).number(37, 1) })
                == .link(wanted))
        // A pair's other end is no ground.
        guard case .link(let pair)? = only(Self.link(5, "veth0") { $0.number(5, 2) }) else {
            Issue.record("no link")
            return
        }
        #expect(pair.base == nil && pair.kind == nil)
    }

    @Test func flagsAreRead() {
        for (flags, isUp, isRunning, isLoopback) in [
            (0x10001, true, true, false), (0x41, true, false, false), (0x10000, false, true, false),
            (0x10049, true, true, true), (0x30001, true, false, false),
        ] as [(UInt32, Bool, Bool, Bool)] {
            guard case .link(let link)? = only(Self.link(1, "x", flags: flags)) else {
                Issue.record("no link")
                return
            }
            #expect(link.isUp == isUp && link.isRunning == isRunning && link.isLoopback == isLoopback)
        }
    }

    @Test func addressesAreRead() {
        let four = Bytes([2, 24, 0, 0]).u32(3)
        // The other end of a point-to-point link comes as well.
        let pair = four.attribute(1, [10, 0, 0, 2]).attribute(2, [10, 0, 0, 1])
        #expect(only(Self.message(20, pair)) == .address(.init(3, [10, 0, 0, 1])))
        let six = [UInt8](repeating: 0x20, count: 16)
        let short = Bytes([10, 64, 0x40, 0]).u32(3).attribute(1, six)
        #expect(only(Self.message(20, short)) == .address(.init(3, six, isTentative: true)))
        #expect(only(Self.message(20, short.number(8, 0x80))) == .address(.init(3, six)))
        #expect(only(Self.message(20, short.number(8, 0x88))) == .address(.init(3, six, isTentative: true)))
        #expect(only(Self.message(20, four)) == .other)
        #expect(only(Self.message(20, four.attribute(1, [1, 2, 3]))) == .other)
    }

    @Test func routesAreRead() {
        func route(_ kind: UInt8) -> Bytes { Bytes([2, 32, 0, 0, 254, 3, 0, kind]).u32(0) }
        #expect(only(Self.message(24, route(1).number(4, 6))) == .route(.init(.unicast, 6)))
        #expect(only(Self.message(24, route(2).number(4, 6))) == .route(.init(.local, 6)))
        for kind: UInt8 in [0, 6, 7, 8, 9, 200] {
            #expect(only(Self.message(25, route(kind).number(4, 6))) == .route(.init(.refused, 6)))
        }
        let hops = Bytes().u16(8).u16(0).u32(4).u16(16).u16(0).u32(5).raw([8, 0, 5, 0, 1, 2, 3, 4])
        #expect(
            only(Self.message(24, route(1).attribute(9, hops.bytes))) == .route(.init(.unicast, nil, [4, 5])))
        #expect(
            only(Self.message(24, route(1).attribute(9, [4, 0, 0, 0, 1, 0, 0, 0]))) == .route(.init(.unicast, nil)))
    }

    @Test func endsAndErrorsAreRead() {
        #expect(only(Self.message(3, Bytes().u32(0))) == .done)
        #expect(only(Self.message(2, Bytes().u32(UInt32(bitPattern: -101)))) == .failed(101))
        #expect(only(Self.message(2, Bytes().u32(0))) == .failed(0))
        #expect(only(Self.message(2, Bytes().u32(0x8000_0000))) == .failed(.max))
        #expect(only(Self.message(2, Bytes([1]))) == .other)
    }

    @Test func severalComeInOnePiece() {
        let bytes = Self.link(1, "lo") + Self.link(2, "eth0") + Self.message(3, Bytes().u32(0), flags: 0x12)
        let items = NetlinkParser.items(in: bytes[...])
        #expect(items.count == 3 && items.allSatisfy { $0.sequence == 7 })
        #expect(items.map { $0.isInterrupted } == [false, false, true])
        #expect(NetlinkParser.items(in: bytes.dropLast()).count == 2)
        #expect(NetlinkParser.items(in: []).isEmpty)
    }

    @Test(arguments: [0, 1, 15, 17, 0xFFFF_FFFF, 0x7FFF_FFFF]) func lengthsThatAreNoneEndIt(length: UInt32) {
        var bytes = Self.link(1, "lo")
        if length != 17 { bytes.replaceSubrange(0..<4, with: withUnsafeBytes(of: length) { Array($0) }) }
        if length == 17 { bytes = Array(bytes.prefix(17)) }
        #expect(NetlinkParser.items(in: bytes[...]).isEmpty)
    }

    @Test func attributesOfNoLengthEndIt() {
        for length: UInt16 in [0, 1, 3, 0xFFFF] {
            let bytes = Self.link(1, "eth0") { $0.u16(length).u16(10).u32(1) }
            guard case .link(let link)? = only(bytes) else {
                Issue.record("no link")
                continue
            }
            #expect(link.name == "eth0" && link.master == nil)
        }
        #expect(only(Self.message(16, Bytes([0, 0]).u16(1).u32(1).u32(1).u32(0))) == .other)
        #expect(only(Self.link(0, "x")) == .other && only(Self.link(0xFFFF_FFFF, "x")) == .other)
        #expect(only(Self.link(1, "")) == .other)
    }

    /// Bytes by accident or malice: read as far as they make sense, and never a trap.
    @Test func damagedMessagesEndNothing() {
        var random = Seeded("damagedMessagesEndNothing")
        let route = Bytes([2, 32, 0, 0, 254, 3, 0, 1]).u32(0).attribute(9, Bytes().u16(8).u16(0).u32(4).bytes)
        let whole =
            Self.link(5, "vlan7") { $0.number(5, 2).attribute(18, Self.info) }
            + Self.message(20, Bytes([2, 24, 0, 0]).u32(3).attribute(1, [10, 0, 0, 2]))
            + Self.message(24, route) + Self.message(2, Bytes().u32(1)) + Self.message(3, Bytes().u32(0))
        for _ in 0..<Rounds.scaled(20_000) {
            var bytes = random.oneIn(10) ? random.bytes(random.below(200)) : whole
            for _ in 0...random.below(6) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[place] = random.pick([0, 1, 3, 4, 0x7F, 0xFF])
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                default: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(40)))
                }
            }
            // A slice that does not begin at 0, too.
            let start = bytes.isEmpty ? 0 : random.below(min(bytes.count, 3))
            #expect(NetlinkParser.items(in: bytes[start...]).count <= bytes.count / 16)
        }
    }
}

extension NetlinkMessage.LinkAddress {
    fileprivate init(_ link: UInt32, _ bytes: [UInt8], isTentative: Bool = false) {
        self.init(link: link, address: NetworkAddress(bytes)!, isTentative: isTentative)
    }
}

extension NetlinkMessage.Route {
    fileprivate init(_ kind: Kind, _ link: UInt32?, _ nextLinks: [UInt32] = []) {
        self.init(kind: kind, link: link, nextLinks: nextLinks)
    }
}
