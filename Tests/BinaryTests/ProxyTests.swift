import TestSupport
import Testing
import TransferModel

/// Proxies that nobody here wrote: tinyproxy for HTTP and CONNECT, microsocks for SOCKS5, socat for TLS before one.
@Suite struct ProxyTests {
    private func job(_ servers: [ScriptedServer], session: String) -> String {
        let trust = servers.compactMap(\.caFile).first
        let keys = [session, trust.map { "tls: { trust: { ca: \($0) } }" } ?? ""].filter { !$0.isEmpty }
        let tasks = servers.enumerated().map { number, server in
            "  - { id: t\(number), url: \"\(server.url("/a"))\", to: t\(number) }"
        }
        return """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { \(keys.joined(separator: ", ")) } }
            tasks:
            \(tasks.joined(separator: "\n"))
            """
    }

    private func servers() throws -> [ScriptedServer] {
        let all = [try ScriptedServer(), try ScriptedServer(tls: TLSOptions())]
        for server in all { server.on("/a", .respond(200, body: "hello")) }
        return all
    }

    private func proxied(_ run: Stage.Run, _ id: String) throws -> String? {
        try run.task(id, "attempts[0].transactions[0].isProxyConnection")
    }

    @Test func httpAndConnect() throws {
        let servers = try servers()
        let proxy = try Neighbour.tinyproxy()
        defer {
            for server in servers { server.stop() }
            proxy.stop()
        }
        let stage = try Stage()
        let run = try stage.run(job(servers, session: "proxy: \"http://127.0.0.1:\(proxy.port)\""))
        #expect(run.status == 0)
        for id in ["t0", "t1"] {
            #expect(try stage.text(id) == "hello")
            #expect(try proxied(run, id) == "true")
            #expect(try run.task(id, "attempts[0].transactions[0].remotePort") == "\(proxy.port)")
        }
        #expect(try run.task("t1", "attempts[0].transactions[0].negotiatedTLSProtocolVersion") == "772")
        #expect(servers[0].requests()[0].header("Via")?.contains("tinyproxy") == true)
        #expect(proxy.log.contains("CONNECT"))
    }

    @Test(arguments: ["socks5", "socks5h"]) func socks5(_ scheme: String) throws {
        let servers = try servers()
        let proxy = try Neighbour.microsocks(user: "ada", password: "l0vel@ce")
        defer {
            for server in servers { server.stop() }
            proxy.stop()
        }
        let text = job(servers, session: "proxy: \"\(scheme)://ada:l0vel%40ce@127.0.0.1:\(proxy.port)\"")
        // Of a name that it looks up itself libcurl 8 tells the proxy the first address alone: `localhost` may have two.
        let right = try Stage().run(text, "--only", scheme == "socks5" ? "t0" : "*")
        #expect(right.status == 0, "\(right.errorText)")
        #expect(try proxied(right, "t0") == "true")
        for login in ["ada:wrong@", ""] {
            let wrong = try Stage().run(job(servers, session: "proxy: \"\(scheme)://\(login)127.0.0.1:\(proxy.port)\""))
            #expect(wrong.status == 1)
            for id in ["t0", "t1"] { #expect(try wrong.task(id, "error.name") == "proxyAuthenticationRequired") }
        }
    }

    @Test func basicFromTheURLAndFromCredentials() throws {
        let servers = try servers()
        let proxy = try Neighbour.tinyproxy(user: "ada", password: "lovelace")
        defer {
            for server in servers { server.stop() }
            proxy.stop()
        }
        let place = "127.0.0.1:\(proxy.port)"
        let credential = "{ proxy: true, host: \"\(place)\", user: ada, password: lovelace }"
        for session in [
            "proxy: \"http://ada:lovelace@\(place)\"", "proxy: \"http://\(place)\", credentials: [\(credential)]",
        ] {
            let run = try Stage().run(job(servers, session: session))
            #expect(run.status == 0)
            for text in [run.errorText, run.report.plainText ?? ""] { #expect(!text.contains("lovelace")) }
        }
        let elsewhere = "{ proxy: true, host: \"127.0.0.1:1\", user: ada, password: lovelace }"
        for (session, status) in [
            // tinyproxy's word for a wrong password.
            ("proxy: \"http://ada:wrong@\(place)\"", "401"), ("proxy: \"http://\(place)\"", "407"),
            ("proxy: \"http://\(place)\", credentials: [\(elsewhere)]", "407"),
        ] {
            let run = try Stage().run(job(servers, session: session))
            #expect(run.status == 1)
            // What a proxy answers to plain http stands where the server's answer would.
            #expect(try run.task("t0", "response.status") == status)
            #expect(try run.task("t1", "error.name") == "proxyAuthenticationRequired")
            #expect(try run.task("t1", "response") == nil)
        }
        #expect(servers[1].requests().count == 2)
    }

    /// TLS to the proxy, and inside it TLS to the server.
    @Test func aProxyBehindTLS() throws {
        let authority = try CertificateAuthority()
        var options = try TLSOptions(authority: authority)
        options.takesHTTP2 = true
        let servers = [try ScriptedServer(), try ScriptedServer(tls: options)]
        for server in servers { server.on("/a", .respond(200, body: "hello")) }
        let inner = try Neighbour.tinyproxy()
        let outer = try Neighbour.socat(before: inner.port, authority.issue())
        let wrong = try Neighbour.socat(before: inner.port, authority.issue(flaw: .otherHost))
        defer {
            for server in servers { server.stop() }
            for proxy in [outer, wrong, inner] { proxy.stop() }
        }
        let run = try Stage().run(job(servers, session: "proxy: \"https://localhost:\(outer.port)\""))
        #expect(run.status == 0)
        for id in ["t0", "t1"] { #expect(try proxied(run, id) == "true") }
        // Frames of HTTP/2 might lie in the outer TLS where nobody looks.
        #expect(servers[1].requests("/a").count == 1 && servers[1].requests("PRI *").isEmpty)
        let fingerprint = try run.task("t1", "attempts[0].transactions[0].negotiatedTLSCertificateFingerprint")
        #expect(fingerprint == servers[1].certificate?.fingerprint)
        // The proxy's is not the server's.
        #expect(try run.task("t0", "attempts[0].transactions[0].negotiatedTLSCertificateFingerprint") == nil)

        let refused = try Stage().run(job(servers, session: "proxy: \"https://localhost:\(wrong.port)\""))
        for id in ["t0", "t1"] { #expect(try refused.task(id, "error.name") == "proxyCertificateUntrusted") }
        let unknown = try Stage().run(
            job([servers[0]], session: "proxy: \"https://localhost:\(outer.port)\""))
        #expect(try unknown.task("t0", "error.name") == "proxyCertificateUntrusted")
    }

    /// In TLS inside TLS libcurl knows no reason for a handshake that we ended.
    @Test(arguments: [
        (CertificateAuthority.Flaw.expired, "serverCertificateHasBadDate", "certificate has expired"),
        (.notYetValid, "serverCertificateNotYetValid", "certificate is not yet valid"),
        (.selfSigned, "serverCertificateUntrusted", "self-signed certificate"),
        (.otherHost, "serverCertificateWrongHost", "hostname mismatch"),
    ])
    func aServerBehindTLSIsRefusedForItsOwnReason(
        _ flaw: CertificateAuthority.Flaw, _ name: String, _ words: String
    ) throws {
        let authority = try CertificateAuthority()
        let server = try ScriptedServer(tls: TLSOptions(authority: authority, flaw: flaw))
        let inner = try Neighbour.tinyproxy()
        let outer = try Neighbour.socat(before: inner.port, authority.issue())
        defer {
            server.stop()
            for proxy in [outer, inner] { proxy.stop() }
        }
        let (ca, foreign) = (authority.caFile, "sha256//\(String(repeating: "A", count: 43))=")
        let rows = [
            ("ca: \(ca)", name, "SSL certificate problem: \(words)"),
            ("policy: insecure, ca: \(ca), pin: [\"\(foreign)\"]", "serverKeyNotPinned", "`tls.trust.pin`"),
        ]
        for (trust, name, words) in rows {
            let run = try Stage().run(
                """
                sessions: { default: { tls: { trust: { \(trust) } }, proxy: "https://localhost:\(outer.port)" } }
                tasks: [{ id: a, url: "https://localhost:\(server.port)/a" }]
                """)
            #expect(try run.task("a", "error.name") == name)
            #expect(try run.task("a", "error.message")?.contains(words) == true)
            #expect(try run.value("$.totals.attempts") == "1")
        }
        #expect(server.requests().isEmpty)
    }

    /// Where nothing is checked, whatever else ends the handshake is no matter of certificates.
    @Test func anotherEndOfTheInnerHandshakeKeepsItsName() throws {
        let authority = try CertificateAuthority()
        let server = try ScriptedServer(tls: TLSOptions(authority: authority, maximum: .v1_2, flaw: .selfSigned))
        let inner = try Neighbour.tinyproxy()
        let outer = try Neighbour.socat(before: inner.port, authority.issue())
        defer {
            server.stop()
            for proxy in [outer, inner] { proxy.stop() }
        }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions:
              default:
                tls: { minimum: "1.3", trust: { policy: insecure } }
                proxy: "https://localhost:\(outer.port)"
            tasks: [{ id: a, url: "https://localhost:\(server.port)/a" }]
            """)
        #expect(try run.task("a", "error.name") == "secureConnectionFailed")
    }

    /// In TLS 1.3 it says so after we took the handshake for done.
    @Test(arguments: ["http", "https"]) func aProxyThatWantsACertificateIsTold(_ scheme: String) throws {
        let authority = try CertificateAuthority()
        let proxy = try ScriptedServer(tls: TLSOptions(authority: authority, requiresClientCertificate: true))
        defer { proxy.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 3, backoff: { initial: 10ms } } }
            sessions:
              default: { tls: { trust: { ca: \(authority.caFile) } }, proxy: "https://localhost:\(proxy.port)" }
            tasks: [{ id: a, url: "\(scheme)://server.example/a" }]
            """)
        #expect(try run.task("a", "error.name") == "proxyAuthenticationRequired")
        #expect(
            try run.task("a", "error.message")?.hasPrefix(
                "the proxy https://localhost:\(proxy.port) wants a client certificate") == true)
        #expect(try run.task("a", "explanation")?.contains("Use a proxy that asks for none") == true)
    }

    /// Both its connections go through the proxy.
    @Test func ftpGoesThroughThem() throws {
        let server = try FTPServer()
        try server.folder.write("note.txt", "a note\n")
        let (http, socks) = (try Neighbour.tinyproxy(), try Neighbour.microsocks())
        defer {
            http.stop()
            socks.stop()
        }
        for proxy in ["http://127.0.0.1:\(http.port)", "socks5h://127.0.0.1:\(socks.port)"] {
            for (environment, session) in [(["ftp_proxy": proxy], ""), ([:], "proxy: { ftp: \"\(proxy)\" }")] {
                let run = try Stage().run(
                    """
                    defaults: { retry: { attempts: 1 } }
                    sessions: { default: { \(session) } }
                    tasks: [{ id: t0, url: "\(server.url("note.txt"))" }]
                    """, environment: environment)
                #expect(run.status == 0)
                #expect(try run.task("t0", "body.text") == "a note\n")
                #expect(try proxied(run, "t0") == "true")
            }
        }
        #expect(http.log.contains("CONNECT"))
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions: { default: { proxy: "http://127.0.0.1:\(http.port)" } }
            tasks: [{ id: t0, url: "ftp://127.0.0.1:9/note.txt" }]
            """)
        #expect(try run.task("t0", "error.name") == "proxyCouldNotConnect")
    }

    // MARK: The environment

    @Test func theEnvironmentNamesIt() throws {
        let servers = try servers()
        let proxy = try Neighbour.tinyproxy()
        defer {
            for server in servers { server.stop() }
            proxy.stop()
        }
        let address = "127.0.0.1:\(proxy.port)"
        let rows: [(environment: [String: String], http: Bool, https: Bool)] = [
            ([:], false, false), (["http_proxy": address], true, false), (["HTTP_PROXY": address], false, false),
            (["https_proxy": address], false, true), (["HTTPS_PROXY": "http://\(address)"], false, true),
            (["all_proxy": address], true, true), (["ALL_PROXY": address], true, true),
            (["all_proxy": address, "no_proxy": "127.0.0.1"], false, true),
            (["all_proxy": address, "NO_PROXY": "localhost"], true, false),
            (["all_proxy": address, "no_proxy": "*"], false, false),
            (["all_proxy": address, "no_proxy": "127.0.0.0/8, localhost:1"], false, true),
        ]
        for row in rows {
            let run = try Stage().run(job(servers, session: ""), environment: row.environment)
            #expect(run.status == 0, "\(row.environment)")
            #expect(try proxied(run, "t0") == "\(row.http)", "\(row.environment)")
            #expect(try proxied(run, "t1") == "\(row.https)", "\(row.environment)")
        }
        let own = try Stage().run(job(servers, session: "proxy: none"), environment: ["all_proxy": address])
        #expect(try proxied(own, "t0") == "false")
    }

    @Test func aVariableThatIsNoProxyRefusesTheRunWithoutItsValue() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200))
        let environment = ["https_proxy": "gopher://ada:lovelace@gate"]
        let run = try Stage().run(job([server], session: ""), environment: environment)
        #expect(run.status == 2)
        #expect(run.errorText.contains("the environment's `https_proxy` is no proxy's URL"))
        #expect(!run.errorText.contains("lovelace"))
        #expect(server.requests().isEmpty)
        #expect(try Stage().run(job([server], session: "proxy: none"), environment: environment).status == 0)
    }

    @Test func bySchemeWithABypass() throws {
        let servers = try servers()
        let proxy = try Neighbour.tinyproxy()
        defer {
            for server in servers { server.stop() }
            proxy.stop()
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        for (session, http, https) in [
            ("proxy: { http: \"\(address)\" }", "true", "false"), ("proxy: { https: \"\(address)\" }", "false", "true"),
            ("proxy: { all: \"\(address)\", bypass: [localhost] }", "true", "false"),
            ("proxy: { all: \"\(address)\", bypass: [\"127.0.0.0/8\"] }", "false", "true"),
        ] {
            let run = try Stage().run(job(servers, session: session))
            #expect(run.status == 0)
            #expect(try proxied(run, "t0") == http, "\(session)")
            #expect(try proxied(run, "t1") == https, "\(session)")
        }
    }

    // MARK: What goes wrong

    @Test func aProxyThatIsNotThere() throws {
        let servers = try servers()
        defer { for server in servers { server.stop() } }
        for scheme in ["http", "https", "socks4", "socks5", "socks5h"] {
            let run = try Stage().run(job(servers, session: "proxy: \"\(scheme)://127.0.0.1:9\""))
            for id in ["t0", "t1"] {
                #expect(try run.task(id, "error.name") == "cannotConnectToProxy", "\(scheme)")
                #expect(try run.task(id, "error.message")?.contains("\(scheme)://127.0.0.1:9") == true)
            }
        }
        let run = try Stage().run(job(servers, session: "proxy: \"http://gate.invalid:3128\""))
        for id in ["t0", "t1"] { #expect(try run.task(id, "error.name") == "cannotFindProxy") }
        #expect(servers.allSatisfy { $0.requests().isEmpty })
    }

    @Test func aProxyThatCannotGetThrough() throws {
        let (http, socks) = (try Neighbour.tinyproxy(), try Neighbour.microsocks())
        defer {
            http.stop()
            socks.stop()
        }
        for proxy in ["http://127.0.0.1:\(http.port)", "socks5h://127.0.0.1:\(socks.port)"] {
            let run = try Stage().run(
                """
                defaults: { retry: { attempts: 1 } }
                sessions: { default: { proxy: "\(proxy)" } }
                tasks: [{ id: a, url: "https://127.0.0.1:9/a", to: a }]
                """)
            #expect(try run.task("a", "error.name") == "proxyCouldNotConnect", "\(proxy)")
        }
    }
}
