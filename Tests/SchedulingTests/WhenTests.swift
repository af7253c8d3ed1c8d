import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks with a `when`: 0 and 1 are what the others need.
struct WhenTests {
    private static let broken = Verdict(.failed(TransferError(.unexpectedResponse, "404")), status: 404)

    /// Two plain tasks and one that needs both, with that `when`.
    private func plan(
        _ when: NeedsCondition, tasks: Int = 3, _ change: (inout SchedulingPlan) -> Void = { _ in }
    ) -> SchedulingPlan {
        SchedulingTests.plan(tasks) {
            $0.tasks[2].needs = needs(0, 1)
            $0.policies[2].when = when
            change(&$0)
        }
    }

    @Test func failed_whenAllSucceeded_isPassedOverWithoutAnError() {
        var stage = Stage(plan(.failed))
        stage.end(0)
        stage.end(1)
        #expect(stage.turn().isEmpty)
        #expect(stage.ends[2]?.outcome == .skipped)
        #expect(stage.ends[2]?.error == nil)
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func failed_whenOneFailed_waitsForTheOthersAndBegins() {
        var stage = Stage(plan(.failed))
        stage.end(0, Self.broken)
        #expect(stage.turn().isEmpty, "the other is still under way")
        stage.end(1)
        #expect(stage.turn() == [2])
    }

    @Test func finished_beginsWhateverBecameOfItsNeeds() {
        for verdict in [Verdict(.succeeded, status: 200), Self.broken] {
            var stage = Stage(plan(.finished))
            stage.end(0, verdict)
            #expect(stage.turn().isEmpty)
            stage.end(1)
            #expect(stage.turn() == [2])
        }
    }

    @Test func succeeded_whenOneFailed_isPassedOverAndNamesIt() {
        var stage = Stage(plan(.succeeded))
        stage.end(0, Self.broken)
        stage.turn()
        #expect(stage.ends[2]?.outcome == .skipped)
        #expect(stage.ends[2]?.error == nil)
        #expect(stage.ends[2]?.blame?.culprit.need == .task(TaskIndex(raw: 0)))
    }

    @Test func aToleratedFailure_isNoneForWhen() {
        var stage = Stage(plan(.failed) { $0.policies[0].allowFailure = .any })
        stage.end(0, Self.broken)
        stage.end(1)
        stage.turn()
        #expect(stage.ends[0]?.tolerated == true)
        #expect(stage.ends[2]?.outcome == .skipped)
    }

    @Test func whatNeedsATaskThatWasPassedOver_isPassedOverToo() {
        var stage = Stage(
            plan(.failed, tasks: 5) {
                $0.tasks[3].needs = needs(2)
                $0.tasks[4].needs = needs(3)
                $0.policies[4].when = .failed
            })
        stage.end(0)
        stage.end(1)
        stage.turn()
        for task in 2...4 {
            #expect(stage.ends[task]?.outcome == .skipped)
            #expect(stage.ends[task]?.error == nil, "task \(task)")
        }
    }

    @Test func ownFailure_countsLikeAnyOther() {
        var stage = Stage(plan(.finished, tasks: 4) { $0.tasks[3].needs = needs(2) })
        stage.end(0)
        stage.end(1)
        stage.turn()
        stage.end(2, Self.broken)
        stage.turn()
        #expect(stage.ends[2]?.outcome == .failed)
        #expect(stage.ends[3]?.error?.name == .dependencyFailed)
    }

    // MARK: A run that ends early

    @Test(arguments: [NeedsCondition.failed, .finished]) func failFast_cancelsTheRestAndRunsIt(_ when: NeedsCondition) {
        var stage = Stage(
            plan(when) {
                $0.failFast = true
                $0.sessions[0].cancelsOnInvalidation = true
            })
        stage.end(0, Self.broken)
        stage.turn()
        #expect(stage.cancelled == [1])
        #expect(stage.ends[2] == nil)
        stage.endCancelled(1)
        #expect(stage.turn() == [2], "it runs although the run has failed")
        stage.end(2)
        stage.turn()
        #expect(stage.ends[2]?.outcome == .succeeded)
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func failFast_triesItAgainAfterAFailure() {
        var stage = Stage(
            plan(.finished) {
                $0.failFast = true
                $0.policies[2].retry.attempts = 2
            })
        stage.end(0, Self.broken)
        stage.end(1)
        stage.turn()
        stage.end(2, Verdict(.failed(TransferError(.networkConnectionLost, "cut"))))
        stage.turn()
        #expect(stage.backoffs.count == 1)
        #expect(stage.turn(after: .seconds(60)) == [2])
    }

    @Test func failFast_cancelsAPlainTaskThatNeedsIt() {
        var stage = Stage(
            plan(.finished, tasks: 4) {
                $0.failFast = true
                $0.tasks[3].needs = needs(2)
            })
        stage.end(0, Self.broken)
        stage.turn()
        #expect(stage.ends[3]?.outcome == .cancelled)
    }

    @Test func aSignal_cancelsItWithTheRest() {
        var stage = Stage(plan(.finished))
        stage.command(.stop(signal: 15))
        stage.endCancelled(0)
        stage.endCancelled(1)
        stage.turn()
        #expect(stage.ends[2]?.outcome == .cancelled)
        #expect(stage.running.isEmpty)
    }

    @Test func theRunsTimeout_cancelsIt_alsoAfterFailFast() {
        var stage = Stage(
            plan(.finished) {
                $0.failFast = true
                $0.timeout = .seconds(10)
            })
        stage.end(0, Self.broken)
        stage.end(1)
        #expect(stage.turn() == [2])
        stage.turn(after: .seconds(11))
        #expect(stage.cancelled.contains(2))
    }

    @Test func finishBy_putsItOff() {
        var stage = Stage(plan(.finished) { $0.finishBy = .afterStart(.seconds(10)) })
        stage.turn(after: .seconds(11))
        #expect(stage.ends[2]?.deferral == .finishBy)
    }

    @Test func finishBy_afterFailFast_putsItOff() {
        var stage = Stage(
            plan(.finished) {
                $0.failFast = true
                $0.finishBy = .afterStart(.seconds(10))
            })
        stage.end(0, Self.broken)
        stage.turn()
        #expect(stage.ends[2] == nil, "what runs is let finish, and it waits for that")
        #expect(stage.scheduler.nextDeadline(now: stage.clock.now) != nil)
        stage.turn(after: .seconds(11))
        #expect(stage.ends[2]?.deferral == .finishBy)
    }

    @Test func whatItNeedsWasPutOff_soIsIt() {
        var stage = Stage(
            plan(.failed) {
                $0.putsOffWhatWaits = true
                $0.policies[0].earliestBegin = .afterStart(.seconds(100))
            })
        stage.end(1, Self.broken)
        stage.turn()
        #expect(stage.ends[2]?.outcome == .deferred)
        #expect(stage.ends[2]?.deferral == .earliestBegin)
    }

    // MARK: Groups and templates

    @Test func aGroupThatIsNotPublished_isAFailureForIt() {
        var stage = Stage(
            SchedulingTests.plan(3) {
                $0.groupCount = 1
                $0.tasks[0].group = GroupIndex(raw: 0)
                $0.tasks[1].group = GroupIndex(raw: 0)
                $0.tasks[2].neededGroups = [GroupIndex(raw: 0)]
                $0.policies[2].when = .failed
            })
        stage.end(0, Self.broken)
        stage.endCancelled(1)
        #expect(stage.turn() == [2])
    }

    @Test func tasksOfATemplate_countAmongItsNeeds() {
        var stage = Stage(
            SchedulingTests.plan(3) {
                $0.tasks[1].needs = needs(0)
                $0.templates = [TaskIndex(raw: 1)]
                $0.tasks[2].needs = needs(0, 1)
                $0.policies[2].when = .failed
            })
        stage.end(0)
        stage.turn()
        #expect(stage.expanding == [1])
        var added = AddedTasks()
        added.policies = [SchedulingPlan.TaskPolicy()]
        added.tasks = [
            SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: host, policy: 0, needs: needs(0, 1))
        ]
        added.needs = [TaskIndex(raw: 2): needs(3)]
        let isAdded = stage.scheduler.expanded(TaskIndex(raw: 1), added, now: stage.clock.now)
        #expect(isAdded)
        #expect(stage.turn() == [3])
        stage.end(3, Self.broken)
        #expect(stage.turn() == [2])
    }

    @Test func aTemplateWithWhen_becomesTasksThatJudgeTheSameNeeds() {
        var stage = Stage(
            SchedulingTests.plan(3) {
                $0.failFast = true
                $0.tasks[2].needs = needs(0, 1)
                $0.policies[2].when = .failed
                $0.templates = [TaskIndex(raw: 2)]
            })
        stage.end(0)
        stage.end(1, Self.broken)
        stage.turn()
        #expect(stage.expanding == [2])
        var added = AddedTasks()
        var policy = SchedulingPlan.TaskPolicy()
        policy.when = .failed
        added.policies = [policy]
        added.tasks = [
            SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: host, policy: 0, needs: needs(0, 1))
        ]
        let isAdded = stage.scheduler.expanded(TaskIndex(raw: 2), added, now: stage.clock.now)
        #expect(isAdded)
        #expect(stage.turn() == [3])
    }
}
