import SystemIO
import TransferModel

/// What NetworkManager and UPower say, where they run. They come and go; who does not run is not started.
final class Services {
    private var bus: SystemBus?
    private let watchesPower: Bool

    init(watchesPower: Bool) {
        self.watchesPower = watchesPower
        open()
    }

    /// Where there was no bus there may be one now.
    func reopen() { if bus == nil { open() } }

    private func open() {
        guard let bus = SystemBus() else { return }
        self.bus = bus
        for name in [Self.manager.name] + (watchesPower ? [Self.power.name] : []) { follow(name, bus) }
        dropIfLost()
    }

    /// That it comes and goes, and what changes of it that counts here.
    private func follow(_ name: String, _ bus: SystemBus) {
        bus.match(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
                + "arg0='\(name)'")
        let changes =
            "type='signal',sender='\(name)',interface='org.freedesktop.DBus.Properties',"
            + "member='PropertiesChanged'"
        guard name == Self.manager.name else { return bus.match(changes) }
        // Of networks within reach it tells all the time.
        bus.match("\(changes),arg0='\(name).Device'")
        for member in ["DeviceAdded", "DeviceRemoved"] {
            bus.match("type='signal',sender='\(name)',interface='\(name)',member='\(member)'")
        }
    }

    private func dropIfLost() { if bus?.isLost == true { bus = nil } }

    // MARK: Waiting

    var entry: PollEntry? { bus?.entry }
    var due: Instant { bus?.due ?? .distantFuture }

    /// Whether anything that counts has changed.
    func process() -> Bool {
        guard let bus else { return false }
        let hasChanged = bus.process()
        dropIfLost()
        // What they said no longer holds.
        return hasChanged || self.bus == nil
    }

    // MARK: NetworkManager

    private static let manager = SystemBus.Place(
        name: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager",
        interface: "org.freedesktop.NetworkManager")

    /// Its word on each interface.
    func meters() -> [String: MeterWord] {
        guard let bus, bus.hasOwner(Self.manager.name) else { return [:] }
        defer { dropIfLost() }
        let until = Clocks.instant() + SystemBus.patience
        var paths = bus.paths("GetAllDevices", Self.manager)
        if paths.isEmpty { paths = bus.paths("GetDevices", Self.manager) }
        var words: [String: MeterWord] = [:]
        for path in paths {
            // One that answers slowly, and has much to say, is not heard out.
            if bus.isLost || Clocks.instant() >= until { break }
            let device = Self.manager.at(path).on("org.freedesktop.NetworkManager.Device")
            guard let word = bus.number("Metered", device).flatMap({ MeterWord(rawValue: $0) }) else { continue }
            // A modem's own interface is its serial line.
            for name in ["Interface", "IpInterface"] {
                if let interface = bus.string(name, device), !interface.isEmpty { words[interface] = word }
            }
        }
        return words
    }

    // MARK: UPower

    private static let power = SystemBus.Place(
        name: "org.freedesktop.UPower", path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower")

    /// `nil` where it does not run.
    func powerState() -> PowerState? {
        guard let bus, bus.hasOwner(Self.power.name), let isOnBattery = bus.bool("OnBattery", Self.power) else {
            return nil
        }
        defer { dropIfLost() }
        // All batteries as one.
        let display = Self.power.at("/org/freedesktop/UPower/devices/DisplayDevice").on("org.freedesktop.UPower.Device")
        guard bus.bool("IsPresent", display) == true else {
            return PowerState(source: isOnBattery ? .battery : .mains)
        }
        return PowerState(
            source: isOnBattery ? .battery : .mains, battery: bus.double("Percentage", display),
            isFalling: bus.number("State", display) == Self.discharging)
    }

    private static let discharging: UInt32 = 2
}
