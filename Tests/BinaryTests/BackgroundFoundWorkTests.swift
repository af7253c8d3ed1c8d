import Digests
import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Tasks that are made of what another task brought, in background sessions and on either side of the split.
@Suite struct BackgroundFoundWorkTests {
    private static let names = ["a", "b", "c"]

    private func serve(_ server: ScriptedServer, _ names: [String] = names) {
        server.on("/list", .respond(200, body: names.map { "\($0)\n" }.joined()))
        for name in names { server.on("/f/\(name)", .respond(200, body: "file \(name)")) }
    }

    private func list(_ server: ScriptedServer, _ type: String, _ more: String = "") -> String {
        "  - { id: list, url: \"\(server.url("/list"))\", \(type)\(more) }\n"
    }

    private func get(_ server: ScriptedServer, _ more: String = "") -> String {
        """
          - { id: "get-${n}", forEach: { n: { lines: { task: list } } }, url: "\(server.url("/f"))/${n}", \
        to: "out/${n}"\(more) }

        """
    }

    private func ids(_ report: JSONValue) throws -> [String] {
        try JSONPath("$.tasks[*].id").select(from: report).compactMap(\.plainText)
    }

    private static let ids = ["list", "get-a", "get-b", "get-c"]

    @Test(arguments: ["to: list", "type: data"]) func aFollowedRun_isToldAsIfItRanHere(_ type: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server)
        let scene = try BackgroundScene()
        let run = try scene.stage.run(BackgroundScene.head() + "tasks:\n" + list(server, type) + get(server))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "4")
        #expect(try Self.names.map { try scene.stage.text("out/\($0)") } == ["file a", "file b", "file c"])
        #expect(run.errorText.contains("3 tasks of what `list` brought"), "\(run.errorText)")
        #expect(try run.task("list", "captures") == "{}")
    }

    @Test func aDetachedRun_isInStatusAndReport() throws {
        let background = try BackgroundStage()
        serve(background.server)
        background.server.on("/f/b", [.gate("b")] + .respond(200, body: "file b"))
        background.server.on("/f/c", .respond(404))
        let job = BackgroundScene.head() + "tasks:\n" + list(background.server, "to: list") + get(background.server)
        #expect(try background.detach(job).exitStatus == 0)
        #expect(background.server.waitForRequests(1, "/f/b"))
        let states = "$.sessions[0].tasks[*]['id','state']"
        try background.waitUntil("all but one task have ended") {
            try background.status(states)
                == ["list", "finished", "get-a", "finished", "get-b", "running", "get-c", "finished"]
        }
        background.server.open(gate: "b")
        background.waitForReport()
        let report = try background.report()
        #expect(try ids(report) == Self.ids)
        let outcomes = try JSONPath("$.tasks[*].outcome").select(from: report).compactMap(\.plainText)
        #expect(outcomes == ["succeeded", "succeeded", "succeeded", "failed"])
    }

    @Test func aBrokenList_failsTheTemplateThereToo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, body: [0x61, 0x0A, 0xFF]))
        let run = try BackgroundScene().stage.run(
            BackgroundScene.head() + "tasks:\n" + list(server, "to: list") + get(server))
        #expect(run.status == 1)
        #expect(try run.task("get-${n}", "error.message") == "what `list` brought, line 2: not UTF-8 text")
    }

    /// The process dies after the list came and once its tasks are under way; the next one makes them once.
    @Test(arguments: [("to: list", SIGKILL), ("to: list", SIGTERM), ("type: data", SIGKILL), ("type: data", SIGTERM)])
    func anEndedProcess_isFollowedByOneThatKnowsTheTasks(_ type: String, _ signal: Int32) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server)
        server.on("/f/b") { request in request.number == 1 ? [.stall] : .respond(200, body: "file b") }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(BackgroundScene.head() + "tasks:\n" + list(server, type) + get(server))
        #expect(server.waitForRequests(1, "/f/b"))
        #expect(scene.waitForEvents(of: "get-b", attempts: 1) && scene.waitForEnd(of: "get-c"))
        // What the tasks were made of may be gone or another by now.
        if type == "to: list" { try scene.folder.write("list", "x\ny\n") }
        #expect(scene.end(signal))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "4")
        #expect(server.requests("/f/b").count == 2 && server.requests("/f/a").count == 1)
        #expect(server.requests("/list").count == 1)
        #expect(run.events.count { $0["event"]?.plainText == "expanded" } == 1)
    }

    /// The list came and the process dies while its tasks are being made: the next one makes them, each once.
    @Test(arguments: ["to: list", "type: data"]) func aProcessThatDiesWhileItMakesTasks_isFollowedByOneThatMakesThem(
        _ type: String
    ) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let names = (1...1_000).map { "n\($0)" }
        server.on("/list", .respond(200, body: names.map { "\($0)\n" }.joined()))
        for name in names { server.on("/f/\(name)", .respond(200, body: "file \(name)")) }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(BackgroundScene.head() + "tasks:\n" + list(server, type) + get(server))
        #expect(scene.waitForEnd(of: "list"))
        #expect(scene.end(SIGKILL))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText.suffix(2_000))")
        #expect(try run.value("$.totals.succeeded") == "1001")
        #expect(server.requests("/list").count == 1)
        // What the killed process had no time to note is asked for again, and nothing else.
        let targets = server.requests().map(\.target)
        let twice = targets.count - Set(targets).count
        #expect(twice <= 400, "\(twice) files were asked for again")
        #expect(scene.folder.list("out").count == names.count)
    }

    private static let both = """
        sessions:
          day: {}
          night: { configuration: background, identifier: org.example.both }

        """

    /// The list on one side, what is made of it on the other.
    @Test(arguments: [
        ("day", "night", "to: list"), ("night", "day", "to: list"), ("day", "night", "type: data"),
        ("night", "day", "type: data"),
    ]) func theListMayBeOnTheOtherSide(_ source: String, _ made: String, _ type: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server)
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            Self.both + "tasks:\n" + list(server, type, ", session: \(source)") + get(server, ", session: \(made)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "4")
        #expect(try Self.names.map { try scene.stage.text("out/\($0)") } == ["file a", "file b", "file c"])
    }

    /// A newer file makes tasks of what an older one's task has brought, which nobody wanted to keep then.
    @Test func aChangedFile_goesOverAFileThatIsThereAlready() throws {
        let background = try BackgroundStage()
        let server = background.server
        serve(server)
        server.on("/slow", [.gate("slow")] + .respond(200, body: "slow"))
        let first =
            BackgroundScene.head() + "tasks:\n" + list(server, "to: list")
            + "  - { id: slow, url: \"\(server.url("/slow"))\", needs: [list] }\n"
        #expect(try background.detach(first).exitStatus == 0)
        #expect(server.waitForRequests(1, "/slow"))
        #expect(try background.detach(first + get(server)).exitStatus == 0)
        background.waitUntil("all is there") { Self.names.allSatisfy { background.stage.folder.exists("out/\($0)") } }
        server.open(gate: "slow")
        background.waitForReport()
        #expect(try ids(background.report()) == ["list", "slow", "get-a", "get-b", "get-c"])
    }
}
