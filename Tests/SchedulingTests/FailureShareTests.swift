import Scheduling
import TestSupport
import Testing
import TransferModel

/// `limits.stopWhen`: a run in which nearly everything fails is stopped.
@Suite struct FailureShareTests {
    private static let missing = Verdict(.failed(TransferError(.unexpectedResponse, "it answered 404")), status: 404)

    private static func stage(
        _ tasks: Int, _ percent: Double, _ atLeast: Int, _ change: (inout SchedulingPlan) -> Void = { _ in }
    ) -> Stage {
        Stage(
            plan(tasks, perHost: 1) {
                $0.stopWhen = RunLimits.StopRule(failedPercent: percent, atLeast: atLeast)
                change(&$0)
            })
    }

    /// Ends the tasks one after the other until the run is over; `fails` says which of them fail.
    private static func run(_ stage: inout Stage, fails: (Int) -> Bool) {
        while let task = stage.running.first {
            stage.answer(task, fails(task) ? 404 : 200)
            stage.end(task, fails(task) ? missing : Verdict(.succeeded, status: 200))
            stage.turn()
        }
    }

    private static func outcomes(_ stage: borrowing Stage) -> [TaskOutcome: Int] {
        stage.ends.values.reduce(into: [:]) { $0[$1.outcome, default: 0] += 1 }
    }

    @Test func theRest_isCancelledWhenTheShareIsReached() {
        var stage = Self.stage(100, 80, 20)
        Self.run(&stage) { $0 >= 4 }
        #expect(Self.outcomes(stage) == [.succeeded: 4, .failed: 16, .cancelled: 80])
        let message = "`limits.stopWhen` stopped the run when 16 of 20 tasks had failed"
        let cancelled = stage.ends.values.filter { $0.outcome == .cancelled }
        #expect(
            cancelled.allSatisfy { $0.error == TransferError(.cancelled, message) && $0.error?.isByStopWhen == true })
    }

    @Test func tooFew_doNotStopIt() {
        var stage = Self.stage(19, 80, 20)
        Self.run(&stage) { _ in true }
        #expect(Self.outcomes(stage) == [.failed: 19])
    }

    @Test func aSmallerShare_doesNotStopIt() {
        var stage = Self.stage(100, 80, 20)
        Self.run(&stage) { $0 % 4 != 0 }
        #expect(Self.outcomes(stage) == [.failed: 75, .succeeded: 25])
    }

    /// The share is of all that ended, also long after the first so many.
    @Test func aLateTrouble_stopsItToo() {
        var stage = Self.stage(100, 50, 10)
        Self.run(&stage) { $0 >= 20 }
        #expect(Self.outcomes(stage) == [.succeeded: 20, .failed: 20, .cancelled: 60])
    }

    @Test func toleratedFailures_areNoFailures() {
        var stage = Self.stage(40, 50, 5) {
            for index in 0..<30 { $0.policies[index].allowFailure = .any }
        }
        Self.run(&stage) { _ in true }
        #expect(Self.outcomes(stage) == [.failed: 40])
        #expect(stage.ends.values.count { $0.tolerated } == 30)
    }

    @Test func skippedTasks_countForNothing() {
        // One task fails and all that need it are skipped: one of one has failed, which is too few.
        var stage = Self.stage(30, 50, 2) {
            for index in 1..<29 { $0.tasks[index].needs = needs(0) }
        }
        Self.run(&stage) { $0 == 0 }
        #expect(Self.outcomes(stage) == [.failed: 1, .skipped: 28, .succeeded: 1])
    }

    @Test func whatRuns_isCancelledOnlyWhereItsSessionSaysSo() {
        for cancels in [false, true] {
            var stage = Stage(
                plan(10, perHost: 4) {
                    $0.stopWhen = RunLimits.StopRule(failedPercent: 100, atLeast: 1)
                    $0.sessions[0].cancelsOnInvalidation = cancels
                })
            stage.answer(0, 404)
            stage.end(0, Self.missing)
            stage.turn()
            #expect(stage.cancelled == (cancels ? [1, 2, 3] : []))
            #expect(stage.ends[9]?.error?.message == "`limits.stopWhen` stopped the run when the first task had failed")
        }
    }

    @Test func theRule_countsShares() {
        let rule = RunLimits.StopRule(failedPercent: 33.3, atLeast: 3)
        #expect(rule.isMet(failed: 1, ended: 3) && !rule.isMet(failed: 1, ended: 4) && !rule.isMet(failed: 2, ended: 2))
        #expect(!RunLimits.StopRule(failedPercent: 0.01, atLeast: 1).isMet(failed: 0, ended: 5))
    }
}
