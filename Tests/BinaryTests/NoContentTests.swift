import TestSupport
import Testing

/// Answers that have no content by their nature make no file and empty none.
@Suite struct NoContentTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer { request in
            switch request.target {
            case "/none": .respond(204)
            case "/reset": .respond(205)
            case "/always": .respond(304)
            default:
                request.header("If-None-Match") == "\"e\""
                    ? .respond(304, headers: [("ETag", "\"e\"")])
                    : .respond(200, headers: [("ETag", "\"e\"")], body: "new")
            }
        }
    }

    private func job(_ server: ScriptedServer, _ target: String, _ more: String) -> String {
        """
        sessions: { d: { configuration: ephemeral } }
        tasks: [{ id: a, url: "\(server.url(target))", to: f, retry: { attempts: 1 }, \(more) }]
        """
    }

    private static let own = "headers: { If-None-Match: '\"e\"' }, expect: { status: [200, 304]"

    @Test(arguments: ["}", ", minimumSize: 3 }"]) func a304ToTheJobsOwnConditionKeepsTheFile(_ more: String) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("f", "old")
        let run = try stage.run(job(server, "/x", Self.own + more))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("f") == "old")
        #expect(try run.task("a", "source") == "unchanged" && run.task("a", "changed") == "false")
        #expect(try run.task("a", "file.bytes") == "3")
    }

    @Test(arguments: [
        ("/x", own + "}", false), ("/x", own + ", minimumSize: 9 }", true),
        ("/x", own + ", body: { contains: o } }", true),
        ("/x", "headers: { If-None-Match: '\"e\"' }", true), ("/always", "expect: { status: [200, 304] }", true),
        ("/always", "existing: replace", true), ("/none", "expect: { status: 204 }", true),
        ("/none", "mode: '0600'", true),
        ("/reset", "expect: { status: [200, 205] }", true),
    ])
    func nothingElseMakesAFileOfNoContent(_ target: String, _ more: String, _ isThere: Bool) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        if isThere { try stage.folder.write("f", "old") }
        let run = try stage.run(job(server, target, more))
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("a", "error.name") == "unexpectedResponse")
        #expect(isThere ? try stage.text("f") == "old" : !stage.folder.exists("f"))
    }

    /// Where the file lies in a folder, the URL gives its name.
    @Test func aFolderIsLookedInto() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("x", "old")
        let run = try stage.run(job(server, "/x", Self.own + "}").replacing("to: f", with: "to: ./"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("x") == "old" && run.task("a", "source") == "unchanged")
    }

    /// Whoever does not expect the answer that was kept asks anew, and is told what comes.
    @Test func anotherStatusIsNotRevalidated() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let plain = "tasks: [{ id: a, url: \"\(server.url("/x"))\", to: f }]"
        #expect(try stage.run(plain).status == 0)
        let more = "to: f, retry: { attempts: 1 }, expect: { status: 404 }"
        let run = try stage.run(plain.replacing("to: f", with: more))
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("a", "error.name") == "unexpectedResponse")
        #expect(server.requests().map { $0.header("If-None-Match") ?? "none" } == ["none", "none"])
        #expect(try stage.text("f") == "new")
    }
}
