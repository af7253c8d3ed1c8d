import Glibc
import Stores
import Synchronization
import TestSupport
import Testing
import TransferModel

/// What must not be sent twice is known when the journal is not as it was any more.
@Suite struct BegunTests {
    private let now = JournalCase.now
    private func request(_ task: String) -> BegunRequest { BegunRequest(task: task, attempt: 1) }

    private func start(_ sequence: UInt64) -> Event {
        JournalCase.event(sequence, .attemptStarted(AttemptStart(number: 1, url: "u")))
    }

    /// Writes the beginning of a request as a run does.
    private func begin(
        _ tree: TemporaryTree, _ id: RunID, _ sequence: UInt64, _ request: BegunRequest, succeeds: Bool = false
    ) throws {
        let isWritten = Mutex(false)
        let patience = TimeSpan.seconds(600)
        let writer = try JournalWriter(folder: tree.path, run: id, after: sequence - 1, writeAfter: patience) { news in
            if case .written(let last) = news, last >= sequence { isWritten.withLock { $0 = true } }
        }
        writer.hurry(upTo: sequence, beginning: [request])
        writer.consume([start(sequence)])
        for _ in 0..<10_000 where !isWritten.withLock({ $0 }) { usleep(1000) }
        #expect(isWritten.withLock { $0 })
        #expect(try Journal.open(folder: tree.path).begun(of: id).contains(request), "before those who wait are told")
        if succeeds { writer.noteSuccess(of: request.task) }
        #expect(writer.finish() == nil)
    }

    @Test func beginning_isBesideTheJournal_whenItIsTold() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["post", "other"])
        #expect(try journal.begun(of: id) == [])
        try begin(tree, id, 1, request("post"))
        try begin(tree, id, 2, request("other"))
        #expect(try journal.begun(of: id) == [request("post"), request("other")])
        #expect(try journal.lostRuns() == [] && journal.lostKeys() == 0)
    }

    /// The journal falls back to what it was before, as SQLite does where the end of its log is damaged.
    @Test func beginning_isKnown_whenTheJournalHasLostItsEvents() throws {
        let tree = try TemporaryTree()
        let id: RunID
        do { id = try Journal.open(folder: tree.path).accept(JournalCase.run(), inputs: [], tasks: ["post"]) }
        let before = try tree.bytes("journal.sqlite")
        try begin(tree, id, 1, request("post"))
        for name in ["journal.sqlite-wal", "journal.sqlite-shm"] { tree.remove(name) }
        try tree.write("journal.sqlite", before, mode: 0o600)
        let journal = try Journal.open(folder: tree.path)
        #expect(try journal.events(of: id).isEmpty && journal.begun(of: id) == [request("post")])
    }

    @Test func run_thatTheJournalHasLost_isTaken_overByTheNextOfItsIdentifier() throws {
        let tree = try TemporaryTree()
        let id: RunID
        do { id = try Journal.open(folder: tree.path).accept(JournalCase.run(), inputs: [], tasks: ["post"]) }
        try begin(tree, id, 1, request("post"))
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] { tree.remove(name) }
        #expect(Journal.hasLeftovers(folder: tree.path))
        let journal = try Journal.open(folder: tree.path)
        let lost = try journal.lostRuns()
        #expect(lost.map(\.identifiers) == [["org.example.a"]] && lost.first?.job == "nightly")
        #expect(try lost.first?.requests == [request("post")] && journal.lostKeys() == 1)
        let next = try journal.accept(JournalCase.run(), inputs: [], tasks: ["post"], inPlaceOf: lost)
        #expect(try journal.begun(of: next) == [request("post")] && journal.lostRuns() == [])
    }

    /// The process lives on, and knows what became of what it began.
    @Test func success_isKnown_whenTheJournalIsLost() throws {
        let tree = try TemporaryTree()
        let id: RunID
        do { id = try Journal.open(folder: tree.path).accept(JournalCase.run(), inputs: [], tasks: ["post", "other"]) }
        try begin(tree, id, 1, request("post"), succeeds: true)
        try begin(tree, id, 2, request("other"))
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] { tree.remove(name) }
        let lost = try #require(Journal.open(folder: tree.path).lostRuns().first)
        #expect(lost.requests == [request("post"), request("other")] && lost.succeeded == ["post"])
    }

    @Test func begun_isForgotten_onceTheEndWasDelivered() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["post"])
        try begin(tree, id, 1, request("post"))
        try journal.recordEnd(of: id, JournalCase.end)
        try journal.forget(now: now)
        #expect(try journal.begun(of: id).count == 1)
        try journal.deliver(id, now: now)
        try journal.forget(now: now)
        #expect(try journal.begun(of: id) == [] && tree.list("").allSatisfy { !$0.contains("begun") })
    }

    /// A record that a power cut left half written says nothing: of that one nothing was sent.
    @Test func record_thatIsNotWhole_countsForNothing() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["a", "b"])
        try begin(tree, id, 1, request("a"))
        let file = try #require(tree.list("").first { $0.hasPrefix("journal.begun-") })
        let first = try tree.bytes(file)
        try begin(tree, id, 2, request("b"))
        let whole = try tree.bytes(file)
        for count in first.count..<whole.count {
            try tree.write(file, Array(whole.prefix(count)), mode: 0o600)
            #expect(try journal.begun(of: id) == [request("a")])
            // What is written after it counts.
            try tree.write(file, Array(whole.prefix(count)) + whole.dropFirst(first.count), mode: 0o600)
            #expect(try journal.begun(of: id) == [request("a"), request("b")])
        }
    }

    @Test func tryWriting_leavesNothingBehind() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [JournalInput(kind: "k", bytes: [1])], tasks: ["t"])
        for _ in 0..<3 { try journal.tryWriting(for: id) }
        #expect(try journal.inputs(of: id).map(\.kind) == ["k"])
    }
}
