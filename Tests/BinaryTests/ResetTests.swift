import Glibc
import TestSupport
import Testing

/// `transfer-run reset`: as if the session had never been.
@Suite struct ResetTests {
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on(
            "/page",
            .respond(
                200, headers: [("Set-Cookie", "kept=yes; Max-Age=600"), ("Cache-Control", "max-age=600")],
                body: "page"))
        server.on(
            "/long", .respond(200, headers: [("Cache-Control", "max-age=600")], patternOf: 100_000))
        server.serve("/file", ServedResource("file"))
        return server
    }

    private func job(_ server: ScriptedServer, name: String = "one") -> String {
        """
        name: \(name)
        sessions: { api: {} }
        tasks:
          - { id: page, url: "\(server.url("/page"))" }
          - { id: long, url: "\(server.url("/long"))" }
          - { id: file, url: "\(server.url("/file"))", to: file }
        """
    }

    private func cached(_ stage: Stage) -> [String] {
        stage.binary.home.list().filter { $0.hasSuffix(".body") }
    }

    @Test func everythingIsForgotten() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        #expect(cached(stage).count == 1)
        let known = try stage.run(job(server))
        #expect(try known.values("$.tasks[*].source") == ["cache", "cache", "unchanged"])

        let reset = try stage.binary.run("reset", "api")
        #expect(reset.exitStatus == 0 && reset.outputText == "forgot the session api of one\n")
        #expect(cached(stage) == [])
        let before = server.requests().count
        let run = try stage.run(job(server))
        #expect(try run.values("$.tasks[*].source") == ["network", "network", "network"])
        let later = server.requests().dropFirst(before)
        #expect(later.allSatisfy { $0.header("If-None-Match") == nil })
        // The first answer of the new run sets the cookie again.
        #expect(later.first?.header("Cookie") == nil)
    }

    /// What lies in a folder of the job's own choice goes too, and nothing else that is there.
    @Test func soIsWhatLiesInAFolderOfItsOwn() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let tasks = "tasks: [{ id: long, url: \"\(server.url("/long"))\" }]"
        #expect(try stage.run("name: one\nsessions: { api: { cache: { path: here } } }\n\(tasks)").status == 0)
        #expect(try stage.run("name: two\nsessions: { api: { cache: { path: here } } }\n\(tasks)").status == 0)
        try stage.folder.write("here/mine.body", "mine")
        #expect(stage.folder.list("here").count == 3)
        #expect(try stage.binary.run("reset", "one/api").exitStatus == 0)
        #expect(stage.folder.list("here").count == 2)
        let other = try stage.run("name: two\nsessions: { api: { cache: { path: here } } }\n\(tasks)")
        #expect(try other.task("long", "source") == "cache")
        // A folder that is gone is not made again.
        stage.folder.remove("here")
        #expect(try stage.binary.run("reset", "two/api").exitStatus == 0)
        #expect(!stage.folder.exists("here"))
    }

    @Test func halfDoneFilesGo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(3 << 20)
        let resource = ServedResource(body)
        server.on("/big", { _ in resource.broken(after: 2 << 20, then: .stall) })
        let stage = try Stage()
        let program = try stage.start(
            "name: one\nsessions: { api: {} }\ntasks: [{ id: a, url: \"\(server.url("/big"))\", to: a }]")
        #expect(server.waitUntilRead(2 << 20, "/big"))
        program.send(signal: SIGTERM)
        #expect(try stage.finish(program).status == 143)
        #expect(stage.files.count == 1)
        #expect(try stage.binary.run("reset", "one/api").exitStatus == 0)
        #expect(stage.files == [])
    }

    @Test func whichOneMustBeClear() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let nothing = try stage.binary.run("reset", "api")
        #expect(nothing.exitStatus == 2 && nothing.errorText.contains("nothing is kept of any session"))
        #expect(try stage.run(job(server)).status == 0)
        #expect(try stage.run(job(server, name: "two")).status == 0)
        let unknown = try stage.binary.run("reset", "apis")
        #expect(unknown.exitStatus == 2 && unknown.errorText.contains("`one/api`"))
        let both = try stage.binary.run("reset", "api")
        #expect(both.exitStatus == 2 && both.errorText.contains("say which:\n    `one/api`\n    `two/api`\n"))
        #expect(try stage.binary.run("reset", "two/api").exitStatus == 0)
        // The other one's is there still.
        let run = try stage.run(job(server))
        #expect(try run.values("$.tasks[?@.type=='data'].source") == ["cache", "cache"])
    }

    @Test func aRunUnderWayIsNotDisturbed() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/hang", [.stall])
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        let program = try stage.start(
            "name: one\nsessions: { api: {} }\ntasks: [{ id: a, url: \"\(server.url("/hang"))\" }]")
        #expect(server.waitForRequests(1, "/hang"))
        let reset = try stage.binary.run("reset", "api")
        #expect(reset.exitStatus == 5 && reset.errorText.contains("pid \(program.processID)"))
        program.send(signal: SIGTERM)
        #expect(try stage.finish(program).status == 143)
    }
}
