/// Where the machine gets its power from.
package struct PowerState: Hashable, Sendable {
    package enum Source: String, Sendable { case mains, battery, unknown }
    package var source: Source
    /// 0 to 100; `nil` without a battery.
    package var battery: Double?
    /// The battery is being emptied.
    package var isFalling: Bool

    package init(source: Source, battery: Double? = nil, isFalling: Bool = false) {
        self.source = source
        self.battery = battery
        self.isFalling = isFalling
    }

    /// Whether discretionary work may use it. A battery above half is enough, falling or not: a laptop that is never plugged in
    /// must not wait for ever. A machine that tells nothing of its power stands at a wall.
    package var isPlentiful: Bool {
        switch source {
        case .mains, .unknown: true
        case .battery: (battery ?? 0) > 50
        }
    }
}

/// What the machine's networks and its power are like at one moment: a value, so that all rules about them are pure.
package struct Conditions: Hashable, Sendable {
    package var networks: [NetworkInterface]
    package var power: PowerState
    /// The operator said what network there is (`--network`): no route is looked up, and loopback is one like any.
    package var isDictated: Bool

    package init(networks: [NetworkInterface], power: PowerState, isDictated: Bool = false) {
        self.networks = networks
        self.power = power
        self.isDictated = isDictated
    }

    package subscript(index: UInt32) -> NetworkInterface? { networks.first { $0.index == index } }
}

/// Why nothing may be sent now.
package enum Shortage: Hashable, Sendable {
    /// No network at all.
    case noNetwork
    /// Only networks that the task may not use.
    case notAllowed(NetworkObjection)
    /// Only networks that cost money, and it can wait (`discretionary`).
    case metered
    /// A battery that is low or being emptied, and it can wait.
    case power
}

extension Conditions {
    /// What there is no network for under these terms, wherever the request goes: whether one leads to a certain host is
    /// known only when its address is.
    package func shortage(of terms: NetworkTerms) -> Shortage? {
        var objection: NetworkObjection?
        for network in networks where network.isThere {
            guard let found = terms.objection(to: network) else { return nil }
            objection = objection ?? found
        }
        return objection.map { .notAllowed($0) } ?? .noNetwork
    }

    /// The same for what runs only when it costs nobody.
    package func discretionaryShortage(of terms: NetworkTerms) -> Shortage? {
        if let shortage = shortage(of: terms) { return shortage }
        let free = networks.contains { $0.isThere && !$0.isMetered && terms.objection(to: $0) == nil }
        if !free { return .metered }
        return power.isPlentiful ? nil : .power
    }

    /// What stands in the way, for people: to be put after `waits for`.
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
    /// `wifi, metered`
    package var description: String {
        ([networkClass.rawValue] + (isMetered ? ["metered"] : []) + (isConstrained ? ["constrained"] : []))
            .joined(separator: ", ")
    }
}
