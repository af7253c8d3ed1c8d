import BackgroundService
import JobRunner
import Stores
import TestSupport
import Testing
import TransferModel

/// What is told of sessions from the journal alone, and with the process's word.
struct SessionReaderTests {
    private let tree: TemporaryTree
    private let folder: StateFolder
    private let journal: Journal

    init() throws {
        tree = try TemporaryTree("state")
        folder = try StateFolder(directory: tree.path, workingDirectory: "/") { _ in nil }
        journal = try Journal.open(folder: folder.state)
    }

    private func accept(_ identifiers: [String], tasks: [String]) throws -> RunID {
        let run = AcceptedRun(
            identifiers: identifiers, job: "nightly", file: "job.yaml", folder: "/", report: "/r.json",
            createdAt: WallTime(nanoseconds: 1))
        return try journal.accept(run, inputs: [], tasks: tasks)
    }

    private func tell(_ run: RunID, _ kinds: [(Int?, Event.Kind)], from first: UInt64 = 1) throws {
        let events = kinds.enumerated().map { place, told in
            Event(
                time: WallTime(nanoseconds: 1000 + Int64(place)), sequence: first + UInt64(place), session: nil,
                task: told.0.map { TaskIndex(raw: UInt32($0)) }, kind: told.1)
        }
        _ = try journal.append(events, to: run)
    }

    private func start(_ number: Int) -> Event.Kind { .attemptStarted(AttemptStart(number: number, url: "http://x/")) }

    private func end(
        _ outcome: TaskOutcome, received: Int64, status: Int? = 200, backoff: TimeSpan? = nil,
        error: TransferError? = nil, startedOver: String? = nil
    ) -> Event.Kind {
        var transaction = TransactionMetrics(method: "GET", url: "http://x/", fetchStart: WallTime(nanoseconds: 0))
        transaction.responseBodyBytesReceived = received
        transaction.status = status
        return .attemptFinished(
            AttemptRecord(
                number: 1, url: "http://x/", outcome: outcome, resumedFrom: 0, startedOver: startedOver,
                startedAt: WallTime(nanoseconds: 0), duration: .zero, error: error, backoff: backoff,
                transactions: [transaction]))
    }

    private func over(_ outcome: TaskOutcome, _ error: TransferError? = nil) -> Event.Kind {
        .taskFinished(
            TaskRecord(
                outcome: outcome, tolerated: false, changed: nil, source: nil, waits: [], error: error, body: nil,
                lengthUnverified: false, captures: [], duration: .zero, explanation: nil))
    }

    @Test func theJournalAloneTells() throws {
        #expect(try SessionReader(folder).sessions(live: nil) == [])
        let run = try accept(["a"], tasks: ["w", "x", "y", "z"])
        let reader = SessionReader(folder)
        try tell(
            run,
            [
                (0, .taskCreated), (0, .waiting(.network, lacks: "a network: there is none")), (1, start(1)),
                (2, start(1)), (2, .waiting(.suspended)), (2, end(.cancelled, received: 7)), (2, .waiting(.dependency)),
                (3, start(1)), (3, end(.failed, received: 3, backoff: .seconds(1))), (3, .waiting(.backoff)),
                (3, start(2)),
                (3, end(.failed, received: 5)), (3, over(.failed, TransferError(.timedOut, "no byte came"))),
            ])
        let session = try #require(reader.sessions(live: nil).first)
        #expect(session.identifier == "a" && session.job == "nightly" && session.report == "/r.json")
        #expect(session.state == .waiting)
        #expect(session.tasks.map(\.id) == ["w", "x", "y", "z"])
        #expect(session.tasks.map(\.type) == [nil, nil, nil, nil], "no job was handed over with it")
        // Nobody carries what was under way.
        #expect(session.tasks.map(\.state) == [.waiting, .waiting, .suspended, .finished])
        #expect(session.tasks.map(\.waitingFor) == [.network, nil, .suspended, nil])
        #expect(session.tasks[0].lacks == "a network: there is none")
        #expect(session.tasks.map(\.attempts) == [0, 1, 1, 2])
        #expect(session.tasks.map(\.bytesReceived) == [0, 0, 7, 5])
        #expect(session.tasks.map(\.outcome) == [nil, nil, nil, .failed])
        #expect(session.tasks.map { $0.error?.name } == [nil, nil, nil, .timedOut])
        // Asked again, it goes on from there.
        try tell(run, [(2, .taskResumed), (2, start(2)), (2, over(.succeeded))], from: 14)
        #expect(try reader.sessions(live: nil)[0].tasks[2].outcome == .succeeded)
        // Its last event comes before its report and its commands; tasks that are added make it go on.
        let ended = Event.Kind.runFinished(RunRecord(outcome: .failed, exitStatus: 1, duration: .zero))
        try tell(run, [(nil, ended)], from: 17)
        #expect(try reader.sessions(live: nil)[0].endingSince == WallTime(nanoseconds: 1000))
        try tell(run, [(0, start(1))], from: 18)
        #expect(try reader.sessions(live: nil)[0].endingSince == nil)
    }

    @Test func theProcessAddsWhatItKnows() throws {
        let run = try accept(["a"], tasks: ["x", "y", "z"])
        try tell(run, [(0, start(1)), (1, start(1)), (1, over(.succeeded)), (2, .waiting(.hostLimit))])
        var live = RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0))
        live.tasks = [
            RunStatus.Task(id: "x", state: .running, bytesReceived: 10, expected: 20, attempts: 2),
            // It was asked before the journal was read.
            RunStatus.Task(id: "y", state: .running, bytesReceived: 1),
            // The journal does not know of it yet.
            RunStatus.Task(id: "z", state: .waiting, waitingFor: .credential, attempts: 1),
        ]
        let session = try #require(SessionReader(folder).sessions("a", live: [SessionStatus("a", live)]).first)
        #expect(session.state == .running)
        #expect(session.tasks.map(\.state) == [.running, .finished, .waiting])
        #expect(session.tasks[0].bytesReceived == 10 && session.tasks[0].expected == 20)
        #expect(session.tasks[2].waitingFor == .credential)
        #expect(session.tasks.map(\.attempts) == [2, 1, 1])
        #expect(session.trouble == nil)
        // One that cannot carry it now.
        let held = SessionStatus("a", RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0)), trouble: "full")
        let waiting = try #require(SessionReader(folder).sessions("a", live: [held]).first)
        #expect(waiting.trouble == "full" && waiting.tasks[0].state == .waiting)
        // A process that is there and does not carry it.
        #expect(try SessionReader(folder).sessions("a", live: [])[0].tasks[0].state == .waiting)
    }

    @Test func whatTheLastAttemptFailedBy_isToldUntilTheTaskEnds() throws {
        let run = try accept(["a"], tasks: ["x"])
        let reader = SessionReader(folder)
        func task() throws -> SessionTask { try reader.sessions(live: nil)[0].tasks[0] }
        let refused = TransferError(.cannotConnectToHost, "127.0.0.1 port 1 refused the connection")
        let failure = end(.failed, received: 0, backoff: .seconds(30), error: refused, startedOver: "it changed")
        try tell(run, [(0, start(1)), (0, failure), (0, .waiting(.backoff))])
        #expect(try task().error == refused && task().startedOver == "it changed")
        #expect(try task().nextAttemptAt == WallTime(nanoseconds: 1001) + .seconds(30))
        try tell(run, [(0, start(2))], from: 4)
        #expect(try task().error == refused && task().nextAttemptAt == nil && task().startedOver == nil)
        // The process knows better when: others may have had the host parked.
        var live = RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0))
        let later = WallTime(nanoseconds: 5_000)
        live.tasks = [
            RunStatus.Task(
                id: "x", state: .waiting, waitingFor: .hostParked, attempts: 2, error: TransferError(.timedOut, "late"),
                nextAttemptAt: later)
        ]
        let told = try reader.sessions(live: [SessionStatus("a", live)])[0].tasks[0]
        #expect(told.nextAttemptAt == later && told.error?.name == .timedOut)
        try tell(run, [(0, end(.cancelled, received: 0, error: .processEnded))], from: 5)
        #expect(try task().error == refused, "it was interrupted")
        try tell(run, [(0, start(3)), (0, end(.succeeded, received: 5)), (0, over(.succeeded))], from: 6)
        #expect(try task().error == nil)
    }

    /// A task that has ended while the disk is full is at work no more.
    @Test func endThatCannotBeWrittenDown_isNoWork() throws {
        let run = try accept(["a"], tasks: ["x", "y"])
        try tell(run, [(0, start(1)), (1, start(1))])
        func session(_ counts: [RunStatus.State: Int], _ tasks: [String]) throws -> BackgroundSession {
            var live = RunStatus(job: "nightly", startedAt: WallTime(nanoseconds: 0), counts: counts)
            live.tasks = tasks.map { RunStatus.Task(id: $0, state: .running) }
            return try SessionReader(folder).sessions("a", live: [SessionStatus("a", live, trouble: "full")])[0]
        }
        let half = try session([.finished: 1, .running: 1], ["y"])
        #expect(half.tasks.map(\.state) == [.finished, .running] && half.tasks[0].outcome == nil)
        let whole = try session([.finished: 2], [])
        #expect(whole.tasks.map(\.state) == [.finished, .finished])
        #expect(whole.state == .waiting, "its end is yet to be written down")
        // A process that has not taken in all tasks says nothing of the others.
        #expect(try session([.running: 1], ["y"]).tasks.map(\.state) == [.running, .running])
    }

    /// An attempt that finds no server leaves what came before it where it is, and so does one that is told to come later.
    @Test func bytesOfAnEarlierAttemptStay_whereALaterOneBroughtNone() throws {
        let run = try accept(["a"], tasks: ["x"])
        let reader = SessionReader(folder)
        func received() throws -> Int64 { try reader.sessions(live: nil)[0].tasks[0].bytesReceived }
        try tell(run, [(0, start(1)), (0, end(.failed, received: 500)), (0, .waiting(.backoff))])
        #expect(try received() == 500)
        try tell(run, [(0, start(2)), (0, end(.failed, received: 0, status: nil)), (0, .waiting(.backoff))], from: 4)
        #expect(try received() == 500)
        try tell(run, [(0, start(3)), (0, end(.failed, received: 9, status: 503)), (0, .waiting(.backoff))], from: 7)
        #expect(try received() == 500)
        try tell(run, [(0, start(4)), (0, end(.failed, received: 80)), (0, .waiting(.backoff))], from: 10)
        #expect(try received() == 80, "it began anew")
    }

    /// The end is kept when what was handed over is erased: each task's events and the run's status.
    @Test func anEndedRunIsKnownByItsEvents() throws {
        let run = try accept(["a"], tasks: ["x", "y"])
        try tell(run, [(0, start(1)), (0, end(.succeeded, received: 5)), (0, over(.succeeded)), (1, over(.failed))])
        try journal.recordEnd(of: run, RunEnd(at: WallTime(nanoseconds: 5), outcome: .failed, exitStatus: 1))
        let long = WallTime(nanoseconds: 4)
        #expect(EndedRun.last(of: ["a"], after: long, folder) == nil, "nobody was told of its end")
        try journal.deliver(run, now: WallTime(nanoseconds: 6))
        #expect(EndedRun.last(of: ["b"], after: long, folder) == nil)
        #expect(EndedRun.last(of: ["a"], after: WallTime(nanoseconds: 5), folder) == nil)
        let ended = try EndedRun(try #require(EndedRun.last(of: ["b", "a"], after: long, folder)), folder)
        #expect(ended.job.tasks.map(\.id) == ["x", "y"] && ended.events.count == 4 && ended.run.end?.exitStatus == 1)
    }

    /// Which task a skipped one needed is left in its error alone.
    @Test func anEndedRun_knowsWhatWasSkippedForWhat() throws {
        let run = try accept(["a"], tasks: ["x", "y", "z"])
        let because = TransferError(.dependencyFailed, "`x`, which it needs, failed")
        try tell(run, [(0, over(.failed)), (1, over(.skipped, because)), (2, over(.skipped))])
        try journal.recordEnd(of: run, RunEnd(at: WallTime(nanoseconds: 5), outcome: .failed, exitStatus: 1))
        try journal.deliver(run, now: WallTime(nanoseconds: 6))
        let last = EndedRun.last(of: ["a"], after: WallTime(nanoseconds: 4), folder)
        let ended = try EndedRun(try #require(last), folder)
        #expect(ended.job.tasks.map(\.needs) == [[], [TaskIndex(raw: 0)], []])
    }

    @Test func onlyWhatNobodyHasHeardOfIsTold() throws {
        let run = try accept(["a", "b"], tasks: ["x"])
        let reader = SessionReader(folder)
        #expect(try reader.sessions(live: nil).map(\.identifier) == ["a", "b"])
        #expect(try reader.sessions("b", live: nil).map(\.identifier) == ["b"])
        try tell(run, [(0, start(1)), (0, over(.cancelled))])
        try journal.recordEnd(of: run, RunEnd(at: WallTime(nanoseconds: 5), outcome: .failed, exitStatus: 1))
        #expect(try reader.sessions(live: nil).map(\.state) == [.finished, .finished])
        guard case .run(let found) = try NamedSession.find("b", folder) else { throw ServiceTrouble("not found") }
        #expect(found.id == run)
        try journal.deliver(run, now: WallTime(nanoseconds: 6))
        #expect(try reader.sessions(live: nil) == [])
        let told = try #require(reader.sessions("b", live: nil).first)
        #expect(told.state == .finished && told.over?.id == run && told.tasks.map(\.outcome) == [.cancelled])
        guard case .over = try NamedSession.find("b", folder) else { throw ServiceTrouble("not over") }
        guard case .unknown([]) = try NamedSession.find("c", folder) else { throw ServiceTrouble("known") }
        // Forgotten, it never was.
        try journal.erase(JournalledSession.deliveredRuns(of: "nightly", journal))
        guard case .unknown([]) = try NamedSession.find("b", folder) else { throw ServiceTrouble("known") }
        let next = try accept(["c"], tasks: ["x"])
        try journal.erase([next])
        #expect(try journal.run(next) != nil, "what nobody has heard of is not forgotten")
    }
}
