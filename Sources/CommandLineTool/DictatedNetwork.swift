package import TransferModel

/// The network that `--network` states, in place of all networks that the system reports.
package struct DictatedNetwork: Hashable, Sendable {
    /// Class of the network; `.none` for no network at all.
    package var networkClass: NetworkClass
    /// Whether bytes over the network cost.
    package var isMetered: Bool
    /// Whether the network is to be used sparingly.
    package var isConstrained: Bool

    /// Parses `cellular,constrained`; a cellular network is metered.
    package init(_ text: String) throws(UsageError) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        guard let networkClass = NetworkClass(rawValue: words[0]) else {
            throw Self.problem(text, "`\(words[0])` is no class of network")
        }
        var traits = Set(words.dropFirst())
        guard traits.count == words.count - 1 else { throw Self.problem(text, "something stands there twice") }
        if networkClass == .none, !traits.isEmpty { throw Self.problem(text, "no network is neither") }
        self.networkClass = networkClass
        isMetered = traits.remove("metered") != nil || networkClass == .cellular
        isConstrained = traits.remove("constrained") != nil
        if let stray = traits.min() { throw Self.problem(text, "`\(stray)` is neither `metered` nor `constrained`") }
    }

    private static func problem(_ text: String, _ why: String) -> UsageError {
        UsageError(
            "`--network` cannot be `\(text)`: \(why)",
            hint: "write `wired`, `wifi`, `cellular` or `none`, and after it `,metered`, `,constrained` or both")
    }

    /// Returns the conditions for a run: this network, with the given power state.
    package func conditions(power: PowerState) -> Conditions {
        Conditions(networks: interfaces, power: power, isDictated: true)
    }

    /// The network as an interface; empty for `none`.
    package var interfaces: [NetworkInterface] {
        if networkClass == .none { return [] }
        let network = NetworkInterface(
            index: 0, name: "--network", networkClass: networkClass, isMetered: isMetered,
            isConstrained: isConstrained, why: "`--network` says so")
        return [network]
    }
}

extension MeantArguments {
    /// Returns the network that `--network` states, or `nil`.
    package func network() throws(UsageError) -> DictatedNetwork? {
        guard let text = value(.network) else { return nil }
        return try DictatedNetwork(text)
    }
}
