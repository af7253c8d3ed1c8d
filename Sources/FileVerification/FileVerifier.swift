import Glibc
import Synchronization
import SystemIO

/// Compares files with what is written of them, on several threads, and reports what differs in the order of the list.
package struct FileVerifier {
    private let threads: Int
    private let record: VerifiedFiles?

    /// Most files under way: a list of any length stays in bounded memory.
    private static let window = 16_384

    /// `threads` is the number of files that are read at a time; `nil` is one for each processor.
    package init(threads: Int? = nil, record: VerifiedFiles? = nil) {
        self.threads = max(1, threads ?? Processors.count)
        self.record = record
    }

    /// Verifies all that `next` returns until it returns `nil`. `found` gets each difference, in order; `tick` is
    /// called now and then with the counts so far. Both run on the calling thread.
    package func verify<Failure: Error>(
        next: () throws(Failure) -> ExpectedFile?, found: (Difference) -> Void,
        tick: (VerificationCounts) -> Void = { _ in }
    ) throws(Failure) -> VerificationCounts {
        let line = Line()
        let workers = startWorkers(line)
        defer {
            line.end(workers.count)
            for worker in workers { worker.join() }
        }
        var order = Ordered()
        while let file = try next() {
            line.put(order.taken, file)
            order.taken += 1
            // Where no thread could be made, the calling thread reads.
            if workers.isEmpty { line.work(FileReader(record: record), whileThereIsWork: true) }
            while order.isOpen(Self.window) { settle(line, &order, found, tick) }
            if order.taken & 0xFF == 0 {
                order.add(line.outcomes(), found)
                tick(order.counts)
            }
        }
        while order.isOpen(0) { settle(line, &order, found, tick) }
        return order.counts
    }

    /// Waits for an outcome or a fifth of a second, takes the outcomes that have come, and records what was found
    /// right.
    private func settle(
        _ line: Line, _ order: inout Ordered, _ found: (Difference) -> Void, _ tick: (VerificationCounts) -> Void
    ) {
        line.waitForOutcome(nanoseconds: 200_000_000)
        order.add(line.outcomes(), found)
        record?.flushIfDue()
        tick(order.counts)
    }

    private func startWorkers(_ line: Line) -> [Thread] {
        (0..<threads).compactMap { [record] _ in
            try? Thread(named: "verify") { line.work(FileReader(record: record), whileThereIsWork: false) }
        }
    }
}

/// Counts the processors of this machine.
private enum Processors {
    static var count: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
}

/// Puts outcomes back into the order of the list.
private struct Ordered {
    var taken = 0
    private(set) var counts = VerificationCounts()
    private var done = 0
    private var waiting: [Int: FileOutcome] = [:]

    /// Whether more than `window` files have no outcome yet that is next in order.
    func isOpen(_ window: Int) -> Bool { taken - done > window }

    mutating func add(_ outcomes: [(Int, FileOutcome)], _ found: (Difference) -> Void) {
        for (number, outcome) in outcomes { waiting[number] = outcome }
        while let outcome = waiting.removeValue(forKey: done) {
            done += 1
            counts.count(outcome)
            if case .differs(let difference, _) = outcome { found(difference) }
        }
    }
}

/// Files that wait for a thread, and outcomes that wait for the caller.
private final class Line: Sendable {
    private struct State {
        var files: [(Int, ExpectedFile)] = []
        var first = 0
        var outcomes: [(Int, FileOutcome)] = []
        var hasEnded = false
    }
    private let state = Mutex(State())
    private let work = WakeSignal()
    private let outcome = WakeSignal()

    func put(_ number: Int, _ file: ExpectedFile) {
        state.withLock { $0.files.append((number, file)) }
        work.signal()
    }

    func end(_ workers: Int) {
        state.withLock { state in
            state.hasEnded = true
            state.files.removeAll()
            state.first = 0
        }
        for _ in 0..<workers { work.signal() }
    }

    func waitForOutcome(nanoseconds: Int64) { _ = outcome.wait(nanoseconds: nanoseconds) }

    func outcomes() -> [(Int, FileOutcome)] {
        state.withLock { state in
            let all = state.outcomes
            state.outcomes.removeAll(keepingCapacity: true)
            return all
        }
    }

    /// Reads files until the end, or as long as some wait.
    func work(_ reader: FileReader, whileThereIsWork isOnce: Bool) {
        while true {
            if !isOnce { work.wait() }
            guard let (number, file) = nextFile() else {
                if isOnce || state.withLock({ $0.hasEnded }) { return }
                continue
            }
            let result = reader.outcome(of: file)
            state.withLock { $0.outcomes.append((number, result)) }
            outcome.signal()
        }
    }

    private func nextFile() -> (Int, ExpectedFile)? {
        state.withLock { state in
            guard state.first < state.files.count else { return nil }
            let next = state.files[state.first]
            state.first += 1
            if state.first >= 1024 {
                state.files.removeFirst(state.first)
                state.first = 0
            }
            return next
        }
    }
}
