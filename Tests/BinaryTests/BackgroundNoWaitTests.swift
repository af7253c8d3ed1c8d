import Glibc
import TestSupport
import Testing
import TextFormats

/// What a command that comes back to a background session makes of its options.
@Suite struct BackgroundNoWaitTests {
    private let background: BackgroundStage

    init() throws {
        background = try BackgroundStage()
        for id in ["a", "b", "f"] { background.server.on("/\(id)", .respond(200, body: id)) }
    }

    private func cancel() throws {
        #expect(try background.run("cancel", BackgroundStage.identifier).exitStatus == 0)
    }

    @Test func noWait_whenNothingCanGoOn_endsTheCommandAndNotTheRun() throws {
        let job = background.job(background.task("a"), background.task("b", ", needs: [a]"))
        #expect(try background.detach(job, "--network", "none").exitStatus == 0)
        try background.waitFor("$.sessions[0].tasks[0].waitingFor", "network")
        let run = try background.run(Stage.jobFile, "--no-wait")
        #expect(run.exitStatus == 75, "\(run.errorText)")
        #expect(run.errorText.contains("put off: 2 tasks cannot go on now"), "\(run.errorText)")
        #expect(run.errorText.contains("  a waits for a network: "), "\(run.errorText)")
        #expect(run.errorText.contains("  b waits for the tasks it needs\n"), "\(run.errorText)")
        #expect(run.errorText.contains("`transfer-run attach \(BackgroundStage.identifier)` follows it"))
        #expect(try background.status("$.sessions[*].state") == ["waiting"])
        try cancel()
    }

    /// The command that begins the run ends as one that comes back to it does, and the file comes all the same.
    @Test func noWait_ofAFreshRun_goesOnByItself() throws {
        let job = background.job(background.task("a", ", earliestBegin: 6s"))
        try background.stage.folder.write(Stage.jobFile, job)
        let run = try background.run(Stage.jobFile, "--no-wait")
        #expect(run.exitStatus == 75, "\(run.errorText)")
        #expect(run.errorText.contains("put off: 1 task cannot go on now"), "\(run.errorText)")
        #expect(run.errorText.contains("goes on in the background"), "\(run.errorText)")
        // Whoever comes back without it waits.
        let back = try background.run(Stage.jobFile)
        #expect(back.exitStatus == 0 && background.stage.files.contains("a"), "\(back.errorText)")
    }

    @Test func noWait_besideDetach_changesNothing() throws {
        let job = background.job(background.task("a", ", earliestBegin: 1s"))
        let run = try background.detach(job, "--no-wait")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        #expect(run.errorText.contains("`--no-wait` changes nothing beside `--detach`"), "\(run.errorText)")
        background.waitForReport()
        #expect(background.stage.files.contains("a"))
    }

    @Test func noWait_whileSomethingGoesOn_waitsForIt() throws {
        background.server.on("/a") { _ in [.gate("a")] + .respond(200, body: "a") }
        let job = background.job(background.task("a"), background.task("b", ", suspended: true"))
        #expect(try background.detach(job, "--fail-fast").exitStatus == 0)
        #expect(background.server.waitForRequests(1, "/a"))
        let program = try background.stage.binary.start([Stage.jobFile, "--no-wait"])
        #expect(program.waitForOutput("came back"))
        background.server.open(gate: "a")
        let run = program.wait()
        #expect(run.exitStatus == 75 && background.stage.files.contains("a"), "\(run.errorText)")
        #expect(run.errorText.contains("put off: 1 task cannot go on now"), "\(run.errorText)")
        #expect(run.errorText.contains("  b waits for being resumed\n"), "\(run.errorText)")
        try cancel()
    }

    /// Each part of the job: the tasks here that need one there are put off, too.
    @Test func noWait_ofAJobWithTasksHere_putsOffWhatNeedsTheOthers() throws {
        let job = """
            name: nightly
            sessions:
              s: { configuration: background, identifier: \(BackgroundStage.identifier) }
              here: { configuration: default }
            tasks:
              - { id: a, session: s, url: "\(background.server.url("/a"))", to: a }
              - { id: b, session: here, url: "\(background.server.url("/b"))", to: b }
              - { id: f, session: here, url: "\(background.server.url("/f"))", to: f, needs: [a] }
            """
        let program = try background.stage.start(job, ["--network", "none"])
        try background.waitFor("$.sessions[0].tasks[0].waitingFor", "network")
        program.send(signal: SIGINT)
        #expect(program.wait().exitStatus == 130)
        let run = try background.run(Stage.jobFile, "--no-wait", "--report", "r.json")
        #expect(run.exitStatus == 75, "\(run.errorText)")
        #expect(run.errorText.contains("  a waits for a network"), "\(run.errorText)")
        let outcomes = try JSONPath("$.tasks[1:].outcome").select(from: background.report("r.json"))
        #expect(outcomes.map(\.plainText) == ["succeeded", "deferred"])
        try cancel()
    }

    @Test func optionsThatCountNoMore_areNamed() throws {
        let job = background.job(background.task("a", ", suspended: true"))
        #expect(try background.detach(job, "--network", "wired").exitStatus == 0)
        let run = try background.run(
            Stage.jobFile, "--no-wait", "--network", "none", "--max-concurrent", "3", "--bandwidth", "1MiB/s")
        #expect(run.exitStatus == 75)
        let warning = "warning: `--max-concurrent`, `--bandwidth` and `--network` do not count for what was handed over"
        #expect(run.errorText.contains(warning), "\(run.errorText)")
        #expect(run.errorText.contains("`transfer-run cancel \(BackgroundStage.identifier)` ends it"))
        let again = try background.run(Stage.jobFile, "--no-wait", "--network", "wired")
        #expect(again.exitStatus == 75 && !again.errorText.contains("do not count"), "\(again.errorText)")
        try cancel()
    }

    /// The first question comes before the first task has begun to wait.
    @Test func status_rightAfterTheHandingOver_saysTheTrueReason() throws {
        let job = background.job(background.task("a"), background.task("b", ", earliestBegin: 2h"))
        #expect(try background.detach(job, "--network", "none").exitStatus == 0)
        #expect(try background.status("$.sessions[0].tasks[*].waitingFor") == ["network", "earliestBegin"])
        try cancel()
    }

    @Test func overlappingCommand_isToldHowToFollow() throws {
        background.server.on("/a") { _ in [.gate("a")] + .respond(200, body: "a") }
        let program = try background.stage.start(background.job(background.task("a")))
        #expect(background.server.waitForRequests(1, "/a"))
        let second = try background.run(Stage.jobFile)
        #expect(second.exitStatus == 5)
        #expect(second.errorText.contains("`transfer-run attach \(BackgroundStage.identifier)` follows it"))
        background.server.open(gate: "a")
        #expect(program.wait().exitStatus == 0)
    }
}
