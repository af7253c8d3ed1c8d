import CurlCore
import FileDelivery
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// Access tokens: who asks for them, when, and what becomes of those who need one.
@Suite struct TokenFetchTests {
    private static let tokenURL = "https://login.example/token"
    private static let whole = "tokenURL: \"\(tokenURL)\", clientID: me, clientSecret: sesame-secret"

    /// Tasks at `https://a.example` whose session has the credential.
    private static func job(_ oauth2: String = whole, _ tasks: String..., host: String = "a.example") -> String {
        let written = tasks.isEmpty ? ["id: t, url: \"https://a.example/f\", to: f"] : tasks
        return """
            sessions: { default: { credentials: [{ host: "\(host)", oauth2: { \(oauth2) } }] } }
            tasks:
            \(written.map { "  - { \($0) }" }.joined(separator: "\n"))

            """
    }

    private static func granted(_ token: String, _ more: String = "") -> String {
        #"{"access_token":"\#(token)","token_type":"Bearer"\#(more)}"#
    }

    private func text(_ transfer: ScriptedTransfer) -> String { String(decoding: transfer.sentBody, as: UTF8.self) }

    // MARK: Getting one

    @Test func firstRequest_isForTheToken_thenItIsShown() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        let asked = try rig.answer(200, [], Self.granted("token-one-1"))
        #expect(asked.request.url == Self.tokenURL && asked.request.method == "POST")
        #expect(asked.header("Authorization") == "Basic bWU6c2VzYW1lLXNlY3JldA==")
        #expect(asked.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(asked.header("User-Agent") == "rig" && asked.header("Range") == nil)
        #expect(text(asked) == "grant_type=client_credentials")
        let request = try rig.request()
        #expect(request.request.url == "https://a.example/f" && request.request.method == "GET")
        #expect(request.header("Authorization") == "Bearer token-one-1")
        try rig.answer(200, [], "content")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "content")
        // Both requests are told, the token is not.
        #expect(rig.result()?.transactions.map(\.url) == [Self.tokenURL, "https://a.example/f"])
        #expect(rig.result()?.transactions.map(\.method) == ["POST", "GET"])
        #expect(rig.responses.map(\.url) == ["https://a.example/f"])
        #expect(rig.learned.contains("token-one-1") && rig.learned.contains("sesame-secret"))
    }

    @Test func severalTasks_waitForOneRequest() throws {
        let ids = ["a", "b", "c"]
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b",
                "id: c, url: \"https://a.example/c\", to: c"))
        for id in ids { rig.start(id) }
        #expect(rig.loop.underWay.map(\.request.url) == [Self.tokenURL])
        rig.time.clock.advance(.seconds(2))
        try rig.answer(200, [], Self.granted("token-one-1"))
        let open = rig.loop.underWay
        #expect(Set(open.map(\.request.url)) == Set(ids.map { "https://a.example/\($0)" }))
        #expect(open.allSatisfy { $0.header("Authorization") == "Bearer token-one-1" })
        for transfer in open { rig.loop.complete(transfer, .cannotConnect) }
        rig.turn()
        #expect(rig.result("b")?.waits.map(\.reason) == [.credential])
        #expect(rig.result("b")?.transactions.count == 1)
    }

    /// A task `a` that has got a token and its file, and a task `b` that is still to start.
    private func rigWithToken(_ more: String) throws -> EngineRig {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        try rig.answer(200, [], Self.granted("token-one-1", more))
        try rig.answer(200, [], "x")
        return rig
    }

    @Test func laterTask_usesTheTokenThatIsThere_inItsOwnSlot() throws {
        let rig = try rigWithToken(",\"expires_in\":3600")
        let reports = rig.reports.count
        rig.start("b")
        #expect(try rig.request().header("Authorization") == "Bearer token-one-1")
        // It began with a slot, and needs no other.
        for report in rig.reports[reports...] { if case .needsGrant = report { Issue.record("\(report)") } }
    }

    @Test(arguments: [(3_539, "token-one-1"), (3_540, "token-two-2")])
    func aMinuteBeforeItsEnd_anotherIsAskedFor(_ seconds: Int64, _ token: String) throws {
        let rig = try rigWithToken(",\"expires_in\":3600")
        rig.advance(.seconds(seconds))
        rig.start("b")
        if token == "token-two-2" { try rig.answer(200, [], Self.granted(token)) }
        #expect(try rig.request().header("Authorization") == "Bearer \(token)")
    }

    /// Each question would count as a wrong password; what may pass, and what no client is to blame for, is asked anew.
    @Test(arguments: [
        (401, #"{"error":"invalid_client"}"#, true), (403, "no", true), (400, #"{"error":"invalid_grant"}"#, true),
        (200, "<html>", false), (503, #"{"error":"temporarily_unavailable"}"#, false),
    ])
    func clientThatIsRefused_isNotShownAgain(_ status: Int, _ body: String, _ isForGood: Bool) throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        try rig.answer(status, [], body)
        rig.start("b")
        #expect(rig.loop.underWay.map(\.request.url) == (isForGood ? [] : [Self.tokenURL]))
        guard isForGood else { return }
        #expect(rig.error("b") == rig.error("a") && rig.error("b")?.name == .userAuthenticationRequired)
    }

    /// One that lives for no time is of use for those that waited.
    @Test func tokenWithoutALife_isUsedOnce() throws {
        let rig = try rigWithToken(",\"expires_in\":0")
        rig.start("b")
        #expect(try rig.request().request.url == Self.tokenURL)
    }

    @Test func refreshToken_isReplacedByTheServers() throws {
        let rig = try EngineRig(
            Self.job(
                "tokenURL: \"\(Self.tokenURL)\", clientID: me, refreshToken: fresh-one",
                "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        let first = try rig.answer(
            200, [], Self.granted("token-one-1", ",\"expires_in\":0,\"refresh_token\":\"fresh-two\""))
        #expect(text(first) == "grant_type=refresh_token&refresh_token=fresh-one&client_id=me")
        #expect(first.header("Authorization") == nil)
        try rig.answer(200, [], "x")
        rig.start("b")
        let second = try rig.answer(200, [], Self.granted("token-two-2"))
        #expect(text(second) == "grant_type=refresh_token&refresh_token=fresh-two&client_id=me")
        for secret in ["fresh-one", "fresh-two", "token-one-1"] { #expect(rig.learned.contains(secret)) }
    }

    // MARK: Assertions

    @Test func assertionOfAFile_isReadEachTime() throws {
        let rig = try EngineRig(
            Self.job(
                "tokenURL: \"\(Self.tokenURL)\", clientID: me, assertion: { file: id }",
                "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.delivery.put("/here/id", "jwt-one-11\n")
        rig.start("a")
        let first = try rig.answer(200, [], Self.granted("token-one-1", ",\"expires_in\":0"))
        #expect(text(first).contains("&assertion=jwt-one-11&") && rig.learned.contains("jwt-one-11"))
        try rig.answer(200, [], "x")
        rig.delivery.put("/here/id", "jwt-two-22\n")
        rig.start("b")
        #expect(text(try rig.answer(200, [], Self.granted("token-two-2"))).contains("&assertion=jwt-two-22&"))
    }

    @Test func missingFile_failsWithItsPath() throws {
        let rig = try EngineRig(
            Self.job("tokenURL: \"\(Self.tokenURL)\", clientID: me, assertion: { file: id }"))
        rig.start()
        let error = try #require(rig.error())
        #expect(error.name == .fileDoesNotExist)
        #expect(error.message == "no token from \(Self.tokenURL): the assertion /here/id: /here/id does not exist")
    }

    @Test func gitHub_isAskedForTheAssertion() throws {
        let rig = try EngineRig(
            Self.job("tokenURL: \"\(Self.tokenURL)\", clientID: me, assertion: github, audience: \"api x\""),
            environment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": "https://run.example/id?v=2",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner-key",
            ])
        rig.start()
        let identity = try rig.answer(200, [], #"{"value":"jwt-one-11"}"#)
        #expect(identity.request.url == "https://run.example/id?v=2&audience=api%20x")
        #expect(identity.request.method == "GET" && identity.header("Authorization") == "Bearer runner-key")
        let asked = try rig.answer(200, [], Self.granted("token-one-1"))
        #expect(asked.request.url == Self.tokenURL)
        #expect(
            text(asked)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=jwt-one-11&client_id=me")
        #expect(try rig.request().header("Authorization") == "Bearer token-one-1")
        #expect(rig.learned.contains("jwt-one-11"))
    }

    @Test func gitHub_refuses() throws {
        let rig = try EngineRig(
            Self.job("tokenURL: \"\(Self.tokenURL)\", clientID: me, assertion: github"),
            environment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": "https://run.example/id",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner-key",
            ])
        rig.start()
        let identity = try rig.answer(403)
        #expect(identity.request.url == "https://run.example/id?audience=https%3A%2F%2Flogin.example%2Ftoken")
        #expect(
            rig.error()?.message
                == "no token from \(Self.tokenURL): no OIDC token from GitHub Actions (run.example): 403 Forbidden")
    }

    // MARK: Refused tokens

    @Test(arguments: [[("WWW-Authenticate", "Bearer error=\"invalid_token\"")], []])
    func refusedToken_isThrownAway_andTheRequestRepeatedOnce(_ headers: [(String, String)]) throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        try rig.answer(401, headers, "no")
        #expect(try rig.request().request.url == Self.tokenURL)
        try rig.answer(200, [], Self.granted("token-two-2"))
        #expect(try rig.request().header("Authorization") == "Bearer token-two-2")
        try rig.answer(200, [], "content")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "content")
        #expect(rig.result()?.transactions.map(\.status) == [200, 401, 200, 200])
    }

    @Test func refusedTwice_the401IsTheResult() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        try rig.answer(401)
        try rig.answer(200, [], Self.granted("token-two-2"))
        try rig.answer(401)
        #expect(rig.loop.underWay.isEmpty)
        #expect(rig.error()?.name == .unexpectedResponse && rig.verdict()?.status == 401)
        #expect(rig.error()?.message.contains("the credential of the job was refused") == true)
    }

    @Test func refusalOfAnOldToken_leavesTheNewOne() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        rig.start("b")
        try rig.answer(200, [], Self.granted("token-one-1"))
        let old = rig.loop.underWay
        #expect(old.count == 2)
        func refuse(_ transfer: ScriptedTransfer) {
            _ = transfer.receiver.received(
                head: ResponseHead(status: 401, version: .http1, headers: HeaderBlock([("Content-Length", "0")])))
            rig.loop.complete(transfer)
            rig.turn()
        }
        refuse(old[0])
        #expect(rig.loop.underWay.map(\.request.url).contains(Self.tokenURL))
        let asked = try #require(rig.loop.underWay.first { $0.request.url == Self.tokenURL })
        rig.readBody(of: asked)
        let body = Self.granted("token-two-2")
        let headers = HeaderBlock([("Content-Length", "\(body.utf8.count)")])
        _ = asked.receiver.received(head: ResponseHead(status: 200, version: .http1, headers: headers))
        rig.send(body, to: asked)
        rig.loop.complete(asked)
        rig.turn()
        refuse(old[1])
        // Nobody asks for a third.
        #expect(rig.loop.transfers.filter { $0.request.url == Self.tokenURL }.count == 2)
        #expect(rig.loop.underWay.allSatisfy { $0.header("Authorization") == "Bearer token-two-2" })
        #expect(rig.loop.underWay.count == 2)
    }

    // MARK: There is none

    @Test func refusingServer_failsAllThatWait_withItsWords() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        rig.start("b")
        try rig.answer(
            401, [("WWW-Authenticate", "Basic realm=\"x\"")],
            #"{"error":"invalid_client","error_description":"No such client."}"#)
        for id in ["a", "b"] {
            let error = try #require(rig.error(id))
            #expect(error.name == .userAuthenticationRequired && !error.name.canHeal)
            #expect(
                error.message == "no token from \(Self.tokenURL): it says `invalid_client`: \"No such client.\"")
            #expect(error.whatHelps(.download).contains("clientSecret"))
            #expect(rig.verdict(id)?.status == nil)
        }
        #expect(rig.loop.transfers.count == 1)
    }

    @Test func busyServer_isAskedAgainByTheTasksRules() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, type: data, method: POST, url: \"https://a.example/a\", body: { data: x }",
                "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        rig.start("b")
        try rig.answer(503, [("Retry-After", "7")])
        for id in ["a", "b"] {
            let verdict = try #require(rig.verdict(id))
            #expect(rig.error(id)?.name == .unexpectedResponse && verdict.status == 503)
            #expect(verdict.retryAfter == .seconds(7))
            // Nothing of the task's own was sent, not of a POST either.
            #expect(!verdict.sentSomething)
        }
        #expect(rig.error("a")?.message == "no token from \(Self.tokenURL): 503 Service Unavailable")
        // Only whose request it was knows the server.
        #expect(rig.verdict("a")?.isOfOtherHost == false && rig.verdict("b")?.isOfOtherHost == true)
        rig.start("a", attempt: 2)
        try rig.answer(200, [], Self.granted("token-one-1"))
        let own = try rig.request()
        rig.readBody(of: own)
        #expect(text(own) == "x" && own.header("Authorization") == "Bearer token-one-1")
    }

    @Test func unreachableServer_isNamed() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.cut(.cannotConnect, systemError: 111)
        let error = try #require(rig.error())
        #expect(error.name == .cannotConnectToHost && error.name.canHeal)
        #expect(error.message.hasPrefix("no token from \(Self.tokenURL): "), "\(error.message)")
    }

    @Test(arguments: [
        (200, "<html>", "its answer is no JSON object"), (200, "{}", "its answer holds no `access_token`"),
        (302, "", "302 Found, and a request for a token follows no redirect"), (404, "", "404 Not Found"),
        (200, #"{"access_token":"a\r\nb"}"#, "`access_token` of its answer holds a character that no token may have"),
    ]) func uselessAnswers(_ status: Int, _ body: String, _ words: String) throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(status, status == 302 ? [("Location", "https://elsewhere.example/")] : [], body)
        #expect(rig.error()?.message == "no token from \(Self.tokenURL): \(words)")
        #expect(rig.error()?.name == .userAuthenticationRequired && rig.loop.transfers.count == 1)
        #expect(rig.redirects.isEmpty)
    }

    @Test func endlessAnswer_isCut() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(
            200, [("Transfer-Encoding", "chunked")], #"{"access_token":""# + String(repeating: "a", count: 70 << 10))
        #expect(rig.error()?.message == "no token from \(Self.tokenURL): it answered with more than 64 KiB")
    }

    @Test func askerThatIsCancelled_isFollowedByAnother() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b",
                "id: c, url: \"https://a.example/c\", to: c"))
        for id in ["a", "b", "c"] { rig.start(id) }
        rig.cancel("a")
        #expect(rig.error("a")?.name == .cancelled)
        try rig.answer(200, [], Self.granted("token-one-1"))
        #expect(rig.loop.underWay.count == 2)
        rig.cancel("b")
        rig.cancel("c")
        #expect(rig.loop.underWay.isEmpty)
    }

    @Test func waitingTaskThatIsCancelled_getsNothing() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", to: a", "id: b, url: \"https://a.example/b\", to: b"))
        rig.start("a")
        rig.start("b")
        rig.cancel("b")
        try rig.answer(200, [], Self.granted("token-one-1"))
        #expect(try rig.request().request.url == "https://a.example/a")
    }

    // MARK: Where it goes

    @Test func redirectElsewhere_getsNone() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        try rig.answer(302, [("Location", "https://b.example/g")])
        let request = try rig.request()
        #expect(request.request.url == "https://b.example/g" && request.header("Authorization") == nil)
    }

    @Test func redirectToWhereTheHostMatches_getsIt() throws {
        let rig = try EngineRig(Self.job(host: "*.example"))
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        try rig.answer(302, [("Location", "https://b.example/g")])
        #expect(try rig.request().header("Authorization") == "Bearer token-one-1")
    }

    /// A server that was shown the token may write it into the address that it redirects to.
    @Test func redirectThatHoldsTheToken_isRefused() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        try rig.answer(302, [("Location", "https://b.example/g?t=token-one-1")])
        #expect(rig.error()?.name == .secretBarred && rig.loop.underWay.isEmpty)
    }

    @Test func secretThatMustNotGoThere_isNotSent() throws {
        let text = Self.job("tokenURL: \"\(Self.tokenURL)\", clientID: me, clientSecret: \"${secret.S}\"")
        let rig = try EngineRig(
            "secrets: { S: { env: S, hosts: [other.example] } }\n" + text, environment: ["S": "sesame-secret"])
        rig.start()
        #expect(rig.error()?.name == .secretBarred && rig.loop.transfers.isEmpty)
    }

    /// The upload's own body is sent when the token is there, and only that is told.
    @Test func upload_sendsItsBodyAfterTheToken() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: t, type: upload, method: PUT, url: \"https://a.example/f\", body: { data: content }"))
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        let own = try rig.answer(201)
        #expect(text(own) == "content" && rig.succeeded)
        let sent = rig.events().compactMap { if case .sentBodyData(let progress) = $0 { progress.bytes } else { nil } }
        #expect(sent == [7])
    }

    /// The list and the file are at the same server, and both requests need the token.
    @Test func checksumList_isAskedForWithTheToken() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole,
                "id: t, url: \"https://a.example/f\", to: f, checksum: { from: \"https://a.example/SUMS\" }"))
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1"))
        #expect(try rig.request().request.url == "https://a.example/SUMS")
        #expect(try rig.request().header("Authorization") == "Bearer token-one-1")
        let sum = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
        try rig.answer(200, [], "\(sum)  f\n")
        #expect(try rig.request().header("Authorization") == "Bearer token-one-1")
        try rig.answer(200, [], "new")
        #expect(rig.succeeded)
    }

    /// With the next token it is still the same user's file.
    @Test func restOfAFile_isAskedForWithTheNextToken() throws {
        let rig = try EngineRig(Self.job())
        rig.start()
        try rig.answer(200, [], Self.granted("token-one-1", ",\"expires_in\":3600"))
        let headers = [("ETag", "\"v1\""), ("Content-Length", "10")]
        try rig.answer(200, headers, "01234", stays: true)
        try rig.cut()
        #expect(rig.error()?.name == .networkConnectionLost)
        rig.advance(.seconds(3_600))
        rig.start(attempt: 2)
        try rig.answer(200, [], Self.granted("token-two-2"))
        let rest = try rig.request()
        #expect(rest.header("Range") == "bytes=5-" && rest.header("If-Range") == "\"v1\"")
        #expect(rest.header("Authorization") == "Bearer token-two-2")
        try rig.answer(206, [("Content-Range", "bytes 5-9/10"), ("ETag", "\"v1\""), ("Content-Length", "5")], "56789")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "0123456789")
        #expect(rig.result()?.startedOver == nil)
    }

    @Test func cacheAlone_asksNobodyForAToken() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: t, url: \"https://a.example/f\", type: data, cachePolicy: returnCacheDataDontLoad"))
        rig.start()
        #expect(rig.error()?.name == .resourceUnavailable && rig.loop.transfers.isEmpty)
    }

    /// An answer that was kept with one token is the same user's with the next.
    @Test func keptAnswer_isOfUseWithTheNextToken() throws {
        let rig = try EngineRig(
            Self.job(
                Self.whole, "id: a, url: \"https://a.example/a\", type: data",
                "id: b, url: \"https://a.example/a\", type: data"))
        rig.start("a")
        try rig.answer(200, [], Self.granted("token-one-1", ",\"expires_in\":0"))
        try rig.answer(200, [("Cache-Control", "private, max-age=600"), ("ETag", "\"v1\"")], "content")
        rig.start("b")
        try rig.answer(200, [], Self.granted("token-two-2"))
        #expect(rig.loop.underWay.isEmpty && rig.body("b") == "content")
        #expect(rig.result("b")?.source == .cache)
    }
}
