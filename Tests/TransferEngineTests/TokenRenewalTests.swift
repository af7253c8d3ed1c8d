import CurlCore
import Testing
import TransferModel

@testable import TransferEngine

/// A token that a server refuses: the task that captured it is run again once, for all that wait.
struct TokenRenewalTests {
    private func rig(_ users: String = "u", login: String = "") throws -> EngineRig {
        let tasks = users.map { name in
            "  - { id: \(name), url: \"https://a.example/\(name)\", headers: { Authorization: \"Bearer ${tasks.login.token}\" } }\n"
        }
        let rig = try EngineRig(
            "tasks:\n  - { id: login, url: \"https://a.example/login\", body: { json: { user: me } }, "
                + "capture: { token: { json: $.token, secret: true } }\(login) }\n" + tasks.joined())
        rig.start("login")
        try rig.answer(200, [], #"{"token": "first-token"}"#)
        for user in users { rig.start(String(user)) }
        return rig
    }

    private func transfer(_ rig: EngineRig, _ path: String) throws -> ScriptedTransfer {
        try #require(rig.loop.underWay.first { $0.request.url == "https://a.example/\(path)" }, "\(path)")
    }

    /// Answers the one request under way to this path.
    private func answer(_ rig: EngineRig, _ path: String, _ status: Int, _ body: String = "") throws {
        let transfer = try transfer(rig, path)
        rig.readBody(of: transfer)
        let head = ResponseHead(
            status: status, version: .http1, headers: HeaderBlock([("Content-Length", "\(body.utf8.count)")]))
        if transfer.receiver.received(head: head), !body.isEmpty { rig.send(body, to: transfer) }
        rig.loop.complete(transfer, .ok)
        rig.turn()
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

    @Test func aRunThatFails_failsAllThatWait_andSaysSo() throws {
        let rig = try rig("ab")
        for user in ["a", "b"] { try answer(rig, user, 401) }
        try answer(rig, "login", 500)
        for user in ["a", "b"] {
            #expect(
                rig.error(user)?.message.contains(
                    "; `login`, run again for it, failed: POST https://a.example/login: 500") == true)
        }
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
        func refuse(_ task: UInt32, seen: Int, hasTried: Bool = false) -> TokenRenewals.Decision {
            renewals.refuse(TaskIndex(raw: task), error, token: source, seen: seen, hasTried: hasTried)
        }
        #expect(renewals.isUnused && refuse(1, seen: 0) == .begin && refuse(2, seen: 0) == .wait)
        #expect(
            renewals.isRenewing(source) && renewals.performer(of: other) == source
                && renewals.leader(of: source) == other)
        #expect(refuse(3, seen: 0, hasTried: true) == .refused)
        #expect(renewals.end(source, succeeded: true)?.waiting.map(\.task.raw) == [1, 2])
        #expect(refuse(4, seen: 0) == .again)
        #expect(refuse(5, seen: renewals.count) == .refused, "what was renewed was never accepted")
        renewals.accept(token: source, seen: renewals.count)
        #expect(refuse(5, seen: renewals.count) == .begin)
        #expect(renewals.leave(TaskIndex(raw: 5)) == source && renewals.isIdle)
    }
}
