import CurlCore
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// What a session learns from answers, and what its next requests say because of it: cookies, credentials, cached
/// answers, secure hosts.
@Suite struct SessionStateTests {
    /// Two data tasks at one host.
    private func pair(
        _ first: String = "", _ second: String = "", session: String = "", url: String = "https://a.example/g"
    )
        throws -> EngineRig
    {
        try EngineRig(
            """
            sessions: { default: { \(session) } }
            tasks:
              - { id: t, url: "https://a.example/f"\(first) }
              - { id: u, url: "\(url)"\(second) }
            """, environment: ["PASSWORD": "open sesame", "TOKEN": "abc.def"])
    }

    // MARK: Cookies

    @Test(
        arguments: [
            ("a=1", "https://a.example/g", "a=1"), ("a=1; Path=/f", "https://a.example/g", nil),
            ("a=1", "https://b.example/g", nil), ("a=1; Max-Age=0", "https://a.example/g", nil),
            ("a=1; Domain=example", "https://a.example/g", nil),
            ("__Host-a=1; Secure; Path=/", "https://a.example/g", "__Host-a=1"),
            ("__Host-a=1; Path=/", "https://a.example/g", nil), ("a=1; Secure", "http://a.example/g", nil),
        ] as [(String, String, String?)]) func cookie_isSentWhereItBelongs(
            _ set: String, _ url: String, _ sent: String?
        ) throws
    {
        let rig = try pair(url: url)
        rig.start("t")
        try rig.answer(200, [("Set-Cookie", set)])
        rig.start("u")
        #expect(try rig.request().header("Cookie") == sent)
    }

    @Test func cookieOfARedirect_isSentOnTheNextHop() throws {
        let rig = try pair()
        rig.start()
        try rig.answer(302, [("Set-Cookie", "a=1"), ("Location", "/x")])
        #expect(try rig.request().header("Cookie") == "a=1")
    }

    @Test(arguments: [", cookies: false", ""]) func taskWithoutCookies_sendsAndKeepsNone(_ task: String) throws {
        let rig = try pair("", task)
        rig.start("t")
        try rig.answer(200, [("Set-Cookie", "a=1")])
        rig.start("u")
        #expect(try rig.request().header("Cookie") == (task.isEmpty ? "a=1" : nil))
    }

    @Test func sessionThatNeverAccepts_keepsNone() throws {
        let rig = try pair(session: "cookies: { accept: never }")
        rig.start("t")
        try rig.answer(200, [("Set-Cookie", "a=1")])
        rig.start("u")
        #expect(try rig.request().header("Cookie") == nil)
    }

    // MARK: Credentials

    private let basic = "credentials: [{ host: a.example, user: me, password: \"${env.PASSWORD}\" }]"

    @Test func credential_isShownWhenItIsAskedFor() throws {
        let rig = try pair(session: basic)
        rig.start()
        #expect(try rig.request().header("Authorization") == nil)
        try rig.answer(401, [("WWW-Authenticate", "Basic realm=\"r\"")])
        #expect(try rig.request().header("Authorization") == "Basic bWU6b3BlbiBzZXNhbWU=")
        try rig.answer(200, [], "in")
        #expect(rig.succeeded && rig.body() == "in")
        let challenges = rig.events().compactMap { if case .challenge(let record) = $0 { record } else { nil } }
        #expect(challenges.map(\.disposition) == ["use"] && challenges.first?.realm == "r")
        rig.start("u")
        #expect(try rig.request().header("Authorization") == "Basic bWU6b3BlbiBzZXNhbWU=")
    }

    @Test func wrongPassword_isShownOnce() throws {
        let rig = try pair(session: basic)
        rig.start()
        for _ in 0..<2 { try rig.answer(401, [("WWW-Authenticate", "Basic realm=\"r\"")]) }
        #expect(!rig.succeeded && rig.verdict()?.status == 401 && rig.loop.transfers.count == 2)
    }

    @Test func preemptiveCredential_isShownAtOnce() throws {
        let rig = try pair(
            session:
                "credentials: [{ host: a.example, user: me, password: \"${env.PASSWORD}\", preemptive: true, method: basic }]"
        )
        rig.start()
        #expect(try rig.request().header("Authorization") == "Basic bWU6b3BlbiBzZXNhbWU=")
    }

    @Test func credential_isShownToNoOtherHost() throws {
        let rig = try pair(session: basic)
        rig.start()
        try rig.answer(302, [("Location", "https://b.example/x")])
        try rig.answer(401, [("WWW-Authenticate", "Basic realm=\"r\"")])
        #expect(rig.loop.transfers.allSatisfy { $0.header("Authorization") == nil })
        #expect(!rig.succeeded)
    }

    @Test func digest_answersTheServersNonce() throws {
        let rig = try pair(session: basic)
        rig.start()
        try rig.answer(401, [("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256")])
        let shown = try #require(rig.request().header("Authorization"))
        #expect(shown.hasPrefix("Digest ") && shown.contains("nonce=\"n1\"") && shown.contains("username=\"me\""))
        #expect(!shown.contains("sesame"))
        try rig.answer(200)
        #expect(rig.succeeded)
    }

    @Test func strongestOffer_isTaken() throws {
        let rig = try pair(session: basic)
        rig.start()
        try rig.answer(
            401, [("WWW-Authenticate", "Basic realm=\"r\""), ("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\"")])
        #expect(try rig.request().header("Authorization")?.hasPrefix("Digest ") == true)
    }

    @Test func bearer_isShownAsItIs() throws {
        let rig = try pair(session: "credentials: [{ host: a.example, token: \"${env.TOKEN}\", method: bearer }]")
        rig.start()
        if try rig.request().header("Authorization") == nil {
            try rig.answer(401, [("WWW-Authenticate", "Bearer realm=\"r\"")])
        }
        #expect(try rig.request().header("Authorization") == "Bearer abc.def")
    }

    @Test(arguments: [("cancel", true), ("default", false)])
    func challengeRule_decides(_ what: String, _ cancels: Bool) throws {
        let rig = try pair(session: "\(basic), challenges: [{ host: a.example, do: \(what) }]")
        rig.start()
        try rig.answer(401, [("WWW-Authenticate", "Basic realm=\"r\"")])
        #expect(rig.loop.transfers.count == 1)
        if cancels { #expect(rig.error()?.name == .userCancelledAuthentication || rig.error()?.name == .cancelled) }
        if !cancels { #expect(rig.verdict()?.status == 401) }
    }

    // MARK: The cache

    private func cached(
        _ headers: [(String, String)], session: String = "configuration: ephemeral", second: String = ""
    ) throws -> EngineRig {
        let rig = try pair("", second, session: session, url: "https://a.example/f")
        rig.start("t")
        try rig.answer(200, headers, "cached")
        #expect(rig.succeeded)
        rig.start("u")
        return rig
    }

    @Test func freshAnswer_isGivenWithoutARequest() throws {
        let rig = try cached([("Cache-Control", "max-age=60")])
        #expect(rig.loop.transfers.count == 1 && rig.body("u") == "cached" && rig.result("u")?.source == .cache)
    }

    @Test(arguments: ["no-store", "private, no-store"]) func unstorableAnswer_isAskedForAgain(_ control: String) throws
    {
        let rig = try cached([("Cache-Control", control), ("ETag", "\"1\"")])
        #expect(try rig.request().header("If-None-Match") == nil)
    }

    @Test func staleAnswer_isAskedAbout() throws {
        let rig = try cached([("Cache-Control", "max-age=0"), ("ETag", "\"1\"")])
        #expect(try rig.request().header("If-None-Match") == "\"1\"")
        try rig.answer(304, [("ETag", "\"1\"")])
        #expect(rig.body("u") == "cached" && rig.result("u")?.source == .revalidated)
    }

    @Test(arguments: [false, true]) func answerWithoutLifetime_isAskedAboutUnlessTheJobGuesses(_ guesses: Bool) throws {
        let old = [("Last-Modified", "Wed, 01 Jan 2020 12:00:00 GMT"), ("ETag", "\"1\"")]
        let rig = try cached(old, session: "configuration: ephemeral, cache: { guessLifetime: \(guesses) }")
        #expect(rig.loop.transfers.count == (guesses ? 1 : 2))
        if guesses { return #expect(rig.result("u")?.source == .cache) }
        #expect(try rig.request().header("If-None-Match") == "\"1\"")
    }

    @Test func staleAnswerThatChanged_isReplaced() throws {
        let rig = try cached([("Cache-Control", "no-cache"), ("ETag", "\"1\"")])
        try rig.answer(200, [("ETag", "\"2\"")], "new")
        #expect(rig.body("u") == "new" && rig.result("u")?.source == .network)
    }

    @Test func answerThatAged_isNoLongerFresh() throws {
        let rig = try pair(session: "configuration: ephemeral", url: "https://a.example/f")
        rig.start("t")
        try rig.answer(200, [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")], "cached")
        rig.time.clock.advance(.seconds(61))
        rig.start("u")
        #expect(try rig.request().header("If-None-Match") == "\"1\"")
    }

    @Test(
        arguments: [
            ("reloadIgnoringCacheData", 2, nil), ("returnCacheDataElseLoad", 1, "cached"),
            ("returnCacheDataDontLoad", 1, "cached"),
        ] as [(String, Int, String?)]) func cachePolicy_decides(_ policy: String, _ requests: Int, _ body: String?)
        throws
    {
        let rig = try cached([("Cache-Control", "max-age=0"), ("ETag", "\"1\"")], second: ", cachePolicy: \(policy)")
        #expect(rig.loop.transfers.count == requests && rig.body("u") == body)
    }

    @Test func emptyCacheThatMustDo_fails() throws {
        let rig = try pair(", cachePolicy: returnCacheDataDontLoad", session: "configuration: ephemeral")
        rig.start()
        #expect(rig.loop.transfers.isEmpty && rig.error()?.name == .resourceUnavailable)
    }

    @Test func cacheNone_keepsNothing() throws {
        let rig = try cached([("Cache-Control", "max-age=60")], session: "configuration: ephemeral, cache: none")
        #expect(rig.loop.transfers.count == 2)
    }

    // MARK: Secure hosts

    @Test func hostThatWantsHTTPS_isAskedSo() throws {
        let rig = try pair(url: "http://a.example/g")
        rig.start("t")
        try rig.answer(200, [("Strict-Transport-Security", "max-age=60")])
        rig.start("u")
        #expect(try rig.request().request.url == "https://a.example/g")
    }
}
