import Scheduling
import TestSupport
import Testing
import TransferModel

/// What is known of a host: its rates, its quota, its limits over all sessions, and whether it is well.
struct HostTests {
    private let refused = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")))

    // MARK: Rates

    @Test func requestsAreEvenlySpaced() {
        var stage = Stage(plan(4) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 4) })
        #expect(stage.running == [0])
        #expect(stage.turn(after: .milliseconds(249)) == [])
        #expect(stage.turn(after: .milliseconds(1)) == [1])
        // A pause is not made up for.
        #expect(stage.turn(after: .milliseconds(600)) == [2])
        #expect(stage.turn(after: .milliseconds(249)) == [])
        #expect(stage.turn(after: .milliseconds(1)) == [3])
        for task in 0..<4 { stage.end(task) }
        stage.turn()
        #expect(stage.wait(2, .requestRate) == .milliseconds(850) && stage.ends[2]?.waits.count == 1)
    }

    @Test func aBurstGoesAtOnceAndIsEarnedAgain() {
        var stage = Stage(
            plan(12, perHost: 20) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 10, burst: 3) })
        #expect(stage.running.count == 3)
        #expect(stage.turn(after: .milliseconds(100)).count == 1)
        #expect(stage.turn(after: .milliseconds(200)).count == 2)
        #expect(stage.turn(after: .seconds(5)).count == 3)
    }

    /// Each hop of an attempt is a request: it takes its turn like a task that begins.
    @Test func hopsTakeTheirTurn() {
        var stage = Stage(plan(2) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 1) })
        stage.answer(0, 302)
        stage.receive(.released(TaskIndex(raw: 0), host))
        stage.receive(.needsGrant(TaskIndex(raw: 0), host))
        #expect(stage.turn(after: .milliseconds(500)) == [] && stage.granted == [])
        #expect(stage.turn(after: .milliseconds(500)) == [] && stage.granted == [0])
        #expect(stage.turn(after: .seconds(1)) == [1])
        stage.end(0)
        stage.turn()
        // The wait within the attempt is told, and taken from the attempt's time.
        #expect(stage.wait(0, .requestRate) == .seconds(1) && stage.ends[0]?.held == .seconds(1))
    }

    /// What is answered without a request, out of a cache, takes nobody's turn.
    @Test func whatWasNotSentIsNotCounted() {
        var stage = Stage(
            plan(6, sessions: 2) { $0.sessions[0].requestsPerSecond = RequestRate(perSecond: 1) },
            limits: [0: OriginLimits(requestsPerSecond: RequestRate(perSecond: 2))])
        #expect(stage.running == [0])
        for task in 0..<4 {
            stage.receive(.unused(TaskIndex(raw: UInt32(task)), host))
            stage.end(task)
            #expect(stage.turn() == [task + 1])
        }
        // One that was sent counts, and another's that was not changes nothing about it.
        stage.answer(4)
        stage.end(4)
        #expect(stage.turn(after: .milliseconds(499)) == [])
        #expect(stage.turn(after: .milliseconds(1)) == [5])
        stage.end(5)
        stage.turn()
        #expect(stage.wait(3, .requestRate) == .zero && stage.wait(5, .requestRate) == .milliseconds(500))
    }

    @Test func norByAQuota() {
        var stage = Stage(plan(5, perHost: 1))
        stage.answer(0, 200, RequestQuota(remaining: 1, resetsAfter: .seconds(10)))
        stage.end(0)
        #expect(stage.turn() == [1])
        stage.receive(.unused(TaskIndex(raw: 1), host))
        stage.end(1)
        #expect(stage.turn() == [2])
        stage.answer(2)
        stage.end(2)
        #expect(stage.turn(after: .seconds(9)) == [])
        #expect(stage.turn(after: .seconds(1)) == [3])
    }

    /// In any order and however late it turns out, all that counts is what was sent.
    @Test func anyMixtureOfSentAndNot() {
        var random = Seeded("HostTests.anyMixtureOfSentAndNot")
        for _ in 0..<Rounds.scaled(100) {
            let rate = RequestRate(perSecond: Double(1 + random.below(20)), burst: 1 + random.below(6))
            var stage = Stage(plan(60, perHost: 60) { $0.sessions[0].requestsPerSecond = rate })
            let interval = Int64((1e9 / rate.perSecond).rounded(.up))
            var sent: [(task: Int, time: Int64)] = stage.running.map { ($0, stage.clock.now.instant.nanoseconds) }
            var undecided = stage.running
            while stage.running.count < 60 || !undecided.isEmpty {
                for task in undecided where random.oneIn(2) {
                    undecided.removeAll { $0 == task }
                    if random.oneIn(2) {
                        stage.receive(.unused(TaskIndex(raw: UInt32(task)), host))
                        sent.removeAll { $0.task == task }
                    }
                }
                let started = stage.turn(after: .milliseconds(Int64(random.below(200))))
                let now = stage.clock.now.instant.nanoseconds
                let before = sent.reduce(Int64.min / 4) { max($0, $1.time) + interval }
                let open = now - before + interval * Int64(rate.burst - 1)
                let most = before <= now ? rate.burst : open < 0 ? 0 : Int(open / interval) + 1
                #expect(started.count == min(most, 60 - (stage.running.count - started.count)))
                sent += started.map { ($0, now) }
                undecided += started
            }
        }
    }

    @Test func ratesOfAHostHoldOverAllSessions() {
        var scheduler = Stage(
            plan(6, sessions: 2), limits: [0: OriginLimits(requestsPerSecond: RequestRate(perSecond: 2))])
        #expect(scheduler.running.count == 1)
        for _ in 0..<5 { #expect(scheduler.turn(after: .milliseconds(500)).count == 1) }
        #expect(scheduler.running.count == 6)
    }

    // MARK: Quotas

    @Test func aQuotaIsNotExceeded() {
        var stage = Stage(plan(30, perHost: 4))
        // Three others are on the way when it is told: they may not be in the server's count.
        stage.answer(0, 200, RequestQuota(remaining: 5, resetsAfter: .seconds(10)))
        for task in 0..<4 { stage.end(task) }
        let next = stage.turn()
        #expect(next.count == 2)
        for task in next {
            stage.answer(task)
            stage.end(task)
        }
        #expect(stage.turn(after: .milliseconds(9_999)) == [])
        #expect(stage.turn(after: .milliseconds(1)).count == 4)
        #expect(stage.wait(next[0], .requestRate) == .zero)
    }

    @Test func aPolicyFillsTheQuotaAgain() {
        var stage = Stage(plan(30, perHost: 10))
        stage.answer(0, 200, RequestQuota(remaining: 0, resetsAfter: .seconds(1), limit: 12, window: .seconds(60)))
        for task in 1..<10 { stage.answer(task) }
        for task in 0..<10 { stage.end(task) }
        #expect(stage.turn() == [])
        let second = stage.turn(after: .seconds(1))
        #expect(second.count == 10)
        for task in second { stage.end(task) }
        #expect(stage.turn().count == 2)
        #expect(stage.turn(after: .seconds(59)) == [])
        #expect(stage.turn(after: .seconds(1)).count == 8)
    }

    @Test func anAbsurdQuotaIsAskedAgain() {
        var stage = Stage(plan(2, perHost: 1))
        stage.answer(0, 200, RequestQuota(remaining: 0, resetsAfter: .seconds(1_000_000_000)))
        stage.end(0)
        #expect(stage.turn(after: .seconds(599)) == [])
        #expect(stage.turn(after: .seconds(1)) == [1])
    }

    @Test func whoHonoursNoRetryAfterHonoursNoQuota() {
        var stage = Stage(plan(2, perHost: 1) { $0.policies[0].retry.honorsRetryAfter = false })
        stage.answer(0, 200, RequestQuota(remaining: 0, resetsAfter: .seconds(60)))
        stage.end(0)
        #expect(stage.turn() == [1])
    }

    // MARK: limits.hosts

    @Test func connectionsOfAHostAreCountedOverAllSessions() {
        var stage = Stage(plan(20, perHost: 6, sessions: 3), limits: [0: OriginLimits(maximumConnections: 4)])
        #expect(stage.running.count == 4)
        // On shared connections each session needs one.
        stage.receive(.protocolIs(host, .http2))
        stage.turn()
        #expect(stage.running.count == 20)
    }

    /// A stream that is fetched again alone is a connection more than the shared one.
    @Test func aloneIsAConnectionOfItsOwn() {
        var stage = Stage(plan(12, perHost: 2, streams: 6))
        stage.receive(.protocolIs(host, .http2))
        stage.turn()
        #expect(stage.running == Array(0..<6))
        for task in 0..<3 {
            stage.receive(.released(TaskIndex(raw: UInt32(task)), host))
            stage.receive(.needsGrant(TaskIndex(raw: UInt32(task)), host, isAlone: true))
        }
        #expect(stage.turn() == [] && stage.granted == [0])
        // Whoever wants to be alone goes before new streams, or it would never be.
        stage.end(0)
        #expect(stage.turn() == [] && stage.granted == [0, 1])
        stage.end(1)
        #expect(stage.turn() == [6, 7, 8] && stage.granted == [0, 1, 2])
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0))[0].peak == 2)
    }

    @Test func aloneWaitsForTheSharedConnectionToEnd() {
        var stage = Stage(plan(6, perHost: 1, streams: 3))
        stage.receive(.protocolIs(host, .http2))
        stage.turn()
        stage.receive(.released(TaskIndex(raw: 0), host))
        stage.receive(.needsGrant(TaskIndex(raw: 0), host, isAlone: true))
        stage.end(1)
        #expect(stage.turn() == [] && stage.granted == [])
        stage.end(2)
        #expect(stage.turn() == [] && stage.granted == [0])
        stage.end(0)
        #expect(stage.turn() == [3, 4, 5])
    }

    // MARK: Parked hosts

    /// Five hundred tasks do not storm a host that is down: after three rounds one of them knocks at a time, and
    /// when each would have tried often enough alone, all end.
    @Test func aDeadHostIsProbedByOne() {
        var stage = Stage(plan(500, perHost: 6) { for index in 0..<500 { $0.policies[index].retry.attempts = 3 } })
        var attempts = 0
        while !stage.scheduler.isFinished {
            attempts += stage.running.count
            #expect(stage.running.count <= (stage.clock.instant == ManualClock().instant ? 6 : 1))
            for task in stage.running { stage.end(task, refused) }
            if stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                stage.turn(after: due - stage.clock.instant)
            }
        }
        #expect(attempts < 30)
        #expect(stage.ends.values.allSatisfy { $0.outcome == .failed && $0.error?.name == .cannotConnectToHost })
        let last = stage.ends[499]
        #expect(last?.attempts == 0 && last?.error?.message.contains("another task") == true)
        // As long as one task alone would have tried: 1 s and 2 s and 4 s.
        #expect(last?.duration == .seconds(7))
        #expect(last?.waits == [TaskRecord.Wait(reason: .hostParked, duration: .seconds(7))])
    }

    private static func failed(_ status: Int, retryAfter: TimeSpan? = nil) -> Verdict {
        Verdict(
            .failed(TransferError(.unexpectedResponse, "the server answered \(status)")), status: status,
            retryAfter: retryAfter, sentSomething: true)
    }

    /// Goes on to the end of the run, and gives back how long it took. Each attempt takes ten milliseconds.
    private static func run(_ stage: inout Stage, _ verdict: (_ task: Int) -> Verdict?) -> TimeSpan {
        while !stage.scheduler.isFinished {
            let asked = stage.running
            stage.turn(after: .milliseconds(10))
            for task in asked {
                let verdict = verdict(task)
                stage.answer(task, verdict?.status ?? 200)
                stage.end(task, verdict ?? Verdict(.succeeded, status: 200))
            }
            stage.turn()
            if stage.running.isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                stage.turn(after: due - stage.clock.instant)
            }
        }
        return stage.clock.instant - ManualClock().instant
    }

    /// Three hundred files, of which each twentieth is answered with a failure once: only those are waited for.
    @Test(arguments: [500, 502, 503]) func aFailureNowAndThen_holdsBackItsTaskAlone(_ status: Int) {
        var stage = Stage(plan(300))
        var failedOnce: Set<Int> = []
        let duration = Self.run(&stage) { task in
            task % 20 == 19 && failedOnce.insert(task).inserted ? Self.failed(status) : nil
        }
        #expect(failedOnce.count == 15 && stage.ends.values.allSatisfy { $0.outcome == .succeeded })
        // A second of back-off after the last one, beside fifty rounds of ten milliseconds.
        #expect(duration < .seconds(2), "\(duration.seconds) s")
        #expect(stage.ends.values.allSatisfy { $0.waits.allSatisfy { $0.reason != .hostParked } })
    }

    @Test func whatAsksForQuiet_holdsBackTheHost() {
        for verdict in [Self.failed(429), Self.failed(503, retryAfter: .seconds(1))] {
            var stage = Stage(plan(20, perHost: 2))
            stage.answer(0, verdict.status ?? 0)
            stage.end(0, verdict)
            stage.answer(1)
            stage.end(1)
            #expect(stage.turn() == [])
            #expect(stage.turn(after: .seconds(1)).count == 1, "and then one goes ahead")
        }
    }

    /// A host that fails more often than not is asked by one at a time, and is open again with the first good answer.
    @Test func tooManyFailures_oneTaskAfterTheOther() {
        var stage = Stage(plan(60, perHost: 6) { for index in 0..<60 { $0.policies[index].retry.attempts = 9 } })
        for task in 0..<3 { stage.end(task, Self.failed(500)) }
        #expect(stage.turn() == [6], "three are still under way, and one tries")
        for task in 3..<6 { stage.end(task, Self.failed(500)) }
        #expect(stage.turn() == [])
        stage.end(6, Self.failed(500))
        #expect(stage.turn() == [7])
        stage.end(7, Self.failed(503))
        #expect(stage.turn() == [], "it is busy: the next one comes after the pause of that task")
        #expect(stage.turn(after: .seconds(1)).count == 1)
        stage.answer(stage.running[0])
        #expect(stage.turn().count == 5)
    }

    /// Nobody waits until a body of hours was sent to a host that comes back.
    @Test func aProbesUpload_opensTheHostWithItsFirstBytes() {
        var stage = Stage(plan(40, perHost: 4))
        for _ in 0..<3 {
            for task in stage.running { stage.end(task, refused) }
            stage.turn()
        }
        let probe = stage.turn(after: .seconds(1))
        #expect(probe.count == 1 && stage.turn().isEmpty)
        stage.receive(.moved(TaskIndex(raw: UInt32(probe[0])), bytes: 65_536))
        #expect(stage.turn().count == 3)
        // It takes bodies and does not answer: it is as it was.
        stage.end(probe[0], Verdict(.failed(TransferError(.networkConnectionLost, "lost")), sentSomething: true))
        #expect(stage.turn() == [])
    }

    /// One that takes bodies and answers 503 is held back like any other that does.
    @Test func aHostThatTakesBodiesAndFails_isHeldBack() {
        var stage = Stage(plan(60, perHost: 4) { for index in 0..<60 { $0.policies[index].retry.attempts = 9 } })
        for task in 0..<4 { stage.end(task, Self.failed(503)) }
        let probe = stage.turn()
        #expect(probe.count == 1)
        stage.receive(.moved(TaskIndex(raw: UInt32(probe[0])), bytes: 65_536))
        let others = stage.turn()
        #expect(others.count == 3)
        stage.end(others[0], Self.failed(503))
        #expect(stage.turn().count == 1, "one at a time again")
        for task in stage.running { stage.end(task, Self.failed(503)) }
        #expect(stage.turn() == [] && stage.turn(after: .seconds(1)).count == 1)
    }

    @Test func aHostThatComesBackIsOpenToAllAtOnce() {
        var stage = Stage(plan(40, perHost: 4))
        for _ in 0..<3 {
            for task in stage.running { stage.end(task, refused) }
            stage.turn()
        }
        #expect(stage.running.isEmpty)
        let probe = stage.turn(after: .seconds(1))
        #expect(probe.count == 1)
        stage.answer(probe[0])
        #expect(stage.turn().count == 3)
        // Its failures are forgotten.
        stage.end(probe[0], refused)
        #expect(stage.turn().count == 1)
    }

    /// A task that got no token, because another one's request for it failed, says nothing of its own host.
    @Test func aFailureAtAnotherHostParksNone() {
        var elsewhere = refused
        elsewhere.isOfOtherHost = true
        for (verdict, isParked) in [(refused, true), (elsewhere, false)] {
            var stage = Stage(plan(40, perHost: 4))
            for _ in 0..<3 {
                for task in stage.running { stage.end(task, verdict) }
                stage.turn()
            }
            #expect(stage.running.isEmpty == isParked)
        }
    }

    /// Those in line are told when their host is parked and when that is over, and not with each probe in between.
    @Test func whoWaitsForAParkedHostIsTold() {
        var stage = Stage(plan(5, perHost: 1) { $0.tellsLimitWaits = true })
        let busy = TransferError(.unexpectedResponse, "the server answered 503")
        stage.end(0, Verdict(.failed(busy), status: 503, retryAfter: .seconds(4), sentSomething: true))
        #expect(stage.turn() == [])
        #expect(stage.tellings[0] == [.retryAfter] && stage.tellings[4] == [.hostLimit, .hostParked])
        let probe = stage.turn(after: .seconds(4))
        #expect(probe.count == 1)
        stage.end(probe[0], Verdict(.failed(busy), status: 503, retryAfter: .seconds(4), sentSomething: true))
        #expect(stage.turn() == [] && stage.tellings[4] == [.hostLimit, .hostParked])
        let next = stage.turn(after: .seconds(4))
        stage.answer(next[0])
        stage.turn()
        #expect(stage.tellings[4] == [.hostLimit, .hostParked, .hostLimit])
        let quiet = plan(2, perHost: 1)
        var unheard = Stage(quiet)
        unheard.end(0, Verdict(.failed(busy), status: 503, retryAfter: .seconds(4), sentSomething: true))
        unheard.turn()
        #expect(unheard.tellings[1] == nil)
    }

    /// The pause is over when it is over, not when somebody looks at the clock.
    @Test func anAnswerAfterThePauseOpensTheHostBeforeItsTimerDoes() {
        var stage = Stage(plan(8, perHost: 3))
        let busy = TransferError(.unexpectedResponse, "the server answered 429")
        for task in [0, 1] {
            stage.end(task, Verdict(.failed(busy), status: 429, retryAfter: .seconds(4), sentSomething: true))
        }
        #expect(stage.turn() == [])
        _ = stage.clock.advance(.seconds(4))
        stage.answer(2)
        #expect(stage.turn().count == 2)
    }

    /// Six connections that break together are one failure, not six.
    @Test func failuresOfOneMomentAreOneRound() {
        var stage = Stage(plan(20, perHost: 6))
        stage.turn(after: .seconds(1))
        for task in 0..<6 { stage.end(task, Verdict(.failed(TransferError(.networkConnectionLost, "lost")))) }
        #expect(stage.turn().count == 6)
    }

    /// Bodies that a host takes piece by piece and cuts, saying each time that it keeps what it has: it is there.
    @Test func whoSaysSomethingBeforeACutIsThere() {
        let cut = Verdict(.failed(TransferError(.networkConnectionLost, "cut")), sentSomething: true)
        var stage = Stage(plan(40, perHost: 2) { for index in 0..<40 { $0.policies[index].retry.attempts = 9 } })
        for _ in 0..<6 {
            #expect(stage.running.count == 2)
            for task in stage.running {
                stage.receive(.heard(TaskIndex(raw: UInt32(task))))
                stage.end(task, cut)
            }
            stage.turn()
        }
        // One that says nothing is counted as ever.
        for _ in 0..<3 {
            for task in stage.running { stage.end(task, cut) }
            stage.turn()
        }
        #expect(stage.running.isEmpty)
        // A probe that hears something opens the host, before it ends.
        let probe = stage.turn(after: .seconds(1))
        #expect(probe.count == 1)
        stage.receive(.heard(TaskIndex(raw: UInt32(probe[0]))))
        #expect(stage.turn().count == 1)
    }

    @Test func aProbeThatTellsNothingIsFollowedByAnother() {
        var stage = Stage(plan(20, perHost: 2))
        for _ in 0..<3 {
            for task in stage.running { stage.end(task, refused) }
            stage.turn()
        }
        let probe = stage.turn(after: .seconds(1))
        stage.scheduler.command(.cancel([TaskIndex(raw: UInt32(probe[0]))], keepPartial: true), now: stage.clock.now)
        stage.turn()
        stage.endCancelled(probe[0])
        #expect(stage.turn().count == 1)
    }

    /// It waits for another, which may be the one that has to ask this host.
    @Test func aProbeThatSentNothingIsFollowedByAnother() {
        var stage = Stage(plan(20, perHost: 2))
        for _ in 0..<3 {
            for task in stage.running { stage.end(task, refused) }
            stage.turn()
        }
        let probe = stage.turn(after: .seconds(1))
        #expect(probe.count == 1 && stage.turn().isEmpty)
        stage.receive(.unused(TaskIndex(raw: UInt32(probe[0])), host))
        #expect(stage.turn().count == 1)
    }
}
