import TestSupport
import Testing
import TextFormats

/// Who was let in once goes out unasked from then on: as who is asked to go, and where the job's secrets may go.
@Suite struct LearnedLoginTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer { request in
            guard let shown = request.header("Authorization") else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            return .respond(200, body: "as \(shown)")
        }
    }

    private func basic(_ user: String) -> String { "as Basic \(Base64.encode(Array("\(user):\(user)-word".utf8)))" }

    /// The name in the URL tells whose entry is meant, whoever was let in before.
    @Test(arguments: ["session", "permanent"]) func eachGoesAsWhomTheURLNames(_ persistence: String) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let users = ["alice", "bob"]
        let lines = users.map { "machine 127.0.0.1 login \($0) password \($0)-word\n" }
        try stage.folder.write("netrc", lines.joined())
        let environment = ["NETRC": stage.folder.path + "/netrc"]
        func url(_ user: String) -> String { "http://\(user)\(user.isEmpty ? "" : "@")127.0.0.1:\(server.port)/d/file" }
        for _ in 0..<2 {
            let run = try stage.run(
                """
                defaults: { credentials: [{ netrc: true, persistence: \(persistence) }], existing: replace }
                tasks:
                  - { id: a, url: "\(url("alice"))", to: alice }
                  - { id: b, url: "\(url("bob"))", to: bob, needs: [a] }
                  - { id: c, url: "\(url(""))", to: first, needs: [b] }
                  - { id: d, url: "\(url("bob"))", to: again, needs: [c] }
                """, environment: environment)
            #expect(run.status == 0, "\(run.errorText)")
            #expect(try stage.text("alice") == basic("alice") && stage.text("bob") == basic("bob"))
            #expect(try stage.text("first") == basic("alice") && stage.text("again") == basic("bob"))
        }
    }

    /// A binding that was tightened since holds for what was learned before it.
    @Test func whatIsKeptGoesWhereTheSecretMayGo() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        func run(_ hosts: String) throws -> Stage.Run {
            try stage.run(
                """
                secrets: { P: { \(hosts) } }
                tasks:
                  - id: a
                    url: "\(server.url("/d/file"))"
                    credentials: [{ host: "*", user: me, password: "${secret.P}", persistence: permanent }]
                """, environment: ["P": "me-word-that-is-long"])
        }
        #expect(try run("").status == 0)
        let shown = server.requests().count { $0.header("Authorization") != nil }
        #expect(try run("hosts: [elsewhere.example]").status == 1)
        #expect(server.requests().count { $0.header("Authorization") != nil } == shown)
    }
}
