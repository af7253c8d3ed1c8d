import Glibc
import TestSupport
import Testing
import TextFormats

/// `onFinish` of tasks: a command after each task that succeeded.
@Suite struct TaskHookTests {
    private func task(_ id: String, _ command: String) -> String {
        "  - { id: \(id), url: \"data:,x\", onFinish: \(command) }\n"
    }

    @Test func theCommandIsToldOfItsFile() throws {
        let stage = try Stage()
        let job = """
            tasks:
              - id: f-${n}
                forEach: { n: [1] }
                url: data:text/plain,hello
                to: out/${n}
                onFinish: [sh, -c, 'env | grep ^TRANSFER_RUN_TASK_ | sort > told; echo "$1" >> told; pwd >> told', x, "${n}"]
            """
        #expect(try stage.run(job).status == 0)
        let folder = stage.folder.path
        var expected = [
            "CHANGED=true",
            "CHECKSUM=xxh3:b5e9c1ad071b3e7fc779cfaa5e523818",
            "ID=f-1", "OUTCOME=succeeded", "PATH=\(folder)/out/1",
            "URL=data:text/plain,hello",
        ].map { "TRANSFER_RUN_TASK_\($0)" }
        expected += ["1", folder]
        #expect(try stage.text("told").split(separator: "\n").map(String.init) == expected)
        let again = try stage.run(job)
        #expect(again.status == 0)
        #expect(try stage.text("told").hasPrefix("TRANSFER_RUN_TASK_CHANGED=false\n"))
    }

    @Test(
        arguments: [
            ("[sh, -c, 'echo no place >&2; exit 3']", "ended with status 3: no place", "3"),
            ("[sh, -c, 'kill -9 $$$$']", "was ended by signal 9", nil), ("[/no/such]", "cannot be started: ", nil),
        ] as [(String, String, String?)])
    func itsFailureIsTheRunsAndNotTheTasks(_ command: String, _ why: String, _ status: String?) throws {
        let stage = try Stage()
        let run = try stage.run("tasks:\n" + task("t", command))
        #expect(run.status == 1)
        #expect(try run.task("t", "outcome") == "succeeded")
        #expect(run.errorText.contains("error: `onFinish` of the task `t` \(why)"), "\(run.errorText)")
        #expect(run.errorText.contains("Exit status 1: an `onFinish` command failed."), "\(run.errorText)")
        #expect(try run.values("$.hooks[*].task") == ["t"])
        #expect(try run.values("$.hooks[*].exitStatus") == [status])
    }

    @Test func nothingIsRunAfterAFailure() throws {
        let stage = try Stage()
        let run = try stage.run(
            "tasks: [{ id: t, url: \"file:///no/such\", to: x, allowFailure: true, onFinish: [touch, never] }]")
        #expect(run.status == 0 && !stage.folder.exists("never"))
        #expect(try run.values("$.hooks[*].task") == [])
    }

    /// Each command waits until four have begun; a fifth at the same time would be seen.
    @Test func fourRunAtTheSameTime() throws {
        let stage = try Stage()
        let script = """
            mkdir -p now; : > now/$1; i=0
            while test $(ls now | wc -l) -lt 4 && test ! -e go; do sleep 0.01; done
            : > go; ls now | wc -l >> counts; rm now/$1
            """.replacing("\n", with: "; ").replacing("; ; ", with: "; ").replacing("do; ", with: "do ")
        let tasks = (1...9).map { task("t\($0)", "[sh, -c, '\(script)', x, \"\($0)\"]") }.joined()
        let run = try stage.run("tasks:\n" + tasks)
        #expect(run.status == 0)
        let counts = try stage.text("counts").split(separator: "\n").compactMap { Int($0) }
        #expect(counts.count == 9 && counts.max() == 4, "\(counts)")
    }

    @Test func anInterruptedRunEndsItsCommands() throws {
        let stage = try Stage()
        let program = try stage.start(
            "tasks:\n" + task("t", "[sh, -c, 'trap \"touch asked; exit 1\" TERM; touch began; sleep 60 & wait']"))
        waitUntil { stage.folder.exists("began") }
        program.send(signal: SIGINT)
        let run = try stage.finish(program)
        #expect(run.status == 130 && stage.folder.exists("asked"))
        #expect(try run.values("$.hooks[*].exitStatus") == [nil])
    }

    @Test func aKilledBackgroundProcessRunsItAgain() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let script = "echo $TRANSFER_RUN_TASK_PATH >> told; test -e go || sleep 60"
        let program = try scene.stage.start(
            BackgroundScene.head("org.example.task-hook")
                + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x, onFinish: [sh, -c, \"\(script)\"] }]")
        waitUntil { scene.folder.exists("told") }
        #expect(scene.end(SIGKILL))
        try scene.folder.write("go", "")
        let run = try scene.stage.finish(program)
        #expect(run.status == 0)
        let path = "\(scene.folder.path)/x"
        #expect(try scene.stage.text("told").split(separator: "\n").map(String.init) == [path, path])
        #expect(try run.values("$.hooks[*].task") == ["t"])
        // The end of the task may not have been in the journal yet: then the next process asks whether the file is right.
        #expect((1...2).contains(server.requests().count))
    }
}
