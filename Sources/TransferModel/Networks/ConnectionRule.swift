/// Asked about each address before a socket is opened to it, so that no name can lead elsewhere between the question and
/// the connection: whether, and through which interface. Pure: where the system's routes lead is looked up for it.
package struct ConnectionRule: Sendable {
    package enum Answer: Hashable, Sendable {
        /// As the system routes it, over this interface; `nil` when nothing leaves the machine, or nobody knows.
        case connect(over: UInt32?)
        /// Over this one, though the system would take another.
        case bind(to: UInt32)
        case refuse(Shortage)
    }
    package var terms: NetworkTerms
    /// `nil`: the system does not tell what networks there are.
    package var conditions: Conditions?

    package init(terms: NetworkTerms, conditions: Conditions?) {
        self.terms = terms
        self.conditions = conditions
    }

    /// `route` gives the interface that the system would take to the address, or that it can be reached over the one named;
    /// `nil` when no route leads there.
    package func judge(_ address: NetworkAddress, route: (_ over: UInt32?) -> UInt32?) -> Answer {
        if let conditions, conditions.isDictated {
            return conditions.shortage(of: terms).map { .refuse($0) }
                ?? .connect(over: conditions.networks.first?.index)
        }
        if address.isLoopback { return .connect(over: nil) }
        guard let conditions else { return terms.allowAll ? .connect(over: nil) : .refuse(.noNetwork) }
        let usual = route(nil)
        // Not known: an interface that came up a moment ago, or a route that only the system understands.
        guard let network = usual.flatMap({ conditions[$0] }) else {
            if terms.allowAll { return .connect(over: usual) }
            return detour(conditions, not: usual, because: .noNetwork, route)
        }
        // The machine itself, under another of its addresses, or a container on it.
        if network.networkClass == .none { return .connect(over: network.index) }
        // A route that a network left behind.
        guard network.isUsable else { return detour(conditions, not: usual, because: .noNetwork, route) }
        guard let objection = terms.objection(to: network) else { return .connect(over: network.index) }
        return detour(conditions, not: usual, because: .notAllowed(objection), route)
    }

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

    /// Whether what was opened over the interface may go on.
    package func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool {
        guard let conditions, !conditions.isDictated else { return true }
        guard let network = conditions[interface] else { return false }
        if network.networkClass == .none { return true }
        if let address, !address.isLinkLocalIPv6, !network.addresses.contains(address) { return false }
        return network.isUsable && terms.objection(to: network) == nil
    }
}
