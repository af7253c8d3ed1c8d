import TestSupport
import Testing
import TextFormats
import TransferModel

/// Proxies that do exactly what a test says: what they are told, what they may answer, and what reaches nobody else.
@Suite struct ScriptedProxyTests {
    private static let basicA = "Basic YWRhOmxvdmVsYWNl"  // ada:lovelace
    private static let basicB = "Basic Ym9iOmJhYmJhZ2U="  // bob:babbage

    /// Lets everything through to `server`, CONNECT and whole URLs alike.
    private func proxy(before server: ScriptedServer) throws -> ScriptedServer {
        let port = server.port
        return try ScriptedServer { request in
            if request.method == "CONNECT" { return [.send("HTTP/1.1 200 Go on\r\n\r\n"), .relay(to: port)] }
            return .respond(200, body: "by way of the proxy")
        }
    }

    /// Goes through `proxy` to `server`, which speaks TLS.
    private func session(
        _ proxy: ScriptedServer, _ server: ScriptedServer, login: String = "", _ more: String = ""
    ) throws -> String {
        let trust = "tls: { trust: { ca: \(try #require(server.caFile)) } }"
        return "sessions: { default: { proxy: \"http://\(login)127.0.0.1:\(proxy.port)\", \(trust)\(more) } }"
    }

    @Test func connectSaysNothingOfTheRequest() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        server.on("/secret", .respond(200, body: "hello"))
        let proxy = try proxy(before: server)
        defer {
            server.stop()
            proxy.stop()
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            \(try session(proxy, server, login: "ada:lovelace@"))
            tasks:
              - id: a
                url: "\(server.url("/secret"))"
                headers: { Authorization: "Bearer token-of-mine", X-Own: own }
                to: a
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "hello")
        let connect = try #require(proxy.requests().first)
        #expect(connect.target == "localhost:\(server.port)")
        #expect(connect.headers("Proxy-Authorization") == [Self.basicA])
        for word in ["token-of-mine", "X-Own", "secret"] {
            #expect(!String(decoding: connect.head, as: UTF8.self).contains(word))
        }
        let request = try #require(server.requests().first)
        #expect(request.header("Authorization") == "Bearer token-of-mine")
        #expect(!request.headerLines.contains { $0.lowercased().hasPrefix("proxy-") })
    }

    /// http goes through A, https through B, a redirect leads from one to the other, and a third host needs neither.
    @Test func whatOneProxyIsToldNobodyElseHears() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        let direct = try ScriptedServer()
        server.on("/second", .respond(302, headers: [("Location", "http://127.0.0.1:\(direct.port)/third")]))
        direct.on("/third", .respond(200, body: "hello"))
        let secure = server.url("/second")
        let a = try ScriptedServer { _ in .respond(302, headers: [("Location", secure)]) }
        let b = try proxy(before: server)
        defer { for server in [server, direct, a, b] { server.stop() } }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              default:
                proxy:
                  http: "http://ada:lovelace@127.0.0.1:\(a.port)"
                  https: "http://bob:babbage@127.0.0.1:\(b.port)"
                  bypass: ["127.0.0.1:\(direct.port)"]
                tls: { trust: { ca: \(try #require(server.caFile)) } }
                redirects: { allowDowngrade: true, toPrivate: true }
            tasks: [{ id: a, url: "http://first.example/a", to: a }]
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "hello")
        #expect(a.requests().map(\.target) == ["http://first.example/a"])
        #expect(a.requests().map { $0.headers("Proxy-Authorization") } == [[Self.basicA]])
        #expect(b.requests().map { $0.headers("Proxy-Authorization") } == [[Self.basicB]])
        for request in server.requests() + direct.requests() {
            let text = String(decoding: request.head, as: UTF8.self).lowercased()
            #expect(!text.contains("proxy-") && !text.contains("basic"))
        }
        // Nor do the outputs tell it.
        var said = run.errorText + (run.report.plainText ?? "")
        for event in run.events { said += event.plainText ?? "" }
        for secret in ["lovelace", "babbage", Self.basicA, Self.basicB] { #expect(!said.contains(secret)) }
    }

    /// A proxy that sends a secret back does not make it less of one.
    @Test func aPasswordThatIsSentBackIsMasked() throws {
        let proxy = try ScriptedServer { request in
            .respond(200, body: "you said \(request.header("Proxy-Authorization") ?? "") lovelace")
        }
        defer { proxy.stop() }
        for environment in [["http_proxy": "http://ada:lovelace@127.0.0.1:\(proxy.port)"], [:]] {
            let session = environment.isEmpty ? "proxy: \"http://ada:lovelace@127.0.0.1:\(proxy.port)\"" : ""
            let run = try Stage().run(
                """
                sessions: { default: { \(session) } }
                tasks: [{ id: a, type: data, url: "http://first.example/a" }]
                """, environment: environment)
            #expect(run.status == 0)
            let text = run.report.plainText ?? ""
            #expect(text.contains("you said") && text.contains("***"))
            #expect(!text.contains("lovelace") && !text.contains("YWRhOmxvdmVsYWNl"))
        }
    }

    // MARK: Answers to CONNECT

    @Test(arguments: [
        (403, "proxyRefusedConnection"), (407, "proxyAuthenticationRequired"), (502, "proxyCouldNotConnect"),
        (503, "proxyCouldNotConnect"), (408, "proxyCouldNotConnect"), (425, "proxyCouldNotConnect"),
        (429, "proxyCouldNotConnect"), (301, "proxyRefusedConnection"), (404, "proxyRefusedConnection"),
    ])
    func aRefusalIsNeverTheServersAnswer(_ status: Int, _ name: String) throws {
        let proxy = try ScriptedServer { _ in
            .respond(
                status, headers: [("Proxy-Authenticate", "Basic realm=\"x\""), ("Location", "http://evil.example/")],
                body: "<html>a page of the proxy's</html>")
        }
        defer { proxy.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { proxy: "http://127.0.0.1:\(proxy.port)" } }
            tasks:
              - { id: file, url: "https://server.example/a", to: file }
              - { id: data, url: "https://server.example/b", type: data, expect: { status: \(status) } }
            """)
        #expect(run.status == 1)
        for id in ["file", "data"] {
            #expect(try run.task(id, "error.name") == name)
            #expect(try run.task(id, "error.message")?.contains("(\(status) to CONNECT)") == true)
            #expect(try run.task(id, "response") == nil)
            #expect(try run.task(id, "redirects") == "[]")
            #expect(try run.task(id, "attempts[0].transactions[0].response") == nil)
        }
        #expect(stage.files == [])
    }

    @Test func aPermissionThatComesLaterIsAnotherAttempt() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        server.on("/a", .respond(200, body: "hello"))
        let port = server.port
        let proxy = try ScriptedServer { request in
            if request.numberOnConnection > 1 || request.number == 1 { return .respond(502) + [.close] }
            return [.send("HTTP/1.1 200 Go on\r\nX-Proxy: yes\r\n\r\n"), .relay(to: port)]
        }
        defer {
            server.stop()
            proxy.stop()
        }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 2, backoff: { initial: 10ms } } }
            \(try session(proxy, server))
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """)
        #expect(run.status == 0)
        #expect(try run.value("$.totals.attempts") == "2")
        #expect(!(try run.task("a", "response.headers") ?? "").contains("X-Proxy"))
    }

    /// Nothing of a POST was sent either while no tunnel stood.
    @Test(arguments: [408, 425, 429, 502]) func whatMayGetThroughLaterIsAskedForAgain(_ status: Int) throws {
        let server = try ScriptedServer(tls: TLSOptions()) { .respond(200, body: "took \($0.bodyText)") }
        let port = server.port
        let proxy = try ScriptedServer { request in
            if request.number == 1 { return .respond(status) + [.close] }
            return [.send("HTTP/1.1 200 Go on\r\n\r\n"), .relay(to: port)]
        }
        defer { for one in [server, proxy] { one.stop() } }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 2, backoff: { initial: 10ms } } }
            \(try session(proxy, server))
            tasks: [{ id: a, method: POST, url: "\(server.url("/a"))", body: { data: all of it } }]
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "took all of it")
        #expect(try run.value("$.totals.attempts") == "2")
        #expect(server.requests().count == 1)
    }

    @Test(arguments: [429, 503]) func aProxysRetryAfterIsHonoured(_ status: Int) throws {
        let server = try ScriptedServer(tls: TLSOptions()) { _ in .respond(200, body: "x") }
        let port = server.port
        let proxy = try ScriptedServer { request in
            if request.number == 1 { return .respond(status, headers: [("Retry-After", "1")]) + [.close] }
            return [.send("HTTP/1.1 200 Go on\r\n\r\n"), .relay(to: port)]
        }
        defer { for one in [server, proxy] { one.stop() } }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 2, backoff: { initial: 1ms } } }
            \(try session(proxy, server))
            tasks: [{ id: a, url: "\(server.url("/a"))" }]
            """)
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[0].waits[*].reason").contains("retryAfter"))
        let times = proxy.requests().map(\.arrival)
        try #require(times.count == 2)
        #expect(times[1] - times[0] >= .milliseconds(950))

        let patience = "retryAfter: { maximum: 500ms }"
        let impatient = try ScriptedServer { _ in .respond(status, headers: [("Retry-After", "1")]) + [.close] }
        defer { impatient.stop() }
        let refused = try Stage().run(
            """
            defaults: { retry: { attempts: 2, \(patience) } }
            \(try session(impatient, server))
            tasks: [{ id: a, url: "\(server.url("/a"))" }]
            """)
        #expect(try refused.task("a", "error.message")?.contains("it asks to wait 1 s") == true)
        #expect(impatient.requests().count == 1)
    }

    private func runOnce(through proxy: ScriptedServer) throws -> Stage.Run {
        try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { proxy: "http://127.0.0.1:\(proxy.port)" } }
            tasks: [{ id: a, url: "https://server.example/a", to: a }]
            """)
    }

    /// This libcurl takes the first that comes for the answer: that is told, and it is nobody's refusal.
    @Test(arguments: [100, 103]) func anInterimAnswerToConnectIsNoRefusal(_ status: Int) throws {
        let proxy = try ScriptedServer { _ in
            [.send("HTTP/1.1 \(status) Wait\r\nLink: </a>\r\n\r\n"), .wait(.milliseconds(100))] + .respond(200)
        }
        defer { proxy.stop() }
        let run = try runOnce(through: proxy)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "cannotConnectToProxy")
        #expect(try run.task("a", "error.message")?.contains("interim answer (\(status))") == true)
        #expect(try run.task("a", "response") == nil)
    }

    /// What ends, or never ends, before a tunnel stands.
    @Test(arguments: [
        [Script.Step.close], [.reset], [.send("nonsense\r\n\r\n"), .close], [.send("HTTP/1.1 200 OK\r\nX-"), .close],
        [.send("SSH-2.0-x\r\n"), .cut],
    ])
    func aProxyThatBreaksOff(_ steps: [Script.Step]) throws {
        let proxy = try ScriptedServer { _ in Script(steps) }
        defer { proxy.stop() }
        let run = try runOnce(through: proxy)
        #expect(run.status == 1)
        let name = try run.task("a", "error.name") ?? ""
        #expect(["cannotConnectToProxy", "proxyRefusedConnection"].contains(name), "\(name)")
    }

    @Test func aProxyThatSaysNothingIsWaitedForAsAConnectionIs() throws {
        let proxy = try ScriptedServer { _ in [.stall] }
        defer { proxy.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { connectTimeout: 300ms, proxy: "http://127.0.0.1:\(proxy.port)" } }
            tasks: [{ id: a, url: "https://server.example/a", to: a }]
            """)
        #expect(try run.task("a", "error.name") == "timedOut")
        #expect(try run.task("a", "error.message")?.contains("the proxy http://127.0.0.1") == true)
    }

    /// SOCKS, before a tunnel or the host of plain http was reached.
    @Test(arguments: ["http", "https"]) func aSilentSOCKSProxyIsNamed(_ scheme: String) throws {
        for kind in ["socks4a", "socks5h"] {
            let proxy = try ScriptedServer { _ in [.stall] }
            defer { proxy.stop() }
            let run = try Stage().run(
                """
                defaults: { retry: { attempts: 1 } }
                sessions: { default: { connectTimeout: 300ms, proxy: "\(kind)://127.0.0.1:\(proxy.port)" } }
                tasks: [{ id: a, url: "\(scheme)://server.example/a", to: a }]
                """)
            #expect(try run.task("a", "error.name") == "timedOut")
            let who = "the proxy \(kind)://127.0.0.1:\(proxy.port) did not answer"
            #expect(try run.task("a", "error.message")?.hasPrefix(who) == true)
        }
    }

    /// What is silent behind one that did its part is not the proxy.
    @Test func aSilentServerBehindSOCKSIsNotTheProxy() throws {
        // It waits for the end of a head, which no handshake has.
        let silent = try ScriptedServer { _ in [.stall] }
        let proxy = try SOCKS4Server(leadingTo: silent.port)
        defer {
            proxy.stop()
            silent.stop()
        }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { connectTimeout: 500ms, proxy: "socks4a://127.0.0.1:\(proxy.port)" } }
            tasks: [{ id: a, url: "https://server.example/a", to: a }]
            """)
        #expect(try run.task("a", "error.name") == "timedOut")
        #expect(try run.task("a", "error.message")?.contains("proxy") == false)
        #expect(proxy.requests.count == 1)
    }

    /// Headers without an end fill no memory.
    @Test func headersWithoutAnEndAreEnded() throws {
        let line = "X-Filler: \(String(repeating: "x", count: 4000))\r\n"
        let proxy = try ScriptedServer { _ in
            Script([.send("HTTP/1.1 200 OK\r\n")] + Array(repeating: Script.Step.send(line), count: 200) + [.stall])
        }
        defer { proxy.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { connectTimeout: 20s, proxy: "http://127.0.0.1:\(proxy.port)" } }
            tasks: [{ id: a, url: "https://server.example/a", to: a }]
            """)
        #expect(run.status == 1)
        #expect(run.result.duration < .seconds(15))
    }

    // MARK: SOCKS4

    @Test func socks4TakesAddressesAnd4aNames() throws {
        for transport in Transport.allCases {
            let server = try transport.server()
            server.on("/a", .respond(200, body: "hello"))
            let proxy = try SOCKS4Server(leadingTo: server.port)
            defer {
                server.stop()
                proxy.stop()
            }
            for (scheme, name) in [("socks4", nil), ("socks4a", "localhost")] {
                let url = "\(transport == .secure ? "https" : "http")://localhost:\(server.port)/a"
                let run = try Stage().run(
                    """
                    \(transport.session(server, ", proxy: \"\(scheme)://ada@127.0.0.1:\(proxy.port)\""))
                    tasks: [{ id: a, url: "\(url)", to: a }]
                    """)
                #expect(run.status == 0)
                let asked = try #require(proxy.requests.last)
                #expect(asked.name == name)
                #expect(asked.user == "ada")
                #expect(asked.port == server.port)
                #expect((asked.address == "127.0.0.1") == (name == nil))
            }
        }
    }

    @Test(arguments: [(91, "proxyCouldNotConnect"), (92, "proxyAuthenticationRequired")])
    func socks4Refuses(_ reply: UInt8, _ name: String) throws {
        let proxy = try SOCKS4Server(leadingTo: 9, reply: reply)
        defer { proxy.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { proxy: "socks4a://127.0.0.1:\(proxy.port)" } }
            tasks: [{ id: a, url: "http://server.example/a", to: a }]
            """)
        #expect(try run.task("a", "error.name") == name)
    }

    // MARK: Connections

    /// Many hosts through one proxy at once: each has its own limit, and libcurl holds nobody back.
    @Test func aProxyIsNoHostOfItsOwn() throws {
        let proxy = try ScriptedServer { _ in [.gate("go")] + .respond(200, body: "x") }
        defer { proxy.stop() }
        let stage = try Stage()
        let program = try stage.start(
            """
            sessions: { default: { proxy: "http://127.0.0.1:\(proxy.port)", maximumConnectionsPerHost: 2 } }
            tasks:
              - { id: "a${h}-${n}", forEach: { h: 1..5, n: 1..3 }, url: "http://h${h}.example/${n}", to: "a${h}-${n}" }
            """)
        let arrived = proxy.waitForRequests(10)
        #expect(arrived)
        #expect(proxy.peakConnections == 10)
        proxy.open(gate: "go")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(proxy.peakConnections <= 10)
        #expect(Set(proxy.requests().map { $0.header("Host") ?? "" }).count == 5)
    }

    /// More hosts than pools are kept for: those that went while in use do no harm.
    @Test func moreHostsThanAreRemembered() throws {
        let proxy = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { proxy.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { proxy: "http://127.0.0.1:\(proxy.port)" } }
            tasks:
              - { id: "a${h}-${n}", forEach: { n: 1..2, h: 1..200 }, url: "http://h${h}.example/${n}", to: "a${h}-${n}" }
            """)
        #expect(run.status == 0)
        #expect(proxy.requests().count == 400)
        #expect(proxy.peakConnections <= 64 * 6 + 64)
    }

    @Test func aTunnelIsUsedAgain() throws {
        let server = try ScriptedServer(tls: TLSOptions()) { _ in .respond(200, body: "hello") }
        let proxy = try proxy(before: server)
        defer {
            server.stop()
            proxy.stop()
        }
        let run = try Stage().run(
            """
            \(try session(proxy, server, ", maximumConnectionsPerHost: 1, http: { version: \"1.1\" }"))
            tasks: [{ id: "a${n}", forEach: { n: 1..5 }, url: "\(server.origin)/${n}", to: "a${n}" }]
            """)
        #expect(run.status == 0)
        #expect(proxy.requests().count == 1)
        #expect(server.totalConnections == 1)
        #expect(try run.value("$.sessions[0].connectionsReused") == "4")
    }

    /// A tunnel that died while nobody used it is made anew, and its second CONNECT is no answer of the server's.
    @Test func aTunnelThatDiedIsMadeAnew() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        server.on("/first", .respond(200, body: "first") + [.close])
        server.on("/second", .respond(200, body: "second"))
        let other = try ScriptedServer()
        other.on("/pause", [.wait(.milliseconds(200))] + .respond(200))
        let proxy = try proxy(before: server)
        defer { for server in [server, other, proxy] { server.stop() } }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              default:
                proxy: { https: "http://127.0.0.1:\(proxy.port)" }
                tls: { trust: { ca: \(try #require(server.caFile)) } }
            tasks:
              - { id: first, url: "\(server.url("/first"))", to: first }
              - { id: pause, needs: [first], type: data, url: "\(other.url("/pause"))" }
              - { id: second, needs: [pause], url: "\(server.url("/second"))", to: second }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("second") == "second")
        #expect(try run.task("second", "response.status") == "200")
        #expect(proxy.requests().count == 2)
    }

    @Test func segmentsGoThroughIt() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        let body = Script.patternBytes(6 << 20)
        server.serve("/big", ServedResource(body))
        let proxy = try proxy(before: server)
        defer {
            server.stop()
            proxy.stop()
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            \(try session(proxy, server))
            tasks: [{ id: a, url: "\(server.url("/big"))", to: big, segments: 3 }]
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("big") == body)
        let proxied = try run.values("$.tasks[0].attempts[*].transactions[*].isProxyConnection")
        #expect(proxied.allSatisfy { $0 == "true" } && !proxied.isEmpty)
    }
}
