import TestSupport
import Testing
import TextFormats

/// Every kind of secret meets every kind of origin change; what the other origin was told is searched.
@Suite struct LeakTests {
    /// How a task comes to hold a secret: members of its session and of itself. `SECRET` is the secret.
    private static let holders: [(name: String, session: String, task: String)] = [
        ("typedAuthorization", "", "headers: { Authorization: 'Bearer SECRET' }"),
        ("sessionAuthorization", "headers: { Authorization: 'Basic SECRET' }", ""),
        ("typedCookie", "", "headers: { Cookie: 'a=SECRET' }"),
        ("headerOfASecret", "", "headers: { X-Key: '${secret.KEY}' }"),
        ("jar", "cookies: { preset: [{ name: a, value: SECRET, domain: 127.0.0.1 }] }", ""),
        ("basic", "credentials: [{ host: '127.0.0.1:PORT', user: u, password: SECRET }]", ""),
        (
            "preemptive", "credentials: [{ host: '127.0.0.1:PORT', user: u, password: SECRET, preemptive: true }]", ""
        ),
        (
            "digest", "credentials: [{ host: '127.0.0.1:PORT', method: digest, user: SECRET, password: p }]", ""
        ),
        ("bearer", "credentials: [{ host: '127.0.0.1:PORT', method: bearer, token: SECRET }]", ""),
        ("url", "", "USERINFO"),
        ("boundToItsHost", "", "headers: { X-Bound: '${secret.BOUND}' }"),
        ("proxys", "credentials: [{ proxy: true, host: '*', user: u, password: SECRET, preemptive: true }]", ""),
    ]

    /// A server that was shown a secret writes it into the address that it sends us to.
    @Test func noRedirectTakesABoundSecretElsewhere() throws {
        let (home, other) = (try ScriptedServer(), try ScriptedServer())
        defer { for server in [home, other] { server.stop() } }
        other.on("/landed", .respond(200, body: "got it"))
        home.on("/stays", .respond(200, body: "fine"))
        home.on("/plain", .redirect(302, to: "\(other.origin)/landed?t=bound-s3cret"))
        home.on("/encoded", .redirect(307, to: "\(other.origin)/landed?t=%62ound%2Ds3cret"))
        home.on("/home", .redirect(302, to: "/stays?t=bound-s3cret"))
        home.on("/harmless", .redirect(302, to: "\(other.origin)/landed?t=other"))
        let run = try Stage().run(
            """
            secrets: { BOUND: { hosts: ["127.0.0.1:\(home.port)"] } }
            defaults: { allowFailure: true }
            tasks:
              - { id: plain, url: "\(home.url("/plain"))?t=${secret.BOUND}" }
              - { id: encoded, url: "\(home.url("/encoded"))", headers: { X-T: "${secret.BOUND}" } }
              - { id: home, url: "\(home.url("/home"))?t=${secret.BOUND}" }
              - { id: harmless, url: "\(home.url("/harmless"))?t=${secret.BOUND}" }
            """, environment: ["BOUND": "bound-s3cret"])
        #expect(try run.values("$.tasks[*].error.name") == ["secretBarred", "secretBarred"])
        #expect(try run.values("$.tasks[*].redirects[*].action") == ["refused", "refused", "followed", "followed"])
        #expect(other.requests().map(\.target) == ["/landed?t=other"])
    }

    /// Neither in the file's name that its URL gives, nor as the URL comes to be written.
    @Test func aSecretURLIsNotTold() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/hook/Sec-Key-2024-0815", "/?k=T0ken-abcdefgh", "/f.txt"] {
            server.on(path) { _ in .respond(200, body: "ok") }
        }
        let run = try Stage().run(
            """
            tasks:
              - { id: hook, url: "${secret.HOOK}", to: out/ }
              - { id: query, url: "${secret.QUERY}" }
              - { id: short, url: "${secret.SHORT}" }
            """,
            environment: [
                "HOOK": server.url("/hook/./Sec-Key-2024-0815"), "QUERY": "\(server.origin)?k=T0ken-abcdefgh",
                "SHORT": server.url("/f.txt"),
            ])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().count == 3)
        #expect(try run.values("$.tasks[*].request.current.url") == ["***", "***", "***"])
        #expect(try run.task("hook", "response.suggestedFilename") == "***")
        #expect(try run.task("short", "response.suggestedFilename") == "***")
        let told = (run.report.plainText ?? "") + run.events.compactMap { $0.plainText }.joined() + run.errorText
        for word in ["Sec-Key", "T0ken", "f.txt"] { #expect(!told.contains(word), "\(word)") }
    }

    /// Typed in the clear or not, what says who it is from is not told by a server that repeats it; nor is a secret that
    /// the job only declares.
    @Test func whatAServerRepeats() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/echo") { request in .respond(200, body: "got \(request.header("Authorization") ?? "")") }
        server.on("/other", .respond(200, body: "got an-unused-s3cret"))
        server.on("/decoded", .respond(200, body: "got typed-passw0rd"))
        let run = try Stage().run(
            """
            secrets: { UNUSED: {} }
            tasks:
              - { id: bearer, url: "\(server.url("/echo"))", headers: { Authorization: Bearer typed-t0ken-1 } }
              - { id: basic, url: "\(server.url("/echo"))", headers: { Authorization: Basic am9lOnR5cGVkLXBhc3N3MHJk } }
              - { id: decoded, needs: [basic], url: "\(server.url("/decoded"))" }
              - { id: unused, url: "\(server.url("/other"))" }
            """, environment: ["UNUSED": "an-unused-s3cret"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].body.text") == ["got Bearer ***", "got Basic ***", "got ***", "got ***"])
    }

    /// A body is searched as the text that it is, and told as that when it holds a secret.
    @Test(arguments: ["utf-16", "utf-16le"]) func aSecretInAnotherEncodingIsHidden(_ charset: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        var units = "k=wide-s3cret".utf8.flatMap { [$0, UInt8(0)] }
        if charset == "utf-16" { units = [0xFF, 0xFE] + units }
        server.on("/a", .respond(200, headers: [("Content-Type", "text/plain; charset=\(charset)")], body: units))
        let run = try Stage().run(
            "tasks: [{ id: a, url: \"\(server.url("/a"))\", headers: { X: \"${secret.WIDE}\" } }]",
            environment: ["WIDE": "wide-s3cret"])
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "k=***")
    }

    /// So is each part of an answer that comes in parts.
    @Test func aSecretInAPartOfAnotherEncodingIsHidden() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        func part(_ text: String) -> [UInt8] {
            Array("--next\r\nContent-Type: text/plain; charset=utf-16be\r\n\r\n".utf8)
                + text.utf8.flatMap { [UInt8(0), $0] } + [0x0D, 0x0A]
        }
        let body = part("k=wide-s3cret") + part("harmless") + part("t=captured-t0ken") + Array("--next--\r\n".utf8)
        let type = ("Content-Type", "multipart/x-mixed-replace; boundary=next")
        server.on("/a", .respond(200, headers: [type], body: body))
        let run = try Stage().run(
            """
            tasks:
              - id: a
                url: "\(server.url("/a"))"
                headers: { X: "${secret.WIDE}" }
                capture: { t: { regex: "t=(.*)", secret: true } }
            """, environment: ["WIDE": "wide-s3cret"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("a", "parts[0].text") == "k=***")
        #expect(try run.task("a", "parts[1].bytes") == "16")
        #expect(try run.task("a", "parts[2].text") == "t=***")
    }

    enum Change: CaseIterable { case port, host, scheme }

    @Test(arguments: Change.allCases, [302, 307]) func nothingCrosses(_ change: Change, _ status: Int) throws {
        let home = try ScriptedServer()
        let otherPort = try ScriptedServer()
        let secure = try ScriptedServer(tls: TLSOptions())
        defer { for server in [home, otherPort, secure] { server.stop() } }
        let other =
            switch change {
            case .port: otherPort.origin
            // The same server under another name is another origin.
            case .host: "http://localhost:\(home.port)"
            case .scheme: "https://127.0.0.1:\(secure.port)"
            }
        // Whoever is asked again asks for everything himself.
        let greedy = Script.respond(
            401,
            headers: [
                ("WWW-Authenticate", "Basic realm=\"r\", Digest realm=\"r\", nonce=\"n\", qop=\"auth\", Bearer"),
                ("WWW-Authenticate", "NTLM"), ("Proxy-Authenticate", "Basic realm=\"r\""),
            ], body: "who?")
        for server in [home, otherPort, secure] { server.on("/landed", greedy) }
        for holder in Self.holders {
            home.on("/\(holder.name)", .redirect(status, to: "\(other)/landed"))
        }
        var sessions: [String] = []
        var tasks: [String] = []
        for (number, holder) in Self.holders.enumerated() {
            let secret = "s3cr3t-\(number)-word"
            func filled(_ text: String) -> String {
                text.replacing("SECRET", with: secret).replacing("PORT", with: "\(home.port)")
            }
            let isURL = holder.task == "USERINFO"
            let login = isURL ? "u:\(secret)@" : ""
            let ca = "tls: { trust: { ca: \(secure.caFile ?? "") } }"
            sessions.append(
                "  \(holder.name): { configuration: ephemeral, \(ca), retry: { attempts: 1 }, \(filled(holder.session)) }"
            )
            tasks.append(
                "  - { id: \(holder.name), session: \(holder.name), allowFailure: true, "
                    + "url: 'http://\(login)127.0.0.1:\(home.port)/\(holder.name)', "
                    + "\(isURL ? "" : filled(holder.task)) }")
        }
        let job = """
            secrets: { KEY: { env: KEY }, BOUND: { env: BOUND, hosts: ['127.0.0.1:\(home.port)'] } }
            sessions:
            \(sessions.joined(separator: "\n"))
            tasks:
            \(tasks.joined(separator: "\n"))
            """
        let run = try Stage().run(
            job, environment: ["KEY": "s3cr3t-of-the-environment", "BOUND": "s3cr3t-of-one-host"])
        #expect(run.status == 0)
        let landed = [home, otherPort, secure].flatMap { $0.requests("/landed") }
        #expect(landed.count >= Self.holders.count, "a redirect that was not followed shows nothing")
        for request in landed {
            // The jar's cookies are a host's, whatever its port and scheme (RFC 6265bis, section 8.5).
            if change != .host, request.header("Cookie") == "a=s3cr3t-4-word" { continue }
            let told = String(decoding: request.head, as: UTF8.self)
            #expect(!told.contains("s3cr3t"), "\(told)")
            for value in request.headerLines {
                let word = value.split(separator: " ").last.map(String.init) ?? ""
                let plain = Base64.decode(word).map { String(decoding: $0, as: UTF8.self) } ?? ""
                #expect(!plain.contains("s3cr3t"), "\(value)")
            }
        }
        // It was not for want of secrets: home was told.
        let atHome = Self.holders.flatMap { home.requests("/\($0.name)") }
        #expect(atHome.contains { $0.header("Authorization")?.contains("s3cr3t-0-word") == true })
        #expect(atHome.contains { $0.header("X-Key") == "s3cr3t-of-the-environment" })
        #expect(atHome.contains { $0.header("Cookie") == "a=s3cr3t-4-word" } || change == .host)
        for text in [run.errorText, run.report.plainText ?? ""] { #expect(!text.contains("s3cr3t"), "\(text)") }
    }
}
