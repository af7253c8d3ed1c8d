import TestSupport
import Testing

/// Values under names that mean credentials: sent as the job says, and shown nowhere.
@Suite struct ShownCredentialTests {
    private static let formats = [
        "--html", "--junit", "--har", "--trace", "--otlp", "--prometheus", "--markdown", "--failed-list",
    ]
    /// The job's own.
    private static let typed = (0..<5).map { "typedvalue\($0)xyz" }
    /// What the server gives.
    private static let given = (0..<6).map { "givenvalue\($0)xyz" }

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on(
            "/a",
            .respond(
                302,
                headers: [
                    ("Location", "/b?X-Amz-Signature=\(Self.given[0])&page=2"),
                    ("Set-Cookie", "sid=\(Self.given[1]); Path=/"),
                ]))
        server.on("/b", .respond(200, headers: [("X-Auth-Token", Self.given[2])], body: "{\"id\": 7}"))
        server.on("/refused", .respond(403, headers: [("X-Shop", Self.given[3])], body: "no"))
        server.on(
            "/list",
            .respond(200, headers: [("Link", "</list2?access_token=\(Self.given[4])>; rel=\"next\"")], body: "[]"))
        server.on("/list2", .respond(500, headers: [("X-Api-Key", Self.given[5])]))
        server.on(
            "/echo", .respond(401, headers: [("Content-Type", "text/plain")], body: "the key \(Self.typed[1]) is wrong")
        )
        return server
    }

    private func job(_ server: ScriptedServer) -> String {
        """
        redact: { headers: [X-Shop], query: [code] }
        defaults: { retry: { attempts: 1 } }
        sessions:
          default:
            headers: { X-Api-Key: \(Self.typed[1]), Cookie: "login=\(Self.typed[2])" }
        tasks:
          - id: a
            url: "\(server.url("/a"))?token=\(Self.typed[0])"
            to: a
          - id: token
            needs: [a]
            url: "\(server.url("/b"))?code=\(Self.typed[3])"
            capture: { taken: { header: X-Auth-Token }, id: { json: $.id } }
          - id: refused
            url: "\(server.url("/refused"))?client_secret=\(Self.typed[4])"
            to: c
          - id: pages
            url: "\(server.url("/list"))"
            next: { link: next }
          - id: unexpected
            url: "\(server.url("/b"))"
            expect: { headers: { X-Auth-Token: "^other" } }
          - { id: echo, url: "\(server.url("/echo"))" }
        """
    }

    @Test func noOutput_showsTheValueOfACredential() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        var words = ["job.yaml", "--events", "events", "-v"]
        for format in Self.formats { words += [format, "x" + format] }
        let run = try binary.run(arguments: words)
        #expect(run.exitStatus == 1, "\(run.errorText)")
        // All of them were sent.
        let sent = server.requests().map { request in
            "\(request.target) \(request.header("X-Api-Key") ?? "") \(request.header("Cookie") ?? "")"
        }.joined(separator: "\n")
        for value in Self.typed + [Self.given[0], Self.given[4]] {
            #expect(sent.contains(value), "\(value) in \(sent)")
        }
        var shown = Self.formats.map { "x" + $0 } + ["events", "job.report.json"]
        shown = try shown.map { try binary.folder.text($0) } + [run.errorText, run.outputText]
        shown += [try binary.run("explain", "job.report.json").outputText]
        shown += [try binary.run("explain", "job.report.json", "refused").outputText]
        for plan in [["plan", "job.yaml"], ["plan", "job.yaml", "--json"], ["plan", "job.yaml", "--online"]] {
            let planned = try binary.run(arguments: plan)
            shown.append(planned.outputText + planned.errorText)
        }
        for value in Self.typed + Self.given {
            for text in shown where text.contains(value) { Issue.record("\(value) in \(text)") }
        }
        // The names stand, and so does what is no credential.
        let report = try binary.folder.text("job.report.json")
        for text in [
            "/a?token=***", "/b?X-Amz-Signature=***&page=2", "/list2?access_token=***", "/b?code=***",
            "\"taken\":\"***\"", "\"id\":7",
        ] {
            #expect(report.contains(text), "\(text) in \(report)")
        }
    }

    /// The line of the job file too, in which the values stand.
    @Test func check_showsNoCredential() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: a, url: "http://127.0.0.1:1/a?token=\(Self.typed[0])", to: a, bogus: 1 }
              - { id: b, url: "http://127.0.0.1:1/b", to: b, headers: { X-Api-Key: \(Self.typed[1]) }, bogus: 2 }
            """)
        for format in ["text", "json", "github"] {
            let check = try binary.run("check", "job.yaml", "--format", format)
            let shown = check.outputText + check.errorText
            #expect(check.exitStatus == 2 && shown.contains("bogus"), "\(shown)")
            for value in Self.typed { #expect(!shown.contains(value), "\(shown)") }
        }
    }
}
