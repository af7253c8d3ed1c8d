import Testing

/// What a round of kills found; the facts of many rounds add up.
protocol KillFacts: Sendable {
    init()
    mutating func add(_ other: Self)
}

enum KillRounds {
    /// Plays a round for each seed, three beside each other, since a round waits for a slow server most of the time.
    static func play<Facts: KillFacts>(
        _ seeds: [UInt64], _ round: @escaping @Sendable (_ number: Int, _ seed: UInt64) throws -> Facts
    ) async -> Facts {
        await withTaskGroup(of: Facts.self) { lanes in
            for lane in 0..<3 {
                lanes.addTask {
                    var facts = Facts()
                    for number in seeds.indices where number % 3 == lane {
                        do {
                            facts.add(try round(number, seeds[number]))
                        } catch {
                            Issue.record("round \(number): \(error)")
                        }
                    }
                    return facts
                }
            }
            return await lanes.reduce(into: Facts()) { $0.add($1) }
        }
    }
}
