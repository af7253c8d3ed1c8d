import TestSupport
import Testing
import TransferModel

/// `suspend`, `resume` and `cancel` of a run under way.
@Suite struct ControlTests {
    /// A run whose tasks wait for a gate.
    private final class Scene {
        let server: ScriptedServer
        let stage: Stage
        let program: RunningProgram
        var process: String { "\(program.processID)" }
        var binary: Binary { stage.binary }

        init(_ options: [String] = [], environment: [String: String] = [:]) throws {
            server = try ScriptedServer { _ in [.gate("open")] + .respond(200, body: "x") }
            stage = try Stage()
            program = try stage.start(
                """
                tasks:
                  - { id: held-1, url: "\(server.url("/1"))", to: one }
                  - { id: held-2, url: "\(server.url("/2"))", to: two }
                  - { id: other, url: "\(server.url("/3"))", to: three }
                """, options, environment: environment)
            #expect(server.waitForRequests(3))
        }

        deinit { server.stop() }

        func finish(sourceLocation: SourceLocation = #_sourceLocation) throws -> Stage.Run {
            server.open(gate: "open")
            let run = try stage.finish(program)
            #expect(run.status == 0, sourceLocation: sourceLocation)
            return run
        }

        /// What stands in the folder of sockets.
        var sockets: [String] { binary.home.list("runtime/transfer-run") }
    }

    @Test func tasksAreNamedByIdsAndPatterns() throws {
        let scene = try Scene()
        let suspended = try scene.binary.run("suspend", scene.process, "held-*", "held-1")
        #expect(suspended.exitStatus == 0 && suspended.errorOutput.isEmpty)
        #expect(suspended.outputText == "suspended 2 tasks: held-1, held-2\n")
        let resumed = try scene.binary.run("resume", scene.process, "held-*")
        #expect(resumed.exitStatus == 0)
        #expect(resumed.outputText == "resumed 2 tasks: held-1, held-2\n")
        let one = try scene.binary.run("suspend", scene.process, "other")
        #expect(one.outputText == "suspended 1 task: other\n")
        #expect(try scene.binary.run("resume", scene.process, "other").exitStatus == 0)
        _ = try scene.finish()
    }

    /// It is ended, sends nothing, loses no try and no patience, and begins again when it is resumed.
    @Test func aSuspendedTaskGoesOnWhenItIsResumed() throws {
        let scene = try Scene()
        #expect(try scene.binary.run("suspend", scene.process, "held-1").exitStatus == 0)
        scene.server.open(gate: "open")
        #expect(scene.program.waitForOutput("three", timeout: .milliseconds(600)) == false)
        #expect(scene.program.isRunning && !scene.stage.folder.exists("one"))
        #expect(scene.server.requests("/1").count == 1)
        #expect(try scene.binary.run("resume", scene.process).outputText == "resumed 1 task: held-1\n")
        let run = try scene.finish()
        #expect(scene.server.requests("/1").count == 2)
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["cancelled", "succeeded"])
        #expect(try run.task("held-1", "waits[?@.reason=='suspended'].duration").flatMap { Double($0) } ?? 0 > 0.5)
        #expect(
            run.story(of: "held-1").filter { ["waiting", "taskResumed"].contains($0) } == [
                "taskResumed", "waiting", "taskResumed",
            ])
    }

    /// Nothing is under way and nothing is due: the run still waits for whoever suspended it.
    @Test func aSuspendedRunWaits() throws {
        let scene = try Scene()
        #expect(
            try scene.binary.run("suspend", scene.process).outputText == "suspended 3 tasks: held-1, held-2, other\n")
        #expect(scene.program.isRunning)
        #expect(try scene.binary.run("cancel", scene.process, "other").exitStatus == 0)
        #expect(try scene.binary.run("resume", scene.process).outputText == "resumed 2 tasks: held-1, held-2\n")
        scene.server.open(gate: "open")
        let run = try scene.stage.finish(scene.program)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "cancelled"])
        #expect(scene.stage.files == ["one", "two"])
    }

    @Test func whatNobodyHasChangesNothing() throws {
        let scene = try Scene()
        let result = try scene.binary.run("suspend", scene.process, "held-1", "nobody-*")
        #expect(result.exitStatus == 2)
        #expect(result.output.isEmpty)
        #expect(
            result.errorText == """
                error: no task of this run matches `nobody-*`: it has `held-1`, `held-2`, `other`

                """)
        let run = try scene.finish()
        #expect(run.story(of: "held-1").count { $0 == "taskResumed" } == 1)
    }

    @Test(arguments: ["suspend", "resume", "cancel"]) func aProcessThatIsNoRunIsTold(command: String) throws {
        let binary = try Binary()
        let result = try binary.run(command, "1")
        #expect(result.exitStatus == 4)
        #expect(
            result.errorText
                == "error: no run with pid 1 listens (there is no \(binary.home.path("runtime/transfer-run")))\n")
        #expect(binary.home.list().isEmpty)
    }

    @Test(arguments: [
        ["suspend", "0"], ["suspend", "99999999999999999999"], ["suspend", "1", ""], ["suspend"],
        ["suspend", "1", "--resumable"], ["cancel", "1", "--resumable=yes"],
        ["resume", "1"] + (0...256).map { "t\($0)" },
    ]) func wrongWordsEndWithTwo(words: [String]) throws {
        let result = try Binary().run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.hasPrefix("error: "))
    }

    @Test func theSocketIsPrivateAndGoesWithTheRun() throws {
        let scene = try Scene()
        #expect(scene.sockets == ["run-\(scene.process).socket"])
        #expect(scene.binary.home.mode("runtime/transfer-run/run-\(scene.process).socket") == 0o600)
        _ = try scene.finish()
        #expect(scene.sockets.isEmpty)
        let after = try scene.binary.run("cancel", scene.process)
        #expect(after.exitStatus == 4)
        #expect(after.errorText.contains("no run with pid \(scene.process) listens (there is no "))
    }

    @Test func whatAKilledRunLeftIsRemovedWhenMet() throws {
        let scene = try Scene()
        scene.program.send(signal: 9)
        _ = scene.program.wait()
        #expect(scene.sockets == ["run-\(scene.process).socket"])
        let result = try scene.binary.run("resume", scene.process)
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("was left by a run that is gone"))
        #expect(scene.sockets.isEmpty)
    }

    @Test func thePlaceFollowsTheStateFolder() throws {
        // Longer than a socket's path can be.
        let folder = "kept/" + String(repeating: "deep/", count: 30)
        let scene = try Scene(["--state-dir", folder])
        #expect(try scene.binary.run("suspend", scene.process).exitStatus == 4)
        let environment = ["TRANSFER_RUN_STATE_DIR": folder]
        #expect(try scene.binary.run("suspend", scene.process, environment: environment).exitStatus == 0)
        #expect(try scene.binary.run("resume", scene.process, "--state-dir", folder).exitStatus == 0)
        _ = try scene.finish()
    }

    @Test func aRunThatCannotBeReachedIsARunAllTheSame() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let binary = try Binary()
        try binary.home.write("runtime", "in the way")
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))' }]"
        let quiet = try binary.run("-", "--no-report", "--progress", "none", input: job)
        #expect(quiet.exitStatus == 0 && quiet.errorOutput.isEmpty)
        let told = try binary.run("-", "--no-report", "-v", input: job)
        #expect(told.exitStatus == 0)
        let warnings = told.errorText.split(separator: "\n").filter { $0.hasPrefix("warning: ") }
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("this run cannot be controlled: \(binary.home.path("runtime"))") == true)
    }

    @Test func aRunThatIsStoppedIsNotReachedAgain() throws {
        let scene = try Scene()
        scene.program.send(signal: 2)
        #expect(try scene.stage.finish(scene.program).status == 130)
        #expect(scene.sockets.isEmpty)
    }
}
