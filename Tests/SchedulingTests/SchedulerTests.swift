import Scheduling
import TestSupport
import Testing
import TransferModel

/// Single rules, each in the smallest job that shows it.
struct SchedulerTests {
    private let failed = TransferError(.networkConnectionLost, "lost")

    // MARK: Order

    @Test func fileOrderAndPriority() {
        let priorities = [0.5, 0, 1, 0.5, 0.75, 1, 0]
        var stage = Stage(plan(7, run: 1) { for index in 0..<7 { $0.policies[index].priority = priorities[index] } })
        while let task = stage.running.first {
            stage.end(task)
            stage.turn()
        }
        #expect(stage.order == [2, 5, 4, 0, 3, 1, 6])
    }

    /// The head of a lane was of lower priority when one of the usual priority came: neither may be lost.
    @Test func anUrgentTaskThatComesLaterGoesFirst() {
        var stage = Stage(
            plan(4, perHost: 1) {
                $0.policies[1].priority = 0.25
                $0.tasks[2].needs = [TaskIndex(raw: 3)]
                $0.tasks[3].origin = OriginID(raw: 1)
            })
        #expect(stage.running == [0, 3])
        stage.end(3)
        #expect(stage.turn() == [])
        stage.end(0)
        #expect(stage.turn() == [2])
        stage.end(2)
        #expect(stage.turn() == [1])
        stage.end(1)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func aSlowHostHoldsUpNoOther() {
        // A thousand tasks of a host that never answers stand before ten of one that does.
        var stage = Stage(
            plan(1_010, run: 8) { for index in 1_000..<1_010 { $0.tasks[index].origin = OriginID(raw: 1) } })
        #expect(stage.running.count == 8)
        #expect(stage.running.count { $0 >= 1_000 } == 4)
        for _ in 0..<10 {
            guard let fast = stage.running.first(where: { $0 >= 1_000 }) else { break }
            stage.end(fast)
            stage.turn(after: .milliseconds(1))
        }
        #expect(stage.ends.count == 10)
    }

    // MARK: Limits

    @Test func waitsAreGivenTheirCause() {
        var stage = Stage(plan(3, perHost: 1, run: 1, origins: 3))
        stage.turn(after: .seconds(1))
        stage.end(0)
        stage.turn()
        stage.turn(after: .seconds(2))
        stage.end(1)
        stage.turn()
        stage.end(2)
        stage.turn()
        #expect(stage.wait(1, .runLimit) == .seconds(1) && stage.wait(2, .runLimit) == .seconds(3))
        var host = Stage(plan(2, perHost: 1))
        host.turn(after: .seconds(1))
        host.end(0)
        host.turn()
        host.end(1)
        host.turn()
        #expect(host.wait(1, .hostLimit) == .seconds(1) && host.ends[1]?.waits.count == 1)
        var session = Stage(plan(2, session: 1, origins: 2))
        session.turn(after: .seconds(1))
        session.end(0)
        session.turn()
        session.end(1)
        session.turn()
        #expect(session.wait(1, .sessionLimit) == .seconds(1) && session.ends[1]?.waits.count == 1)
    }

    @Test func streamsAreMoreThanConnections() {
        var stage = Stage(plan(20, perHost: 2, streams: 10))
        #expect(stage.running == [0, 1])
        stage.scheduler.receive(.protocolIs(host, .http2), now: stage.clock.now)
        stage.turn()
        #expect(stage.running == Array(0..<10))
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0)).map(\.peak) == [1])
        // It was another server after all: nothing new before the old limit holds again.
        stage.scheduler.receive(.protocolIs(host, .http1), now: stage.clock.now)
        for task in 0..<8 { stage.end(task) }
        #expect(stage.turn() == [])
        stage.end(8)
        #expect(stage.turn() == [10])
    }

    @Test func aSessionThatComesLaterKnowsWhatTheOthersLearned() {
        var stage = Stage(
            plan(12, perHost: 1, streams: 4, sessions: 2) {
                for index in 0..<12 where index % 2 == 1 { $0.tasks[index].needs = [TaskIndex(raw: 0)] }
            })
        stage.scheduler.receive(.protocolIs(host, .http2), now: stage.clock.now)
        stage.turn()
        #expect(stage.running == [0, 2, 4, 6])
        stage.end(0)
        #expect(stage.turn().sorted() == [1, 3, 5, 7, 8])
    }

    @Test func whatNeedsNoConnectionMeetsNoHostLimit() {
        let stage = Stage(plan(30, perHost: 1) { for index in 0..<30 { $0.tasks[index].origin = nil } })
        #expect(stage.running.count == 30)
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0)).isEmpty)
    }

    /// Two attempts that go each to the other's host, one slot each: both get there.
    @Test func crossedRedirectsDoNotDeadlock() {
        var stage = Stage(plan(4, perHost: 1, origins: 2))
        #expect(stage.running == [0, 1])
        for (task, from, to) in [(0, 0, 1), (1, 1, 0)] {
            let index = TaskIndex(raw: UInt32(task))
            stage.scheduler.receive(.released(index, OriginID(raw: UInt32(from))), now: stage.clock.now)
            stage.scheduler.receive(.needsGrant(index, OriginID(raw: UInt32(to))), now: stage.clock.now)
        }
        stage.turn()
        // And before tasks that have not begun.
        #expect(stage.granted.sorted() == [0, 1] && stage.running == [0, 1])
        stage.end(0)
        stage.end(1)
        #expect(stage.turn().sorted() == [2, 3])
    }

    @Test func localWorkHoldsNothing() {
        var stage = Stage(plan(2, perHost: 1, run: 1))
        stage.scheduler.receive(.released(TaskIndex(raw: 0), host), now: stage.clock.now)
        stage.scheduler.receive(.transferred(TaskIndex(raw: 0)), now: stage.clock.now)
        #expect(stage.turn() == [1])
        stage.end(0)
        stage.end(1)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    /// The answer to `cancel` does not promise what most likely comes too late.
    @Test func whatIsOnlyPutInPlace_isNotTaken_asCancelled() {
        var stage = Stage(plan(2))
        stage.receive(.transferred(TaskIndex(raw: 0)))
        let both = [TaskIndex(raw: 0), TaskIndex(raw: 1)]
        #expect(stage.command(.cancel(both, keepPartial: true)) == [1])
        stage.end(0)
        stage.endCancelled(1)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded && stage.ends[1]?.outcome == .cancelled)
    }

    // MARK: Needs

    @Test func needsSkipAndTolerate() {
        var stage = Stage(
            plan(7) {
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 1 }
                $0.tasks[1].needs = needs(0)
                $0.tasks[2].needs = needs(1)
                $0.tasks[4].needs = needs(3)
                $0.tasks[5].needs = needs(1, 2, 4)
                $0.tasks[6].needs = needs(0, 5)
                $0.policies[3].allowFailure = .any
            })
        #expect(stage.running == [0, 3])
        stage.turn(after: .seconds(1))
        stage.end(3, Verdict(.failed(failed)))
        #expect(stage.turn() == [4])
        stage.end(0, Verdict(.failed(failed)))
        stage.turn()
        #expect(stage.ends[3]?.tolerated == true && stage.ends[3]?.outcome == .failed)
        for task in [1, 2, 5, 6] {
            #expect(stage.ends[task]?.outcome == .skipped)
            #expect(stage.ends[task]?.waits == [TaskRecord.Wait(reason: .dependency, duration: .seconds(1))])
        }
        func culprits(_ task: Int) -> [Blame.Need?] {
            [stage.ends[task]?.blame?.culprit.need, stage.ends[task]?.blame?.root?.need]
        }
        func need(_ task: UInt32) -> Blame.Need { .task(TaskIndex(raw: task)) }
        #expect(culprits(1) == [need(0), nil] && culprits(2) == [need(1), need(0)])
        // Of several the first to be lost.
        #expect(culprits(6) == [need(0), nil] && culprits(5) == [need(1), need(0)])
        #expect(stage.ends[0]?.blame == nil && stage.ends[1]?.blame?.culprit.outcome == .failed)
        stage.end(4)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func aChainOfSkippedTasksIsNoRecursion() {
        let count = 100_000
        var stage = Stage(
            plan(count) {
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 1 }
                for index in 1..<count { $0.tasks[index].needs = [TaskIndex(raw: UInt32(index - 1))] }
            })
        stage.end(0, Verdict(.failed(failed)))
        stage.turn()
        #expect(stage.scheduler.isFinished && stage.order == Array(0..<count))
    }

    // MARK: Retries

    @Test func backoffGrowsToItsCap() {
        var stage = Stage(
            plan(1) {
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 10 }
                for index in $0.policies.indices { $0.policies[index].retry.initialBackoff = .seconds(1) }
                for index in $0.policies.indices { $0.policies[index].retry.maximumBackoff = .seconds(60) }
            })
        for _ in 0..<10 {
            stage.end(0, Verdict(.failed(failed)))
            stage.turn()
            guard let backoff = stage.backoffs.last, !stage.scheduler.isFinished else { break }
            #expect(stage.turn(after: backoff + TimeSpan(nanoseconds: -1)) == [])
            #expect(stage.turn(after: TimeSpan(nanoseconds: 1)) == [0])
        }
        #expect(stage.backoffs.map { $0.nanoseconds / 1_000_000_000 } == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.attempts == 10)
        #expect(stage.wait(0, .backoff) == .seconds(243))
    }

    @Test func retryAfterIsHonouredForTheWholeHost() {
        var stage = Stage(plan(4, perHost: 2, origins: 2, sessions: 2))
        // Every session's lane of the host is closed, the other host's is not.
        stage.end(
            0, Verdict(.failed(TransferError(.unexpectedResponse, "busy")), status: 503, retryAfter: .seconds(30)))
        stage.turn()
        #expect(stage.backoffs == [.seconds(30)])
        stage.end(2, Verdict(.failed(failed)))
        stage.turn()
        #expect(stage.turn(after: .seconds(29)) == [])
        // One goes first and shows whether the host is well.
        let first = stage.turn(after: .seconds(1))
        #expect(first.count == 1)
        stage.scheduler.receive(.answered(TaskIndex(raw: UInt32(first[0])), Answer(status: 200)), now: stage.clock.now)
        #expect((first + stage.turn()).sorted() == [0, 2])
        stage.end(0)
        stage.end(2)
        stage.turn()
        #expect(stage.wait(0, .retryAfter) == .seconds(30) && stage.wait(0, .hostParked) == .zero)
        // Its own back-off was over after a second, which was noticed when the clock stood at 29.
        #expect(stage.backoffs[1] == .seconds(1))
        #expect(stage.wait(2, .backoff) == .seconds(29) && stage.wait(2, .hostParked) == .seconds(1))
    }

    @Test func aParkedHostIsAWaitOfItsOwn() {
        var stage = Stage(plan(3, perHost: 1, origins: 1))
        stage.turn(after: .seconds(1))
        stage.end(0, Verdict(.failed(TransferError(.unexpectedResponse, "busy")), status: 429, retryAfter: .seconds(5)))
        stage.turn()
        stage.turn(after: .seconds(5))
        for task in [1, 0, 2] where stage.running.contains(task) {
            stage.end(task)
            stage.turn()
        }
        #expect(stage.wait(1, .hostLimit) == .seconds(1) && stage.wait(1, .hostParked) == .seconds(5))
    }

    @Test func aLongRetryAfterFailsAtOnceAndSaysSo() {
        var stage = Stage(plan(2, perHost: 1))
        let busy = TransferError(.unexpectedResponse, "expected status 2xx, the server answered 503")
        stage.end(0, Verdict(.failed(busy), status: 503, retryAfter: .seconds(3_600)))
        // A wait that nobody takes holds back nobody.
        #expect(stage.turn() == [1])
        #expect(stage.ends[0]?.outcome == .failed)
        #expect(stage.ends[0]?.error?.message.contains("3600 s") == true)
    }

    /// However busy the server is now: an earlier request of the attempt was answered.
    @Test func whatTookEffectIsNotSentAgain() {
        var verdict = Verdict(
            .failed(TransferError(.unexpectedResponse, "")), status: 503, sentSomething: true, isIdempotent: false)
        verdict.tookEffect = true
        var stage = Stage(plan(2) { $0.policies[1].retry.nonIdempotent = true })
        stage.end(0, verdict)
        stage.end(1, verdict)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[1] == nil)
        var mirrored = Stage(
            plan(1, origins: 2) { $0.mirrors[TaskIndex(raw: 0)] = [OriginID(raw: 0), OriginID(raw: 1)] })
        verdict.status = 404
        mirrored.end(0, verdict)
        #expect(mirrored.turn() == [] && mirrored.ends[0]?.outcome == .failed)
    }

    /// Whoever reads of it may otherwise run it again and do it twice.
    @Test func whatIsNotSentAgain_saysSo() {
        var stage = Stage(plan(3) { $0.policies[2].retry.nonIdempotent = true })
        let lost = TransferError(.networkConnectionLost, "POST http://a.test/: the connection was lost")
        for task in 0..<3 {
            stage.end(task, Verdict(.failed(lost), sentSomething: true, isIdempotent: task == 1))
        }
        stage.turn()
        let error = stage.ends[0]?.error
        #expect(error?.message.hasPrefix("\(lost.message); it was not sent again, for the server may") == true)
        #expect(error?.message.contains("`retry.nonIdempotent`") == true)
        #expect(error?.whatHelps(.upload).contains("Run it again") == false)
        #expect(stage.ends[1] == nil && stage.ends[2] == nil)
        let missing = Verdict(
            .failed(TransferError(.unexpectedResponse, "404")), status: 404, sentSomething: true, isIdempotent: false)
        var other = Stage(plan(1))
        other.end(0, missing)
        other.turn()
        #expect(other.ends[0]?.error?.message == "404", "no other attempt would help")
    }

    @Test(arguments: [
        (Verdict(.failed(TransferError(.networkConnectionLost, "")), sentSomething: true, isIdempotent: false), false),
        (Verdict(.failed(TransferError(.cannotConnectToHost, "")), sentSomething: false, isIdempotent: false), true),
        (
            Verdict(
                .failed(TransferError(.unexpectedResponse, "")), status: 503, sentSomething: true, isIdempotent: false),
            true
        ),
        (
            Verdict(
                .failed(TransferError(.unexpectedResponse, "")), status: 429, sentSomething: true, isIdempotent: false),
            true
        ),
        (
            Verdict(
                .failed(TransferError(.unexpectedResponse, "")), status: 500, sentSomething: true, isIdempotent: false),
            false
        ),
        (Verdict(.failed(TransferError(.unexpectedResponse, "")), status: 500, sentSomething: true), true),
        (Verdict(.failed(TransferError(.unexpectedResponse, "")), status: 404, sentSomething: true), false),
        (Verdict(.failed(TransferError(.checksumMismatch, "")), status: 200, sentSomething: true), false),
        (Verdict(.failed(TransferError(.redirectRefused, ""))), false),
        (Verdict(.failed(TransferError(.cannotWriteToFile, "")), status: 200), false),
        (Verdict(.failed(TransferError(.serverCertificateUntrusted, ""))), false),
    ]) func whatIsRetried(verdict: Verdict, isRetried: Bool) {
        var stage = Stage(plan(1))
        stage.end(0, verdict)
        stage.turn()
        #expect(stage.backoffs.count == (isRetried ? 1 : 0))
    }

    // MARK: Ends

    @Test func aTaskOutOfTimeFails() {
        var stage = Stage(
            plan(3, perHost: 2) {
                for index in 0..<3 { $0.policies[index].timeoutForResource = .seconds(10) }
            })
        stage.turn(after: .seconds(3))
        stage.end(1, Verdict(.failed(failed), retryAfter: .seconds(60)))
        stage.turn(after: .seconds(7))
        // One runs, one backs off; the third began to wait for its host and so has not begun.
        #expect(stage.cancelled == [0])
        #expect(stage.ends[1]?.outcome == .failed && stage.ends[1]?.error?.name == .timedOut)
        // The attempt failed in the same moment: no retry after its time.
        stage.end(0, Verdict(.failed(failed)))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.error?.name == .timedOut)
    }

    @Test func aSignalCancelsEverything() {
        var stage = Stage(plan(4, perHost: 1) { $0.tasks[3].needs = needs(1) })
        stage.turn(after: .seconds(1))
        stage.scheduler.command(.stop(signal: 2), now: stage.clock.now)
        stage.scheduler.command(.stop(signal: 15), now: stage.clock.now)
        stage.turn()
        #expect(stage.cancelled == [0] && stage.order == [1, 2, 3])
        stage.end(0, Verdict(.cancelled(TransferError(.cancelled, "x"))))
        stage.turn()
        #expect(stage.ends.values.allSatisfy { $0.outcome == .cancelled && $0.error?.name == .cancelled })
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func whatIsDoneAlreadyMayStand() {
        var stage = Stage(plan(1) { $0.timeout = .seconds(1) })
        stage.turn(after: .seconds(1))
        #expect(stage.cancelled == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .succeeded)
    }

    @Test(arguments: [false, true]) func failFast(cancels: Bool) {
        var stage = Stage(
            plan(5, perHost: 2) {
                $0.failFast = true
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 1 }
                $0.sessions[0].cancelsOnInvalidation = cancels
                $0.tasks[3].needs = needs(0)
                $0.tasks[4].needs = needs(1)
            })
        stage.end(0, Verdict(.failed(failed)))
        #expect(stage.turn() == [])
        #expect(stage.ends[2]?.outcome == .cancelled && stage.ends[2]?.error?.name == .cancelled)
        #expect(stage.ends[3]?.outcome == .skipped && stage.ends[4]?.outcome == .cancelled)
        #expect(stage.cancelled == (cancels ? [1] : []))
        stage.end(1, cancels ? Verdict(.cancelled(failed)) : Verdict(.failed(failed)))
        stage.turn()
        #expect(stage.ends[1]?.outcome == (cancels ? .cancelled : .failed))
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func aToleratedFailureIsNoReasonToStop() {
        var stage = Stage(
            plan(2, perHost: 1) {
                $0.failFast = true
                $0.policies[0].allowFailure = .statuses(StatusSet(404))
            })
        stage.end(0, Verdict(.failed(TransferError(.unexpectedResponse, "")), status: 404))
        #expect(stage.turn() == [1])
        #expect(stage.ends[0]?.tolerated == true)
    }

    @Test func anEmptyJobIsFinished() {
        let stage = Stage(plan(0))
        #expect(stage.scheduler.isFinished && stage.scheduler.nextDeadline(now: stage.clock.now) == nil)
    }

    /// The clocks of finished tasks neither pile up nor wake anybody.
    @Test func finishedTasksLeaveNoDeadline() {
        var stage = Stage(plan(500, perHost: 1))
        while let task = stage.running.first {
            stage.end(task)
            stage.turn(after: .milliseconds(1))
        }
        #expect(stage.ends.count == 500 && stage.scheduler.nextDeadline(now: stage.clock.now) == nil)
    }
}
