package import TransferModel

extension RunChecker {
    /// Checks what only the whole run shows, after its last event. The run of a killed process has no end to check.
    package mutating func finish() {
        for index in tasks.indices {
            if tasks[index].createdAt == nil { report(.creation, index, "was never created") }
            if tasks[index].end == nil { report(.ending, index, "never finished") }
        }
        checkConcurrency(limit: facts.maximumConcurrentTasks, busy, "the run")
        for (number, session) in facts.sessions.enumerated() {
            guard let limit = session.maximumConcurrentTasks else { continue }
            let own = busy.filter { facts.tasks[$0.task].session == number }
            checkConcurrency(limit: limit, own, "session `\(session.name)`")
        }
        guard let runEnd else { return report(.ending, nil, "the run has no end") }
        checkSignal(runEnd.exitStatus)
        checkExit(runEnd.outcome, runEnd.exitStatus)
    }

    /// Counts how many attempts certainly ran at once.
    private mutating func checkConcurrency(limit: Int, _ intervals: [Busy], _ whose: String) {
        let begins = intervals.sorted { $0.from < $1.from }
        let ends = intervals.map(\.to).sorted()
        var ended = 0
        for (begun, interval) in begins.enumerated() {
            while ended < ends.count, ends[ended] < interval.from { ended += 1 }
            guard begun + 1 - ended > limit else { continue }
            let what = "is one of \(begun + 1 - ended) that run at once, \(whose) allows \(limit)"
            return report(.concurrency, interval.task, what, at: interval.from)
        }
    }

    /// Checks that no attempt started after a signal, which cancels everything at once.
    private mutating func checkSignal(_ status: Int) {
        guard status > 128, !facts.takesCommands else { return }
        let cancelled = tasks.filter { $0.end?.outcome == .cancelled && $0.end?.error == .cancelled }
        guard let first = cancelled.map(\.endedAt).min() else { return }
        for index in tasks.indices {
            guard let start = tasks[index].lastStart, start.sequence > first else { continue }
            report(.stopping, index, "starts after the run was stopped", at: start.sequence)
        }
    }

    private mutating func checkExit(_ outcome: RunOutcome, _ status: Int) {
        var exit = ExitFacts()
        exit.reportsUnchanged = facts.reportsUnchanged
        for end in tasks.compactMap(\.end) {
            switch end.outcome {
            case .succeeded: break
            case .failed, .cancelled, .skipped: if !end.tolerated, !end.isPassedOver { exit.hasFailure = true }
            case .deferred: exit.hasDeferred = true
            }
        }
        var allowed = [exit.status]
        if facts.reportsUnchanged, exit.status == .unchanged { allowed.append(.succeeded) }
        if facts.hasHook, !exit.hasFailure {
            exit.hasFailure = true
            allowed.append(exit.status)
        }
        // A signal that came after everything had ended leaves no other trace.
        for signal in [1, 2, 15] as [Int32] { allowed.append(.signal(signal)) }
        guard let known = allowed.first(where: { Int($0.code) == status }) else {
            return report(.exit, nil, "the run ended with \(status), right is \(exit.status.code)")
        }
        if known.outcome != outcome { report(.exit, nil, "the run \(outcome.rawValue) with status \(status)") }
    }
}

/// An event consumer that gives a checker every event of a run.
package final class CheckingConsumer: EventConsumer {
    /// The checker with all events so far.
    package private(set) var checker: RunChecker
    package init(_ facts: TraceFacts) { checker = RunChecker(facts) }

    /// Passes the events to the checker.
    package func consume(_ events: ArraySlice<Event>) {
        for event in events { checker.take(TraceStep(event)) }
    }

    /// Checks the end of the run and returns all violations.
    package func finish() -> [TraceViolation] {
        checker.finish()
        return checker.violations
    }
}
