import Glibc
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A store that is opened while its run's job is still read.
@Suite struct StoreOpeningTests {
    private func keeper(
        _ folder: String, _ opening: StoreOpening?
    ) throws -> (keeper: MemoryKeeper, reports: Mailbox<MemoryReport>) {
        let reports = Mailbox<MemoryReport>()
        let place = MemoryPlace(
            folder: folder, job: "j", sessions: ["s"], secrets: Redactor([]), opening: opening)
        return (try MemoryKeeper(place, reports: reports), reports)
    }

    /// On a thread of its own.
    private func begun(_ folder: String, patience: TimeSpan? = nil) throws -> StoreOpening? {
        guard let opening = StoreOpening(folder: folder, patience: patience) else { return nil }
        try Thread(named: "ahead") { opening.open() }.detach()
        return opening
    }

    private func opened(_ reports: Mailbox<MemoryReport>) throws -> OpenedMemory {
        for report in reports.takeAll() { if case .opened(let memory) = report { return memory } }
        throw Missing()
    }
    private struct Missing: Error {}

    @Test func whoeverTakesItFindsWhatIsThere() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path)
        let session = try #require(try store?.session(job: "j", name: "s", now: Clocks.wall()))
        try store?.keep(session, ["/x"])
        store = nil
        let opening = try #require(try begun(tree.path))
        let (keeper, reports) = try keeper(tree.path, opening)
        #expect(keeper.finish() == [])
        #expect(try opened(reports).places[SessionIndex(raw: 0)]?.mayHold("/x") == true)
    }

    @Test func whereNoStoreIsNothingIsOpenedOrMade() throws {
        let tree = try TemporaryTree()
        #expect(StoreOpening(folder: tree.path) == nil)
        #expect(!Store.isThere(folder: tree.path))
    }

    /// What was waited for in vain while the job was read is not waited for once more.
    @Test func whoHoldsTheLockIsWaitedForOnce() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        let lock = try Descriptor.open(tree.path("store.lock"), O_RDONLY)
        #expect(try lock.tryLock())
        let (keeper, _) = try keeper(tree.path, begun(tree.path, patience: .seconds(1)))
        // Of two waits the last would be told.
        #expect(keeper.finish() == ["another process has held \(tree.path)/store.lock for 1 seconds"])
        _ = consume lock
    }

    /// What went wrong is told by whoever wanted it.
    @Test func aDamagedStoreIsPutAsideAndTold() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        _ = try tree.write("store.sqlite", "no database", mode: 0o600)
        let (keeper, _) = try keeper(tree.path, begun(tree.path))
        let problems = keeper.finish()
        #expect(problems.count == 1 && problems[0].contains("was put aside as"))
    }

    /// Whoever opens it early may find that there is no run, and then nobody would be told.
    @Test(arguments: ["no database", "another program's"]) func whatIsNeverTakenIsLeftAsItIs(_ what: String) throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path)
        if what == "no database" {
            _ = try tree.write("store.sqlite", what, mode: 0o600)
        } else {
            _ = try Journal.open(folder: tree.path)
            _ = try tree.write("store.sqlite", try tree.bytes("journal.sqlite"), mode: 0o600)
        }
        let before = try tree.bytes("store.sqlite")
        // It waits until it was opened, and is given nothing.
        #expect(try #require(try begun(tree.path)).take() == nil)
        #expect(try tree.bytes("store.sqlite") == before)
        #expect(tree.list().allSatisfy { !$0.contains("quarantined") })
        #expect(try Store.open(folder: tree.path).quarantined != nil)
    }

    /// Sessions that nobody uses any more are forgotten by a run, not by whoever was only about to be one.
    @Test func nothingIsForgottenBeforeItIsTaken() throws {
        let tree = try TemporaryTree()
        let longAgo = WallTime(nanoseconds: Clocks.wall().nanoseconds - 2 * Store.unusedFor.nanoseconds)
        var store: Store? = try Store.open(folder: tree.path, now: longAgo)
        _ = try store?.session(job: "old", name: "s", now: longAgo)
        store = nil
        for _ in 0..<20 {
            let opening = try #require(StoreOpening(folder: tree.path))
            opening.open()
        }
        #expect(try Store.open(folder: tree.path, now: longAgo).sessions().map(\.job) == ["old"])
        let (keeper, _) = try keeper(tree.path, begun(tree.path))
        #expect(keeper.finish() == [])
        #expect(try Store.open(folder: tree.path, now: longAgo).sessions().isEmpty)
    }
}
