import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Jobs of which the command carries a part: how it leaves the other, and how it comes back to it.
@Suite struct MixedGoingOnTests {
    private let server: ScriptedServer
    private let scene: BackgroundScene

    init() throws {
        server = try ScriptedServer { request in .respond(200, body: "body of \(request.path)") }
        scene = try BackgroundScene()
    }

    private static let sessions = """
        sessions:
          day: {}
          night: { configuration: background, identifier: org.example.mixed }

        """

    private func task(_ id: String, _ session: String, _ more: String = "") -> String {
        "  - { id: \(id), session: \(session), url: \"\(server.url("/\(id)"))\", to: \(id)\(more) }\n"
    }

    private func job(_ tasks: String..., sessions: String = Self.sessions) -> String {
        sessions + "tasks:\n" + tasks.joined()
    }

    /// Answers as soon as the gate of that name is open.
    private func hold(_ ids: String...) {
        for id in ids { server.on("/\(id)") { _ in [.gate(id)] + .respond(200, body: "body of /\(id)") } }
    }

    private func report() throws -> JSONValue { try JSONParser.parse(scene.folder.bytes(".report.json")) }

    private func outcomes() throws -> [String?] {
        try JSONPath("$.tasks[*].outcome").select(from: report()).map(\.plainText)
    }

    /// Waits until the command has told the end of a task.
    private func waitForEnd(of id: String) -> Bool {
        for _ in 0..<2000 {
            let lines = String(decoding: (try? scene.stage.eventsSoFar()) ?? [], as: UTF8.self).split(separator: "\n")
            let isTold = lines.contains { $0.contains("taskFinished") && $0.contains("\"task\":\"\(id)\"") }
            if isTold { return true }
            usleep(5000)
        }
        return false
    }

    private func killCommand(_ program: RunningProgram) {
        program.send(signal: SIGKILL)
        _ = program.wait()
    }

    // MARK: Leaving

    /// What the command carried is over, and it only follows.
    @Test func aSignalEndsTheFollowing() throws {
        defer { server.stop() }
        hold("there")
        let job = job(task("here", "day"), task("there", "night"))
        let program = try scene.stage.start(job)
        #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/there"))
        #expect(waitForEnd(of: "here"))
        // Until the loop that carried it is over too.
        usleep(300_000)
        program.send(signal: SIGINT)
        let result = program.wait()
        #expect(result.exitStatus == 130)
        #expect(result.errorText.contains("the session `org.example.mixed` goes on in the background"))
        #expect(try outcomes() == ["succeeded", "deferred"])
        #expect(try report()["exitStatus"]?.plainText == "130" && report()["outcome"]?.plainText == "cancelled")
        server.open(gate: "there")
        #expect(try scene.stage.run(job).status == 0)
        #expect(server.requests("/there").count == 1)
    }

    /// What waits in the background for a task that ended with the command waits for the next run.
    @Test func aSignalSkipsNothingInTheBackground() throws {
        defer { server.stop() }
        hold("here")
        let job = job(task("here", "day"), task("there", "night", ", needs: [here]"))
        let program = try scene.stage.start(job)
        #expect(server.waitForRequests(1, "/here"))
        program.send(signal: SIGINT)
        #expect(program.wait().exitStatus == 130)
        server.open(gate: "here")
        let run = try scene.stage.run(job)
        #expect(run.status == 0)
        #expect(run.errorText.contains("came back to the session"))
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded"])
    }

    /// Nobody can be asked any more: what needs nothing there goes on, and all that is known is reported.
    @Test func whatIsKnownIsReportedWhenNobodyCanBeFollowed() throws {
        defer { server.stop() }
        hold("here", "there")
        let program = try scene.stage.start(
            job(task("here", "day"), task("there", "night"), task("waits", "day", ", needs: [there]")))
        #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/there"))
        let process = scene.process
        scene.binary.home.remove("state/transfer-run/journal.sqlite")
        #expect(waitForEnd(of: "waits"))
        server.open(gate: "here")
        let result = program.wait()
        #expect(result.exitStatus == 4)
        #expect(try outcomes() == ["succeeded", "deferred", "skipped"])
        #expect(try report()["exitStatus"]?.plainText == "4" && report()["outcome"]?.plainText == "failed")
        let events = try scene.stage.eventsSoFar().split(separator: 0x0A).map { try JSONParser.parse(Array($0)) }
        #expect(events.count { $0["event"]?.plainText == "runFinished" } == 1)
        if let process { kill(process, SIGKILL) }
    }

    // MARK: Failing fast

    /// Only a failure is one: a task that somebody cancelled there ends nothing here.
    @Test func whatIsCancelledThereFailsNothingHere() throws {
        defer { server.stop() }
        hold("here", "there")
        let program = try scene.stage.start("failFast: true\n" + job(task("here", "day"), task("there", "night")))
        #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/there"))
        #expect(try scene.binary.run("cancel", "org.example.mixed", "there").exitStatus == 0)
        #expect(waitForEnd(of: "there"))
        usleep(200_000)
        server.open(gate: "here")
        _ = program.wait()
        #expect(try outcomes() == ["succeeded", "cancelled"])
    }

    /// As one here would: what runs comes to its end, or is cancelled where its session says so.
    @Test(arguments: ["finish", "cancel"]) func aFailureThereEndsWhatRunsHere(_ onInvalidate: String) throws {
        defer { server.stop() }
        hold("here")
        server.on("/there") { _ in [.gate("there")] + .respond(404, body: "none") }
        let sessions = Self.sessions.replacing("day: {}", with: "day: { onInvalidate: \(onInvalidate) }")
        let program = try scene.stage.start(
            "failFast: true\n" + job(task("here", "day"), task("there", "night"), sessions: sessions))
        #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/there"))
        server.open(gate: "there")
        #expect(waitForEnd(of: "there"))
        if onInvalidate == "finish" { server.open(gate: "here") }
        #expect(program.wait().exitStatus == 1)
        #expect(try outcomes() == [onInvalidate == "finish" ? "succeeded" : "cancelled", "failed"])
    }

    // MARK: Coming back with a changed file

    /// Sessions and tasks have other places in the file than in what was handed over.
    @Test func theOtherPartIsKnownByItsNames() throws {
        defer { server.stop() }
        hold("here", "slow")
        killCommand(
            try {
                let program = try scene.stage.start(
                    job(task("here", "day"), task("slow", "night"), task("quick", "night")))
                #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/slow"))
                return program
            }())
        for gate in ["here", "slow"] { server.open(gate: gate) }
        let run = try scene.stage.run(
            job(
                task("quick", "night"), task("here", "day"), task("slow", "night"),
                sessions: """
                    sessions:
                      night: { configuration: background, identifier: org.example.mixed }
                      dusk: {}
                      day: {}

                    """))
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].id") == ["quick", "here", "slow"])
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "succeeded"])
        #expect(try run.values("$.sessions[*].reassociated") == ["true", "false", "false"])
        for event in run.events where event["task"]?.plainText != nil {
            #expect(event["session"]?.plainText == (event["task"]?.plainText == "here" ? "day" : "night"))
        }
        #expect(server.requests("/slow").count == 1 && server.requests("/quick").count == 1)
    }

    /// What was handed over waits for what it was handed over with.
    @Test func whatTheAcceptedPartNeedsIsTold() throws {
        defer { server.stop() }
        hold("here")
        let program = try scene.stage.start(job(task("here", "day"), task("there", "night", ", needs: [here]")))
        #expect(server.waitForRequests(1, "/here"))
        killCommand(program)
        server.open(gate: "here")
        let again = try scene.stage.start(job(task("here", "day"), task("there", "night")))
        #expect(again.wait().exitStatus == 0)
        #expect(server.requests("/there").count == 1)
    }

    /// It stays where it is: the command does not carry it a second time.
    @Test func aTaskThatChangedItsSessionStaysInTheBackground() throws {
        defer { server.stop() }
        hold("here", "moved", "there")
        let program = try scene.stage.start(
            job(task("here", "day"), task("moved", "night"), task("there", "night")))
        for path in ["/here", "/moved", "/there"] { #expect(server.waitForRequests(1, path)) }
        killCommand(program)
        for gate in ["here", "moved", "there"] { server.open(gate: gate) }
        let run = try scene.stage.run(job(task("here", "day"), task("moved", "day"), task("there", "night")))
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "succeeded"])
        #expect(server.requests("/moved").count == 1)
    }

    /// It goes on, and its outcome counts: so it is told of.
    @Test func aTaskThatLeftTheFileIsToldOf() throws {
        defer { server.stop() }
        hold("here")
        server.on("/gone", [.gate("gone")] + .respond(404, body: "none"))
        let program = try scene.stage.start(
            job(task("here", "day"), task("gone", "night"), task("there", "night")))
        #expect(server.waitForRequests(1, "/here") && server.waitForRequests(1, "/gone"))
        killCommand(program)
        for gate in ["here", "gone"] { server.open(gate: gate) }
        let again = try scene.stage.start(job(task("here", "day"), task("there", "night")))
        #expect(again.wait().exitStatus == 1)
        #expect(try JSONPath("$.tasks[*].id").select(from: report()).map(\.plainText) == ["here", "there", "gone"])
        #expect(try outcomes() == ["succeeded", "succeeded", "failed"])
    }
}
