/// The kind of network that an interface leads to.
package enum NetworkClass: String, CaseIterable, Sendable {
    case wired, wifi, cellular
    /// No network beyond this machine: loopback, or a bridge that only containers are attached to.
    case none
}

/// A network interface, as the system, the operator's map or the command line describes it.
package struct NetworkInterface: Hashable, Sendable {
    /// The interface's number in the kernel.
    package var index: UInt32
    /// The interface's name in the kernel, such as `eth0`.
    package var name: String
    /// The kind of network that it leads to.
    package var networkClass: NetworkClass
    /// Whether bytes over it cost money: "expensive" in the words of the job file.
    package var isMetered: Bool
    /// Whether it is in low data mode.
    package var isConstrained: Bool
    /// Where this knowledge comes from, for people.
    package var why: String
    /// Whether it is up, plugged in, and has an address of its own.
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

    /// Whether it leads to another machine now.
    package var isThere: Bool { isUsable && networkClass != .none }
}

/// Why a network may not be used: the `reason` of `dataNotAllowed`. If several apply, the first one is reported.
package enum NetworkObjection: String, CaseIterable, Sendable { case cellular, expensive, constrained }

/// The kinds of network that a task's bytes may take.
package struct NetworkTerms: Hashable, Sendable {
    /// Whether cellular networks are allowed.
    package var allowsCellular: Bool
    /// Whether metered networks are allowed.
    package var allowsExpensive: Bool
    /// Whether networks in low data mode are allowed.
    package var allowsConstrained: Bool

    package init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }

    /// Whether every kind of network is allowed.
    package var allowAll: Bool { allowsCellular && allowsExpensive && allowsConstrained }

    /// Returns why the network may not be used, or `nil` if it may.
    package func objection(to network: NetworkInterface) -> NetworkObjection? {
        if !allowsCellular, network.networkClass == .cellular { return .cellular }
        if !allowsExpensive, network.isMetered { return .expensive }
        if !allowsConstrained, network.isConstrained { return .constrained }
        return nil
    }
}

extension TransferPolicies {
    /// The kinds of network that these policies allow.
    package var networkTerms: NetworkTerms {
        NetworkTerms(
            allowsCellular: allowsCellularAccess, allowsExpensive: allowsExpensiveNetworkAccess,
            allowsConstrained: allowsConstrainedNetworkAccess)
    }
}
