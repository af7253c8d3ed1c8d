import CurlCore
package import TransferModel

/// The current state of the machine's networks, for the gates of all sessions. Owned by the loop thread.
package final class NetworkState {
    /// `nil` while the networks are not watched: a run that stays on this machine needs none.
    package internal(set) var conditions: Conditions?
    private(set) var routes: (any RouteFinder)?
    private var gates: [NetworkTerms: NetworkGate] = [:]

    package init() {}

    /// Sets the first state of the networks. `routes`: `nil` where they are dictated.
    package func open(_ conditions: Conditions, routes: (any RouteFinder)?) {
        self.conditions = conditions
        self.routes = routes
    }

    /// Returns the one gate of all pools under the same terms.
    func gate(_ terms: NetworkTerms) -> NetworkGate {
        if let gate = gates[terms] { return gate }
        let gate = NetworkGate(terms, self)
        gates[terms] = gate
        return gate
    }

    func rule(_ terms: NetworkTerms) -> ConnectionRule { ConnectionRule(terms: terms, conditions: conditions) }

    /// The network of a connection's interface, for the metrics.
    func network(_ interface: UInt32?) -> NetworkInterface? { interface.flatMap { conditions?[$0] } }
}

/// Decides for each address whether a task's connection may use the current networks.
final class NetworkGate: ConnectionGate {
    private let terms: NetworkTerms
    private unowned let networks: NetworkState

    init(_ terms: NetworkTerms, _ networks: NetworkState) {
        self.terms = terms
        self.networks = networks
    }

    func judge(_ address: NetworkAddress) -> ConnectionRule.Answer {
        networks.rule(terms).judge(address) { networks.routes?.interface(to: address, over: $0) }
    }

    func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool {
        networks.rule(terms).allows(interface, from: address)
    }
}
