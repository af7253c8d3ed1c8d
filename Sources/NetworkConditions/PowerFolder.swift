import SystemIO
package import TransferModel

/// One entry of `/sys/class/power_supply`.
package struct PowerSupply: Hashable, Sendable {
    /// What supplies the power.
    package enum Kind: Hashable, Sendable {
        /// An outlet, by whatever plug.
        case line
        case battery
    }
    /// What supplies the power.
    package var kind: Kind
    /// Whether a plug supplies power now; `false` for a battery.
    package var isOnline = false
    /// What a battery does: `Charging`, `Discharging`, `Full`, …; empty for a plug.
    package var status = ""
    /// The battery's charge in per cent; `nil` if it does not tell.
    package var capacity: Double?
    /// The battery's `energy_full`, by which several batteries are weighted; `nil` if it does not tell.
    package var size: Double?

    package init(_ kind: Kind) { self.kind = kind }
}

/// Reads `/sys/class/power_supply`.
package struct PowerFolder {
    /// Where sysfs is mounted.
    package let root: String

    package init(root: String = "/sys") { self.root = root }

    /// Returns the power supplies of the machine itself.
    package func supplies() -> [PowerSupply] {
        let folder = "\(root)/class/power_supply"
        return Folders.names(in: folder).sorted().compactMap { supply("\(folder)/\($0)") }
    }

    /// Returns the machine's power state.
    package func state() -> PowerState { PowerState(supplies()) }

    private func supply(_ folder: String) -> PowerSupply? {
        // The battery of a mouse or a headset.
        if SystemFile.line("\(folder)/scope") == "Device" { return nil }
        let kind = SystemFile.line("\(folder)/type") ?? ""
        if kind == "Battery" {
            if SystemFile.line("\(folder)/present") == "0" { return nil }
            var battery = PowerSupply(.battery)
            battery.status = SystemFile.line("\(folder)/status") ?? ""
            battery.capacity = SystemFile.line("\(folder)/capacity").flatMap { Double($0) }
            battery.size = SystemFile.line("\(folder)/energy_full").flatMap { Double($0) }
            return battery
        }
        guard kind == "Mains" || kind.hasPrefix("USB") || kind == "Wireless" else { return nil }
        var line = PowerSupply(.line)
        // USB uses 2 for a charger that can be set.
        line.isOnline = ["1", "2"].contains(SystemFile.line("\(folder)/online") ?? "")
        return line
    }
}

extension PowerState {
    /// Derives the power state. A machine without a battery and a plug that is online may be a server or a container:
    /// unknown.
    package init(_ supplies: [PowerSupply]) {
        let batteries = supplies.filter { $0.kind == .battery }
        let isFalling = batteries.contains { $0.status == "Discharging" }
        let source: Source =
            if supplies.contains(where: { $0.kind == .line && $0.isOnline }) {
                .mains
            } else if batteries.isEmpty {
                .unknown
            } else if isFalling {
                .battery
            } else if batteries.contains(where: { ["Charging", "Full", "Not charging"].contains($0.status) }) {
                .mains
            } else {
                // No battery tells what it does: if there is a plug, it is unplugged.
                supplies.contains { $0.kind == .line } ? .battery : .unknown
            }
        self.init(source: source, battery: Self.level(batteries), isFalling: isFalling)
    }

    /// Returns the charge of all batteries together, weighted by their sizes where all are known.
    private static func level(_ batteries: [PowerSupply]) -> Double? {
        let known = batteries.filter { $0.capacity != nil }
        guard !known.isEmpty else { return nil }
        let areSizesKnown = known.allSatisfy { ($0.size ?? 0) > 0 }
        let weights = known.map { areSizesKnown ? $0.size ?? 1 : 1 }
        let sum = zip(known, weights).reduce(0) { $0 + ($1.0.capacity ?? 0) * $1.1 }
        return min(100, max(0, sum / weights.reduce(0, +)))
    }
}
