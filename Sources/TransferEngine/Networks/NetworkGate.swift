import CurlCore
package import TransferModel

/// What is known of networks now, for the gates of all sessions.
package final class NetworkDesk {
    /// `nil` while nobody looks: a run that only speaks with this machine needs none.
    package internal(set) var conditions: Conditions?
    private(set) var routes: (any RouteFinder)?
    private var gates: [NetworkTerms: NetworkGate] = [:]

    init() {}

    /// Somebody looked.
    package func open(_ conditions: Conditions, routes: (any RouteFinder)?) {
        self.conditions = conditions
        self.routes = routes
    }

    /// One for all pools under the same terms.
    func gate(_ terms: NetworkTerms) -> NetworkGate {
        if let gate = gates[terms] { return gate }
        let gate = NetworkGate(terms, self)
        gates[terms] = gate
        return gate
    }

    func rule(_ terms: NetworkTerms) -> ConnectionRule { ConnectionRule(terms: terms, conditions: conditions) }

    /// What a connection through the interface was like, for the metrics.
    func network(_ interface: UInt32?) -> NetworkInterface? { interface.flatMap { conditions?[$0] } }
}

/// Lets connections of some tasks through, or not: puts the rule to each address with the networks of the moment.
final class NetworkGate: ConnectionGate {
    private let terms: NetworkTerms
    private unowned let desk: NetworkDesk

    init(_ terms: NetworkTerms, _ desk: NetworkDesk) {
        self.terms = terms
        self.desk = desk
    }

    func judge(_ address: NetworkAddress) -> ConnectionRule.Answer {
        desk.rule(terms).judge(address) { desk.routes?.interface(to: address, over: $0) }
    }

    func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool {
        desk.rule(terms).allows(interface, from: address)
    }
}
