import TestSupport
import Testing
import TextFormats

/// Access tokens (`oauth2`), seen from the servers that give and take them.
@Suite struct AccessTokenTests {
    private static let secret = "sesame-of-the-client"
    private static let tokens = ["first-token-of-all", "second-token-of-all"]

    private func granted(_ token: String) -> Script {
        .respond(
            200, headers: [("Content-Type", "application/json")],
            body: #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600}"#)
    }

    private func job(
        _ server: ScriptedServer, _ tasks: [String], session: String = "configuration: ephemeral"
    ) -> String {
        """
        secrets: { CLIENT: { env: CLIENT } }
        sessions:
          api:
            \(session)
            credentials:
              - host: "127.0.0.1:\(server.port)"
                oauth2:
                  tokenURL: \(server.url("/token"))
                  clientID: me
                  clientSecret: ${secret.CLIENT}
                  scope: read
        defaults: { session: api }
        tasks:
        \(tasks.map { "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: \($0) }" }.joined(separator: "\n"))
        """
    }

    private func expectSilent(_ run: Stage.Run) {
        let all =
            run.errorText + run.result.outputText + (run.report.plainText ?? "")
            + run.events.compactMap(\.plainText).joined()
        for secret in Self.tokens + [Self.secret, "bWU6c2VzYW1l"] { #expect(!all.contains(secret), "\(secret)") }
    }

    @Test func oneTokenServesAllTasks_andAnotherWhereItIsRefused() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/token", granted(Self.tokens[0]), granted(Self.tokens[1]))
        for name in ["a", "b", "c"] {
            server.on("/\(name)") { request in
                request.header("Authorization") == "Bearer \(Self.tokens[0])"
                    ? .respond(200, body: "in, with \(Self.tokens[0])") : .respond(403)
            }
        }
        server.on("/late") { request in
            request.header("Authorization") == "Bearer \(Self.tokens[1])"
                ? .respond(200, body: "in") : .respond(401, body: "not with \(Self.tokens[0])")
        }
        let stage = try Stage()
        var text = job(server, ["a", "b", "c"])
        text += "\n  - { id: late, needs: [a, b, c], url: \"\(server.url("/late"))\" }\n"
        let run = try stage.run(text, "-v", environment: ["CLIENT": Self.secret])
        #expect(run.status == 0, "\(run.errorText)")
        let asked = server.requests("/token")
        #expect(asked.map(\.bodyText) == Array(repeating: "grant_type=client_credentials&scope=read", count: 2))
        #expect(asked.allSatisfy { $0.method == "POST" && $0.header("Authorization")?.hasPrefix("Basic ") == true })
        #expect(server.requests("/late").count == 2 && server.requests("/a").count == 1)
        let urls = try run.values("$.tasks[3].attempts[*].transactions[*].request.url")
        #expect(urls == [server.url("/late"), server.url("/token"), server.url("/late")])
        expectSilent(run)
    }

    @Test func aServerThatGivesNone_isToldWithItsWords() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/token",
            .respond(
                400, body: #"{"error":"invalid_client","error_description":"\#(Self.secret) is not known"}"#))
        let stage = try Stage()
        let run = try stage.run(job(server, ["a", "b"]), environment: ["CLIENT": Self.secret])
        #expect(run.status == 1)
        for task in ["a", "b"] {
            #expect(try run.task(task, "error.name") == "userAuthenticationRequired")
            #expect(
                try run.task(task, "error.message")
                    == "no token from \(server.url("/token")): it says `invalid_client`: \"*** is not known\"")
            #expect(server.requests("/\(task)").isEmpty)
        }
        #expect(run.errorText.contains("Check `clientID` and `clientSecret`"), "\(run.errorText)")
        #expect(server.requests("/token").count <= 2)
        expectSilent(run)
    }

    @Test func aServerThatIsBusy_isAskedAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/token", .respond(503), granted(Self.tokens[0]))
        server.on("/a", .respond(200, body: "in"))
        let stage = try Stage()
        let run = try stage.run(
            job(server, ["a"], session: "configuration: ephemeral\n    retry: { backoff: { initial: 10ms } }"),
            environment: ["CLIENT": Self.secret])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/token").count == 2 && server.requests("/a").count == 1)
        expectSilent(run)
    }

    @Test func anAssertionIsReadFromItsFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/token", granted(Self.tokens[0]))
        server.on("/a", .respond(200, body: "in"))
        let stage = try Stage()
        try stage.folder.write("identity", "header.claims.signature\n")
        let run = try stage.run(
            """
            sessions: { default: { configuration: ephemeral } }
            tasks:
              - id: a
                url: "\(server.url("/a"))"
                credentials:
                  - oauth2: { tokenURL: "\(server.url("/token"))", clientID: me, assertion: { file: identity } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/token").first?.bodyText.contains("&assertion=header.claims.signature&") == true)
        #expect(server.requests("/a").first?.header("Authorization") == "Bearer \(Self.tokens[0])")
        expectSilent(run)
    }

    /// The background process asks by itself, and nothing that it was given lies on the disk.
    @Test func aBackgroundSessionAsksByItself() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/token", granted(Self.tokens[0]))
        server.on("/a") { request in
            guard request.header("Authorization") == "Bearer \(Self.tokens[0])" else { return .respond(403) }
            return [.gate("open")] + .respond(200)
        }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            job(server, ["a"], session: "configuration: background\n    identifier: org.example.tokens"),
            environment: ["CLIENT": Self.secret])
        #expect(server.waitForRequests(1, "/a"))
        for name in scene.binary.home.list() where !name.hasSuffix("/") {
            guard let bytes = try? scene.binary.home.bytes(name) else { continue }
            #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.tokens[0]), "\(name)")
        }
        server.open(gate: "open")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/token").count == 1)
        expectSilent(run)
    }
}
