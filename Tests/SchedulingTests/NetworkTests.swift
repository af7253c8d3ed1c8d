import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks that have no network they may use, before they start and in mid-transfer.
struct NetworkTests {
    private let noCellular = NetworkTerms(allowsCellular: false)
    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }

    // MARK: Before the start

    @Test func tasksWaitForANetworkAndStartInTheirOrder() {
        var stage = Stage(plan(4, perHost: 2) { $0.mind(.cellular, terms: noCellular) })
        #expect(stage.running == [] && stage.tellings == [0: [.network], 1: [.network], 2: [.network], 3: [.network]])
        #expect(stage.scheduler.nextDeadline(now: stage.clock.now) == stage.clock.instant + .seconds(7 * 86_400))
        stage.turn(after: .seconds(5))
        stage.change(.none)
        #expect(stage.turn(after: .seconds(5)) == [] && stage.tellings[0] == [.network])
        stage.change(.wired)
        #expect(stage.turn() == [0, 1])
        stage.end(0)
        stage.end(1)
        #expect(stage.turn(after: .seconds(1)) == [2, 3])
        stage.end(2)
        stage.end(3)
        stage.turn()
        #expect(stage.wait(0, .network) == .seconds(10) && stage.wait(2, .network) == .seconds(10))
        #expect(stage.wait(2, .hostLimit) == .seconds(1))
        #expect(stage.scheduler.hosts(of: SessionIndex(raw: 0)).map(\.tasks) == [4])
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func withoutWaitingTheyFailAtOnce() {
        let allowed = Stage(plan(1) { $0.mind(.cellular, waits: false) })
        #expect(allowed.running == [0])
        let barred = Stage(plan(1) { $0.mind(.cellular, waits: false, terms: noCellular) })
        #expect(barred.ends[0]?.outcome == .failed && barred.ends[0]?.attempts == 0)
        #expect(barred.ends[0]?.error?.name == .dataNotAllowed && barred.ends[0]?.error?.reason == .cellular)
        #expect(barred.ends[0]?.error?.message.contains("net0 is cellular") == true)
        let alone = Stage(plan(1) { $0.mind(Conditions.none, waits: false) })
        #expect(alone.ends[0]?.error?.name == .notConnectedToInternet && alone.ends[0]?.error?.reason == nil)
        #expect(alone.tellings.isEmpty)
    }

    @Test func aFailureForWantOfANetworkEndsARunThatFailsFast() {
        var stage = Stage(
            plan(3, run: 1) {
                $0.mind(Conditions.none, waits: false)
                $0.failFast = true
                $0.tasks[2].needs = needs(0)
            })
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[1]?.outcome == .cancelled)
        #expect(stage.ends[2]?.outcome == .skipped && stage.scheduler.isFinished)
    }

    @Test func whereNobodyLooksNothingWaits() {
        var stage = Stage(plan(1) { $0.mind(nil, terms: noCellular) })
        #expect(stage.running == [0])
        stage.end(0, .noRoute(.cellular))
        stage.turn()
        #expect(stage.ends[0]?.error?.name == .dataNotAllowed)
    }

    @Test func whatStaysOnTheMachineNeedsNoNetwork() {
        let change = { (conditions: Conditions) in
            plan(3, origins: 3) {
                $0.mind(conditions)
                $0.localOrigins = [OriginID(raw: 1)]
                $0.tasks[2].origin = nil
            }
        }
        #expect(Stage(change(.none)).running == [1, 2])
        // The operator says what there is: then nothing but files is near.
        #expect(Stage(change(Conditions.none.dictated)).running == [2])
    }

    // MARK: While they wait

    @Test func patienceEnds() {
        var stage = Stage(
            plan(2) {
                $0.mind(Conditions.none)
                $0.policies[0].timeoutForResource = .seconds(30)
                $0.policies[1].timeoutForResource = .seconds(40)
            })
        stage.turn(after: .seconds(29))
        #expect(stage.ends.isEmpty)
        stage.turn(after: .seconds(1))
        #expect(stage.ends[0]?.error?.name == .timedOut && stage.ends[0]?.attempts == 0)
        #expect(stage.ends[0]?.error?.message.contains("waited for a network") == true)
        // The clock that began with the wait runs on in the attempt.
        stage.change(.wired)
        #expect(stage.turn() == [1])
        stage.turn(after: .seconds(10))
        #expect(stage.cancelled == [1])
    }

    @Test func commandsReachThoseWhoWait() {
        var stage = Stage(plan(4) { $0.mind(Conditions.none) })
        #expect(stage.command(.suspend([index(0), index(1)])) == [0, 1])
        #expect(stage.command(.cancel([index(2)], keepPartial: true)) == [2])
        stage.turn(after: .seconds(3))
        stage.change(.wired)
        #expect(stage.turn() == [3])
        stage.change(.none)
        #expect(stage.command(.resume([index(0), index(1)])) == [0, 1])
        #expect(stage.turn() == [] && stage.tellings[0] == [.network, .suspended, .network])
        stage.turn(after: .seconds(1))
        stage.command(.stop(signal: 2))
        stage.turn()
        #expect(stage.ends[2]?.outcome == .cancelled && stage.ends[0]?.outcome == .cancelled)
        #expect(stage.wait(0, .suspended) == .seconds(3) && stage.wait(0, .network) == .seconds(1))
    }

    @Test func whoCameBackIsParkedOnce() {
        var stage = Stage(plan(1) { $0.mind(Conditions.none) })
        for _ in 0..<5 {
            stage.command(.suspend([index(0)]))
            stage.command(.resume([index(0)]))
            stage.turn()
        }
        stage.change(.wired)
        #expect(stage.turn() == [0])
    }

    @Test func theRunsEndsReachThoseWhoWait() {
        var late = Stage(
            plan(1) {
                $0.mind(Conditions.none)
                $0.finishBy = .afterStart(.seconds(5))
            })
        late.turn(after: .seconds(5))
        #expect(late.ends[0]?.deferral == .finishBy && late.wait(0, .network) == .seconds(5))
        var out = Stage(
            plan(1) {
                $0.mind(Conditions.none)
                $0.timeout = .seconds(5)
            })
        out.turn(after: .seconds(5))
        #expect(out.ends[0]?.outcome == .cancelled && out.ends[0]?.error?.name == .timedOut)
    }

    /// Somebody may come for what waits for a network: the suspended task waits with it.
    @Test func whatWaitsIsNotIdle() {
        var stage = Stage(
            plan(2) {
                $0.mind(Conditions.none)
                $0.policies[0].isSuspended = true
            })
        #expect(stage.ends.isEmpty)
        stage.change(.wired)
        #expect(stage.turn() == [1])
        stage.end(1)
        stage.turn()
        #expect(stage.ends[0]?.deferral == .suspended)
    }

    @Test func theClockStandsStillOutsideTheWindow() {
        let begin = ManualClock().wall
        let window = WindowRule { date in
            let isOpen = date < begin + .seconds(10) || date >= begin + .seconds(100)
            let change: WallTime? = date < begin + .seconds(10) ? begin + .seconds(10) : begin + .seconds(100)
            return WindowRule.State(isOpen: isOpen, changesAt: date < begin + .seconds(100) ? change : nil)
        }
        var stage = Stage(
            plan(1) {
                $0.mind(Conditions.none)
                $0.sessions[0].window = window
                $0.policies[0].timeoutForResource = .seconds(15)
            })
        stage.turn(after: .seconds(10))
        stage.turn(after: .seconds(90))
        stage.turn(after: .seconds(4))
        #expect(stage.ends.isEmpty)
        stage.turn(after: .seconds(1))
        #expect(stage.ends[0]?.error?.name == .timedOut)
    }

    // MARK: In mid-transfer

    @Test func anAttemptThatLostItsNetworkCountsForNothing() {
        var stage = Stage(
            plan(1) {
                $0.mind(.wired)
                $0.policies[0].retry.attempts = 1
            })
        for _ in 0..<4 {
            stage.end(0, .withoutNetwork)
            #expect(stage.turn() == [0])
        }
        #expect(stage.backoffs.isEmpty && stage.attemptEnds.allSatisfy { $0.error?.name == .networkConnectionLost })
        // The next network is not there at once.
        stage.change(.none)
        stage.end(0, .withoutNetwork)
        #expect(stage.turn() == [] && stage.told[0] == .network)
        #expect(stage.turn(after: .seconds(9)) == [])
        stage.change(.cellular)
        #expect(stage.turn() == [0])
        stage.end(0, .failed(.timedOut))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.attempts == 6)
    }

    @Test func withoutWaitingItIsAFailureLikeAny() {
        var stage = Stage(plan(1) { $0.mind(.wired, waits: false) })
        stage.end(0, .withoutNetwork)
        stage.turn()
        #expect(stage.backoffs == [.seconds(1)])
        stage.change(.none)
        stage.turn(after: .seconds(1))
        #expect(stage.ends[0]?.error?.name == .notConnectedToInternet && stage.ends[0]?.attempts == 1)
    }

    /// Errors of a network that is gone say nothing of the host, which nobody probes afterwards.
    @Test(arguments: [ErrorName.timedOut, .cannotFindHost, .networkConnectionLost, .notConnectedToInternet])
    func hostsAreNotBlamed(_ name: ErrorName) {
        var stage = Stage(plan(8, perHost: 2) { $0.mind(.wired) })
        for _ in 0..<5 {
            let running = stage.running
            stage.change(.none)
            for task in running { stage.end(task, .failed(name)) }
            #expect(stage.turn(after: .seconds(1)) == [] && running.allSatisfy { stage.told[$0] == .network })
            stage.change(.wired)
            #expect(stage.turn().count == 2)
        }
        #expect(stage.backoffs.isEmpty && !stage.tellings.values.joined().contains(.hostParked))
    }

    @Test func whatMayNotBeRepeatedIsNot() {
        var stage = Stage(plan(1) { $0.mind(.wired) })
        var verdict = Verdict.withoutNetwork
        verdict.isIdempotent = false
        stage.end(0, verdict)
        stage.turn()
        #expect(stage.ends[0]?.error?.name == .networkConnectionLost)
    }

    @Test func aProbeThatLostItsNetworkIsNone() {
        var stage = Stage(plan(2, perHost: 2) { $0.mind(.wired) })
        stage.answer(0, 503)
        let busy = Verdict(
            .failed(TransferError(.unexpectedResponse, "503")), status: 503, retryAfter: .seconds(5),
            sentSomething: true)
        stage.end(0, busy)
        stage.end(1, busy)
        stage.turn()
        #expect(stage.turn(after: .seconds(5)).count == 1)
        let probe = stage.running[0]
        var verdict = Verdict.failed(.networkConnectionLost)
        verdict.lostNetwork = true
        stage.end(probe, verdict)
        // Another goes ahead in its place.
        #expect(stage.turn().count == 1)
    }

    // MARK: No route

    @Test func whoFindsNoRouteWaitsForAnyChange() {
        var stage = Stage(
            plan(1) {
                $0.mind(.wired, terms: noCellular)
                $0.policies[0].retry.attempts = 1
            })
        stage.end(0, .noRoute())
        #expect(stage.turn() == [] && stage.told[0] == .network && stage.attemptEnds.count == 1)
        #expect(stage.attemptEnds[0].error?.name == .noPermittedRoute && stage.attemptEnds[0].backoff == nil)
        #expect(stage.turn(after: .seconds(60)) == [])
        #expect(stage.turn(after: .seconds(60)) == [])
        stage.change(.cellular)
        #expect(stage.turn() == [], "it may not use that")
        stage.change(.metered)
        #expect(stage.turn() == [0])
        stage.end(0)
        stage.turn()
        #expect(stage.wait(0, .network) == .seconds(120) && stage.tellings[0] == [.network])
    }

    /// The same networks told once more: a route came or went.
    @Test func routesThatChangeAreAChange() {
        var stage = Stage(plan(1) { $0.mind(.wired) })
        stage.end(0, .noRoute())
        #expect(stage.turn(after: .seconds(1)) == [])
        stage.change(.wired)
        #expect(stage.turn() == [0])
    }

    @Test func aChangeDuringTheAttemptCounts() {
        var stage = Stage(plan(1) { $0.mind(.wired) })
        stage.change(.metered)
        stage.end(0, .noRoute())
        #expect(stage.turn() == [0])
        stage.end(0, .noRoute())
        #expect(stage.turn() == [])
    }

    @Test(arguments: [NetworkObjection.expensive, nil]) func withoutWaitingNoRouteIsTheEnd(_ reason: NetworkObjection?)
    {
        var stage = Stage(plan(1) { $0.mind(.wired, waits: false) })
        stage.end(0, .noRoute(reason))
        stage.turn()
        #expect(stage.ends[0]?.error?.name == (reason == nil ? .notConnectedToInternet : .dataNotAllowed))
        #expect(stage.ends[0]?.error?.message == "no route that may be taken" && stage.backoffs.isEmpty)
    }

    @Test func suspendingWhoFoundNoRouteForgetsNothing() {
        var stage = Stage(plan(1) { $0.mind(.wired) })
        stage.end(0, .noRoute())
        stage.turn()
        stage.command(.suspend([index(0)]))
        stage.command(.resume([index(0)]))
        #expect(stage.turn() == [])
        stage.command(.suspend([index(0)]))
        stage.change(.metered)
        stage.command(.resume([index(0)]))
        #expect(stage.turn() == [0])
    }

    // MARK: Several places

    private func mirrored(_ conditions: Conditions, waits: Bool = true) -> SchedulingPlan {
        plan(1) {
            $0.mind(conditions, waits: waits)
            $0.localOrigins = [OriginID(raw: 2)]
            $0.mirrors[index(0)] = [OriginID(raw: 0), OriginID(raw: 1)]
            $0.policies[0].retry.attempts = 1
        }
    }

    @Test func aRoundWithoutARouteIsNone() {
        var stage = Stage(mirrored(.wired))
        for place in 0..<2 {
            #expect(stage.mirrors.last == place)
            stage.end(0, .noRoute())
            stage.turn()
        }
        #expect(stage.running == [] && stage.told[0] == .network && stage.backoffs.isEmpty)
        stage.change(.metered)
        #expect(stage.turn() == [0] && stage.mirrors == [0, 1, 0], "neither host is blamed")
        stage.end(0, .withoutNetwork)
        #expect(stage.turn() == [0] && stage.mirrors.last == 0)
        stage.end(0, .failed(.checksumMismatch))
        #expect(stage.turn() == [0] && stage.mirrors.last == 1)
        stage.end(0, .noRoute())
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed, "a round in which one was asked counts")
    }

    @Test func withoutWaitingTheNextPlaceIsTried() {
        var stage = Stage(mirrored(.wired, waits: false))
        stage.end(0, .noRoute(.cellular))
        #expect(stage.turn() == [0] && stage.mirrors == [0, 1])
        stage.end(0, .noRoute())
        stage.turn()
        #expect(stage.ends[0]?.error?.name == .dataNotAllowed && stage.ends[0]?.attempts == 2)
    }

    @Test func aPlaceOnTheMachineIsTakenFirst() {
        var far = mirrored(.none)
        far.mirrors[index(0)] = [OriginID(raw: 0), OriginID(raw: 2), nil]
        var stage = Stage(far)
        #expect(stage.running == [0] && stage.mirrors == [1])
        stage.end(0, .failed(.cannotConnectToHost))
        #expect(stage.turn() == [0] && stage.mirrors == [1, 2])
        stage.end(0, .failed(.checksumMismatch))
        #expect(stage.turn() == [] && stage.told[0] == .network)
        stage.change(.wired)
        #expect(stage.turn() == [0] && stage.mirrors == [1, 2, 0])
    }

    // MARK: Many

    /// A quadratic path would take minutes here.
    @Test func aHundredThousandWaitAndReturn() {
        let count = 100_000
        var stage = Stage(plan(count, run: count, origins: 7) { $0.mind(Conditions.none) })
        #expect(stage.tellings.count == count)
        for _ in 0..<3 { stage.change(.metered.on(.low)); stage.change(.none) }
        stage.turn()
        stage.command(.suspend((0..<count).map(index)))
        stage.command(.resume((0..<count).map(index)))
        stage.turn()
        stage.change(.wired)
        let started = stage.turn()
        #expect(started == Array(started.sorted()) && started.count == 42)
    }
}
