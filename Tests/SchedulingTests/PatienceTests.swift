import Scheduling
import TestSupport
import Testing
import TransferModel

/// `retry.for`: for how long a task that fails is tried.
@Suite struct PatienceTests {
    private static let refused = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")))
    private static let start = ManualClock().instant

    private static func answered(_ status: Int, retryAfter: TimeSpan? = nil) -> Verdict {
        Verdict(
            .failed(TransferError(.unexpectedResponse, "it answered \(status)")), status: status,
            retryAfter: retryAfter,
            sentSomething: true)
    }

    /// A stage with the policy of a job file that says nothing of `retry`, but for the random part of the pauses.
    private static func stage(
        _ tasks: Int = 1, perHost: Int = 6, _ change: (inout SchedulingPlan) -> Void = { _ in }
    ) -> Stage {
        Stage(
            plan(tasks, perHost: perHost) {
                for index in $0.policies.indices {
                    $0.policies[index].retry = RetryPolicy()
                    $0.policies[index].retry.jitter = .none
                }
                change(&$0)
            })
    }

    /// Goes on to the end. `verdict` says what becomes of an attempt that begins so long after the run; `nil` is a
    /// success. Returns the seconds at which attempts began.
    @discardableResult
    private static func run(_ stage: inout Stage, _ verdict: (_ task: Int, _ seconds: Double) -> Verdict?) -> [Double] {
        var begun: [Double] = []
        while !stage.scheduler.isFinished, begun.count < 10_000 {
            let seconds = (stage.clock.instant - start).seconds
            for task in stage.running {
                begun.append(seconds)
                if let verdict = verdict(task, seconds) {
                    if let status = verdict.status { stage.answer(task, status) }
                    stage.end(task, verdict)
                } else {
                    stage.answer(task)
                    stage.end(task)
                }
            }
            if stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                stage.turn(after: due - stage.clock.instant)
            }
        }
        return begun
    }

    // MARK: The default

    @Test func aHostThatNeverAnswered_isTriedForOneMinute() {
        var stage = Self.stage()
        let begun = Self.run(&stage) { _, _ in Self.refused }
        #expect(begun == [0, 1, 3, 7, 15, 31, 60])
        let end = stage.ends[0]
        #expect(end?.outcome == .failed && end?.duration == .seconds(60) && end?.triedFor == .seconds(60))
        #expect(end?.error?.message.contains("never answered in this run") == true)
        #expect(stage.attemptEnds.allSatisfy { $0.until == Self.start + .seconds(60) })
    }

    @Test(arguments: [429, 500, 503]) func aHostThatAnswersBusy_isTriedForTenMinutes(_ status: Int) {
        var stage = Self.stage()
        let begun = Self.run(&stage) { _, _ in Self.answered(status) }
        #expect(begun.prefix(6) == [0, 1, 3, 7, 15, 31] && begun.last == 600)
        #expect(zip(begun, begun.dropFirst()).allSatisfy { $1 - $0 <= 30 })
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.error?.message == "it answered \(status)")
        #expect(stage.attemptEnds.allSatisfy { $0.until == Self.start + .seconds(600) })
    }

    @Test func aHostThatAnsweredInThisRun_isTriedForTenMinutesThoughItIsGone() {
        var stage = Self.stage(2, perHost: 1)
        let begun = Self.run(&stage) { task, _ in task == 0 ? nil : Self.refused }
        #expect(stage.ends[0]?.outcome == .succeeded && stage.ends[1]?.outcome == .failed)
        #expect(begun.last == 600)
    }

    @Test(arguments: [true, false]) func anOutageOfFiveMinutes_isSurvived(_ answers: Bool) {
        var stage = Self.stage(20)
        let gone = Verdict(.failed(TransferError(.networkConnectionLost, "reset")), sentSomething: true)
        Self.run(&stage) { task, seconds in
            if task < 3 { return nil }
            return seconds < 300 ? (answers ? Self.answered(503) : gone) : nil
        }
        #expect(stage.ends.count == 20 && stage.ends.values.allSatisfy { $0.outcome == .succeeded })
    }

    @Test func manyTasksOfADeadHost_endSoonAfterAMinute() {
        var stage = Self.stage(500)
        let begun = Self.run(&stage) { _, _ in Self.refused }
        #expect(begun.count < 40)
        #expect(stage.ends.values.allSatisfy { $0.outcome == .failed && $0.duration <= .seconds(66) })
        #expect(stage.ends.values.allSatisfy { $0.duration >= .seconds(60) })
    }

    /// One task after the other tries such a host; those whose time is over do not wait for their turn.
    @Test(arguments: [500, 503]) func manyTasksOfABusyHost_endSoonAfterTheirTime(_ status: Int) {
        var stage = Self.stage(40) {
            for index in $0.policies.indices { $0.policies[index].retry.writtenPatience = .seconds(20) }
        }
        Self.run(&stage) { _, _ in Self.answered(status) }
        #expect(stage.ends.count == 40)
        #expect(stage.ends.values.allSatisfy { $0.outcome == .failed && $0.triedFor ?? .forever <= .seconds(40) })
        #expect(stage.ends.values.allSatisfy { $0.error?.message == "it answered \(status)" })
    }

    // MARK: What is written

    @Test func attemptsAlone_boundNoTime() {
        var stage = Self.stage { $0.policies[0].retry.attempts = 8 }
        let begun = Self.run(&stage) { _, _ in Self.refused }
        #expect(begun == [0, 1, 3, 7, 15, 31, 61, 91] && stage.attemptEnds.allSatisfy { $0.until == nil })
    }

    @Test func ofBoth_whatComesFirstEndsIt() {
        var stage = Self.stage {
            $0.policies[0].retry.attempts = 3
            $0.policies[0].retry.writtenPatience = .seconds(120)
        }
        #expect(Self.run(&stage) { _, _ in Self.answered(500) } == [0, 1, 3])
        stage = Self.stage {
            $0.policies[0].retry.attempts = 9
            $0.policies[0].retry.writtenPatience = .seconds(10)
        }
        #expect(Self.run(&stage) { _, _ in Self.answered(500) } == [0, 1, 3, 7, 10])
    }

    @Test func noTimeAtAll_isOneAttempt() {
        var stage = Self.stage { $0.policies[0].retry.writtenPatience = .zero }
        #expect(Self.run(&stage) { _, _ in Self.answered(500) } == [0])
    }

    @Test func aLongerTime_doesNotHoldForAHostThatNeverAnswered() {
        var stage = Self.stage { $0.policies[0].retry.writtenPatience = .seconds(7_200) }
        #expect(Self.run(&stage) { _, _ in Self.refused }.last == 60)
    }

    // MARK: Retry-After

    @Test func aWaitWithinTheTime_isWaitedFor() {
        var stage = Self.stage()
        #expect(Self.run(&stage) { _, _ in Self.answered(429, retryAfter: .seconds(400)) } == [0, 400])
        let message = stage.ends[0]?.error?.message
        #expect(message == "it answered 429; it asks to wait 400 s, longer than `retry.for` leaves")
    }

    @Test func aWaitBeyondTheTime_failsAtOnce() {
        var stage = Self.stage { $0.policies[0].retry.writtenPatience = .seconds(30) }
        #expect(Self.run(&stage) { _, _ in Self.answered(503, retryAfter: .seconds(31)) } == [0])
        #expect(stage.ends[0]?.duration == .zero)
    }

    // MARK: The clock

    @Test func anAttemptThatBroughtMore_beginsTheTimeAnew() {
        var stage = Self.stage { $0.policies[0].retry.writtenPatience = .seconds(10) }
        var further = Verdict(.failed(TransferError(.networkConnectionLost, "cut")), status: 200, sentSomething: true)
        further.wentFurther = true
        let begun = Self.run(&stage) { _, seconds in seconds < 100 ? further : Self.answered(500) }
        #expect(stage.ends[0]?.outcome == .failed)
        // Ten seconds after the last attempt that brought something.
        let last = begun.last { $0 < 100 } ?? 0
        #expect(begun.last == last + 10 || begun.last == begun.first { $0 >= 100 })
        #expect(begun.count > 6)
    }

    @Test func inASuspension_theTimeStandsStill() {
        var stage = Self.stage { $0.policies[0].retry.writtenPatience = .seconds(10) }
        stage.answer(0, 500)
        stage.end(0, Self.answered(500))
        stage.turn(after: .milliseconds(500))
        stage.command(.suspend([TaskIndex(raw: 0)]))
        stage.turn(after: .seconds(3_600))
        stage.command(.resume([TaskIndex(raw: 0)]))
        stage.turn()
        let begun = Self.run(&stage) { _, _ in Self.answered(500) }
        // Half a second of the ten was over.
        #expect(begun.first == 3_600.5 && begun.last == 3_610)
    }

    @Test func anotherTasksProbe_countsFromWhenItFailed() {
        // The second task waits for a host that is parked; its first own failure comes much later.
        var stage = Self.stage(2, perHost: 1) { $0.policies[0].retry.attempts = 4 }
        let begun = Self.run(&stage) { _, _ in Self.refused }
        #expect(stage.ends[1]?.outcome == .failed && begun.last.map { $0 <= 75 } == true)
    }

    // MARK: Other bounds

    @Test func aBackgroundSession_isBoundedByItsTimeoutAlone() {
        var stage = Self.stage {
            $0.sessions[0].isPatient = true
            $0.policies[0].timeoutForResource = .seconds(7_200)
        }
        let begun = Self.run(&stage) { _, _ in Self.refused }
        #expect(begun.last.map { $0 > 7_100 } == true && stage.ends[0]?.error?.name == .timedOut)
        stage = Self.stage {
            $0.sessions[0].isPatient = true
            $0.policies[0].timeoutForResource = .seconds(7_200)
        }
        #expect(Self.run(&stage) { _, _ in Self.answered(503) }.last.map { $0 > 7_100 } == true)
    }

    /// A limit is no cause: what the attempts failed by comes first.
    @Test func theEndOfTimeoutForResource_namesWhatTheAttemptsFailedBy() {
        var stage = Self.stage { $0.policies[0].timeoutForResource = .seconds(4) }
        Self.run(&stage) { _, _ in Self.answered(503) }
        #expect(stage.ends[0]?.error?.name == .timedOut)
        #expect(
            stage.ends[0]?.error?.message == "it answered 503 three times; then `timeoutForResource` (4 s) was over")
        stage = Self.stage { $0.policies[0].timeoutForResource = .seconds(2) }
        Self.run(&stage) { _, seconds in seconds < 1 ? Self.refused : Self.answered(500) }
        #expect(stage.ends[0]?.error?.message == "it answered 500; then `timeoutForResource` (2 s) was over")
        stage = Self.stage { $0.policies[0].timeoutForResource = .seconds(2) }
        stage.turn(after: .seconds(2))
        stage.endCancelled(0)
        stage.turn()
        #expect(stage.ends[0]?.error?.message == "the task's `timeoutForResource` (2 s) is over")
    }

    @Test func theEndOfTheRun_namesItToo() {
        var stage = Self.stage(2, perHost: 1) {
            $0.timeout = .seconds(2)
            $0.policies[1].earliestBegin = .afterStart(.seconds(9))
        }
        Self.run(&stage) { _, _ in Self.answered(503) }
        #expect(stage.ends[0]?.outcome == .cancelled && stage.ends[0]?.error?.isByRunTimeout == true)
        #expect(stage.ends[0]?.error?.message == "it answered 503 twice; then `limits.timeout` was over")
        #expect(stage.ends[1]?.error == .runTimedOut)
    }

    @Test func aBackgroundSession_isBoundedByAWrittenTime() {
        var stage = Self.stage {
            $0.sessions[0].isPatient = true
            $0.policies[0].retry.writtenPatience = .seconds(1_200)
        }
        #expect(Self.run(&stage) { _, _ in Self.refused }.last == 1_200)
    }

    @Test func severalPlaces_areTriedInRoundsForTheTime() {
        var stage = Self.stage {
            $0.mirrors[TaskIndex(raw: 0)] = [OriginID(raw: 0), OriginID(raw: 1)]
        }
        // A round takes no time; after each comes a pause.
        let begun = Self.run(&stage) { _, _ in Self.answered(500) }
        #expect(begun.prefix(6) == [0, 0, 1, 1, 3, 3] && begun.suffix(2) == [600, 600])
        #expect(stage.ends[0]?.error?.message.contains("all 2 `urls` failed") == true)
        stage = Self.stage {
            $0.mirrors[TaskIndex(raw: 0)] = [OriginID(raw: 0), OriginID(raw: 1)]
        }
        let dead = Self.run(&stage) { _, _ in Self.refused }
        #expect(dead.last.map { $0 >= 60 && $0 <= 90 } == true)
    }

    @Test func aPlaceThatWantsToBeLeftAloneTooLong_countsAsLost() {
        var stage = Self.stage {
            $0.mirrors[TaskIndex(raw: 0)] = [OriginID(raw: 0), OriginID(raw: 1)]
            $0.policies[0].retry.writtenPatience = .seconds(20)
        }
        let begun = Self.run(&stage) { _, _ in Self.answered(503, retryAfter: .seconds(21)) }
        #expect(begun == [0, 0])
        #expect(stage.ends[0]?.error?.message.contains("longer than `retry.for`") == true)
    }
}
