import HTTPRules
import Stores
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// What of a session's answers lies in memory, and what the store is asked and told.
struct SessionCacheTests {
    private let url = "https://example.org/a"
    private let now = ManualClock().wall

    private func cache(
        memory: Int64 = 1 << 20, disk: Int64 = 1 << 24, entry: Int64? = nil, isEphemeral: Bool = false,
        opened: Bool = true
    ) -> SessionCache {
        var configuration = CacheConfiguration()
        (configuration.memoryCapacity, configuration.diskCapacity) = (memory, disk)
        configuration.maximumEntry = entry
        let key = [UInt8](repeating: 7, count: 32)
        let place = CachePlace(folder: "/nowhere", capacity: disk, key: key)
        let cache = SessionCache(configuration, on: isEphemeral ? nil : place)
        if opened, !isEphemeral { cache.open(nil) }
        return cache
    }

    private func answer(_ url: String? = nil, tag: String = "1", length: Int = 5, id: Int64 = 0) -> StoredResponse {
        var stored = StoredResponse(
            url: url ?? self.url, status: 200,
            headers: HeaderBlock([("ETag", "\"\(tag)\""), ("Set-Cookie", "a=secret; Path=/")]),
            selecting: SelectingHeaders(fields: []), credentials: .absent, requestTime: now, responseTime: now,
            bodyLength: Int64(length))
        stored.id = CacheEntryID(raw: id)
        return stored
    }

    private func bytes(_ length: Int = 5) -> [UInt8] { [UInt8](repeating: 1, count: length) }

    /// The kinds of what the store is told, in order.
    private func orders(_ cache: SessionCache) -> [String] {
        cache.takeOrders().map { order in
            switch order {
            case .find: "find"
            case .read: "read"
            case .put: "put"
            case .change(.put): "change put"
            case .change(.update): "update"
            case .change(.remove): "remove"
            case .change(.forget): "forget"
            case .change(.used): "used"
            }
        }
    }

    // MARK: Memory

    @Test func whatWasKeptIsHeld() throws {
        let cache = cache(isEphemeral: true)
        #expect(cache.isEmpty && cache.held(url) == [])
        cache.store(answer(), bytes(), inMemoryOnly: false)
        let held = try #require(cache.held(url)?.first)
        #expect(!cache.isEmpty && cache.body(of: held.id) == bytes())
        #expect(held.headers.first("etag") == "\"1\"")
        #expect(cache.held(url + "b") == [])
        // Nobody outside of memory hears of it.
        #expect(orders(cache).isEmpty)
        cache.remove(held.id)
        #expect(cache.isEmpty && cache.held(url) == [] && cache.body(of: held.id) == nil)
        #expect(orders(cache).isEmpty)
    }

    @Test func severalOfOneURLAreTold() {
        let cache = cache(isEphemeral: true)
        for tag in ["1", "2"] { cache.store(answer(tag: tag), bytes(), inMemoryOnly: false) }
        cache.store(answer(url + "b"), bytes(), inMemoryOnly: false)
        #expect(cache.held(url)?.map { $0.headers.first("etag") } == ["\"1\"", "\"2\""])
        #expect(Set(cache.held(url)?.map(\.id) ?? []).count == 2)
        cache.forget(url)
        #expect(cache.held(url) == [] && cache.held(url + "b")?.count == 1)
    }

    @Test func theLongestUnusedGoes() throws {
        let room = 3 * (1_000 + CacheIndex.overhead)
        let cache = cache(memory: room, entry: room, isEphemeral: true)
        for name in ["a", "b", "c"] { cache.store(answer(name, length: 1_000), bytes(1_000), inMemoryOnly: true) }
        cache.noteUse(of: try #require(cache.held("a")?.first?.id), at: now)
        cache.store(answer("d", length: 1_000), bytes(1_000), inMemoryOnly: true)
        #expect(["a", "b", "c", "d"].map { cache.held($0)?.count } == [1, 0, 1, 1])
        // What never fits is not kept, and takes nothing's place.
        let most = try #require(cache.refusal(of: room, inMemoryOnly: true))
        #expect(most == .tooLarge(most: room))
        cache.store(answer("e", length: Int(room)), bytes(Int(room)), inMemoryOnly: true)
        #expect(["a", "c", "d", "e"].map { cache.held($0)?.count } == [1, 1, 1, 0])
    }

    @Test func withoutACacheNothingIsKept() {
        var configuration = CacheConfiguration()
        configuration.isEnabled = false
        let cache = SessionCache(configuration, on: nil)
        #expect(cache.refusal(of: 0, inMemoryOnly: false) != nil)
        cache.store(answer(), bytes(), inMemoryOnly: false)
        #expect(cache.isEmpty && cache.held(url) == [])
    }

    // MARK: The store

    @Test func untilTheStoreHasSpokenNobodyKnows() {
        let cache = cache(opened: false)
        #expect(cache.held(url) == nil && !cache.isEmpty)
        cache.open(nil)
        #expect(cache.held(url) == [] && cache.isEmpty)
    }

    /// Its cookies went to the jar: written down, they would outlive the run.
    @Test func theStoreIsToldWithoutCookies() throws {
        let cache = cache()
        cache.store(answer(), bytes(), inMemoryOnly: false)
        guard case .put(let stored, let body)? = cache.takeOrders().first else {
            Issue.record("the store hears nothing")
            return
        }
        #expect(body == bytes())
        #expect(stored.headers.first("set-cookie")?.contains("secret") == false)
        #expect(cache.held(url)?.first?.headers.first("set-cookie")?.contains("secret") == true)
        cache.store(answer(tag: "2"), bytes(), inMemoryOnly: true)
        #expect(orders(cache).isEmpty)
    }

    @Test func whatIsToldOfAnEntry() throws {
        let cache = cache()
        cache.store(answer(), bytes(), inMemoryOnly: false)
        var held = try #require(cache.held(url)?.first)
        // It was just told; a use changes nothing in the order of what goes.
        cache.noteUse(of: held.id, at: now)
        #expect(orders(cache) == ["put"])
        held.needsValidation = true
        cache.update(held)
        #expect(cache.held(url)?.first?.needsValidation == true)
        cache.remove(held.id)
        #expect(orders(cache) == ["update", "remove"])
        // The store may have others under that URL: it must be asked.
        #expect(cache.held(url) == nil)
        cache.forget(url)
        #expect(orders(cache) == ["forget"])
    }

    @Test func whatItHoldsIsAskedForOnce() throws {
        let cache = cache(opened: false)
        let stored = answer(id: 77)
        #expect(cache.held(url) == nil)
        #expect(cache.entriesFound([CachedEntry(stored: stored, body: bytes(), usedAt: now)], under: url) == [stored])
        #expect(cache.held(url) == [stored] && cache.body(of: stored.id) == bytes())
        // The same again is the same.
        #expect(cache.entriesFound([CachedEntry(stored: stored, body: bytes(), usedAt: now)], under: url) == [stored])
        cache.noteUse(of: stored.id, at: now)
        #expect(orders(cache).isEmpty)
        cache.noteUse(of: stored.id, at: now + .seconds(2 * 86_400))
        #expect(orders(cache) == ["used"])
        #expect(cache.entriesFound([], under: url + "b") == [] && cache.entriesFound([], under: url) == [stored])
    }

    /// A body that is too long for memory is read each time, and its entry asked for anew.
    @Test func longBodiesStayWithTheStore() throws {
        let cache = cache(memory: 1_000, disk: 1 << 24, entry: 1 << 20)
        cache.store(answer(length: 100_000), bytes(100_000), inMemoryOnly: false)
        #expect(orders(cache) == ["put"] && cache.held(url) == nil && !cache.isEmpty)
        let stored = answer(length: 100_000, id: 77)
        #expect(cache.entriesFound([CachedEntry(stored: stored, body: nil, usedAt: now)], under: url) == [stored])
        #expect(cache.held(url) == [stored] && cache.body(of: stored.id) == nil)
        cache.bodyRead(bytes(100_000), of: stored.id)
        #expect(cache.body(of: stored.id) == nil)
        cache.noteUse(of: stored.id, at: now)
        #expect(cache.held(url) == nil)
    }

    // MARK: Any order

    /// Against a plain list of what was kept: nothing comes back that was not put in, or that was taken out.
    @Test func memoryAgainstAModel() {
        var random = Seeded("SessionCacheTests.memoryAgainstAModel")
        for _ in 0..<Rounds.scaled(40) {
            let room = Int64(2 + random.below(6)) * (100 + CacheIndex.overhead)
            let cache = cache(memory: room, entry: room, isEphemeral: true)
            var model: [String: [String]] = [:]
            for step in 0..<60 {
                let url = "u\(random.below(5))"
                switch random.below(4) {
                case 0, 1:
                    cache.store(answer(url, tag: "\(step)", length: 100), bytes(100), inMemoryOnly: false)
                    model[url, default: []].append("\"\(step)\"")
                case 2:
                    cache.forget(url)
                    model[url] = nil
                default:
                    guard let held = cache.held(url), !held.isEmpty else { continue }
                    let one = random.pick(held)
                    if random.oneIn(2) {
                        cache.remove(one.id)
                        model[url]?.removeAll { $0 == one.headers.first("etag") }
                    } else {
                        cache.noteUse(of: one.id, at: now)
                    }
                }
                var count = 0
                for url in (0..<5).map({ "u\($0)" }) {
                    let held = cache.held(url) ?? []
                    count += held.count
                    for one in held {
                        #expect(model[url]?.contains(one.headers.first("etag") ?? "") == true)
                        #expect(cache.body(of: one.id) == bytes(100))
                    }
                }
                #expect(Int64(count) * (100 + CacheIndex.overhead) <= room)
                #expect(cache.isEmpty == (count == 0))
            }
            #expect(cache.takeOrders().isEmpty)
        }
    }
}
