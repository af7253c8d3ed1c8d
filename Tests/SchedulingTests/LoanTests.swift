import Scheduling
import TestSupport
import Testing
import TransferModel

/// Slots beside an attempt's own: for further requests of a download in segments, as long as nobody else needs them.
struct LoanTests {
    @Test func whatIsFreeIsLent() {
        var stage = Stage(plan(1, perHost: 4))
        stage.answer(0)
        stage.couldUse(7, 0)
        stage.turn()
        #expect(stage.lent == [0, 0, 0], "its own slot and three more are the host's four")
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0))[0].peak == 4)
    }

    @Test func noMoreIsLentThanCouldBeUsed() {
        var stage = Stage(plan(1))
        stage.couldUse(2, 0)
        stage.turn()
        #expect(stage.lent == [0, 0])
        stage.giveBack(0)
        stage.turn()
        #expect(stage.lent.count == 3, "one that came back and is still wanted is lent again")
        stage.couldUse(1, 0)
        stage.giveBack(0)
        stage.turn()
        #expect(stage.lent.count == 3)
    }

    @Test func whoHasLeastIsLentFirst() {
        var stage = Stage(plan(2, perHost: 6))
        stage.couldUse(10, 0)
        stage.couldUse(10, 1)
        stage.turn()
        #expect(stage.lent == [0, 1, 0, 1])
    }

    @Test func aTaskGoesBeforeASegment() {
        var stage = Stage(plan(4, perHost: 3))
        #expect(stage.running == [0, 1, 2])
        stage.couldUse(5, 0)
        stage.turn()
        #expect(stage.lent.isEmpty, "no slot is free")
        stage.end(1)
        #expect(stage.turn() == [3] && stage.lent.isEmpty, "the one that is free is for the task that waits")
        stage.end(2)
        stage.turn()
        #expect(stage.lent == [0])
    }

    /// Tasks that come while slots are lent get them as soon as their transfers are stopped.
    @Test func whatATaskNeedsIsAskedBack() {
        var stage = Stage(
            plan(4, perHost: 4) { plan in
                for task in 1..<4 { plan.tasks[task].needs = needs(0) }
                plan.tasks[1].needs = []
                plan.policies[1].earliestBegin = .afterStart(.seconds(1))
                plan.tasks[3].needs = [TaskIndex(raw: 1)]
            })
        stage.answer(0)
        stage.couldUse(7, 0)
        stage.turn()
        #expect(stage.lent.count == 3)
        #expect(stage.turn(after: .seconds(1)).isEmpty)
        #expect(stage.recalled == [0], "one waits, one is asked back")
        stage.turn()
        #expect(stage.recalled == [0], "and only once")
        stage.giveBack(0)
        #expect(stage.turn() == [1])
        #expect(stage.lent.count == 3, "it is not lent again")
        stage.end(1)
        #expect(stage.turn() == [3], "what it made free is for the next task")
        stage.end(3)
        stage.turn()
        #expect(stage.lent.count == 4 && stage.recalled == [0])
    }

    @Test func aRedirectGoesBeforeASegment() {
        var stage = Stage(
            plan(2, perHost: 3, origins: 2) { $0.tasks[1].origin = OriginID(raw: 1) })
        stage.couldUse(2, 0)
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.receive(.released(TaskIndex(raw: 1), OriginID(raw: 1)))
        stage.receive(.needsGrant(TaskIndex(raw: 1), host))
        stage.turn()
        #expect(stage.granted.isEmpty && stage.recalled == [0])
        stage.giveBack(0)
        stage.turn()
        #expect(stage.granted == [1] && stage.lent.count == 2)
    }

    /// With one task at a time, those that wait for their turn leave the slots to it.
    @Test func aLimitOnTasksIsNoReasonToLeaveSlotsUnused() {
        var stage = Stage(plan(3, perHost: 4, run: 1))
        stage.couldUse(3, 0)
        stage.turn()
        #expect(stage.lent.count == 3 && stage.recalled.isEmpty)
        stage.couldUse(0, 0)
        for _ in 0..<3 { stage.giveBack(0) }
        stage.end(0)
        #expect(stage.turn() == [1])
    }

    @Test func limitsOverAllSessionsHold() {
        var stage = Stage(
            plan(2, perHost: 6, sessions: 2) { $0.policies[1].earliestBegin = .afterStart(.seconds(1)) },
            limits: [0: OriginLimits(maximumConnections: 3)])
        stage.couldUse(5, 0)
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.turn(after: .seconds(1))
        #expect(stage.recalled == [0], "the other session's task needs one")
        stage.giveBack(0)
        #expect(stage.turn() == [1])
        #expect(stage.lent.count == 2)
    }

    @Test func rateCountsFurtherRequestsToo() {
        var stage = Stage(plan(1) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 1, burst: 2) })
        stage.couldUse(3, 0)
        stage.turn()
        #expect(stage.lent.count == 1, "the burst is used up")
        stage.turn(after: .seconds(1))
        #expect(stage.lent.count == 2)
        stage.turn(after: .seconds(1))
        #expect(stage.lent.count == 3)
    }

    @Test func aQuotaIsSpentByFurtherRequestsToo() {
        var stage = Stage(plan(1))
        stage.answer(0, 200, RequestQuota(remaining: 2, resetsAfter: .seconds(5)))
        stage.couldUse(4, 0)
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.receive(.answered(TaskIndex(raw: 0), Answer(status: 206, isFurther: true)))
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.turn(after: .seconds(5))
        #expect(stage.lent.count == 4)
    }

    /// The first stream is over before the second is answered: what waits for its answer is counted once, and no more
    /// when that has come.
    @Test func anAnswerIsAwaitedUnderWhicheverSlot() {
        var stage = Stage(plan(1))
        stage.answer(0)
        stage.couldUse(1, 0)
        stage.turn()
        #expect(stage.lent.count == 1)
        stage.giveBack(0, wasAnswered: true)
        stage.receive(.answered(TaskIndex(raw: 0), Answer(status: 206, isFurther: true)))
        stage.answer(0, 206, RequestQuota(remaining: 1, resetsAfter: .seconds(60)))
        stage.turn()
        #expect(stage.lent.count == 2, "nothing is on the way that the server had not counted")
        stage.giveBack(0)
        stage.turn()
        #expect(stage.lent.count == 2, "the quota is spent")
    }

    /// One request too many parks the host like any other: nothing new goes there, what runs goes on.
    @Test func aHostThatTurnsOneAwayIsLeftAlone() {
        var stage = Stage(plan(2, perHost: 3) { $0.policies[1].earliestBegin = .afterStart(.seconds(1)) })
        stage.answer(0)
        stage.couldUse(2, 0)
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.receive(.answered(TaskIndex(raw: 0), Answer(status: 429, isFurther: true)))
        stage.receive(.turnedAway(TaskIndex(raw: 0), host, status: 429, retryAfter: .seconds(4)))
        stage.couldUse(1, 0)
        stage.giveBack(0)
        #expect(stage.turn(after: .seconds(2)).isEmpty)
        stage.giveBack(0)
        stage.turn()
        #expect(stage.lent.count == 2, "nothing is lent while the host is quiet")
        #expect(stage.turn(after: .seconds(2)) == [1], "and then a task is the first to ask")
        stage.turn()
        #expect(stage.lent.count == 2)
        stage.answer(1)
        stage.turn()
        #expect(stage.lent.count == 3)
    }

    /// A 503 to a further request that asks for nothing is one failure among others.
    @Test func aFailureOfOne_parksNoHost() {
        var stage = Stage(plan(2, perHost: 3) { $0.policies[1].earliestBegin = .afterStart(.seconds(1)) })
        stage.answer(0)
        stage.couldUse(1, 0)
        stage.turn()
        stage.receive(.answered(TaskIndex(raw: 0), Answer(status: 503, isFurther: true)))
        stage.receive(.turnedAway(TaskIndex(raw: 0), host, status: 503, retryAfter: nil))
        stage.giveBack(0)
        #expect(stage.turn(after: .seconds(1)) == [1])
    }

    @Test func theEndOfAnAttemptGivesAllBack() {
        var stage = Stage(plan(2, perHost: 2) { $0.tasks[1].needs = needs(0) })
        stage.couldUse(1, 0)
        stage.turn()
        #expect(stage.lent == [0])
        stage.end(0)
        #expect(stage.turn() == [1])
        stage.end(1)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func nothingIsLentOnceTheEndBegan() {
        var stage = Stage(plan(3, perHost: 4) { $0.failFast = true })
        stage.couldUse(3, 0)
        stage.end(1, Verdict(.failed(TransferError(.badURL, "x"))))
        stage.turn()
        #expect(stage.lent.isEmpty)
        stage = Stage(plan(1))
        stage.couldUse(3, 0)
        stage.scheduler.command(.suspend([TaskIndex(raw: 0)]), now: stage.clock.now)
        stage.turn()
        #expect(stage.cancelled == [0] && stage.lent.isEmpty)
    }

    /// Streams of one connection are slots like any other.
    @Test func sharedConnectionsLendStreams() {
        var stage = Stage(plan(1, perHost: 1, streams: 4))
        stage.receive(.protocolIs(host, .http2))
        stage.couldUse(8, 0)
        stage.turn()
        #expect(stage.lent.count == 3)
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0))[0].peak == 1)
    }
}
