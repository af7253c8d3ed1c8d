import SystemIO
import TransferModel

/// Reads what NetworkManager and UPower say, where they run. They come and go; asking never starts them.
final class Services {
    private var bus: SystemBus?
    private let watchesPower: Bool

    init(watchesPower: Bool) {
        self.watchesPower = watchesPower
        open()
    }

    /// Connects again if there was no bus before.
    func reopen() { if bus == nil { open() } }

    private func open() {
        guard let bus = SystemBus() else { return }
        self.bus = bus
        for name in [Self.manager.name] + (watchesPower ? [Self.power.name] : []) { follow(name, bus) }
        dropIfLost()
    }

    /// Asks for the signals that the service comes or goes, or that one of its used properties has changed.
    private func follow(_ name: String, _ bus: SystemBus) {
        bus.match(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
                + "arg0='\(name)'")
        let changes =
            "type='signal',sender='\(name)',interface='org.freedesktop.DBus.Properties',"
            + "member='PropertiesChanged'"
        guard name == Self.manager.name else { return bus.match(changes) }
        // NetworkManager reports networks within reach all the time: only devices are of interest.
        bus.match("\(changes),arg0='\(name).Device'")
        for member in ["DeviceAdded", "DeviceRemoved"] {
            bus.match("type='signal',sender='\(name)',interface='\(name)',member='\(member)'")
        }
    }

    private func dropIfLost() { if bus?.isLost == true { bus = nil } }

    // MARK: Waiting

    var entry: PollEntry? { bus?.entry }
    var due: Instant { bus?.due ?? .distantFuture }

    /// Handles signals; returns whether something relevant has changed.
    func process() -> Bool {
        guard let bus else { return false }
        let hasChanged = bus.process()
        dropIfLost()
        // Without the bus, what the services said no longer holds.
        return hasChanged || self.bus == nil
    }

    // MARK: NetworkManager

    private static let manager = SystemBus.Place(
        name: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager",
        interface: "org.freedesktop.NetworkManager")

    /// Returns NetworkManager's statement on each interface, by name.
    func meters() -> [String: MeteredState] {
        guard let bus, bus.hasOwner(Self.manager.name) else { return [:] }
        defer { dropIfLost() }
        let until = Clocks.instant() + SystemBus.patience
        var paths = bus.paths("GetAllDevices", Self.manager)
        if paths.isEmpty { paths = bus.paths("GetDevices", Self.manager) }
        var words: [String: MeteredState] = [:]
        for path in paths {
            // A service that answers slowly about many devices is cut off.
            if bus.isLost || Clocks.instant() >= until { break }
            let device = Self.manager.at(path).on("org.freedesktop.NetworkManager.Device")
            guard let word = bus.number("Metered", device).flatMap({ MeteredState(rawValue: $0) }) else { continue }
            // A modem's `Interface` is its serial line; `IpInterface` is its network interface.
            for name in ["Interface", "IpInterface"] {
                if let interface = bus.string(name, device), !interface.isEmpty { words[interface] = word }
            }
        }
        return words
    }

    // MARK: UPower

    private static let power = SystemBus.Place(
        name: "org.freedesktop.UPower", path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower")

    /// Returns UPower's power state; `nil` where it does not run.
    func powerState() -> PowerState? {
        guard let bus, bus.hasOwner(Self.power.name), let isOnBattery = bus.bool("OnBattery", Self.power) else {
            return nil
        }
        defer { dropIfLost() }
        // The display device stands for all batteries together.
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
