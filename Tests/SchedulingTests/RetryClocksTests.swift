import Scheduling
import TestSupport
import Testing
import TransferModel

/// Since when a task fails: what it found itself, and what probes found for it.
struct RetryClocksTests {
    private let refused = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")))

    /// Two tasks at one host of one connection. The first fails until the host is parked, and probes it.
    private func stage() -> Stage {
        Stage(
            plan(2, perHost: 1) {
                for index in $0.policies.indices {
                    $0.policies[index].retry = RetryPolicy()
                    $0.policies[index].retry.jitter = .none
                }
            })
    }

    /// Lets every attempt be refused until `isOver`.
    private func refuse(_ stage: inout Stage, until isOver: (borrowing Stage) -> Bool) {
        var turns = 0
        while !isOver(stage), !stage.scheduler.isFinished, turns < 1_000 {
            turns += 1
            for task in stage.running { stage.end(task, refused) }
            guard stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) else { continue }
            stage.turn(after: due - stage.clock.instant)
        }
    }

    @Test func aFailedProbe_beginsTheClockOfWhatWaits() {
        var stage = stage()
        let begin = stage.clock.instant
        refuse(&stage) { $0.ends.count == 2 }
        // No host that never answers is asked for longer than a minute, on whose behalf it ever was.
        #expect(stage.ends[1]?.outcome == .failed)
        #expect((stage.clock.instant - begin) < .seconds(125))
    }

    /// The host answers once and fails again: what probes had found before does not count any more.
    @Test func onceTheHostAnswered_whatProbesFoundIsForgotten() {
        var stage = stage()
        refuse(&stage) { $0.backoffs.count >= 4 }
        while stage.running.isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
            stage.turn(after: due - stage.clock.instant)
        }
        for task in stage.running {
            stage.answer(task)
            stage.end(task)
        }
        stage.turn()
        let answeredAt = stage.clock.instant
        refuse(&stage) { $0.ends.count == 2 }
        let failed = stage.ends.values.filter { $0.outcome == .failed }
        #expect(failed.count == 1)
        // A host that answered in this run is tried for ten minutes after the first failure since.
        #expect((stage.clock.instant - answeredAt) >= .seconds(600))
    }

    @Test func ownFailures_countAlthoughTheHostAnswers() {
        var stage = Stage(
            plan(1) {
                $0.policies[0].retry = RetryPolicy()
                $0.policies[0].retry.jitter = .none
            })
        let busy = Verdict(
            .failed(TransferError(.unexpectedResponse, "it answered 503")), status: 503, sentSomething: true)
        while !stage.scheduler.isFinished {
            for task in stage.running {
                stage.answer(task, 503)
                stage.end(task, busy)
            }
            guard stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) else { continue }
            stage.turn(after: due - stage.clock.instant)
        }
        #expect(stage.ends[0]?.outcome == .failed)
        #expect(stage.ends[0]?.triedFor == .seconds(600))
    }
}
