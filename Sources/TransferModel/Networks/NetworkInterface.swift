/// What an interface leads to.
package enum NetworkClass: String, CaseIterable, Sendable {
    case wired, wifi, cellular
    /// Nothing beyond this machine: loopback, a bridge that only containers stand on.
    case none
}

/// A network interface as the system, the operator's map or the command line describe it.
package struct NetworkInterface: Hashable, Sendable {
    /// As the kernel numbers them.
    package var index: UInt32
    package var name: String
    package var networkClass: NetworkClass
    /// Its bytes cost money: "expensive" in the words of the job file.
    package var isMetered: Bool
    /// It is to be spared: low data mode.
    package var isConstrained: Bool
    /// How all that is known, for people.
    package var why: String
    /// Up, plugged in, and with an address of its own.
    package var isUsable: Bool
    /// Its addresses, without IPv6's link-local ones.
    package var addresses: Set<NetworkAddress>

    package init(
        index: UInt32, name: String, networkClass: NetworkClass, isMetered: Bool = false, isConstrained: Bool = false,
        why: String, isUsable: Bool = true, addresses: Set<NetworkAddress> = []
    ) {
        self.index = index
        self.name = name
        self.networkClass = networkClass
        self.isMetered = isMetered
        self.isConstrained = isConstrained
        self.why = why
        self.isUsable = isUsable
        self.addresses = addresses
    }

    /// It leads somewhere now.
    package var isThere: Bool { isUsable && networkClass != .none }
}

/// Why a network may not be used: the `reason` of `dataNotAllowed`. The first that holds is told.
package enum NetworkObjection: String, CaseIterable, Sendable { case cellular, expensive, constrained }

/// What kinds of network the bytes of a task may take.
package struct NetworkTerms: Hashable, Sendable {
    package var allowsCellular: Bool
    package var allowsExpensive: Bool
    package var allowsConstrained: Bool

    package init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }

    package var allowAll: Bool { allowsCellular && allowsExpensive && allowsConstrained }

    package func objection(to network: NetworkInterface) -> NetworkObjection? {
        if !allowsCellular, network.networkClass == .cellular { return .cellular }
        if !allowsExpensive, network.isMetered { return .expensive }
        if !allowsConstrained, network.isConstrained { return .constrained }
        return nil
    }
}

extension TransferPolicies {
    package var networkTerms: NetworkTerms {
        NetworkTerms(
            allowsCellular: allowsCellularAccess, allowsExpensive: allowsExpensiveNetworkAccess,
            allowsConstrained: allowsConstrainedNetworkAccess)
    }
}
