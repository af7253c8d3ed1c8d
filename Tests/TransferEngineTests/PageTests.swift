import CurlCore
import Testing
import TransferEngine
import TransferModel

/// `next`: which URLs are asked for, one after the other.
struct PageTests {
    private func rig(_ next: String, _ keys: String = "") throws -> EngineRig {
        let rig = try EngineRig(EngineRig.job("next: \(next)\(keys)"))
        rig.start()
        return rig
    }

    private func urls(_ rig: EngineRig) -> [String] { rig.loop.transfers.map(\.request.url) }

    @Test func cursor_becomesAParameterOfTheFirstURL() throws {
        let rig = try rig("{ json: $.next, query: after }")
        try rig.answer(200, [], #"{"next": "a/b"}"#)
        try rig.answer(200, [], #"{"next": 7}"#)
        try rig.answer(200, [], #"{"next": ""}"#)
        #expect(rig.succeeded)
        #expect(urls(rig) == ["https://a.example/f", "https://a.example/f?after=a%2Fb", "https://a.example/f?after=7"])
    }

    /// The first URL, and not where a redirect of it led.
    @Test func cursorAfterARedirect_isOneOfTheFirstURL() throws {
        let rig = try rig("{ header: X-Next, query: c }")
        try rig.answer(302, [("Location", "https://b.example/other")])
        try rig.answer(200, [("X-Next", "1")], "x")
        #expect(try rig.request().request.url == "https://a.example/f?c=1")
    }

    @Test func cursorThatComesAgain_isAnError() throws {
        let rig = try rig("{ json: $.next, query: c }")
        try rig.answer(200, [], #"{"next": "x"}"#)
        try rig.answer(200, [], #"{"next": "x"}"#)
        #expect(rig.error()?.name == .nextPageUnusable && rig.loop.transfers.count == 2)
    }

    @Test func count_goesOnToThePageWithoutRows() throws {
        let rig = try rig("{ page: p, until: empty }")
        for body in ["[1]", "[1]", "[]"] { try rig.answer(200, [], body) }
        #expect(rig.succeeded)
        #expect(urls(rig) == (1...3).map { "https://a.example/f?p=\($0)" })
    }

    @Test func offset_growsByItsStep_upToAShortPage() throws {
        let rig = try rig("{ page: o, from: 0, step: 2, until: { shorterThan: 2 } }")
        for body in [#"{"rows": [1, 2]}"#, #"{"rows": [3]}"#] { try rig.answer(200, [], body) }
        #expect(rig.succeeded && urls(rig) == ["https://a.example/f?o=0", "https://a.example/f?o=2"])
    }

    @Test func countWithoutEnd_stopsAtTheMaximum() throws {
        let rig = try rig("{ page: p, until: empty, maximum: 2 }")
        for _ in 0..<2 { try rig.answer(200, [], "[1]") }
        #expect(rig.error()?.message == "there are more than 2 pages, and `next.maximum` allows no more")
    }

    @Test func failedPage_saysWhichItIs_andIsTriedAgain() throws {
        let rig = try rig("{ page: p, until: empty }")
        try rig.answer(200, [], "[1]")
        try rig.answer(503)
        #expect(rig.error()?.message.hasSuffix("; it was page 2 of `t`, whose `p` was counted by `next`") == true)
        rig.start(attempt: 2)
        #expect(try rig.request().request.url == "https://a.example/f?p=2")
    }

    /// The rows' place is asked for where an answer has several lists.
    @Test func rowsThatAreNotFound_areAskedFor() throws {
        let rig = try rig("{ page: p, until: empty }")
        try rig.answer(200, [], #"{"a": [], "b": []}"#)
        #expect(rig.error()?.name == .nextPageUnusable)
        #expect(rig.error()?.message.contains("the body has 2 lists: `a`, `b`") == true)
    }

    /// A page on another server is as a redirect there: what the job says of who it is was meant for the server that it
    /// names.
    @Test(arguments: [
        "{ user: me, password: open, preemptive: true }", "{ user: me, password: open }",
        "{ token: abcdefghij, preemptive: true }",
        "{ method: awsSigV4, accessKey: AK, secretKey: sk, region: r, service: s }",
    ])
    func pageOnAnotherServer_isNotShownTheCredential(_ credential: String) throws {
        let rig = try rig("{ json: $.next }", ", credentials: [\(credential)]")
        if try rig.request().header("Authorization") == nil {
            try rig.answer(401, [("WWW-Authenticate", "Basic realm=r")])
        }
        #expect(try rig.request().header("Authorization") != nil)
        try rig.answer(200, [], #"{"next": "https://b.example/2"}"#)
        try rig.answer(401, [("WWW-Authenticate", "Basic realm=r"), ("WWW-Authenticate", "Bearer")])
        let foreign = rig.loop.transfers.filter { $0.request.url.hasPrefix("https://b.example") }
        #expect(foreign.count == 1 && foreign[0].header("Authorization") == nil)
        #expect(rig.verdict("t")?.status == 401)
    }

    /// No token is asked for on its account either.
    @Test func pageOnAnotherServer_isShownNoAccessToken() throws {
        let client = "{ tokenURL: 'https://t.example/token', clientID: me, clientSecret: open }"
        let rig = try rig("{ json: $.next }", ", credentials: [{ oauth2: \(client) }]")
        try rig.answer(200, [], #"{"access_token": "abcdefghij", "token_type": "bearer", "expires_in": 3600}"#)
        #expect(try rig.request().header("Authorization") == "Bearer abcdefghij")
        try rig.answer(200, [], #"{"next": "https://b.example/2"}"#)
        try rig.answer(401, [("WWW-Authenticate", "Bearer")])
        #expect(urls(rig) == ["https://t.example/token", "https://a.example/f", "https://b.example/2"])
        #expect(rig.loop.transfers.last?.header("Authorization") == nil)
    }

    /// User and password of the task's URL are for all its pages at that server.
    @Test func pageOnTheSameServer_isShownTheCredentialOfTheURL() throws {
        let rig = try EngineRig(
            "tasks:\n  - { id: t, url: 'https://me:open@a.example/f', next: { json: $.next } }\n")
        rig.start()
        try rig.answer(401, [("WWW-Authenticate", "Basic realm=r")])
        try rig.answer(200, [], #"{"next": "/2"}"#)
        #expect(try rig.request().header("Authorization") != nil)
    }
}
