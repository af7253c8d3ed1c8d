import Scheduling
import TestSupport
import Testing
import TransferModel

/// What holds a task back beside needs and limits, and the ends of a run before its tasks.
struct HoldingTests {
    private let failed = Verdict(.failed(TransferError(.networkConnectionLost, "lost")))
    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }

    // MARK: earliestBegin

    @Test func aTaskBeginsNoSoonerThanItMay() {
        var stage = Stage(
            plan(4) {
                $0.policies[0].earliestBegin = .afterStart(.seconds(10))
                $0.policies[1].earliestBegin = .at(ManualClock().wall + .seconds(20))
                $0.policies[2].earliestBegin = .afterStart(.zero)
                $0.policies[3].earliestBegin = .afterStart(.seconds(5))
                $0.tasks[3].needs = needs(0)
            })
        #expect(stage.running == [2] && stage.told[0] == .earliestBegin)
        #expect(stage.turn(after: .seconds(10)) == [0])
        stage.end(0)
        #expect(stage.turn(after: .seconds(9)) == [3])
        #expect(stage.turn(after: .seconds(1)) == [1])
        stage.end(1)
        stage.turn()
        #expect(stage.wait(1, .earliestBegin) == .seconds(20))
        #expect(stage.wait(0, .earliestBegin) == .seconds(10))
    }

    @Test func datesFollowTheClockThatIsSet() {
        var stage = Stage(plan(1) { $0.policies[0].earliestBegin = .at(ManualClock().wall + .seconds(3_600)) })
        #expect(stage.scheduler.waitsForDate == true)
        stage.clock.setWall(stage.clock.wall + .seconds(-7_200))
        #expect(stage.turn(after: .seconds(3_600)) == [])
        stage.clock.setWall(stage.clock.wall + .seconds(7_200))
        #expect(stage.turn() == [0])
    }

    // MARK: How tasks stand

    @Test func queuedTask_standsWithTheLimitThatHoldsIt_orWithNone() {
        let run = Stage(plan(3, run: 1))
        #expect(run.scheduler.standing(of: index(1)) == .waiting(.runLimit))
        let session = Stage(plan(3, session: 1))
        #expect(session.scheduler.standing(of: index(1)) == .waiting(.sessionLimit))
        let perHost = Stage(plan(3, perHost: 1))
        #expect(perHost.scheduler.standing(of: index(1)) == .waiting(.hostLimit))
        // Nothing can be written down: no limit keeps it.
        var paused = Stage(plan(2) { $0.tasks[1].needs = needs(0) })
        paused.command(.pauseStarts(.unrecorded, true))
        paused.end(0)
        paused.turn()
        #expect(paused.scheduler.standing(of: index(1)) == .waiting(nil))
        paused.command(.pauseStarts(.unrecorded, false))
        paused.turn()
        #expect(paused.scheduler.standing(of: index(1)) == .running)
    }

    // MARK: Suspended

    @Test func aSuspendedTaskSendsNothingUntilItIsResumed() {
        var stage = Stage(plan(3, perHost: 1) { $0.policies[0].timeoutForResource = .seconds(30) })
        stage.turn(after: .seconds(5))
        #expect(stage.scheduler.command(.suspend([index(0), index(1)]), now: stage.clock.now) == [index(0), index(1)])
        #expect(stage.scheduler.command(.suspend([index(0)]), now: stage.clock.now) == [])
        stage.turn()
        #expect(stage.cancelled == [0])
        stage.endCancelled(0)
        #expect(stage.turn() == [2])
        stage.end(2)
        // Its time stands still: a day later it goes on, with a new attempt that is none of its tries.
        #expect(stage.turn(after: .seconds(86_400)) == [])
        #expect(stage.scheduler.command(.resume([index(0), index(2)]), now: stage.clock.now) == [index(0)])
        #expect(stage.turn() == [0])
        for _ in 0..<2 {
            stage.end(0, failed)
            stage.turn()
            stage.turn(after: stage.backoffs.last ?? .zero)
        }
        #expect(stage.running == [0])
        stage.end(0)
        stage.scheduler.command(.cancel([index(1)], keepPartial: false), now: stage.clock.now)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.ends[0]?.attempts == 4)
        #expect(stage.wait(0, .suspended) == .seconds(86_400))
        #expect(stage.ends[1]?.outcome == .cancelled && stage.scheduler.isFinished)
    }

    @Test func theResourceClockRunsOnAfterTheSuspension() {
        var stage = Stage(plan(1) { $0.policies[0].timeoutForResource = .seconds(30) })
        stage.turn(after: .seconds(20))
        stage.scheduler.command(.suspend([index(0)]), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(0)
        stage.turn(after: .seconds(100))
        stage.scheduler.command(.resume([index(0)]), now: stage.clock.now)
        stage.turn()
        stage.turn(after: .seconds(9))
        #expect(stage.cancelled == [0])
        stage.turn(after: .seconds(1))
        #expect(stage.cancelled == [0, 0])
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.ends[0]?.error?.name == .timedOut)
    }

    /// It ended in the same moment: that stands.
    @Test func suspendingWhatHasEndedChangesNothing() {
        var stage = Stage(plan(1))
        stage.scheduler.command(.suspend([index(0)]), now: stage.clock.now)
        stage.turn()
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded)
    }

    @Test func aTaskThatBacksOffCanBeSuspended() {
        var stage = Stage(plan(1))
        stage.end(0, failed)
        stage.turn(after: .milliseconds(400))
        stage.scheduler.command(.suspend([index(0)]), now: stage.clock.now)
        #expect(stage.turn(after: .seconds(60)) == [])
        stage.scheduler.command(.resume([index(0)]), now: stage.clock.now)
        #expect(stage.turn() == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.wait(0, .backoff) == .milliseconds(400) && stage.wait(0, .suspended) == .seconds(60))
    }

    @Test func whatOnlyTheFileSuspendsIsForTheNextRun() {
        var stage = Stage(
            plan(4) {
                $0.policies[0].isSuspended = true
                $0.tasks[1].needs = needs(0)
                $0.tasks[3].needs = needs(1, 2)
            })
        #expect(stage.running == [2] && stage.ends.isEmpty)
        stage.end(2)
        stage.turn(after: .seconds(1))
        for task in [0, 1, 3] {
            #expect(stage.ends[task]?.outcome == .deferred && stage.ends[task]?.deferral == .suspended)
        }
        #expect(stage.scheduler.isFinished == true)
    }

    /// Somebody may come and resume it.
    @Test func whoWaitsForThatPutsNothingOff() {
        var stage = Stage(
            plan(2) {
                $0.policies[0].isSuspended = true
                $0.waitsForResume = true
                $0.tasks[0].needs = needs(1)
            })
        stage.end(1)
        stage.turn(after: .seconds(86_400))
        #expect(stage.ends[0] == nil && !stage.scheduler.isFinished)
        stage.scheduler.command(.resume([index(0)]), now: stage.clock.now)
        #expect(stage.turn() == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.wait(0, .suspended) == .seconds(86_400))
    }

    /// Once, and before whatever has to come first: the end of an attempt, or that of another task.
    @Test func thatATaskIsSuspendedIsToldAtOnce() {
        var stage = Stage(plan(2) { $0.tasks[1].needs = needs(0) })
        #expect(stage.running == [0])
        stage.scheduler.command(.suspend([index(0), index(1)]), now: stage.clock.now)
        stage.turn()
        #expect(stage.tellings[0]?.last == .suspended && stage.tellings[1]?.last == .suspended)
        #expect(stage.scheduler.standing(of: index(1)) == .suspended)
        let told = (stage.tellings[0], stage.tellings[1])
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.tellings[0] == told.0 && stage.scheduler.standing(of: index(0)) == .suspended)
        stage.scheduler.command(.resume([index(0)]), now: stage.clock.now)
        stage.turn()
        stage.end(0)
        stage.turn()
        #expect(stage.tellings[1] == told.1 && stage.scheduler.standing(of: index(1)) == .suspended)
    }

    /// Its server may have heard it: it comes to its end, and only what follows is held back.
    @Test func whatMustNotBeSentTwiceIsNotInterrupted() {
        let unrepeatable: (inout SchedulingPlan) -> Void = { $0.unrepeatable = [TaskIndex(raw: 0)] }
        var stage = Stage(plan(2, unrepeatable))
        #expect(stage.command(.suspend([index(0), index(1)])) == [0, 1])
        stage.turn()
        #expect(stage.cancelled == [1] && stage.told == [0: .suspended, 1: .suspended])
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded)
        // Nothing was sent, so it may be tried again: when somebody resumes it.
        var unsent = Stage(plan(1, unrepeatable))
        unsent.command(.suspend([index(0)]))
        unsent.end(0, Verdict(.failed(TransferError(.cannotConnectToHost, "refused")), isIdempotent: false))
        unsent.turn()
        #expect(unsent.turn(after: .seconds(60)) == [] && unsent.scheduler.standing(of: index(0)) == .suspended)
        #expect(unsent.command(.resume([index(0)])) == [0])
        #expect(unsent.turn() == [0])
    }

    @Test func aWindowThatClosesInterruptsNothingThatMustNotBeSentTwice() {
        var stage = Stage(
            plan(2) {
                $0.sessions[0].window = window
                $0.unrepeatable = [TaskIndex(raw: 1)]
            })
        stage.turn(after: .seconds(10))
        #expect(stage.cancelled == [0])
        stage.end(1)
        stage.turn()
        #expect(stage.ends[1]?.outcome == .succeeded)
    }

    // MARK: Windows

    /// Open in the first ten seconds of each minute.
    private let window = WindowRule { date in
        let minute = date.nanoseconds / 60_000_000_000 * 60_000_000_000
        let isOpen = date.nanoseconds - minute < 10_000_000_000
        return WindowRule.State(
            isOpen: isOpen, changesAt: WallTime(nanoseconds: minute) + .seconds(isOpen ? 10 : 60))
    }

    @Test func tasksRunInTheirWindow() {
        var stage = Stage(
            plan(4, perHost: 1, sessions: 2) {
                $0.sessions[0].window = window
                $0.policies[0].timeoutForResource = .seconds(15)
            })
        #expect(stage.running == [0, 1])
        stage.turn(after: .seconds(10))
        // The other session has no window.
        #expect(stage.cancelled == [0] && stage.told[0] == .window)
        stage.endCancelled(0)
        stage.end(1)
        #expect(stage.turn() == [3])
        #expect(stage.turn(after: .seconds(49)) == [])
        // Either may go first: which has waited longer?
        let first = stage.turn(after: .seconds(1))
        #expect(first == [2] || first == [0])
        stage.end(first[0])
        let second = stage.turn(after: .seconds(1))
        stage.end(second[0])
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.wait(0, .window) == .seconds(50))
        #expect(stage.wait(2, .window) == .seconds(50))
    }

    @Test func aWindowFollowsTheClockThatIsSet() {
        var stage = Stage(plan(1) { $0.sessions[0].window = window })
        stage.clock.setWall(stage.clock.wall + .seconds(30))
        stage.turn()
        #expect(stage.cancelled == [0])
        stage.endCancelled(0)
        stage.turn()
        stage.clock.setWall(stage.clock.wall + .seconds(-30))
        #expect(stage.turn() == [0])
    }

    // MARK: Ends of the run

    @Test(arguments: [false, true]) func finishByPutsOffWhatIsLeft(cancels: Bool) {
        var stage = Stage(
            plan(4, perHost: 2) {
                $0.finishBy = .afterStart(.seconds(60))
                $0.sessions[0].cancelsOnInvalidation = cancels
                $0.tasks[3].needs = needs(0)
            })
        #expect(stage.running == [0, 1])
        stage.turn(after: .seconds(60))
        #expect(stage.cancelled == (cancels ? [0, 1] : []))
        if cancels {
            stage.endCancelled(0)
            stage.endCancelled(1)
        } else {
            stage.end(0)
            stage.end(1, failed)
        }
        #expect(stage.turn() == [])
        #expect(stage.ends[0]?.outcome == (cancels ? .deferred : .succeeded))
        // It would be tried again: by the next run.
        for task in 1..<4 {
            #expect(stage.ends[task]?.outcome == .deferred && stage.ends[task]?.deferral == .finishBy)
        }
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func finishByMayBeADate() {
        var stage = Stage(plan(2, perHost: 1) { $0.finishBy = .at(ManualClock().wall + .seconds(5)) })
        stage.turn(after: .seconds(5))
        #expect(stage.ends[1]?.outcome == .deferred)
    }

    @Test func theRunsTimeoutCancelsAll() {
        var stage = Stage(plan(2, perHost: 1) { $0.timeout = .seconds(5) })
        stage.turn(after: .seconds(5))
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.ends.values.allSatisfy { $0.outcome == .cancelled && $0.error?.name == .timedOut })
    }

    /// Whoever has sent the last byte that may move still hears what became of it; a next request is one too many.
    @Test(arguments: [false, true]) func whoWaitsForTheAnswerToTheLastByteHearsIt(goesElsewhere: Bool) {
        var stage = Stage(plan(3, perHost: 3) { $0.maximumBytes = 1_000 })
        stage.receive(.sentBody(index(0)))
        stage.receive(.moved(index(0), bytes: 1_000))
        stage.turn()
        #expect(stage.cancelled == [1, 2])
        stage.endCancelled(1)
        stage.endCancelled(2)
        if goesElsewhere {
            stage.receive(.needsGrant(index(0), host))
            stage.receive(.moved(index(0), bytes: 1))
            stage.turn()
            #expect(stage.cancelled == [1, 2, 0])
            stage.endCancelled(0)
        } else {
            stage.end(0)
        }
        stage.turn()
        #expect(stage.ends[0]?.outcome == (goesElsewhere ? .deferred : .succeeded))
        #expect(stage.ends[1]?.deferral == .maximumBytes && stage.scheduler.isFinished)
    }

    /// What an operator bounds is over for this run and the next: the rest is not put off, and the error names the rule.
    @Test(arguments: [false, true]) func anOperatorsBound_endsTheRest(byTime: Bool) {
        let error = TransferError(byTime ? .timedOut : .dataLengthExceedsMaximum, "the policy p.yaml:1 says so")
        var stage = Stage(
            plan(3, perHost: 1) {
                if byTime {
                    ($0.timeout, $0.timeIsOver) = (.seconds(5), error)
                } else {
                    ($0.maximumBytes, $0.bytesAreSpent) = (1_000, error)
                }
            })
        if byTime { stage.turn(after: .seconds(5)) } else { stage.receive(.moved(index(0), bytes: 1_000)) }
        stage.turn()
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.ends.count == 3)
        #expect(stage.ends.values.allSatisfy { $0.outcome == .cancelled && $0.error == error && $0.deferral == nil })
    }

    @Test func aBodyTooLongForAnOperatorsBound_isNotPutOff() {
        var stage = Stage(
            plan(1) {
                ($0.maximumBytes, $0.bytesAreSpent) = (1_000, TransferError(.dataLengthExceedsMaximum, "spent"))
            })
        var verdict = Verdict(.cancelled(TransferError(.cancelled, "the policy p.yaml:1 leaves 3 for it")))
        verdict.isForNextRun = true
        stage.end(0, verdict)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .cancelled && stage.ends[0]?.error?.message.contains("p.yaml:1") == true)
    }

    /// One body too long for what is left puts off its task and what needs that; the others go on.
    @Test func whatDoesNotFitIsPutOffAlone() {
        var stage = Stage(
            plan(3, perHost: 2) {
                $0.maximumBytes = 1_000
                $0.tasks[2].needs = needs(0)
            })
        var verdict = Verdict(.cancelled(TransferError(.cancelled, "it does not fit")))
        verdict.isForNextRun = true
        stage.end(0, verdict)
        stage.turn()
        #expect(stage.ends[0]?.deferral == .maximumBytes && stage.ends[0]?.outcome == .deferred)
        #expect(stage.ends[2]?.deferral == .maximumBytes && stage.ends[2]?.attempts == 0)
        stage.end(1)
        stage.turn()
        #expect(stage.ends[1]?.outcome == .succeeded && stage.scheduler.isFinished)
    }

    /// What is left is not asked for by all who would find it too little; who runs comes to the end.
    @Test func afterSomeAnswersThatDoNotFitTheRestIsPutOff() {
        var stage = Stage(plan(20, perHost: 2) { $0.maximumBytes = 1_000 })
        #expect(stage.running == [0, 1])
        var verdict = Verdict(.cancelled(TransferError(.cancelled, "it does not fit")), sentSomething: true)
        verdict.isForNextRun = true
        for task in 1...7 {
            stage.end(task, verdict)
            #expect(stage.turn() == [task + 1])
        }
        stage.end(8, verdict)
        #expect(stage.turn() == [] && stage.cancelled == [])
        #expect(stage.ends.count == 19 && stage.ends.values.allSatisfy { $0.deferral == .maximumBytes })
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.scheduler.isFinished)
    }

    @Test func maximumBytesStopsTheRun() {
        var stage = Stage(plan(3, perHost: 2) { $0.maximumBytes = 1_000 })
        stage.receive(.moved(index(0), bytes: 999))
        stage.turn()
        #expect(stage.cancelled.isEmpty)
        stage.receive(.moved(index(1), bytes: 1))
        stage.turn()
        #expect(stage.cancelled == [0, 1])
        stage.endCancelled(0)
        stage.end(1)
        stage.turn()
        #expect(stage.ends[0]?.deferral == .maximumBytes && stage.ends[1]?.outcome == .succeeded)
        #expect(stage.ends[2]?.outcome == .deferred)
    }

    @Test func noBytesAtAllStartNothing() {
        var stage = Stage(plan(3) { $0.maximumBytes = 0 })
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
        #expect(stage.ends.values.allSatisfy { $0.deferral == .maximumBytes && $0.attempts == 0 })
    }

    @Test func aCancelledTaskSkipsWhatNeedsIt() {
        var stage = Stage(plan(2) { $0.tasks[1].needs = needs(0) })
        stage.scheduler.command(.cancel([index(0)], keepPartial: true), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .cancelled && stage.ends[1]?.outcome == .skipped)
    }

    // MARK: Limits are told

    @Test func waitsForAPlaceAreToldWhenSomebodyListens() {
        let quiet = Stage(plan(3, perHost: 1))
        #expect(quiet.told.isEmpty)
        let host = Stage(plan(3, perHost: 1) { $0.tellsLimitWaits = true })
        #expect(host.told == [1: .hostLimit, 2: .hostLimit])
        let session = Stage(plan(3, session: 2) { $0.tellsLimitWaits = true })
        #expect(session.told == [2: .sessionLimit])
        let run = Stage(plan(3, run: 1) { $0.tellsLimitWaits = true })
        #expect(run.told == [1: .runLimit, 2: .runLimit])
    }

    @Test func sessionsAreServedAlike() {
        // One session has ten hosts, the other one: each gets half of the run's places.
        let stage = Stage(
            plan(200, perHost: 6, run: 12, sessions: 2) {
                for index in 0..<200 where index % 2 == 0 { $0.tasks[index].origin = OriginID(raw: UInt32(index % 20)) }
                for index in 0..<200 where index % 2 == 1 { $0.tasks[index].origin = OriginID(raw: 100) }
            })
        #expect(stage.running.count { $0 % 2 == 1 } == 6 && stage.running.count == 12)
    }

    /// Where nothing can be written down nothing begins, and what runs comes to its end.
    @Test func nothingBeginsForAWhile() {
        var stage = Stage(plan(3, run: 2))
        #expect(stage.running == [0, 1])
        stage.command(.pauseStarts(.unrecorded, true))
        stage.end(0)
        #expect(stage.turn() == [] && stage.ends[0]?.outcome == .succeeded)
        stage.command(.pauseStarts(.unrecorded, false))
        #expect(stage.turn() == [2])
    }
}
