import TestSupport
import Testing
import TextFormats
import TransferModel

/// Sessions whose requests go over a Unix socket.
@Suite struct UnixSocketTests {
    private let stage: Stage
    private let server: ScriptedServer
    private static let name = "service.sock"

    init() throws {
        stage = try Stage()
        server = try ScriptedServer(unixSocket: stage.folder.path(Self.name))
    }

    private func run(_ tasks: String, session: String = "", environment: [String: String] = [:]) throws -> Stage.Run {
        try stage.run(job(tasks, session: session), environment: environment)
    }

    private func job(_ tasks: String, session: String) -> String {
        """
        defaults: { retry: { attempts: 1 } }
        sessions: { default: { unixSocket: \(Self.name)\(session) } }
        tasks:
        \(tasks)
        """
    }

    @Test func requestsOfEveryKind() throws {
        defer { server.stop() }
        server.on("/a", .respond(200, body: "hello"))
        server.on("POST /b") { .respond(201, body: $0.bodyText) }
        server.on("PUT /c") { .respond(200, body: "\($0.body.count)") }
        server.on("/d", .respond(302, headers: [("Location", "http://other.test/a")]))
        let proxies = ["http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "socks5h://127.0.0.1:1"]
        let run = try run(
            """
              - { id: a, url: "http://service.test/a", to: a }
              - { id: b, url: "http://service.test/b", body: { data: text } }
              - { id: c, type: upload, method: PUT, url: "http://service.test:81/c", body: { file: job.yaml } }
              - { id: d, url: "http://service.test/d" }
              - { id: e, method: HEAD, url: "http://service.test/a" }
            """, environment: proxies)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "hello")
        #expect(try run.task("b", "body.text") == "text")
        #expect(try run.task("d", "body.text") == "hello")
        #expect(server.requests("/a").contains { $0.header("Host") == "other.test" })
        #expect(server.requests("/c").map { $0.header("Host") } == ["service.test:81"])
        for member in ["remoteAddress", "remotePort", "localAddress", "localPort", "isCellular"] {
            #expect(try run.task("a", "attempts[0].transactions[0].\(member)") == nil, "\(member)")
        }
        #expect(try run.task("a", "attempts[0].transactions[0].isProxyConnection") == "false")
        #expect(try run.task("a", "attempts[0].transactions[0].isReusedConnection") == "false")
    }

    /// Each request's answer is its own, however many are under way.
    @Test func manyAtOnce() throws {
        defer { server.stop() }
        let tasks = (0..<200).map { "  - { id: t\($0), url: \"http://h\($0 % 3).test/\($0)\", to: t\($0) }" }
        for number in 0..<200 {
            server.on("/\(number)") { .respond(200, body: "\(number) \($0.header("Host") ?? "")") }
        }
        let run = try run(tasks.joined(separator: "\n"), session: ", maximumConnectionsPerHost: 4")
        #expect(run.status == 0, "\(run.errorText)")
        for number in 0..<200 { #expect(try stage.text("t\(number)") == "\(number) h\(number % 3).test") }
        #expect(server.peakConnections <= 12)
        #expect(try run.value("$.sessions[0].connectionsOpened") == "200")
    }

    @Test func aFileInPartsAndOneThatGoesOn() throws {
        defer { server.stop() }
        let body = Script.patternBytes(4 << 20)
        server.serve("/f", ServedResource(body))
        var half = Script([.bytes(Script.head(200, [("ETag", "\"v\""), ("Content-Length", "\(body.count)")]))])
        half.steps += [.bytes(Array(body.prefix(1 << 20))), .reset]
        server.on("/g", scripts: [half])
        let first = try run("  - { id: f, url: \"http://s.test/f\", to: f, segments: 4 }")
        #expect(first.status == 0, "\(first.errorText)")
        #expect(try stage.folder.bytes("f") == body)
        #expect(try run("  - { id: g, url: \"http://s.test/g\", to: g }").status == 1)
        server.on("/g") { request in
            #expect(request.header("Range")?.hasPrefix("bytes=") == true)
            let start = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            return .respond(
                206,
                headers: [("ETag", "\"v\""), ("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")],
                body: Array(body.dropFirst(start)))
        }
        let second = try run("  - { id: g, url: \"http://s.test/g\", to: g }")
        #expect(second.status == 0, "\(second.errorText)")
        #expect(try stage.folder.bytes("g") == body)
    }

    /// A challenge is answered on another connection; TLS inside checks the URL's name.
    @Test func loginsAndTLS() throws {
        defer { server.stop() }
        server.on("/a") { request in
            request.header("Authorization") == nil
                ? .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")], body: "who?")
                : .respond(200, body: "in")
        }
        let login = try run(
            "  - { id: a, url: \"http://s.test/a\" }",
            session: ", credentials: [{ host: s.test, user: ada, password: lovelace }]")
        #expect(try login.task("a", "body.text") == "in", "\(login.errorText)")
        let secure = try ScriptedServer(
            tls: TLSOptions(flaw: .otherHost), unixSocket: stage.folder.path("secure.sock"))
        defer { secure.stop() }
        secure.on("/a", .respond(200, body: "secure"))
        let run = try stage.run(
            """
            sessions: { default: { unixSocket: secure.sock, tls: { trust: { ca: \(secure.caFile ?? "") } } } }
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: a, url: "https://elsewhere.test/a" }
              - { id: b, url: "https://localhost/a" }
            """)
        #expect(try run.task("a", "body.text") == "secure", "\(run.errorText)")
        #expect(try run.task("a", "attempts[0].transactions[0].negotiatedTLSProtocolVersion") == "772")
        #expect(try run.task("b", "error.name") == "serverCertificateWrongHost")
    }

    /// No network is needed, unless `--network` says what there is, as of loopback.
    @Test func withoutANetwork() throws {
        defer { server.stop() }
        server.on("/a", .respond(200, body: "hello"))
        let task = "  - { id: a, url: \"http://service.test/a\", to: a }"
        let terms = ", allowsCellularAccess: false, allowsExpensiveNetworkAccess: false"
        #expect(try run(task, session: terms).status == 0)
        if NetworkNamespace.isAllowed {
            let namespace = try NetworkNamespace()
            try stage.folder.write("job.yaml", job(task, session: terms))
            let result = try stage.binary.start(["job.yaml"], under: namespace.wrapper).wait()
            #expect(result.exitStatus == 0, "\(result.errorText)")
        }
        let dictated = try run(task, environment: ["TRANSFER_RUN_NETWORK": "none"])
        #expect(try dictated.task("a", "error.name") == "notConnectedToInternet")
    }

    // MARK: Where nothing listens

    @Test func whatIsWrongIsSaid() throws {
        server.stop()
        let gone = try run("  - { id: a, url: \"http://service.test/a\", to: a }")
        #expect(gone.status == 1)
        #expect(try gone.task("a", "error.name") == "cannotConnectToHost")
        let path = stage.folder.path(Self.name)
        #expect(
            try gone.task("a", "error.message") == "cannot connect to the Unix socket \(path): Connection refused")
        stage.folder.remove(Self.name)
        let missing = try run("  - { id: a, url: \"http://service.test/a\", to: a }")
        #expect(
            try missing.task("a", "error.message")
                == "cannot connect to the Unix socket \(path): No such file or directory")
    }

    // MARK: Background

    /// The path is the job's, wherever the background process works.
    @Test func inTheBackground() throws {
        server.on("/a", .respond(200, body: "text"))
        let scene = try BackgroundStage(stage, server)
        let run = try stage.run(
            scene.job("{ id: a, url: \"http://service.test/a\", to: a }", more: ", unixSocket: \(Self.name)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "text")
    }

    @Test func checkTellsOfIt() throws {
        defer { server.stop() }
        try stage.folder.write(
            "job.yaml",
            """
            sessions: { default: { unixSocket: \(Self.name) } }
            tasks: [{ id: a, url: "http://service.test/a" }]
            """)
        let result = try stage.binary.run("check", "job.yaml")
        #expect(result.errorText.contains("ask the service at 1 Unix socket: \(stage.folder.path(Self.name))"))
        let whole = try stage.binary.run("check", "--explain-access", "job.yaml")
        #expect(whole.outputText.contains("service.sock  (job.yaml:1: session `default`)"), "\(whole.outputText)")
    }
}
