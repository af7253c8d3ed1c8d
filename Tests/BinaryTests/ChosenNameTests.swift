import TestSupport
import Testing

/// Names that a server chose: they replace the task's own file, and no other.
@Suite final class ChosenNameTests {
    private let server: ScriptedServer
    private let stage: Stage

    init() throws {
        server = try ScriptedServer()
        stage = try Stage()
    }

    deinit { server.stop() }

    private func answer(_ name: String, _ body: String) -> Script {
        .respond(200, headers: [("Content-Disposition", "attachment; filename=\"\(name)\"")], body: body)
    }

    private func job(_ more: String = "", session: String = "") -> String {
        "\(session)tasks: [{ id: a, url: \"\(server.url("/f"))\", to: out/\(more.isEmpty ? "" : ", \(more)") }]"
    }

    @Test func fileThatTheTaskDidNotBring_stays() throws {
        server.on("/f", answer("hook.sh", "theirs"))
        try stage.folder.write("out/hook.sh", "mine")
        let run = try stage.run(job())
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "nameTaken" && run.task("a", "error.domain") == "transfer-run")
        #expect(try run.task("a", "error.message")?.contains("out/hook.sh is there already, and this task") == true)
        #expect(try stage.text("out/hook.sh") == "mine")
        #expect(stage.folder.list("out") == ["hook.sh"])
        // The same bytes are no harm, and make it no file of the task's.
        try stage.folder.write("out/hook.sh", "theirs")
        let same = try stage.run(job())
        #expect(try same.status == 0 && same.task("a", "changed") == "false")
        server.on("/f", answer("hook.sh", "changed"))
        #expect(try stage.run(job()).status == 1)
        #expect(try stage.text("out/hook.sh") == "theirs")
        // The job allows it.
        #expect(try stage.run(job("existing: replace")).status == 0)
        #expect(try stage.text("out/hook.sh") == "changed")
    }

    /// With and without validators, and for options under which nothing is revalidated.
    @Test(arguments: [
        "", "headers: { X: y }", "method: POST", "expect: { body: { contains: '' } }",
        "capture: { v: { header: Date } }",
        "requireLength: false",
    ])
    func ownFile_isUpdatedByTheNextRun(_ more: String) throws {
        let headers = [
            ("Content-Disposition", "attachment; filename=f"), ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ]
        for (number, body) in ["one", "two", "three"].enumerated() {
            server.on("/f", .respond(200, headers: headers, body: body))
            let run = try stage.run(job(more))
            #expect(run.status == 0, "\(number) \(run.errorText)")
            #expect(try stage.text("out/f") == body)
        }
        // What somebody put in its place is not the task's.
        stage.folder.remove("out/f")
        try stage.folder.write("out/f", "mine")
        server.on("/f", .respond(200, headers: headers, body: "four"))
        #expect(try stage.run(job(more)).task("a", "error.name") == "nameTaken")
        #expect(try stage.text("out/f") == "mine")
    }

    @Test func copyOfTheOwnFile_isKnownByItsBytes() throws {
        server.on("/f", answer("f", "one"))
        #expect(try stage.run(job()).status == 0)
        stage.folder.remove("out/f")
        try stage.folder.write("out/f", "one")
        server.on("/f", answer("f", "two"))
        #expect(try stage.run(job()).status == 0)
        #expect(try stage.text("out/f") == "two")
    }

    /// It keeps nothing from run to run: only equal bytes are safe.
    @Test func ephemeralSession_leavesEveryOtherFile() throws {
        let session = "sessions: { main: { configuration: ephemeral } }\n"
        server.on("/f", answer("f", "one"))
        #expect(try stage.run(job(session: session)).status == 0)
        let same = try stage.run(job(session: session))
        #expect(try same.status == 0 && same.task("a", "changed") == "false")
        server.on("/f", answer("f", "two"))
        #expect(try stage.run(job(session: session)).task("a", "error.name") == "nameTaken")
        #expect(try stage.text("out/f") == "one")
        #expect(try stage.run(job("existing: replace", session: session)).status == 0)
    }

    /// What a task put there earlier in the run is its own; a resumed attempt knows what the one before knew.
    @Test func resumedAttempt_replacesTheOwnFile() throws {
        server.on("/f", answer("f", "old"))
        #expect(try stage.run(job()).status == 0)
        let body = Script.patternBytes(300_000)
        let head = [("Content-Disposition", "attachment; filename=f"), ("ETag", "\"v\"")]
        server.on("/f") { request in
            guard request.header("Range") != nil else {
                return [
                    .bytes(Script.head(200, head + [("Content-Length", "300000")])), .pattern(count: 200_000), .cut,
                ]
            }
            let span = [("Content-Length", "100000"), ("Content-Range", "bytes 200000-299999/300000")]
            return [.bytes(Script.head(206, head + span)), .bytes(Array(body[200_000...]))]
        }
        let run = try stage.run(job("retry: { attempts: 2, backoff: { initial: 1ms } }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("out/f") == body)
    }

    /// Not even `existing: replace` lets a server choose what the job itself reads, runs or writes.
    @Test(arguments: [
        "job.yaml", "hook.sh", "body.json", "part.txt", "rows.csv", "ca.pem", "later.bin", "cookies.txt", "job.lock",
        "stream.sh", "source.txt", "data.json",
    ])
    func fileThatTheJobUses_isNeverReplaced(_ name: String) throws {
        server.on("/f", answer(name, "theirs"))
        server.on("/up", .respond(200))
        let files = [
            "hook.sh": "exit 0", "body.json": "{}", "part.txt": "p", "rows.csv": "n\n1\n", "stream.sh": "echo s",
            "source.txt": "s", "job.lock": "mine",
        ]
        for (file, text) in files { try stage.folder.write(file, text) }
        let authority = try CertificateAuthority()
        try stage.folder.write("ca.pem", TemporaryTree.bytes(at: authority.caFile))
        let url = server.url("/up")
        let run = try stage.run(
            """
            sessions:
              main: { cookies: { file: cookies.txt, save: true }, tls: { trust: { ca: ca.pem } } }
            tasks:
              - { id: a, url: "\(server.url("/f"))", to: ./, existing: replace }
              - { id: file, needs: [a], when: finished, type: upload, url: "\(url)", body: { file: body.json } }
              - { id: part, needs: [a], when: finished, url: "\(url)", method: POST, body: { multipart: [{ name: p, file: part.txt }] } }
              - { id: "row-${r.n}", forEach: { r: { csv: rows.csv } }, url: "\(url)?${r.n}" }
              - { id: stream, needs: [a], when: finished, type: upload, url: "\(url)", body: { stream: { command: [sh, stream.sh] } } }
              - { id: copy, needs: [a], when: finished, url: "file://\(stage.folder.path("source.txt"))", to: copied }
              - { id: later, needs: [a], when: finished, url: "data:,later", to: later.bin }
            onFinish: [sh, hook.sh, --data=data.json]
            """)
        #expect(try run.task("a", "error.name") == "nameTaken", "\(run.errorText)")
        if let text = files[name] { #expect(try stage.text(name) == text) }
    }
}
