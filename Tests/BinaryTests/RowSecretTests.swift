import TestSupport
import Testing
import TextFormats

/// A secret that may go to some hosts only, repeated by a server in what tasks are made of or verified by.
@Suite struct RowSecretTests {
    private static let secret = "plainSECRETtoken123"

    private func server(_ list: String) throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/list", .respond(200, headers: [("Content-Type", "text/html")], body: list))
        for path in ["/one", "/two", "/evil"] { server.on(path, .respond(200, body: path)) }
        return server
    }

    private func head(_ server: ScriptedServer, _ keys: String = "") -> String {
        """
        secrets: { TOK: { env: TOK, hosts: [localhost] } }
        defaults: { retry: { attempts: 1 } }
        tasks:
          - { id: list, url: "http://localhost:\(server.port)/list", headers: { X-Key: "${secret.TOK}" }\(keys) }

        """
    }

    @Test(arguments: ["links", "lines"]) func aRowWithIt_doesNotGoElsewhere(_ format: String) throws {
        let elsewhere = "http://127.0.0.1"
        let server = try server("")
        defer { server.stop() }
        let evil = "\(elsewhere):\(server.port)/evil?t=\(Self.secret)"
        server.on(
            "/list",
            .respond(
                200, headers: [("Content-Type", "text/html")],
                body: format == "links" ? "<a href=\"\(evil)\">x</a>" : "\(evil)\n"))
        let run = try Stage().run(
            head(server)
                + "  - { id: \"get-${x.index}\", forEach: { x: { \(format): { task: list } } }, url: \"${x}\" }\n",
            environment: ["TOK": Self.secret])
        #expect(run.status == 1)
        #expect(run.errorText.contains("secretBarred") || run.errorText.contains("must not go to"), "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/list"])
    }

    /// What is no part of the secret stays open: it may stand in ids and paths.
    @Test func otherTextsOfTheList_areNoSecrets() throws {
        let server = try server(
            "<a href=\"/one?key=\(Self.secret)\">one</a> <a href=\"/two?key=\(Self.secret)\">two</a>")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            head(server)
                + "  - { id: \"f-${x.name}\", forEach: { x: { links: { task: list } } }, url: \"${x}\", to: \"out/${x.name}\" }\n",
            environment: ["TOK": Self.secret])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/one") == "/one" && stage.text("out/two") == "/two")
        #expect(!"\(run.report) \(run.errorText)".contains(Self.secret))
    }

    @Test func aListOfChecksums_isNotLookedForWhereASecretWouldGo() throws {
        let server = try server("")
        defer { server.stop() }
        let port = server.port
        server.on("/sums") { request in
            .redirect(302, to: "http://127.0.0.1:\(port)/evil?t=\(request.header("X-Key") ?? "")")
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            secrets: { TOK: { env: TOK, hosts: [localhost] } }
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: a, url: "http://localhost:\(port)/one", to: a, headers: { X-Key: "${secret.TOK}" },
                  checksum: { from: "http://localhost:\(port)/sums" } }
            """, environment: ["TOK": Self.secret])
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "secretBarred")
        #expect(server.requests().map(\.target) == ["/sums"])
    }

    @Test func aListThatAnotherTaskWasLedTo_isNotTrusted() throws {
        let server = try server("")
        defer { server.stop() }
        let port = server.port
        server.on("/sums", .redirect(302, to: "http://127.0.0.1:\(port)/real"))
        server.on("/real", .respond(200, body: "900150983cd24fb0d6963f7d28e17f72  one\n"))
        server.on("/one", .respond(200, body: "abc"))
        let task = "url: \"http://localhost:\(port)/one\", checksum: { from: \"http://localhost:\(port)/sums\" }"
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: a, to: a, \(task) }
              - { id: b, to: b, needs: [a], redirects: { allowHosts: [localhost] }, \(task) }
            """)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed"])
        #expect(try run.task("b", "error.name") == "redirectRefused")
    }
}
