/// All facts about the networks at one moment, before classes are derived from them.
package struct NetworkFacts: Hashable, Sendable {
    /// The kernel's interfaces and addresses.
    package var table: LinkTable
    /// What sysfs says, by interface index; no entry where it says nothing.
    package var devices: [UInt32: DeviceFacts]
    /// The indices of interfaces over which a route leads out to the internet.
    package var leadingOut: Set<UInt32>
    /// What NetworkManager says about metering, by interface name.
    package var meters: [String: MeteredState]

    package init(
        table: LinkTable = LinkTable(), devices: [UInt32: DeviceFacts] = [:], leadingOut: Set<UInt32> = [],
        meters: [String: MeteredState] = [:]
    ) {
        self.table = table
        self.devices = devices
        self.leadingOut = leadingOut
        self.meters = meters
    }

    /// Whether the interface can carry packets from here: up, running, and with an address.
    func isUsable(_ link: NetlinkMessage.Link) -> Bool {
        link.isUp && link.isRunning && table.addresses[link.index] != nil
    }
}

/// NetworkManager's statement whether a device is metered.
package enum MeteredState: UInt32, Sendable {
    // The numbers of its D-Bus interface.
    case yes = 1, no, guessedYes, guessedNo

    var isMetered: Bool { self == .yes || self == .guessedYes }
    var isGuess: Bool { self == .guessedYes || self == .guessedNo }
}
