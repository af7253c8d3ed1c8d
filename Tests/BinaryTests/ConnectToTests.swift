import TestSupport
import Testing
import TextFormats
import TransferModel

/// `connectTo` and `addressFamily`: where connections lead in place of a URL's host.
@Suite struct ConnectToTests {
    private func loopback(_ body: String) throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/a", .respond(200, body: body))
        return server
    }

    // MARK: What stays the host's

    /// The certificate is for elsewhere.test alone: its name is asked for and checked, wherever the connection leads.
    @Test(arguments: ["1.1", "auto"]) func nameAndCertificateStayTheHosts(_ version: String) throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: .otherHost))
        defer { server.stop() }
        for path in ["/a", "/b", "/c"] { server.on(path, .respond(200, body: "hello")) }
        let run = try Stage().run(
            """
            sessions:
              default:
                maximumConnectionsPerHost: 1
                http: { version: \(version == "auto" ? "auto" : "\"1.1\"") }
                tls: { trust: { ca: \(server.caFile ?? "") } }
                connectTo: { "Elsewhere.test:443": "127.0.0.1:\(server.port)" }
            tasks:
              - { id: a, url: "https://elsewhere.test/a", to: a }
              - { id: b, url: "https://elsewhere.test./b", to: b, needs: [a] }
              - { id: c, url: "https://elsewhere.test/c", to: c, needs: [a] }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("/a").map { $0.header("Host") } == ["elsewhere.test"])
        let metrics = "attempts[0].transactions[0]"
        #expect(try run.task("a", "\(metrics).remoteAddress") == "127.0.0.1")
        #expect(try run.task("a", "\(metrics).remotePort") == "\(server.port)")
        #expect(try run.task("a", "\(metrics).negotiatedTLSProtocolVersion") == "772")
        #expect(try run.task("c", "\(metrics).isReusedConnection") == "true")
        #expect(try run.values("$.sessions[0].hosts[*].host").contains("https://elsewhere.test:443"))
    }

    /// A server with a certificate for another name than the URL's gets no request.
    @Test func aForeignCertificateIsRefused() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } },
              connectTo: { elsewhere.test: "localhost:\(server.port)" } } }
            tasks: [{ id: a, url: "https://elsewhere.test/a", to: a }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "serverCertificateWrongHost")
        #expect(server.requests().isEmpty)
    }

    // MARK: Which entry

    @Test func portsMayBeLeftOut() throws {
        let server = try loopback("right")
        let other = try loopback("other")
        defer {
            server.stop()
            other.stop()
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              default: { connectTo: { mirror.test: 127.0.0.1, "mirror.test:80": "127.0.0.1:\(other.port)" } }
            tasks:
              - { id: a, url: "http://mirror.test:\(server.port)/a", to: a }
              - { id: b, url: "http://mirror.test/a", to: b }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "right")
        #expect(try stage.text("b") == "other")
        #expect(server.requests()[0].header("Host") == "mirror.test:\(server.port)")
    }

    /// An IPv6 literal, for a URL whose own host is one too.
    @Test func addressesMayBeIPv6() throws {
        let server = try ScriptedServer(at: "::1")
        defer { server.stop() }
        server.on("/a", .respond(200, body: "six"))
        let run = try Stage().run(
            """
            sessions:
              default:
                connectTo: { mirror.test: "[::1]:\(server.port)", "[2001:DB8::1]:80": "[0:0::1]:\(server.port)" }
            tasks:
              - { id: a, url: "http://mirror.test/a" }
              - { id: b, url: "http://[2001:db8:0::1]/a" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        for id in ["a", "b"] {
            #expect(try run.task(id, "body.text") == "six")
            #expect(try run.task(id, "attempts[0].transactions[0].remoteAddress") == "::1")
        }
        #expect(Set(server.requests().map { $0.header("Host") }) == ["mirror.test", "[2001:db8::1]"])
    }

    /// A redirect is looked up anew, and one to a host without an entry goes to that host.
    @Test func redirectsAreRoutedAnew() throws {
        let first = try loopback("")
        let second = try loopback("")
        let third = try loopback("here")
        defer { for server in [first, second, third] { server.stop() } }
        first.on("/a", .respond(302, headers: [("Location", "http://two.test/b")]))
        second.on("/b", .respond(307, headers: [("Location", third.url("/a"))]))
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              default: { connectTo: { one.test: "127.0.0.1:\(first.port)", two.test: "127.0.0.1:\(second.port)" } }
            tasks: [{ id: a, url: "http://one.test/a", to: a }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "here")
        #expect(
            try run.values("$.tasks[0].attempts[0].transactions[*].remotePort")
                == [first, second, third].map { "\($0.port)" })
    }

    // MARK: Connections apart

    /// Two hosts at one address share no connection, and each has its own limit.
    @Test func hostsAtOneAddressShareNothing() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a") { request in
            server.waitForRequests(2, "/a")
            return .respond(200, body: request.header("Host") ?? "")
        }
        server.on("/b") { .respond(200, body: $0.header("Host") ?? "") }
        let stage = try Stage()
        let to = "127.0.0.1:\(server.port)"
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1, connectTo: { one.test: "\(to)", two.test: "\(to)" } } }
            tasks:
              - { id: a1, url: "http://one.test/a", to: a1 }
              - { id: a2, url: "http://two.test/a", to: a2 }
              - { id: b1, url: "http://one.test/b", to: b1, needs: [a1, a2] }
              - { id: b2, url: "http://two.test/b", to: b2, needs: [a1, a2] }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.totalConnections == 2)
        for (file, host) in [("a1", "one.test"), ("a2", "two.test"), ("b1", "one.test"), ("b2", "two.test")] {
            #expect(try stage.text(file) == host)
        }
        for connection in 1...2 {
            let hosts = Set(server.requests().filter { $0.connection == connection }.map { $0.header("Host") })
            #expect(hosts.count == 1)
        }
    }

    /// One host in sessions that lead it elsewhere: each request reaches its session's server.
    @Test func sessionsAreApart() throws {
        let servers = try (0..<3).map { try loopback("\($0)") }
        defer { for server in servers { server.stop() } }
        let sessions = servers.enumerated().map { number, server in
            "  s\(number): { connectTo: { mirror.test: \"127.0.0.1:\(server.port)\" } }"
        }
        let tasks = (0..<30).map { number in
            "  - { id: t\(number), session: s\(number % 3), url: \"http://mirror.test/a\", to: t\(number) }"
        }
        let stage = try Stage()
        let run = try stage.run((["sessions:"] + sessions + ["tasks:"] + tasks).joined(separator: "\n"))
        #expect(run.status == 0, "\(run.errorText)")
        for number in 0..<30 { #expect(try stage.text("t\(number)") == "\(number % 3)") }
        for server in servers { #expect(server.requests().count == 10) }
    }

    /// What a cache on the disk holds of one address is no answer of another.
    @Test func aCacheIsNotAskedAcrossAddresses() throws {
        let old = try ScriptedServer()
        let new = try ScriptedServer()
        defer {
            old.stop()
            new.stop()
        }
        for (server, body) in [(old, "old"), (new, "new")] {
            server.on("/a", .respond(200, headers: [("Cache-Control", "max-age=3600")], body: body))
        }
        let stage = try Stage()
        func ask(_ server: ScriptedServer) throws -> (body: String?, source: String?) {
            let run = try stage.run(
                """
                sessions: { default: { connectTo: { mirror.test: "127.0.0.1:\(server.port)" } } }
                tasks: [{ id: a, url: "http://mirror.test/a" }]
                """)
            #expect(run.status == 0, "\(run.errorText)")
            return (try run.task("a", "body.text"), try run.task("a", "source"))
        }
        #expect(try ask(old) == ("old", "network"))
        #expect(try ask(old) == ("old", "cache"))
        #expect(try ask(new) == ("new", "network"))
        #expect(old.requests().count == 1 && new.requests().count == 1)
    }

    /// Nor is a file that came from one address asked about at another, where the same validator may mean other bytes.
    @Test func validatorsAreOfOneAddress() throws {
        let old = try ScriptedServer()
        let new = try ScriptedServer()
        defer {
            old.stop()
            new.stop()
        }
        for (server, body) in [(old, "old"), (new, "new")] {
            server.on("/a") { request in
                request.header("If-None-Match") == "\"1\""
                    ? .respond(304, headers: [("ETag", "\"1\"")])
                    : .respond(200, headers: [("ETag", "\"1\"")], body: body)
            }
        }
        let stage = try Stage()
        for (server, source, text) in [(old, "network", "old"), (old, "unchanged", "old"), (new, "network", "new")] {
            let run = try stage.run(
                """
                sessions: { default: { connectTo: { mirror.test: "127.0.0.1:\(server.port)" } } }
                tasks: [{ id: a, url: "http://mirror.test/a", to: a }]
                """)
            #expect(run.status == 0, "\(run.errorText)")
            #expect(try run.task("a", "source") == source)
            #expect(try stage.text("a") == text)
        }
    }

    @Test func partsOfAFileGoTheSameWay() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(4 << 20)
        server.serve("/f", ServedResource(body))
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { connectTo: { mirror.test: "127.0.0.1:\(server.port)" } } }
            tasks: [{ id: t, url: "http://mirror.test/f", to: f, segments: 4 }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("f") == body)
        #expect(server.requests().allSatisfy { $0.header("Host") == "mirror.test" })
    }

    // MARK: Proxies

    /// The proxy is asked for a tunnel to the other address, for plain http too.
    @Test func throughAProxy() throws {
        let authority = try CertificateAuthority()
        let plain = try loopback("plain")
        let secure = try ScriptedServer(tls: TLSOptions(authority: authority, flaw: .otherHost))
        secure.on("/a", .respond(200, body: "secure"))
        let http = try Neighbour.tinyproxy(user: "ada", password: "lovelace")
        let socks = try Neighbour.microsocks()
        defer {
            for server in [plain, secure] { server.stop() }
            for proxy in [http, socks] { proxy.stop() }
        }
        for proxy in ["http://ada:lovelace@127.0.0.1:\(http.port)", "socks5h://127.0.0.1:\(socks.port)"] {
            let stage = try Stage()
            let run = try stage.run(
                """
                sessions:
                  default:
                    proxy: \(proxy)
                    tls: { trust: { ca: \(authority.caFile) } }
                    connectTo: { plain.test: "127.0.0.1:\(plain.port)", elsewhere.test: "127.0.0.1:\(secure.port)" }
                tasks:
                  - { id: a, url: "http://plain.test/a", to: a }
                  - { id: b, url: "https://elsewhere.test/a", to: b }
                  - { id: c, url: "http://plain.test/a", to: c, needs: [a] }
                """)
            #expect(run.status == 0, "\(run.errorText)")
            #expect(try stage.text("a") == "plain")
            #expect(try stage.text("b") == "secure")
            for id in ["a", "b", "c"] {
                #expect(try run.task(id, "attempts[0].transactions[0].isProxyConnection") == "true")
            }
        }
        #expect(plain.requests().allSatisfy { $0.header("Host") == "plain.test" && $0.header("Via") == nil })
        #expect(plain.requests().allSatisfy { $0.header("Proxy-Authorization") == nil })
        #expect(http.log.contains("CONNECT 127.0.0.1:\(plain.port)"), "\(http.log)")
    }

    // MARK: Families of addresses

    /// Two servers at one port of `localhost`, one for each family.
    @Test func aSessionTakesTheAddressesOfItsFamily() throws {
        let four = try ScriptedServer()
        let six = try ScriptedServer(at: "::1", port: four.port)
        defer {
            four.stop()
            six.stop()
        }
        for (server, body) in [(four, "four"), (six, "six")] { server.on("/a", .respond(200, body: body)) }
        let url = "http://localhost:\(four.port)/a"
        let stage = try Stage()
        let tasks = (0..<8).flatMap { number in
            ["four", "six"].map { "  - { id: \($0)-\(number), session: \($0), url: \"\(url)\", to: \($0)-\(number) }" }
        }
        let run = try stage.run(
            """
            sessions: { four: { addressFamily: ipv4 }, six: { addressFamily: ipv6 }, any: {} }
            tasks:
            \(tasks.joined(separator: "\n"))
              - { id: any, session: any, url: "\(url)", to: any }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        for number in 0..<8 {
            for name in ["four", "six"] { #expect(try stage.text("\(name)-\(number)") == name) }
        }
        let address = "attempts[0].transactions[0].remoteAddress"
        #expect(try run.task("four-0", address) == "127.0.0.1")
        #expect(try run.task("six-0", address) == "::1")
    }

    /// `localhost` is looked up in one session before it is in another: neither finds the other's answer.
    @Test(arguments: [["four", "six", "any"], ["any", "four", "six"], ["six", "any", "four"]])
    func lookUpsAreNotShared(_ order: [String]) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "four"))
        let tasks = order.enumerated().map { place, name in
            let needs = place == 0 ? "" : ", needs: [\(order[place - 1])]"
            return "  - { id: \(name), session: \(name), url: \"http://localhost:\(server.port)/a\"\(needs) }"
        }
        let run = try Stage().run(
            """
            defaults: { allowFailure: true, retry: { attempts: 1 } }
            sessions: { four: { addressFamily: ipv4 }, six: { addressFamily: ipv6 }, any: {} }
            tasks:
            \(tasks.joined(separator: "\n"))
            """)
        #expect(try run.task("four", "body.text") == "four", "\(run.errorText)")
        #expect(try run.task("any", "body.text") == "four")
        #expect(try run.task("six", "error.name") == "cannotConnectToHost")
    }

    /// A redirect may lead to an address that is of the other family whatever is looked up.
    @Test func anAddressOfTheOtherFamilyIsRefused() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(302, headers: [("Location", "http://[::1]:\(server.port)/b")]))
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { addressFamily: ipv4 } }
            tasks: [{ id: a, url: "http://localhost:\(server.port)/a", to: a }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "cannotConnectToHost")
        #expect(
            try run.task("a", "error.message")
                == "[::1] has no IPv4 address, and the session's `addressFamily` allows no other")
    }

    // MARK: Background

    @Test func inTheBackground() throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: .otherHost))
        let scene = try BackgroundStage(nil, server)
        server.on("/a", .respond(200, body: "text"))
        let run = try scene.stage.run(
            scene.job(
                "{ id: a, url: \"https://elsewhere.test/a\", to: a }",
                more: ", addressFamily: ipv4, tls: { trust: { ca: \(server.caFile ?? "") } }, "
                    + "connectTo: { elsewhere.test: \"localhost:\(server.port)\" }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try scene.stage.text("a") == "text")
        #expect(try run.task("a", "attempts[0].transactions[0].remoteAddress") == "127.0.0.1")
    }
}
