import TestSupport
import Testing

/// Redirects, judged by what arrived.
@Suite struct RedirectTests {
    @Test(arguments: [
        (301, "GET", false), (302, "GET", false), (303, "GET", false), (307, "POST", true), (308, "POST", true),
    ])
    func aPOSTBecomes(_ status: Int, _ method: String, _ keepsBody: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/from", .redirect(status, to: "/to"))
        server.on("/to", .respond(200, body: "done"))
        let run = try Stage().run(
            """
            tasks:
              - { id: a, method: POST, url: "\(server.url("/from"))", body: { data: "the body" }, contentType: text/plain }
            """)
        #expect(run.status == 0)
        let arrived = try #require(server.requests("/to").first)
        #expect(arrived.method == method)
        #expect(arrived.bodyText == (keepsBody ? "the body" : ""))
        #expect((arrived.header("Content-Type") == "text/plain") == keepsBody)
        #expect(try run.value("$.tasks[0].redirects[0].status") == "\(status)")
        #expect(try run.value("$.tasks[0].request.current.url") == server.url("/to"))
        #expect(try run.value("$.totals.redirects") == "1")
        let story = run.story(of: "a")
        #expect(story.firstIndex(of: "redirect")! < story.firstIndex(of: "response")!)
        #expect(story.count { $0 == "response" } == 1)
    }

    /// A server may name a place in its own old encoding: the bytes are asked for as they came.
    @Test func aLocationThatIsNoUTF8IsAskedForByItsBytes() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let location: [UInt8] = Array("/caf".utf8) + [0xE9, 0x2F] + Array("ü?q=".utf8) + [0xE2, 0x82]
        let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8)
        server.on("/a", [.bytes(head + location + Array("\r\n\r\n".utf8))])
        let place = "/caf%E9/%C3%BC?q=%E2%82"
        server.on("/caf%E9/%C3%BC", .respond(200, body: "here"))
        let run = try Stage().run("tasks: [{ id: a, url: '\(server.url("/a"))' }]")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/a", place])
        #expect(try run.value("$.tasks[0].redirects[0].to") == server.url(place))
    }

    @Test func anotherOriginGetsNoSecrets() throws {
        let server = try ScriptedServer()
        let other = try ScriptedServer()
        defer {
            server.stop()
            other.stop()
        }
        server.on("/away", .redirect(302, to: other.url("/landed")))
        server.on("/home", .redirect(302, to: "/landed"))
        server.on("/landed", .respond(200, body: "home"))
        other.on("/landed", .respond(200, body: "away"))
        let stage = try Stage()
        let run = try stage.run(
            """
            secrets: { KEY: { env: KEY } }
            defaults:
              headers:
                Authorization: Basic dTpw
                Cookie: a=b
                X-Key: ${secret.KEY}
                X-Plain: plain
                Accept-Language: de
            tasks:
              - { id: away, url: "\(server.url("/away"))", to: away }
              - { id: home, url: "\(server.url("/home"))", to: home }
            """, environment: ["KEY": "from-the-environment"])
        #expect(run.status == 0)
        let away = try #require(other.requests("/landed").first)
        let home = try #require(server.requests("/landed").first)
        for name in ["Authorization", "Cookie", "X-Key", "X-Plain"] {
            #expect(away.header(name) == nil, "\(name)")
            #expect(home.header(name) != nil, "\(name)")
        }
        #expect(away.header("Accept-Language") == "de")
        #expect(try stage.text("away") == "away")
        let stripped = try run.values("$.tasks[?@.id=='away'].redirects[0].stripped[*]").compactMap { $0 }
        #expect(Set(stripped) == ["Authorization", "Cookie", "X-Key", "X-Plain"])
        #expect(run.report.plainText?.contains("from-the-environment") == false)
    }

    @Test func rulesRefuse() throws {
        let server = try ScriptedServer()
        let other = try ScriptedServer()
        defer {
            server.stop()
            other.stop()
        }
        server.on("/loop", .redirect(302, to: "/loop"))
        server.on("/away", .redirect(302, to: other.url("/")))
        server.on("/file", .redirect(302, to: "file:///etc/passwd"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { redirects: { maximum: 3 } }
            tasks:
              - { id: loop, url: "\(server.url("/loop"))", to: loop }
              - { id: away, url: "\(server.url("/away"))", to: away, redirects: { follow: sameOrigin } }
              - { id: never, url: "\(server.url("/away"))", to: never, redirects: { follow: never } }
              - { id: file, url: "\(server.url("/file"))", to: file }
              - id: accepted
                url: \(server.url("/away"))
                redirects: { follow: never, onRefuse: accept }
                expect: { status: 302 }
            """)
        #expect(run.status == 1)
        #expect(stage.files == [])
        #expect(other.requests().isEmpty)
        #expect(server.requests("/loop").count == 4)
        #expect(try run.task("loop", "error.name") == "tooManyRedirects")
        for id in ["away", "never", "file"] {
            #expect(try run.task(id, "outcome") == "failed")
            #expect(try run.task(id, "attempts[0].outcome") == "failed")
            #expect(try run.task(id, "redirects[0].action") == "refused")
        }
        #expect(try run.task("accepted", "outcome") == "succeeded")
        #expect(try run.task("accepted", "response.status") == "302")
    }

    /// By the status alone it is a success: what a login page is, its type says.
    @Test func aLoginPageInTheFilesPlace_isWarnedOfOrRefused() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/file.tgz", .redirect(302, to: "/login"))
        server.on("/login", .respond(200, headers: [("Content-Type", "text/html")], body: "<p>log in"))
        let run = try Stage().run(
            """
            defaults: { url: "\(server.url("/file.tgz"))" }
            tasks:
              - { id: taken, to: a.tgz }
              - { id: typed, to: b.tgz, expect: { mimeType: application/gzip } }
              - { id: notPage, to: c.tgz, expect: { notHTML: true } }
            """)
        #expect(run.status == 1)
        #expect(try run.task("taken", "outcome") == "succeeded")
        #expect(
            run.errorText.contains("warning: taken: a.tgz is a web page: a redirect led to \(server.url("/login"))\n"))
        let end = "; the server had redirected to \(server.url("/login"))"
        #expect(
            try run.task("typed", "error.message")
                == "expected type application/gzip, the server sent text/html\(end)")
        #expect(try run.task("notPage", "error.message") == "the server sent a web page (text/html)\(end)")
    }
}
