import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// Random changes of two processes, held against a list that is kept by hand.
@Suite struct CacheStoreRandomTests {
    private struct Model {
        struct Entry {
            var stored: StoredResponse
            var body: [UInt8]
            var size: Int64 { stored.bodyLength + CacheIndex.overhead }
        }
        /// The one that was used last stands last.
        var entries: [Entry] = []
        let capacity: Int64
        var size: Int64 { entries.reduce(0) { $0 + $1.size } }

        mutating func put(_ stored: StoredResponse, _ body: [UInt8]) {
            entries.removeAll {
                $0.stored.url == stored.url && $0.stored.selecting == stored.selecting
                    && $0.stored.credentials == stored.credentials
            }
            entries.append(Entry(stored: stored, body: body))
        }

        mutating func use(_ id: CacheEntryID, _ change: (inout StoredResponse) -> Void = { _ in }) {
            guard let place = entries.firstIndex(where: { $0.stored.id == id }) else { return }
            var entry = entries.remove(at: place)
            change(&entry.stored)
            entries.append(entry)
        }

        mutating func makeRoom() { while size > capacity { entries.removeFirst() } }
    }

    @Test func agreesWithAListKeptByHand() throws {
        var random = Seeded("agreesWithAListKeptByHand")
        for _ in 0..<Rounds.scaled(3) { try round(&random) }
    }

    private func round(_ random: inout Seeded) throws {
        let tree = try TemporaryTree()
        var model = Model(capacity: 12 * CacheIndex.overhead + Int64(random.below(60_000)))
        var stages = [try CacheStage(tree), try CacheStage(tree)]
        var now = ManualClock().wall
        var last: Int64 = 0
        for _ in 0..<150 {
            let place = random.below(2)
            if random.oneIn(30) { stages[place] = try CacheStage(tree) }
            stages[place].capacity = model.capacity
            stages[place].now = now
            let id = CacheEntryID(raw: Int64(random.below(Int(last) + 1)))
            switch random.below(8) {
            case 0...3:
                last += 1
                let body = random.bytes(random.oneIn(3) ? random.below(30_000) : random.below(2_000))
                let stored = CacheStage.answer(
                    last, "https://example.org/\(random.below(12))", body: body,
                    language: random.oneIn(2) ? "\(random.below(3))" : nil,
                    credentials: random.oneIn(4) ? .value("me") : .absent)
                try stages[place].put(stored, body, inFile: body.count > 16_384)
                model.put(stored, body)
            case 4:
                try stages[place].change(.remove(id))
                model.entries.removeAll { $0.stored.id == id }
            case 5:
                let url = "https://example.org/\(random.below(12))"
                try stages[place].change(.forget(url: url))
                model.entries.removeAll { $0.stored.url == url }
            case 6:
                try stages[place].change(.used(id))
                model.use(id)
            default:
                guard var stored = model.entries.first(where: { $0.stored.id == id })?.stored else { continue }
                stored.headers = HeaderBlock([("ETag", "\"\(random.below(99))\"")])
                try stages[place].change(.update(stored))
                model.use(id) { $0.headers = stored.headers }
            }
            now = stages[place].now
            model.makeRoom()
            try compare(model, stages[random.below(2)], tree)
        }
    }

    private func compare(_ model: Model, _ stage: CacheStage, _ tree: TemporaryTree) throws {
        #expect(try stage.store.cacheSize(stage.session) == model.size)
        for number in 0..<12 {
            let url = "https://example.org/\(number)"
            let held = try stage.store.cached(stage.session, url: url).map(\.stored).sorted { $0.id.raw < $1.id.raw }
            let wanted = model.entries.map(\.stored).filter { $0.url == url }.sorted { $0.id.raw < $1.id.raw }
            #expect(held == wanted)
        }
        for entry in model.entries { #expect(try stage.body(entry.stored.id.raw) == entry.body) }
        #expect(tree.list("cache").count == model.entries.count { $0.body.count > 16_384 })
    }
}
