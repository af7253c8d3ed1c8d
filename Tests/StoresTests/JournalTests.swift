import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What tests of the journal need again and again.
enum JournalCase {
    static let now = ManualClock().wall

    static func run(_ identifiers: [String] = ["org.example.a"], job: String = "nightly") -> AcceptedRun {
        AcceptedRun(
            identifiers: identifiers, job: job, file: "/srv/jobs.yaml", folder: "/srv", arguments: ["--only", "a é"],
            report: "/srv/report.json", events: nil, createdAt: now, boot: "boot-1")
    }

    static func event(_ sequence: UInt64, _ kind: Event.Kind, task: UInt32? = 0, after seconds: Int64 = 0) -> Event {
        Event(
            time: now + .seconds(seconds), sequence: sequence, session: SessionIndex(raw: 0),
            task: task.map { TaskIndex(raw: $0) }, kind: kind)
    }

    static let end = RunEnd(at: now + .seconds(60), outcome: .failed, exitStatus: 1)

    /// A finished run of one event.
    static func finished(_ journal: Journal, _ identifier: String, at date: WallTime = end.at) throws -> RunID {
        let id = try journal.accept(run([identifier]), inputs: [], tasks: ["t"])
        try journal.append([event(1, .taskCreated)], to: id)
        try journal.recordEnd(of: id, RunEnd(at: date, outcome: .succeeded, exitStatus: 0))
        return id
    }

    static func finish(_ outcome: TaskOutcome) -> Event.Kind {
        .taskFinished(
            TaskRecord(
                outcome: outcome, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
                lengthUnverified: false, captures: [], duration: .zero, explanation: nil))
    }

    static func attemptEnd(_ number: Int, _ outcome: TaskOutcome, backoff: TimeSpan? = nil) -> Event.Kind {
        .attemptFinished(
            AttemptRecord(
                number: number, url: "u", outcome: outcome, resumedFrom: 0, startedAt: now, duration: .zero, error: nil,
                backoff: backoff, transactions: []))
    }
}

@Suite struct JournalTests {
    private let now = JournalCase.now

    @Test func aRunComesBackAsItWasGiven() throws {
        let tree = try TemporaryTree()
        let accepted = JournalCase.run(["org.example.a", "org.example.b"])
        let inputs = [
            JournalInput(kind: "recording", bytes: Array(0...255)), JournalInput(kind: "x", name: "é", bytes: []),
        ]
        let id = try Journal.open(folder: tree.path("s")).accept(accepted, inputs: inputs, tasks: ["a", "b", "ä"])
        let journal = try Journal.open(folder: tree.path("s"))
        #expect(journal.quarantined == nil)
        let run = try #require(try journal.run(id))
        #expect(run.accepted == accepted && run.state == .accepted && run.taskCount == 3)
        #expect(run.end == nil && run.deliveredAt == nil && run.lastSequence == 0 && run.isWhole)
        #expect(try journal.inputs(of: id) == inputs)
        #expect(try journal.tasks(of: id) == ["a", "b", "ä"])
        #expect(try journal.events(of: id).isEmpty)
        #expect(try journal.runs() == [run])
        #expect(try journal.run(RunID(raw: 99)) == nil)
        #expect(throws: StoreError.self) { try journal.events(of: RunID(raw: 99)) }
        for name in tree.list("s") { #expect(tree.mode("s/\(name)") == 0o600) }
        #expect(tree.mode("s") == 0o700)
    }

    @Test func anIdentifierIsTakenUntilTheEndIsKnown() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(["i", "j"], job: "first"), inputs: [], tasks: [])
        for state in [JournalRun.State.accepted, .finished] {
            if state == .finished { try journal.recordEnd(of: id, JournalCase.end) }
            let problem = #expect(throws: AcceptProblem.self) {
                try journal.accept(JournalCase.run(["new", "j"], job: "second"), inputs: [], tasks: ["x"])
            }
            #expect(problem?.description.contains("`first`") == true && problem?.description.contains("`j`") == true)
            guard case .identifierInUse(let holder)? = problem else { continue }
            #expect(holder.run == id && holder.job == "first" && holder.identifier == "j" && holder.state == state)
        }
        #expect(try journal.runs().count == 1)
        #expect(try journal.holder(of: "new") == nil)
        try journal.deliver(id, now: now)
        let second = try journal.accept(JournalCase.run(["new", "j"], job: "second"), inputs: [], tasks: ["x"])
        #expect(second > id)
        #expect(try journal.holder(of: "j")?.run == second)
        #expect(try journal.holder(of: "i") == nil)
    }

    /// Where nobody else is to hear of it.
    @Test func anEndCanBeDeliveredInTheSameMoment() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(
            JournalCase.run(["i"]), inputs: [JournalInput(kind: "k", bytes: [1])], tasks: ["a", "b"])
        #expect(try !journal.recordEnd(of: id, JournalCase.end, tasks: 1, deliveredAt: now))
        #expect(try journal.run(id)?.deliveredAt == nil && journal.inputs(of: id).count == 1)
        #expect(try journal.recordEnd(of: id, JournalCase.end, tasks: 2, deliveredAt: now))
        let run = try #require(try journal.run(id))
        #expect(run.end == JournalCase.end && run.deliveredAt == now && run.state == .finished)
        #expect(try journal.holder(of: "i") == nil && journal.inputs(of: id).isEmpty)
        #expect(!tree.list("").contains { $0.contains("key-") })
    }

    @Test func whoEndsOnceHasEnded() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: [])
        #expect(throws: StoreError.self) { try journal.deliver(id, now: now) }
        try journal.recordEnd(of: id, JournalCase.end)
        try journal.recordEnd(of: id, RunEnd(at: now, outcome: .succeeded, exitStatus: 0))
        try journal.deliver(id, now: now)
        try journal.deliver(id, now: now + .seconds(9))
        let run = try #require(try journal.run(id))
        #expect(run.end == JournalCase.end && run.deliveredAt == now && run.state == .finished)
        #expect(throws: StoreError.self) { try journal.keep(JournalInput(kind: "k", bytes: []), of: id) }
    }

    @Test func eventsComeBackInOrderAndFromAnywhere() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        var story = JournalStory(seed: 5)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: story.tasks)
        let other = try journal.accept(JournalCase.run(["o"]), inputs: [], tasks: story.tasks)
        let all = story.journalled(12)
        for _ in 0..<12 {
            let batch = story.batch()
            let last = try journal.append(batch, to: id)
            #expect(last == (batch.last(where: \.isJournalled)?.sequence ?? last))
            try journal.append(batch, to: other)
        }
        #expect(try journal.events(of: id).map { ValueLines.of($0) } == all.map { ValueLines.of($0) })
        for place in stride(from: 0, to: all.count, by: 7) {
            let found = try journal.events(of: id, after: all[place].sequence, limit: 5)
            #expect(found.map(\.sequence) == all[(place + 1)...].prefix(5).map(\.sequence))
        }
        // Between two of them, and past the last.
        #expect(try journal.events(of: id, after: all[3].sequence - 1).first?.sequence == all[3].sequence)
        #expect(try journal.events(of: id, after: 1 << 40).isEmpty)
        #expect(try journal.run(id)?.lastSequence == all.last?.sequence)
    }

    @Test func progressIsLeftOutAndNumbersMustRise() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        let progress = Event.Kind.receivedData(.init(bytes: 1, expected: nil))
        try journal.append([JournalCase.event(1, .taskCreated), JournalCase.event(2, progress)], to: id)
        #expect(try journal.append([JournalCase.event(3, progress)], to: id) == 1)
        try journal.append([JournalCase.event(9, .cacheStored)], to: id)
        for sequence: UInt64 in [0, 1, 9, 1 << 36] {
            #expect(throws: StoreError.self) {
                try journal.append(
                    [JournalCase.event(10, .cacheStored), JournalCase.event(sequence, .cacheStored)], to: id)
            }
        }
        #expect(throws: StoreError.self) { try journal.append([JournalCase.event(11, .taskResumed, task: 1)], to: id) }
        #expect(try journal.events(of: id).map(\.sequence) == [1, 9])
    }

    @Test func inputsCanBeAddedAndReplaced() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let first = JournalInput(kind: "recording", bytes: [1])
        let id = try journal.accept(JournalCase.run(), inputs: [first], tasks: [])
        try journal.keep(JournalInput(kind: "captured", name: "t.v", bytes: [2]), of: id)
        try journal.keep(JournalInput(kind: "captured", name: "t.v", bytes: [3]), of: id)
        #expect(try journal.inputs(of: id) == [first, JournalInput(kind: "captured", name: "t.v", bytes: [3])])
    }

    // MARK: Tasks that come later

    /// That every row is what the run's own row says.
    private func expectProof(_ tree: TemporaryTree) throws {
        try tree.write("journal.suspect", "", mode: 0o600)
        #expect(try Journal.open(folder: tree.path).quarantined == nil)
        #expect(!tree.exists("journal.suspect"))
    }

    @Test func tasksCanBeAddedToARun() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let learned = JournalInput(kind: "captured", name: "t.v", bytes: [2])
        let id = try journal.accept(
            JournalCase.run(), inputs: [JournalInput(kind: "recording", bytes: [1]), learned], tasks: ["a", "b"])
        try journal.append([JournalCase.event(1, JournalCase.finish(.succeeded), task: 1)], to: id)
        let recording = JournalInput(kind: "recording", bytes: [3])
        try journal.extend(id, inputs: [recording], tasks: ["c", "d"])
        #expect(try journal.tasks(of: id) == ["a", "b", "c", "d"])
        #expect(try journal.inputs(of: id) == [learned, recording])
        let run = try #require(try journal.run(id))
        #expect(run.taskCount == 4 && run.state != .finished && run.lastSequence == 1)
        try journal.append([JournalCase.event(2, JournalCase.finish(.failed), task: 3)], to: id)
        #expect(throws: StoreError.self) { try journal.append([JournalCase.event(3, .taskResumed, task: 4)], to: id) }
        try journal.extend(id, inputs: [], tasks: [])
        #expect(try journal.run(id)?.taskCount == 4)
        try expectProof(tree)
        #expect(try Journal.open(folder: tree.path).tasks(of: id).count == 4)
    }

    @Test func identifiersCanBeAddedToARun() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(["a"]), inputs: [], tasks: ["t"])
        let other = try journal.accept(JournalCase.run(["o"], job: "other"), inputs: [], tasks: ["t"])
        try journal.extend(id, inputs: [], tasks: ["u"], identifiers: ["a", "b"])
        #expect(try journal.run(id)?.accepted.identifiers == ["a", "b"])
        #expect(try journal.holder(of: "b")?.run == id)
        // Somebody else's stays his, and with it all that was to be added.
        #expect(throws: StoreError.self) {
            try journal.extend(id, inputs: [], tasks: ["v"], identifiers: ["a", "c", "o"])
        }
        #expect(try journal.holder(of: "o")?.run == other && journal.holder(of: "c") == nil)
        #expect(try journal.tasks(of: id) == ["t", "u"])
        try expectProof(tree)
        #expect(try Journal.open(folder: tree.path).run(id)?.accepted.identifiers == ["a", "b"])
        try journal.recordEnd(of: id, JournalCase.end)
        try journal.deliver(id, now: now)
        #expect(try journal.holder(of: "b") == nil)
    }

    @Test func aTaskThatIsKnownIsNotAddedAgain() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let recording = JournalInput(kind: "recording", bytes: [1])
        let id = try journal.accept(JournalCase.run(), inputs: [recording], tasks: ["a", "b"])
        for tasks in [["c", "b"], ["c", "c"], ["a"]] {
            let error = #expect(throws: StoreError.self) {
                try journal.extend(id, inputs: [JournalInput(kind: "recording", bytes: [9])], tasks: tasks)
            }
            #expect(error?.kind == .other && error?.description.contains("`\(tasks.last ?? "")`") == true)
        }
        #expect(throws: StoreError.self) { try journal.extend(RunID(raw: 99), inputs: [], tasks: ["c"]) }
        #expect(try journal.inputs(of: id) == [recording])
        #expect(try journal.tasks(of: id).count == 2)
        try expectProof(tree)
    }

    /// As long as nobody knows of its end it has none.
    @Test func aRunThatHadEndedRunsAgain() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try JournalCase.finished(journal, "i")
        try journal.extend(id, inputs: [], tasks: ["u"])
        let run = try #require(try journal.run(id))
        #expect(run.state == .running && run.end == nil && run.taskCount == 2)
        #expect(try journal.holder(of: "i")?.state == .running)
        #expect(throws: StoreError.self) { try journal.deliver(id, now: now) }
        try journal.append([JournalCase.event(2, .taskCreated, task: 1)], to: id)
        try journal.recordEnd(of: id, JournalCase.end)
        #expect(try journal.run(id)?.end == JournalCase.end)
        try expectProof(tree)
        try journal.deliver(id, now: now)
        #expect(throws: StoreError.self) { try journal.extend(id, inputs: [], tasks: ["v"]) }
        #expect(try journal.events(of: id).map(\.sequence) == [1, 2])
    }

    /// Followers read while a writer writes, each with a connection of its own.
    @Test func readersSeeAPrefixWhileOneWrites() async throws {
        let tree = try TemporaryTree()
        let folder = tree.path("s")
        let journal = try Journal.open(folder: folder)
        let story = JournalStory(seed: 77)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: story.tasks)
        let batches = Rounds.scaled(40)
        let expected = story.journalled(batches).map(\.sequence)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    let reader = try Journal.open(folder: folder)
                    var seen: [UInt64] = []
                    while seen.count < expected.count {
                        let news = try reader.events(of: id, after: seen.last ?? 0, limit: 50)
                        seen += news.map(\.sequence)
                        #expect(seen[...] == expected.prefix(seen.count))
                        if news.isEmpty { await Task.yield() }
                    }
                }
            }
            group.addTask {
                let writer = try Journal.open(folder: folder)
                var story = story
                for _ in 0..<batches { try writer.append(story.batch(), to: id) }
            }
            try await group.waitForAll()
        }
        #expect(try journal.events(of: id).map(\.sequence) == expected)
    }

    // MARK: Asked often

    @Test func runsWhoseEndIsUnknownAreFoundAmongMany() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        var ids: [RunID] = []
        for number in 0..<20 { ids.append(try JournalCase.finished(journal, "r\(number)")) }
        for number in 0..<20 where number % 7 != 3 { try journal.deliver(ids[number], now: now) }
        #expect(try journal.undelivered().map(\.id) == [ids[3], ids[10], ids[17]])
        #expect(try journal.undelivered() == journal.runs().filter { $0.deliveredAt == nil })
    }

    @Test func whatARunWasGivenIsCountedByItsKind() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let inputs = ["a", "b", "c"].map { JournalInput(kind: $0 == "c" ? "other" : "kind", name: $0, bytes: [1]) }
        let id = try journal.accept(JournalCase.run(), inputs: inputs, tasks: ["t"])
        let other = try journal.accept(JournalCase.run(["o"]), inputs: inputs, tasks: ["t"])
        try journal.keep(JournalInput(kind: "kind", name: "d", bytes: []), of: other)
        #expect(try journal.inputCount(of: id, kind: "kind") == 2)
        #expect(try journal.inputCount(of: other, kind: "kind") == 3)
        #expect(try journal.inputCount(of: id, kind: "none") == 0)
        #expect(try journal.inputs(of: id, kind: "kind").map(\.name) == ["a", "b"])
    }

    /// Who delivers in a hurry leaves the log to somebody else; what it holds nobody can read.
    @Test func theLogIsLeftToWhoHasTime() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let secret = Array("what nobody may know".utf8)
        let id = try journal.accept(JournalCase.run(), inputs: [JournalInput(kind: "k", bytes: secret)], tasks: ["t"])
        try journal.recordEnd(of: id, JournalCase.end)
        try journal.deliver(id, now: now, leavesLog: true)
        #expect(try !tree.bytes("journal.sqlite-wal").isEmpty)
        #expect(!Folders.names(in: tree.path).contains { $0.hasPrefix("journal.key-") })
        #expect(throws: Never.self) { try journal.inputs(of: id).isEmpty }
        journal.scrub()
        #expect(try tree.bytes("journal.sqlite-wal").isEmpty)
    }

    /// Whoever opens the journal reads the log first: one that was taken into the file is not read once more.
    @Test func aLongLogIsEmptiedByWhoMadeItLong() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let other = try Journal.open(folder: tree.path)
        let short = JournalInput(kind: "k", bytes: Array(repeating: 1, count: 100_000))
        let long = JournalInput(kind: "k", bytes: Array(repeating: 2, count: 10_000_000))
        let first = try journal.accept(JournalCase.run(), inputs: [short], tasks: ["t"])
        #expect(try tree.bytes("journal.sqlite-wal").count > 100_000)
        let second = try journal.accept(JournalCase.run(["o"]), inputs: [long], tasks: ["t"])
        #expect(try tree.bytes("journal.sqlite-wal").isEmpty)
        #expect(try tree.bytes("journal.sqlite").count > 10_000_000)
        for reader in [journal, other, try Journal.open(folder: tree.path)] {
            #expect(try reader.inputs(of: first).map(\.bytes) == [short.bytes])
            #expect(try reader.inputs(of: second).map(\.bytes) == [long.bytes])
        }
    }

    @Test func anEventOfNoTaskIsRefused() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        #expect(throws: StoreError.self) { try journal.append([JournalCase.event(1, .taskCreated, task: 1)], to: id) }
        #expect(try journal.run(id)?.lastSequence == 0)
    }

    // MARK: Forgetting

    @Test func oldRunsGoAndWhatBecameOfTheLastStays() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        var bounds = JournalBounds()
        bounds.summaries = 3
        var ids: [RunID] = []
        for number in 0..<6 {
            ids.append(try JournalCase.finished(journal, "r\(number)"))
            if number < 5 { try journal.deliver(ids[number], now: now + .seconds(Int64(number))) }
        }
        let live = try journal.accept(JournalCase.run(["live"]), inputs: [], tasks: ["t"])
        try journal.append([JournalCase.event(1, .taskCreated)], to: live)
        try journal.forget(bounds, now: now + .seconds(10))
        #expect(try journal.runs().allSatisfy { $0.isWhole })
        // Of the five that were delivered the first four are a day old.
        try journal.forget(bounds, now: now + bounds.events + .seconds(3))
        #expect(try journal.runs().map(\.id) == [ids[1], ids[2], ids[3], ids[4], ids[5], live])
        #expect(try journal.runs().map(\.isWhole) == [false, false, false, true, true, true])
        #expect(try journal.run(ids[2])?.end?.exitStatus == 0)
        #expect(try journal.events(of: ids[2]).isEmpty && journal.tasks(of: ids[2]).isEmpty)
        #expect(try journal.events(of: ids[4]).count == 1)
        // One whose end nobody asked for goes in the end, and its identifier with it.
        #expect(try journal.holder(of: "r5") != nil)
        try journal.forget(bounds, now: now + bounds.abandoned + .seconds(120))
        #expect(try journal.holder(of: "r5") == nil)
        #expect(try journal.runs().map(\.id) == [ids[3], ids[4], ids[5], live])
        #expect(try journal.events(of: live).count == 1)
        #expect(throws: StoreError.self) { try journal.append([JournalCase.event(2, .cacheStored)], to: ids[5]) }
    }

    @Test func theFileGetsShorterAndStaysBounded() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        var bounds = JournalBounds()
        bounds.bytes = 1 << 20
        let body = [UInt8](repeating: 7, count: 200_000)
        var largest = 0
        for number in 0..<12 {
            let id = try journal.accept(JournalCase.run(["r\(number)"]), inputs: [], tasks: ["t"])
            let record = TaskRecord(
                outcome: .succeeded, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: body,
                lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
            try journal.append([JournalCase.event(1, .taskFinished(record))], to: id)
            try journal.recordEnd(of: id, JournalCase.end)
            try journal.deliver(id, now: now)
            try journal.forget(bounds, now: now)
            largest = max(largest, try tree.bytes("journal.sqlite").count)
        }
        #expect(largest > 600_000 && largest < 1_400_000, "\(largest)")
        #expect(try journal.runs().count { $0.isWhole } >= 4)
        try journal.forget(bounds, now: now + bounds.events)
        #expect(try tree.bytes("journal.sqlite").count < 100_000)
    }
}
