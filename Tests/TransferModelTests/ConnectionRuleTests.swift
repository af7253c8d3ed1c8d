import TestSupport
import Testing
import TransferModel

/// Whether a connection to an address may be made, and over which network.
@Suite struct ConnectionRuleTests {
    private static let here = NetworkAddress([10, 0, 0, 2])
    private static let there = NetworkAddress([192, 0, 2, 1])
    private static let own = NetworkAddress([127, 0, 0, 1])

    private static func network(
        _ index: UInt32, _ networkClass: NetworkClass, metered: Bool = false, constrained: Bool = false,
        usable: Bool = true
    ) -> NetworkInterface {
        NetworkInterface(
            index: index, name: "net\(index)", networkClass: networkClass, isMetered: metered,
            isConstrained: constrained, why: "", isUsable: usable, addresses: here.map { [$0] } ?? [])
    }

    private static func conditions(_ networks: NetworkInterface..., dictated: Bool = false) -> Conditions {
        Conditions(networks: networks, power: PowerState(source: .unknown), isDictated: dictated)
    }

    /// `routes` are the interfaces that lead there, the system's own choice first.
    private func judge(
        _ terms: NetworkTerms, _ conditions: Conditions?, routes: [UInt32], to address: NetworkAddress? = there
    ) -> ConnectionRule.Answer? {
        address.map { address in
            ConnectionRule(terms: terms, conditions: conditions).judge(address) { over in
                guard let over else { return routes.first }
                return routes.first { $0 == over }
            }
        }
    }

    private let noCellular = NetworkTerms(allowsCellular: false)

    @Test func whoSaidThatThereIsNoneIsNamed() {
        #expect(Self.conditions().words(for: .noNetwork) == "a network: there is none")
        let dictated = Self.conditions(dictated: true)
        #expect(dictated.words(for: .noNetwork) == "a network: there is none, as `--network` says")
    }

    @Test func aPermittedNetworkIsTakenAsTheSystemRoutes() {
        let both = Self.conditions(Self.network(1, .wifi), Self.network(2, .cellular))
        #expect(judge(NetworkTerms(), both, routes: [2, 1]) == .connect(over: 2))
        #expect(judge(noCellular, both, routes: [1, 2]) == .connect(over: 1))
    }

    @Test func aForbiddenNetworkIsLeftForAPermittedOneThatLeadsThere() {
        let both = Self.conditions(Self.network(1, .wifi), Self.network(2, .cellular))
        #expect(judge(noCellular, both, routes: [2, 1]) == .bind(to: 1))
        #expect(judge(noCellular, both, routes: [2]) == .refuse(.notAllowed(.cellular)))
    }

    @Test func eachTermHasItsReason() {
        let metered = Self.conditions(Self.network(1, .wifi, metered: true))
        let constrained = Self.conditions(Self.network(1, .wired, constrained: true))
        #expect(
            judge(NetworkTerms(allowsExpensive: false), metered, routes: [1]) == .refuse(.notAllowed(.expensive)))
        #expect(
            judge(NetworkTerms(allowsConstrained: false), constrained, routes: [1])
                == .refuse(.notAllowed(.constrained)))
        #expect(judge(noCellular, metered, routes: [1]) == .connect(over: 1))
    }

    /// Names that resolve to this machine, or to a container on it, use no network.
    @Test func whatStaysOnTheMachineIsExempt() {
        let cellular = Self.conditions(Self.network(1, .cellular), Self.network(9, .none))
        #expect(judge(noCellular, cellular, routes: [1], to: Self.own) == .connect(over: nil))
        #expect(judge(noCellular, nil, routes: [], to: Self.own) == .connect(over: nil))
        #expect(judge(noCellular, cellular, routes: [9]) == .connect(over: 9))
        let mapped = NetworkAddress([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1])
        #expect(mapped?.isLoopback == true)
    }

    /// Unless the operator says what network there is.
    @Test func whatIsDictatedHoldsForLoopbackToo() {
        let cellular = Self.conditions(Self.network(0, .cellular), dictated: true)
        #expect(judge(noCellular, cellular, routes: [], to: Self.own) == .refuse(.notAllowed(.cellular)))
        #expect(judge(NetworkTerms(), cellular, routes: [], to: Self.own) == .connect(over: 0))
        #expect(judge(NetworkTerms(), Self.conditions(dictated: true), routes: []) == .refuse(.noNetwork))
    }

    @Test func aRouteThatADeadNetworkLeftLeadsNowhere() {
        let dead = Self.conditions(Self.network(1, .wifi, usable: false), Self.network(2, .wired))
        #expect(judge(NetworkTerms(), dead, routes: [1, 2]) == .bind(to: 2))
        #expect(judge(NetworkTerms(), dead, routes: [1]) == .refuse(.noNetwork))
    }

    /// What the system says is believed where nothing depends on it, and only there.
    @Test func theUnknownIsForThoseWhoMayUseEverything() {
        let none = Self.conditions()
        #expect(judge(NetworkTerms(), none, routes: [7]) == .connect(over: 7))
        #expect(judge(NetworkTerms(), none, routes: []) == .connect(over: nil))
        #expect(judge(noCellular, none, routes: [7]) == .refuse(.noNetwork))
        #expect(judge(NetworkTerms(), nil, routes: []) == .connect(over: nil))
        #expect(judge(noCellular, nil, routes: [7]) == .refuse(.noNetwork))
    }

    @Test func aConnectionMayGoOnWhileItsNetworkIsThereAndPermitted() {
        func allows(_ terms: NetworkTerms, _ network: NetworkInterface, from address: NetworkAddress? = Self.here)
            -> Bool
        {
            ConnectionRule(terms: terms, conditions: Self.conditions(network)).allows(1, from: address)
        }
        #expect(allows(NetworkTerms(), Self.network(1, .wifi)))
        #expect(!allows(NetworkTerms(), Self.network(1, .wifi, usable: false)))
        #expect(!allows(NetworkTerms(), Self.network(2, .wifi)))
        #expect(!allows(NetworkTerms(), Self.network(1, .wifi), from: NetworkAddress([10, 0, 0, 3])))
        #expect(!allows(noCellular, Self.network(1, .cellular)))
        #expect(allows(NetworkTerms(allowsExpensive: false), Self.network(1, .cellular)))
        #expect(!allows(NetworkTerms(allowsExpensive: false), Self.network(1, .cellular, metered: true)))
        #expect(allows(noCellular, Self.network(1, .none, usable: false)))
    }

    /// Over whatever networks and routes: nothing goes where the terms forbid it, nothing is refused that some network
    /// would carry.
    @Test func noAnswerBreaksTheTerms() {
        var random = Seeded("networks and routes")
        for _ in 0..<Rounds.scaled(3_000) {
            let networks = (1...4).map { index in
                Self.network(
                    UInt32(index), random.pick(NetworkClass.allCases), metered: random.oneIn(3),
                    constrained: random.oneIn(3), usable: !random.oneIn(4))
            }
            let conditions = Conditions(networks: networks, power: PowerState(source: .unknown))
            let routes = (1...4).map { UInt32($0) }.shuffled(using: &random).prefix(random.below(5))
            let terms = NetworkTerms(
                allowsCellular: random.oneIn(2), allowsExpensive: random.oneIn(2), allowsConstrained: random.oneIn(2))
            func mayCarry(_ index: UInt32) -> Bool {
                conditions[index].map { $0.networkClass == .none || $0.isUsable && terms.objection(to: $0) == nil }
                    ?? false
            }
            switch judge(terms, conditions, routes: Array(routes)) {
            case .connect(let over?): #expect(over == routes.first && mayCarry(over))
            case .bind(let to): #expect(routes.contains(to) && mayCarry(to))
            case .connect(nil): #expect(routes.isEmpty && terms.allowAll)
            case .refuse, nil:
                #expect(!routes.contains { mayCarry($0) && conditions[$0]?.networkClass != NetworkClass.none })
            }
        }
    }
}
