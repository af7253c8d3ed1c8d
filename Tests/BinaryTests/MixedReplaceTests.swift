import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `multipart/x-mixed-replace`: an answer in parts, each in the place of the one before.
@Suite struct MixedReplaceTests {
    private static let type = [("Content-Type", "multipart/x-mixed-replace; boundary=\"next one\"")]
    private static let two =
        "preamble\r\n--next one\r\nContent-Type: application/json\r\nX-Part: 1\r\n\r\n{\"n\": 1}\r\n--next one\r\n"
        + "Content-Type: application/json\r\nX-Part: 2\r\n\r\n{\"n\": 2}\r\n--next one--\r\nepilogue"

    @Test func eachPartIsAResponse() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: Self.type, body: Self.two))
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", capture: { n: { json: $.n } }, expect: { body: { json: { $.n: 2 } } } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(run.story(of: "a").count { $0 == "response" } == 2)
        #expect(try run.task("a", "parts[0].text") == #"{"n": 1}"#)
        #expect(try run.task("a", "parts[1].bytes") == "8")
        #expect(try run.task("a", "parts[1].headers[1]") == #"["X-Part","2"]"#)
        #expect(try run.task("a", "body") == nil)
        #expect(try run.task("a", "captures.n") == "2")
        #expect(try run.task("a", "response.mimeType") == "application/json")
    }

    /// The last part stands in the place of those before, with its headers.
    @Test func headersAreThoseOfTheLastPart() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: Self.type + [("X-Part", "none"), ("X-All", "all")], body: Self.two))
        let run = try Stage().run(
            """
            tasks:
              - id: a
                url: "\(server.url("/a"))"
                capture: { part: { header: X-Part }, all: { header: X-All }, type: { header: Content-Type } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("a", "captures") == #"{"part":"2","all":"all","type":"application/json"}"#)
    }

    /// The last part's is captured; those before hold one of their own, as a token that is renewed.
    @Test func aSecretOfAnEarlierPartIsHiddenToo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let bodies = ["{\"t\": \"first-secret-1\"}", "no token here", "{\"t\": \"third-secret-3\"}"]
        let parts = bodies.map { "--next one\r\n\r\n\($0)\r\n" }.joined()
        server.on("/a", .respond(200, headers: Self.type, body: parts + "--next one--"))
        let run = try Stage().run(
            """
            tasks: [{ id: a, url: "\(server.url("/a"))", capture: { t: { json: $.t, secret: true } } }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        let told = [run.report.plainText ?? "", run.errorText] + run.events.compactMap { $0.plainText }
        for text in told { #expect(!text.contains("-secret-"), "\(text)") }
        #expect(try run.values("$.tasks[0].parts[*].text") == [#"{"t": "***"}"#, "no token here", #"{"t": "***"}"#])
        // They are as long as they came.
        #expect(try run.values("$.tasks[0].parts[*].bytes") == bodies.map { "\($0.utf8.count)" })
    }

    @Test func aPartIsToldWhenItsHeadersAreThere() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let start = "HTTP/1.1 200 OK\r\n\(Self.type[0].0): \(Self.type[0].1)\r\n\r\n--next one\r\nX: 1\r\n\r\nfirst\r\n"
        server.on(
            "/a", [.send(start), .gate("second"), .send("--next one\r\nX: 2\r\n\r\nlast\r\n--next one--"), .close])
        let stage = try Stage()
        let program = try stage.start("tasks: [{ id: a, url: '\(server.url("/a"))' }]")
        waitUntil { stage.hasTold("response", of: "a") }
        server.open(gate: "second")
        let run = try stage.finish(program)
        #expect(run.status == 0)
        #expect(run.story(of: "a").count { $0 == "response" } == 2)
    }

    @Test func anAnswerWithoutABodyHasNoParts() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let type = "\(Self.type[0].0): \(Self.type[0].1)"
        server.on("/head", [.send("HTTP/1.1 200 OK\r\n\(type)\r\nContent-Length: 500\r\n\r\n")])
        server.on("/none", [.send("HTTP/1.1 204 No Content\r\n\(type)\r\n\r\n")])
        let run = try Stage().run(
            """
            tasks:
              - { id: head, method: HEAD, url: "\(server.url("/head"))" }
              - { id: none, url: "\(server.url("/none"))" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
    }

    @Test func aCutAnswerFailsAndOtherMultipartsStayWhole() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/cut", .respond(200, headers: Self.type, body: Array(Self.two.utf8.prefix(150))))
        server.on("/none", .respond(200, headers: Self.type, body: "nothing"))
        server.on(
            "/other",
            .respond(
                200, headers: [("Content-Type", "multipart/byteranges; boundary=x")], body: "--x\r\n\r\na\r\n--x--"))
        server.on("/file", .respond(200, headers: Self.type, body: Self.two))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { allowFailure: true, retry: { attempts: 1 } }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))" }
              - { id: none, url: "\(server.url("/none"))" }
              - { id: other, url: "\(server.url("/other"))" }
              - { id: file, url: "\(server.url("/file"))", to: file }
            """)
        #expect(run.status == 0)
        #expect(try run.task("cut", "error.name") == "networkConnectionLost")
        #expect(try run.task("cut", "error.message")?.contains("in part 2") == true)
        #expect(try run.values("$.tasks[0].parts[*].text") == [#"{"n": 1}"#])
        #expect(try run.task("none", "error.name") == "networkConnectionLost")
        #expect(run.story(of: "none").count { $0 == "response" } == 1)
        #expect(try run.task("other", "body.text") == "--x\r\n\r\na\r\n--x--")
        #expect(try run.task("other", "parts") == "[]")
        #expect(try stage.text("file") == Self.two)
    }

    /// What stands between parts is nobody's content.
    @Test func whereNoPartIsNothingIsFound() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: Self.type, body: "--next one--"))
        let run = try Stage().run("tasks: [{ id: a, url: '\(server.url("/a"))', capture: { v: { regex: next } } }]")
        #expect(try run.task("a", "error.name") == "captureNotFound")
    }

    @Test func partsAreBounded() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let many = String(repeating: "--next one\r\n\r\n\r\n", count: 5000) + "--next one--"
        server.on("/many", .respond(200, headers: Self.type, body: many))
        server.on(
            "/long",
            .respond(200, headers: Self.type, body: "--next one\r\nX: \(String(repeating: "y", count: 70_000))"))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true, retry: { attempts: 1 } }
            tasks: [{ id: many, url: "\(server.url("/many"))" }, { id: long, url: "\(server.url("/long"))" }]
            """)
        #expect(run.status == 0)
        #expect(try run.task("many", "error.name") == "dataLengthExceedsMaximum")
        #expect(try run.task("long", "error.name") == "cannotParseResponse")
    }
}
