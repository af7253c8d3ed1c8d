import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `onFinish` of background sessions, and tasks that wait to be told who they are.
@Suite struct BackgroundHookTests {
    private func job(_ server: ScriptedServer, _ script: String) -> String {
        BackgroundScene.head("org.example.hook", ", onFinish: [sh, -c, \"\(script)\"]")
            + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]"
    }

    @Test func theEndIsToldOnce() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(job(server, "env | grep ^TRANSFER_RUN_HOOK_ | sort >> told; pwd >> told"))
        #expect(run.status == 0)
        let told = try scene.stage.text("told").split(separator: "\n").map { String($0) }
        #expect(told.count == 5 && told.last == scene.folder.path)
        #expect(told.contains("TRANSFER_RUN_HOOK_OUTCOME=succeeded"))
        #expect(told.contains("TRANSFER_RUN_HOOK_IDENTIFIER=org.example.hook"))
        #expect(told.contains { $0.hasPrefix("TRANSFER_RUN_HOOK_DELIVERY_ID=") })
        #expect(told.contains("TRANSFER_RUN_HOOK_REPORT=\(scene.folder.path)/.report.json"))
        #expect(try run.values("$.hooks[*].exitStatus") == ["0"])
    }

    @Test func itsFailureIsTheRuns() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(job(server, "exit 3"))
        #expect(run.status == 1)
        #expect(try run.values("$.hooks[*].exitStatus") == ["3"])
        #expect(try run.task("t", "outcome") == "succeeded")
    }

    /// No event tells what comes after the last task's end: whoever follows the run is told on its own line.
    @Test(arguments: [
        ("[sh, -c, 'echo began >&2; echo no such place >&2; exit 3']", "ended with status 3: no such place"),
        ("[sh, -c, 'kill -9 $$$$']", "was ended by signal 9"), ("[/no/such/program]", "cannot be started: "),
    ])
    func itsFailureIsSaid(_ command: String, _ why: String) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            BackgroundScene.head("org.example.hook", ", onFinish: \(command)")
                + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]")
        #expect(run.status == 1)
        let line = run.errorText.split(separator: "\n").first { $0.hasPrefix("error: ") } ?? ""
        #expect(line.contains("`onFinish` of the session `") && line.contains("` \(why)"), "\(run.errorText)")
    }

    /// What was left is reported by the process, and once more by who attached meanwhile: both know of the command.
    @Test func whoAttachedReportsItToo() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        server.on("/x", [.gate("go")] + .respond(200, body: "x"))
        let scene = try BackgroundScene()
        #expect(try scene.stage.start(job(server, "exit 3"), ["--detach"]).wait().exitStatus == 0)
        let program = try scene.binary.start(
            ["attach", "org.example.hook", "--report", "seen.json", "--events", "seen.ndjson"])
        waitUntil { (try? scene.stage.text("seen.ndjson").isEmpty) == false }
        server.open(gate: "go")
        #expect(program.wait().exitStatus == 1)
        let hook = #""hooks":[{"command":["sh","-c","exit 3"],"exitStatus":3,"#
        #expect(try scene.stage.text("seen.json").contains(hook))
    }

    /// What was added while the command ran is a run that goes on, and its end is told as well.
    @Test func anEndAfterAllIsToldToo() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let script = "echo $TRANSFER_RUN_HOOK_DELIVERY_ID >> told; while ! test -e go; do sleep 0.01; done"
        #expect(try scene.stage.start(job(server, script), ["--detach"]).wait().exitStatus == 0)
        waitUntil { scene.folder.exists("told") }
        let more = "tasks: [{ id: u, url: \"\(server.url("/y"))\", to: y }, "
        let changed = job(server, script).replacing("tasks: [", with: more)
        #expect(try scene.stage.start(changed, ["--detach"]).wait().exitStatus == 0)
        try scene.folder.write("go", "")
        waitUntil { scene.folder.exists("y") }
        #expect(scene.waitForEnd())
        let told = try scene.stage.text("told").split(separator: "\n")
        #expect(told.count == 2 && told.first != told.last, "\(scene.log)")
    }

    /// What is handed over then is a run of its own: it would otherwise be reported as under way, and never begin.
    @Test(arguments: [["--detach"], ["--detach", "--new-run"]])
    func aRunWhoseCommandGoesOn_isWaitedFor(_ options: [String]) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let hook = ", onFinish: [sh, -c, 'touch told; while ! test -e go; do sleep 0.01; done']"
        let job =
            BackgroundScene.head("org.example.hook", hook)
            + "tasks: [{ id: t, type: upload, method: PUT, url: \"\(server.url("/x"))\", body: { file: night } }]"
        try scene.folder.write("night", "first")
        #expect(try scene.stage.start(job, ["--detach"]).wait().exitStatus == 0)
        waitUntil { scene.folder.exists("told") }
        try scene.folder.write("night", "second")
        let next = try scene.stage.start(job, options)
        #expect(next.waitForOutput("waiting for its `onFinish`"))
        try scene.folder.write("go", "")
        let ended = next.wait()
        #expect(ended.exitStatus == 0, "\(ended.errorText)")
        #expect(server.waitForRequests(2, "/x") && scene.waitForEnd())
        #expect(server.requests("/x").map { String(decoding: $0.body, as: UTF8.self) } == ["first", "second"])
    }

    /// The run is over and only its command goes on: whoever asks after it, or after others, is answered at once.
    @Test func whoAsksWhileItRunsIsAnswered() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        server.on("/x", [.gate("go")] + .respond(200, body: "x"))
        defer { server.stop() }
        let scene = try BackgroundScene()
        #expect(try scene.stage.start(job(server, "touch told; sleep 60"), ["--detach"]).wait().exitStatus == 0)
        let other =
            BackgroundScene.head("org.example.other") + "tasks: [{ id: u, url: \"\(server.url("/y"))\", to: y }]"
        server.on("/y", [.gate("never")] + .respond(200, body: "y"))
        try scene.folder.write("other.yaml", other)
        #expect(try scene.binary.run("other.yaml", "--detach").exitStatus == 0)
        #expect(server.waitForRequests(1, "/y"))
        server.open(gate: "go")
        waitUntil { scene.folder.exists("told") }
        let status = try scene.binary.run("status", "--json")
        #expect(status.exitStatus == 0 && status.errorText.isEmpty, "\(status.errorText)")
        let words = try scene.binary.run("status", "org.example.hook").outputText
        #expect(
            words.contains("    its tasks have ended; its `onFinish` and its report are under way since 20"), "\(words)"
        )
        let follower = try scene.binary.start(["attach", "org.example.hook", "--no-report"])
        #expect(follower.waitForOutput("the end of `onFinish` is waited for"))
        follower.send(signal: SIGINT)
        _ = follower.wait()
        let sessions = try JSONParser.parse(status.output)
        #expect(
            try JSONPath("$.sessions[*].tasks[*].state").select(from: sessions).map { $0.plainText }
                == ["finished", "running"])
        let cancelled = try scene.binary.run("cancel", "org.example.hook")
        #expect(cancelled.exitStatus == 2 && cancelled.errorText.contains("has ended"), "\(cancelled.errorText)")
        #expect(try scene.binary.run("cancel", "org.example.other").exitStatus == 0)
    }

    /// Who cancels a session is not told that it failed; one task that failed by itself is a failure all the same.
    @Test(arguments: [(200, "cancelled"), (404, "failed")])
    func aCancelledSession_isToldAsCancelled(_ status: Int, _ outcome: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/x", [.gate("never")] + .respond(200, body: "x"))
        server.on("/y", .respond(status, body: "y"))
        let scene = try BackgroundScene()
        let head = BackgroundScene.head(
            "org.example.hook",
            ", onFinish: [sh, -c, 'echo $TRANSFER_RUN_HOOK_OUTCOME $0 > part && mv part told', "
                + "\"${run.outcome}\"]")
        let tasks = ["x", "y"].map { "{ id: \($0), url: \"\(server.url("/\($0)"))\", to: \($0) }" }
        let text = "\(head)tasks: [\(tasks.joined(separator: ", "))]"
        #expect(try scene.stage.start(text, ["--detach"]).wait().exitStatus == 0)
        #expect(server.waitForRequests(1, "/x") && scene.waitForEnd(of: "y"))
        #expect(try scene.binary.run("cancel", "org.example.hook").exitStatus == 0)
        waitUntil { scene.folder.exists("told") }
        #expect(try scene.stage.text("told") == "\(outcome) \(outcome)\n")
    }

    /// Killed before anybody could note that it had run, it is started again, and can know that it is the same end.
    @Test func itRunsAgainOnlyIfItWasCutShort() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            job(server, "echo $TRANSFER_RUN_HOOK_DELIVERY_ID >> told; test -e go || sleep 60"))
        waitUntil { scene.folder.exists("told") }
        #expect(scene.end(SIGKILL))
        try scene.folder.write("go", "")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0)
        let told = try scene.stage.text("told").split(separator: "\n")
        #expect(told.count == 2 && told.first == told.last && told.first?.isEmpty == false)
    }

    // MARK: Credentials

    private func guarded() throws -> ScriptedServer {
        try ScriptedServer { request in
            guard request.header("Authorization") == "Basic YWRhOmxvdmVsYWNl" else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
            return .respond(200, body: "for ada")
        }
    }

    @Test func aTaskWaitsToBeToldWhoItIs() throws {
        let server = try guarded()
        defer { server.stop() }
        let scene = try BackgroundScene()
        func job(_ more: String) -> String {
            BackgroundScene.head("org.example.auth", more) + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]"
        }
        let program = try scene.stage.start(job(""))
        #expect(program.waitForOutput("t: waits for a credential"))
        program.send(signal: SIGINT)
        #expect(program.wait().exitStatus == 130)
        // The same job that says nothing new changes nothing.
        let run = try scene.stage.run(
            job(", credentials: [{ host: \"127.0.0.1\", user: ada, password: lovelace }]"))
        #expect(run.status == 0)
        #expect(try scene.stage.text("x") == "for ada")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
        #expect(try run.task("t", "waits[?@.reason=='credential'].duration") != nil)
        #expect(server.requests().count <= 4)
    }

    @Test func aCredentialThatWasRefused_isToldAsRefused() throws {
        let server = try guarded()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let wrong = ", credentials: [{ host: \"127.0.0.1\", user: ada, password: byron }]"
        let program = try scene.stage.start(
            BackgroundScene.head("org.example.auth", wrong) + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]")
        #expect(program.waitForOutput("t: waits for another credential: the one for 127.0.0.1 was refused: say it"))
        let words = "t waits for another credential: the one for 127.0.0.1 was refused"
        #expect(try scene.binary.run("status").outputText.contains(words))
        #expect(try scene.binary.run("cancel", "org.example.auth").exitStatus == 0)
        _ = program.wait()
    }

    /// What a file says is read anew when the task is resumed.
    @Test func aResumedTaskAsksAgain() throws {
        let server = try guarded()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            BackgroundScene.head("org.example.auth", ", credentials: [{ netrc: true }]")
                + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]")
        #expect(program.waitForOutput("t: waits for a credential"))
        try scene.binary.home.write(".netrc", "machine 127.0.0.1 login ada password lovelace\n", mode: 0o600)
        let resumed = try scene.binary.run("resume", "org.example.auth")
        #expect(resumed.exitStatus == 0 && resumed.outputText == "resumed 1 task: t\n")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0)
        #expect(try scene.stage.text("x") == "for ada")
    }
}
