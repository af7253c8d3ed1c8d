import Glibc
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Bodies that a command writes, or that come in on standard input.
@Suite struct StreamBodyTests {
    private func job(_ server: ScriptedServer, _ stream: String, _ more: String = "") -> String {
        """
        sessions: { default: { retry: { attempts: 2, backoff: { initial: 10ms } } } }
        tasks:
          - { id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { stream: { \(stream) } } \(more) }
        """
    }

    /// The report says when the body was sent, when its answer began and when that ended. The server alone paused twice
    /// between the request's first byte and the answer's last, however late this process was to see a step.
    @Test(arguments: Transport.allCases) func theReportTellsHowLongTheBodyTook(_ transport: Transport) throws {
        let server = try transport.server()
        defer { server.stop() }
        let pause = Script.Step.wait(.milliseconds(300))
        server.on("/a", [pause] + .headOnly(200, length: 2) + [pause, .bytes([1, 2])])
        let run = try Stage().run(
            """
            \(transport.session(server))
            tasks:
              - id: a
                type: upload
                method: PUT
                url: "\(server.url("/a"))"
                body: { stream: { command: [sh, -c, "printf a; sleep 0.3; printf b"] } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        let times = try ["requestStart", "requestEnd", "responseStart", "responseEnd"].map {
            let text = try run.value("$.tasks[0].attempts[0].transactions[0].\($0)Date")
            return try #require(text.flatMap { RFC3339.parse($0) })
        }
        #expect(times[0] < times[1] && times[1] < times[2] && times[2] <= times[3], "\(times)")
        #expect((times[3] - times[0]).seconds > 0.59 && (times[3] - times[0]).seconds < 600, "\(times)")
    }

    /// Whatever goes wrong with the command, no server is told that this was all.
    @Test(arguments: [
        ("command: [sh, -c, 'printf abc; exit 3']", "ended with status 3"),
        ("command: [sh, -c, 'printf abc; kill -9 $$$$']", "ended by signal 9"),
        ("command: [sh, -c, 'printf abc; exit 3'], length: 3", "ended with status 3"),
        ("command: [sh, -c, 'printf abc'], length: 4", "wrote 3 bytes and not the 4"),
        ("command: [sh, -c, 'printf abcd'], length: 3", "wrote more than the 3 bytes"),
        ("command: ['yes'], length: 1000000", "wrote more than the 1000000 bytes"),
        ("command: [./nowhere]", "cannot be run"),
    ])
    func aBodyThatIsNotWholeIsNoBody(_ stream: String, _ reason: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(job(server, stream))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "bodyCommandFailed")
        #expect(try run.task("a", "error.message")?.contains(reason) == true)
        // It cannot heal: one attempt.
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed"])
        server.stop()
        #expect(server.requests("/a").allSatisfy { !$0.isComplete })
    }

    /// What a command is given it may write.
    @Test func aSecretOfTheCommandGoesWhereItMay() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        func run(_ host: String) throws -> Stage.Run {
            try Stage().run(
                "secrets: { K: { hosts: [\(host)] } }\n" + job(server, "command: [echo, '${secret.K}']"),
                environment: ["K": "the-secret-word"])
        }
        let elsewhere = try run("example.org")
        #expect(try elsewhere.task("a", "error.name") == "secretBarred")
        #expect(server.requests().isEmpty)
        #expect(elsewhere.errorText.contains("secret-in-command"))
        #expect(try run("127.0.0.1").status == 0)
        #expect(server.requests().count == 1)
    }

    /// What went around its pieces on the line is no part of it.
    @Test func theLineTellsWhatTheCommandWrote() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(job(server, "command: [printf, abcde]"))
        #expect(run.status == 0 && server.requests("/a").first?.body == Array("abcde".utf8))
        #expect((run.errorText + run.result.outputText).contains("a  5 B  "))
    }

    @Test func aCommandRunsInTheJobsFolderAndSeesNoShell() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("here.txt", "in the folder")
        let run = try stage.run(job(server, "command: [cat, here.txt, './here.txt']"))
        #expect(run.status == 0)
        #expect(server.requests("/a").first?.bodyText == "in the folderin the folder")
    }

    /// The command's end is not its output's: what it started may still write.
    @Test(arguments: ["", ", length: 1000005"])
    func whatTheCommandStartedIsWaitedFor(_ length: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let command = "(sleep 0.3; head -c 1000000 /dev/zero; printf rest) & printf a"
        let run = try Stage().run(job(server, "command: [sh, -c, '\(command)']\(length)"))
        #expect(run.status == 0)
        let body = server.requests("/a").first?.body
        #expect(body?.count == 1_000_005 && body?.suffix(5) == Array("\0rest".utf8)[...])
    }

    @Test func aStreamThatIsHeldOpenTimesOut() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            job(
                server, "command: [sh, -c, 'sleep 100 & echo $! > pid; printf a']",
                ", timeoutForRequest: 300ms, retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "timedOut")
        server.stop()
        #expect(server.requests("/a").allSatisfy { !$0.isComplete })
        let process = try #require(Int32(try stage.text("pid").filter { $0 != "\n" }))
        waitUntil { !CurrentProcess.processExists(process) }
        #expect(!CurrentProcess.processExists(process))
    }

    /// A command that is slower than the network is waited for, and what it wrote goes out meanwhile.
    @Test func aSlowCommandIsWaitedForWithoutHoldingAnybodyUp() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(201))
        server.on("/quick", .respond(200, body: "x"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - id: a
                type: upload
                method: PUT
                url: \(server.url("/a"))
                body: { stream: { command: [sh, -c, 'for i in 1 2 3 4; do printf "part $i;"; sleep 0.1; done'] } }
              - { id: quick, url: "\(server.url("/quick"))" }
            """)
        #expect(run.status == 0)
        let arrived = try #require(server.requests("/a").first)
        #expect(arrived.bodyText == "part 1;part 2;part 3;part 4;")
        #expect(arrived.chunks.count > 1)
        #expect(try run.value("$.totals.bytesSent").flatMap { Int($0) } ?? 0 >= arrived.body.count)
        let before = "$.tasks[0].attempts[0].transactions[0].countOfRequestBodyBytesBeforeEncoding"
        #expect(try run.value(before) == "\(arrived.body.count)")
    }

    @Test func aCommandThatWritesNothingTimesOutAndIsEnded() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            job(
                server, "command: [sh, -c, 'echo $$$$ > pid; exec sleep 100']",
                ", timeoutForRequest: 300ms, retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "timedOut")
        try expectGone(stage)
    }

    @Test func aFastCommandWaitsForASlowServerInLittleMemory() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.wait(.milliseconds(300)), .readBody] + Script.respond(201))
        let run = try Stage().run(job(server, "command: [head, -c, '20000000', /dev/zero]"))
        #expect(run.status == 0)
        #expect(server.requests("/a").first?.body.count == 20_000_000)
    }

    // MARK: Standard input

    private static let input = ["/bin/sh", "-c", "printf 'from outside' | exec \"$@\"", "sh"]

    @Test func standardInputIsSent() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(job(server, "command: ['-']"), under: Self.input)
        #expect(run.status == 0)
        #expect(server.requests("/a").first?.bodyText == "from outside")
        #expect(run.story(of: "a").filter { $0 == "needNewBodyStream" }.count == 1)
    }

    @Test func standardInputIsSentOnce() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .redirect(307, to: "/b"))
        let run = try Stage().run(job(server, "command: ['-']"), under: Self.input)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "requestBodyStreamExhausted")
        #expect(try run.task("a", "error.code") == "-1021")
        #expect(run.story(of: "a").filter { $0 == "needNewBodyStream" }.count == 2)
        #expect(server.requests("/b").isEmpty)
    }

    /// There is one standard input.
    @Test func aJobOnStandardInputCannotSendIt() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let binary = try Binary()
        let result = try binary.start(["-"], input: job(server, "command: ['-']")).wait()
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("standard input is the job file already"))
        #expect(server.requests().isEmpty && binary.folder.list().isEmpty)
    }

    @Test func aRunThatIsStoppedEndsItsCommands() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.readBody, .stall])
        let stage = try Stage()
        let program = try stage.start(job(server, "command: [sh, -c, 'echo $$$$ > pid; printf x; exec sleep 100']"))
        #expect(server.waitForRequests(1))
        waitUntil { (try? stage.text("pid").isEmpty) == false }
        program.send(signal: 15)
        let run = try stage.finish(program)
        #expect(run.status == 143)
        try expectGone(stage)
    }

    /// Nothing of the command is left when the run has ended.
    private func expectGone(_ stage: Stage) throws {
        let process = try #require(try stage.text("pid").split(separator: "\n").first)
        #expect((try? TemporaryTree.bytes(at: "/proc/\(process)/stat")) == nil)
    }
}
