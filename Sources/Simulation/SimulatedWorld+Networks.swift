import Scheduling
package import TransferModel

// What changes of networks do to attempts under way, as a client that watches its networks would end them.

extension SimulatedWorld {
    /// Adopts `conditions` and ends the attempts that may not use any of the networks left.
    package mutating func change(to conditions: Conditions) {
        self.conditions = conditions
        loseNetwork { world, place in world.shortage(at: place) != nil }
    }

    /// Ends every attempt that uses a network: the next network is there at once, and no connection survives.
    mutating func handOver() {
        loseNetwork { world, place in world.flights[place]?.origin.map { world.needsNetwork($0) } ?? false }
    }

    private mutating func loseNetwork(_ isConcerned: (SimulatedWorld, Int) -> Bool) {
        for place in flights.indices where isUnderWay(place) && isConcerned(self, place) {
            fail(place, TransferError(.networkConnectionLost, "its network went away"), lostNetwork: true)
        }
    }

    /// Returns why a connection to `origin` cannot be opened now; `nil` if it can.
    func refusal(of flight: Flight, at origin: OriginID) -> TransferError? {
        guard needsNetwork(origin) else { return nil }
        if let shortage = shortage(of: flight.task) {
            if case .notAllowed(let objection) = shortage {
                return TransferError(.noPermittedRoute, "only over what it may not use", reason: objection)
            }
            return TransferError(.noPermittedRoute, "over no network at all")
        }
        guard model.hosts[Int(origin.raw)].detours.contains(where: { $0.contains(now - beganAt) }) else { return nil }
        let reason: NetworkObjection? = flight.task.raw % 2 == 0 ? nil : .expensive
        return TransferError(.noPermittedRoute, "no permitted route leads there", reason: reason)
    }

    private func shortage(at place: Int) -> Shortage? {
        guard let flight = flights[place], let origin = flight.origin, needsNetwork(origin) else { return nil }
        return shortage(of: flight.task)
    }

    private func shortage(of task: TaskIndex) -> Shortage? {
        conditions?.shortage(of: plan.policies[plan.tasks[Int(task.raw)].policy].terms)
    }

    private func needsNetwork(_ origin: OriginID) -> Bool {
        conditions?.isDictated ?? false || !plan.localOrigins.contains(origin)
    }
}
