import NetworkConditions
import TestSupport
import Testing
import TransferModel

/// Made-up trees of sysfs.
struct DeviceFolderTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("sys") }

    private func facts(_ name: String, _ index: UInt32 = 3) -> DeviceFacts? {
        DeviceFolder(root: tree.path).facts(of: name, index: index)
    }

    @Test func devicesAreDescribed() throws {
        try tree.write("class/net/eth0/ifindex", "3\n")
        #expect(facts("eth0") == DeviceFacts())
        try tree.makeFolder("class/net/eth0/device")
        try tree.write("class/net/eth0/uevent", "INTERFACE=eth0\nIFINDEX=3\n")
        #expect(facts("eth0") == DeviceFacts(isPhysical: true))
        try tree.write("class/net/eth0/uevent", "DEVTYPE=wwan\nINTERFACE=eth0\nIFINDEX=3\n")
        try tree.makeFolder("class/net/eth0/lower_b")
        try tree.makeFolder("class/net/eth0/lower_a")
        #expect(facts("eth0") == DeviceFacts(type: "wwan", isPhysical: true, lowers: ["a", "b"]))
    }

    @Test(arguments: ["wireless", "phy80211"]) func wirelessOnesAreKnown(name: String) throws {
        try tree.write("class/net/x/ifindex", "3\n")
        try tree.makeFolder("class/net/x/\(name)")
        #expect(facts("x")?.isWireless == true)
    }

    /// sysfs as it was mounted in another namespace: what has that name there is another interface.
    @Test func anotherNamespacesDevicesCountForNothing() throws {
        try tree.write("class/net/wlan0/ifindex", "4\n")
        try tree.makeFolder("class/net/wlan0/wireless")
        #expect(facts("wlan0") == nil)
        #expect(facts("wlan0", 4)?.isWireless == true)
        #expect(facts("gone") == nil && facts("..") == nil && facts("../net/wlan0", 4) == nil)
    }
}

struct PowerTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("sys") }

    private func add(_ name: String, _ values: [String: String]) throws {
        for (file, text) in values { try tree.write("class/power_supply/\(name)/\(file)", text + "\n") }
    }

    private var state: PowerState { PowerFolder(root: tree.path).state() }

    @Test func nothingIsKnownWithoutAnything() throws {
        #expect(state == PowerState(source: .unknown))
        #expect(state.isPlentiful)
        try add("hidpp_battery_0", ["type": "Battery", "scope": "Device", "capacity": "5", "status": "Discharging"])
        // A desktop's sockets.
        try add("ucsi-1", ["type": "USB", "online": "0"])
        try add("BAT9", ["type": "Battery", "present": "0", "capacity": "1", "status": "Discharging"])
        #expect(state == PowerState(source: .unknown))
    }

    @Test func aLaptopIsUnderstood() throws {
        try add("AC", ["type": "Mains", "online": "1"])
        try add("BAT0", ["type": "Battery", "status": "Charging", "capacity": "73", "present": "1"])
        #expect(state == PowerState(source: .mains, battery: 73))
        try add("AC", ["online": "0"])
        try add("BAT0", ["status": "Discharging"])
        #expect(state == PowerState(source: .battery, battery: 73, isFalling: true))
        // A charger too weak for what the machine does.
        try add("ucsi-1", ["type": "USB_C", "online": "1"])
        #expect(state == PowerState(source: .mains, battery: 73, isFalling: true))
    }

    @Test(arguments: [
        ("Full", false, PowerState.Source.mains), ("Not charging", false, .mains), ("Charging", true, .mains),
        ("Unknown", true, .battery), ("Unknown", false, .unknown), ("Discharging", false, .battery),
    ])
    func aBatteryTellsWhereThePlugDoesNot(status: String, hasPlug: Bool, source: PowerState.Source) throws {
        try add("BAT0", ["type": "Battery", "status": status, "capacity": "50"])
        if hasPlug { try add("AC", ["type": "Mains", "online": "0"]) }
        #expect(state.source == source && state.battery == 50)
        #expect(state.isFalling == (status == "Discharging"))
    }

    @Test func severalBatteriesAreOne() throws {
        try add("BAT0", ["type": "Battery", "status": "Full", "capacity": "100"])
        try add("BAT1", ["type": "Battery", "status": "Discharging", "capacity": "40"])
        #expect(state == PowerState(source: .battery, battery: 70, isFalling: true))
        try add("BAT0", ["energy_full": "30000000"])
        try add("BAT1", ["energy_full": "10000000"])
        #expect(state.battery == 85)
        try add("BAT1", ["capacity": "much"])
        #expect(state.battery == 100)
    }
}

struct LocalNamesTests {
    private let names = LocalNames(
        hosts: """
            127.0.0.1 localhost me.example.org  Me # other
            ::1\tlocalhost six.example.org
            192.0.2.1 both.example.org far.example.org
            127.0.1.1 both.example.org
            nonsense x
            127.0.0.1
            # 127.0.0.1 commented
            """)

    @Test(arguments: [
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]",
        "::ffff:127.0.0.1", "me.example.org", "me", "six.example.org", "ME.example.org.",
    ])
    func leadHere(name: String) { #expect(names.contains(name)) }

    @Test(arguments: [
        "", ".", "example.org", "localhost.example.org", "notlocalhost", "both.example.org", "far.example.org", "x",
        "other", "commented", "192.0.2.1", "128.0.0.1", "[2001:db8::1]", "127.0.0.1.example.org", "127.1x",
    ])
    func leadElsewhere(name: String) { #expect(!names.contains(name)) }

    @Test func aFileIsRead() throws {
        let tree = try TemporaryTree()
        try tree.write("hosts", "127.0.0.1 mine\n")
        #expect(LocalNames.ofThisMachine(tree.path("hosts")).contains("mine"))
        #expect(LocalNames.ofThisMachine(tree.path("none")).contains("localhost"))
        #expect(!LocalNames.ofThisMachine(tree.path("none")).contains("mine"))
    }
}
