import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Section 4 of RFC 9111 and `URLSession`'s four policies: what becomes of a request.
struct CacheDecisionTests {
    private let came = ManualClock().wall

    private func stored(_ lines: [(String, String)], request: [(String, String)] = []) throws -> StoredResponse {
        try #require(CacheSamples.stored(lines, came: came, request: request))
    }

    /// In a few words, with what is held 100 seconds old.
    private func decision(
        _ request: CacheRequest?, _ stored: [StoredResponse],
        _ revalidation: CacheConfiguration.Revalidation = .conditional
    ) throws -> String {
        let now = came + .seconds(100)
        switch CacheDecision.of(try #require(request), stored: stored, CacheConfiguration(revalidation), now: now) {
        case .use(let use): return "use \(use.reason)"
        case .fetch(let reason): return "fetch \(reason)"
        case .fail(let reason): return "fail \(reason)"
        case .validate(let question):
            guard case .conditional(let header) = question.question else { return "head \(question.reason)" }
            return "ask \(question.reason) \(header.name): \(header.value.revealed)"
        }
    }

    /// The policies' table: something fresh, something stale with and without a validator, and nothing.
    @Test(
        arguments: [
            (
                .useProtocolCachePolicy, "use fresh", "ask stale If-None-Match: \"a\"", "fetch unvalidatable",
                "fetch nothing"
            ),
            (.reloadIgnoringCacheData, "fetch policy", "fetch policy", "fetch policy", "fetch policy"),
            (.returnCacheDataElseLoad, "use policy", "use policy", "use policy", "fetch nothing"),
            (.returnCacheDataDontLoad, "use policy", "use policy", "use policy", "fail policy"),
        ] as [(CachePolicy, String, String, String, String)])
    func policies(_ policy: CachePolicy, _ fresh: String, _ stale: String, _ bare: String, _ nothing: String) throws {
        let request = CacheSamples.request(policy: policy)
        #expect(try decision(request, [stored([("Cache-Control", "max-age=200")])]) == fresh)
        #expect(try decision(request, [stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\"")])]) == stale)
        #expect(try decision(request, [stored([("Cache-Control", "max-age=20")])]).hasPrefix(bare))
        #expect(try decision(request, []).hasPrefix(nothing))
    }

    /// What the server said nothing of is asked about from the first second on, and only two policies and the key
    /// `guessLifetime` use it unasked.
    @Test func withoutALifetime_isAskedAboutAtOnce() throws {
        let tagged = try stored([("ETag", "\"a\""), ("Last-Modified", "Sat, 21 Nov 2020 07:00:00 GMT")])
        let bare = try stored([("X", "1")])
        #expect(try decision(CacheSamples.request(), [tagged]) == "ask stale If-None-Match: \"a\"")
        #expect(try decision(CacheSamples.request(), [bare]).hasPrefix("fetch unvalidatable"))
        for policy in [CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
            #expect(try decision(CacheSamples.request(policy: policy), [tagged]) == "use policy")
            #expect(try decision(CacheSamples.request(policy: policy), [bare]) == "use policy")
        }
        // Two words for how stale it may be, the request's and the server's, are about how old it is.
        let patient = CacheSamples.request([("Cache-Control", "max-stale=100")])
        #expect(try decision(patient, [tagged]) == "use maxStale")
        let lenient = try stored([("ETag", "\"a\""), ("Cache-Control", "stale-if-error=100")])
        let request = try #require(CacheSamples.request())
        func instead(_ seconds: Int64) -> CacheUse? {
            CacheDecision.instead(
                of: request, stored: [lenient], CacheConfiguration(), status: 503, now: came + .seconds(seconds))
        }
        #expect(instead(100)?.reason == .staleIfError && instead(101) == nil)

        var guessing = CacheConfiguration()
        guessing.guessesLifetime = true
        func isUsed(_ held: StoredResponse, _ control: String? = nil) throws -> Bool {
            let request = try #require(CacheSamples.request(control.map { [("Cache-Control", $0)] } ?? []))
            let decision = CacheDecision.of(request, stored: [held], guessing, now: came + .seconds(100))
            if case .use(let use) = decision { return use.reason == .fresh }
            return false
        }
        #expect(try isUsed(tagged) && !isUsed(bare) && !isUsed(tagged, "no-cache"))
    }

    /// A clock that was ahead and is right again: for how long such an answer has been stale nobody can say either.
    @Test(arguments: ["max-age=200", "max-age=1, stale-while-revalidate=9000", "max-age=200, immutable"])
    func whatCameAtATimeToComeIsAskedAbout(_ control: String) throws {
        let ahead = came + .seconds(10 * 86_400)
        let lines = [("Cache-Control", control + ", stale-if-error=900000"), ("ETag", "\"a\"")]
        let future = try #require(CacheSamples.stored(lines, came: ahead))
        let request = try #require(CacheSamples.request())
        #expect(try decision(request, [future]) == "ask stale If-None-Match: \"a\"")
        let plain = CacheConfiguration()
        #expect(CacheDecision.instead(of: request, stored: [future], plain, status: 503, now: came) == nil)
        let patient = CacheSamples.request([("Cache-Control", "max-stale")])
        #expect(try decision(patient, [future]) == "ask stale If-None-Match: \"a\"")
        // Who takes any does, and one whose date can be true goes before it.
        #expect(try decision(CacheSamples.request(policy: .returnCacheDataElseLoad), [future]) == "use policy")
        let present = try stored([("Cache-Control", "max-age=200"), ("ETag", "\"b\"")])
        #expect(try decision(request, [future, present]) == "use fresh")
        #expect(try decision(request, [present, future]) == "use fresh")
        // Of clocks that do not go quite alike nothing is made.
        let near = try #require(CacheSamples.stored([("Cache-Control", "max-age=200")], came: came + .seconds(101)))
        #expect(try decision(request, [near]) == "use fresh")
    }

    /// Servers forget to say `Vary: Accept-Encoding`; a download that asked for the bytes as they are must not suffer for it.
    @Test(
        arguments: [
            ("gzip", "identity", false), ("gzip", "gzip, br", true), ("gzip", "br", false),
            ("GZIP", "gzip;q=1.0", true),
            ("gzip", "*", true), ("gzip, br", "gzip", false), ("identity", "br", true), ("", "identity", true),
            ("x-gzip", "identity", false), ("own-coding", "identity", true),
        ]) func aPackedAnswerServesWhoAsksForIt(_ coding: String, _ accepted: String, _ isServed: Bool) throws
    {
        let lines = [("Cache-Control", "max-age=200")] + (coding.isEmpty ? [] : [("Content-Encoding", coding)])
        let request = CacheSamples.request([("Accept-Encoding", accepted)])
        #expect(try decision(request, [stored(lines)]) == (isServed ? "use fresh" : "fetch otherVariant"))
        #expect(try decision(CacheSamples.request(), [stored(lines)]) == "use fresh")
    }

    /// The offline policies take what may otherwise not be used unasked, and still nothing that answers another request.
    @Test func offlinePoliciesKnowNoAge() throws {
        let old = try stored([("Cache-Control", "no-cache, must-revalidate, max-age=0"), ("Vary", "A")])
        for policy in [CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
            #expect(try decision(CacheSamples.request(policy: policy), [old]) == "use policy")
            let other = CacheSamples.request([("A", "1")], policy: policy)
            #expect(try decision(other, [old]).hasPrefix(policy == .returnCacheDataElseLoad ? "fetch other" : "fail"))
        }
    }

    /// What never connects must not, whatever else is asked for.
    @Test(
        arguments: [
            ("POST", []), ("GET", [("If-Match", "\"a\"")]), ("GET", [("Range", "bytes=5-1")]), ("HEAD", []),
        ] as [(String, [(String, String)])])
    func dontLoadNeverConnects(_ method: String, _ lines: [(String, String)]) throws {
        let request = CacheSamples.request(lines, method, policy: .returnCacheDataDontLoad)
        #expect(try decision(request, []) == "fail policy")
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "get"])
    func otherMethodsGoOut(_ method: String) throws {
        let held = try stored([("Cache-Control", "max-age=200")])
        #expect(try decision(CacheSamples.request([], method), [held]) == "fetch method")
    }

    @Test(arguments: ["If-None-Match", "if-modified-since", "If-Match", "If-Unmodified-Since", "If-Range"])
    func ownConditionsGoOut(_ name: String) throws {
        let held = try stored([("Cache-Control", "max-age=200")])
        #expect(try decision(CacheSamples.request([(name, "x")]), [held]) == "fetch ownCondition")
    }

    @Test func otherSchemesAndBodiesGoOut() throws {
        let ftp = try CacheRequest("GET", ResourceURL.parse("ftp://a.test/x"))
        #expect(try decision(ftp, []) == "fetch scheme")
        let body = try CacheRequest("GET", ResourceURL.parse("http://a.test/x"), hasBody: true)
        #expect(try decision(body, []) == "fetch method")
    }

    @Test func onlyIfCached() throws {
        let request = CacheSamples.request([("Cache-Control", "only-if-cached")])
        #expect(try decision(request, []) == "fail onlyIfCached")
        #expect(try decision(request, [stored([("Cache-Control", "max-age=200")])]) == "use fresh")
        let stale = try stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\"")])
        #expect(try decision(request, [stale]) == "fail onlyIfCached")
    }

    /// `cache.revalidation: head`, where there is something to compare.
    @Test func askingWithHead() throws {
        let held = try stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\"")])
        #expect(try decision(CacheSamples.request(), [held], .head) == "head stale")
        #expect(try decision(CacheSamples.request([], "HEAD"), [held], .head) == "ask stale If-None-Match: \"a\"")
        let bare = try stored([("Cache-Control", "max-age=20")])
        #expect(
            try decision(CacheSamples.request(), [bare], .head)
                == "fetch unvalidatable(HTTPRules.ValidationReason.stale)")
    }

    /// The answers to a HEAD that asks.
    @Test(
        arguments: [
            (200, [("ETag", "\"a\"")], "confirmed"), (200, [("ETag", "W/\"a\"")], "confirmed"),
            (200, [("ETag", "\"a\""), ("Content-Length", "10")], "confirmed"),
            (200, [("ETag", "\"a\""), ("Content-Length", "11")], "askAgain"), (200, [("ETag", "\"b\"")], "askAgain"),
            (200, [], "askAgain"), (404, [("ETag", "\"a\"")], "askAgain"), (405, [], "askAgain"), (503, [], "askAgain"),
            (200, [("ETag", "\"a\""), ("Vary", "*")], "askAgain"),
        ] as [(Int, [(String, String)], String)])
    func answersToHead(_ status: Int, _ lines: [(String, String)], _ wanted: String) throws {
        let held = try stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\"")])
        #expect(try outcome(held, .head, status, lines).hasPrefix(wanted))
    }

    @Test(
        arguments: [
            (304, [], "confirmed"), (304, [("ETag", "\"a\"")], "confirmed"), (304, [("ETag", "W/\"a\"")], "confirmed"),
            (304, [("ETag", "\"b\"")], "askAgain"), (304, [("Vary", "*")], "askAgain"),
            (304, [("Last-Modified", "x")], "confirmed"),
            (200, [], "replaced"), (404, [], "replaced"), (500, [], "serverFailed"), (503, [], "serverFailed"),
        ] as [(Int, [(String, String)], String)])
    func answersToACondition(_ status: Int, _ lines: [(String, String)], _ wanted: String) throws {
        let held = try stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\"")])
        #expect(try outcome(held, .conditional, status, lines).hasPrefix(wanted))
    }

    @Test func aDateThatChangedIsNotOurs() throws {
        let held = try stored([("Cache-Control", "max-age=20"), ("Last-Modified", "Sat, 21 Nov 2026 06:00:00 GMT")])
        func answered(_ date: String) throws -> String {
            try outcome(held, .conditional, 304, [("Last-Modified", date)])
        }
        #expect(try answered("Sat, 21 Nov 2026 06:00:00 GMT").hasPrefix("confirmed"))
        #expect(try answered("Sat, 21 Nov 2026 06:00:01 GMT") == "askAgain")
        #expect(try outcome(held, .conditional, 304, [("ETag", "\"new\"")]) == "askAgain")
    }

    /// What is confirmed is fresh from then on, has what the server said last, and is known by what it now varies by.
    @Test func whatIsConfirmedBeginsAnew() throws {
        let held = try stored([("Cache-Control", "max-age=20"), ("ETag", "\"a\""), ("Age", "9"), ("X", "1")])
        let request = try #require(CacheSamples.request([("B", "2")]))
        let now = came + .seconds(100)
        let answer = CacheAnswer(
            status: 304, headers: HeaderBlock([("Vary", "B"), ("X", "2")]), requestTime: now, responseTime: now)
        let question = CacheValidation.of(held, request, now)
        guard case .confirmed(let use, true) = try #require(question).outcome(answer, to: request) else {
            Issue.record("not confirmed")
            return
        }
        #expect(use.stored.responseTime == now && use.stored.headers.first("x") == "2" && use.status == 200)
        #expect(use.headers.first("age") == "0" && Freshness(of: use.stored, guesses: false, now: now).isFresh)
        let other = try #require(CacheSamples.request())
        #expect(use.stored.selecting.matches(request) && !use.stored.selecting.matches(other))
    }

    private func outcome(
        _ held: StoredResponse, _ revalidation: CacheConfiguration.Revalidation, _ status: Int,
        _ lines: [(String, String)]
    ) throws -> String {
        let request = try #require(CacheSamples.request())
        let now = came + .seconds(100)
        let question = try #require(CacheValidation.of(held, request, now, revalidation))
        let answer = CacheAnswer(status: status, headers: HeaderBlock(lines), requestTime: now, responseTime: now)
        return "\(question.outcome(answer, to: request))"
    }

    /// Of several that fit the one that was made last.
    @Test func theLatestIsTaken() throws {
        let dates = ["Sat, 21 Nov 2026 06:59:50 GMT", "Sat, 21 Nov 2026 06:59:58 GMT", "Sat, 21 Nov 2026 06:59:55 GMT"]
        let held = try dates.map { try stored([("Cache-Control", "max-age=999"), ("Date", $0)]) }
        let request = try #require(CacheSamples.request())
        guard case .use(let use) = CacheDecision.of(request, stored: held, CacheConfiguration(), now: came) else {
            Issue.record("not used")
            return
        }
        #expect(use.headers.first("date") == dates[1])
    }

    /// RFC 5861, section 4: by whose word, for how long, after what.
    @Test(
        arguments: [
            ("max-age=20, stale-if-error=100", "", 503, true), ("max-age=20, stale-if-error=80", "", 503, true),
            ("max-age=20, stale-if-error=79", "", 503, false), ("max-age=20", "stale-if-error=100", 500, true),
            ("max-age=20", "", 503, false), ("max-age=20, stale-if-error=100", "", nil, true),
            ("max-age=20, stale-if-error=100", "", 501, false), ("max-age=20, stale-if-error=100", "", 404, false),
            ("max-age=20, stale-if-error=100, must-revalidate", "", 503, false),
            ("max-age=20, stale-if-error=100, no-cache", "", 503, false),
            ("max-age=20, stale-if-error=100", "no-cache", 503, false),
            ("max-age=20, stale-if-error=100", "no-store", 503, false),
        ] as [(String, String, Int?, Bool)])
    func insteadOfAnError(_ response: String, _ request: String, _ status: Int?, _ isServed: Bool) throws {
        let held = try stored([("Cache-Control", response)])
        let request = try #require(CacheSamples.request(request.isEmpty ? [] : [("Cache-Control", request)]))
        let now = came + .seconds(100)
        let use = CacheDecision.instead(of: request, stored: [held], CacheConfiguration(), status: status, now: now)
        #expect(use?.reason == (isServed ? .staleIfError : nil))
        let reload = try #require(CacheSamples.request(policy: .reloadIgnoringCacheData))
        #expect(
            CacheDecision.instead(of: reload, stored: [held], CacheConfiguration(), status: 503, now: came) == nil)
    }

    /// Credentials that no header shows, or that a header shows anew each time.
    @Test func identities() throws {
        let url = try ResourceURL.parse("https://a.test/x")
        func request(_ identity: String?, _ authorization: String) -> CacheRequest {
            CacheRequest("GET", url, headers: HeaderBlock([("Authorization", authorization)]), identity: identity)
        }
        let answer = CacheAnswer(
            status: 200, headers: HeaderBlock([("Cache-Control", "max-age=999")]), requestTime: came, responseTime: came
        )
        guard case .store(let held, _) = CacheStorage.of(answer, to: request("ann", "Digest 1"), CacheConfiguration())
        else {
            Issue.record("not stored")
            return
        }
        #expect(try decision(request("ann", "Digest 2"), [held]) == "use fresh")
        #expect(try decision(request("bob", "Digest 1"), [held]) == "fetch otherVariant")
        #expect(try decision(request(nil, "Digest 1"), [held]) == "fetch otherVariant")
        #expect(try decision(CacheSamples.request(), [held]) == "fetch otherVariant")
    }
}

extension CacheValidation {
    /// The question that a request leads to, if it leads to one.
    static func of(
        _ held: StoredResponse, _ request: CacheRequest, _ now: WallTime,
        _ revalidation: CacheConfiguration.Revalidation = .conditional
    ) -> CacheValidation? {
        let decision = CacheDecision.of(request, stored: [held], CacheConfiguration(revalidation), now: now)
        return if case .validate(let question) = decision { question } else { nil }
    }
}
