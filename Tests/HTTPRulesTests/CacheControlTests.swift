import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

/// RFC 9111, section 5.2: how the field is read.
struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl {
        CacheControl(HeaderBlock(lines.map { ("Cache-Control", $0) }))
    }

    @Test func directivesAreKnownInAnyCaseAndOnAnyLine() {
        let control = control("NO-store , Must-Revalidate", "public,private,IMMUTABLE, must-understand")
        #expect(control.noStore && control.mustRevalidate && control.isPublic && control.isPrivate)
        #expect(control.isImmutable && control.mustUnderstand && !control.noCache && !control.onlyIfCached)
    }

    /// What forbids counts however it is written; what allows only as it is defined.
    @Test func doubtIsDecidedAgainstReuse() {
        #expect(control("no-store=1").noStore && control("no-cache=\"\"").noCache && control("no-cache=,").noCache)
        #expect(control("must-revalidate=x").mustRevalidate)
        #expect(!control("public=x").isPublic && !control("immutable=\"\"").isImmutable)
        #expect(!control("must-understand=0").mustUnderstand)
        #expect(control("a=\"open, no-store").noStore && !control("a=\"closed, no-store\"").noStore)
        #expect(control("a=\"\\\", b\", no-store").noStore && !control("a=\"\\\", no-store\"").noStore)
    }

    @Test(
        arguments: [
            ("max-age=0", CacheControl.Seconds.seconds(0)), ("max-age=\"60\"", .seconds(60)),
            ("max-age=0060", .seconds(60)),
            ("max-age=2147483648", .seconds(2_147_483_648)), ("max-age=99999999999999999999", .seconds(2_147_483_648)),
            ("max-age=1, max-age=2", .seconds(1)), ("max-age=x, max-age=2", .malformed), ("max-age", .malformed),
            ("max-age=", .malformed), ("max-age=-1", .malformed), ("max-age=1.0", .malformed),
            ("max-age=+1", .malformed),
            ("max-age =1", .malformed), ("max-age= 1", .malformed), ("max-age=1 2", .malformed),
            ("max-age=١", .malformed),
            ("s-maxage=1", nil), ("x-max-age=1", nil), ("", nil), (",,", nil),
        ] as [(String, CacheControl.Seconds?)])
    func numbers(_ text: String, _ wanted: CacheControl.Seconds?) {
        #expect(control(text).maxAge == wanted)
        let span: TimeSpan? = wanted.map { if case .seconds(let count) = $0 { .seconds(count) } else { .zero } }
        #expect(control(text).maxAgeSpan == span)
    }

    @Test func whatIsNoNumberIsTakenForTheCarefulOne() {
        #expect(control("min-fresh=x").minFreshSpan == .forever && control("min-fresh=5").minFreshSpan == .seconds(5))
        #expect(control("stale-if-error=x").staleIfError == .zero && control("").staleWhileRevalidate == .zero)
        #expect(control("stale-while-revalidate=7").staleWhileRevalidate == .seconds(7))
        #expect(control("max-stale").maxStale == .any && control("max-stale=5").maxStale == .atMost(.seconds(5)))
        #expect(control("max-stale=x").maxStale == nil)
    }

    @Test func noCacheForSomeFieldsAlone() {
        #expect(control("no-cache=\"Set-Cookie, a\"").noCacheFields == ["set-cookie", "a"])
        #expect(!control("no-cache=a").noCache && control("no-cache=a").noCacheFields == ["a"])
        #expect(control("no-cache=a", "no-cache").noCache)
    }

    @Test func pragmaSpeaksWhereNothingElseDoes() {
        func noCache(_ lines: [(String, String)]) -> Bool { CacheControl(request: HeaderBlock(lines)).noCache }
        #expect(noCache([("Pragma", "x, No-Cache")]) && !noCache([("Pragma", "x")]) && !noCache([]))
        #expect(!noCache([("Pragma", "no-cache"), ("Cache-Control", "x")]))
        #expect(!CacheControl(HeaderBlock([("Pragma", "no-cache")])).noCache)
    }

    @Test func hostileText() {
        var random = Seeded("CacheControlTests.hostileText")
        let pieces = [
            "max-age", "no-store", "no-cache", "=", ",", "\"", "\\", " ", "\t", "9", "é", "\u{0}", "stale-if-error",
            "-",
            "\u{301}",
        ]
        for _ in 0..<Rounds.scaled(3_000) {
            let text = (0..<random.below(16)).map { _ in random.pick(pieces) }.joined()
            let control = control(text)
            for span in [control.maxAgeSpan ?? .zero, control.staleIfError, control.staleWhileRevalidate] {
                #expect(span >= .zero && span <= .seconds(2_147_483_648))
            }
            // Whatever stands before it, a directive behind a comma on a line of its own is heard.
            #expect(CacheControl(HeaderBlock([("Cache-Control", text), ("Cache-Control", "no-store")])).noStore)
        }
    }
}

/// RFC 9111, section 4.2: the arithmetic.
struct FreshnessTests {
    private let clock = ManualClock().wall

    private func freshness(
        _ lines: [(String, String)], status: Int = 200, delay: Int64 = 0, after seconds: Int64 = 0,
        guesses: Bool = false
    ) throws -> Freshness {
        let stored = try #require(CacheSamples.stored(lines, status: status, came: clock, delay: .seconds(delay)))
        return Freshness(of: stored, guesses: guesses, now: clock + .seconds(seconds))
    }

    /// Section 4.2.3, each of its terms.
    @Test(
        arguments: [
            (0, "@0", nil, 0, 0), (0, "@0", nil, 7, 7), (0, "@-10", nil, 7, 17), (0, "@10", nil, 7, 7),
            (4, "@0", nil, 0, 4), (4, "@-10", nil, 0, 10), (4, "@0", "30", 7, 41), (4, "@-50", "30", 7, 57),
            (0, nil, "30", 1, 31), (0, "soon", nil, 1, 1), (0, "@0", nil, -100, 0),
            (0, "@0", "99999999999", 0, 2_147_483_648),
        ] as [(Int64, String?, String?, Int64, Int64)])
    func age(_ delay: Int64, _ date: String?, _ age: String?, _ after: Int64, _ wanted: Int64) throws {
        var lines = [("Cache-Control", "max-age=60")]
        if let date { lines.append(("Date", CacheSamples.dated(date, clock))) }
        if let age { lines.append(("Age", age)) }
        #expect(try freshness(lines, delay: delay, after: after).age == .seconds(wanted))
    }

    @Test(
        arguments: [
            ([("Cache-Control", "max-age=60"), ("Expires", "@5")], 60, Freshness.Basis.maxAge),
            ([("Expires", "@5")], 5, .expires), ([("Expires", "@-5")], 0, .expires), ([("Expires", "-1")], 0, .expires),
            ([("Expires", "@5"), ("Date", "@-5")], 10, .expires),
            ([("Expires", "@5"), ("Expires", "@9")], 5, .expires),
            ([("Last-Modified", "@-1000")], 100, .guess), ([("Last-Modified", "@1000")], 0, .guess),
            ([("Last-Modified", "@-1000"), ("Date", "@-500")], 50, .guess),
            ([("Last-Modified", "@-100000000")], 86_400, .guess), ([("Last-Modified", "old")], 0, .nothing),
            ([("Last-Modified", "Mon, 01 Jan 0001 00:00:00 GMT")], 86_400, .guess),
            (
                [("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"), ("Date", "Mon, 01 Jan 0001 00:00:00 GMT")],
                2_147_483_648,
                .expires
            ),
            ([], 0, .nothing),
        ] as [([(String, String)], Int64, Freshness.Basis)]) func lifetime(
            _ lines: [(String, String)], _ wanted: Int64, _ basis: Freshness.Basis
        ) throws
    {
        let lines = lines.map { ($0.0, CacheSamples.dated($0.1, clock)) }
        let freshness = try freshness(lines, guesses: true)
        #expect(freshness.lifetime == .seconds(wanted))
        #expect(freshness.basis == basis)
        // Without the key there is no guess, and all else is the same.
        let plain = try self.freshness(lines)
        #expect(plain.basis == (basis == .guess ? .nothing : basis))
        #expect(plain.lifetime == (basis == .guess ? .zero : freshness.lifetime))
    }

    /// The very moment at which it is as old as it may be is one too late.
    @Test func theEdge() throws {
        func isFresh(_ after: Int64) throws -> Bool {
            try freshness([("Cache-Control", "max-age=10")], after: after).isFresh
        }
        #expect(try isFresh(9) && !isFresh(10) && !isFresh(11))
    }

    /// Time makes nothing younger and nothing fresh again; and no header makes the sums overflow.
    @Test func monotone() throws {
        var random = Seeded("FreshnessTests.monotone")
        for _ in 0..<Rounds.scaled(2_000) {
            let stored = try #require(CacheSamples.random(&random, came: clock))
            let guesses = random.oneIn(2)
            var last = Freshness(of: stored, guesses: guesses, now: clock)
            var now = clock
            for _ in 0..<6 {
                now = now + .seconds(Int64(random.below(1 << (1 + random.below(30)))))
                let next = Freshness(of: stored, guesses: guesses, now: now)
                #expect(next.age >= last.age && next.lifetime == last.lifetime && next.age >= .zero)
                #expect(last.isFresh || !next.isFresh)
                last = next
            }
        }
    }
}

extension CacheConfiguration {
    init(_ revalidation: Revalidation) {
        self.init()
        self.revalidation = revalidation
    }
}

/// Stored answers for tests, made the way an engine makes them.
enum CacheSamples {
    static func stored(
        _ lines: [(String, String)], status: Int = 200, came: WallTime, delay: TimeSpan = .zero,
        request: [(String, String)] = [], url: String = "https://a.test/x", length: Int64 = 10
    ) -> StoredResponse? {
        guard let request = self.request(request, url: url) else { return nil }
        let sent = WallTime(nanoseconds: came.nanoseconds - delay.nanoseconds)
        let answer = CacheAnswer(
            status: status, headers: HeaderBlock(lines), requestTime: sent, responseTime: came, bodyLength: length)
        guard case .store(let stored, _) = CacheStorage.of(answer, to: request, CacheConfiguration()) else {
            return nil
        }
        return stored
    }

    static func request(
        _ lines: [(String, String)] = [], _ method: String = "GET", url: String = "https://a.test/x",
        policy: CachePolicy = .useProtocolCachePolicy
    ) -> CacheRequest? {
        do throws(URLProblem) {
            return CacheRequest(method, try ResourceURL.parse(url), headers: HeaderBlock(lines), policy: policy)
        } catch {
            return nil
        }
    }

    /// `@-5` is five seconds before `now`.
    static func dated(_ text: String, _ now: WallTime) -> String {
        guard text.hasPrefix("@"), let seconds = Int64(text.dropFirst()) else { return text }
        return HTTPDate.format(now + .seconds(seconds))
    }

    /// One with whatever headers a server might send, and some that none should.
    static func random(_ random: inout Seeded, came: WallTime) -> StoredResponse? {
        for _ in 0..<100 {
            let lines = (0..<random.below(7)).map { _ in line(&random, came) }
            let delay = TimeSpan.seconds(Int64(random.below(20)))
            if let stored = stored(lines, status: random.pick([200, 203, 404, 301]), came: came, delay: delay) {
                return stored
            }
        }
        return nil
    }

    static func line(_ random: inout Seeded, _ came: WallTime) -> (String, String) {
        let seconds = random.pick(["0", "5", "60", "3600", "2147483648", "99999999999999999999", "x", "-1", ""])
        let far = ["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "0", "foo", ""]
        let date = random.oneIn(4) ? random.pick(far) : dated("@\(random.below(20_000) - 10_000)", came)
        switch random.below(8) {
        case 0: return ("Cache-Control", "max-age=\(seconds)")
        case 1:
            return ("Cache-Control", random.pick(["public", "private", "no-cache", "must-revalidate", "immutable"]))
        case 2: return ("Cache-Control", random.pick(["stale-while-revalidate=", "stale-if-error="]) + seconds)
        case 3: return ("Age", seconds)
        case 4: return ("Date", date)
        case 5: return ("Expires", date)
        case 6: return ("Last-Modified", date)
        default: return ("ETag", random.pick(["\"a\"", "W/\"a\"", "a"]))
        }
    }
}
