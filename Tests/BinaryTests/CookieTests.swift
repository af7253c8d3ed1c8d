import Glibc
import TestSupport
import Testing

/// Cookies, as servers see them, run after run.
@Suite struct CookieTests {
    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on(
            "/login",
            .respond(
                200,
                headers: [
                    ("Set-Cookie", "sid=opens-the-door; HttpOnly"), ("Set-Cookie", "lasts=for-a-while; Max-Age=600"),
                    ("Set-Cookie", "other=x; Domain=example.org"),
                ], body: "in"))
        server.on("/page", .respond(200, body: "page"))
        server.on("/bounce", .redirect(302, to: "/page", headers: [("Set-Cookie", "hop=by-hop")]))
        return server
    }

    private func job(_ server: ScriptedServer, session: String = "", second: String = "", path: String = "/login")
        -> String
    {
        """
        name: cookies
        sessions: { default: { \(session) } }
        tasks:
          - { id: first, url: "\(server.url(path))" }
          - { id: second, needs: [first], url: "\(server.url("/page"))", \(second) }
        """
    }

    private func sent(_ server: ScriptedServer, _ path: String = "/page") -> [String?] {
        server.requests(path).map { $0.header("Cookie") }
    }

    @Test func whatAServerSetsComesBack() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server), "-v")
        #expect(run.status == 0)
        #expect(sent(server) == ["sid=opens-the-door; lasts=for-a-while"])
        // The values open the door: nobody reads them.
        let told = (run.report.plainText ?? "") + run.errorText + run.events.compactMap(\.plainText).joined()
        for secret in ["opens-the-door", "for-a-while"] { #expect(!told.contains(secret)) }
        #expect(told.contains("sid=***; HttpOnly"))

        // Only what outlives the session is there in the next run.
        let next = try stage.run(job(server, path: "/page"))
        #expect(next.status == 0)
        #expect(sent(server).suffix(2) == ["lasts=for-a-while", "lasts=for-a-while"])
    }

    /// What one user was answered is kept from another, be it in the same run, and a file is asked about only by whom it is.
    @Test func aPresetSaysWhoAsks() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/me") { request in
            let headers = [("Cache-Control", "max-age=600"), ("ETag", "\"same\"")]
            if request.header("If-None-Match") != nil { return .respond(304, headers: headers) }
            return .respond(200, headers: headers, body: request.header("Cookie") ?? "nobody")
        }
        let stage = try Stage()
        func run(_ preset: String) throws -> Stage.Run {
            try stage.run(
                """
                name: presets
                sessions: { default: { cookies: { preset: [\(preset)] } } }
                defaults: { url: "\(server.url("/me"))" }
                tasks:
                  - { id: mine, type: data }
                  - { id: plain, type: data, needs: [mine], cookies: false }
                  - { id: file, needs: [plain], to: me }
                """)
        }
        func preset(_ user: String) -> String { "{ name: sid, value: \(user)-of-many, domain: 127.0.0.1 }" }
        for user in ["alice", "bob", "bob"] {
            let run = try run(preset(user))
            #expect(run.status == 0, "\(run.errorText)")
            #expect(try run.task("plain", "body.text") == "nobody")
            #expect(try stage.text("me") == "sid=\(user)-of-many")
        }
        let asked = server.requests().map { $0.header("Cookie") ?? "nobody" }
        #expect(asked.contains("sid=alice-of-many") && asked.contains("sid=bob-of-many"))
        let nobody = try run("")
        #expect(try nobody.task("mine", "body.text") == "nobody" && stage.text("me") == "nobody")
    }

    /// A server that gives a secret back in a cookie does not send it to others.
    @Test func aBoundSecretComesBackToNobodyElse() throws {
        let (server, other) = (try ScriptedServer(), try ScriptedServer { _ in .respond(200, body: "ok") })
        defer {
            server.stop()
            other.stop()
        }
        server.on("/a") { request in
            let cookie = [("Set-Cookie", "t=x.\(request.header("X-Key") ?? "")"), ("Set-Cookie", "u=plain")]
            return .respond(200, headers: cookie, body: "in")
        }
        server.on("/b", .respond(200, body: "b"))
        let run = try Stage().run(
            """
            secrets: { S: { env: S, hosts: ["127.0.0.1:\(server.port)"] } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", headers: { X-Key: "${secret.S}" } }
              - { id: b, needs: [a], url: "\(server.url("/b"))" }
              - { id: c, needs: [a], url: "\(other.url("/c"))" }
            """, environment: ["S": "hush-hush-hush"])
        #expect(run.status == 0, "\(run.errorText)")
        #expect(sent(server, "/b") == ["t=x.hush-hush-hush; u=plain"])
        #expect(sent(other, "/c") == ["u=plain"])
    }

    @Test func aHopIsAsGoodAsAnEnd() throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(job(server, path: "/bounce"))
        #expect(run.status == 0)
        #expect(sent(server) == ["hop=by-hop", "hop=by-hop"])
    }

    /// Far more cookies than a jar takes, hop by hop: the next run sends the last of them, and has no others.
    @Test func floodAlongRedirects_leavesTheLastCookiesOfTheSite() throws {
        let server = try server()
        defer { server.stop() }
        for hop in 0..<5 {
            let cookies: [Script.Header] = (0..<1_000).map { ("Set-Cookie", "c\(hop)-\($0)=v; Max-Age=600") }
            server.on("/hop\(hop)", .redirect(302, to: hop == 4 ? "/page" : "/hop\(hop + 1)", headers: cookies))
        }
        let stage = try Stage()
        #expect(try stage.run(job(server, path: "/hop0")).status == 0)
        #expect(try stage.run(job(server, path: "/page")).status == 0)
        let names = (820..<1_000).map { "c4-\($0)=v" }
        let all = names.joined(separator: "; ")
        #expect(sent(server).allSatisfy { $0 == all } && sent(server).count == 4)
    }

    @Test(arguments: [
        ("cookies: { accept: never }", "", nil), ("cookies: { send: false }", "", nil), ("", "cookies: false", nil),
        ("", "headers: { Cookie: typed=1 }", "typed=1; sid=opens-the-door; lasts=for-a-while"),
        ("cookies: { send: false }", "headers: { Cookie: typed=1 }", "typed=1"),
        (
            "cookies: { preset: [{ name: p, value: q, domain: 127.0.0.1 }, { name: e, value: f, domain: example.org }] }",
            "",
            "p=q; sid=opens-the-door; lasts=for-a-while"
        ),
    ])
    func whatTheJobSays(_ session: String, _ second: String, _ expected: String?) throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(job(server, session: session, second: second))
        #expect(run.status == 0)
        #expect(sent(server) == [expected])
    }

    @Test func aTaskThatWantsNoneKeepsNone() throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: first, cookies: false, url: "\(server.url("/login"))" }
              - { id: second, needs: [first], url: "\(server.url("/page"))" }
            """)
        #expect(run.status == 0)
        #expect(sent(server) == [nil])
    }

    @Test func theMainDocumentDecides() throws {
        let server = try server()
        defer { server.stop() }
        let policy = "cookies: { accept: onlyFromMainDocumentDomain }"
        func run(_ document: String) throws {
            let run = try Stage().run(
                """
                sessions: { default: { \(policy) } }
                tasks:
                  - { id: first, url: "\(server.url("/login"))", \(document) }
                  - { id: second, needs: [first], url: "\(server.url("/page"))" }
                """)
            #expect(run.status == 0)
        }
        try run("mainDocument: https://www.example.org/")
        try run("")
        #expect(sent(server) == [nil, "sid=opens-the-door; lasts=for-a-while"])
    }

    @Test func sessionsDoNotShare() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { a: {}, b: {}, c: { configuration: ephemeral } }
            tasks:
              - { id: a, session: a, url: "\(server.url("/login"))" }
              - { id: b, session: b, needs: [a], url: "\(server.url("/page"))" }
              - { id: c, session: c, needs: [b], url: "\(server.url("/login"))" }
              - { id: d, session: c, needs: [c], url: "\(server.url("/page"))" }
            """)
        #expect(run.status == 0)
        #expect(sent(server) == [nil, "sid=opens-the-door; lasts=for-a-while"])
        let next = try stage.run(
            """
            sessions: { a: {}, b: {}, c: { configuration: ephemeral } }
            tasks:
              - { id: a, session: a, url: "\(server.url("/page"))" }
              - { id: b, session: b, needs: [a], url: "\(server.url("/page"))" }
              - { id: c, session: c, needs: [b], url: "\(server.url("/page"))" }
            """)
        #expect(next.status == 0)
        #expect(sent(server).suffix(3) == ["lasts=for-a-while", nil, nil])
    }

    @Test func whatCannotBeACookieIsADiagnostic() throws {
        let run = try Stage().run(
            """
            sessions:
              default:
                cookies:
                  preset:
                    - { name: "a=b", value: c, domain: example.org }
                    - { name: a, value: c, domain: .co.uk }
                    - { name: a, value: c, domain: example.org, path: rel }
                    - { name: __Secure-a, value: c, domain: example.org }
            tasks: [{ id: a, url: "http://127.0.0.1:1/" }]
            """)
        #expect(run.status == 2)
        #expect(run.errorText.split(separator: "[invalid-cookie]").count == 5)
    }

    /// RFC 6797: what a server said over https holds for http, in the next run too.
    @Test func aHostMayAskForHTTPSOnly() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        server.on(
            "/said", .respond(200, headers: [("Strict-Transport-Security", "max-age=600")], body: "said"))
        server.on("/page", .respond(200, body: "page"))
        server.on("/back", .redirect(302, to: "http://localhost:\(server.port)/page"))
        let stage = try Stage()
        let text = """
            name: strict
            sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } } } }
            tasks:
              - { id: a, url: "\(server.url("/said"))" }
              - { id: b, needs: [a], url: "http://localhost:\(server.port)/page", headers: { Authorization: typed } }
              - { id: c, needs: [a], url: "\(server.url("/back"))" }
            """
        let run = try stage.run(text)
        #expect(run.status == 0)
        #expect(try run.task("b", "request.original.url") == "http://localhost:\(server.port)/page")
        #expect(try run.task("b", "request.current.url") == server.url("/page"))
        #expect(try run.task("c", "redirects[0].to") == server.url("/page"))
        // What was typed for the host goes there all the same.
        #expect(server.requests("/page").contains { $0.header("Authorization") == "typed" })
        let next = try stage.run(
            """
            name: strict
            sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } } } }
            tasks: [{ id: b, url: "http://localhost:\(server.port)/page" }]
            """)
        #expect(next.status == 0)
    }

    /// Files too: what is known of them was told over https, and so are their checksums asked for, cookies and all.
    @Test func aFileOfSuchAHostIsKnownAgain() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        server.on(
            "/said",
            .respond(
                200,
                headers: [("Strict-Transport-Security", "max-age=600"), ("Set-Cookie", "known=yes; Max-Age=600")],
                body: "said"))
        server.serve("/file", ServedResource("abc"))
        server.on("/sums", .respond(200, body: "900150983cd24fb0d6963f7d28e17f72  file\n"))
        let stage = try Stage()
        func text(_ tasks: String) -> String {
            """
            name: strict
            sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } } } }
            tasks:
            \(tasks)
            """
        }
        let plain = "http://localhost:\(server.port)"
        let file = "  - { id: file, url: \"\(plain)/file\", to: file }"
        #expect(try stage.run(text("  - { id: a, url: \"\(server.url("/said"))\" }")).status == 0)
        #expect(try stage.run(text(file)).task("file", "source") == "network")
        #expect(try stage.run(text(file)).task("file", "source") == "unchanged")
        let sums = "  - { id: b, url: \"\(plain)/file\", to: b, checksum: { from: \"\(plain)/sums\" } }"
        let run = try stage.run(text(sums))
        #expect(run.status == 0)
        #expect(server.requests("/sums").map { $0.header("Cookie") } == ["known=yes"])
        #expect(server.requests("/file").allSatisfy { $0.header("Cookie") == "known=yes" })
    }

    /// A run that is killed has told the store what it learned before.
    @Test func aKilledRunKeepsWhatItLearned() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/hang", [.stall])
        let stage = try Stage()
        let text = """
            name: cookies
            tasks:
              - { id: first, url: "\(server.url("/login"))" }
              - { id: second, needs: [first], url: "\(server.url("/hang"))" }
            """
        let program = try stage.start(text)
        #expect(server.waitForRequests(1, "/hang"))
        // It is written within a second, and the store is made for it.
        #expect(stage.waitForStore(holding: "for-a-while"))
        program.send(signal: SIGKILL)
        _ = program.wait()
        let run = try stage.run(job(server, path: "/page"))
        #expect(run.status == 0)
        #expect(sent(server).last == "lasts=for-a-while")
    }
}

extension Stage {
    /// Whether the store, or the log beside it, comes to hold a text.
    fileprivate func waitForStore(holding text: String) -> Bool {
        for _ in 0..<400 {
            let files = ["store.sqlite", "store.sqlite-wal"].map { "state/transfer-run/\($0)" }
            let bytes = files.compactMap { try? binary.home.bytes($0) }.joined()
            if String(decoding: bytes, as: UTF8.self).contains(text) { return true }
            usleep(50_000)
        }
        return false
    }
}
