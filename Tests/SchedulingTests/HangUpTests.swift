import Scheduling
import TestSupport
import Testing
import TransferModel

/// Hosts that take connections and end them: at all that is asked, or at some of it.
struct HangUpTests {
    private static let hungUp = Verdict(.failed(TransferError(.networkConnectionLost, "lost")), sentSomething: true)
    private static let refused = Verdict(.failed(TransferError(.cannotConnectToHost, "refused")))

    /// Goes on to the end: what the host makes of each attempt, which takes it a moment. Gives back how many there
    /// were.
    @discardableResult
    private static func run(_ stage: inout Stage, _ verdict: (_ task: Int, _ attempt: Int) -> Verdict?) -> Int {
        var attempts = 0
        while attempts < 10_000 {
            let asked = stage.running
            stage.turn(after: .milliseconds(5))
            for task in asked {
                attempts += 1
                if let verdict = verdict(task, attempts) {
                    stage.end(task, verdict)
                } else {
                    stage.answer(task)
                    stage.end(task)
                }
            }
            stage.turn()
            if stage.scheduler.isFinished { break }
            if stage.running.isEmpty, let due = stage.scheduler.nextDeadline(now: stage.clock.now) {
                stage.turn(after: due - stage.clock.instant)
            }
        }
        return attempts
    }

    private static func seconds(_ stage: borrowing Stage) -> Double {
        (stage.clock.instant - ManualClock().instant).seconds
    }

    private static func stage(_ tasks: Int, perHost: Int, tries: Int) -> Stage {
        Stage(plan(tasks, perHost: perHost) { for index in 0..<tasks { $0.policies[index].retry.attempts = tries } })
    }

    /// Bad paths at the head of a job, where nothing good was heard of the host yet.
    @Test(arguments: [1, 2, 6], [1, 2, 3])
    func someBadPathsFailNobodyElse(_ perHost: Int, _ tries: Int) {
        var stage = Self.stage(200, perHost: perHost, tries: tries)
        Self.run(&stage) { task, _ in task < 20 ? Self.hungUp : nil }
        #expect((0..<200).allSatisfy { stage.ends[$0]?.outcome == ($0 < 20 ? .failed : .succeeded) })
        #expect(Self.seconds(stage) < 20, "some of them are tried again in the end")
    }

    /// Of a host that answered before, more of them in a row are believed to be bad by themselves.
    @Test(arguments: [1, 2, 6], [1, 2, 3])
    func whereTheHostAnsweredManyMayBeBad(_ perHost: Int, _ tries: Int) {
        var stage = Self.stage(200, perHost: perHost, tries: tries)
        Self.run(&stage) { task, _ in (20..<100).contains(task) ? Self.hungUp : nil }
        #expect((0..<200).allSatisfy { stage.ends[$0]?.outcome == ((20..<100).contains($0) ? .failed : .succeeded) })
        #expect(Self.seconds(stage) < 9)
    }

    /// What probes found out counts for nobody any more once the host has answered: who failed one time is tried again.
    @Test func anAnswerForgivesWhatOthersFoundOut() {
        var stage = Self.stage(60, perHost: 1, tries: 2)
        var hasFailed = false
        Self.run(&stage) { task, _ in
            if task < 10 { return Self.hungUp }
            guard task == 50, !hasFailed else { return nil }
            hasFailed = true
            return Verdict(.failed(TransferError(.unexpectedResponse, "500")), status: 500)
        }
        #expect(hasFailed && stage.ends[50]?.outcome == .succeeded && stage.ends[50]?.attempts == 2)
    }

    /// One that hangs up at all is asked by few, and nobody waits longer for it than for one that refuses.
    @Test(arguments: [1, 6]) func aHostThatAlwaysHangsUpIsNotStormed(_ perHost: Int) {
        var stage = Self.stage(500, perHost: perHost, tries: 3)
        let attempts = Self.run(&stage) { _, _ in Self.hungUp }
        #expect(attempts <= 18 + 3 + 24 + 5)
        #expect(stage.ends.count == 500 && stage.ends.values.allSatisfy { $0.outcome == .failed })
        #expect(stage.ends[499]?.error?.message.contains("another task") == true)
        #expect(Self.seconds(stage) < 9)
    }

    @Test func neitherIsOneThatDiesOnTheWay() {
        var stage = Self.stage(500, perHost: 6, tries: 3)
        let attempts = Self.run(&stage) { task, _ in task < 100 ? nil : Self.hungUp }
        // Five rounds of six are more than a fifth of its last twenty answers.
        #expect(attempts <= 100 + 30 + 3 + 100 + 5)
        #expect(stage.ends.values.count { $0.outcome == .failed } == 400)
        #expect(Self.seconds(stage) < 9)
    }

    /// To be refused has nothing to do with what is asked: nobody else has to find it out.
    @Test func aRefusalAmongThemIsTheEnd() {
        var stage = Self.stage(500, perHost: 6, tries: 3)
        let attempts = Self.run(&stage) { _, attempt in attempt <= 24 ? Self.hungUp : Self.refused }
        #expect(attempts <= 24 + 6)
        #expect(Self.seconds(stage) < 9)
    }

    /// Streams that end with their connection tell what one of them did.
    @Test func streamsOfOneConnectionCountOnce() {
        var stage = Stage(
            plan(200, perHost: 1, streams: 12) { for index in 0..<200 { $0.policies[index].retry.attempts = 1 } })
        stage.receive(.protocolIs(host, .http2))
        stage.turn()
        let first = stage.running.count
        Self.run(&stage) { task, _ in task < 100 ? Self.hungUp : nil }
        #expect(first == 12)
        #expect((0..<200).allSatisfy { stage.ends[$0]?.outcome == ($0 < 100 ? .failed : .succeeded) })
    }

    /// Of several `urls`, too: nobody is given up who never tried one.
    @Test func placesThatHangUpFailNobodyUntried() {
        var plan = plan(80) { for index in 0..<80 { $0.policies[index].retry.attempts = 1 } }
        for index in 0..<80 {
            plan.mirrors[TaskIndex(raw: UInt32(index))] = [OriginID(raw: 0), OriginID(raw: 1)]
        }
        var stage = Stage(plan)
        let attempts = Self.run(&stage) { task, _ in task < 20 ? Self.hungUp : nil }
        #expect(attempts <= 100)
        #expect((20..<80).allSatisfy { stage.ends[$0]?.outcome == .succeeded })
        #expect((0..<20).allSatisfy { stage.ends[$0]?.outcome == .failed })
    }
}
