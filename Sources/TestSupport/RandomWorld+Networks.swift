internal import Scheduling
internal import Simulation
internal import TransferModel

extension RandomWorld {
    /// Adds networks that come and go, and tasks that depend on them. In the end there is a network that every task may
    /// use.
    mutating func addNetworks(_ random: inout Seeded) {
        setting.plan.putsOffWhatWaits = random.oneIn(8)
        guard random.oneIn(2) else { return }
        for index in setting.plan.policies.indices {
            setting.plan.policies[index].terms = NetworkTerms(
                allowsCellular: random.oneIn(2), allowsExpensive: random.oneIn(2), allowsConstrained: random.oneIn(2))
            setting.plan.policies[index].waitsForConnectivity = !random.oneIn(3)
            setting.plan.policies[index].isDiscretionary = random.oneIn(4)
        }
        for origin in model.hosts.indices where random.oneIn(6) {
            setting.plan.localOrigins.insert(OriginID(raw: UInt32(origin)))
        }
        let isDictated = random.oneIn(8)
        setting.plan.conditions = Self.conditions(&random, isDictated)
        addChanges(&random, isDictated)
    }

    private mutating func addChanges(_ random: inout Seeded, _ isDictated: Bool) {
        var after = TimeSpan.zero
        for _ in 0..<(1 + random.below(6)) {
            let began = after
            // Now and then two changes come together.
            if !random.oneIn(6) { after += .milliseconds(Int64(random.below(5_000))) }
            setting.commands.append((after, .conditions(Self.conditions(&random, isDictated))))
            // An attempt that finds no route must learn when there is one.
            if random.oneIn(3), began < after {
                model.hosts[random.below(model.hosts.count)].detours.append(WorldModel.Interval(from: began, to: after))
            }
            if random.oneIn(4) { model.handovers.append(after + .milliseconds(Int64(random.below(3_000)))) }
        }
        setting.commands.append((after + .milliseconds(Int64(1 + random.below(3_000))), .conditions(Self.plenty)))
        setting.commands.sort { $0.after < $1.after }
    }

    private static let plenty = Conditions(
        networks: [NetworkInterface(index: 9, name: "end0", networkClass: .wired, why: "the last")],
        power: PowerState(source: .mains))

    private static func conditions(_ random: inout Seeded, _ isDictated: Bool) -> Conditions {
        let networks = (0..<random.below(4)).map { index in
            NetworkInterface(
                index: UInt32(index + 1), name: "net\(index)", networkClass: random.pick(NetworkClass.allCases),
                isMetered: random.oneIn(3), isConstrained: random.oneIn(4), why: "by chance",
                isUsable: !random.oneIn(5))
        }
        let power = PowerState(
            source: random.pick([.mains, .battery, .unknown]), battery: Double(random.below(101)),
            isFalling: random.oneIn(2))
        return Conditions(networks: networks, power: power, isDictated: isDictated)
    }
}

extension SimulatedSetting {
    /// Whether a command other than a change of conditions comes during the run.
    var hasOrders: Bool {
        commands.contains { if case .conditions = $0.command { false } else { true } }
    }
}
