import Reporting
import TestSupport
import Testing
import TransferModel

@Suite struct ExitStatusTests {
    /// Every combination of facts, against the sentence of the contract: 2, 4, 5, a signal, 1, 75, 9, else 0.
    @Test func precedenceIsTheContracts() {
        for bits in 0..<512 {
            func bit(_ place: Int) -> Bool { bits >> place & 1 == 1 }
            var facts = ExitFacts()
            facts.isInputInvalid = bit(0)
            facts.hasRunnerFailed = bit(1)
            facts.isOverlapping = bit(2)
            facts.signal = bit(3) ? (bit(8) ? 15 : 2) : nil
            facts.hasFailure = bit(4)
            facts.hasDeferred = bit(5)
            facts.hasChange = bit(6)
            facts.reportsUnchanged = bit(7)
            let candidates: [(Bool, Int32)] = [
                (bit(0), 2), (bit(1), 4), (bit(2), 5), (bit(3), bit(8) ? 143 : 130), (bit(4), 1), (bit(5), 75),
                (bit(7) && !bit(6), 9), (true, 0),
            ]
            #expect(facts.status.code == candidates.first { $0.0 }?.1)
        }
    }

    @Test func outcomes() {
        #expect(ExitStatus.succeeded.outcome == .succeeded && ExitStatus.unchanged.outcome == .succeeded)
        #expect(ExitStatus.failed.outcome == .failed && ExitStatus.runnerFailed.outcome == .failed)
        #expect(ExitStatus.incomplete.outcome == .deferred && ExitStatus.signal(2).outcome == .cancelled)
    }

    private func status(
        _ outcome: TaskOutcome, tolerated: Bool = false, changed: Bool? = nil, type: TaskType = .download,
        error: TransferError? = nil
    ) -> Int32 {
        var facts = ExitFacts()
        facts.reportsUnchanged = true
        let record = TaskRecord(
            outcome: outcome, tolerated: tolerated, changed: changed, source: nil, waits: [], error: error, body: nil,
            lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
        facts.count(record, type: type)
        return facts.status.code
    }

    @Test func tasksBearOnIt() {
        #expect(status(.succeeded, changed: true) == 0)
        #expect(status(.succeeded, changed: false) == 9)
        #expect(status(.succeeded, type: .data) == 9)
        #expect(status(.succeeded, type: .upload) == 0)
        #expect(status(.failed) == 1 && status(.cancelled) == 1)
        #expect(status(.skipped, error: TransferError(.dependencyFailed, "`a` failed")) == 1)
        #expect(status(.skipped) == 9, "a `when` that is not met is no failure")
        #expect(status(.failed, tolerated: true) == 9)
        #expect(status(.deferred) == 75)
    }
}
