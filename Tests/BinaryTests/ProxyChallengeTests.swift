import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Proxies that ask who is there (407), before a tunnel is open and in the place of an answer.
@Suite struct ProxyChallengeTests {
    private static let basicA = "Basic YWRhOmxvdmVsYWNl"  // ada:lovelace
    private static let ada = "{ proxy: true, user: ada, password: lovelace }"

    /// Whoever is let in gets through to `port`, or an answer of the proxy's own.
    private func proxy(
        offering offers: String..., before port: UInt16? = nil, status: Int = 407,
        letsIn: @escaping @Sendable (ReceivedRequest) -> Bool = { $0.headers("Proxy-Authorization") == [Self.basicA] }
    ) throws -> ScriptedServer {
        try ScriptedServer { request in
            guard letsIn(request) else {
                return .respond(status, headers: offers.map { ("Proxy-Authenticate", $0) }, body: "who?")
            }
            if request.method == "CONNECT", let port { return Self.tunnel(to: port) }
            return .respond(200, body: "by way of it: \(request.bodyText)")
        }
    }

    private static func tunnel(to port: UInt16) -> Script { [.send("HTTP/1.1 200 Go on\r\n\r\n"), .relay(to: port)] }

    private func secure() throws -> ScriptedServer {
        try ScriptedServer(tls: TLSOptions()) { .respond(200, body: "hello \($0.bodyText)") }
    }

    private func session(_ proxy: ScriptedServer, _ more: String, to server: ScriptedServer? = nil) -> String {
        let trust = server?.caFile.map { ", tls: { trust: { ca: \($0) } }" } ?? ""
        return "sessions: { default: { configuration: ephemeral, retry: { attempts: 2, backoff: { initial: 10ms } }, "
            + "proxy: \"http://127.0.0.1:\(proxy.port)\"\(trust), \(more) } }\n"
    }

    private func shown(_ server: ScriptedServer) -> [String?] {
        server.requests().map { $0.header("Proxy-Authorization") }
    }

    private func told(_ run: Stage.Run, _ task: Int = 0) throws -> [String] {
        try JSONPath("$.tasks[\(task)].challenges[*]").select(from: run.report).map { challenge in
            ["method", "disposition", "previousFailureCount"].map { challenge[$0]?.plainText ?? "-" }
                .joined(separator: " ")
        }
    }

    private func says(_ run: Stage.Run, _ words: String...) -> Bool {
        let all = run.errorText + (run.report.plainText ?? "") + run.events.compactMap(\.plainText).joined()
        return words.contains { all.contains($0) }
    }

    // MARK: Basic

    @Test func itAnswersAPlainRequest() throws {
        let proxy = try proxy(offering: "Basic realm=\"gate\"")
        defer { proxy.stop() }
        let run = try Stage().run(
            session(proxy, "credentials: [\(Self.ada)]")
                + """
                tasks:
                  - { id: a, url: "http://first.example/a" }
                  - { id: b, needs: [a], method: POST, url: "http://second.example/b", body: { data: all of it } }
                """)
        #expect(run.status == 0)
        #expect(try run.task("b", "body.text") == "by way of it: all of it")
        // Asked once, and then let in unasked, to whatever host.
        #expect(shown(proxy) == [nil, Self.basicA, Self.basicA])
        #expect(try told(run) == ["basic use 0"])
        #expect(try told(run, 1).isEmpty)
        #expect(try run.task("a", "challenges[0].host") == "127.0.0.1:\(proxy.port)")
        #expect(try run.task("a", "challenges[0].realm") == "gate")
        #expect(!says(run, "lovelace", Self.basicA))
    }

    @Test func itAnswersBeforeATunnel() throws {
        let server = try secure()
        let proxy = try proxy(offering: "Basic realm=\"gate\"", before: server.port)
        defer { for one in [server, proxy] { one.stop() } }
        let stage = try Stage()
        let run = try stage.run(
            session(proxy, "credentials: [\(Self.ada)]", to: server)
                + """
                tasks:
                  - { id: a, url: "\(server.url("/a"))", to: a }
                  - { id: b, needs: [a], type: upload, method: POST, url: "\(server.url("/b"))", body: { data: all of it } }
                """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "hello ")
        #expect(try run.task("b", "body.text") == "hello all of it")
        #expect(proxy.requests().allSatisfy { $0.method == "CONNECT" })
        #expect(shown(proxy).first == .some(nil) && shown(proxy).dropFirst().allSatisfy { $0 == Self.basicA })
        // Nothing of it comes out at the other end, and nothing is sent twice.
        #expect(server.requests().map(\.method) == ["GET", "POST"])
        #expect(server.requests().allSatisfy { !String(decoding: $0.head, as: UTF8.self).contains("roxy") })
        #expect(try told(run) == ["basic use 0"])
        #expect(try run.value("$.totals.attempts") == "2")
        #expect(try run.task("a", "response.status") == "200")
        #expect(!says(run, "lovelace", Self.basicA))
    }

    @Test(arguments: [true, false]) func aWrongPasswordIsSentOnce(_ isTunnel: Bool) throws {
        let proxy = try proxy(offering: "Basic realm=\"gate\"")
        defer { proxy.stop() }
        let run = try Stage().run(
            session(proxy, "credentials: [{ proxy: true, user: ada, password: byronbyron }]")
                + "tasks: [{ id: a, url: \"http\(isTunnel ? "s" : "")://first.example/a\" }]")
        #expect(run.status == 1)
        #expect(shown(proxy) == [nil, "Basic YWRhOmJ5cm9uYnlyb24="])
        #expect(try told(run) == ["basic use 0", "basic default 1"])
        let name = try run.task("a", "error.name")
        #expect(name == (isTunnel ? "proxyAuthenticationRequired" : "unexpectedResponse"))
        #expect(!says(run, "byronbyron", "YWRhOmJ5cm9uYnlyb24"))
    }

    @Test(arguments: [true, false]) func whoIsNobodyIsToldSo(_ isTunnel: Bool) throws {
        let proxy = try proxy(offering: "Basic realm=\"gate\"")
        defer { proxy.stop() }
        // What is for servers is for no proxy.
        let run = try Stage().run(
            session(proxy, "credentials: [{ host: \"*\", user: ada, password: lovelace }]")
                + "tasks: [{ id: a, url: \"http\(isTunnel ? "s" : "")://ada:lovelace@first.example/a\" }]")
        #expect(run.status == 1)
        #expect(shown(proxy) == [nil])
        #expect(try told(run) == ["basic default 0"])
        #expect(try run.task("a", "error.message")?.contains("127.0.0.1:\(proxy.port)") == true)
        #expect(try run.task("a", "explanation")?.contains("wants to know who asks") == true)
        #expect(try run.task("a", "explanation")?.contains("under `credentials` with `proxy: true`") == true)
    }

    @Test(arguments: [true, false]) func rulesCountForProxies(_ isTunnel: Bool) throws {
        for (rule, outcome, name) in [("cancel", "cancelled", "cancelled"), ("default", "failed", "")] {
            let proxy = try proxy(offering: "Basic realm=\"gate\"")
            defer { proxy.stop() }
            let run = try Stage().run(
                session(proxy, "credentials: [\(Self.ada)], challenges: [{ realm: gate, do: \(rule) }]")
                    + "tasks: [{ id: a, url: \"http\(isTunnel ? "s" : "")://first.example/a\" }]")
            #expect(shown(proxy) == [nil])
            #expect(try run.task("a", "outcome") == outcome)
            if !name.isEmpty { #expect(try run.task("a", "error.name") == name) }
            #expect(try told(run) == ["basic \(rule) 0"])
        }
    }

    /// Through a tunnel comes what the server says, whatever it says.
    @Test func aServersOwn407IsItsAnswer() throws {
        let server = try ScriptedServer(tls: TLSOptions()) { _ in
            .respond(407, headers: [("Proxy-Authenticate", "Basic realm=\"gate\"")], body: "give me it")
        }
        let proxy = try proxy(offering: "Basic realm=\"gate\"", before: server.port) { _ in true }
        defer { for one in [server, proxy] { one.stop() } }
        let run = try Stage().run(
            session(proxy, "credentials: [\(Self.ada)]", to: server)
                + "tasks: [{ id: a, url: \"\(server.url("/a"))\", expect: { status: 407 } }]")
        #expect(run.status == 0)
        #expect(shown(proxy) == [nil] && server.requests().count == 1)
        #expect(try told(run).isEmpty)
    }

    // MARK: Digest

    /// Believes the rules' own answers.
    private func isRight(_ request: ReceivedRequest, _ line: String, password: String) -> Bool {
        guard let shown = request.header("Proxy-Authorization"), shown.hasPrefix("Digest "),
            let offer = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", line)])).first,
            let challenge = DigestChallenge(offer),
            let fields = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", shown)])).first
        else { return false }
        var state = DigestState(challenge)
        var expected: SecretText?
        let target = request.target.hasPrefix("http:") ? "/" + request.target.split(separator: "/")[2] : request.target
        for _ in 0..<(Int(fields["nc"] ?? "", radix: 16) ?? 0) {
            expected = state.authorization(
                .found(user: "ada", password: password),
                for: DigestedRequest(method: request.method, target: target) { [] },
                clientNonce: fields["cnonce"] ?? "")
        }
        return expected?.revealed == shown
    }

    @Test(arguments: ["MD5", "SHA-256"]) func digest(_ algorithm: String) throws {
        let line = "Digest realm=\"gate\", nonce=\"n\", qop=\"auth\", algorithm=\(algorithm)"
        let server = try secure()
        let proxy = try proxy(offering: "Basic realm=\"gate\"", line, before: server.port) {
            isRight($0, line, password: "lovelace")
        }
        defer { for one in [server, proxy] { one.stop() } }
        let run = try Stage().run(
            session(proxy, "http: { version: \"1.1\" }, credentials: [\(Self.ada)]", to: server)
                + """
                tasks:
                  - { id: a, url: "http://first.example/a" }
                  - { id: b, needs: [a], url: "\(server.url("/b"))" }
                  - { id: c, needs: [b], url: "http://first.example/c" }
                """)
        #expect(run.status == 0)
        #expect(proxy.requests().map(\.method) == ["GET", "GET", "CONNECT", "GET"])
        #expect(try told(run) == ["digest use 0"])
        #expect(try told(run, 1).isEmpty && told(run, 2).isEmpty)
        #expect(!says(run, "lovelace"))
    }

    /// The URL's password goes out as Basic, as ever. Where that is not what is wanted, it is shown in another way.
    @Test(arguments: [true, false]) func theURLsOwnPassword(_ isTunnel: Bool) throws {
        let line = "Digest realm=\"gate\", nonce=\"n\", qop=\"auth\""
        let server = try secure()
        let proxy = try proxy(offering: line, before: server.port) { isRight($0, line, password: "love lace") }
        defer { for one in [server, proxy] { one.stop() } }
        let url = isTunnel ? server.url("/a") : "http://first.example/a"
        let run = try Stage().run(
            session(proxy, "http: { compression: false }", to: server)
                .replacing("127.0.0.1:\(proxy.port)", with: "ada:love%20lace@127.0.0.1:\(proxy.port)")
                + "tasks: [{ id: a, url: \"\(url)\" }]")
        #expect(run.status == 0)
        #expect(shown(proxy).map { $0?.prefix(6) } == ["Basic ", "Digest"])
        #expect(try told(run) == ["digest use 0"])
    }

    // MARK: Who knows

    @Test func helpersAndNetrc() throws {
        let server = try secure()
        let proxy = try proxy(offering: "Basic realm=\"gate\"", before: server.port)
        defer { for one in [server, proxy] { one.stop() } }
        let stage = try Stage()
        try stage.folder.write(
            "helper.sh", "cat > \"asked-$1\"; if [ $1 = get ]; then printf 'username=ada\\npassword=lovelace\\n'; fi\n")
        try stage.folder.write("netrc", "machine 127.0.0.1 login ada password lovelace\n", mode: 0o600)
        for source in ["helper: [sh, helper.sh]", "netrc: true"] {
            let run = try stage.run(
                session(proxy, "credentials: [{ proxy: true, \(source) }]", to: server)
                    + "tasks: [{ id: a, url: \"\(server.url("/a"))\" }, { id: b, url: \"http://first.example/b\" }]",
                environment: ["NETRC": stage.folder.path("netrc")])
            #expect(run.status == 0)
            #expect(try Set(told(run)).isSubset(of: ["basic use 0"]))
            #expect(!says(run, "lovelace"))
        }
        let asked = try stage.text("asked-get")
        #expect(asked.contains("protocol=http\n") && asked.contains("host=127.0.0.1:\(proxy.port)\n"))
        #expect(try stage.text("asked-store").contains("password=lovelace"))
    }

    @Test func tokens() throws {
        let proxy = try proxy(offering: "Bearer realm=\"gate\"") {
            $0.header("Proxy-Authorization") == "Bearer t0k3n-of-ada"
        }
        defer { proxy.stop() }
        let run = try Stage().run(
            session(proxy, "credentials: [{ proxy: true, token: t0k3n-of-ada }]")
                + "tasks: [{ id: a, url: \"http://first.example/a\" }]")
        #expect(run.status == 0)
        #expect(!says(run, "t0k3n-of-ada"))
    }

    // MARK: Where nothing goes

    /// Two proxies and two servers, all of whom ask for everything, on the way of one redirect.
    @Test func everybodyHearsOnlyWhatIsMeantForHim() throws {
        let plain = try ScriptedServer()
        let server = try ScriptedServer(tls: TLSOptions()) { request in
            guard request.header("Authorization") == "Basic c3J2OnNlcnZlcg==" else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"server\"")])
            }
            return .redirect(302, to: "http://127.0.0.1:\(plain.port)/end")
        }
        plain.on("/end") { request in
            request.header("Authorization") == nil && request.number == 1
                ? .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"end\"")]) : .respond(200, body: "end")
        }
        let secureURL = server.url("/second")
        let a = try ScriptedServer { request in
            request.headers("Proxy-Authorization") == [Self.basicA]
                ? .redirect(302, to: secureURL)
                : .respond(407, headers: [("Proxy-Authenticate", "Basic realm=\"a\"")])
        }
        let basicB = "Basic Ym9iOmJhYmJhZ2U="
        let b = try proxy(offering: "Basic realm=\"b\"", before: server.port) {
            $0.headers("Proxy-Authorization") == [basicB]
        }
        defer { for one in [plain, server, a, b] { one.stop() } }
        let run = try Stage().run(
            """
            sessions:
              default:
                proxy:
                  http: "http://127.0.0.1:\(a.port)"
                  https: "http://127.0.0.1:\(b.port)"
                  bypass: ["127.0.0.1:\(plain.port)"]
                tls: { trust: { ca: \(try #require(server.caFile)) } }
                redirects: { allowDowngrade: true, toPrivate: true }
                retry: { attempts: 1 }
                credentials:
                  - { proxy: true, host: "127.0.0.1:\(a.port)", user: ada, password: lovelace }
                  - { proxy: true, host: "127.0.0.1:\(b.port)", user: bob, password: babbage }
                  - { host: localhost, user: srv, password: server }
            tasks: [{ id: a, url: "http://first.example/a", expect: { status: [200, 401] } }]
            """)
        #expect(run.status == 0)
        #expect(shown(a) == [nil, Self.basicA])
        #expect(shown(b).first == .some(nil) && shown(b).dropFirst().allSatisfy { $0 == basicB } && shown(b).count > 1)
        for request in a.requests() + b.requests() { #expect(request.header("Authorization") == nil) }
        for request in server.requests() + plain.requests() { #expect(request.header("Proxy-Authorization") == nil) }
        #expect(plain.requests().allSatisfy { $0.header("Authorization") == nil })
        #expect(try told(run) == ["basic use 0", "basic use 0", "basic use 0", "basic default 0"])
        #expect(!says(run, "lovelace", "babbage", Self.basicA, basicB))
    }

    @Test func partsShowItToo() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        let body = Script.patternBytes(6 << 20)
        server.serve("/big", ServedResource(body))
        let proxy = try proxy(offering: "Basic realm=\"gate\"", before: server.port)
        defer { for one in [server, proxy] { one.stop() } }
        let stage = try Stage()
        let run = try stage.run(
            session(proxy, "http: { version: \"1.1\" }, credentials: [\(Self.ada)]", to: server)
                + "tasks: [{ id: a, url: \"\(server.url("/big"))\", to: big, segments: 3 }]")
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("big") == body)
        #expect(shown(proxy).dropFirst().allSatisfy { $0 == Self.basicA })
    }

    // MARK: A proxy that nobody here wrote

    @Test(.enabled(if: Neighbour.hasSquid), arguments: ["basic", "digest", "ntlm"]) func squid(_ method: String) throws
    {
        let proxy = try Neighbour.squid(method, user: "ada", password: "lovelace")
        let plain = try ScriptedServer { .respond(200, body: "plain \($0.bodyText)") }
        let server = try secure()
        defer {
            for one in [plain, server] { one.stop() }
            proxy.stop()
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              default:
                proxy: "http://127.0.0.1:\(proxy.port)"
                tls: { trust: { ca: \(try #require(server.caFile)) } }
                credentials: [\(Self.ada)]
            tasks:
              - { id: plain, url: "\(plain.url("/a?b=c%20d"))" }
              - { id: again, needs: [plain], method: PUT, url: "\(plain.url("/a"))", body: { data: put } }
              - { id: post, needs: [again], method: POST, url: "\(plain.url("/a"))", body: { data: posted } }
              - { id: secure, url: "\(server.url("/a"))", to: secure }
              - { id: once, needs: [secure], method: POST, url: "\(server.url("/b"))", body: { data: all } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("again", "body.text") == "plain put")
        #expect(try run.task("post", "body.text") == "plain posted")
        #expect(try stage.text("secure") == "hello ")
        #expect(try run.task("once", "body.text") == "hello all")
        for request in plain.requests() + server.requests() {
            #expect(request.header("Proxy-Authorization") == nil && request.header("Authorization") == nil)
        }
        #expect(plain.requests().count == 3 && server.requests().count == 2)
        #expect(try run.task("plain", "challenges[0].method") == method)
        #expect(!says(run, "lovelace"))
    }
}
