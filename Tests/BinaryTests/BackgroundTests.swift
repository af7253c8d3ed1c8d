import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Background sessions as people use them.
@Suite struct BackgroundTests {
    private let stage: BackgroundStage

    init() throws { stage = try BackgroundStage() }

    // MARK: Handing over

    @Test func aJobIsHandedOverAndFollowed() throws {
        stage.server.on("/a", .respond(200, body: "text"))
        stage.server.on("/b", .respond(404, body: "none"))
        let run = try stage.stage.run(stage.job(stage.task("a"), stage.task("b"), stage.task("c", ", needs: [b]")))
        #expect(run.status == 1 && run.errorText.contains("b"))
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed", "skipped"])
        #expect(try run.value("$.sessions[0].configuration") == "background")
        #expect(try run.value("$.sessions[0].identifier") == BackgroundStage.identifier)
        #expect(try run.value("$.sessions[0].reassociated") == "false")
        #expect(run.events.contains { $0["event"] == .string("sessionFinishedEvents") })
        #expect(try stage.stage.text("a") == "text")
        // Its end is known: there is nothing left to tell.
        #expect(try stage.status("$.sessions[*].identifier") == [])
    }

    /// A list in a file of another task, for tasks that share their options; a group that no task came into.
    @Test func whatTasksNameInTheirJobIsFound() throws {
        stage.server.on("/sums", .respond(200, body: "900150983cd24fb0d6963f7d28e17f72  1\n"))
        for name in ["1", "2"] { stage.server.on("/\(name)", .respond(200, body: "abc")) }
        let url = stage.server.url("/")
        let job = stage.job(
            stage.task("sums"),
            """
            { id: "a${n}", forEach: { n: 1..2 }, needs: [sums, group.g], url: "\(url)${n}", to: "${n}", checksum: { from: sums } }
            """,
            "{ id: none, forEach: { n: [] }, group: g, url: \"\(url)\", to: x }")
        let run = try stage.stage.run(job + "\ngroups: { g: { to: g } }\n")
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "failed"])
        #expect(try run.task("a2", "error.name") == "checksumNotFound")
    }

    /// Lines of progress as a run's own, in their order.
    @Test func progressIsFollowed() throws {
        let piece = [UInt8](repeating: 0x78, count: 20 << 10)
        let head = Script.head(200, [("Content-Length", "\(8 * piece.count)")])
        stage.server.on("/a") { _ in
            Script([.bytes(head)] + (0..<8).flatMap { _ in [.bytes(piece), .wait(.milliseconds(210))] })
        }
        let run = try stage.stage.run(stage.job(stage.task("a")))
        #expect(run.status == 0)
        let story = run.story(of: "a")
        let (response, data) = (story.firstIndex(of: "response"), story.firstIndex(of: "receivedData"))
        #expect(try #require(response) < #require(data))
        #expect(story.count { $0 == "receivedData" } > 1, "\(story)")
        #expect(try stage.stage.folder.bytes("a").count == 8 * piece.count)
    }

    @Test func whoDetachesIsTaken() throws {
        let body = stage.serveHalves("a")
        let result = try stage.detach(stage.job(stage.task("a"), stage.task("b", ", needs: [a]")))
        #expect(result.exitStatus == 0 && result.outputText == "\(BackgroundStage.identifier)\n", "\(result.errorText)")
        stage.server.on("/b", .respond(200, body: "b"))
        try stage.waitFor("$.sessions[0].tasks[?@.bytesReceived==\(100 << 10)].id", "a")
        #expect(try stage.status("$.sessions[0].state") == ["running"])
        #expect(try stage.status("$.sessions[0].job") == ["nightly"])
        #expect(try stage.status("$.sessions[0].report") == [stage.stage.folder.path("job.report.json")])
        #expect(try stage.status("$.sessions[0].tasks[*].id") == ["a", "b"])
        #expect(try stage.status("$.sessions[0].tasks[*].type") == ["download", "download"])
        #expect(try stage.status("$.sessions[0].tasks[*].state") == ["running", "waiting"])
        #expect(try stage.status("$.sessions[0].tasks[*].waitingFor") == [nil, "dependency"])
        #expect(try stage.status("$.sessions[0].tasks[*].expected") == ["\(200 << 10)", nil])
        #expect(try stage.status("$.sessions[0].tasks[*].attempts") == ["1", "0"])
        #expect(try stage.status("$.sessions[0].tasks[*].error") == [nil, nil])
        let text = try stage.run("status", BackgroundStage.identifier).outputText
        #expect(
            text.contains("sessions\n  \(BackgroundStage.identifier)  nightly: 1 waiting, 1 running · 100.0 KiB\n"),
            "\(text)")
        #expect(text.contains("    a: 100.0 KiB of 200.0 KiB\n    b waits for the tasks it needs\n"), "\(text)")
        stage.server.open(gate: "a")
        stage.waitForReport()
        #expect(try stage.report()["outcome"] == .string("succeeded"))
        #expect(try stage.stage.folder.bytes("a") == body)
        try stage.waitFor("$.sessions", "[]")
    }

    /// How long the answer is says nothing of what is sent.
    @Test func lengthOfAnAnswer_isNotWhatItsUploadExpects() throws {
        _ = stage.serveHalves("a")
        stage.server.on("/u", .respond(200, body: ""))
        let upload = "{ id: u, type: upload, url: \"\(stage.server.url("/u"))\", body: { file: body } }"
        try stage.stage.folder.write("body", "hello")
        #expect(try stage.detach(stage.job(stage.task("a"), upload)).exitStatus == 0)
        // What it sent is known with its outcome.
        try stage.waitFor("$.sessions[0].tasks[1].outcome", "succeeded")
        #expect(try stage.status("$.sessions[0].tasks[1].bytesSent") == ["5"])
        #expect(try stage.status("$.sessions[0].tasks[1].expected") != ["0"])
        stage.server.open(gate: "a")
        stage.waitForReport()
    }

    // MARK: Coming back

    @Test func whoIsInterruptedComesBack() throws {
        _ = stage.serveHalves("a")
        let job = stage.job(stage.task("a"))
        let first = try stage.stage.start(job)
        #expect(stage.server.waitForRequests(1))
        first.send(signal: SIGINT)
        let left = first.wait()
        #expect(left.exitStatus == 130 && left.errorText.contains("transfer-run attach \(BackgroundStage.identifier)"))
        let second = try stage.stage.start(job)
        #expect(second.waitForOutput("came back to the session"))
        stage.server.open(gate: "a")
        let run = try stage.stage.finish(second)
        #expect(try run.status == 0 && run.value("$.sessions[0].reassociated") == "true")
        #expect(stage.server.requests().count == 1)
    }

    /// Each of the job's background sessions goes on, and is cancelled by its own identifier.
    @Test func whoIsInterrupted_isToldOfEachSession() throws {
        stage.server.on("/a") { _ in [.gate("never")] + .respond(200, body: "a") }
        let identifiers = ["org.example.one", "org.example.two"]
        let sessions = identifiers.enumerated().map { "s\($0): { configuration: background, identifier: \($1) }" }
        let tasks = [0, 1].map { "{ id: t\($0), session: s\($0), url: \"\(stage.server.url("/a"))\", to: f\($0) }" }
        let program = try stage.stage.start(
            "sessions: { \(sessions.joined(separator: ", ")) }\ntasks: [\(tasks.joined(separator: ", "))]")
        #expect(stage.server.waitForRequests(2))
        program.send(signal: SIGINT)
        let left = program.wait()
        #expect(left.exitStatus == 130)
        for identifier in identifiers {
            #expect(left.errorText.contains("`transfer-run cancel \(identifier)` ends it\n"), "\(left.errorText)")
            #expect(try stage.run("cancel", identifier).exitStatus == 0)
        }
    }

    @Test func whatHasEndedIsToldAgain() throws {
        stage.server.on("/a", .respond(404, body: ""))
        let job = stage.job(stage.task("a"))
        let first = try stage.stage.start(job)
        #expect(stage.server.waitForRequests(1))
        first.send(signal: SIGINT)
        // It may have been over already.
        guard first.wait().exitStatus == 130 else { return }
        try stage.waitFor("$.sessions[0].state", "finished")
        #expect(try stage.status("$.sessions[0].tasks[0].error.name") == ["unexpectedResponse"])
        #expect(try stage.status("$.sessions[0].tasks[0].outcome") == ["failed"])
        let cancelled = try stage.run("cancel", BackgroundStage.identifier)
        #expect(cancelled.exitStatus == 2 && cancelled.errorText.contains("has ended (failed)"))
        let attached = try stage.run("attach", BackgroundStage.identifier)
        #expect(attached.exitStatus == 1, "\(attached.errorText)")
        let again = try stage.run("attach", BackgroundStage.identifier)
        #expect(again.exitStatus == 1, "\(again.errorText)")
        #expect(again.errorText.contains("with exit status 1; its report is /"), "\(again.errorText)")
        #expect(again.errorText.contains("FAILED  "), "\(again.errorText)")
        #expect(again.errorText.contains("1 failed · "), "\(again.errorText)")
        // Soon after it the same command may have been meant to come back.
        let next = try stage.run(Stage.jobFile)
        #expect(
            next.errorText.contains("an earlier run of `\(BackgroundStage.identifier)` ended at "), "\(next.errorText)")
        #expect(next.errorText.contains(" (failed); this begins a new one\n"))
        #expect(try !stage.run(Stage.jobFile, "--new-run").errorText.contains("an earlier run"))
    }

    /// A run whose report cannot be written stays, and a command that comes to it hears why.
    @Test func detachedRunWithoutAReport_staysAndSaysWhy() throws {
        _ = stage.serveHalves("a")
        try stage.stage.folder.makeFolder("reports")
        let detached = try stage.detach(stage.job(stage.task("a")), "--report", "reports/r.json")
        #expect(detached.exitStatus == 0 && stage.server.waitForRequests(1), "\(detached.errorText)")
        stage.stage.folder.remove("reports")
        try stage.stage.folder.write("reports", "in the way")
        stage.server.open(gate: "a")
        try stage.waitUntil("the report cannot be written") {
            try stage.status("$.sessions[0].trouble").contains { $0?.contains("Not a directory") == true }
        }
        let attached = try stage.run("attach", BackgroundStage.identifier)
        #expect(attached.exitStatus == 4 && attached.errorText.contains("Not a directory"), "\(attached.errorText)")
        #expect(!attached.errorText.contains("handed over"), "\(attached.errorText)")
    }

    @Test func identifiersAreOneJobs() throws {
        _ = stage.serveHalves("a")
        #expect(try stage.detach(stage.job(stage.task("a"))).exitStatus == 0)
        let other = try stage.detach(stage.job(stage.task("a"), name: "other"))
        #expect(other.exitStatus == 5 && other.errorText.contains("backgroundSessionInUseByAnotherProcess"))
        let new = try stage.detach(stage.job(stage.task("a")), "--new-run")
        #expect(new.exitStatus == 5 && new.errorText.contains("--new-run"))
        #expect(stage.server.waitForRequests(1, "/a"))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        try stage.waitFor("$.sessions", "[]")
        #expect(stage.server.requests().count == 1)
    }

    /// Neither has a `name`: each is known by where it lies, whatever it is called there.
    @Test func filesOfOneNameInTwoFoldersAreTwoJobs() throws {
        _ = stage.serveHalves("a")
        for (folder, id) in [("one", "a"), ("two", "b")] {
            let text = stage.job(stage.task(id)).replacing("name: nightly\n", with: "")
            try stage.stage.folder.write("\(folder)/job.yaml", text)
        }
        #expect(try stage.run("one/job.yaml", "--detach").exitStatus == 0)
        let other = try stage.run("two/job.yaml", "--detach")
        #expect(other.exitStatus == 5, "\(other.errorText)")
        let words = "in use by the job `\(stage.stage.folder.path("one/job.yaml"))`"
        #expect(other.errorText.contains(words), "\(other.errorText)")
        // By another way to the same place it is the same one.
        #expect(try stage.run(stage.stage.folder.path("two/../one/job.yaml"), "--detach").exitStatus == 0)
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        try stage.waitFor("$.sessions", "[]")
    }

    @Test func aTaskThatWasEditedMeanwhileStaysAndThatIsTold() throws {
        _ = stage.serveHalves("a")
        let job = stage.job(stage.task("a"))
        #expect(try stage.detach(job).exitStatus == 0)
        #expect(try !stage.detach(job).errorText.contains("stays"))
        let elsewhere = try stage.detach(job.replacing("to: a", with: "to: b"))
        #expect(elsewhere.errorText.hasPrefix("warning: task `a` stays as it was handed over\n"))
        let other = try stage.detach(job.replacing("/a\"", with: "/other\""))
        #expect(other.exitStatus == 0)
        #expect(other.errorText.hasPrefix("warning: task `a` stays as it was handed over\n"))
        #expect(other.errorText.contains("`transfer-run attach \(BackgroundStage.identifier)` follows it"))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        try stage.waitFor("$.sessions", "[]")
    }

    @Test func aSessionThatWasEditedMeanwhileStaysAndThatIsTold() throws {
        _ = stage.serveHalves("a")
        let job = stage.job(stage.task("a"))
        #expect(try stage.detach(job).exitStatus == 0)
        let own = ", window: { from: \"01:00\", to: \"05:00\" }"
        let edited = try stage.detach(stage.job(stage.task("a"), more: own))
        let words =
            "warning: the session `s` stays as it was handed over: what the file says of `window` by now does "
            + "not count for it\n  hint: `transfer-run cancel \(BackgroundStage.identifier)` ends it; "
        #expect(edited.exitStatus == 0 && edited.errorText.hasPrefix(words), "\(edited.errorText)")
        // What goes with each task is none of the session's own, and a task that is there keeps it.
        #expect(
            try !stage.detach(stage.job(stage.task("a"), more: ", headers: { X-A: b }")).errorText.contains("stays"))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        try stage.waitFor("$.sessions", "[]")
    }

    // MARK: Commands

    @Test func whatIsSuspendedStaysSoAndGoesOn() throws {
        let body = stage.serveHalves("a")
        stage.server.on("/b", .respond(200, body: "b"))
        #expect(try stage.detach(stage.job(stage.task("a"), stage.task("b", ", needs: [a]"))).exitStatus == 0)
        #expect(stage.server.waitForRequests(1))
        let suspended = try stage.run("suspend", BackgroundStage.identifier)
        #expect(suspended.outputText == "suspended 2 tasks: a, b\n", "\(suspended.errorText)")
        // Whatever happens to the process the moment that it was said.
        stage.endProcess(signal: SIGKILL)
        #expect(try stage.status("$.sessions[0].state") == ["suspended"])
        #expect(try stage.status("$.sessions[0].tasks[0].waitingFor") == ["suspended"])
        #expect(try stage.run("suspend", BackgroundStage.identifier).outputText == "suspended 0 tasks\n")
        stage.server.open(gate: "a")
        #expect(try stage.run("resume", BackgroundStage.identifier, "a").outputText == "resumed 1 task: a\n")
        try stage.waitFor("$.sessions[0].tasks[?@.id=='a'].outcome", "succeeded")
        #expect(try stage.status("$.sessions[0].tasks[1].state") == ["suspended"])
        #expect(try stage.run("resume", BackgroundStage.identifier).outputText == "resumed 1 task: b\n")
        stage.waitForReport()
        #expect(try stage.stage.folder.bytes("a") == body)
    }

    @Test func aTaskThatTheFileSuspendsWaitsToBeResumed() throws {
        stage.server.on("/a", .respond(200, body: "a"))
        #expect(try stage.detach(stage.job(stage.task("a", ", suspended: true"))).exitStatus == 0)
        try stage.waitFor("$.sessions[0].state", "suspended")
        #expect(try stage.run("resume", BackgroundStage.identifier).outputText == "resumed 1 task: a\n")
        stage.waitForReport()
        #expect(try stage.report()["exitStatus"]?.plainText == "0")
    }

    @Test func whatIsCancelledEnds() throws {
        _ = stage.serveHalves("a")
        stage.server.on("/b", .respond(200, body: "b"))
        #expect(try stage.detach(stage.job(stage.task("a"), stage.task("b", ", needs: [a]"))).exitStatus == 0)
        #expect(stage.server.waitForRequests(1))
        let unknown = try stage.run("cancel", BackgroundStage.identifier, "x")
        #expect(unknown.exitStatus == 2)
        #expect(unknown.errorText.contains("no task of the session `\(BackgroundStage.identifier)` matches `x`"))
        #expect(try stage.run("cancel", BackgroundStage.identifier, "a").outputText == "cancelled 1 task: a\n")
        stage.waitForReport()
        let outcomes = try JSONPath("$.tasks[*].outcome").select(from: stage.report()).map { $0.plainText }
        #expect(outcomes == ["cancelled", "skipped"])
        #expect(stage.stage.files == ["job.report.json"])
        try stage.waitFor("$.sessions", "[]")
        let again = try stage.run("cancel", BackgroundStage.identifier)
        #expect(again.exitStatus == 2 && again.errorText.contains("has ended (failed)"))
    }

    @Test(arguments: ["status", "attach", "suspend", "resume", "cancel"])
    func whatNobodyKnowsEndsWithTwo(command: String) throws {
        _ = stage.serveHalves("a")
        let none = try stage.run(command, "org.example.other")
        #expect(none.exitStatus == 2 && none.output.isEmpty)
        #expect(none.errorText.contains("there is no background session `org.example.other`"))
        #expect(stage.stage.binary.home.list().isEmpty, "no folder is made for it")
        #expect(try stage.detach(stage.job(stage.task("a"))).exitStatus == 0)
        let other = try stage.run(command, "org.example.other")
        #expect(other.exitStatus == 2 && other.errorText.contains("there are `\(BackgroundStage.identifier)`"))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
    }

    @Test func whatIsWatchedIsShownAgain() throws {
        _ = stage.serveHalves("a")
        #expect(try stage.detach(stage.job(stage.task("a"))).exitStatus == 0)
        let program = try stage.stage.binary.start(["status", "--watch", "--json", BackgroundStage.identifier])
        #expect(program.waitForOutput("\"bytesReceived\":\(100 << 10)"))
        #expect(try stage.run("suspend", BackgroundStage.identifier).exitStatus == 0)
        #expect(program.waitForOutput("\"waitingFor\":\"suspended\""))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        #expect(program.waitForOutput("\"state\":\"finished\""))
        program.send(signal: SIGTERM)
        _ = program.wait()
    }

    // MARK: Forgetting, going on

    @Test func aSessionUnderWayIsNotForgotten() throws {
        _ = stage.serveHalves("a")
        // Of this one something is kept.
        stage.server.on("/c", .respond(200, headers: [("ETag", "\"1\"")], body: "c"))
        #expect(try stage.detach(stage.job(stage.task("c"), stage.task("a", ", needs: [c]"))).exitStatus == 0)
        #expect(stage.server.waitForRequests(1, "/a"))
        let refused = try stage.run("reset", "nightly/s")
        #expect(refused.exitStatus == 5, "\(refused.errorText)")
        #expect(refused.errorText.contains("`transfer-run cancel \(BackgroundStage.identifier)` ends it"))
        #expect(try stage.run("cancel", BackgroundStage.identifier).exitStatus == 0)
        try stage.waitFor("$.sessions", "[]")
        let known = try stage.run("cancel", BackgroundStage.identifier)
        #expect(known.exitStatus == 2 && known.errorText.contains("has ended"))
        let status = try stage.run("status", BackgroundStage.identifier)
        let words = /ended at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC with exit status \d+; its report is \//
        #expect(status.exitStatus == 0 && status.outputText.firstMatch(of: words) != nil, "\(status.outputText)")
        #expect(try stage.run("reset", "s").exitStatus == 0)
        let forgotten = try stage.run("cancel", BackgroundStage.identifier)
        #expect(forgotten.exitStatus == 2 && forgotten.errorText.contains("there is no background session"))
    }

    /// Nobody asks for it: any command will do.
    @Test func unfinishedWorkGoesOnWithAnyCommand() throws {
        let body = stage.serveHalves("a")
        stage.server.on("/c", .respond(200, body: "c"))
        #expect(try stage.detach(stage.job(stage.task("a"))).exitStatus == 0)
        #expect(stage.server.waitForRequests(1))
        let first = try #require(stage.process)
        stage.endProcess(signal: SIGKILL)
        stage.server.open(gate: "a")
        let other = try stage.stage.binary.run(
            "-", "--no-report", input: "tasks: [{ id: c, url: \"\(stage.server.url("/c"))\", to: c }]")
        #expect(other.exitStatus == 0 && other.errorText.contains("c"))
        stage.waitForReport()
        #expect(try stage.stage.folder.bytes("a") == body)
        #expect(stage.process != first)
        // Nothing is unfinished: no command looks for the process any more.
        let mark = "state/transfer-run/background.unfinished"
        stage.waitUntil("the mark goes") { !stage.stage.binary.home.exists(mark) }
        stage.endProcess(signal: SIGTERM)
        _ = try stage.run("status")
        #expect(stage.process == nil)
    }
}
