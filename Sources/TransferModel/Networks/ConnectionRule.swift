/// Decides for each address, before a socket is opened to it, whether it may be connected to and through which
/// interface; so no name can lead elsewhere between the decision and the connection. Pure: the caller looks up the
/// system's routes.
package struct ConnectionRule: Sendable {
    /// What to do about an address.
    package enum Answer: Hashable, Sendable {
        /// Connect as the system routes it, over this interface; `nil` when nothing leaves the machine or the interface
        /// is unknown.
        case connect(over: UInt32?)
        /// Connect over this interface, though the system would take another.
        case bind(to: UInt32)
        /// Do not connect, for this reason.
        case refuse(Shortage)
    }
    /// The kinds of network that the task may use.
    package var terms: NetworkTerms
    /// The networks that there are; `nil`: the system does not tell.
    package var conditions: Conditions?

    package init(terms: NetworkTerms, conditions: Conditions?) {
        self.terms = terms
        self.conditions = conditions
    }

    /// Decides about an address. `route` returns the interface that the system would take to it, or the given one if
    /// that leads there; `nil` when no route does.
    package func judge(_ address: NetworkAddress, route: (_ over: UInt32?) -> UInt32?) -> Answer {
        if let conditions, conditions.isDictated {
            return conditions.shortage(of: terms).map { .refuse($0) }
                ?? .connect(over: conditions.networks.first?.index)
        }
        if address.isLoopback { return .connect(over: nil) }
        guard let conditions else { return terms.allowAll ? .connect(over: nil) : .refuse(.noNetwork) }
        let usual = route(nil)
        // An unknown interface: one that came up a moment ago, or a route that only the system understands.
        guard let network = usual.flatMap({ conditions[$0] }) else {
            if terms.allowAll { return .connect(over: usual) }
            return detour(conditions, not: usual, because: .noNetwork, route)
        }
        // This machine under another of its addresses, or a container on it.
        if network.networkClass == .none { return .connect(over: network.index) }
        // A network that went away and left its route behind.
        guard network.isUsable else { return detour(conditions, not: usual, because: .noNetwork, route) }
        guard let objection = terms.objection(to: network) else { return .connect(over: network.index) }
        return detour(conditions, not: usual, because: .notAllowed(objection), route)
    }

    /// Returns the first permitted network that leads to the address, other than the usual one, or the refusal.
    private func detour(
        _ conditions: Conditions, not usual: UInt32?, because shortage: Shortage,
        _ route: (_ over: UInt32?) -> UInt32?
    ) -> Answer {
        for network in conditions.networks where network.isThere && network.index != usual {
            guard terms.objection(to: network) == nil, route(network.index) == network.index else { continue }
            return .bind(to: network.index)
        }
        return .refuse(shortage)
    }

    /// Decides whether a connection that was opened over the interface, from that local address, may continue.
    package func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool {
        guard let conditions, !conditions.isDictated else { return true }
        guard let network = conditions[interface] else { return false }
        if network.networkClass == .none { return true }
        if let address, !address.isLinkLocalIPv6, !network.addresses.contains(address) { return false }
        return network.isUsable && terms.objection(to: network) == nil
    }
}
