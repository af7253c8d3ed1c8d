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
}
