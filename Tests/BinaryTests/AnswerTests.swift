import TestSupport
import Testing
import TextFormats
import TransferModel

/// Unusual answers that are right all the same, and what the report tells of them.
@Suite struct AnswerTests {
    @Test func answersBeforeTheFinalOneAreNotTheResult() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        server.on("/early", [.send(early)] + .respond(200, headers: [("X-Final", "yes")], body: "final"))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/early"))', to: a }]")
        #expect(run.status == 0)
        #expect(try stage.text("a") == "final")
        #expect(try run.task("a", "response.status") == "200")
        #expect(run.story(of: "a").count { $0 == "response" } == 1)
    }

    /// Nobody asked for another protocol: what comes after a 101 is no answer, and its connection serves nobody else.
    @Test(arguments: ["", ", method: POST, body: { data: hello }"])
    func aSwitchOfProtocolsIsNoAnswer(_ keys: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        let other = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"
        for method in ["GET", "POST"] { server.on("\(method) /a", [.send(answer), .send(other), .stall]) }
        server.on("/after", .respond(200, body: "x"))
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", allowFailure: true, retry: { attempts: 1 }, timeoutForRequest: 60s\(keys) }
              - { id: after, url: "\(server.url("/after"))", needs: [a] }
            """)
        #expect(run.result.duration < .seconds(30))
        #expect(try run.task("a", "error.name") == "badServerResponse")
        #expect(try run.task("a", "error.message")?.contains("101") == true)
        #expect(try run.task("after", "outcome") == "succeeded")
        #expect(server.totalConnections == 2)
    }

    /// What a HEAD announces is what it tells of a body.
    @Test func aHEADIsHeldAgainstTheSizesExpected() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("HEAD /a", .headOnly(200, length: 5))
        let stage = try Stage()
        let wanted = ["size: 5", "minimumSize: 5", "size: 4", "minimumSize: 6"]
        let tasks = wanted.enumerated().map {
            "  - { id: t\($0), method: HEAD, url: '\(server.url("/a"))', expect: { \($1) } }\n"
        }
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "failed", "failed"])
        #expect(try run.task("t2", "error.message") == "expected 4 bytes, the server announced 5")
    }

    @Test func aHEADHasALengthAndNoBody() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("HEAD /a", .headOnly(200, headers: [("ETag", "\"1\"")], length: 12_345))
        server.on("/after", .respond(200, body: "x"))
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: a, method: HEAD, url: "\(server.url("/a"))" }
              - { id: after, needs: [a], url: "\(server.url("/after"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "response.status") == "200")
        #expect(server.totalConnections == 1)
    }

    @Test func aLabelNobodyAskedForLeavesTheBytesAsTheyAre() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let packed: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        server.on("/a.gz", .respond(200, headers: [("Content-Encoding", "gzip")], body: packed))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a.gz"))', to: a.gz }]")
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a.gz") == packed)
        #expect(try run.task("a", "response.contentEncoding") == "gzip")
        #expect(["identity", nil].contains(server.requests().first?.header("Accept-Encoding")))
    }

    @Test func bodiesInTheReport() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/text", .respond(200, body: "grüße\n\u{1}\""))
        server.on("/bytes", .respond(200, body: [0xFF, 0xFE, 0]))
        server.on("/long", .respond(200, body: Array(repeating: UInt8(ascii: "a"), count: 100_000)))
        server.on("/none", .respond(204))
        let run = try Stage().run(
            """
            tasks:
              - { id: text, url: "\(server.url("/text"))" }
              - { id: bytes, url: "\(server.url("/bytes"))" }
              - { id: long, url: "\(server.url("/long"))" }
              - { id: none, url: "\(server.url("/none"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("text", "body.text") == "grüße\n\u{1}\"")
        #expect(try run.task("bytes", "body.base64") == "//4A")
        #expect(try run.task("long", "body.truncated") == "true")
        #expect(try run.task("long", "body.text")?.utf8.count == 65_536)
        #expect(try run.task("none", "outcome") == "succeeded")
    }

    @Test func secretsThatComeBackAreMasked() throws {
        let secret = "p4ss/w+rd & more"
        let server = try ScriptedServer { request in
            .respond(
                200, headers: [("X-Echo", request.header("X-Key") ?? "")],
                body: "\(request.header("X-Key") ?? "none") p4ss%2Fw%2Brd%20%26%20more cDRzcy93K3JkICYgbW9yZQ==")
        }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            secrets: { KEY: { env: KEY } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", headers: { X-Key: "${secret.KEY}" } }
              - { id: file, url: "\(server.url("/a"))", headers: { X-Key: "${secret.KEY}" }, to: kept }
            """, "-v", environment: ["KEY": secret])
        #expect(run.status == 0)
        // What was asked for is written as it came; what is told is masked.
        #expect(try stage.text("kept").hasPrefix(secret))
        // What pads base64 says nothing.
        let body = try run.task("a", "body.text")
        #expect(body == "*** *** ***==")
        let told = [run.report.plainText ?? "", run.errorText] + run.events.compactMap { $0.plainText }
        for form in [secret, "p4ss%2Fw%2Brd", "cDRzcy93K3JkICYgbW9yZQ"] {
            #expect(!told.contains { $0.contains(form) }, "\(form)")
        }
    }

    @Test func aSecretDoesNotGoToAHostItIsNotBoundTo() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            secrets: { KEY: { env: KEY, hosts: [api.example.org] } }
            tasks: [{ id: a, url: "\(server.url("/a"))", headers: { X-Key: "${secret.KEY}" } }]
            """, environment: ["KEY": "bound"])
        #expect(run.status != 0)
        #expect(server.requests().isEmpty)
        #expect(!run.errorText.contains("bound "))
    }

    @Test func connectionsServeAgainAfterAnErrorPage() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/gone", .respond(404, body: Array(repeating: 0x20, count: 20_000)))
        server.on("/ok", .respond(200, body: "x"))
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: gone, url: "\(server.url("/gone"))", to: a, allowFailure: true }
              - { id: ok, needs: [gone], url: "\(server.url("/ok"))", to: b }
            """)
        #expect(run.status == 0)
        #expect(server.totalConnections == 1)
        #expect(try run.value("$.sessions[0].connectionsReused") == "1")
    }

    @Test func anUploadMayBeAnsweredBeforeItsEnd() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/full", [.ignoreBody] + .respond(507, body: "no room", close: true))
        let stage = try Stage()
        try stage.folder.write("large", Script.patternBytes(8 << 20))
        let run = try stage.run(
            """
            tasks: [{ id: a, method: PUT, type: upload, url: "\(server.url("/full"))", body: { file: large }, retry: { attempts: 1 } }]
            """)
        #expect(run.status == 1)
        // The server's word, where it could still be read; else that the connection broke. Never a success.
        let name = try run.task("a", "error.name")
        #expect(["unexpectedResponse", "networkConnectionLost"].contains(name))
    }

    @Test func continueIsAskedForOnlyWhenTheJobSaysSo() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("large", Script.patternBytes(2 << 20))
        let task = "{ id: a, method: PUT, type: upload, url: '\(server.url("/a"))', body: { file: large } }"
        #expect(try stage.run("tasks: [\(task)]").status == 0)
        #expect(
            try stage.run("sessions: { default: { http: { expectContinue: true } } }\ntasks: [\(task)]").status == 0)
        #expect(server.requests().map { $0.header("Expect") } == [nil, "100-continue"])
        #expect(server.requests().allSatisfy { $0.body.count == 2 << 20 })
    }

    @Test func redirectsBetweenTwoFullHostsDoNotLockUp() throws {
        let left = try ScriptedServer()
        let right = try ScriptedServer()
        defer {
            left.stop()
            right.stop()
        }
        left.on("/go") { [url = right.url("/land")] _ in [.wait(.milliseconds(2))] + .redirect(302, to: url) }
        right.on("/go") { [url = left.url("/land")] _ in [.wait(.milliseconds(2))] + .redirect(302, to: url) }
        left.on("/land", .respond(200, body: "left"))
        right.on("/land", .respond(200, body: "right"))
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: "a-${n}", forEach: { n: 1..20 }, url: "\(left.url("/go"))" }
              - { id: "b-${n}", forEach: { n: 1..20 }, url: "\(right.url("/go"))" }
            """)
        #expect(run.status == 0)
        #expect(left.peakConnections == 1)
        #expect(right.peakConnections == 1)
        #expect(left.requests("/land").count + right.requests("/land").count == 40)
    }

    @Test func wrongJobsAreRefusedAsAWhole() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: a, needs: [b], url: "\(server.url("/a"))", to: same }
              - { id: b, needs: [a], url: "\(server.url("/b"))", to: same }
              - { id: b, url: "${nowhere}/c" }
            """)
        #expect(run.status == 2)
        #expect(run.errorText.contains("nowhere"))
        #expect(run.errorText.contains("job.yaml:4:"))
        #expect(server.requests().isEmpty)
    }
}
