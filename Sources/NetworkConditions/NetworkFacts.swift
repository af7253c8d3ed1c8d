/// All that is known of the networks at one moment, before anything is made of it.
package struct NetworkFacts: Hashable, Sendable {
    package var table: LinkTable
    /// By index; none where sysfs knows nothing.
    package var devices: [UInt32: DeviceFacts]
    /// The links over which a route leads out into the world.
    package var leadingOut: Set<UInt32>
    /// NetworkManager's word, by name.
    package var meters: [String: MeterWord]

    package init(
        table: LinkTable = LinkTable(), devices: [UInt32: DeviceFacts] = [:], leadingOut: Set<UInt32> = [],
        meters: [String: MeterWord] = [:]
    ) {
        self.table = table
        self.devices = devices
        self.leadingOut = leadingOut
        self.meters = meters
    }

    /// Whether it can carry something from here.
    func isUsable(_ link: NetlinkMessage.Link) -> Bool {
        link.isUp && link.isRunning && table.addresses[link.index] != nil
    }
}

/// Whether NetworkManager holds a device to be metered.
package enum MeterWord: UInt32, Sendable {
    // As its D-Bus interface numbers them.
    case yes = 1, no, guessedYes, guessedNo

    var isMetered: Bool { self == .yes || self == .guessedYes }
    var isGuess: Bool { self == .guessedYes || self == .guessedNo }
}
