import CurlCore
import Testing
import TransferModel

@testable import TransferEngine

/// A token that a server refuses: the task that captured it is run again once, for all that wait.
struct TokenRenewalTests {
    /// `users`: a task for each letter. `more`: further tasks, one on a line.
    private func rig(_ users: String = "u", login: String = "", more: String = "") throws -> EngineRig {
        let tasks = users.map { name in
            "  - { id: \(name), url: \"https://a.example/\(name)\", headers: { Authorization: \"Bearer ${tasks.login.token}\" } }\n"
        }
        let rig = try EngineRig(
            "tasks:\n  - { id: login, url: \"https://a.example/login\", body: { json: { user: me } }, "
                + "capture: { token: { json: $.token, secret: true } }\(login) }\n" + tasks.joined() + more)
        rig.start("login")
        try rig.answer(200, [], #"{"token": "first-token"}"#)
        for user in users { rig.start(String(user)) }
        return rig
    }

    private func transfer(_ rig: EngineRig, _ path: String) throws -> ScriptedTransfer {
        try #require(rig.loop.underWay.first { $0.request.url == "https://a.example/\(path)" }, "\(path)")
    }

    /// Answers the one request under way to this path.
    private func answer(
        _ rig: EngineRig, _ path: String, _ status: Int, _ body: String = "", _ headers: [(String, String)] = []
    ) throws {
        let transfer = try transfer(rig, path)
        rig.readBody(of: transfer)
        let length = [("Content-Length", "\(body.utf8.count)")]
        let head = ResponseHead(status: status, version: .http1, headers: HeaderBlock(headers + length))
        if transfer.receiver.received(head: head), !body.isEmpty { rig.send(body, to: transfer) }
        rig.loop.complete(transfer, .ok)
        rig.turn()
    }

    /// What was refused is the credential: a POST whose number stands in another header is not sent again for that.
    @Test(arguments: [
        "Authorization: \"Bearer of the job\", X-Order: \"${tasks.order.id}\"", "X-Order: \"${tasks.order.id}\"",
    ])
    func whatIsNoCredential_isNotCapturedAnew(_ headers: String) throws {
        let rig = try EngineRig(
            """
            tasks:
              - { id: order, url: "https://a.example/order", body: { json: { n: 1 } }, capture: { id: { json: $.id } } }
              - { id: u, url: "https://a.example/u", headers: { \(headers) } }
            """)
        rig.start("order")
        try rig.answer(201, [], #"{"id": "7"}"#)
        rig.start("u")
        try answer(rig, "u", 401)
        #expect(rig.verdict("u")?.status == 401)
        #expect(rig.loop.underWay.isEmpty)
    }

    @Test func aRefusedToken_isCapturedAnew_andTheRequestTriedAgain() throws {
        let rig = try rig()
        #expect(try transfer(rig, "u").header("Authorization") == "Bearer first-token")
        let events = rig.events("login").count
        try answer(rig, "u", 401)
        #expect(rig.verdict("u") == nil)
        #expect(
            String(decoding: try rig.answer(200, [], #"{"token": "second-token"}"#).sentBody, as: UTF8.self)
                == #"{"user":"me"}"#)
        #expect(try transfer(rig, "u").header("Authorization") == "Bearer second-token")
        try answer(rig, "u", 200, "ok")
        #expect(rig.body("u") == "ok" && rig.results[rig.index("u")]?.number == 1)
        #expect(rig.events("login").count == events, "the task ended before: nothing more is told of it")
    }

    /// A server that the token was not meant for has not seen it, and says nothing about it.
    @Test(arguments: ["", ", next: { json: $.next }"]) func a401OfAnotherServer_isNoneOfTheToken(_ next: String) throws
    {
        let rig = try EngineRig(
            """
            tasks:
              - { id: login, url: "https://a.example/login", capture: { token: { json: $.token, secret: true } } }
              - { id: u, url: "https://a.example/u", headers: { Authorization: "Bearer ${tasks.login.token}" }\(next) }
              - { id: v, url: "https://a.example/v", headers: { Authorization: "Bearer ${tasks.login.token}" } }
            """)
        rig.start("login")
        try rig.answer(200, [], #"{"token": "first-token"}"#)
        rig.start("u")
        #expect(try rig.request().header("Authorization") == "Bearer first-token")
        if next.isEmpty {
            try rig.answer(302, [("Location", "https://b.example/u")])
        } else {
            try rig.answer(200, [], #"{"next": "https://b.example/u"}"#)
        }
        #expect(try rig.request().header("Authorization") == nil)
        try rig.answer(401)
        let words =
            "no credential was sent to another server than the job names: the header `Authorization` is for https://a.example"
        #expect(rig.error("u")?.message.contains(words) == true, "\(rig.error("u")?.message ?? "")")
        #expect(rig.error("u")?.whatHelps(.data).contains("`credentials`, with its `host`") == true)
        #expect(rig.loop.underWay.isEmpty, "no second login")
        // One of the token's own server is.
        rig.start("v")
        try answer(rig, "v", 401)
        try rig.answer(200, [], #"{"token": "second-token"}"#)
        #expect(try rig.request().header("Authorization") == "Bearer second-token")
    }

    @Test func allThatWait_shareOneRun() throws {
        let rig = try rig("abc")
        for user in ["a", "b"] { try answer(rig, user, 401) }
        #expect(rig.loop.underWay.filter { $0.request.url.hasSuffix("/login") }.count == 1)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        for user in ["a", "b"] {
            #expect(try transfer(rig, user).header("Authorization") == "Bearer second-token")
            try answer(rig, user, 200, user)
        }
        // This one began with the first token, and needs no run of its own.
        try answer(rig, "c", 401)
        #expect(try transfer(rig, "c").header("Authorization") == "Bearer second-token")
        try answer(rig, "c", 200, "c")
        #expect(["a", "b", "c"].allSatisfy { rig.body($0) == $0 })
        #expect(rig.loop.transfers.filter { $0.request.url.hasSuffix("/login") }.count == 2)
    }

    @Test func aNewTokenThatIsRefused_failsTheTask_andTheNextOneToo() throws {
        let rig = try rig("ab")
        try answer(rig, "a", 401)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "a", 401)
        #expect(rig.error("a")?.name == .unexpectedResponse)
        try answer(rig, "b", 401)
        try answer(rig, "b", 401)
        #expect(rig.error("b")?.name == .unexpectedResponse)
        #expect(rig.loop.transfers.filter { $0.request.url.hasSuffix("/login") }.count == 2, "no third login")
    }

    @Test func aTokenThatWasAccepted_isRenewedOnceMore() throws {
        let rig = try rig("ab")
        try answer(rig, "a", 401)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "a", 200)
        try answer(rig, "b", 401)
        try answer(rig, "b", 200)
        rig.start("a", attempt: 2)
        try answer(rig, "a", 401)
        try answer(rig, "login", 200, #"{"token": "third-token"}"#)
        #expect(try transfer(rig, "a").header("Authorization") == "Bearer third-token")
    }

    private static func pages(_ more: String = "") -> String {
        """
          - { id: p, url: "https://a.example/p", headers: { Authorization: "Bearer ${tasks.login.token}" },
              next: { page: n, until: empty }\(more) }

        """
    }

    @Test func aPageWithANewTokenThatAnotherServerRefused_provesIt() throws {
        let rig = try rig("a", more: Self.pages())
        try answer(rig, "a", 401)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "a", 401)
        rig.start("p")
        try answer(rig, "p?n=1", 200, "[1]")
        try answer(rig, "p?n=2", 401)
        try answer(rig, "login", 200, #"{"token": "third-token"}"#)
        #expect(try transfer(rig, "p?n=2").header("Authorization") == "Bearer third-token")
    }

    /// A page is a request of its own: each is tried again once, however often the token expires.
    @Test(arguments: ["", ", to: \"${page}.json\""])
    func aTokenThatExpiresWhileATaskTurnsItsPages_isRenewedEachTime(_ to: String) throws {
        let rig = try rig("u", more: Self.pages(to))
        try answer(rig, "u", 200)
        rig.start("p")
        for page in 1...6 {
            if page.isMultiple(of: 2) {
                try answer(rig, "p?n=\(page)", 401)
                // One that begins meanwhile has no page 4.
                if page == 4 {
                    rig.start("u")
                    try answer(rig, "u", 200)
                }
                try answer(rig, "login", 200, "{\"token\": \"token-\(page)\"}")
                let again = try transfer(rig, "p?n=\(page)")
                #expect(again.header("Authorization") == "Bearer token-\(page)")
            }
            try answer(rig, "p?n=\(page)", 200, page == 6 ? "[]" : "[\(page)]")
        }
        #expect(rig.verdict("p") != nil && rig.error("p") == nil)
        let files = rig.events("p").compactMap { event -> String? in
            if case .pageFinished(let page) = event { page.file?.path } else { nil }
        }
        #expect(to.isEmpty || files.count == 6 && files.enumerated().allSatisfy { $1.hasSuffix("/\($0 + 1).json") })
    }

    @Test func aFailureOfTheServersOwn_saysNothingAboutTheNewToken() throws {
        let rig = try rig()
        try answer(rig, "u", 401)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "u", 503, "", [("Retry-After", "2")])
        #expect(rig.verdict("u")?.status == 503 && rig.verdict("u")?.retryAfter == .seconds(2))
        rig.start("u", attempt: 2)
        try answer(rig, "u", 401)
        try answer(rig, "login", 200, #"{"token": "third-token"}"#)
        #expect(try transfer(rig, "u").header("Authorization") == "Bearer third-token")
        try answer(rig, "u", 401)
        #expect(rig.verdict("u")?.status == 401)
    }

    @Test func aRunThatFails_failsAllThatWait_asItFailed() throws {
        let rig = try rig("abc")
        for user in ["a", "b"] { try answer(rig, user, 401) }
        try answer(rig, "login", 503, "", [("Retry-After", "7")])
        let words = "; `login`, run again for a new token, failed: POST https://a.example/login: 503"
        for user in ["a", "b"] {
            let verdict = try #require(rig.verdict(user))
            #expect(rig.error(user)?.message.contains(words) == true)
            #expect(verdict.status == 503 && verdict.retryAfter == .seconds(7) && verdict.isOfOtherHost)
        }
        // One that begins later learns why, and the next attempt of any of them runs the task once more.
        try answer(rig, "c", 401)
        #expect(rig.error("c")?.message.contains(words) == true && rig.verdict("c")?.status == 503)
        #expect(rig.loop.underWay.isEmpty)
        rig.start("b", attempt: 2)
        try answer(rig, "b", 401)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "b", 200, "ok")
        #expect(rig.body("b") == "ok")
    }

    /// A POST that was cut off may have taken effect: it is sent again only where its task says so.
    @Test(arguments: ["", ", retry: { nonIdempotent: true }"])
    func aRunThatIsCutOff_failsAsARequestOfItsMethod(_ retry: String) throws {
        let rig = try rig(login: retry)
        try answer(rig, "u", 401)
        rig.readBody(of: try rig.request())
        try rig.cut()
        let verdict = try #require(rig.verdict("u"))
        #expect(rig.error("u")?.name == .networkConnectionLost && rig.error("u")?.message.contains(": 401") == true)
        #expect(verdict.isIdempotent != retry.isEmpty && verdict.isOfOtherHost)
    }

    /// The scheduler counts the wait for a slot.
    @Test func theLeadersWait_endsWhereThatForASlotBegins() throws {
        let rig = try rig("ab")
        rig.grants = false
        for user in ["a", "b"] { try answer(rig, user, 401) }
        rig.advance(.seconds(4))
        for _ in 0..<3 {
            for case .needsGrant(let task, let origin, _) in rig.reports where rig.verdicts[task] == nil {
                rig.perform(.grant(task, origin))
            }
            rig.turn()
            rig.advance(.seconds(1))
            if rig.loop.underWay.contains(where: { $0.request.url.hasSuffix("/login") }) {
                try answer(rig, "login", 200, #"{"token": "second-token"}"#)
            }
        }
        for user in ["a", "b"] { try answer(rig, user, 200) }
        #expect(rig.result("a")?.waits == [TaskRecord.Wait(reason: .credential, duration: .seconds(1))])
        #expect(rig.result("b")?.waits == [TaskRecord.Wait(reason: .credential, duration: .seconds(5))])
    }

    @Test func aLeaderThatIsCancelled_leavesTheRunToTheNext() throws {
        let rig = try rig("ab")
        for user in ["a", "b"] { try answer(rig, user, 401) }
        rig.cancel("a")
        rig.turn()
        #expect(rig.error("a")?.name == .cancelled)
        try answer(rig, "login", 200, #"{"token": "second-token"}"#)
        try answer(rig, "b", 200, "ok")
        #expect(rig.body("b") == "ok")
    }

    /// What holds no captured value, a 403, and a status that is expected are answers as ever.
    @Test func otherAnswers_areNoReasonToRunATaskAgain() throws {
        let rig = try rig()
        try answer(rig, "u", 403)
        #expect(rig.error("u")?.name == .unexpectedResponse && rig.loop.underWay.isEmpty)
        let plain = try EngineRig(EngineRig.job("headers: { Authorization: Bearer x }"))
        plain.start()
        try plain.answer(401)
        #expect(plain.error()?.name == .unexpectedResponse)
    }

    // MARK: The decisions

    @Test func decisions_followWhatIsKnownOfTheToken() {
        var renewals = TokenRenewals()
        let (source, other) = (TaskIndex(raw: 0), TaskIndex(raw: 1))
        let error = TransferError(.unexpectedResponse, "401")
        func refuse(
            _ task: UInt32, seen: Int, hasTried: Bool = false, isRetry: Bool = false
        ) -> TokenRenewals.Decision {
            renewals.refuse(
                TaskIndex(raw: task), error, token: source, seen: seen, hasTried: hasTried, isRetry: isRetry)
        }
        #expect(renewals.isUnused && refuse(1, seen: 0) == .begin && refuse(2, seen: 0) == .wait)
        #expect(
            renewals.isRenewing(source) && renewals.performer(of: other) == source
                && renewals.leader(of: source) == other)
        #expect(refuse(3, seen: 0, hasTried: true) == .refused)
        #expect(renewals.end(source, failure: nil)?.waiting.map(\.task.raw) == [1, 2])
        #expect(refuse(4, seen: 0) == .again)
        #expect(refuse(4, seen: renewals.count, hasTried: true) == .refused)
        #expect(refuse(5, seen: renewals.count, isRetry: true) == .refused, "what was renewed was refused")
        renewals.accept(token: source, seen: renewals.count)
        #expect(refuse(5, seen: renewals.count) == .begin)
        #expect(renewals.leave(TaskIndex(raw: 5)) == source && renewals.isIdle)
        // A new token that nobody has refused yet may have expired.
        #expect(refuse(5, seen: renewals.count) == .begin && renewals.end(source, failure: nil) != nil)
        #expect(refuse(6, seen: renewals.count) == .begin)
        #expect(renewals.end(source, failure: Verdict(.failed(error), status: 503)) != nil)
        #expect(refuse(7, seen: renewals.count) == .refused && renewals.failure(of: source)?.status == 503)
        renewals.accept(token: source, seen: renewals.count)
        #expect(refuse(7, seen: renewals.count) == .refused, "an older token does not heal the task")
        #expect(refuse(7, seen: renewals.count, isRetry: true) == .begin)
    }
}
