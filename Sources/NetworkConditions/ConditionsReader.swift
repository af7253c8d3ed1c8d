import SystemIO
import TransferModel

/// Reads all facts about networks and power and makes conditions of them. Belongs to one thread at a time.
final class ConditionsReader {
    private let map: NetworkMap
    private let devices: DeviceFolder
    private let supplies: PowerFolder
    private let reader: NetworkReader
    private let routes: RouteTable
    let services: Services?
    private let watchesPower: Bool
    private var grace = CarrierGrace()
    private(set) var power: PowerState

    init(map: NetworkMap, root: String, asksServices: Bool, watchesPower: Bool) throws(NetworkProblem) {
        self.map = map
        self.watchesPower = watchesPower
        devices = DeviceFolder(root: root)
        supplies = PowerFolder(root: root)
        reader = try NetworkReader()
        routes = try RouteTable()
        services = asksServices ? Services(watchesPower: watchesPower) : nil
        power = PowerState(source: .unknown)
        power = readPower()
    }

    /// When the next link's grace is over; `nil` while no link has lost its carrier.
    var due: Instant? { grace.due }

    func read(_ now: Instant) throws(NetworkProblem) -> Conditions {
        let table = grace.apply(to: try reader.read(), now: now)
        var facts = NetworkFacts(table: table)
        for link in table.links {
            // There may be thousands of veth links, and sysfs has nothing beyond their kind.
            if link.kind != "veth" { facts.devices[link.index] = devices.facts(of: link.name, index: link.index) }
            if facts.isUsable(link), !link.isLoopback, leadsOut(link.index) { facts.leadingOut.insert(link.index) }
        }
        facts.meters = services?.meters() ?? [:]
        if watchesPower { power = readPower() }
        return Conditions(networks: ClassRule(facts, map: map).interfaces(), power: power)
    }

    private func readPower() -> PowerState { services?.powerState() ?? supplies.state() }

    /// Whether a route leads over the link to addresses that are certainly far away: two of the DNS root servers.
    /// Nothing is sent, and no table of a million routes has to be read.
    private func leadsOut(_ link: UInt32) -> Bool {
        Self.farAway.contains { routes.interface(to: $0, over: link) == link }
    }

    private static let farAway: [NetworkAddress] = [
        [198, 41, 0, 4], [0x20, 0x01, 0x05, 0x03, 0xBA, 0x3E, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0x30],
    ].compactMap { NetworkAddress($0) }
}
