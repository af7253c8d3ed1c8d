import TestSupport
import Testing
import TransferModel

/// `Expect: 100-continue`: a body goes out only once the server wants it, and whoever does not know the word gets it without.
@Suite struct ContinueTests {
    private func job(_ server: ScriptedServer, _ method: String, _ body: String) -> String {
        """
        sessions: { default: { http: { expectContinue: true }, maximumConnectionsPerHost: 1 } }
        defaults: { retry: { attempts: 1 } }
        tasks: [{ id: a, type: upload, method: \(method), url: "\(server.url("/a"))", body: { \(body) } }]
        """
    }

    /// The expectation alone was refused (RFC 9110, section 10.1.1): nothing speaks against the same request without it.
    @Test(arguments: ["PUT", "POST"], [false, true])
    func whoRefusesTheExpectationIsAskedWithout(_ method: String, _ closes: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/a", [.ignoreBody] + .respond(417, body: "what?", close: closes), .respond(201, body: "stored"))
        let stage = try Stage()
        try stage.folder.write("large", Script.patternBytes(2 << 20))
        let run = try stage.run(job(server, method, "file: large"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map { $0.header("Expect") } == ["100-continue", nil])
        #expect(server.requests().map(\.body.count) == [0, 2 << 20])
        #expect(try run.values("$.tasks[0].attempts[*].transactions[*].response.status") == ["417", "201"])
        #expect(try run.task("a", "response.status") == "201")
        #expect(run.story(of: "a").count { $0 == "response" } == 1)
    }

    @Test func whoRefusesBothIsAnswered() throws {
        let server = try ScriptedServer { _ in [.ignoreBody] + .respond(417, body: "no", close: true) }
        defer { server.stop() }
        let run = try Stage().run(job(server, "PUT", "data: hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "unexpectedResponse")
        #expect(server.requests().map { $0.header("Expect") } == ["100-continue", nil])
    }

    /// Nobody asked for anything of it yet: it need not be run twice.
    @Test func aCommandThatNobodyHeardIsTheBodyStill() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.ignoreBody] + .respond(417, close: true), .respond(201))
        let stage = try Stage()
        let run = try stage.run(job(server, "PUT", "stream: { command: [sh, -c, \"echo x >> ran; echo hello\"] }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("ran") == "x\n")
        #expect(server.requests().map(\.bodyText) == ["", "hello\n"])
        #expect(run.story(of: "a").count { $0 == "needNewBodyStream" } == 1)
    }

    /// What was to be stored never went there.
    @Test(arguments: ["data: hello", "stream: { command: [echo, hello] }"])
    func whoIsDoneWithoutTheBodyHasNotStoredIt(_ body: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.ignoreBody] + .respond(201, close: true))
        let run = try Stage().run(job(server, "PUT", body))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "badServerResponse")
        #expect(try run.task("a", "error.message")?.contains("answered 201 without asking for the body") == true)
    }

    /// It may wait for it all the same, and would take the next request for it.
    @Test(arguments: [200, 303]) func anAnswerInTheBodysPlaceEndsTheConnection(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.ignoreBody] + .respond(status, headers: [("Location", server.url("/c"))]))
        server.on("/b", .respond(200))
        server.on("/c", .respond(200))
        let run = try Stage().run(
            """
            sessions: { default: { http: { expectContinue: true }, maximumConnectionsPerHost: 1 } }
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { data: hello } }
              - { id: b, url: "\(server.url("/b"))" }
            """)
        #expect(run.status == (status == 303 ? 0 : 1))
        #expect(server.requests("/a").map { $0.header("Expect") } == ["100-continue"])
        let others = server.requests("/b") + server.requests("/c")
        #expect(others.count == (status == 303 ? 2 : 1) && others.allSatisfy { $0.connection != 1 })
    }

    /// A server that wants to know who sends a long body gets it once, and is not asked again when it let the login in.
    @Test func aLongBodyThatALoginMayCost_isAskedFor() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/a", "/b"] {
            server.onHead(path) { request in
                if request.header("Authorization") != nil { return [.readBody] + .respond(201) }
                return [.ignoreBody] + .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
            }
        }
        let stage = try Stage()
        try stage.folder.write("large", Script.patternBytes(5 << 20))
        let run = try stage.run(
            """
            sessions: { default: { credentials: [{ user: ada, password: lovelace }] } }
            defaults: { type: upload, method: PUT, body: { file: large }, retry: { attempts: 1 } }
            tasks:
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, needs: [a], url: "\(server.url("/b"))" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map { $0.header("Expect") } == ["100-continue", "100-continue", nil])
        #expect(server.requests().map(\.body.count) == [0, 5 << 20, 5 << 20])
    }

    /// There is nothing to ask for.
    @Test func anEmptyBodyNeedsNoAsking() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        #expect(try Stage().run(job(server, "PUT", "data: \"\"")).status == 0)
    }

    /// The server says no at once: the body stays here, and what was announced on that connection never comes.
    @Test func aRefusalKeepsTheBodyHere() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.ignoreBody] + .respond(403, body: "no") + [.stall])
        let run = try Stage().run(job(server, "PUT", "data: hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("403") == true)
        #expect(try run.task("a", "attempts[0].transactions[0].countOfRequestBodyBytesSent") == "0")
        #expect(server.requests().count == 1)
    }
}
