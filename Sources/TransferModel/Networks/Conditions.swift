/// The machine's power supply at one moment.
package struct PowerState: Hashable, Sendable {
    /// Where the power comes from; `unknown` if the machine does not say.
    package enum Source: String, Sendable { case mains, battery, unknown }
    /// Where the power comes from.
    package var source: Source
    /// Charge of the battery in percent, 0 to 100; `nil` without a battery.
    package var battery: Double?
    /// Whether the battery is being discharged.
    package var isFalling: Bool

    package init(source: Source, battery: Double? = nil, isFalling: Bool = false) {
        self.source = source
        self.battery = battery
        self.isFalling = isFalling
    }

    /// Whether discretionary work may use the power. A battery above half is enough, even when it is being discharged:
    /// a laptop that is never plugged in must not wait for ever. A machine that says nothing about its power is taken
    /// to be on mains.
    package var isPlentiful: Bool {
        switch source {
        case .mains, .unknown: true
        case .battery: (battery ?? 0) > 50
        }
    }
}

/// The machine's networks and power at one moment: a value, so that all rules about them are pure.
package struct Conditions: Hashable, Sendable {
    /// The machine's network interfaces.
    package var networks: [NetworkInterface]
    /// The machine's power supply.
    package var power: PowerState
    /// Whether the operator said which network there is (`--network`): then no route is looked up, and loopback counts
    /// as any other network.
    package var isDictated: Bool

    package init(networks: [NetworkInterface], power: PowerState, isDictated: Bool = false) {
        self.networks = networks
        self.power = power
        self.isDictated = isDictated
    }

    /// The network with that kernel number; `nil` if there is none.
    package subscript(index: UInt32) -> NetworkInterface? { networks.first { $0.index == index } }
}

/// Why nothing may be sent now.
package enum Shortage: Hashable, Sendable {
    /// There is no network at all.
    case noNetwork
    /// There are only networks that the task may not use.
    case notAllowed(NetworkObjection)
    /// There are only metered networks, and the task is discretionary.
    case metered
    /// The battery is low, and the task is discretionary.
    case power
}

extension Conditions {
    /// Returns why no network may be used under these terms, wherever the request goes, or `nil` if one may. Whether it
    /// leads to a certain host is known only when the host's address is.
    package func shortage(of terms: NetworkTerms) -> Shortage? {
        var objection: NetworkObjection?
        for network in networks where network.isThere {
            guard let found = terms.objection(to: network) else { return nil }
            objection = objection ?? found
        }
        return objection.map { .notAllowed($0) } ?? .noNetwork
    }

    /// Returns why discretionary work cannot run now, or `nil` if it can.
    package func discretionaryShortage(of terms: NetworkTerms) -> Shortage? {
        if let shortage = shortage(of: terms) { return shortage }
        let free = networks.contains { $0.isThere && !$0.isMetered && terms.objection(to: $0) == nil }
        if !free { return .metered }
        return power.isPlentiful ? nil : .power
    }

    /// Returns what is missing, in words that follow "waits for".
    package func words(for shortage: Shortage) -> String {
        let there = networks.filter { $0.isThere }
        let names = there.map { "\($0.name) is \($0.description)" }.joined(separator: ", ")
        let seen = there.isEmpty ? "" : " (\(names))"
        switch shortage {
        case .noNetwork: return "a network: there is none" + (isDictated ? ", as `--network` says" : "")
        case .notAllowed(let objection): return "a network that is not \(objection.rawValue)\(seen)"
        case .metered: return "a network that costs nothing\(seen)"
        case .power:
            let level = power.battery.map { " at \(Int($0)) %" } ?? ""
            return "mains power or a fuller battery (the battery is\(level)\(power.isFalling ? " and falling" : ""))"
        }
    }
}

extension NetworkInterface {
    /// The kind of network for people: `wifi, metered`.
    package var description: String {
        ([networkClass.rawValue] + (isMetered ? ["metered"] : []) + (isConstrained ? ["constrained"] : []))
            .joined(separator: ", ")
    }
}
