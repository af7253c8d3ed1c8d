import JobRunner
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A run among others of its process, of which only so many start tasks at a time.
@Suite struct RunTurnTests {
    @Test func aTurnIsGivenUpForALongRest() {
        var turn = RunTurn()
        #expect(turn.step(hasWork: true, rest: nil) == nil)
        #expect(turn.step(hasWork: false, rest: .milliseconds(500)) == nil, "it is about to start something")
        #expect(turn.step(hasWork: false, rest: .seconds(30)) == .giveUp)
        #expect(turn.step(hasWork: false, rest: .milliseconds(500)) == nil, "once")
        #expect(turn.step(hasWork: true, rest: nil) == .ask && turn.step(hasWork: true, rest: nil) == nil)
        turn.wasGiven()
        #expect(turn.step(hasWork: true, rest: nil) == nil)
        #expect(turn.step(hasWork: false, rest: nil) == .giveUp, "it waits for a person")
    }

    @Test func aTurnThatWasNotGivenIsAskedFor() {
        var turn = RunTurn()
        turn.wasNotGiven()
        #expect(turn.step(hasWork: false, rest: .seconds(30)) == .giveUp)
        #expect(turn.step(hasWork: false, rest: .seconds(30)) == nil)
        #expect(turn.step(hasWork: true, rest: nil) == .ask)
        // It was cancelled meanwhile.
        turn.wasGiven()
        #expect(turn.step(hasWork: false, rest: nil) == .giveUp)
    }

    /// A run that waits for a person says so, and what it waits for is known without it.
    @Test func aSuspendedRunRests() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        try stage.add("a", "/a") { $0.suspended = true }
        let told = Mutex<[TurnNews]>([])
        stage.waitsForResume = true
        stage.turn = TurnSettings(isGiven: true) { news in
            told.withLock { $0.append(news) }
        }
        // Whoever carries it leaves it now.
        let status = try stage.run { event, inbox in
            if case .waiting(.suspended, _) = event.kind { inbox.post(.rest) }
        }
        #expect(status == nil && stage.server.requests().isEmpty)
        #expect(told.withLock { $0 } == [.givenUp(.plain(nil))])
    }

    /// What came before it was asked to rest counts.
    @Test func aRunThatHasSomethingToDoStays() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        try stage.add("a", "/a") { $0.suspended = true }
        let told = Mutex<[TurnNews]>([])
        stage.waitsForResume = true
        stage.turn = TurnSettings(isGiven: true) { news in told.withLock { $0.append(news) } }
        let status = try stage.run { event, inbox in
            if case .waiting(.suspended, _) = event.kind {
                inbox.post([.command(.resume([TaskIndex(raw: 0)])), .rest, .turnGiven])
            }
        }
        #expect(status == .succeeded)
        #expect(told.withLock { $0 } == [.givenUp(.plain(nil)), .stays, .givenUp(.watching)])
    }

    /// A real run starts nothing before its turn.
    @Test func nothingStartsBeforeTheTurn() throws {
        let stage = try RunStage()
        defer { stage.server.stop() }
        stage.server.on("/a", .respond(200, body: "a"))
        try stage.add("a", "/a")
        let told = Mutex<[TurnNews]>([])
        stage.turn = TurnSettings(isGiven: false) { news in told.withLock { $0.append(news) } }
        let server = stage.server
        let early = Mutex<Int?>(nil)
        let status = try stage.run { event, inbox in
            // The first events are handed over when the run has had its first turn.
            guard case .taskCreated = event.kind else { return }
            early.withLock { $0 = server.requests().count }
            inbox.post(.turnGiven)
        }
        #expect(status == .succeeded && early.withLock { $0 } == 0)
        #expect(told.withLock { $0 } == [.wanted, .givenUp(.watching)])
        #expect(stage.violations() == [])
    }
}
