import Scheduling
import TestSupport
import Testing
import TransferModel

/// What a run's events come to, and a scheduler that goes on from them: on another clock, after a pause.
@Suite struct HistoryTests {
    /// Tells the events of a run by hand, and lets a scheduler go on from them.
    private struct Teller {
        var clock = ManualClock()
        var history: RunHistory
        private var sequence: UInt64 = 0

        init(tasks: Int) {
            history = RunHistory(taskCount: tasks, sessionCount: 1)
            for task in 0..<tasks {
                tell(task, .taskCreated)
                tell(task, .taskResumed)
            }
        }

        mutating func tell(_ task: Int, _ kind: Event.Kind, after span: TimeSpan = .zero) {
            clock.advance(span)
            sequence += 1
            history.apply(
                Event(
                    time: clock.wall, sequence: sequence, session: SessionIndex(raw: 0),
                    task: TaskIndex(raw: UInt32(task)), kind: kind))
        }

        mutating func start(_ task: Int, _ number: Int = 1, at url: String = "http://a/", after span: TimeSpan = .zero)
        {
            tell(task, .attemptStarted(AttemptStart(number: number, url: url)), after: span)
        }

        mutating func end(
            _ task: Int, _ error: TransferError? = nil, backoff: TimeSpan? = nil, lasted: TimeSpan,
            outcome: TaskOutcome = .failed
        ) {
            let record = AttemptRecord(
                number: 1, url: "http://a/", outcome: error == nil ? .succeeded : outcome, resumedFrom: 0,
                startedAt: clock.wall, duration: lasted, error: error, backoff: backoff, transactions: [])
            tell(task, .attemptFinished(record), after: lasted)
        }

        mutating func finish(_ task: Int, _ outcome: TaskOutcome = .succeeded, _ error: TransferError? = nil) {
            let record = TaskRecord(
                outcome: outcome, tolerated: false, changed: nil, source: nil, waits: [], error: error, body: nil,
                lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
            tell(task, .taskFinished(record))
        }

        /// The machine was started anew: its clocks begin near zero, and the date went on by `gap`.
        func reboot(after gap: TimeSpan) -> ManualClock {
            ManualClock(instant: Instant(nanoseconds: 5_000_000_000), wall: clock.wall + gap)
        }
    }

    private static let cut = TransferError(.networkConnectionLost, "the connection was lost")

    @Test func whatHasEndedStaysSoAndLetsGoWhatNeedsIt() {
        let plan = plan(3) {
            $0.tasks[1].needs = needs(0)
            $0.tasks[2].needs = needs(1)
        }
        var teller = Teller(tasks: 3)
        teller.start(0)
        teller.end(0, lasted: .seconds(1))
        teller.finish(0)
        var stage = Stage(plan, goingOn: teller.history, at: teller.reboot(after: .seconds(10)))
        #expect(stage.running == [1] && stage.ends[0] == nil)
        stage.end(1, Verdict(.failed(TransferError(.badURL, "x"))))
        stage.turn()
        #expect(stage.ends[2]?.outcome == .skipped)
        #expect(stage.ends[2]?.duration == .seconds(11), "since the run's beginning, in whatever process")
    }

    /// The end of the journal was lost, and with it what became of a request that must not be sent twice.
    @Test(arguments: [false, true]) func lostRequest_isNotSentAgain(_ knowsAnEarlierAttempt: Bool) {
        let plan = plan(3) { $0.tasks[1].needs = needs(0) }
        var teller = Teller(tasks: 3)
        if knowsAnEarlierAttempt { teller.start(0) }
        let clock = teller.reboot(after: .seconds(10))
        var stage = Stage(plan, goingOn: teller.history, at: clock, lost: [TaskIndex(raw: 0)])
        #expect(stage.running == [2])
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.error == .lostFromJournal)
        #expect(stage.ends[1]?.outcome == .skipped)
        stage.end(2)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    /// The process ended after the second task's attempt, and before its end was told.
    @Test func anUnmetNeedSkipsWhateverTheOtherNeedsStillOwe() {
        var teller = Teller(tasks: 3)
        for task in 0...1 { teller.start(task) }
        teller.end(0, TransferError(.badURL, "x"), lasted: .seconds(1))
        teller.finish(0, .failed, TransferError(.badURL, "x"))
        teller.end(1, lasted: .seconds(1))
        let plan = plan(3) { $0.tasks[2].needs = needs(0, 1) }
        let stage = Stage(plan, goingOn: teller.history, at: teller.reboot(after: .seconds(10)))
        #expect(stage.ends[1]?.outcome == .succeeded)
        #expect(stage.running.isEmpty && stage.ends[2]?.outcome == .skipped)
    }

    @Test func aWaitThatSomebodyEndedIsWhatItWas() {
        var teller = Teller(tasks: 2)
        teller.start(0)
        teller.end(0, TransferError(.userAuthenticationRequired, "who?"), lasted: .seconds(1))
        teller.tell(0, .waiting(.credential))
        teller.tell(0, .taskResumed, after: .seconds(2))
        teller.start(0, 2, after: .seconds(3))
        #expect(
            teller.history.tasks[0].waits == [TaskRecord.Wait(reason: .credential, duration: .seconds(2))])
        #expect(teller.history.tasks[0].untoldWait == .seconds(3), "for which limit it waited was not told")
    }

    /// Waits for limits are told only where somebody reads the events: then the narrowest limit is the reason.
    @Test(
        arguments: [
            (1, nil, 64, .hostLimit), (6, 1, 64, .sessionLimit), (6, nil, 1, .runLimit), (6, 8, 64, .hostLimit),
        ] as [(Int, Int?, Int, WaitReason)])
    func aWaitThatNobodyTold_isForTheNarrowestLimit(_ host: Int, _ session: Int?, _ run: Int, _ reason: WaitReason) {
        var teller = Teller(tasks: 2)
        teller.start(0)
        var stage = Stage(
            plan(2, perHost: host, run: run, session: session), goingOn: teller.history,
            at: teller.reboot(after: .seconds(10)))
        stage.end(0)
        stage.turn()
        if stage.running.contains(1) { stage.end(1) }
        stage.turn()
        #expect(stage.wait(1, reason) >= .seconds(10))
        #expect(stage.ends[1]?.waits.map(\.reason) == [reason])
    }

    /// What is verified waits for the others of its group with its attempt, and for nothing afterwards.
    @Test func aWaitForTheGroupEndsWithItsAttempt() {
        var teller = Teller(tasks: 1)
        teller.start(0)
        teller.tell(0, .waiting(.dependency))
        #expect(teller.history.tasks[0].waiting == nil)
    }

    @Test func anAttemptThatDiedWithItsProcessEndsAndCountsForNothing() {
        var teller = Teller(tasks: 1)
        teller.start(0)
        teller.end(0, Self.cut, backoff: .seconds(1), lasted: .seconds(2))
        teller.start(0, 2, after: .seconds(1))
        #expect(teller.history.tasks[0].tries == 1)
        var stage = Stage(plan(1), goingOn: teller.history, at: teller.reboot(after: .seconds(30)))
        #expect(stage.attemptEnds.map(\.error) == [.processEnded] && stage.attemptEnds[0].outcome == .cancelled)
        #expect(stage.running == [0])
        // Three attempts that count, as the policy says: one before, two here.
        stage.end(0, Verdict(.failed(Self.cut)))
        stage.turn()
        #expect(stage.ends.isEmpty)
        stage.turn(after: .seconds(60))
        stage.end(0, Verdict(.failed(Self.cut)))
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed && stage.ends[0]?.attempts == 4)
        #expect(stage.wait(0, .backoff) == .seconds(61))
    }

    /// What the network does lengthens the pauses until somebody answers, whoever goes on with the run.
    @Test func whatTheNetworkDidBeforeAnAnswerIsOver() {
        func pauses(_ ends: [TransferError]) -> [TimeSpan] {
            var teller = Teller(tasks: 1)
            for error in ends {
                teller.start(0)
                teller.end(0, error, backoff: .seconds(1), lasted: .seconds(1))
                teller.tell(0, .waiting(.backoff), after: .seconds(1))
            }
            let patient = plan(1) {
                $0.sessions[0].isPatient = true
                $0.policies[0].retry.attempts = 100
            }
            var stage = Stage(patient, goingOn: teller.history, at: teller.reboot(after: .seconds(60)))
            stage.end(0, Verdict(.failed(Self.cut)))
            stage.turn()
            return stage.backoffs
        }
        let busy = TransferError(.unexpectedResponse, "503")
        #expect(pauses([busy, Self.cut]).count == 1)
        #expect(pauses([Self.cut, Self.cut, Self.cut, busy, Self.cut]) == pauses([busy, Self.cut]))
        #expect(pauses([busy, Self.cut, Self.cut])[0] > pauses([busy, Self.cut])[0])
    }

    /// Nothing tells that others found the second place dead; but the first came again, so a round was over.
    @Test(arguments: [false, true]) func roundsThatOthersEndedCount(_ waits: Bool) {
        func plan(_ tries: Int) -> SchedulingPlan {
            SchedulingTests.plan(1) {
                $0.mirrors[TaskIndex(raw: 0)] = [OriginID(raw: 0), OriginID(raw: 1)]
                $0.policies[0].retry.attempts = tries
                $0.policies[0].waitsForConnectivity = waits
            }
        }
        let broken = TransferError(.unexpectedResponse, "500")
        /// How many attempts follow where the second place failed in each round by what others found out.
        func left(_ tries: Int, _ error: TransferError) -> Int {
            var teller = Teller(tasks: 1)
            for number in 1...3 {
                teller.start(0, number, at: "http://a/")
                teller.end(0, error, lasted: .seconds(1))
            }
            teller.start(0, 4, at: "http://a/")
            var stage = Stage(plan(tries), goingOn: teller.history, at: teller.reboot(after: .seconds(1)))
            var count = 0
            while stage.ends[0] == nil, count < 100 {
                for task in stage.running {
                    count += 1
                    stage.end(task, Verdict(.failed(error), status: error == broken ? 500 : nil))
                }
                if stage.turn().isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                    stage.turn(after: due - stage.clock.instant)
                }
            }
            return count
        }
        // Three rounds are over, of which the last one's pause is not told: the fourth begins anew.
        #expect(left(5, broken) == 4)
        #expect(left(4, broken) == 2)
        #expect(left(1, broken) == 2, "what was begun may come to its end")
        // Without a network no place was used up.
        #expect(left(5, Self.cut) == (waits ? 10 : 4))
    }

    @Test func aPauseKeepsItsMomentAndItsHostItsQuiet() {
        var teller = Teller(tasks: 2)
        teller.start(0)
        teller.end(0, TransferError(.unexpectedResponse, "503"), backoff: .seconds(100), lasted: .seconds(1))
        teller.tell(0, .waiting(.retryAfter))
        var stage = Stage(plan(2), goingOn: teller.history, at: teller.reboot(after: .seconds(40)))
        #expect(stage.running == [], "the host asked for quiet, whoever comes")
        #expect(stage.tellings[0] == nil, "what was told of a wait that goes on is not told again")
        stage.turn(after: .seconds(59))
        #expect(stage.running == [])
        stage.turn(after: .seconds(1))
        #expect(stage.running.count == 1)
    }

    @Test func patienceGoesOnWhileTheMachineIsOff() {
        let limited = plan(1) { $0.policies[0].timeoutForResource = .seconds(100) }
        var teller = Teller(tasks: 1)
        teller.start(0)
        var stage = Stage(limited, goingOn: teller.history, at: teller.reboot(after: .seconds(60)))
        #expect(stage.running == [0])
        stage.turn(after: .seconds(39))
        #expect(stage.cancelled == [])
        stage.turn(after: .seconds(1))
        #expect(stage.cancelled == [0])
        let late = Stage(limited, goingOn: teller.history, at: teller.reboot(after: .seconds(101)))
        #expect(late.ends[0]?.error?.name == .timedOut && late.running == [])
    }

    @Test func aDateThatWasSetBackGivesNoTime() {
        var teller = Teller(tasks: 1)
        teller.start(0)
        teller.tell(0, .becameDownload, after: .seconds(50))
        let elapsed = teller.history.elapsed
        teller.clock.setWall(teller.clock.wall + .seconds(-3_600))
        #expect(teller.history.elapsed(at: teller.clock.wall) == elapsed)
        teller.tell(0, .becameDownload)
        teller.tell(0, .becameDownload, after: .seconds(5))
        #expect(teller.history.elapsed == elapsed + .seconds(5), "from there it goes on")
    }

    @Test func whatACommandSuspendedStaysSuspended() {
        let plan = plan(2) { $0.tasks[1].needs = needs(0) }
        var teller = Teller(tasks: 2)
        // The second before its turn had come.
        teller.tell(1, .waiting(.dependency))
        teller.tell(1, .waiting(.suspended))
        teller.tell(0, .waiting(.suspended))
        var stage = Stage(plan, goingOn: teller.history, at: teller.reboot(after: .seconds(10)))
        #expect(stage.running == [])
        #expect(stage.command(.resume(needs(0))) == [0])
        stage.turn(after: .seconds(5))
        stage.end(0)
        stage.turn()
        #expect(stage.running == [] && stage.ends[0]?.outcome == .succeeded)
        #expect(stage.wait(0, .suspended) == .seconds(10))
        #expect(stage.command(.resume(needs(1))) == [1])
        #expect(stage.turn() == [1])
    }

    @Test func aSuspensionIsToldBeforeTheTasksTurnCame() {
        var stage = Stage(plan(2) { $0.tasks[1].needs = needs(0) })
        stage.command(.suspend(needs(1)))
        stage.turn()
        #expect(stage.tellings[1] == [.dependency, .suspended])
    }

    @Test func theGroupOfOneThatSucceededWasPublished() {
        let grouped = plan(3) {
            $0.groupCount = 1
            for task in 0..<2 { $0.tasks[task].group = GroupIndex(raw: 0) }
            $0.tasks[2].neededGroups = [GroupIndex(raw: 0)]
        }
        var teller = Teller(tasks: 3)
        for task in 0..<2 { teller.start(task) }
        let verified = teller
        teller.end(0, lasted: .seconds(1))
        teller.finish(0)
        let stage = Stage(grouped, goingOn: teller.history, at: teller.reboot(after: .seconds(1)))
        #expect(stage.ends[1]?.outcome == .succeeded && stage.running == [2] && stage.published == [])
        // Verified is not published: both are fetched again.
        let again = Stage(grouped, goingOn: verified.history, at: teller.reboot(after: .seconds(1)))
        #expect(again.running == [0, 1] && again.ends.isEmpty)
    }

    @Test func crashesInARowAreCounted() {
        var teller = Teller(tasks: 1)
        for number in 1...2 {
            teller.start(0, number)
            teller.end(0, .processCrashed, lasted: .seconds(1), outcome: .cancelled)
        }
        #expect(teller.history.suspects(hasCrashed: false) == needs(0))
        var healed = teller
        healed.start(0, 3)
        #expect(healed.history.suspects(hasCrashed: true) == needs(0))
        healed.end(0, Self.cut, backoff: .seconds(1), lasted: .seconds(1))
        #expect(healed.history.suspects(hasCrashed: false) == [] && healed.history.tasks[0].crashes == 0)
        teller.start(0, 3)
        let crashed = Stage(plan(1), goingOn: teller.history, hasCrashed: true, at: teller.reboot(after: .zero))
        #expect(crashed.attemptEnds.map(\.error) == [.processCrashed])
        #expect(crashed.ends[0]?.error?.name == .taskCrashedRunner)
        // Killed is not crashed.
        let killed = Stage(plan(1), goingOn: teller.history, at: teller.reboot(after: .zero))
        #expect(killed.running == [0] && killed.attemptEnds.map(\.error) == [.processEnded])
    }

    @Test func theRunsOwnLimitsCountFromItsBeginning() {
        var teller = Teller(tasks: 1)
        teller.start(0)
        let limited = plan(1) { $0.timeout = .seconds(60) }
        let late = Stage(limited, goingOn: teller.history, at: teller.reboot(after: .seconds(61)))
        #expect(late.ends[0]?.outcome == .cancelled && late.ends[0]?.error?.name == .timedOut)
        var metrics = TransactionMetrics(method: "GET", url: "http://a/", fetchStart: teller.clock.wall)
        metrics.responseBodyBytesReceived = 1_000
        let record = AttemptRecord(
            number: 1, url: "http://a/", outcome: .failed, resumedFrom: 0, startedAt: teller.clock.wall,
            duration: .zero, error: Self.cut, backoff: .zero, transactions: [metrics])
        teller.tell(0, .attemptFinished(record))
        #expect(teller.history.bytesMoved == 1_000)
        let full = Stage(plan(1) { $0.maximumBytes = 1_000 }, goingOn: teller.history, at: teller.clock)
        #expect(full.ends[0]?.deferral == .maximumBytes)
    }

    // MARK: What somebody else carries

    @Test func outsideEndsLetTasksGoInAnyOrder() {
        var random = Seeded("outsideEndsLetTasksGoInAnyOrder")
        for _ in 0..<Rounds.scaled(200) {
            let count = 1 + random.below(8)
            var outside: [TaskIndex: [Int]] = [:]
            let others = 1 + random.below(4)
            let plan = plan(count) { plan in
                for task in 0..<count {
                    let needed = (0..<others).filter { _ in random.oneIn(3) }
                    if !needed.isEmpty { outside[TaskIndex(raw: UInt32(task))] = needed }
                    if task > 0, random.oneIn(3) { plan.tasks[task].needs = needs(random.below(task)) }
                    plan.policies[task].isSuspended = random.oneIn(6)
                }
                plan.outsideNeeds = outside.mapValues(\.count)
            }
            var stage = Stage(plan)
            let fails = (0..<others).map { _ in random.oneIn(4) }
            var told: Set<Int> = []
            for other in (0..<others).shuffled(using: &random) {
                let waiting = outside.filter { $0.value.contains(other) }.map(\.key).sorted()
                for task in waiting {
                    #expect(!stage.running.contains(Int(task.raw)), "it needs what has not ended")
                    #expect(stage.ends[Int(task.raw)]?.outcome != .deferred, "somebody will come")
                }
                stage.scheduler.outsideEnded(waiting, succeeded: !fails[other], now: stage.clock.now)
                told.insert(other)
                stage.turn(after: .milliseconds(1))
                while let task = stage.running.first {
                    #expect(
                        outside[TaskIndex(raw: UInt32(task))]?.allSatisfy { told.contains($0) && !fails[$0] } ?? true)
                    stage.end(task)
                    stage.turn()
                }
            }
            while let task = stage.running.first {
                stage.end(task)
                stage.turn()
            }
            #expect(stage.scheduler.isFinished == true)
            for task in 0..<count where outside[TaskIndex(raw: UInt32(task))]?.contains(where: { fails[$0] }) ?? false {
                let outcome = stage.ends[task]?.outcome
                #expect(outcome == .skipped || outcome == .deferred)
            }
        }
    }
}
