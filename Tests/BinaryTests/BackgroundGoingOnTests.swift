import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Processes that die under a background run: what was there stays there, nothing is done twice.
@Suite struct BackgroundGoingOnTests {
    private static let body = Script.patternBytes(3_000_000)
    private static let resource = ServedResource(body)

    /// The first answer stops half way until the gate opens; whoever asks for the rest gets it.
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/f") { request in
            request.number == 1
                ? Self.resource.broken(after: 2_000_000, then: .stall) : Self.resource.answer(request)
        }
        server.on("/g", .respond(200, body: "small"))
        return server
    }

    private func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head() + """
            tasks:
              - { id: large, url: "\(server.url("/f"))", to: large }
              - { id: small, url: "\(server.url("/g"))", to: small }
            """
    }

    @Test func aKilledProcessIsFollowedByAnother() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job(server))
        #expect(server.waitForRequests(1, "/g"))
        #expect(scene.waitForPart())
        #expect(scene.end(SIGKILL))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0)
        #expect(try scene.folder.bytes("large") == Self.body)
        #expect(scene.stage.files == ["large", "small"])
        #expect(server.requests("/g").count == 1 && server.requests("/f").count == 2)
        let offset = try #require(server.requests("/f").last?.header("Range"))
        #expect(offset.hasPrefix("bytes=") && offset != "bytes=0-")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["cancelled", "succeeded"])
        #expect(try run.value("$.tasks[0].attempts[0].error.name") == "backgroundSessionWasDisconnected")
        #expect(try run.value("$.tasks[0].source") == "resumed")
        #expect(run.events.count { $0["event"]?.plainText == "sessionFinishedEvents" } == 1)
    }

    /// What is sent is the file that was there when the task began, whichever process sends it.
    @Test(arguments: [SIGKILL, SIGTERM]) func aFileThatIsExchangedMeanwhileIsNotSent(_ signal: Int32) throws {
        let server = try ScriptedServer { request in request.number == 1 ? [.stall] : .respond(201) }
        defer { server.stop() }
        let scene = try BackgroundScene()
        for name in ["kept", "other"] { try scene.folder.write(name, "old bytes") }
        let program = try scene.stage.start(
            BackgroundScene.head() + """
                tasks:
                  - { id: kept, type: upload, method: PUT, url: "\(server.url("/kept"))", body: { file: kept } }
                  - { id: other, type: upload, method: PUT, url: "\(server.url("/other"))", body: { file: other } }
                """)
        #expect(server.waitForRequests(1, "/kept") && server.waitForRequests(1, "/other"))
        #expect(scene.waitForEvents(of: "kept", attempts: 1) && scene.waitForEvents(of: "other", attempts: 1))
        // Before the end: whoever follows the process begins at once.
        scene.folder.remove("other")
        try scene.folder.write("other", "new bytes")
        #expect(scene.end(signal))
        let run = try scene.stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("kept", "outcome") == "succeeded")
        #expect(try run.task("other", "error.name") == "bodyFileChanged")
        #expect(server.requests("/kept").count == 2 && server.requests("/other").count == 1)
    }

    /// One that is asked to end leaves its runs in order: nobody loses a byte.
    @Test func aProcessThatIsAskedToEndLeavesItsRuns() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job(server))
        #expect(server.waitForRequests(1, "/f"))
        #expect(scene.waitForPart())
        #expect(scene.end(SIGTERM))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0)
        #expect(try scene.folder.bytes("large") == Self.body)
        #expect(server.requests("/f").last?.header("Range") == "bytes=2000000-")
    }

    /// The command is killed: the transfers go on, and whoever runs the job again gets all of the story.
    @Test func aKilledCommandIsComeBackTo() throws {
        let server = try ScriptedServer { _ in [.gate("open")] + .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let job = BackgroundScene.head() + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]"
        let program = try scene.stage.start(job)
        #expect(server.waitForRequests(1))
        program.send(signal: SIGKILL)
        _ = program.wait()
        server.open(gate: "open")
        let run = try scene.stage.run(job)
        #expect(run.status == 0 && server.requests().count == 1)
        #expect(run.errorText.contains("came back to the session `org.example.test`"))
        #expect(run.story(of: "t").first == "taskCreated")
        #expect(try run.value("$.sessions[0].reassociated") == "true")
        // Its end is known now: the next run is another.
        let next = try scene.stage.run(job)
        #expect(next.status == 0 && server.requests().count == 2)
        #expect(try next.value("$.sessions[0].reassociated") == "false")
    }

    /// A new background session of a job under way is a handle to it like the others.
    @Test func aNewSessionIsAHandleToo() throws {
        let server = try ScriptedServer { _ in [.gate("open")] + .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        func job(_ more: String) -> String {
            """
            sessions:
              first: { configuration: background, identifier: org.example.first }
              second: { configuration: background, identifier: org.example.second }
            tasks:
              - { id: a, session: first, url: "\(server.url("/a"))", to: a }
            \(more)
            """
        }
        let program = try scene.stage.start(job(""))
        #expect(server.waitForRequests(1, "/a"))
        program.send(signal: SIGKILL)
        _ = program.wait()
        let second = try scene.stage.start(
            job("  - { id: b, session: second, url: \"\(server.url("/b"))\", to: b }"))
        #expect(server.waitForRequests(1, "/b"))
        let status = try scene.binary.run("status", "org.example.second", "--json")
        #expect(status.exitStatus == 0)
        #expect(status.outputText.contains("org.example.second"))
        #expect(try scene.binary.run("suspend", "org.example.second").exitStatus == 0)
        #expect(try scene.binary.run("resume", "org.example.second").exitStatus == 0)
        server.open(gate: "open")
        #expect(try scene.stage.finish(second).status == 0)
        #expect(scene.stage.files == ["a", "b"])
        #expect(try scene.binary.run("status", "org.example.second").outputText.contains("with exit status 0"))
    }

    /// Tasks that are new in the file are added to those under way.
    @Test func aChangedJobAddsItsNewTasks() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/slow") { _ in [.gate("open")] + .respond(200, body: "slow") }
        server.on("/new", .respond(200, body: "new"))
        let scene = try BackgroundScene()
        let old = BackgroundScene.head() + "tasks: [{ id: slow, url: \"\(server.url("/slow"))\", to: slow }]"
        let program = try scene.stage.start(old)
        #expect(server.waitForRequests(1, "/slow"))
        program.send(signal: SIGKILL)
        _ = program.wait()
        let new =
            BackgroundScene.head() + """
                tasks:
                  - { id: slow, url: "\(server.url("/slow"))", to: slow }
                  - { id: new, url: "\(server.url("/new"))", to: new, needs: [slow] }
                """
        let second = try scene.stage.start(new)
        #expect(second.waitForOutput("came back"))
        #expect(server.waitForRequests(2, "/slow"))
        server.open(gate: "open")
        let run = try scene.stage.finish(second)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].id") == ["slow", "new"])
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded"])
        #expect(scene.stage.files == ["new", "slow"])
    }

    /// A request that cannot be sent twice is not cut off for them; a download goes on where it was, and says why.
    @Test func whatIsAddedCostsNoRequest() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(2 << 20)
        server.on("/post") { _ in [.gate("post")] + .respond(200, body: "made") }
        server.on("/late") { _ in .respond(200, body: "late") }
        server.on("/slow") { request in
            let tag = ("ETag", "\"one\"")
            guard let range = request.header("range"), let first = Int(range.dropFirst("bytes=".count).dropLast())
            else {
                let head = Script.head(200, [tag, ("Content-Length", "\(body.count)"), ("Accept-Ranges", "bytes")])
                return Script([.bytes(head), .bytes(Array(body.prefix(3 << 19))), .stall])
            }
            return .respond(
                206, headers: [tag, ("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")],
                body: Array(body.dropFirst(first)))
        }
        server.on("/new", .respond(200, body: "new"))
        let scene = try BackgroundScene()
        try scene.folder.write("x", "x")
        func job(_ more: String) -> String {
            BackgroundScene.head() + """
                tasks:
                  - { id: post, type: upload, method: POST, url: "\(server.url("/post"))", body: { file: x } }
                  - { id: late, type: upload, method: POST, url: "\(server.url("/late"))", body: { file: x }, needs: [post] }
                  - { id: slow, url: "\(server.url("/slow"))", to: slow }
                \(more)
                """
        }
        let program = try scene.stage.start(job(""))
        #expect(server.waitForRequests(1, "/post") && server.waitForRequests(1, "/slow"))
        program.send(signal: SIGKILL)
        _ = program.wait()
        let second = try scene.stage.start(job("  - { id: new, url: \"\(server.url("/new"))\", to: new }"))
        #expect(second.waitForOutput("came back"))
        // Nothing is cut off while the answer is awaited.
        #expect(!server.waitForRequests(1, "/new", timeout: .seconds(1)) && server.requests("/slow").count == 1)
        server.open(gate: "post")
        let run = try scene.stage.finish(second)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "succeeded", "succeeded"])
        #expect(server.requests("/post").count == 1 && server.requests("/late").count == 1)
        #expect(server.requests("/new").count == 1)
        #expect(try scene.stage.folder.bytes("slow") == body)
        #expect(try run.value("$.tasks[2].attempts[0].outcome") == "cancelled")
        #expect(try run.value("$.tasks[2].attempts[0].error.message")?.contains("what had been added") == true)
    }

    /// An upload that would begin anew comes to its end first where more of it was sent than is left; else it begins anew.
    @Test(arguments: [true, false]) func anUploadThatIsNearlySentComesToItsEnd(isNearly: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/up") { request in
            if request.number > 1 { return .respond(201) }
            return (isNearly ? [.readBody] : []) + [.gate("up")] + .respond(201)
        }
        server.on("/new", .respond(200, body: "new"))
        let scene = try BackgroundScene()
        // So much that the system does not take half of it for a server that does not read: here it takes up to 36 MiB.
        let file = try scene.folder.write("x", "")
        try #require(truncate(file, isNearly ? 16 << 20 : 256 << 20) == 0)
        func job(_ more: String) -> String {
            BackgroundScene.head() + """
                tasks:
                  - { id: up, type: upload, method: PUT, url: "\(server.url("/up"))", body: { file: x } }
                \(more)
                """
        }
        let program = try scene.stage.start(job(""))
        #expect(server.waitForRequests(1, "/up"))
        if isNearly {
            while server.requests("/up").first?.isComplete != true, program.isRunning { usleep(5000) }
        }
        program.send(signal: SIGKILL)
        _ = program.wait()
        let second = try scene.stage.start(job("  - { id: new, url: \"\(server.url("/new"))\", to: new }"))
        #expect(second.waitForOutput("came back"))
        if isNearly { #expect(!server.waitForRequests(1, "/new", timeout: .seconds(1))) }
        if !isNearly { #expect(server.waitForRequests(1, "/new")) }
        server.open(gate: "up")
        let run = try scene.stage.finish(second)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded"])
        #expect(server.requests("/up").count == (isNearly ? 1 : 2))
    }

    /// Also to a run that had ended, of whose end nobody knew.
    @Test func anEndThatNobodySawIsNoneWhenThereAreNewTasks() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/old") { _ in [.gate("open")] + .respond(200, body: "old") }
        server.on("/new", .respond(200, body: "new"))
        let scene = try BackgroundScene()
        func job(_ names: String...) -> String {
            BackgroundScene.head() + "tasks:\n"
                + names.map { "  - { id: \($0), url: \"\(server.url("/\($0)"))\", to: \($0) }\n" }.joined()
        }
        let program = try scene.stage.start(job("old"))
        #expect(server.waitForRequests(1))
        program.send(signal: SIGKILL)
        _ = program.wait()
        server.open(gate: "open")
        #expect(scene.waitForEnd())
        let run = try scene.stage.run(job("old", "new"))
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded"])
        #expect(server.requests("/old").count == 1 && server.requests("/new").count == 1)
        #expect(run.events.count { $0["event"]?.plainText == "sessionFinishedEvents" } == 1)
        #expect(run.events.count { $0["event"]?.plainText == "runFinished" } == 1)
    }

    /// A task that brings the process down three times is left alone; the others go on.
    @Test func whatCrashesTheProcessIsSetAside() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/poison") { _ in [.stall] }
        server.on("/late") { _ in [.gate("open")] + .respond(200, body: "late") }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            BackgroundScene.head() + """
                tasks:
                  - { id: poison, url: "\(server.url("/poison"))", to: poison }
                  - { id: late, url: "\(server.url("/late"))", to: late }
                """)
        for round in 1...3 {
            #expect(server.waitForRequests(round, "/poison"))
            // Nobody can know of what had no time to be written down.
            #expect(scene.waitForEvents(of: "poison", attempts: round))
            #expect(scene.end(SIGSEGV))
        }
        server.open(gate: "open")
        let run = try scene.stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("poison", "error.name") == "taskCrashedRunner")
        #expect(try run.values("$.tasks[0].attempts[*].outcome").count == 3)
        #expect(try run.task("late", "outcome") == "succeeded")
        #expect(scene.stage.files == ["late"])
        #expect(scene.log.contains("the process before this one crashed"))
    }

    /// A run that is held back until the suspect of another has ended was under way at the crash all the same.
    @Test func whoIsHeldBackRemembersTheCrash() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/poison", "/other"] {
            server.on(path) { request in path == "/other" && request.number > 1 ? .respond(200, body: "x") : [.stall] }
        }
        let scene = try BackgroundScene()
        let first = try scene.stage.start(
            BackgroundScene.head() + "tasks: [{ id: poison, url: \"\(server.url("/poison"))\", to: poison }]")
        #expect(server.waitForRequests(1, "/poison") && scene.waitForEvents(of: "poison", attempts: 1))
        #expect(scene.end(SIGSEGV))
        #expect(server.waitForRequests(2, "/poison") && scene.waitForEvents(of: "poison", attempts: 2))
        try scene.folder.write(
            "other.yaml",
            BackgroundScene.head("org.example.other")
                + "tasks: [{ id: t, url: \"\(server.url("/other"))\", to: other }]")
        let second = try scene.binary.start(["other.yaml", "--report", "other.json"])
        #expect(server.waitForRequests(1, "/other") && scene.waitForEvents(of: "t", attempts: 1))
        #expect(scene.end(SIGSEGV))
        #expect(server.waitForRequests(3, "/poison") && scene.waitForEvents(of: "poison", attempts: 3, run: 0))
        #expect(server.requests("/other").count == 1)
        #expect(scene.end(SIGSEGV))
        #expect(try scene.stage.finish(first).status == 1)
        #expect(second.wait().exitStatus == 0)
        let report = try JSONParser.parse(scene.folder.bytes("other.json"))
        let errors = try JSONPath("$.tasks[0].attempts[*].error.message").select(from: report)
        #expect(errors.first?.plainText?.contains("crashed") == true, "\(errors)")
    }

    /// What the server may have heard already is not said twice, unless the job says that it may be.
    @Test(arguments: [false, true]) func aRequestThatMayHaveBeenHeardIsNotSentAgain(_ mayRepeat: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/order") { request in request.number == 1 ? [.stall] : .respond(200, body: "taken") }
        let scene = try BackgroundScene()
        try scene.folder.write("order.json", "{}")
        let program = try scene.stage.start(
            BackgroundScene.head() + """
                tasks:
                  - { id: order, type: upload, url: "\(server.url("/order"))", method: POST, body: { file: order.json },
                      retry: { nonIdempotent: \(mayRepeat) } }
                """)
        // As soon as the server has it: then the journal knew of it before.
        #expect(server.waitForRequests(1, "/order"))
        if mayRepeat { #expect(scene.waitForEvents(of: "order", attempts: 1)) }
        #expect(scene.end(SIGKILL))
        let run = try scene.stage.finish(program)
        #expect(run.status == (mayRepeat ? 0 : 1))
        #expect(server.requests("/order").count == (mayRepeat ? 2 : 1))
        if mayRepeat { return }
        #expect(try run.task("order", "error.name") == "backgroundSessionWasDisconnected")
        let advice = "See at the server whether it came; if it did not, run the task again."
        #expect(run.errorText.contains(advice), "\(run.errorText)")
        #expect(!run.errorText.contains("come back to the session"))
    }

    /// What the network does uses up no tries; what the server answers does.
    @Test func networkErrorsAreRetriedWhateverThePolicySays() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/cut") { request in request.number <= 4 ? [.reset] : .respond(200, body: "at last") }
        server.on("/busy", .respond(503))
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            """
            sessions: { night: { configuration: background, identifier: org.example.patient } }
            defaults: { session: night, retry: { attempts: 2, backoff: { initial: 10ms, jitter: none } } }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))", to: cut }
              - { id: busy, url: "\(server.url("/busy"))", to: busy, needs: [cut] }
            """)
        #expect(run.status == 1)
        #expect(try run.task("cut", "outcome") == "succeeded")
        #expect(server.requests("/cut").count == 5 && server.requests("/busy").count == 2)
    }

    /// Where the command was and its mask for new files count, not the process's own.
    @Test func filesHaveTheCommandsMask() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let job = BackgroundScene.head() + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: new/x }]"
        let run = try scene.stage.run(job, under: ["/bin/sh", "-c", "umask 077; exec \"$0\" \"$@\""])
        #expect(run.status == 0)
        #expect(scene.folder.mode("new/x").map { $0 & 0o777 } == 0o600)
        let other = try scene.stage.run(
            job, "--new-run", under: ["/bin/sh", "-c", "rm -rf new; umask 002; exec \"$0\" \"$@\""])
        #expect(other.status == 0)
        #expect(scene.folder.mode("new/x").map { $0 & 0o777 } == 0o644)
    }
}
