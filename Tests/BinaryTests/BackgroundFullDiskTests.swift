import Glibc
import TestSupport
import Testing
import TextFormats

/// The state folder's disk is full while the background process carries a run: whoever follows or asks is told.
@Suite(.enabled(if: MountedFolder.isAllowed)) struct BackgroundFullDiskTests {
    private let background: BackgroundStage
    private let disk: MountedFolder
    private let state: TemporaryTree

    init() throws {
        background = try BackgroundStage()
        state = background.stage.binary.home
        try state.makeFolder("state/transfer-run", mode: 0o700)
        disk = try MountedFolder.memory(at: state.path("state/transfer-run"), size: "2m,mode=700")
    }

    private func fill() {
        let file = open(state.path("state/transfer-run/filler"), O_WRONLY | O_CREAT, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) == block.count {}
    }

    /// `first` waits until the disk is full, and `last` until there is room again, unless the run comes to its end before.
    private func job(_ hasLast: Bool) -> String {
        let server = background.server
        for id in ["first", "last"] { server.on("/\(id)") { _ in [.gate(id)] + .respond(200, body: id) } }
        server.on("/many", .respond(200, body: "x"))
        let tasks = [
            background.task("first"),
            "{ id: 't${n}', forEach: { n: 1..100 }, url: '\(server.url("/many"))', to: 'm/${n}', needs: [first] }",
        ]
        let last = hasLast ? [background.task("last")] : []
        return """
            name: nightly
            limits: { maximumConcurrentTasks: 4 }
            sessions: { s: { configuration: background, identifier: \(BackgroundStage.identifier) } }
            tasks: [\((tasks + last).joined(separator: ", "))]
            """
    }

    private let begun = "warning: the session `\(BackgroundStage.identifier)` is held up: "
    private let over = "the session `\(BackgroundStage.identifier)` is held up no more\n"

    @Test(arguments: [true, false]) func whoFollowsIsTold(_ goesOnMeanwhile: Bool) throws {
        let program = try background.stage.start(job(goesOnMeanwhile))
        #expect(background.server.waitForRequests(1, "/first"))
        #expect(try background.status("$.sessions[*].trouble") == [nil])
        fill()
        background.server.open(gate: "first")
        #expect(program.waitForOutput("database or disk is full"))
        try background.waitUntil("status tells of it") {
            try background.status("$.sessions[*].trouble").first??.contains("disk is full") == true
        }
        let shown = try background.run("status").outputText
        #expect(shown.contains("    held up: the journal ") && shown.contains("disk is full"), "\(shown)")
        // Whoever comes to it now is told as well.
        let attached = try background.stage.binary.start(["attach", BackgroundStage.identifier, "--no-report"])
        #expect(attached.waitForOutput("database or disk is full"))
        state.remove("state/transfer-run/filler")
        if goesOnMeanwhile {
            #expect(program.waitForOutput("is held up no more"))
            #expect(try background.status("$.sessions[*].trouble") == [nil])
            background.server.open(gate: "last")
        }
        let run = try background.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(attached.wait().exitStatus == 0)
        // However often it is tried in vain, it is told once.
        #expect(run.errorText.ranges(of: begun).count == 1, "\(run.errorText)")
        #expect(run.errorText.ranges(of: over).count == 1, "\(run.errorText)")
        withExtendedLifetime(disk) {}
    }

    /// A job with a request that must not be sent twice, which waits for another.
    private func jobWithPost() throws -> String {
        let server = background.server
        server.on("/first") { _ in [.gate("first")] + .respond(200, body: "first") }
        server.on("/post") { _ in [.gate("post")] + .respond(200, body: "done") }
        try background.stage.folder.write("order.json", "{}")
        let post = "{ id: post, type: upload, method: POST, url: '\(server.url("/post"))', body: { file: order.json }"
        return background.job(background.task("first"), "\(post), needs: [first] }")
    }

    private func waitForTrouble() throws {
        try background.waitUntil("status tells of it") {
            try background.status("$.sessions[*].trouble").first??.contains("disk is full") == true
        }
    }

    /// What cannot be written down is not done: a request that must not be sent twice waits until there is room.
    @Test func nothingIsSentOfWhichTheJournalKnowsNothing() throws {
        let program = try background.stage.start(jobWithPost())
        #expect(background.server.waitForRequests(1, "/first"))
        fill()
        background.server.open(gate: "first")
        background.server.open(gate: "post")
        try waitForTrouble()
        // The first try in vain comes a second after that.
        usleep(2_500_000)
        #expect(background.server.requests("/post").isEmpty)
        state.remove("state/transfer-run/filler")
        let run = try background.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(background.server.requests("/post").count == 1)
        #expect(try run.value("$.tasks[1].attempts[*].number") == "1")
        withExtendedLifetime(disk) {}
    }

    /// A request that waits until it can be written down is no work: a command that does not wait ends, and the report counts
    /// the time as a wait.
    @Test func requestThatCannotBeWrittenDown_waits() throws {
        #expect(try background.detach(jobWithPost()).exitStatus == 0)
        #expect(background.server.waitForRequests(1, "/first"))
        fill()
        background.server.open(gate: "first")
        background.server.open(gate: "post")
        try waitForTrouble()
        try background.waitFor("$.sessions[0].tasks[?@.id=='post'].waitingFor", "flush")
        #expect(try background.status("$.sessions[0].tasks[*].state") == ["finished", "waiting"])
        let run = try background.run(Stage.jobFile, "--no-wait", "--no-report")
        #expect(run.exitStatus == 75, "\(run.errorText)")
        #expect(run.errorText.contains("put off: nothing can go on now, the run is held up: the journal "))
        usleep(1_500_000)
        state.remove("state/transfer-run/filler")
        background.waitForReport()
        let report = try background.report()
        func value(_ path: String) throws -> String? { try JSONPath(path).select(from: report).first?.plainText }
        #expect(try value("$.tasks[1].outcome") == "succeeded")
        let waited = try #require(value("$.tasks[1].waits[?@.reason=='flush'].duration").flatMap { Double($0) })
        #expect(try waited > 1 && Double(value("$.tasks[1].attempts[0].duration") ?? "") ?? .infinity < waited)
        withExtendedLifetime(disk) {}
    }

    /// What was answered is waited for, however long it cannot be written down.
    @Test func whatWasDoneIsNotDoneAgain() throws {
        let program = try background.stage.start(jobWithPost())
        background.server.open(gate: "first")
        #expect(background.server.waitForRequests(1, "/post"))
        fill()
        background.server.open(gate: "post")
        try waitForTrouble()
        // It has ended: nothing is left that could be cancelled, and the answer says what it waits for.
        let cancelled = try background.run("cancel", BackgroundStage.identifier)
        #expect(cancelled.exitStatus != 0 && cancelled.errorText.contains("disk is full"), "\(cancelled.errorText)")
        usleep(2_500_000)
        state.remove("state/transfer-run/filler")
        let run = try background.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(background.server.requests("/post").count == 1)
        withExtendedLifetime(disk) {}
    }

    /// A process that starts on a full disk begins nothing, as one that meets the full disk later.
    @Test func processThatStartsOnAFullDisk_beginsNoTask() throws {
        let server = background.server
        server.on("/first") { _ in [.gate("first")] + .respond(200, body: "first") }
        #expect(try background.detach(background.job(background.task("first"))).exitStatus == 0)
        #expect(server.waitForRequests(1, "/first"))
        fill()
        background.endProcess(signal: SIGKILL)
        fill()
        let daemon = try background.stage.binary.start(["daemon"])
        #expect(daemon.waitForOutput("is to be tried again: the journal "))
        #expect(server.requests("/first").count == 1)
        state.remove("state/transfer-run/filler")
        server.open(gate: "first")
        let attached = try background.run("attach", BackgroundStage.identifier)
        #expect(attached.exitStatus == 0, "\(attached.errorText)")
        #expect(server.requests("/first").count == 2)
        daemon.send(signal: SIGTERM)
        _ = daemon.wait()
        withExtendedLifetime(disk) {}
    }

    /// What somebody asks for while nothing can be written is done, and he is told how little that is worth.
    @Test func whoCancelsMeanwhileIsTold() throws {
        let program = try background.stage.start(jobWithPost())
        #expect(background.server.waitForRequests(1, "/first"))
        fill()
        background.server.open(gate: "first")
        try waitForTrouble()
        let cancelled = try background.run("cancel", BackgroundStage.identifier)
        #expect(cancelled.exitStatus != 0, "\(cancelled.outputText)")
        #expect(cancelled.errorText.contains("cannot be written down yet"), "\(cancelled.errorText)")
        #expect(cancelled.errorText.contains("disk is full"), "\(cancelled.errorText)")
        state.remove("state/transfer-run/filler")
        let run = try background.stage.finish(program)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "cancelled"])
        #expect(background.server.requests("/post").isEmpty)
        withExtendedLifetime(disk) {}
    }
}
