import Scheduling
import TestSupport
import Testing
import TransferModel

/// Downloads that are published together or not at all.
struct GroupTests {
    private let group = GroupIndex(raw: 0)
    private let lost = Verdict(.failed(TransferError(.checksumMismatch, "wrong")))

    /// Three members; 3 needs one of them, 4 needs the group.
    private func stage(_ change: (inout SchedulingPlan) -> Void = { _ in }) -> Stage {
        Stage(
            plan(5) {
                $0.groupCount = 1
                for index in 0..<3 { $0.tasks[index].group = group }
                $0.tasks[3].needs = needs(0)
                $0.tasks[4].neededGroups = [group]
                change(&$0)
            })
    }

    @Test func nothingIsPublishedBeforeAllAreVerified() {
        var stage = stage()
        stage.end(0)
        stage.end(1)
        stage.turn(after: .seconds(2))
        #expect(stage.published.isEmpty && stage.ends.isEmpty && stage.running == [2])
        stage.end(2)
        #expect(stage.turn() == [] && stage.published == [0] && stage.ends.isEmpty)
        stage.clock.advance(.seconds(1))
        stage.receive(.published(group, nil))
        #expect(stage.turn().sorted() == [3, 4])
        #expect((0..<3).allSatisfy { stage.ends[$0]?.outcome == .succeeded })
        #expect(stage.ends[0]?.staged == .seconds(3) && stage.wait(0, .dependency) == .seconds(3))
    }

    /// The last one waits for nobody.
    @Test func aMemberThatIsVerifiedSaysWhatItWaitsFor() {
        var stage = stage { $0.tellsLimitWaits = true }
        let before = stage.tellings
        stage.end(0)
        stage.end(1)
        stage.turn()
        stage.end(2)
        stage.turn()
        #expect(before[0] == nil && stage.tellings[0] == [.dependency] && stage.tellings[1] == [.dependency])
        #expect(stage.tellings[2] == nil)
    }

    /// There is nothing of it to be published.
    @Test func aGroupWithoutMembersIsWaitedForByNobody() {
        var stage = Stage(
            plan(2) {
                $0.groupCount = 1
                $0.tasks[0].neededGroups = [group]
                $0.tasks[1].neededGroups = [group]
                $0.tasks[1].needs = needs(0)
            })
        #expect(stage.running == [0])
        stage.end(0)
        #expect(stage.turn() == [1])
    }

    @Test func aMemberThatFailsEndsTheOthers() {
        var stage = stage { $0.sessions[0].maximumConnectionsPerHost = 2 }
        #expect(stage.running == [0, 1])
        stage.end(0)
        stage.turn()
        stage.end(1, lost)
        #expect(stage.turn() == [])
        #expect(stage.discarded == [] && stage.cancelled == [2])
        stage.endCancelled(2)
        stage.turn()
        #expect(stage.discarded == [0])
        #expect(stage.ends[0]?.outcome == .cancelled && stage.ends[0]?.error?.name == .runCancelled)
        #expect(stage.ends[1]?.error?.name == .checksumMismatch && stage.ends[2]?.outcome == .cancelled)
        #expect(stage.ends[3]?.outcome == .skipped && stage.ends[4]?.outcome == .skipped)
        #expect(stage.scheduler.isFinished == true)
    }

    /// It was too late to stop it: its file is thrown away all the same, and only then the folder it was staged in.
    @Test func aMemberThatCannotBeStoppedIsNoSuccess() {
        var stage = stage()
        stage.end(0, lost)
        stage.turn()
        #expect(stage.cancelled == [1, 2])
        stage.end(1)
        stage.turn()
        #expect(stage.discarded == [] && stage.ends[1]?.outcome == .cancelled)
        stage.end(2)
        stage.turn()
        #expect(stage.discarded == [0] && stage.ends[2]?.outcome == .cancelled && stage.scheduler.isFinished)
    }

    @Test func aMemberThatMayFailIsLeftOut() {
        var stage = stage { $0.policies[1].allowFailure = .any }
        stage.end(1, lost)
        stage.end(0)
        stage.end(2)
        stage.turn()
        #expect(stage.published == [0] && stage.ends[1]?.tolerated == true)
    }

    @Test func aSwapThatFailsFailsItsMembers() {
        var stage = stage()
        for task in 0..<3 { stage.end(task) }
        stage.turn()
        stage.receive(.published(group, TransferError(.cannotMoveFile, "no")))
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.error?.name == .cannotMoveFile })
        #expect(stage.ends[4]?.outcome == .skipped && stage.scheduler.isFinished)
    }

    /// One that needs another member's file is let go when that is verified: published it will be only with it.
    @Test func membersThatNeedEachOther() {
        var stage = stage { $0.tasks[2].needs = needs(0, 1) }
        #expect(stage.running == [0, 1])
        stage.end(0)
        stage.end(1)
        #expect(stage.turn() == [2])
        stage.end(2)
        stage.turn()
        #expect(stage.published == [0])
    }

    @Test func aSignalLeavesTheOldFolder() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        stage.scheduler.command(.stop(signal: 15), now: stage.clock.now)
        stage.turn()
        for task in [1, 2] { stage.endCancelled(task) }
        stage.turn()
        #expect(stage.published.isEmpty && stage.discarded == [0] && stage.scheduler.isFinished)
        #expect(stage.ends[0]?.error?.message.contains("signal") == true)
    }

    /// It was told to end and was verified all the same, before another member ended.
    @Test func aSignalEndsWhoIsVerifiedTooLate() {
        var stage = stage()
        stage.scheduler.command(.stop(signal: 15), now: stage.clock.now)
        stage.turn()
        stage.end(0)
        stage.turn()
        for task in [1, 2] { stage.endCancelled(task) }
        stage.turn()
        #expect(stage.published.isEmpty && stage.discarded == [0] && stage.scheduler.isFinished)
        #expect(stage.ends[0]?.outcome == .cancelled && stage.ends[0]?.error?.message.contains("signal") == true)
    }

    @Test func whatIsBeingPublishedComesToItsEnd() {
        var stage = stage()
        for task in 0..<3 { stage.end(task) }
        stage.turn()
        stage.scheduler.command(.stop(signal: 15), now: stage.clock.now)
        stage.turn()
        #expect(stage.ends[0] == nil)
        stage.receive(.published(group, nil))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.scheduler.isFinished)
    }

    /// All three are verified, and the group waits to be put in place.
    private func publishing(_ change: (inout SchedulingPlan) -> Void = { _ in }) -> Stage {
        var stage = stage(change)
        for task in 0..<3 { stage.end(task) }
        stage.turn()
        return stage
    }

    /// Where somebody else publishes at the same place; `nil` where the step was being made.
    private let waited = TransferError(.cancelled, "another run is at it")

    @Test func whoWaitsForAnotherRunStopsWithItsOwn() {
        var stage = publishing()
        stage.command(.stop(signal: 2))
        stage.turn()
        #expect(stage.published == [0] && stage.givenUp == [0] && stage.discarded == [])
        #expect((0..<3).allSatisfy { stage.ends[$0] == nil }, "what is being done is done")
        stage.command(.stop(signal: 2))
        #expect(stage.turn() == [] && stage.givenUp == [0], "once is enough")
        stage.receive(.published(group, waited))
        stage.turn()
        let ends = (0..<3).map { stage.ends[$0] }
        #expect(ends.allSatisfy { $0?.outcome == .cancelled })
        #expect(ends.allSatisfy { $0?.error?.message == "the run was stopped by a signal" })
        #expect(stage.ends[4]?.outcome == .cancelled && stage.scheduler.isFinished)
    }

    @Test func whatWasPutInPlaceAllTheSameIsASuccess() {
        var stage = publishing()
        stage.command(.stop(signal: 2))
        stage.turn()
        stage.receive(.published(group, nil))
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.outcome == .succeeded } && stage.scheduler.isFinished)
    }

    @Test func whatFailedAllTheSameHasFailed() {
        var stage = publishing()
        stage.command(.stop(signal: 2))
        stage.turn()
        stage.receive(.published(group, TransferError(.groupChanged, "somebody was there")))
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.error?.name == .groupChanged } && stage.scheduler.isFinished)
    }

    @Test func aWaitForAnotherRunEndsWithTheRunsTime() {
        var stage = publishing { $0.timeout = .seconds(9) }
        stage.turn(after: .seconds(9))
        #expect(stage.givenUp == [0])
        stage.receive(.published(group, waited))
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.error?.name == .timedOut } && stage.scheduler.isFinished)
    }

    /// What runs may finish: so may a group that is being put in place.
    @Test func finishByLetsAGroupWait() {
        var stage = publishing { $0.finishBy = .afterStart(.seconds(9)) }
        stage.turn(after: .seconds(9))
        #expect(stage.givenUp == [])
        stage.receive(.published(group, nil))
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.outcome == .succeeded } && stage.scheduler.isFinished)
    }

    /// Whoever needs the group hears of it as of any other that was not published.
    @Test func oneCancelledMemberEndsTheWaitOfAll() {
        var stage = publishing()
        stage.turn()
        #expect(stage.command(.cancel([TaskIndex(raw: 1)], keepPartial: true)) == [1])
        stage.turn()
        #expect(stage.givenUp == [0])
        stage.receive(.published(group, waited))
        stage.turn()
        // It first: the others end because of it.
        #expect(stage.order.filter { $0 < 3 } == [1, 0, 2])
        #expect(stage.ends[1]?.error?.message == "the task was cancelled by a command")
        #expect(stage.ends[0]?.error?.name == .runCancelled && stage.ends[2]?.outcome == .cancelled)
        #expect(stage.ends[4]?.outcome == .skipped)
    }

    @Test func finishByPutsOffTheWholeGroup() {
        var stage = stage {
            $0.finishBy = .afterStart(.seconds(1))
            $0.sessions[0].maximumConnectionsPerHost = 1
        }
        stage.end(0)
        stage.turn(after: .seconds(1))
        stage.endCancelled(1)
        stage.turn()
        #expect((0..<3).allSatisfy { stage.ends[$0]?.outcome == .deferred })
        #expect(stage.discarded == [0] && stage.scheduler.isFinished)
    }
}
