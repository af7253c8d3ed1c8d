import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What of answers lies on the disk.
@Suite struct CacheStoreTests {
    private let url = "https://example.org/a"

    @Test func anAnswerComesBackAsItWas() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        let body = Array("hello".utf8)
        var stored = StoredResponse(
            url: url, status: 206, headers: HeaderBlock([("ETag", "\"1\""), ("Content-Type", "text/plain")]),
            selecting: SelectingHeaders(fields: [
                .init(name: "accept", mark: .value("a=b=\u{e9}")), .init(name: "cookie", mark: .absent),
            ]), credentials: .value("somebody"), requestTime: WallTime(nanoseconds: -5),
            responseTime: WallTime(nanoseconds: .max / 4), bodyLength: 5, part: ContentRange("bytes 10-14/100"))
        stored.id = CacheEntryID(raw: .max)
        stored.needsValidation = true
        try stage.put(stored, body)
        let again = try CacheStage(tree)
        #expect(
            try again.store.cached(again.session, url: url)
                == [CachedEntry(stored: stored, body: body, usedAt: stage.now)])
        #expect(try again.body(.max) == body)
        #expect(try again.store.cache(of: again.session)?.key == stage.key)
        #expect(try again.store.cached(again.session, url: url + "b").isEmpty)
        #expect(try again.store.cacheSize(again.session) == 5 + CacheIndex.overhead)
    }

    @Test func sessionsHaveNothingInCommon() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        var other = try CacheStage(tree, session: "other")
        try stage.put(CacheStage.answer(1), [])
        #expect(try other.ids() == [] && other.body(1) == nil)
        try other.change(.remove(CacheEntryID(raw: 1)), .forget(url: url), .used(CacheEntryID(raw: 1)))
        #expect(try stage.ids() == [1])
        try stage.store.forget(stage.session)
        #expect(try stage.ids() == [] && !stage.store.holds(CacheEntryID(raw: 1)))
    }

    @Test func theLastOfSeveralThatAnswerTheSameCounts() throws {
        let tree = try TemporaryTree()
        var one = try CacheStage(tree)
        var two = try CacheStage(tree)
        try one.put(CacheStage.answer(1, language: "en"), [])
        try two.put(CacheStage.answer(2, language: "en"), [])
        try two.put(CacheStage.answer(3, language: "de"), [])
        try two.put(CacheStage.answer(4, language: "de", credentials: .value("me")), [])
        #expect(try one.ids() == [2, 3, 4])
        #expect(try one.store.cacheSize(one.session) == 3 * CacheIndex.overhead)
    }

    @Test func anUpdateChangesTheHeadersAndNotTheBody() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        let body = Array("hello".utf8)
        let stored = CacheStage.answer(1, body: body)
        try stage.put(stored, body)
        var newer = stored
        newer.headers = HeaderBlock([("ETag", "\"1\""), ("Cache-Control", "max-age=5")])
        newer.responseTime = WallTime(nanoseconds: 99)
        newer.needsValidation = true
        try stage.change(.update(newer))
        #expect(try stage.store.cached(stage.session, url: url).map(\.stored) == [newer])
        // One that is gone stays away, and one of another URL is another's.
        try stage.change(.update(CacheStage.answer(2)), .update(CacheStage.answer(1, url + "/b")))
        #expect(try stage.store.cached(stage.session, url: url).map(\.stored) == [newer])
    }

    @Test func whatWasNotUsedForTheLongestGoesFirst() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        stage.capacity = 3 * (CacheIndex.overhead + 20_000)
        let body = [UInt8](repeating: 1, count: 20_000)
        for id in 1...3 as ClosedRange<Int64> {
            try stage.put(CacheStage.answer(id, "https://example.org/\(id)", body: body), body, inFile: true)
        }
        try stage.change(.used(CacheEntryID(raw: 1)))
        // Another process is the one that needs room.
        var other = try CacheStage(tree)
        other.capacity = stage.capacity
        other.now = stage.now
        try other.put(CacheStage.answer(4, "https://example.org/4", body: body), body, inFile: true)
        #expect(try stage.body(2) == nil)
        for id in [1, 3, 4] as [Int64] { #expect(try stage.body(id) == body) }
        #expect(tree.list("cache").count == 3)
        stage.now = other.now
        stage.capacity = 0
        try stage.change(.used(CacheEntryID(raw: 1)))
        #expect(tree.list("cache").isEmpty)
        #expect(try stage.store.cacheSize(stage.session) == 0)
    }

    @Test(arguments: ["shorter", "changed", "gone", "folder", "link"])
    func aFileThatIsNotWhatWasWrittenIsNoBody(_ damage: String) throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        let body = [UInt8](repeating: 1, count: 20_000)
        try stage.put(CacheStage.answer(1, body: body), body, inFile: true)
        #expect(try stage.body(1) == body)
        let name = "cache/\(try #require(tree.list("cache").first))"
        var changed = body
        changed[19_999] = 2
        if damage != "changed" { tree.remove(name) }
        switch damage {
        case "shorter": try tree.write(name, Array(body.dropLast()), mode: 0o600)
        case "changed": try tree.write(name, changed, mode: 0o600)
        case "folder": try tree.makeFolder(name)
        case "link": try tree.link(name, to: try tree.write("elsewhere", body))
        default: break
        }
        #expect(try stage.body(1) == nil)
    }

    @Test func aFileIsNeverWrittenOverAnother() throws {
        let tree = try TemporaryTree()
        let stage = try CacheStage(tree)
        #expect(stage.folder.write([1], of: CacheEntryID(raw: 1)))
        #expect(!stage.folder.write([2], of: CacheEntryID(raw: 1)))
        #expect(tree.mode("cache/\(try #require(tree.list("cache").first))") == 0o600)
        #expect(tree.mode("cache") == 0o700)
    }

    /// Two processes may make a cache at once; the marks of the second mean nothing in it.
    @Test func aCacheOfAnotherKeyIsLeftAlone() throws {
        let tree = try TemporaryTree()
        var one = try CacheStage(tree)
        var two = try CacheStage(tree)
        two.key = [UInt8](repeating: 8, count: 32)
        try one.put(CacheStage.answer(1), [])
        let change = CacheChange.remove(CacheEntryID(raw: 1))
        #expect(
            try two.store.change(
                two.session, [change], key: two.key, capacity: 0, folder: two.folder.path, now: two.now) == nil)
        #expect(try one.ids() == [1])
    }

    /// Whoever forgets a session learns where its files are, wherever they were put.
    @Test func whereBodiesLie() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        let body = [UInt8](repeating: 1, count: 20_000)
        try stage.put(CacheStage.answer(1), [])
        let short = try stage.store.reset(job: "j", name: "s")
        #expect(short.bodies.isEmpty && short.folders.isEmpty && short.parts.isEmpty)
        stage = try CacheStage(tree)
        for (id, folder) in [(2, "cache"), (3, "other"), (4, "cache")] as [(Int64, String)] {
            _ = try CacheFolder(tree.path(folder)).write(body, of: CacheEntryID(raw: id))
            let put = CacheChange.put(CacheStage.answer(id, "\(url)\(id)", body: body), digest: [1], body: nil)
            _ = try stage.store.change(
                stage.session, [put], key: stage.key, capacity: 1 << 20, folder: tree.path(folder), now: stage.now)
        }
        let gone = try stage.store.reset(job: "j", name: "s")
        #expect(gone.folders == [tree.path("cache"), tree.path("other")])
        #expect(gone.bodies.map(\.raw).sorted() == [2, 3, 4])
        #expect(try stage.store.reset(job: "j", name: "s").folders == [])
    }

    @Test func urlsAreKnownUntilThereAreTooMany() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        stage.capacity = 1 << 30
        try stage.put(CacheStage.answer(0), [])
        let few = try #require(try stage.store.cache(of: stage.session)?.urls)
        #expect(few.mayHold(url) && !few.mayHold(url + "b") && !few.isEmpty)
        try stage.store.batch { () throws(StoreError) in
            for id in 1...4096 as ClosedRange<Int64> {
                let put = CacheChange.put(
                    CacheStage.answer(id, "https://example.org/\(id)"), digest: [1], body: [])
                _ = try stage.store.change(
                    stage.session, [put], key: stage.key, capacity: stage.capacity, folder: stage.folder.path,
                    now: stage.now)
            }
        }
        let many = try #require(try stage.store.cache(of: stage.session)?.urls)
        #expect(many.mayHold(url) && many.mayHold(url + "b"))
    }

    @Test func filesWithoutARowAreSweptOnceADay() throws {
        let tree = try TemporaryTree()
        var stage = try CacheStage(tree)
        let body = [UInt8](repeating: 1, count: 20_000)
        try stage.put(CacheStage.answer(1, body: body), body, inFile: true)
        _ = stage.folder.write(body, of: CacheEntryID(raw: 2))
        try tree.write("cache/somebody's.body", "x")
        let day = TimeSpan.seconds(86_400)
        #expect(try stage.store.mustSweep(stage.session, now: stage.now))
        #expect(try !stage.store.mustSweep(stage.session, now: stage.now + .seconds(86_399)))
        #expect(try stage.store.mustSweep(stage.session, now: stage.now + day + .seconds(1)))
        // A young one may be another process's that has not written its row yet.
        stage.folder.sweep(now: Clocks.wall()) { id in (try? stage.store.holds(id)) != false }
        #expect(tree.list("cache").count == 3)
        stage.folder.sweep(now: Clocks.wall() + day) { id in (try? stage.store.holds(id)) != false }
        #expect(tree.list("cache").sorted() == ["0000000000000001.body", "somebody's.body"])
    }

    @Test func marksTellNothingWithoutTheKey() {
        let one = CacheMarker.keyed(by: CacheMarker.newKey())
        let two = CacheMarker.keyed(by: CacheMarker.newKey())
        let secret = "Basic c2VjcmV0"
        let mark = SelectingHeaders(HeaderBlock([("Vary", "Authorization")]), request: request(secret, one))
        #expect(mark == SelectingHeaders(HeaderBlock([("Vary", "Authorization")]), request: request(secret, one)))
        #expect(mark != SelectingHeaders(HeaderBlock([("Vary", "Authorization")]), request: request(secret + "x", one)))
        #expect(mark != SelectingHeaders(HeaderBlock([("Vary", "Authorization")]), request: request(secret, two)))
        #expect(!"\(String(describing: mark))".contains("c2VjcmV0"))
        // RFC 4231, test case 2, the first half.
        let known = SelectingHeaders(
            HeaderBlock([("Vary", "x")]),
            request: CacheRequest(
                "GET", URLs.a, headers: HeaderBlock([("x", "what do ya want for nothing?")]),
                marker: .keyed(by: Array("Jefe".utf8))))
        #expect(known?.fields.first?.mark == .value("5bdcc146bf60754e6a042426089575c7"))
    }

    private func request(_ authorization: String, _ marker: CacheMarker) -> CacheRequest {
        CacheRequest("GET", URLs.a, headers: HeaderBlock([("Authorization", authorization)]), marker: marker)
    }
}

private enum URLs {
    static let a = parsed("https://example.org/a")

    private static func parsed(_ text: String) -> ResourceURL {
        do throws(URLProblem) { return try .parse(text) } catch { preconditionFailure("\(error)") }
    }
}
