import Glibc
import TestSupport
import Testing
import TextFormats

/// Several who follow one run, or write its events: each file that they leave is whole.
@Suite struct BackgroundFollowTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer { request in [.gate("open")] + .respond(200, body: "body of \(request.path)") }
    }

    private func job(_ server: ScriptedServer) -> String {
        BackgroundScene.head("org.example.test", ", discretionary: false") + """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b, needs: [a] }
            """
    }

    /// What was handed over and left writes its events itself, and so does whoever comes back to it.
    @Test(arguments: [false, true]) func comingBackToWhatWasLeftLeavesWholeLines(_ isKilled: Bool) throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let left = try scene.stage.start(job(server), ["--detach"])
        #expect(left.wait().exitStatus == 0)
        #expect(server.waitForRequests(1, "/a"))
        if isKilled { #expect(scene.end(SIGKILL)) }
        let program = try scene.stage.start(job(server))
        #expect(program.waitForOutput("came back"))
        #expect(server.waitForRequests(isKilled ? 2 : 1, "/a"))
        server.open(gate: "open")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText) \(scene.log)")
        #expect(run.story(of: "b").last == "taskFinished")
        #expect(scene.stage.files == ["a", "b"])
    }

    /// Who only watches reports nothing: when the one who followed is gone, the process does.
    @Test func whoWatchesReportsNothing() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job(server))
        #expect(server.waitForRequests(1, "/a"))
        let watching = try scene.binary.start(["status", "--watch"])
        #expect(watching.waitForOutput("org.example.test"))
        program.send(signal: SIGKILL)
        _ = program.wait()
        server.open(gate: "open")
        waitUntil { scene.folder.exists(".report.json") }
        #expect(try scene.stage.text(".report.json").contains(#""outcome":"succeeded""#))
        watching.send(signal: SIGTERM)
        _ = watching.wait()
    }

    /// One follows from the beginning, others come.
    @Test func manyWhoFollowLeaveOneStory() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job(server))
        #expect(server.waitForRequests(1, "/a"))
        let others = try (1...3).map { try scene.binary.start(["attach", "org.example.test", "--events", "e\($0)"]) }
        for number in 1...3 { waitUntil { (try? scene.folder.bytes("e\(number)").isEmpty) == false } }
        server.open(gate: "open")
        for other in others { #expect(other.wait().exitStatus == 0) }
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(run.story(of: "a").count { $0 == "taskFinished" } == 1)
    }

    /// The report of a run that was left cannot be written, and the run stays until somebody has it written elsewhere.
    @Test func whoAttachesGetsTheReportThatCouldNotBeWritten() throws {
        let background = try BackgroundStage()
        background.server.on("/a", [.gate("open")] + .respond(200, body: "a"))
        #expect(try background.detach(background.job(background.task("a"))).exitStatus == 0)
        #expect(background.server.waitForRequests(1, "/a"))
        let folder = background.stage.folder
        try folder.makeFolder("job.report.json")
        background.server.open(gate: "open")
        try background.waitUntil("status tells of it") {
            try background.status("$.sessions[*].trouble").first??.contains("cannot write ") == true
        }
        let inVain = try background.run("attach", BackgroundStage.identifier)
        #expect(inVain.exitStatus == 4 && inVain.errorText.contains("job.report.json"), "\(inVain.errorText)")
        #expect(try background.status("$.sessions[*].identifier") == [BackgroundStage.identifier])
        let attached = try background.run("attach", BackgroundStage.identifier, "--report", "elsewhere.json")
        #expect(attached.exitStatus == 0, "\(attached.errorText)")
        #expect(try JSONPath("$.tasks[*].outcome").select(from: background.report("elsewhere.json")).count == 1)
        #expect(try background.status("$.sessions[*].identifier") == [])
        #expect(background.server.requests("/a").count == 1)
    }

    /// A job that was handed over is in the journal, whatever becomes of the command: elsewhere it would run twice.
    @Test(arguments: [[], ["--detach"]]) func whoCannotReachTheProcessIsToldThatTheJobIsHandedOver(
        _ words: [String]
    ) throws {
        let background = try BackgroundStage()
        background.server.on("/a", .respond(200, body: "a"))
        let home = background.stage.binary.home
        let state = try home.makeFolder("state/transfer-run", mode: 0o700)
        try home.write("state/transfer-run/runtime", "no folder")
        try background.stage.folder.write(Stage.jobFile, background.job(background.task("a")))
        let run = try background.stage.binary.run(arguments: [Stage.jobFile, "--state-dir", state] + words)
        #expect(run.exitStatus == 4)
        let cancel = "`transfer-run cancel \(BackgroundStage.identifier) --state-dir \(state)` ends it\n"
        #expect(
            run.errorText.hasSuffix(
                "  hint: the job was handed over, and goes on with any later command; \(cancel)"), "\(run.errorText)")
        home.remove("state/transfer-run/runtime")
        #expect(try background.run("attach", BackgroundStage.identifier, "--state-dir", state).exitStatus == 0)
        #expect(background.server.requests("/a").count == 1)
    }
}
