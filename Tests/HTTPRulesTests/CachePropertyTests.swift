import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What holds for every request and every answer, tried on thousands that nobody thought of.
struct CachePropertyTests {
    private let came = ManualClock().wall

    private func requestLines(_ random: inout Seeded) -> [(String, String)] {
        let control = [
            "no-cache", "no-store", "max-age=0", "max-age=50", "max-stale", "max-stale=9", "min-fresh=9", "x",
        ]
        return (0..<random.below(4)).map { _ in
            switch random.below(6) {
            case 0: ("Cache-Control", random.pick(control))
            case 1: ("Authorization", random.pick(["a", "b"]))
            case 2: ("Range", random.pick(["bytes=0-1", "bytes=-3", "bytes=2-", "bytes=0-0,2-3", "x"]))
            case 3: ("If-None-Match", "\"a\"")
            default: (random.pick(["A", "B", "C"]), random.pick(["1", "2", "1, 2"]))
            }
        }
    }

    private func answerLines(_ random: inout Seeded) -> [(String, String)] {
        (0..<random.below(7)).map { _ in
            switch random.below(4) {
            case 0: ("Vary", random.pick(["A", "B", "A, B", "c", "*", "A,,", ""]))
            case 1: ("Cache-Control", random.pick(["no-store", "No-Store=x", "must-understand", "no-cache=\"A\""]))
            default: CacheSamples.line(&random, came)
            }
        }
    }

    /// A cache before a server of many moods: each answer that it gives itself is held against what the server said.
    @Test func whatIsUsedMayBeUsed() throws {
        var random = Seeded("CachePropertyTests.whatIsUsedMayBeUsed")
        var uses = 0
        for _ in 0..<Rounds.scaled(3_000) {
            let asked = requestLines(&random)
            let first = try #require(CacheSamples.request(asked))
            let answer = CacheAnswer(
                status: random.pick([200, 200, 204, 302, 404, 503, 206]), headers: HeaderBlock(answerLines(&random)),
                requestTime: came, responseTime: came, bodyLength: 10)
            guard case .store(let stored, _) = CacheStorage.of(answer, to: first, CacheConfiguration()) else {
                continue
            }
            try storedRightly(stored, answer, first)
            let again = random.oneIn(3) ? requestLines(&random) : asked
            let second = try #require(CacheSamples.request(again, policy: random.pick(CachePolicy.allCases)))
            let now = came + .seconds(Int64(random.below(200)))
            var configuration = CacheConfiguration()
            configuration.guessesLifetime = random.oneIn(2)
            guard case .use(let use) = CacheDecision.of(second, stored: [stored], configuration, now: now) else {
                continue
            }
            uses += 1
            try usedRightly(use, second, asked, again, configuration.guessesLifetime, now)
        }
        #expect(uses > 100)
    }

    private func storedRightly(_ stored: StoredResponse, _ answer: CacheAnswer, _ request: CacheRequest) throws {
        let control = CacheControl(answer.headers)
        #expect(!control.noStore || control.mustUnderstand)
        #expect(!answer.headers.all("vary").contains { $0.contains("*") })
        #expect(!request.headers.all("cache-control").contains("no-store"))
        #expect(answer.status != 206)
        #expect(stored.selecting.matches(request))
    }

    private func usedRightly(
        _ use: CacheUse, _ request: CacheRequest, _ asked: [(String, String)], _ again: [(String, String)],
        _ guesses: Bool, _ now: WallTime
    ) throws {
        let vary = use.stored.headers.all("vary").joined(separator: ",").lowercased().filter { $0 != " " }
        for name in ["a", "b", "c", "authorization"]
        where name == "authorization" || vary.split(separator: ",").contains("\(name)") {
            #expect(values(asked, name) == values(again, name))
        }
        #expect(values(again, "if-none-match").isEmpty)
        let control = CacheControl(use.stored.headers)
        let freshness = Freshness(of: use.stored, guesses: guesses, now: now)
        #expect(guesses || freshness.basis != .guess)
        #expect(use.headers.first("age") == "\(freshness.age.nanoseconds / 1_000_000_000)")
        switch use.reason {
        case .fresh: #expect(freshness.isFresh && !control.noCache && !CacheControl(request.headers).noCache)
        case .policy: #expect(request.policy == .returnCacheDataElseLoad || request.policy == .returnCacheDataDontLoad)
        case .maxStale, .staleWhileRevalidate:
            #expect(!freshness.isFresh && !control.mustRevalidate && !control.noCache)
        case .staleIfError, .validated: Issue.record("\(use.reason) without a server")
        }
        if let part = use.part {
            #expect(use.status == 206 && part.offset >= 0 && part.length > 0 && part.offset + part.length <= 10)
        }
    }

    /// As ``SelectingHeaders`` should see them: lines joined, blanks gone; without a line there is nothing.
    private func values(_ lines: [(String, String)], _ name: String) -> [String] {
        let own = lines.filter { $0.0.lowercased() == name }
        if name == "authorization" { return own.prefix(1).map(\.1) }
        let members = own.flatMap { $0.1.split(separator: ",").map { $0.filter { $0 != " " } } }
        return own.isEmpty ? [] : [members.joined(separator: ",")]
    }

    /// Whatever bytes a server sends as headers: nothing traps, and no age is negative.
    @Test func hostileHeaders() throws {
        var random = Seeded("CachePropertyTests.hostileHeaders")
        let names = [
            "Cache-Control", "Age", "Date", "Expires", "Last-Modified", "ETag", "Vary", "Connection", "Content-Range",
            "Content-Type", "Content-Length", "Location", "Content-Location",
        ]
        let request = try #require(CacheSamples.request([("Range", "bytes=0-0"), ("A", "1")]))
        let post = try #require(CacheSamples.request([], "POST"))
        for _ in 0..<Rounds.scaled(3_000) {
            var raw: [UInt8] = []
            for _ in 0..<random.below(8) {
                raw += Array("\(random.pick(names)): ".utf8) + hostileValue(&random) + [0x0D, 0x0A]
            }
            let answer = CacheAnswer(
                status: random.pick([200, 206, 304, 404]), headers: HeaderBlock(raw: raw), requestTime: came,
                responseTime: came, bodyLength: random.oneIn(2) ? 10 : nil)
            _ = CacheInvalidation.urls(after: "POST", post.url, status: 200, answer.headers)
            _ = CacheStorage.of(answer, to: post, CacheConfiguration())
            guard case .store(let stored, _) = CacheStorage.of(answer, to: request, CacheConfiguration()) else {
                continue
            }
            #expect(Freshness(of: stored, guesses: true, now: came + .seconds(5)).age >= .seconds(5))
            _ = CacheDecision.of(request, stored: [stored], CacheConfiguration(), now: came)
            _ = CacheDecision.instead(of: request, stored: [stored], CacheConfiguration(), status: 503, now: came)
            _ = CacheUpdate.confirmed(stored, by: answer, request)
            _ = CacheUpdate.headed(stored, by: answer, request)
            _ = PartialContent.joined(stored, stored)
        }
    }

    private func hostileValue(_ random: inout Seeded) -> [UInt8] {
        let pieces = [
            "max-age=", "no-cache=\"", "*", ",", "\"", "\\", "=", "bytes ", "0-9/10", "9223372036854775807-",
            "9223372036854775807", "W/", "Sat, 21 Nov 2026 07:00:00 GMT", "http://[", "//", "\u{301}", " ", "-", "a",
        ]
        return (0..<random.below(6)).flatMap { _ in
            random.oneIn(5) ? random.bytes(3).filter { $0 != 0x0A } : Array(random.pick(pieces).utf8)
        }
    }

    /// Two ways to write the same are the same, and two members are never taken for one.
    @Test(
        arguments: [
            ("X", ["1, 2"], ["1,2"], true), ("X", ["1", "2"], ["1 ,\t2"], true), ("X", ["1,,2"], ["1,2"], true),
            ("X", ["1"], ["1, 1"], false), ("X", ["a"], ["A"], false), ("X", ["\"1, 2\""], ["\"1,2\""], false),
            ("X", [""], [], false), ("X", [], [], true), ("X", ["1", "2"], ["2", "1"], false),
            ("Accept-Language", ["EN ; Q=0.5, de"], ["en;q=0.5,DE"], true),
            ("Accept-Language", ["en, de"], ["de, en"], false), ("Accept-Charset", ["UTF-8"], ["utf-8"], true),
            ("Accept-Encoding", ["gzip, br"], ["br, gzip"], true), ("Accept-Encoding", ["gzip;q=1"], ["gzip"], false),
            ("Accept", ["text/html, a/b"], ["text/html,a/b"], true), ("Accept", ["a/b;X=y"], ["a/b;x=y"], false),
        ] as [(String, [String], [String], Bool)])
    func sameness(_ name: String, _ first: [String], _ second: [String], _ isSame: Bool) throws {
        func request(_ values: [String]) throws -> CacheRequest {
            try #require(CacheSamples.request(values.map { (name, $0) }))
        }
        let selecting = try #require(
            SelectingHeaders(HeaderBlock([("Vary", name.uppercased())]), request: request(first)))
        #expect(try selecting.matches(request(second)) == isSame)
    }

    /// What cannot be marked is like nothing, itself included.
    @Test func theUnmarkableMatchesNothing() throws {
        let url = try ResourceURL.parse("https://a.test/x")
        let request = CacheRequest("GET", url, headers: HeaderBlock([("A", "1")]), marker: CacheMarker { _ in nil })
        let selecting = try #require(SelectingHeaders(HeaderBlock([("Vary", "A")]), request: request))
        #expect(!selecting.matches(request))
        #expect(SelectingHeaders(HeaderBlock([("Vary", "A, *")]), request: request) == nil)
    }
}
