import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Tasks that are made of what another task captured, in background sessions and on either side of the split.
@Suite struct BackgroundCapturedTests {
    private static let json = [("Content-Type", "application/json")]

    private func serve(_ server: ScriptedServer, _ list: String, files: [String]) {
        server.on("/list", .respond(200, headers: Self.json, body: list))
        for file in files { server.on("/f/\(file)", .respond(200, body: "file \(file)")) }
    }

    private func list(_ server: ScriptedServer, _ more: String = "") -> String {
        "  - { id: list, url: \"\(server.url("/list"))\", "
            + "capture: { names: { json: \"$[*]\", all: true } }\(more) }\n"
    }

    private func get(_ server: ScriptedServer, _ more: String = "") -> String {
        """
          - { id: "get-${n}", forEach: { n: { captured: tasks.list.names } }, url: "\(server.url("/f"))/${n}", \
        to: "out/${n}"\(more) }

        """
    }

    private func after(_ server: ScriptedServer, _ more: String = "") -> String {
        "  - { id: after, url: \"\(server.url("/list"))?after\", type: data, needs: [get-*]\(more) }\n"
    }

    private func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head() + "tasks:\n" + list(server) + get(server) + after(server)
    }

    private static let ids = ["list", "after", "get-a", "get-b", "get-c"]

    private func ids(_ report: JSONValue) throws -> [String] {
        try JSONPath("$.tasks[*].id").select(from: report).compactMap(\.plainText)
    }

    @Test func aFollowedRun_isToldAsIfItRanHere() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b", "c"]"#, files: ["a", "b", "c"])
        let scene = try BackgroundScene()
        let run = try scene.stage.run(job(server))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "5")
        #expect(try ["a", "b", "c"].map { try scene.stage.text("out/\($0)") } == ["file a", "file b", "file c"])
        #expect(run.errorText.contains("3 tasks of what `list` captured"), "\(run.errorText)")
        #expect(run.events.count { $0["event"]?.plainText == "expanded" } == 1)
        #expect(run.story(of: "get-b").first == "taskCreated" && run.story(of: "get-b").last == "taskFinished")
        #expect(server.requests().last?.target == "/list?after")
    }

    @Test func aDetachedRun_isReportedByTheProcess() throws {
        let background = try BackgroundStage()
        serve(background.server, #"["a", "b", "c"]"#, files: ["a", "b"])
        background.server.on("/f/c", .respond(404))
        let handed = try background.detach(job(background.server), "--events", "e.ndjson")
        #expect(handed.exitStatus == 0, "\(handed.errorText)")
        background.waitForReport()
        let report = try background.report()
        #expect(try ids(report) == Self.ids)
        let outcomes = try JSONPath("$.tasks[*].outcome").select(from: report).compactMap(\.plainText)
        #expect(outcomes == ["succeeded", "skipped", "succeeded", "succeeded", "failed"])
        let expanded = #""event":"expanded","session":"night","task":"get-${n}""#
        #expect(try background.stage.text("e.ndjson").contains(expanded))
    }

    @Test func anEmptyList_isAWarningThereToo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, "[]", files: [])
        let run = try BackgroundScene().stage.run(BackgroundScene.head() + "tasks:\n" + list(server) + get(server))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(run.errorText.contains("no task, for the list that `list` captured is empty"))
        #expect(try ids(run.report) == ["list"])
    }

    /// The tasks that were made are under way, the process dies, and the next one knows them.
    @Test(arguments: [SIGKILL, SIGTERM]) func anEndedProcess_isFollowedByOneThatKnowsTheTasks(_ signal: Int32) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b", "c"]"#, files: ["a", "c"])
        server.on("/f/b") { request in request.number == 1 ? [.stall] : .respond(200, body: "file b") }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job(server))
        #expect(server.waitForRequests(1, "/f/b"))
        #expect(scene.waitForEvents(of: "get-b", attempts: 1) && scene.waitForEnd(of: "get-c"))
        #expect(scene.end(signal))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "5")
        #expect(server.requests("/f/b").count == 2 && server.requests("/f/a").count == 1)
        #expect(server.requests().map(\.target).filter { $0 == "/list" }.count == 1)
        #expect(run.events.count { $0["event"]?.plainText == "expanded" } == 1)
    }

    /// The journal's events show no credential; what the next process needs in the clear lies elsewhere.
    @Test func aCapturedSignedURL_isMaskedInTheJournal_andKnownToTheNextProcess() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let signed = "/f/a?access_token=shown-nowhere"
        server.on("/list", .respond(200, headers: Self.json, body: "{\"url\": \"\(server.url(signed))\"}"))
        server.on("/f/a") { request in request.number == 1 ? [.stall] : .respond(200, body: "file a") }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            BackgroundScene.head() + """
                tasks:
                  - { id: list, url: "\(server.url("/list"))", capture: { place: { json: $.url } } }
                  - { id: a, needs: [list], url: "${tasks.list.place}", to: a }

                """)
        #expect(server.waitForRequests(1, "/f/a") && scene.waitForEvents(of: "a", attempts: 1))
        #expect(scene.end(SIGKILL))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/f/a").map(\.target) == [signed, signed])
        #expect(try run.value("$.tasks[0].captures.place") == server.url("/f/a?access_token=***"))
        #expect(!run.errorText.contains("shown-nowhere") && !"\(run.events)".contains("shown-nowhere"))
    }

    /// Whoever comes back to it, or looks at it, sees the tasks and no template.
    @Test func statusAndAnotherCommand_knowTheTasksThatWereMade() throws {
        let background = try BackgroundStage()
        let server = background.server
        serve(server, #"["a", "b"]"#, files: ["a"])
        server.on("/f/b", [.gate("b")] + .respond(200, body: "file b"))
        #expect(try background.detach(job(server)).exitStatus == 0)
        #expect(server.waitForRequests(1, "/f/b"))
        let states = "$.sessions[0].tasks[*]['id','state']"
        try background.waitUntil("all but one task have ended") {
            try background.status(states)
                == ["list", "finished", "after", "waiting", "get-a", "finished", "get-b", "running"]
        }
        let suspended = try background.run("suspend", "org.example.test", "get-b")
        #expect(suspended.exitStatus == 0, "\(suspended.errorText)")
        let program = try background.stage.binary.start([
            "attach", "org.example.test", "--report", "r.json", "--events", "e.ndjson",
        ])
        background.waitUntil("it is followed") {
            (try? background.stage.text("e.ndjson").contains(#""event":"expanded""#)) == true
        }
        server.open(gate: "b")
        #expect(try background.run("resume", "org.example.test", "get-b").exitStatus == 0)
        let attached = program.wait()
        #expect(attached.exitStatus == 0, "\(attached.errorText)")
        #expect(try ids(background.report("r.json")) == ["list", "after", "get-a", "get-b"])
    }

    @Test func aTemplateThatIsCancelled_makesNothing() throws {
        let background = try BackgroundStage()
        background.server.on("/list", [.gate("list")] + .respond(200, headers: Self.json, body: #"["a"]"#))
        #expect(try background.detach(job(background.server)).exitStatus == 0)
        #expect(background.server.waitForRequests(1, "/list"))
        #expect(try background.run("cancel", "org.example.test", "get-*").exitStatus == 0)
        background.server.open(gate: "list")
        background.waitForReport()
        let outcomes = try JSONPath("$.tasks[*].outcome").select(from: background.report()).compactMap(\.plainText)
        #expect(outcomes == ["succeeded", "cancelled", "skipped"])
    }

    private static let both = """
        sessions:
          day: {}
          night: { configuration: background, identifier: org.example.both }

        """

    /// The list on one side, what is made of it on the other.
    @Test(arguments: [("day", "night"), ("night", "day")]) func theListMayBeOnTheOtherSide(
        _ source: String, _ made: String
    ) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b", "c"]"#, files: ["a", "b", "c"])
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            Self.both + "tasks:\n" + list(server, ", session: \(source)") + get(server, ", session: \(made)")
                + after(server, ", session: \(made)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ids(run.report) == Self.ids && run.value("$.totals.succeeded") == "5")
        #expect(try ["a", "b", "c"].map { try scene.stage.text("out/\($0)") } == ["file a", "file b", "file c"])
        let ended = run.events.filter { $0["event"]?.plainText == "taskFinished" }
        #expect(ended.compactMap { $0["task"]?.plainText }.sorted() == Self.ids.sorted())
    }

    /// Templates on both sides: what they make is told under the right names.
    @Test func bothSidesMayMakeTasks() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b", "c"]"#, files: ["a", "b"])
        server.on("/f/c", .respond(404))
        server.on("/g/a", .respond(200, body: "g"))
        server.on("/g/b", .respond(404))
        server.on("/g/c", .respond(200, body: "g"))
        let scene = try BackgroundScene()
        let other = """
              - { id: "own-${n}", session: day, forEach: { n: { captured: tasks.list.names } }, \
            url: "\(server.url("/g"))/${n}", to: "own/${n}" }

            """
        let run = try scene.stage.run(
            Self.both + "tasks:\n" + list(server, ", session: night") + get(server, ", session: night") + other)
        #expect(run.status == 1, "\(run.errorText)")
        let outcomes = try ids(run.report).map { "\($0) \(try run.task($0, "outcome") ?? "")" }
        #expect(
            Set(outcomes) == [
                "list succeeded", "get-a succeeded", "get-b succeeded", "get-c failed", "own-a succeeded",
                "own-b failed", "own-c succeeded",
            ])
        #expect(try run.task("own-b", "session") == "day" && run.task("get-c", "session") == "night")
    }

    @Test func whatNeedsTasksThatTheOtherSideMakes_isRefused() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let run = try BackgroundScene().stage.run(
            Self.both + "tasks:\n" + list(server, ", session: night") + get(server, ", session: night")
                + after(server, ", session: day"))
        #expect(run.status == 2 && run.errorText.contains("captured-across-sessions"), "\(run.errorText)")
        #expect(run.errorText.contains("`after` needs `get-${n}`, tasks that another process makes"))
        #expect(server.requests().isEmpty)
    }

    /// A newer file brings a template of its own while what the older one made is under way.
    @Test func aChangedFile_bringsTemplatesAndTasks() throws {
        let background = try BackgroundStage()
        let server = background.server
        serve(server, #"["a", "b"]"#, files: ["a"])
        server.on("/f/b", [.gate("b")] + .respond(200, body: "file b"))
        for name in ["a", "b"] { server.on("/more/\(name)", .respond(200, body: "more \(name)")) }
        let first = BackgroundScene.head() + "tasks:\n" + list(server) + get(server)
        #expect(try background.detach(first).exitStatus == 0)
        #expect(server.waitForRequests(1, "/f/b"))
        let second = """
              - { id: list2, url: "\(server.url("/list"))", capture: { names: { json: "$[*]", all: true } } }
              - { id: "more-${n}", forEach: { n: { captured: tasks.list2.names } }, url: "\(server.url("/more"))/${n}", \
            to: "more/${n}" }

            """
        #expect(try background.detach(first + second).exitStatus == 0)
        server.open(gate: "b")
        background.waitUntil("all is there") {
            ["out/a", "out/b", "more/a", "more/b"].allSatisfy { background.stage.folder.exists($0) }
        }
        background.waitForReport()
        #expect(try ids(background.report()) == ["list", "get-a", "get-b", "list2", "more-a", "more-b"])
        let text = try background.report()
        #expect(try JSONPath("$.totals.succeeded").select(from: text).first?.plainText == "6")
    }

    /// What a newer file brings waits for all that an older one's list becomes, whether that is known yet or not.
    @Test(arguments: [false, true]) func aChangedFilesTask_waitsForWhatTheListBecame(_ isExpanded: Bool) throws {
        let background = try BackgroundStage()
        let server = background.server
        let list = [.gate("list")] + Script.respond(200, headers: Self.json, body: #"["a", "b"]"#)
        server.on("/list", list)
        server.on("/f/a", .respond(200, body: "file a"))
        server.on("/f/b", [.gate("b")] + .respond(200, body: "file b"))
        server.on("/late", .respond(200, body: "late"))
        if isExpanded { server.open(gate: "list") }
        let first = BackgroundScene.head() + "tasks:\n" + self.list(server) + get(server)
        #expect(try background.detach(first).exitStatus == 0)
        #expect(server.waitForRequests(1, isExpanded ? "/f/b" : "/list"))
        let late = "  - { id: late, url: \"\(server.url("/late"))\", to: late, needs: [\"get-*\"] }\n"
        #expect(try background.detach(first + late).exitStatus == 0)
        server.open(gate: "list")
        let waiting = "$.sessions[0].tasks[?@.id == 'late'].state"
        let made = "$.sessions[0].tasks[?@.id == 'get-a'].state"
        try background.waitUntil("the first is there") { try background.status(made) == ["finished"] }
        #expect(try background.status(waiting) == ["waiting"])
        server.open(gate: "b")
        background.waitForReport()
        #expect(try ids(background.report()).sorted() == ["get-a", "get-b", "late", "list"])
        #expect(try background.stage.text("late") == "late")
        #expect(server.requests().last?.target == "/late")
    }

    @Test func listsAreInNoFileOfTheState() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, headers: Self.json, body: #"["s3cret-word"]"#))
        server.on("/f/s3cret-word", [.gate("f")] + .respond(200, body: "x"))
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            BackgroundScene.head() + """
                tasks:
                  - { id: list, url: "\(server.url("/list"))", capture: { names: { json: "$[*]", all: true, secret: true } } }
                  - { id: "get-${n.index}", forEach: { n: { captured: tasks.list.names } }, \
                url: "\(server.url("/f"))/${n}", to: "out/${n.index}" }

                """)
        #expect(server.waitForRequests(1, "/f/s3cret-word") && scene.waitForEvents(of: "get-1", attempts: 1))
        for file in scene.binary.home.list("state/transfer-run") {
            let bytes = (try? scene.binary.home.bytes("state/transfer-run/\(file)")) ?? []
            #expect(!String(decoding: bytes, as: UTF8.self).contains("s3cret-word"), "in \(file)")
        }
        server.open(gate: "f")
        #expect(program.wait().exitStatus == 0)
    }
}
