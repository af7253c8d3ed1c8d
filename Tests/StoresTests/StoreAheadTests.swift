import Glibc
import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// A store that is opened before anybody knows whether it will be used.
@Suite struct StoreAheadTests {
    fileprivate static let place = SessionIndex(raw: 0)

    /// What a run hears of its store, and what it leaves there.
    private final class Run {
        let keeper: MemoryKeeper
        private let box: Mailbox<MemoryReport>
        private let wake = WakeSignal()

        init(_ tree: TemporaryTree, _ ahead: StoreAhead?) throws {
            let wake = wake
            box = Mailbox(wake: { wake.signal() })
            var place = MemoryPlace(folder: tree.path, job: "j", sessions: ["s"], secrets: Redactor([]))
            place.ahead = ahead
            keeper = try MemoryKeeper(place, reports: box)
        }

        func opened() throws -> OpenedMemory {
            while true {
                for case .opened(let memory) in box.takeAll() { return memory }
                if !wake.wait(nanoseconds: 30_000_000_000) { throw SystemFailure("hear of the store", ETIMEDOUT) }
            }
        }

        func keep(_ name: String) {
            let answer = FiledAnswer(
                url: "https://example.org/", status: 200, headers: HeaderBlock([("ETag", "\"\(name)\"")]), shape: 0,
                file: FileStamp(size: 1, modifiedNanoseconds: 1))
            keeper.submit([.file(StoreAheadTests.place, destination: "/x/\(name)", answer)])
        }
    }

    private func keep(_ name: String, in tree: TemporaryTree, ahead: StoreAhead? = nil) throws -> OpenedMemory {
        let run = try Run(tree, ahead)
        let memory = try run.opened()
        run.keep(name)
        #expect(run.keeper.finish().isEmpty)
        return memory
    }

    /// Whether this process has a file of that folder open.
    private func isOpen(_ name: String, in tree: TemporaryTree) -> Bool {
        (0..<Int32(1024)).contains { number in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(number)", &target, target.count)
            return count > 0
                && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == tree.path(name)
        }
    }

    private func names(in tree: TemporaryTree) throws -> Set<String> {
        let store = try Store.open(folder: tree.path)
        let session = try #require(try store.existingSession(job: "j", name: "s"))
        return try Set(["a", "b", "c"].filter { try store.validators(session, destination: "/x/\($0)") != nil })
    }

    @Test func aRunFindsAndKeepsInItWhatItWouldHave() throws {
        let tree = try TemporaryTree()
        #expect(try keep("a", in: tree).places.isEmpty)
        let ahead = try #require(StoreAhead(folder: tree.path))
        let memory = try keep("b", in: tree, ahead: ahead)
        #expect(memory.places[Self.place]?.mayHold("/x/a") == true)
        #expect(try names(in: tree) == ["a", "b"])
    }

    @Test func whereNoneIsThereNoneIsMade() throws {
        let tree = try TemporaryTree()
        #expect(StoreAhead(folder: tree.path) == nil)
        #expect(StoreAhead(folder: tree.path("no")) == nil)
        #expect(tree.list(".").isEmpty)
    }

    @Test func oneThatOthersMayWriteIsNotOpened() throws {
        let tree = try TemporaryTree()
        _ = try keep("a", in: tree)
        #expect(chmod(tree.path("store.sqlite"), 0o666) == 0)
        #expect(StoreAhead(folder: tree.path) == nil)
    }

    /// A job that turns out to be none leaves all as it was; so does one that ends while the store is opened.
    @Test func oneThatNobodyUsesStaysAsItWas() throws {
        let tree = try TemporaryTree()
        _ = try keep("a", in: tree)
        let before = try tree.bytes("store.sqlite")
        for number in 0..<20 {
            let ahead = try #require(StoreAhead(folder: tree.path))
            if number % 2 == 0 { usleep(UInt32(number) * 200) }
            ahead.abandon()
        }
        #expect(try tree.bytes("store.sqlite") == before)
        #expect(try names(in: tree) == ["a"])
    }

    /// Another run may have put it aside while this one waited for its turn.
    @Test func oneThatWasExchangedMeanwhileIsNotUsed() throws {
        let tree = try TemporaryTree()
        _ = try keep("a", in: tree)
        let ahead = try #require(StoreAhead(folder: tree.path))
        #expect(happens { isOpen("store.sqlite", in: tree) })
        for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
            rename(tree.path(name), tree.path("old-\(name)"))
        }
        _ = try keep("b", in: tree)
        _ = try keep("c", in: tree, ahead: ahead)
        #expect(try names(in: tree) == ["b", "c"])
    }

    /// That is for a run to mend, which tells of it.
    @Test func aDamagedOneIsLeftToWhoeverUsesIt() throws {
        let tree = try TemporaryTree()
        _ = try keep("a", in: tree)
        for name in tree.list(".") where name.hasSuffix("-wal") || name.hasSuffix("-shm") { unlink(tree.path(name)) }
        try tree.write("store.sqlite", String(repeating: "no store ", count: 2_000))
        #expect(chmod(tree.path("store.sqlite"), 0o600) == 0)
        let damaged = try tree.bytes("store.sqlite")
        let ahead = try #require(StoreAhead(folder: tree.path))
        usleep(100_000)
        #expect(try tree.bytes("store.sqlite") == damaged && !tree.exists("store.sqlite.quarantined-1"))
        let run = try Run(tree, ahead)
        _ = try run.opened()
        run.keep("b")
        let problems = run.keeper.finish()
        #expect(problems.count == 1 && problems[0].contains("store.sqlite.quarantined-1"), "\(problems)")
        #expect(try tree.bytes("store.sqlite.quarantined-1") == damaged)
        #expect(try names(in: tree) == ["b"])
    }

    /// Half-done files that nobody will go on with can be removed only by who hears of them.
    @Test func whatItForgetsIsToldToWhoeverUsesIt() throws {
        let tree = try TemporaryTree()
        let long = WallTime(nanoseconds: 1_500_000_000_000_000_000)
        let store = try Store.open(folder: tree.path, now: long)
        _ = try store.session(job: "old", name: "s", now: long)
        _ = consume store
        let abandoned = try #require(StoreAhead(folder: tree.path))
        #expect(happens { isOpen("store.sqlite", in: tree) })
        abandoned.abandon()
        let count = { try Store.open(folder: tree.path, now: long).existingSession(job: "old", name: "s") != nil }
        #expect(try count())
        _ = try keep("a", in: tree, ahead: StoreAhead(folder: tree.path))
        #expect(try !count())
    }
}
