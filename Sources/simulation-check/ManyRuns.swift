import Simulation
import Synchronization
import SystemIO
import TestSupport
import TransferModel

/// Runs with the seeds from `first` on, over two threads.
final class ManyRuns: Sendable {
    private struct Tally {
        var attempts = 0
        var turns = 0
        /// Ends of processes with which another went on.
        var cuts = 0
        var simulated = TimeSpan.zero
        /// The sum of all runs' `TraceHash`es: two builds with equal digests decided the same for these seeds.
        var digest: UInt64 = 0
        /// Problems of the runs, with their seeds.
        var problems: [(seed: UInt64, what: [String])] = []
    }
    private let first: UInt64
    private let count: UInt64
    private let next = Atomic<UInt64>(0)
    private let tally = Mutex(Tally())
    private static let batch: UInt64 = 64
    private static let told = 5

    init(first: UInt64, count: UInt64) {
        self.first = first
        self.count = count
    }

    /// Whether every run kept every rule; what did not is printed with the seed that brings it back.
    func check() -> Bool {
        let start = Clocks.now().instant
        let other = try? Thread(named: "runs") { self.work() }
        work()
        other?.join()
        let seconds = (Clocks.now().instant - start).seconds
        return tally.withLock { tally in
            for (seed, what) in tally.problems.sorted(by: { $0.seed < $1.seed }).prefix(Self.told) {
                print("TRANSFER_RUN_SEED=\(seed) brings back a run that breaks its rules:")
                for sentence in what { print("    \(sentence)") }
            }
            print(
                "\(count) random jobs in random worlds, the first with seed \(first): \(tally.problems.count) broke a "
                    + "rule; \(tally.attempts) attempts in \(tally.turns) turns, \(tally.cuts) ends of processes, \(Int(tally.simulated.seconds)) s "
                    + "simulated in \(Int(seconds * 1000)) ms, digest \(String(tally.digest, radix: 16))")
            return tally.problems.isEmpty
        }
    }

    private func work() {
        var own = Tally()
        while true {
            let begin = next.add(Self.batch, ordering: .relaxed).oldValue
            guard begin < count else { break }
            for index in begin..<min(begin + Self.batch, count) { run(first &+ index, &own) }
        }
        tally.withLock { tally in
            tally.attempts += own.attempts
            tally.turns += own.turns
            tally.cuts += own.cuts
            tally.simulated += own.simulated
            tally.digest &+= own.digest
            tally.problems += own.problems
        }
    }

    private func run(_ seed: UInt64, _ tally: inout Tally) {
        let (problems, result) = RandomRun.check(seed: seed, rules: true)
        tally.attempts += result.attempts
        tally.turns += result.turns
        tally.simulated += result.duration
        tally.digest &+= result.trace.value
        if !problems.isEmpty { tally.problems.append((seed, problems)) }
        let interrupted = InterruptedRun.check(seed: seed)
        tally.cuts += interrupted.cuts
        tally.digest &+= interrupted.result.trace.value
        let found = interrupted.problems.map { "when its process ends: \($0)" }
        if !found.isEmpty { tally.problems.append((seed, found)) }
    }
}
