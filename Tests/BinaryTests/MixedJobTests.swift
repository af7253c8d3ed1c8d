import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Jobs with tasks of background sessions and of others: each part waits for what it needs of the other.
@Suite struct MixedJobTests {
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer { request in .respond(200, body: "answer to \(request.target)") }
        server.on(
            "/token", .respond(200, headers: [("Content-Type", "application/json")], body: #"{"token":"s3cret-word"}"#))
        return server
    }

    private static let sessions = """
        sessions:
          day: {}
          night: { configuration: background, identifier: org.example.mixed }

        """

    private func job(_ server: ScriptedServer) -> String {
        Self.sessions + """
            tasks:
              - { id: first, session: day, type: data, url: "\(server.url("/token"))", capture: { word: { json: $.token, secret: true } } }
              - { id: second, session: night, type: data, url: "\(server.url("/second"))",
                  headers: { Authorization: "Bearer ${tasks.first.word}" }, capture: { path: { regex: "answer to (.*)" } } }
              - { id: third, session: day, url: "\(server.url("/third"))?of=${tasks.second.path}", to: third }
              - { id: fourth, session: night, url: "\(server.url("/fourth"))", to: fourth, needs: [third] }
            """
    }

    @Test func eachPartWaitsForTheOther() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(job(server))
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[*].outcome") == Array(repeating: "succeeded", count: 4))
        #expect(server.requests("/second").first?.header("Authorization") == "Bearer s3cret-word")
        #expect(server.requests().map(\.target).filter { $0.hasPrefix("/third") } == ["/third?of=%2Fsecond"])
        #expect(scene.stage.files == ["fourth", "third"])
        let order = server.requests().map(\.target)
        #expect(order.last == "/fourth")
        // What one part captured goes to the other, and nowhere else.
        for file in scene.binary.home.list("state/transfer-run") {
            let bytes = (try? scene.binary.home.bytes("state/transfer-run/\(file)")) ?? []
            #expect(!String(decoding: bytes, as: UTF8.self).contains("s3cret-word"), "in \(file)")
        }
    }

    @Test func aFailureSkipsWhatNeedsItThere() throws {
        let server = try ScriptedServer { request in .respond(request.target == "/first" ? 404 : 200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            Self.sessions + """
                tasks:
                  - { id: first, session: day, url: "\(server.url("/first"))", to: first }
                  - { id: second, session: night, url: "\(server.url("/second"))", to: second, needs: [first] }
                  - { id: third, session: day, url: "\(server.url("/third"))", to: third, needs: [second] }
                """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "skipped", "skipped"])
        #expect(try run.task("second", "error.message") == "`first`, which it needs, did not succeed")
        #expect(try run.task("third", "error.message") == "`second`, which it needs, did not succeed")
        #expect(server.requests().count == 1)
    }

    /// `failFast` is the whole job's: what waits is not begun, on either side of the split; what runs comes to its end.
    @Test(arguments: ["day", "night"]) func theFirstFailureEndsTheRestOfBoth(_ failing: String) throws {
        let server = try ScriptedServer { request in
            request.target == "/bad"
                ? [.wait(.milliseconds(300))] + .respond(404) : [.wait(.seconds(1))] + .respond(200, body: "x")
        }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            """
            failFast: true
            sessions:
              day: { maximumConcurrentTasks: 2 }
              night: { configuration: background, identifier: org.example.mixed, maximumConcurrentTasks: 2 }
            tasks:
              - { id: bad, session: \(failing), type: data, url: "\(server.url("/bad"))" }
              - { id: day-1, session: day, url: "\(server.url("/day-1"))", to: day-1 }
              - { id: night-1, session: night, url: "\(server.url("/night-1"))", to: night-1 }
              - { id: day-2, session: day, url: "\(server.url("/day-2"))", to: day-2, needs: [day-1] }
              - { id: night-2, session: night, url: "\(server.url("/night-2"))", to: night-2, needs: [night-1] }
            """)
        #expect(run.status == 1)
        let outcomes = ["failed", "succeeded", "succeeded", "cancelled", "cancelled"]
        #expect(try run.values("$.tasks[*].outcome") == outcomes)
        #expect(try run.values("$.tasks[*].error.name") == ["unexpectedResponse", "cancelled", "cancelled"])
        #expect(server.requests().count == 3)
    }

    /// `limits.stopWhen` holds in the background process, too.
    @Test func tooManyFailures_stopABackgroundRun() throws {
        let server = try ScriptedServer { _ in .respond(404) }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            """
            limits: { stopWhen: { failed: 100%, atLeast: 2 }, maximumConcurrentTasks: 1 }
            sessions: { night: { configuration: background, identifier: org.example.mixed } }
            tasks:
              - { id: a, type: data, url: "\(server.url("/a"))" }
              - { id: b, type: data, url: "\(server.url("/b"))" }
              - { id: c, type: data, url: "\(server.url("/c"))" }
              - { id: d, type: data, url: "\(server.url("/d"))" }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["failed", "failed", "cancelled", "cancelled"])
        #expect(try run.value("$.stopped") == "`limits.stopWhen` stopped the run when 2 of 2 tasks had failed")
        #expect(server.requests().count == 2)
    }

    /// A signal ends what the command carries; the rest goes on, and the next run joins it.
    @Test func aSignalLeavesTheBackgroundPartAlone() throws {
        let server = try ScriptedServer { _ in [.gate("open")] + .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let job =
            Self.sessions + """
                tasks:
                  - { id: here, session: day, url: "\(server.url("/here"))", to: here }
                  - { id: there, session: night, url: "\(server.url("/there"))", to: there }
                """
        let program = try scene.stage.start(job)
        #expect(server.waitForRequests(2))
        program.send(signal: SIGINT)
        #expect(program.wait().exitStatus == 130)
        #expect(program.errorOutputSoFar.contains("goes on in the background"))
        // What this command carried has its report, as after any signal.
        let report = try JSONParser.parse(scene.folder.bytes(".report.json"))
        let outcomes = try JSONPath("$.tasks[*].outcome").select(from: report).map(\.plainText)
        #expect(outcomes == ["cancelled", "deferred"])
        server.open(gate: "open")
        let run = try scene.stage.run(job)
        #expect(run.status == 0)
        #expect(server.requests("/there").count == 1 && server.requests("/here").count == 2)
    }

    @Test func whatCannotBeCarriedApartIsRefused() throws {
        let stage = try Stage()
        let job =
            Self.sessions + """
                groups: { set: { to: set } }
                tasks:
                  - { id: a, session: day, url: "http://127.0.0.1:1/a", to: a, group: set }
                  - { id: b, session: night, url: "http://127.0.0.1:1/b", to: b, group: set, needs: [a] }
                """
        let run = try stage.run(job)
        #expect(run.status == 2 && run.errorText.contains("[group-across-sessions]"))
        let detached = try stage.run(job.replacing(", group: set", with: ""), "--detach")
        #expect(detached.status == 2 && detached.errorText.contains("[detached-needs]"))
        #expect(detached.errorText.contains("`b` is to be handed over and left, and needs `a`"))
        // At what is wrong, not at the line's beginning.
        #expect(run.errorText.contains("job.yaml:7:5: error: the group `set`"), "\(run.errorText)")
        #expect(detached.errorText.contains("job.yaml:7:73: error: `b` is"), "\(detached.errorText)")
    }

    @Test func whatCannotFitHereIsWarnedAbout() throws {
        let server = try server()
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            Self.sessions + """
                tasks:
                  - { id: here, session: day, url: "\(server.url("/here"))", to: here, expect: { size: \(1 << 50) } }
                  - { id: there, session: night, url: "\(server.url("/there"))", to: there }
                """)
        #expect(run.status == 1)
        #expect(run.errorText.contains("warning: the job is to bring \(1 << 50) bytes to the file system of "))
    }
}
