import TestSupport
import Testing
import TransferModel

/// `addresses` as values: classes, ranges and rules.
@Suite struct AddressRulesTests {
    private func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(literal: text)) }

    // MARK: Classes

    @Test(
        arguments: [
            ("10.0.0.0", .private), ("10.255.255.255", .private), ("9.255.255.255", nil), ("11.0.0.0", nil),
            ("172.15.255.255", nil), ("172.16.0.0", .private), ("172.31.255.255", .private), ("172.32.0.0", nil),
            ("192.167.255.255", nil), ("192.168.0.0", .private), ("192.169.0.0", nil), ("64:ff9b:1::1", .private),
            ("127.0.0.1", .loopback), ("127.255.255.255", .loopback), ("126.255.255.255", nil), ("128.0.0.0", nil),
            ("::1", .loopback), ("::", .unspecified), ("0.0.0.0", .unspecified), ("0.255.255.255", .unspecified),
            ("1.0.0.0", nil), ("169.253.255.255", nil), ("169.254.0.1", .linkLocal), ("169.254.255.255", .linkLocal),
            ("169.255.0.0", nil), ("fe80::1", .linkLocal), ("febf::1", .linkLocal), ("fe7f::1", nil),
            ("169.254.169.254", .metadata), ("169.254.170.2", .metadata), ("100.100.100.200", .metadata),
            ("168.63.129.16", .metadata), ("fd00:ec2::254", .metadata), ("fd20:ce::254", .metadata),
            ("100.63.255.255", nil), ("100.64.0.0", .shared), ("100.127.255.255", .shared), ("100.128.0.0", nil),
            ("fc00::", .uniqueLocal), ("fdff::1", .uniqueLocal), ("fbff::1", nil), ("fec0::1", .uniqueLocal),
            ("224.0.0.1", .multicast), ("239.255.255.255", .multicast), ("223.255.255.255", nil),
            ("ff02::1", .multicast),
            ("240.0.0.1", .reserved), ("255.255.255.255", .reserved), ("198.18.0.1", .reserved), ("198.20.0.0", nil),
            ("192.0.0.8", .reserved), ("192.0.1.0", nil), ("100::1", .reserved),
            // For documentation: of no class.
            ("192.0.2.1", nil), ("198.51.100.1", nil), ("203.0.113.7", nil), ("2001:db8::1", nil),
            ("8.8.8.8", nil), ("2606:4700::1111", nil),
            // IPv4 in IPv6 is the IPv4 address inside.
            ("::ffff:10.0.0.1", .private), ("::ffff:8.8.8.8", nil), ("::10.0.0.1", .private), ("::7f00:1", .loopback),
            ("64:ff9b::127.0.0.1", .loopback), ("64:ff9b::8.8.8.8", nil), ("64:ff9b::169.254.169.254", .metadata),
            ("2002:0a00:0001::1", .private), ("2002:a9fe:a9fe::", .metadata), ("2002:808:808::1", nil),
            ("::ffff:0:192.168.0.1", .private), ("2001:0:0:0:0:0:f5ff:fffe", .private),
            ("2001:0:a00:1:0:0:f7f7:f7f7", nil),
        ] as [(String, AddressClass?)])
    func eachAddressIsOfItsClass(_ text: String, _ expected: AddressClass?) throws {
        #expect(AddressClass.of(try address(text)) == expected)
    }

    @Test func aMetadataServiceIsOfTheClassAroundItToo() throws {
        #expect(AddressClass.linkLocal.contains(try address("169.254.169.254")))
        #expect(AddressClass.uniqueLocal.contains(try address("fd00:ec2::254")))
        #expect(AddressClass.shared.contains(try address("100.100.100.200")))
        #expect(!AddressClass.metadata.contains(try address("169.254.1.1")))
    }

    /// The table against plain arithmetic.
    @Test func randomAddressesAreOfTheClassThatArithmeticSays() {
        var random = Seeded("randomAddressesAreOfTheClassThatArithmeticSays")
        for _ in 0..<20_000 {
            let start: [UInt8] = random.pick([
                [10], [100], [127], [169, 254], [172], [192, 168], [192, 0], [198], [0], [224], [255], [203],
            ])
            let bytes = start + (start.count..<4).map { _ in UInt8(random.below(256)) }
            let number = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let expected: [AddressClass: Bool] = [
                .private: number >> 24 == 10 || number >> 20 == 0xAC1 || number >> 16 == 0xC0A8,
                .loopback: number >> 24 == 127, .linkLocal: number >> 16 == 0xA9FE, .shared: number >> 22 == 0x191,
                .multicast: number >> 28 == 0xE, .unspecified: number >> 24 == 0, .uniqueLocal: false,
                .reserved: number >> 28 == 0xF || number >> 8 == 0xC00000 || number >> 17 == 0x6309,
            ]
            let inner = NetworkAddress(bytes)
            let translated = NetworkAddress([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] + bytes)
            let tunnelled = NetworkAddress([0x20, 0x02] + bytes + [UInt8](repeating: 7, count: 10))
            for (kind, isOf) in expected {
                for address in [inner, translated, tunnelled] {
                    #expect(address.map { kind.contains($0) } == isOf, "\(kind) \(bytes)")
                }
            }
        }
    }

    // MARK: Ranges

    @Test(
        arguments: [
            ("10.1.0.0/16", "10.1.0.0/16"), ("10.1.2.3", "10.1.2.3"), ("10.1.2.3/32", "10.1.2.3"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("fd00::/8", "fd00::/8"), ("FD00:0::/8", "fd00::/8"), ("::1", "::1"), ("::/0", "::/0"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("::ffff:10.1.2.3", "10.1.2.3"), ("2001:db8::/33", "2001:db8::/33"),
        ])
    func rangesAreRead(_ text: String, _ written: String) throws {
        let range = try AddressRange.parse(text)
        #expect(range.description == written)
        #expect(try AddressRange.parse(range.description) == range)
    }

    @Test(arguments: [
        ("", "is empty", "10.1.0.0/16"), ("10.1.2.3/16", "bits set after its prefix", "`10.1.0.0/16` for the range"),
        ("10.0.0.0/33", "has `33`", "0 to 32"), ("10.0.0.0/", "has ``", "0 to 32"),
        ("10.0.0.0/-1", "has `-1`", "0 to 32"),
        ("10.0.0.0/8/8", "has `8/8`", "0 to 32"), ("fd00::/129", "has `129`", "0 to 128"),
        ("::ffff:10.0.0.0/8", "has `8`", "96 to 128"), ("10.1/16", "is no address", "10.1.0.0/16"),
        ("010.0.0.1", "is no address", ""), ("example.org", "is no address", "a name has no fixed address"),
        ("10.0.0.1:443", "is no address", "leave the port out"), ("[::1]:443", "is no address", "leave the port out"),
        ("[::1]", "has brackets", "leave the brackets out"), ("fe80::1%eth0", "is no address", "name of an interface"),
        ("10.0.0.0/8 ", "has `8 `", ""), ("fd00::1/8", "bits set", "`fd00::/8` for the range, or `fd00::1`"),
    ])
    func otherTextsAreNone(_ text: String, _ words: String, _ hint: String) {
        #expect { try AddressRange.parse(text) } throws: { error in
            (error as? AddressRange.Problem).map { $0.message.contains(words) && $0.hint.contains(hint) } ?? false
        }
    }

    /// A range holds exactly the addresses that have its first bits.
    @Test func randomRangesHoldWhatSharesTheirFirstBits() throws {
        var random = Seeded("randomRangesHoldWhatSharesTheirFirstBits")
        func bits(_ bytes: [UInt8]) -> [Bool] {
            bytes.flatMap { byte in (0..<8).map { byte & 0x80 >> UInt8($0) != 0 } }
        }
        for _ in 0..<5_000 {
            let size = random.pick([4, 16])
            // No first byte of a form that holds an IPv4 address.
            let base = [UInt8(0x30)] + (1..<size).map { _ in UInt8(random.below(256)) }
            let length = random.below(size * 8 + 1)
            let first = (0..<size).map { place in
                (0..<8).reduce(UInt8(0)) { byte, bit in
                    place * 8 + bit < length ? byte | base[place] & (0x80 >> UInt8(bit)) : byte
                }
            }
            let range = try AddressRange.parse("\(try #require(NetworkAddress(first)))/\(length)")
            var other = base
            let flipped = random.below(size * 8)
            other[flipped / 8] ^= 0x80 >> UInt8(flipped % 8)
            #expect(range.contains(try #require(NetworkAddress(base))))
            let address = try #require(NetworkAddress(other))
            guard address.inner == nil else { continue }
            #expect(range.contains(address) == (bits(base).prefix(length) == bits(other).prefix(length)))
        }
    }

    // MARK: Rules

    private func rules(_ deny: [AddressRules.Entry], allow: [AddressRules.Entry] = []) -> AddressRules {
        AddressRules(owner: .session, deny: deny.map { AddressRules.Denial($0, place: "jobs.yaml:3") }, allow: allow)
    }

    @Test func whatAllowNamesIsNotDenied() throws {
        let rules = rules([.all(.private), .all(.loopback)], allow: [.range(try .parse("10.1.0.0/16"))])
        for (text, isDenied) in [
            ("10.1.255.255", false), ("10.2.0.0", true), ("::ffff:10.1.0.1", false), ("64:ff9b::10.2.0.1", true),
            ("64:ff9b::10.1.0.1", false), ("127.0.0.1", true), ("169.254.169.254", false), ("8.8.8.8", false),
        ] {
            #expect((rules.objection(to: try address(text)) != nil) == isDenied, "\(text)")
        }
        let objection = try #require(rules.objection(to: try address("127.0.0.1")))
        #expect(objection.cause == .rule(AddressRules.Denial(.all(.loopback), place: "jobs.yaml:3"), .session))
    }

    @Test func aUnixSocketIsRefusedWhereLoopbackIs() throws {
        #expect(rules([.all(.private)]).objection(toSocket: "/run/a") == nil)
        #expect(rules([.all(.loopback)]).objection(toSocket: "/run/a") != nil)
        #expect(rules([.all(.loopback)], allow: [.all(.loopback)]).objection(toSocket: "/run/a") == nil)
        // One port of this machine is not all of its services.
        let one = AddressRules.Entry.range(try .parse("127.0.0.1"))
        #expect(rules([.all(.loopback)], allow: [one]).objection(toSocket: "/run/a") != nil)
    }

    @Test func whatTheJobAllowsDoesNotLoosenAConfinement() throws {
        var job = Job(name: "a", file: "a.yaml", baseDirectory: "/")
        job.sessions = [SessionConfiguration(name: "open"), SessionConfiguration(name: "sly")]
        job.sessions[1].addresses = rules(
            [.range(try .parse("203.0.113.0/24"))], allow: AddressClass.allCases.map { .all($0) })
        job.deny(everythingPrivateBut: [try .parse("10.1.0.0/16")])
        for session in job.sessions {
            let limits = try #require(AddressLimits(session.addressRules, isLedFromPublic: false))
            for kind in AddressClass.allCases {
                for range in kind.ranges { #expect(limits.objection(to: range.first) != nil, "\(range)") }
            }
            #expect(limits.objection(to: try address("10.1.2.3")) == nil)
            #expect(limits.objection(to: try address("8.8.8.8")) == nil)
            #expect((limits.objection(to: try address("203.0.113.7")) != nil) == (session.name == "sly"))
            #expect(limits.objection(toSocket: "/run/docker.sock") != nil)
        }
    }

    @Test func aSessionWithoutRulesHasNothingToDecide() {
        #expect(AddressLimits(SessionConfiguration(name: "a").addressRules, isLedFromPublic: false) == nil)
    }

    /// A server of the public Internet leads to nothing inside, and to everything outside.
    @Test func thePublicLeadsNowhereInside() throws {
        let limits = try #require(AddressLimits([], isLedFromPublic: true))
        for text in [
            "10.0.0.1", "127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "169.254.1.1", "100.64.0.1", "fd00::1",
            "fe80::1", "168.63.129.16", "::ffff:127.0.0.1", "64:ff9b::192.168.1.1", "2002:7f00:1::",
        ] {
            #expect(limits.objection(to: try address(text))?.cause == .ledFromPublic, "\(text)")
        }
        for text in ["203.0.113.7", "8.8.8.8", "2001:db8::1", "198.18.0.1"] {
            #expect(limits.objection(to: try address(text)) == nil, "\(text)")
        }
    }
}
