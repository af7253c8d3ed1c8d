import HTTPRules
import TestSupport
import Testing
import TransferModel

/// RFC 9111, section 3: what is kept, and the words for what is not.
struct CacheStorageTests {
    private let now = ManualClock().wall

    private func answer(_ lines: [(String, String)], _ status: Int, _ length: Int64? = 10) -> CacheAnswer {
        CacheAnswer(
            status: status, headers: HeaderBlock(lines), requestTime: now, responseTime: now, bodyLength: length)
    }

    private func verdict(
        _ lines: [(String, String)] = [], status: Int = 200, _ request: CacheRequest? = CacheSamples.request(),
        length: Int64? = 10, isDownload: Bool = false, _ change: (inout CacheConfiguration) -> Void = { _ in }
    ) throws -> String {
        var configuration = CacheConfiguration()
        change(&configuration)
        let answer = answer(lines, status, length)
        switch CacheStorage.of(answer, to: try #require(request), configuration, isDownload: isDownload) {
        case .store(_, let inMemoryOnly): return inMemoryOnly ? "memory" : "kept"
        case .refuse(let refusal): return refusal.description
        }
    }

    @Test(
        arguments: [
            (200, "", "kept"), (200, "no-store", "the server says `no-store`"), (200, "private", "kept"),
            (200, "no-cache", "kept"), (200, "max-age=0", "kept"), (204, "", "kept"), (301, "", "kept"),
            (404, "", "kept"),
            (302, "", "a 302 is kept only if the server says for how long"), (302, "max-age=1", "kept"),
            (500, "", "a 500 is kept only if the server says for how long"), (500, "private", "kept"),
            (500, "s-maxage=5", "a 500 is kept only if the server says for how long"), (599, "public", "kept"),
            (304, "max-age=5", "a 304 is kept only if the server says for how long"),
            (103, "max-age=5", "a 103 is kept only if the server says for how long"),
            (200, "no-store, must-understand", "kept"), (302, "no-store, must-understand, max-age=5", "kept"),
            (
                451, "must-understand, max-age=5",
                "the server wants a 451 kept only by those who know what it means"
            ),
        ] as [(Int, String, String)]) func statusesAndDirectives(_ status: Int, _ control: String, _ wanted: String)
        throws
    {
        #expect(try verdict(control.isEmpty ? [] : [("Cache-Control", control)], status: status) == wanted)
    }

    @Test func theRequestHasItsSay() throws {
        let noStore = CacheSamples.request([("Cache-Control", "no-store")])
        #expect(try verdict([], noStore) == "the request says `no-store`")
        let fresh = [("Cache-Control", "max-age=9")]
        for method in ["HEAD", "PUT", "POST", "OPTIONS"] {
            #expect(
                try verdict(fresh, CacheSamples.request([], method))
                    == "the answer to this \(method) answers no later GET")
        }
        #expect(try verdict([], CacheRequest("GET", ResourceURL.parse("ftp://a.test/x"))).contains("http"))
        let body = try CacheRequest("GET", ResourceURL.parse("http://a.test/x"), hasBody: true)
        #expect(try verdict(fresh, body).contains("answers no later GET"))
        // What was loaded in spite of the cache is kept in it.
        #expect(try verdict([], CacheSamples.request(policy: .reloadIgnoringCacheData)) == "kept")
    }

    @Test(
        arguments: [
            ([("Content-Location", "/x"), ("Cache-Control", "max-age=9")], 200, true),
            ([("Content-Location", "https://a.test:443/./x"), ("Expires", "0")], 200, true),
            ([("Content-Location", "/x")], 200, false), ([("Cache-Control", "max-age=9")], 200, false),
            ([("Content-Location", "/y"), ("Cache-Control", "max-age=9")], 200, false),
            ([("Content-Location", "http://[x"), ("Cache-Control", "max-age=9")], 200, false),
            ([("Content-Location", "/x"), ("Cache-Control", "max-age=9")], 201, false),
        ] as [([(String, String)], Int, Bool)])
    func aPostMayAnswerAGet(_ lines: [(String, String)], _ status: Int, _ isKept: Bool) throws {
        let request = CacheSamples.request([], "POST")
        let verdict = try verdict(lines, status: status, request)
        #expect((verdict == "kept") == isKept)
    }

    @Test func whatVariesByEverythingOrCannotBeNoted() throws {
        #expect(try verdict([("Vary", "Accept, *")]) == "the server says `Vary: *`: it answers no other request")
        let blind = CacheMarker { _ in nil }
        let url = try ResourceURL.parse("https://a.test/x")
        func blinded(_ name: String) -> CacheRequest {
            CacheRequest("GET", url, headers: HeaderBlock([(name, "x")]), marker: blind)
        }
        let unmarked = "what it depends on in the request could not be noted without writing a secret down"
        #expect(try verdict([("Vary", "Cookie")], blinded("Cookie")) == unmarked)
        #expect(try verdict([], blinded("Authorization")) == unmarked)
        #expect(try verdict([("Vary", "Cookie")], blinded("Other")) == "kept")
    }

    /// Nothing that a request said is kept as it was said.
    @Test func onlyMarksAreKept() throws {
        let url = try ResourceURL.parse("https://a.test/x")
        let headers = HeaderBlock([("Authorization", "Bearer hush"), ("Cookie", "hush")])
        let request = CacheRequest("GET", url, headers: headers, marker: CacheMarker { "\($0.utf8.count)" })
        let verdict = CacheStorage.of(
            answer([("Vary", "cookie, AUTHORIZATION, x")], 200), to: request, CacheConfiguration())
        guard case .store(let stored, _) = verdict else {
            Issue.record("not stored")
            return
        }
        #expect(!"\(stored)".contains("hush"))
        #expect(stored.credentials == .value("11"))
        #expect(stored.selecting.fields.map(\.name) == ["authorization", "cookie", "x"])
        #expect(stored.selecting.fields.map(\.mark) == [.value("11"), .value("4"), .absent])
    }

    @Test(
        arguments: [
            ([("Content-Range", "bytes 0-9/100")], 10, "kept"), ([("Content-Range", "bytes 0-9/100")], nil, "kept"),
            ([("Content-Range", "bytes 0-9/100")], 9, "the body has another length than the server announced"),
            ([("Content-Range", "bytes 0-9/*")], 10, "the part does not say where in the whole it belongs"),
            ([], 10, "the part does not say where in the whole it belongs"),
            ([("Content-Range", "bytes 9-0/100")], 10, "the part does not say where in the whole it belongs"),
            (
                [("Content-Range", "bytes 0-9/100"), ("Content-Type", "Multipart/ByteRanges; boundary=x")], 10,
                "the part does not say where in the whole it belongs"
            ),
            (
                [("Content-Range", "bytes 0-9/100"), ("Content-Range", "bytes 0-9/100")], 10,
                "the part does not say where in the whole it belongs"
            ),
        ] as [([(String, String)], Int64?, String)])
    func parts(_ lines: [(String, String)], _ length: Int64?, _ wanted: String) throws {
        #expect(try verdict(lines, status: 206, length: length) == wanted)
    }

    private func rule(
        _ storage: CacheConfiguration.Storage, scheme: String? = nil, host: String? = nil, type: String? = nil
    ) -> CacheConfiguration.Rule {
        CacheConfiguration.Rule(
            scheme: scheme, host: host.flatMap { HostPattern($0) }, mimeType: type, storage: storage)
    }

    /// The first rule that fits; downloads are not asked.
    @Test func storageAndItsRules() throws {
        #expect(try verdict { $0.isEnabled = false } == "the session has no cache")
        #expect(try verdict(isDownload: true) { $0.isEnabled = false } == "the session has no cache")
        #expect(try verdict { $0.storage = .memoryOnly } == "memory")
        #expect(try verdict { $0.storage = .notAllowed } == "`storage` does not allow it")
        #expect(try verdict(isDownload: true) { $0.storage = .notAllowed } == "kept")
        let rules = [
            rule(.memoryOnly, scheme: "HTTPS", type: "image/*"), rule(.notAllowed, host: "*.test", type: "text/html"),
            rule(.allowed, host: "a.test:443"), rule(.notAllowed),
        ]
        func ruled(_ type: String?, _ url: String = "https://a.test/x") throws -> String {
            let lines = type.map { [("Content-Type", $0)] } ?? []
            return try verdict(lines, CacheSamples.request(url: url)) { $0.rules = rules }
        }
        #expect(try ruled("Image/PNG") == "memory" && ruled("image/png", "http://b.test/").contains("not allow"))
        #expect(try ruled("text/html; charset=x").contains("not allow") && ruled("text/plain") == "kept")
        #expect(try ruled(nil) == "kept" && ruled(nil, "https://a.test:8443/").contains("not allow"))
    }

    @Test func aURLThatHoldsASecretStaysInMemory() throws {
        let request = try CacheRequest("GET", ResourceURL.parse("https://a.test/x?key=1"), holdsSecret: true)
        #expect(try verdict([], request) == "memory")
    }

    /// What is true no longer, whether the new answer is kept or not.
    @Test(
        arguments: [
            (200, [], [1, 2]), (200, [("Cache-Control", "no-store")], [1, 2]), (404, [], [1, 2]), (403, [], [1, 2]),
            (500, [], []), (503, [], []), (304, [], []), (429, [], []), (412, [], []),
            (206, [("Content-Range", "bytes 0-9/20"), ("ETag", "\"a\"")], [2]),
            (206, [("Content-Range", "bytes 0-9/20"), ("ETag", "\"b\"")], [1, 2]),
        ] as [(Int, [(String, String)], [Int64])])
    func outdated(_ status: Int, _ lines: [(String, String)], _ gone: [Int64]) throws {
        var whole = try #require(CacheSamples.stored([("ETag", "\"a\"")], came: now))
        var part = try #require(
            CacheSamples.stored([("Content-Range", "bytes 10-19/20"), ("ETag", "\"a\"")], status: 206, came: now))
        var other = try #require(CacheSamples.stored([("Vary", "B")], came: now, request: [("B", "1")]))
        whole.id = CacheEntryID(raw: 1)
        part.id = CacheEntryID(raw: 2)
        other.id = CacheEntryID(raw: 3)
        let request = try #require(CacheSamples.request())
        let found = CacheStorage.outdated([whole, part, other], by: answer(lines, status), to: request)
        #expect(found.map(\.raw) == gone)
    }

    @Test func aRefusalForSizeIsAPlainSentence() {
        let refusal = CacheIndex(CacheConfiguration()).refusal(of: 1 << 30, inMemoryOnly: false)
        #expect(refusal?.description == "it is larger than the 13421772 bytes that one entry may have")
    }
}

/// Section 4.4.
struct CacheInvalidationTests {
    @Test(
        arguments: [
            ("POST", 200, [], ["http://a.test/x"]), ("POST", 303, [], ["http://a.test/x"]), ("POST", 404, [], []),
            ("POST", 100, [], []), ("GET", 200, [("Location", "/y")], []), ("PROPFIND", 207, [], []),
            ("BREW", 200, [], ["http://a.test/x"]),
            (
                "PUT", 201, [("Location", "/y"), ("Content-Location", "z")],
                ["http://a.test/x", "http://a.test/y", "http://a.test/z"]
            ),
            ("PUT", 201, [("Location", "/x#top"), ("Content-Location", "/x")], ["http://a.test/x"]),
            (
                "PUT", 201, [("Location", "http://b.test/y"), ("Content-Location", "https://a.test/y")],
                ["http://a.test/x"]
            ),
            ("PUT", 201, [("Location", "http://[")], ["http://a.test/x"]),
            (
                "PUT", 201, [("Location", "http://a.test:8080/y"), ("Location", "//a.test:80/z")],
                ["http://a.test/x", "http://a.test/z"]
            ),
        ] as [(String, Int, [(String, String)], [String])])
    func urls(_ method: String, _ status: Int, _ lines: [(String, String)], _ wanted: [String]) throws {
        let url = try ResourceURL.parse("http://a.test/x")
        let urls = CacheInvalidation.urls(after: method, url, status: status, HeaderBlock(lines))
        #expect(urls.map(\.text) == wanted)
    }
}

/// Sections 3.3 and 3.4.
struct PartialContentTests {
    private func part(_ range: String, tag: String, request: [(String, String)] = []) throws -> StoredResponse {
        let parsed = try #require(ContentRange(range))
        let lines = [("Content-Range", range), ("ETag", tag), ("Vary", "A"), ("Content-Length", "1")]
        return try #require(
            CacheSamples.stored(
                lines, status: 206, came: ManualClock().wall, request: request,
                length: parsed.last - parsed.first + 1))
    }

    @Test(arguments: [
        ("bytes 0-4/10", "bytes 5-9/10", "200 nil 10"), ("bytes 5-9/10", "bytes 0-4/10", "200 nil 10"),
        ("bytes 0-4/10", "bytes 3-7/10", "206 bytes 0-7/10 8"), ("bytes 2-4/10", "bytes 3-3/10", "206 bytes 2-4/10 3"),
        ("bytes 0-3/10", "bytes 5-9/10", "none"), ("bytes 0-4/10", "bytes 5-9/11", "none"),
    ]) func whatTouchesIsJoined(_ first: String, _ second: String, _ wanted: String) throws {
        let joined = PartialContent.joined(try part(first, tag: "\"a\""), try part(second, tag: "\"a\""))
        let text = joined.map {
            "\($0.status) \($0.headers.first("content-range") ?? "nil") \($0.headers.first("content-length") ?? "nil")"
        }
        #expect((text ?? "none") == wanted)
        #expect(joined.map { "\($0.bodyLength)" } == text?.split(separator: " ").last.map(String.init))
    }

    /// Only a strong tag proves that they are parts of one thing, and only for one kind of request.
    @Test func whatMayDifferIsNot() throws {
        let first = try part("bytes 0-4/10", tag: "\"a\"")
        #expect(PartialContent.joined(first, try part("bytes 5-9/10", tag: "\"b\"")) == nil)
        #expect(PartialContent.joined(first, try part("bytes 5-9/10", tag: "W/\"a\"")) == nil)
        let weak = try part("bytes 0-4/10", tag: "W/\"a\"")
        #expect(PartialContent.joined(weak, try part("bytes 5-9/10", tag: "W/\"a\"")) == nil)
        #expect(PartialContent.joined(first, try part("bytes 5-9/10", tag: "\"a\"", request: [("A", "1")])) == nil)
    }

    /// Two parts that touch or overlap, against the bytes laid down one by one.
    @Test func joinedPartsAreTheBytesOfBoth() {
        var random = Seeded("joinedPartsAreTheBytesOfBoth")
        for _ in 0..<Rounds.scaled(500) {
            let (old, new) = (random.bytes(1 + random.below(9)), random.bytes(1 + random.below(9)))
            let first = random.below(10)
            let second = max(0, first - new.count) + random.below(min(first, new.count) + old.count + 1)
            var laid: [Int: UInt8] = [:]
            for (offset, byte) in old.enumerated() { laid[first + offset] = byte }
            for (offset, byte) in new.enumerated() { laid[second + offset] = byte }
            let joined = PartialContent.join(old, at: Int64(first), new, at: Int64(second))
            #expect(joined == laid.sorted { $0.key < $1.key }.map(\.value), "\(first) \(second)")
        }
    }
}
