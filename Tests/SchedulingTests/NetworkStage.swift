import Scheduling
import TransferModel

// Networks for a stage.

extension Conditions {
    static let none = Conditions(networks: [], power: PowerState(source: .mains))
    static let wired = of(.wired)
    static let cellular = of(.cellular)
    static let metered = of(.wifi, isMetered: true)

    static func of(_ networkClass: NetworkClass, isMetered: Bool = false) -> Conditions {
        let network = NetworkInterface(
            index: 1, name: "net0", networkClass: networkClass, isMetered: isMetered, why: "the test says so")
        return Conditions(networks: [network], power: PowerState(source: .mains))
    }

    func on(_ power: PowerState) -> Conditions {
        var other = self
        other.power = power
        return other
    }

    var dictated: Conditions {
        var other = self
        other.isDictated = true
        return other
    }
}

extension PowerState {
    static let low = PowerState(source: .battery, battery: 20, isFalling: true)
}

extension SchedulingPlan {
    /// How all its tasks take to networks.
    mutating func mind(
        _ conditions: Conditions?, waits: Bool = true, terms: NetworkTerms = NetworkTerms(), discretionary: Bool = false
    ) {
        self.conditions = conditions
        for index in policies.indices {
            policies[index].waitsForConnectivity = waits
            policies[index].terms = terms
            policies[index].isDiscretionary = discretionary
        }
    }
}

extension Stage {
    mutating func change(_ conditions: Conditions) { command(.conditions(conditions)) }
}

extension Verdict {
    static func noRoute(_ reason: NetworkObjection? = nil) -> Verdict {
        Verdict(.failed(TransferError(.noPermittedRoute, "no route that may be taken", reason: reason)))
    }

    static var withoutNetwork: Verdict {
        var verdict = Verdict(.failed(TransferError(.networkConnectionLost, "lost")), status: 200, sentSomething: true)
        verdict.lostNetwork = true
        return verdict
    }

    static func failed(_ name: ErrorName) -> Verdict { Verdict(.failed(TransferError(name, "failed"))) }
}
