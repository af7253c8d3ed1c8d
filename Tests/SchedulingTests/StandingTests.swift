import Scheduling
import TestSupport
import Testing
import TransferModel

/// What is told of a task that waits: for what, for how long still, and what it failed by.
struct StandingTests {
    private let first = TaskIndex(raw: 0)
    private let second = TaskIndex(raw: 1)
    private let refused = TransferError(.cannotConnectToHost, "127.0.0.1 port 18499 refused the connection")

    // MARK: What cannot be written down

    @Test func attemptWhoseBeginningCannotBeRecorded_waits() {
        var stage = Stage(plan(1) { $0.unrepeatable = [first] })
        stage.turn(after: .seconds(2))
        stage.receive(.awaitsRecord(first))
        #expect(stage.scheduler.standing(of: first) == .running, "that takes a moment")
        stage.command(.pauseStarts(.unrecorded, true))
        #expect(stage.scheduler.standing(of: first) == .waiting(.flush))
        stage.turn(after: .seconds(10))
        stage.command(.pauseStarts(.unrecorded, false))
        stage.receive(.isRecorded(first))
        #expect(stage.scheduler.standing(of: first) == .running)
        stage.turn(after: .seconds(3))
        stage.end(0)
        stage.turn()
        #expect(stage.wait(0, .flush) == .seconds(10) && stage.ends[0]?.held == .seconds(10))
        #expect(stage.ends[0]?.duration == .seconds(15))
    }

    @Test func attemptThatIsCancelledMeanwhile_hasWaited() {
        var stage = Stage(plan(1) { $0.unrepeatable = [first] })
        stage.receive(.awaitsRecord(first))
        stage.command(.pauseStarts(.unrecorded, true))
        stage.command(.cancel([first], keepPartial: false))
        stage.turn(after: .seconds(4))
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .cancelled && stage.wait(0, .flush) == .seconds(4))
    }

    // MARK: The next attempt

    @Test func taskThatIsTriedAgain_saysWhenAndWhy() throws {
        var stage = Stage(plan(1))
        #expect(stage.scheduler.nextAttempt(of: first) == nil && stage.scheduler.lastFailure(of: first) == nil)
        stage.end(0, Verdict(.failed(refused)))
        stage.turn()
        let pause = try #require(stage.backoffs.first)
        #expect(stage.scheduler.nextAttempt(of: first) == stage.clock.instant + pause)
        #expect(stage.scheduler.lastFailure(of: first) == refused)
        #expect(stage.turn(after: pause) == [0])
        #expect(stage.scheduler.nextAttempt(of: first) == nil, "it is under way")
        #expect(stage.scheduler.lastFailure(of: first) == refused)
    }

    /// One that was never tried says what another met at its host.
    @Test func taskThatWaitsForAParkedHost_saysUntilWhen() {
        var stage = Stage(plan(2, perHost: 1))
        let busy = TransferError(.unexpectedResponse, "the server answered 429")
        stage.end(0, Verdict(.failed(busy), status: 429, retryAfter: .seconds(40)))
        stage.turn()
        #expect(stage.scheduler.standing(of: first) == .waiting(.retryAfter))
        #expect(stage.scheduler.standing(of: second) == .waiting(.hostParked))
        for task in [first, second] {
            #expect(stage.scheduler.nextAttempt(of: task) == stage.clock.instant + .seconds(40))
        }
        #expect(stage.scheduler.lastFailure(of: first) == busy)
        #expect(stage.scheduler.lastFailure(of: second) == busy.foundByAnotherTask)
    }
}
