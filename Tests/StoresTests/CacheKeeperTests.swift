import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Caches through the thread that reads and writes them.
@Suite struct CacheKeeperTests {
    private let url = "https://example.org/a"
    private static let session = SessionIndex(raw: 0)

    private final class Client {
        let keeper: MemoryKeeper
        var opened: OpenedCache?
        private let wake = WakeSignal()
        private let box: Mailbox<MemoryReport>
        private var waiting: [MemoryReport] = []

        init(_ tree: TemporaryTree, capacity: Int64 = 1 << 20, key: UInt8 = 1) throws {
            let wake = wake
            box = Mailbox(wake: { wake.signal() })
            let cache = CachePlace(
                folder: tree.path("cache"), capacity: capacity, key: [UInt8](repeating: key, count: 32))
            keeper = try MemoryKeeper(
                MemoryPlace(
                    folder: tree.path("state"), job: "j", sessions: ["s", nil], secrets: Redactor([]),
                    caches: [cache, nil]), reports: box)
            while true {
                switch try next() {
                case .opened(let memory):
                    opened = memory.caches[session]
                    return
                default: throw Silence()
                }
            }
        }

        private func next() throws -> MemoryReport {
            while waiting.isEmpty {
                waiting = box.takeAll()
                if waiting.isEmpty, !wake.wait(nanoseconds: 30_000_000_000) { throw Silence() }
            }
            return waiting.removeFirst()
        }

        func submit(_ orders: CacheOrder...) {
            keeper.submit(orders.map { .cache(session, $0) })
        }

        func find(_ url: String) throws -> [CachedEntry] {
            submit(.find(TaskIndex(raw: 1), url: url))
            guard case .cached(TaskIndex(raw: 1), let entries) = try next() else { throw Silence() }
            return entries
        }

        func read(_ id: Int64, _ url: String) throws -> [UInt8]? {
            submit(.read(TaskIndex(raw: 2), CacheEntryID(raw: id), url: url))
            guard case .cachedBody(TaskIndex(raw: 2), _, let body) = try next() else { throw Silence() }
            return body
        }

        struct Silence: Error {}
    }

    @Test(arguments: [10, 100_000]) func whatWasPutIsFoundAtOnceAndByTheNextRun(_ length: Int) throws {
        let tree = try TemporaryTree()
        let body = [UInt8](repeating: 9, count: length)
        let stored = CacheStage.answer(1, body: body)
        let first = try Client(tree)
        #expect(first.opened == nil)
        first.submit(.put(stored, body: body))
        #expect(try first.find(url).map(\.stored) == [stored])
        #expect(try first.read(1, url) == body)
        #expect(first.keeper.finish() == [])
        let second = try Client(tree, key: 2)
        #expect(second.opened?.key == [UInt8](repeating: 1, count: 32))
        #expect(second.opened?.urls.mayHold(url) == true && second.opened?.urls.mayHold("x") == false)
        #expect(try second.find(url).map(\.stored) == [stored])
        #expect(try second.read(1, url) == body)
        second.submit(.change(.forget(url: url)))
        #expect(try second.find(url).isEmpty)
        #expect(second.keeper.finish() == [])
        #expect(tree.exists("cache") == (length > 16_384) && tree.list("cache").isEmpty)
    }

    @Test func aDamagedBodyIsGoneForGood() throws {
        let tree = try TemporaryTree()
        let body = [UInt8](repeating: 9, count: 50_000)
        let first = try Client(tree)
        first.submit(.put(CacheStage.answer(1, body: body), body: body))
        #expect(first.keeper.finish() == [])
        try tree.write("cache/0000000000000001.body", [1, 2, 3], mode: 0o600)
        let second = try Client(tree)
        #expect(try second.find(url).count == 1)
        #expect(try second.read(1, url) == nil)
        #expect(second.keeper.finish() == [])
        #expect(tree.list("cache").isEmpty)
        #expect(try Client(tree).find(url).isEmpty)
    }

    /// What is only used makes no transaction of its own, but is not lost.
    @Test func usesAreWrittenAtTheEnd() throws {
        let tree = try TemporaryTree()
        let capacity = 2 * (CacheIndex.overhead + 10)
        let body = [UInt8](repeating: 9, count: 10)
        let first = try Client(tree, capacity: capacity)
        first.submit(.put(CacheStage.answer(1, url, body: body), body: body))
        first.submit(.put(CacheStage.answer(2, url + "2", body: body), body: body))
        _ = first.keeper.finish()
        let second = try Client(tree, capacity: capacity)
        second.submit(.change(.used(CacheEntryID(raw: 1))))
        _ = second.keeper.finish()
        let third = try Client(tree, capacity: capacity)
        third.submit(.put(CacheStage.answer(3, url + "3", body: body), body: body))
        // Who asks for what was just put waits until it is written.
        #expect(try third.find(url + "3").count == 1)
        #expect(try third.find(url).count == 1 && third.find(url + "2").isEmpty)
    }

    @Test func aFolderThatOthersMayWriteIsNotUsed() throws {
        let tree = try TemporaryTree()
        try tree.makeFolder("cache")
        try tree.setMode("cache", 0o777)
        let client = try Client(tree)
        let body = [UInt8](repeating: 9, count: 50_000)
        client.submit(.put(CacheStage.answer(1, body: body), body: body))
        #expect(try client.find(url).isEmpty)
        let problem = "the cache folder \(tree.path("cache")) can be written by others: `chmod go-w` it"
        #expect(client.keeper.finish() == [problem])
        #expect(tree.list("cache").isEmpty)
    }

    /// Both began before there was a store; the second one's marks were made with a key that lost.
    @Test func ofTwoThatMakeACacheTheFirstWins() throws {
        let tree = try TemporaryTree()
        let (one, two) = (try Client(tree, key: 1), try Client(tree, key: 2))
        let body = [UInt8](repeating: 9, count: 50_000)
        one.submit(.put(CacheStage.answer(1, body: body), body: body))
        #expect(try one.find(url).count == 1)
        two.submit(.put(CacheStage.answer(2, url + "2", body: body), body: body))
        #expect(try two.find(url + "2").isEmpty)
        #expect(one.keeper.finish() == [] && two.keeper.finish() == [])
        #expect(tree.list("cache").count == 1)
        #expect(try Client(tree).opened?.key.first == 1)
    }

    /// Writers side by side on threads of their own: nothing is lost, and no file is left without its row.
    @Test func severalAtOnceLoseNothing() throws {
        let tree = try TemporaryTree()
        _ = try Store.open(folder: tree.path("state"))
        let clients = try (0..<3).map { _ in try Client(tree, capacity: 1 << 30) }
        let body = [UInt8](repeating: 9, count: 20_000)
        for number in 0..<40 {
            for (place, client) in clients.enumerated() {
                let id = Int64(place * 1_000 + number)
                client.submit(.put(CacheStage.answer(id, url + "\(id)", body: body), body: body))
            }
        }
        for client in clients { #expect(client.keeper.finish() == []) }
        let last = try Client(tree)
        for place in 0..<3 {
            for number in 0..<40 {
                let id = Int64(place * 1_000 + number)
                #expect(try last.read(id, url + "\(id)") == body)
            }
        }
        #expect(tree.list("cache").count == 120)
    }
}

private let session = SessionIndex(raw: 0)
