import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks with several `urls`: the order of the places, rounds, and what a task fails with.
struct MirrorTests {
    private let refused = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")))
    private let wrong = Verdict(
        .failed(TransferError(.checksumMismatch, "wrong bytes")), status: 200, sentSomething: true)

    private func answered(_ status: Int, retryAfter: TimeSpan? = nil, isIdempotent: Bool = true) -> Verdict {
        Verdict(
            .failed(TransferError(.unexpectedResponse, "the server answered \(status)")), status: status,
            retryAfter: retryAfter, sentSomething: true, isIdempotent: isIdempotent)
    }

    /// Tasks that all have the same places, one for each number.
    private func mirrored(
        _ tasks: Int = 1, at places: [Int?] = [0, 1, 2], perHost: Int = 6,
        _ change: (inout SchedulingPlan) -> Void = { _ in }
    ) -> Stage {
        var mirrored = plan(tasks, perHost: perHost)
        for index in 0..<tasks {
            let origins = places.map { place in place.map { OriginID(raw: UInt32($0)) } }
            mirrored.tasks[index].origin = origins[0]
            mirrored.mirrors[TaskIndex(raw: UInt32(index))] = origins
        }
        change(&mirrored)
        return Stage(mirrored)
    }

    // MARK: Rounds

    @Test func aFailureGoesToTheNextAtOnce() {
        var stage = mirrored()
        #expect(stage.mirrors == [0])
        stage.end(0, answered(404))
        #expect(stage.turn() == [0])
        stage.end(0, refused)
        #expect(stage.turn() == [0])
        #expect(stage.mirrors == [0, 1, 2])
        #expect(stage.backoffs.isEmpty && stage.attemptEnds.map(\.outcome) == [.failed, .failed])
        stage.end(0)
        stage.turn()
        let end = stage.ends[0]
        #expect(end?.outcome == .succeeded && end?.attempts == 3 && end?.waits == [])
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0)).map(\.tasks) == [1, 1, 1])
    }

    /// What one place holds of a POST is gone on with there: at another it would be sent a second time.
    @Test func whatMayBeSentOnlyOnceStaysWhereItIs() {
        var stage = mirrored()
        var cut = answered(500)
        cut.mayOnlyGoOn = true
        stage.end(0, cut)
        #expect(stage.turn() == [])
        #expect(stage.backoffs == [.seconds(1)])
        #expect(stage.turn(after: .seconds(1)) == [0])
        stage.end(0, cut)
        stage.turn()
        #expect(stage.turn(after: .seconds(2)) == [0])
        #expect(stage.mirrors == [0, 0, 0])
        // It is lost there, and may have been done all the same.
        stage.end(0, answered(404, isIdempotent: false))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.mirrors == [0, 0, 0])
    }

    /// Where no network leads there any more it waits for one, as a task with one place does.
    @Test func whatStaysWaitsForANetwork() {
        var stage = mirrored {
            $0.mind(.wired, terms: NetworkTerms(allowsCellular: false))
            $0.policies[0].retry.attempts = 1
        }
        var verdict = Verdict.noRoute()
        verdict.mayOnlyGoOn = true
        stage.end(0, verdict)
        #expect(stage.turn() == [] && stage.told[0] == .network && stage.ends[0] == nil)
        stage.change(.metered)
        #expect(stage.turn() == [0] && stage.mirrors == [0, 0])
    }

    /// Three attempts are three rounds over two places, and a pause comes after each round but the last.
    @Test func attemptsCountRounds() {
        var stage = mirrored(at: [0, 1])
        for round in 1...3 {
            stage.end(0, refused)
            #expect(stage.turn() == [0])
            stage.end(0, answered(500))
            #expect(stage.turn() == [])
            guard round < 3 else { break }
            #expect(stage.backoffs.last == .seconds(Int64(round)) && stage.told[0] == .backoff)
            #expect(stage.turn(after: .milliseconds(Int64(round) * 1_000 - 1)) == [])
            #expect(stage.turn(after: .milliseconds(1)) == [0])
        }
        #expect(stage.mirrors == [0, 1, 0, 1, 0, 1] && stage.backoffs.count == 2)
        let end = stage.ends[0]
        #expect(end?.outcome == .failed && end?.attempts == 6)
        #expect(end?.waits == [TaskRecord.Wait(reason: .backoff, duration: .seconds(3))])
    }

    /// Going back and forth between hosts that are quiet, a task neither waits twice in one queue nor is tried for
    /// nothing, and the run comes to its end.
    @Test(.timeLimit(.minutes(1))) func aTaskThatMovesBetweenDeadPlaces_waitsOnceAtEach() {
        var stage = mirrored(5, at: [0, 1], perHost: 1) {
            for index in $0.policies.indices {
                $0.policies[index].retry = RetryPolicy()
                $0.policies[index].retry.jitter = .none
            }
        }
        let begin = stage.clock.instant
        var attempts = 0
        while !stage.scheduler.isFinished, attempts < 1_000 {
            for task in stage.running {
                attempts += 1
                // Both hosts answer first, so that they are tried for ten minutes.
                if attempts <= 2 {
                    stage.answer(task, 500)
                    stage.end(task, answered(500))
                } else {
                    stage.end(task, refused)
                }
            }
            guard stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) else { continue }
            stage.turn(after: due - stage.clock.instant)
        }
        #expect(stage.ends.count == 5 && stage.ends.values.allSatisfy { $0.outcome == .failed })
        #expect(attempts < 300)
        #expect((stage.clock.instant - begin) >= .seconds(590))
    }

    @Test func whatCannotHealAnywhereFailsAfterOneRound() {
        var stage = mirrored()
        for verdict in [answered(404), wrong, answered(410)] {
            stage.end(0, verdict)
            stage.turn()
        }
        let end = stage.ends[0]
        #expect(stage.backoffs.isEmpty && end?.attempts == 3)
        // None could heal: the first counts, for that place was preferred.
        #expect(
            end?.error?.message
                == "the server answered 404; all 3 `urls` failed, one of them with a wrong file: wrong bytes")
    }

    /// One that may heal is worth another round over all; the task fails with the last such.
    @Test func theLastThatCouldHealIsTold() {
        var stage = mirrored { $0.policies[0].retry.attempts = 2 }
        for _ in 0..<2 {
            for verdict in [refused, answered(503), answered(404)] {
                stage.end(0, verdict)
                stage.turn()
            }
            stage.turn(after: .seconds(1))
        }
        let end = stage.ends[0]
        #expect(end?.attempts == 6 && stage.backoffs.count == 1)
        #expect(end?.error?.message == "the server answered 503; all 3 `urls` failed")
    }

    /// It was fetched whole to find that out, and the others' turn comes without it.
    @Test func aWrongFileIsFetchedOnceOnly() {
        var stage = mirrored { $0.policies[0].retry.attempts = 3 }
        for verdict in [wrong, refused, answered(503), refused, answered(503), refused, answered(503)] {
            stage.end(0, verdict)
            if stage.turn().isEmpty { stage.turn(after: .seconds(2)) }
        }
        #expect(stage.mirrors == [0, 1, 2, 1, 2, 1, 2])
        let end = stage.ends[0]
        #expect(end?.outcome == .failed && stage.backoffs.count == 2)
        #expect(
            end?.error?.message
                == "the server answered 503; all 3 `urls` failed, one of them with a wrong file: wrong bytes")
    }

    /// What was gone on with and is wrong may be right when it is fetched whole.
    @Test func aFileThatWasWrongInPartIsFetchedAgain() {
        var stage = mirrored(at: [0, 1]) { $0.policies[0].retry.attempts = 3 }
        var kept = wrong
        kept.mayBeIncomplete = true
        for verdict in [wrong, kept, kept, kept] {
            stage.end(0, verdict)
            if stage.turn().isEmpty { stage.turn(after: .seconds(3)) }
        }
        #expect(stage.mirrors == [0, 1, 1, 1] && stage.backoffs.count == 2)
        #expect(stage.ends[0]?.outcome == .failed)
    }

    @Test func toleranceGoesByTheErrorThatIsTold() {
        func tolerated(_ verdicts: [Verdict]) -> Bool? {
            var stage = mirrored(at: [0, 1]) {
                $0.policies[0].allowFailure = .statuses(StatusSet(404))
                $0.policies[0].retry.attempts = 1
            }
            for verdict in verdicts {
                stage.end(0, verdict)
                stage.turn()
            }
            return stage.ends[0]?.tolerated
        }
        #expect(tolerated([answered(404), answered(410)]) == true)
        #expect(tolerated([answered(410), answered(404)]) == false)
        #expect(tolerated([answered(404), refused]) == false)
    }

    // MARK: What no other place helps against

    @Test(arguments: [
        ErrorName.notEnoughDiskSpace, .destinationExists, .cannotWriteToFile, .secretBarred, .cannotOpenFile,
    ])
    func troubleOfThisMachineFailsAtOnce(_ name: ErrorName) {
        var stage = mirrored()
        stage.end(0, Verdict(.failed(TransferError(name, "no")), status: 200, sentSomething: true))
        stage.turn()
        #expect(stage.ends[0]?.error == TransferError(name, "no") && stage.ends[0]?.attempts == 1)
    }

    @Test func aFileThatIsNotThereIsLookedForElsewhere() {
        var stage = mirrored(at: [nil, 0])
        stage.end(0, Verdict(.failed(TransferError(.fileDoesNotExist, "no"))))
        #expect(stage.turn() == [0] && stage.mirrors == [0, 1])
        stage.end(0, Verdict(.failed(TransferError(.fileDoesNotExist, "the body's file"))))
        stage.turn()
        #expect(stage.ends[0]?.error?.message == "the body's file")
    }

    @Test func cancellingEndsTheTaskAtAnyPlace() {
        var stage = mirrored()
        stage.end(0, refused)
        stage.turn()
        stage.scheduler.command(.cancel([TaskIndex(raw: 0)], keepPartial: true), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(0)
        #expect(stage.turn() == [] && stage.ends[0]?.outcome == .cancelled && stage.ends[0]?.attempts == 2)
    }

    /// What was sent and may have had its effect is not sent to another place.
    @Test func aPostIsNotSentAgainElsewhere() {
        var stage = mirrored()
        stage.end(0, answered(500, isIdempotent: false))
        stage.turn()
        let message = stage.ends[0]?.error?.message
        #expect(message?.hasPrefix("the server answered 500; it was not sent again") == true)
        #expect(message?.hasSuffix("; 1 of 3 `urls` tried") == true)

        var other = mirrored()
        let unsent = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")), isIdempotent: false)
        other.end(0, unsent)
        #expect(other.turn() == [0])
        other.end(0, answered(503, isIdempotent: false))
        #expect(other.turn() == [0] && other.mirrors == [0, 1, 2])

        var third = mirrored { $0.policies[0].retry.nonIdempotent = true }
        third.end(0, answered(500, isIdempotent: false))
        #expect(third.turn() == [0])
    }

    // MARK: Retry-After

    @Test func aLongRetryAfterGoesToTheNextAndSaysSo() {
        var stage = mirrored(at: [0, 1])
        stage.end(0, answered(503, retryAfter: .seconds(3_600)))
        #expect(stage.turn() == [0] && stage.mirrors == [0, 1])
        #expect(
            stage.attemptEnds[0].error?.message
                == "the server answered 503; it asks to wait 3600 s, longer than `retry.retryAfter.maximum`: the next of "
                + "`urls` is tried")
        stage.end(0, answered(429, retryAfter: .seconds(3_600)))
        stage.turn()
        // Nobody waits so long: neither place can heal.
        #expect(stage.ends[0]?.attempts == 2 && stage.backoffs.isEmpty)
        #expect(stage.ends[0]?.error?.message.hasSuffix("`retry.retryAfter.maximum`; all 2 `urls` failed") == true)
    }

    @Test func afterARoundTheFirstPlaceThatMayBeAskedCounts() {
        var stage = mirrored(at: [0, 1]) { $0.tellsLimitWaits = true }
        stage.end(0, answered(503, retryAfter: .seconds(30)))
        #expect(stage.turn(after: .seconds(1)) == [0])
        stage.end(0, answered(503, retryAfter: .seconds(10)))
        #expect(stage.turn() == [])
        #expect(stage.backoffs == [.seconds(10)] && stage.told[0] == .retryAfter)
        // The second place is open first.
        #expect(stage.turn(after: .seconds(10)) == [0])
        #expect(stage.mirrors == [0, 1, 1])
        stage.end(0, answered(500))
        #expect(stage.turn() == [] && stage.told[0] == .hostParked)
        #expect(stage.turn(after: .seconds(19)) == [0])
        #expect(stage.mirrors == [0, 1, 1, 0])
    }

    @Test func whoHonoursNoRetryAfterPausesAsThePolicySays() {
        var stage = mirrored(at: [0, 1]) { $0.policies[0].retry.honorsRetryAfter = false }
        for _ in 0..<2 {
            stage.end(0, answered(500, retryAfter: .seconds(3_600)))
            stage.turn()
        }
        #expect(stage.backoffs == [.seconds(1)])
    }

    // MARK: Lately

    @Test func thoseThatFailedLatelyGoLast() {
        var stage = mirrored(5, perHost: 1)
        #expect(stage.running == [0])
        stage.end(0, answered(404))
        // The others waited for the first place and go to the second: one there, and no second connection.
        #expect(stage.turn() == [0])
        stage.end(0, answered(404))
        #expect(stage.turn() == [0])
        #expect(stage.mirrors == [0, 1, 2])
        stage.end(0)
        #expect(stage.turn() == [1] && stage.mirrors.last == 2)
        stage.end(1, answered(404))
        // All failed lately: as written.
        #expect(stage.turn() == [1, 2])
        #expect(stage.mirrors.suffix(2) == [0, 0] || stage.mirrors.suffix(2) == [0, 2])
    }

    @Test func aFailureIsForgottenInTime() {
        var stage = mirrored(3, perHost: 1) { $0.policies[2].earliestBegin = .afterStart(.seconds(301)) }
        stage.end(0, answered(404))
        stage.turn()
        for task in stage.running { stage.end(task) }
        stage.turn()
        for task in stage.running { stage.end(task) }
        stage.turn()
        #expect(stage.mirrors == [0, 1, 1] && stage.ends.count == 2)
        #expect(stage.turn(after: .seconds(300)) == [])
        #expect(stage.turn(after: .seconds(1)) == [2] && stage.mirrors.last == 0)
    }

    @Test func whoServesAgainIsWell() {
        var stage = mirrored(3, at: [0, 1]) { $0.maximumConcurrentTasks = 1 }
        for task in [0, 0, 1] {
            #expect(stage.running == [task])
            stage.end(task, answered(404))
            stage.turn()
        }
        // Both failed; the second place serves the second task, and is asked first from then on.
        stage.end(1)
        #expect(stage.turn() == [2] && stage.mirrors == [0, 1, 0, 1, 1])
    }

    // MARK: Parked hosts

    /// A host that asked for quiet keeps nobody waiting who has another place.
    @Test func aParkedHostIsPassedOver() {
        var stage = mirrored(4, at: [0, 1], perHost: 1)
        #expect(stage.running == [0])
        stage.end(0, answered(429, retryAfter: .seconds(60)))
        // Task 0 goes on at the second place; so do those that waited for the first.
        var order = stage.turn()
        for next in 1...4 {
            stage.end(next - 1)
            order += stage.turn()
        }
        #expect(order == [0, 1, 2, 3])
        #expect(stage.clock.now.instant == ManualClock().instant)
        #expect(stage.mirrors.dropFirst().allSatisfy { $0 == 1 })
        #expect(stage.ends.values.allSatisfy { $0.outcome == .succeeded })
    }

    /// An answer to what was sent before its pause does not open a host, and while one probes it the others go to a
    /// place that only failed lately.
    @Test func aHostThatIsProbedStandsBehindOneThatFailedLately() {
        var stage = mirrored(5, at: [1, 0]) {
            for single in [0, 1] {
                $0.tasks[single].origin = host
                $0.mirrors[TaskIndex(raw: UInt32(single))] = nil
            }
            for late in [3, 4] { $0.policies[late].earliestBegin = .afterStart(.milliseconds(1_500)) }
        }
        #expect(stage.running.sorted() == [0, 1, 2])
        stage.end(2, answered(404))
        stage.turn()
        stage.end(0, answered(429))
        stage.turn()
        stage.answer(1)
        stage.answer(2)
        stage.turn()
        // The pause is over: task 0 asks how the host is.
        #expect(stage.turn(after: .seconds(1)) == [0])
        #expect(stage.turn(after: .milliseconds(500)).sorted() == [3, 4])
        #expect(stage.mirrors.suffix(2) == [0, 0])
        // Its answer opens the host, and that is the better place again.
        stage.answer(0)
        stage.end(3, answered(404))
        #expect(stage.turn() == [3] && stage.mirrors.last == 1)
    }

    /// When all places want quiet, the task waits for the one that opens first.
    @Test func whereItIsQuietEverywhereTheFirstToOpenIsMet() {
        var stage = mirrored(2, at: [0, 1], perHost: 1) { $0.policies[0].retry.maximumBackoff = .seconds(300) }
        stage.end(0, answered(503, retryAfter: .seconds(90)))
        #expect(stage.turn().count == 1)
        let at = stage.running[0]
        stage.end(at, answered(503, retryAfter: .seconds(20)))
        #expect(stage.turn(after: .seconds(19)) == [])
        let probe = stage.turn(after: .seconds(1))
        #expect(probe.count == 1 && stage.mirrors.last == 1)
    }

    /// A dead place is not probed by each: what one found out counts for all that wait there, and they go on.
    @Test func deadPlacesEndManyTasksWithFewAttempts() {
        var stage = mirrored(200, at: [0, 1]) { for index in 0..<200 { $0.policies[index].retry.attempts = 2 } }
        var attempts = 0
        while !stage.scheduler.isFinished, attempts < 1_000 {
            attempts += stage.running.count
            for task in stage.running { stage.end(task, refused) }
            if stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                stage.turn(after: due - stage.clock.instant)
            }
        }
        #expect(stage.ends.count == 200 && attempts < 200)
        #expect(stage.ends.values.allSatisfy { $0.outcome == .failed && $0.error?.name == .cannotConnectToHost })
        let last = stage.ends[199]
        #expect(last?.error?.message.hasSuffix("; all 2 `urls` failed") == true)
        #expect(last?.waits.map(\.reason).contains(.hostParked) == true)
    }

    // MARK: Interruptions

    /// An attempt that was interrupted by us counts for nothing: its place is tried again, in the same round.
    @Test func anInterruptionIsNoTry() {
        var stage = mirrored { $0.policies[0].retry.attempts = 1 }
        stage.end(0, refused)
        stage.turn()
        #expect(stage.mirrors == [0, 1])
        stage.scheduler.command(.suspend([TaskIndex(raw: 0)]), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(0)
        #expect(stage.turn() == [])
        stage.scheduler.command(.resume([TaskIndex(raw: 0)]), now: stage.clock.now)
        #expect(stage.turn() == [0])
        #expect(stage.mirrors == [0, 1, 1])
        stage.end(0, refused)
        #expect(stage.turn() == [0] && stage.mirrors.last == 2)
        stage.end(0, refused)
        stage.turn()
        #expect(stage.ends[0]?.attempts == 4 && stage.ends[0]?.outcome == .failed)
    }

    @Test func anInterruptedFirstTryLeavesTheRoundWhole() {
        var stage = mirrored(at: [0, 1]) { $0.policies[0].retry.attempts = 1 }
        stage.scheduler.command(.suspend([TaskIndex(raw: 0)]), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(0)
        stage.scheduler.command(.resume([TaskIndex(raw: 0)]), now: stage.clock.now)
        #expect(stage.turn() == [0])
        for _ in 0..<2 {
            stage.end(0, refused)
            stage.turn()
        }
        #expect(stage.mirrors == [0, 0, 1] && stage.ends[0]?.outcome == .failed)
    }

    @Test func failFastLetsNobodyTryTheNext() {
        var stage = mirrored(2) {
            $0.failFast = true
            $0.policies[1].retry.attempts = 1
            $0.mirrors[TaskIndex(raw: 1)] = nil
        }
        stage.end(1, answered(404))
        stage.turn()
        stage.end(0, answered(404))
        #expect(stage.turn() == [])
        #expect(stage.ends[0]?.outcome == .failed)
        #expect(stage.ends[0]?.error?.message == "the server answered 404; 1 of 3 `urls` tried")
    }

    /// The slots and rates that count are those of the place where the task is.
    @Test func eachPlaceHasItsOwnLimits() {
        var stage = mirrored(6, at: [0, 1], perHost: 2)
        #expect(stage.running == [0, 1])
        stage.end(0, answered(404))
        stage.end(1, answered(404))
        #expect(stage.turn().count == 2)
        let hosts = stage.scheduler.hosts(of: SessionIndex(raw: 0))
        #expect(hosts.map(\.peak) == [2, 2])
        #expect(stage.turn() == [])
    }
}
