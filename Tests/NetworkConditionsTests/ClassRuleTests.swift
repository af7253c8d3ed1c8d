import NetworkConditions
import TestSupport
import Testing
import TransferModel

/// What kind of network an interface is, from made-up facts.
struct ClassRuleTests {
    typealias Link = NetlinkMessage.Link

    /// A machine, put together piece by piece.
    struct Machine {
        var facts = NetworkFacts()
        var map = NetworkMap()

        @discardableResult
        mutating func add(
            _ name: String, kind: String? = nil, device: DeviceFacts? = nil, base: UInt32? = nil, master: UInt32? = nil,
            hardware: UInt16 = 1, isUp: Bool = true, isRunning: Bool = true, address: [UInt8]? = nil,
            leadsOut: Bool = false
        ) -> UInt32 {
            let index = UInt32(facts.table.links.count + 1)
            var link = Link(index: index, name: name)
            (link.isUp, link.isRunning, link.isLoopback) = (isUp, isRunning, name == "lo")
            (link.kind, link.base, link.master, link.hardware) = (kind, base, master, hardware)
            facts.table.links.append(link)
            facts.devices[index] = device
            let own = address ?? (leadsOut ? [192, 0, 2, UInt8(index)] : nil)
            if let own = own.flatMap({ NetworkAddress($0) }) { facts.table.addresses[index] = [own] }
            if leadsOut { facts.leadingOut.insert(index) }
            return index
        }

        func found(_ name: String) -> NetworkInterface? {
            ClassRule(facts, map: map).interfaces().first { $0.name == name }
        }

        func description(_ name: String) -> String? { found(name)?.description }
    }

    @Test(
        arguments: [
            ("lo", nil, "none", "loopback"),
            ("wlan0", DeviceFacts(isWireless: true, isPhysical: true), "wifi", "a wireless device"),
            ("rename7", DeviceFacts(isWireless: true), "wifi", "a wireless device"),
            ("x", DeviceFacts(type: "wlan"), "wifi", "a wireless device"),
            ("eth1", DeviceFacts(type: "wwan", isPhysical: true), "cellular, metered", "a mobile broadband device"),
            ("enp3s0", nil, "wired", "its name begins with `en`"), ("eth0", nil, "wired", "its name begins with `eth`"),
            ("ib0", nil, "wired", "its name begins with `ib`"), ("wlp1s0", nil, "wifi", "its name begins with `wl`"),
            ("wwp2s0", nil, "cellular, metered", "its name begins with `ww`"),
            ("wwan0", DeviceFacts(isPhysical: true), "cellular, metered", "its name begins with `ww`"),
            ("lan", DeviceFacts(isPhysical: true), "wired", "a network card"),
            ("dummy0", nil, "none", "for this machine alone"),
        ] as [(String, DeviceFacts?, String, String)])
    func aDeviceIsKnown(name: String, device: DeviceFacts?, description: String, why: String) {
        var machine = Machine()
        machine.add(name, device: device)
        #expect(machine.description(name) == description)
        #expect(machine.found(name)?.why == why)
    }

    @Test func usableIsWhatIsUpAndPluggedInAndHasAnAddress() {
        for (isUp, isRunning, address, isUsable) in [
            (true, true, [10, 0, 0, 1], true), (false, true, [10, 0, 0, 1], false),
            (true, false, [10, 0, 0, 1], false), (true, true, nil, false),
        ] as [(Bool, Bool, [UInt8]?, Bool)] {
            var machine = Machine()
            machine.add("eth0", isUp: isUp, isRunning: isRunning, address: address)
            #expect(machine.found("eth0")?.isUsable == isUsable)
            #expect(machine.found("eth0")?.isThere == isUsable)
        }
    }

    @Test func whatStandsOnSomethingElseIsTheStrictestOfIt() {
        var machine = Machine()
        let (wire, air, phone) = (machine.add("eth0"), machine.add("wlan0"), machine.add("wwan0"))
        machine.add("vlan7", kind: "vlan", base: air)
        machine.add("macvlan0", kind: "macvlan", base: wire)
        let bond = machine.add("bond0", kind: "bond")
        machine.facts.table.links[0].master = bond
        machine.facts.table.links[1].master = bond
        machine.add("deep", kind: "vlan", base: bond)
        #expect(machine.description("vlan7") == "wifi")
        #expect(machine.found("vlan7")?.why == "stands on wlan0, wifi")
        #expect(machine.description("macvlan0") == "wired")
        #expect(machine.description("bond0") == "wifi" && machine.description("deep") == "wifi")
        machine.facts.table.links[Int(phone) - 1].master = bond
        #expect(machine.description("bond0") == "cellular, metered")
        #expect(machine.found("deep")?.why == "stands on bond0, cellular")
    }

    @Test func sysfsSaysWhatStandsOnWhatWhereTheKernelDoesNot() {
        var machine = Machine()
        machine.add("wwan0")
        machine.add("team0", device: DeviceFacts(type: "team", lowers: ["wwan0", "gone"]))
        #expect(machine.description("team0") == "cellular, metered")
    }

    @Test func aBridgeOfContainersLeadsNowhere() {
        var machine = Machine()
        let bridge = machine.add("docker0", kind: "bridge", address: [172, 17, 0, 1])
        #expect(machine.found("docker0")?.why == "a bridge of no ports")
        machine.add("veth12ab", kind: "veth", master: bridge)
        machine.add("vnet0", kind: "tun", master: bridge, hardware: 1)
        machine.add("eth0", leadsOut: true)
        #expect(machine.description("docker0") == "none")
        #expect(machine.found("docker0")?.why == "a bridge for this machine alone")
        #expect(machine.found("docker0")?.isThere == false && machine.found("docker0")?.isUsable == true)
        machine.facts.table.links[3].master = bridge
        #expect(machine.description("docker0") == "wired")
    }

    @Test func interfacesThatStandOnEachOtherStandOnNothing() {
        var machine = Machine()
        machine.add("a", kind: "vlan", base: 2)
        machine.add("b", kind: "vlan", base: 1)
        machine.add("c", kind: "vlan", base: 3)
        for name in ["a", "b", "c"] { #expect(machine.description(name) == "none") }
    }

    @Test(
        arguments: [("wg0", "wireguard", 65534), ("tun0", "tun", 65534), ("ppp0", nil, 512)]
            as [(String, String?, UInt16)])
    func aTunnelIsWhatItGoesOver(name: String, kind: String?, hardware: UInt16) {
        var machine = Machine()
        machine.add("eth0", isRunning: false)
        machine.add("wlan0", leadsOut: true)
        machine.add("wwan0", address: [10, 0, 0, 1])
        machine.add(name, kind: kind, hardware: hardware, leadsOut: true)
        #expect(machine.description(name) == "wifi")
        #expect(machine.found(name)?.why == "a tunnel over wlan0, wifi")
        machine.facts.leadingOut.insert(3)
        #expect(machine.description(name) == "cellular, metered")
        // The tunnel has taken every route: whatever is plugged in.
        machine.facts.leadingOut = [4]
        #expect(machine.description(name) == "cellular, metered")
        machine.facts.table.links[2].isRunning = false
        #expect(machine.description(name) == "wifi")
    }

    @Test func aTunnelGoesOverABridgeThatLeadsOut() {
        var machine = Machine()
        let bridge = machine.add("br0", kind: "bridge", leadsOut: true)
        machine.add("eth0", master: bridge)
        machine.add("wlan0", address: [10, 0, 0, 1])
        machine.add("wg0", kind: "wireguard", hardware: 65534)
        #expect(machine.found("wg0")?.why == "a tunnel over br0, wired")
    }

    @Test func aContainersOnlyWayOutIsWired() {
        var machine = Machine()
        machine.add("lo")
        machine.add("host0", kind: "veth", leadsOut: true)
        #expect(machine.description("host0") == "wired")
        #expect(machine.found("host0")?.why == "the only way out of this machine")
        machine.add("tap0", kind: "tun", leadsOut: true)
        #expect(machine.description("tap0") == "wired")
        // Beside a card it is something else.
        machine.add("eth0")
        #expect(machine.description("host0") == "none")
    }

    @Test func aLoneTapIsWired() {
        var machine = Machine()
        machine.add("lo")
        machine.add("tap0", kind: "tun", leadsOut: true)
        #expect(machine.description("tap0") == "wired")
    }

    @Test(arguments: [
        ("eth0", MeteredState.yes, "wired, metered", "; metered, as NetworkManager says"),
        ("wlan0", .guessedYes, "wifi, metered", "; metered, as NetworkManager guesses"),
        ("wlan0", .guessedNo, "wifi", ""), ("eth0", .no, "wired", ""),
        ("wwan0", .no, "cellular", "; not metered, as NetworkManager says"),
        ("wwan0", .guessedNo, "cellular", "; not metered, as NetworkManager guesses"),
        ("wwan0", .yes, "cellular, metered", ""), ("lo", .yes, "none", "loopback"),
    ])
    func networkManagersWordCounts(name: String, word: MeteredState, description: String, why: String) {
        var machine = Machine()
        machine.add(name)
        machine.facts.meters[name] = word
        #expect(machine.description(name) == description)
        #expect(machine.found(name)?.why.hasSuffix(why) == true)
    }

    /// What is known of the ground counts for more than a guess about what stands on it; a word does not.
    @Test func aGuessAboutABridgeIsLess() {
        var machine = Machine()
        let bridge = machine.add("br0", kind: "bridge")
        machine.add("wlan0", master: bridge)
        machine.facts.meters = ["wlan0": .yes, "br0": .guessedNo]
        #expect(machine.description("br0") == "wifi, metered")
        machine.facts.meters["br0"] = .no
        #expect(machine.description("br0") == "wifi")
    }

    @Test func theOperatorHasTheLastWord() {
        var machine = Machine()
        machine.add("wlan0", device: DeviceFacts(isWireless: true))
        machine.add("usb0", device: DeviceFacts(isPhysical: true))
        machine.add("eth0")
        machine.add("vlan1", kind: "vlan", base: 2)
        machine.facts.meters = ["wlan0": .yes]
        machine.map = NetworkMap([
            .init(pattern: "wlan?", isMetered: false), .init(pattern: "wl*", networkClass: .cellular),
            .init(pattern: "usb*", networkClass: .cellular, isConstrained: true),
            .init(pattern: "*", isConstrained: false),
        ])
        #expect(machine.description("wlan0") == "wifi")
        #expect(machine.found("wlan0")?.why.hasSuffix("; metered: networks.yaml (`wlan?`)") == true)
        #expect(machine.description("usb0") == "cellular, metered, constrained")
        #expect(machine.found("usb0")?.why == "networks.yaml (`usb*`)")
        #expect(machine.description("vlan1") == "cellular, metered")
        #expect(machine.description("eth0") == "wired")
    }

    @Test(arguments: [
        ("eth0", "eth0", true), ("eth0", "eth1", false), ("eth0", "*", true), ("", "*", true), ("", "?", false),
        ("wlp1s0", "wl*s?", true), ("wlp1s0", "wl*s", false), ("wlp1s0", "*s*0*", true), ("abcabc", "*abc", true),
        ("eth0", "eth", false), ("eth", "eth0", false), ("a", "**", true), ("eth0", "ETH0", false),
    ])
    func patternsMatch(name: String, pattern: String, does: Bool) {
        #expect((NetworkMap([.init(pattern: pattern)]).entry(for: name) != nil) == does)
    }

    /// Whatever the kernel might tell, every interface gets an answer.
    @Test func anyMachineIsUnderstood() {
        let names = ["lo", "eth0", "wlan0", "wwan0", "br0", "tun0", "x", "veth1"]
        let kinds = ["bridge", "bond", "vlan", "tun", "veth", "ppp", nil, nil]
        var random = Seeded("anyMachineIsUnderstood")
        for _ in 0..<Rounds.scaled(300) {
            var machine = Machine()
            let count = 1 + random.below(12)
            for number in 0..<count {
                let lowers = ["br0\(number / 2)", "eth0\(number / 3)"]
                machine.add(
                    "\(random.pick(names))\(number)", kind: random.pick(kinds),
                    device: random.oneIn(2) ? DeviceFacts(isPhysical: random.oneIn(2), lowers: lowers) : nil,
                    base: random.oneIn(2) ? UInt32(random.below(count + 2)) : nil,
                    master: random.oneIn(2) ? UInt32(random.below(count + 2)) : nil, leadsOut: random.oneIn(2))
            }
            #expect(ClassRule(machine.facts, map: machine.map).interfaces().count == count)
        }
    }
}
