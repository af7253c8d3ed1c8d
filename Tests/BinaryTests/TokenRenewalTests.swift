import TestSupport
import Testing

/// A captured token that ends in mid-run.
@Suite struct TokenRenewalTests {
    private static let json = [("Content-Type", "application/json")]

    @Test func aTokenThatIsRefused_isCapturedAnew_forAllThatHoldIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/login", .respond(200, headers: Self.json, body: #"{"token": "first-token"}"#),
            .respond(200, headers: Self.json, body: #"{"token": "second-token"}"#))
        for name in ["a", "b", "c"] {
            server.on("/\(name)") { request in
                .respond(request.header("Authorization") == "Bearer second-token" ? 200 : 401, body: name)
            }
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - id: login
                url: "\(server.url("/login"))"
                body: { json: { user: me } }
                capture: { token: { json: $.token, secret: true } }
              - id: get-${n}
                forEach: { n: [a, b, c] }
                url: "\(server.url())${n}"
                headers: { Authorization: "Bearer ${tasks.login.token}" }
                to: out/${n}
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/login").count == 2)
        #expect(try ["a", "b", "c"].map { try stage.text("out/\($0)") } == ["a", "b", "c"])
        #expect(try run.values("$.tasks[*].attempts[*].number") == ["1", "1", "1", "1"])
        for token in ["first-token", "second-token"] {
            #expect(!((run.report.plainText ?? "") + run.errorText).contains(token))
        }
    }

    /// What writes a file is not run again for a new token, and whoever made it a download learns that.
    @Test func aTokenOfADownload_isNotCapturedAnew_andTheFailureSaysWhy() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/login", .respond(200, headers: Self.json, body: #"{"token": "first-token"}"#))
        server.on("/a", .respond(401))
        let run = try Stage().run(
            """
            tasks:
              - { id: login, url: "\(server.url("/login"))", to: l, capture: { token: { json: $.token, secret: true } } }
              - { id: a, url: "\(server.url("/a"))", headers: { Authorization: "Bearer ${tasks.login.token}" } }
            """)
        #expect(run.status == 1 && server.requests("/login").count == 1)
        let message = try run.task("a", "error.message") ?? ""
        #expect(message.hasSuffix("; `login` was not run again for a new token: it writes a file"), "\(message)")
        #expect(run.errorText.contains("Let a data task without `next` and `stream` capture it"), "\(run.errorText)")
        #expect(try run.task("a", "explanation")?.contains("Let a data task") == true)
    }

    /// A token that lives for two pages, and a login that is busy once while a page waits for it.
    @Test func aTokenThatExpiresAgainAndAgain_isCapturedAnew_alsoAfterAHiccupOfTheLogin() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        func token(_ number: Int) -> Script {
            .respond(200, headers: Self.json, body: "{\"token\": \"token-\(number)\"}")
        }
        server.on("/login", token(1), token(2), .respond(503), token(3))
        for page in 1...6 {
            server.on("/pages?n=\(page)") { request in
                let isValid = request.header("Authorization") == "Bearer token-\((page + 1) / 2)"
                return .respond(isValid ? 200 : 401, headers: Self.json, body: page == 6 ? "[]" : "[\(page)]")
            }
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { requestsPerSecond: { rate: 20, burst: 1 } } }
            tasks:
              - id: login
                url: "\(server.url("/login"))"
                body: { json: { user: me } }
                capture: { token: { json: $.token, secret: true } }
              - id: list
                url: "\(server.url("/pages"))"
                headers: { Authorization: "Bearer ${tasks.login.token}" }
                next: { page: n, until: empty }
                retry: { backoff: { initial: 10ms } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/login").count == 4)
        #expect(try run.values("$.tasks[1].attempts[*].number") == ["1", "2"])
        let durations = try run.values("$.tasks[*].attempts[*].duration").compactMap { $0.flatMap(Double.init) }
        #expect(durations.count == 3 && durations.allSatisfy { $0 >= 0 }, "\(durations)")
    }
}
