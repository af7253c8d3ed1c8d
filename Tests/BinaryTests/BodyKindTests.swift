import Glibc
import TestSupport
import Testing

/// Each kind of body, sent once and again: whatever makes it go out a second time, the same bytes arrive.
@Suite struct BodyKindTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        let body: String
        /// Without the parts of a form, whose boundary is known when it has come.
        let bytes: [UInt8]
        var type: String?
        var isChunked = false
        var testDescription: String { name }
    }

    static let file = Script.patternBytes(300_001)
    static let kinds: [Kind] = [
        Kind(name: "data", body: "{ data: \"grüß\\n\" }", bytes: Array("grüß\n".utf8)),
        Kind(name: "no data", body: "{ data: \"\" }", bytes: []),
        Kind(name: "base64", body: "{ base64: AAEC/w== }", bytes: [0, 1, 2, 0xFF]),
        Kind(
            name: "json", body: "{ json: { a: [1, null] } }", bytes: Array(#"{"a":[1,null]}"#.utf8),
            type: "application/json"),
        Kind(
            name: "form", body: "{ form: { a: [1, \"&\"], b: ü } }", bytes: Array("a=1&a=%26&b=%C3%BC".utf8),
            type: "application/x-www-form-urlencoded"),
        Kind(name: "file", body: "{ file: big.zip }", bytes: file, type: "application/zip"),
        Kind(name: "empty file", body: "{ file: empty }", bytes: [], type: "application/octet-stream"),
        Kind(
            name: "multipart",
            body: """
                { multipart: [{ name: "a \\"b\\"", data: "1\\r\\n2" }, { name: f, file: big.zip },
                    { name: j, json: { x: 1 }, filename: "j\\n.json" }, { name: e, file: empty, contentType: x/y }] }
                """,
            bytes: [], type: "multipart/form-data"),
        Kind(name: "stream", body: "{ stream: { command: [cat, big.zip] } }", bytes: file, isChunked: true),
        Kind(name: "stream of a length", body: "{ stream: { command: [cat, big.zip], length: 300001 } }", bytes: file),
        Kind(name: "empty stream", body: "{ stream: { command: [\"true\"] } }", bytes: [], isChunked: true),
    ]

    /// What makes a body go out again, how often it arrives whole, and how often it is opened.
    struct Course: Sendable, CustomTestStringConvertible {
        let name: String
        let scripts: [Script]
        var later: Script?
        let openings: Int
        var testDescription: String { name }
    }
    private static let challenge: [Script.Header] = [("WWW-Authenticate", "Basic realm=r")]
    static let courses: [Course] = [
        Course(name: "plain", scripts: [.respond(201)], openings: 1),
        Course(name: "401", scripts: [.respond(401, headers: challenge), .respond(201)], openings: 2),
        Course(name: "307", scripts: [.redirect(307, to: "/there")], later: .respond(201), openings: 2),
        Course(name: "308 and 401", scripts: [.redirect(308, to: "/there")], later: nil, openings: 3),
        Course(name: "503", scripts: [.respond(503), .respond(201)], openings: 2),
        Course(name: "cut", scripts: [[.readBody, .reset], .respond(201)], openings: 2),
    ]

    @Test(arguments: kinds, courses) func theSameBytesArriveHoweverOften(_ kind: Kind, _ course: Course) throws {
        try expectArrival(of: kind, course, over: .plain)
    }

    @Test(arguments: kinds) func theSameBytesArriveOverTLS(_ kind: Kind) throws {
        try expectArrival(of: kind, Self.courses[3], over: .secure)
    }

    private func expectArrival(of kind: Kind, _ course: Course, over transport: Transport) throws {
        let server = try transport.server()
        defer { server.stop() }
        let scripts = course.scripts
        server.on("/here") { scripts[min($0.number, scripts.count) - 1] }
        if let later = course.later { server.on("/there", later) }
        if course.later == nil { server.on("/there", .respond(401, headers: Self.challenge), .respond(201)) }
        let stage = try Stage()
        try stage.folder.write("big.zip", Self.file)
        try stage.folder.write("empty", "")
        let more =
            ", credentials: [{ host: '*', user: me, password: open-sesame }], retry: { backoff: { initial: 10ms } }"
        let run = try stage.run(
            """
            \(transport.session(server, more))
            tasks:
              - id: put
                type: upload
                method: PUT
                url: \(server.url("/here"))
                body: \(kind.body)
            """)
        #expect(run.status == 0, "\(run.errorText)")
        let whole = server.requests().filter(\.isComplete)
        #expect(whole.count == course.openings)
        for request in whole {
            try expectBody(kind, of: request)
            #expect(request.body == whole[0].body)
            #expect(request.header("Content-Type") == whole[0].header("Content-Type"))
        }
        let story = run.story(of: "put")
        let openings = story.filter { $0 == "needNewBodyStream" }.count
        #expect(openings == (kind.body.contains("stream") ? course.openings : 0))
    }

    private func expectBody(_ kind: Kind, of request: ReceivedRequest) throws {
        let type = request.header("Content-Type")
        var bytes = kind.bytes
        if kind.name == "multipart" {
            let text = try #require(type)
            let parts = text.split(separator: "; boundary=")
            #expect(parts.first.map { String($0) } == kind.type)
            bytes = Self.form(boundary: String(try #require(parts.last)))
        } else {
            #expect(type == kind.type)
        }
        #expect(request.body == bytes)
        // One way of saying where it ends, never both.
        #expect(request.header("Content-Length") == (kind.isChunked ? nil : "\(bytes.count)"))
        #expect(request.header("Transfer-Encoding") == (kind.isChunked ? "chunked" : nil))
        // A login that the server has not let in yet may cost a long body.
        let isLong = kind.isChunked || bytes.count > 64 << 10
        #expect(request.header("Expect") == (isLong ? "100-continue" : nil))
    }

    private static func form(boundary: String) -> [UInt8] {
        func part(_ head: String, _ content: [UInt8]) -> [UInt8] {
            Array("--\(boundary)\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8) + content + [0x0D, 0x0A]
        }
        return part("name=\"a %22b%22\"", Array("1\r\n2".utf8))
            + part("name=\"f\"; filename=\"big.zip\"\r\nContent-Type: application/zip", file)
            + part("name=\"j\"; filename=\"j%0A.json\"\r\nContent-Type: application/json", Array(#"{"x":1}"#.utf8))
            + part("name=\"e\"; filename=\"empty\"\r\nContent-Type: x/y", [])
            + Array("--\(boundary)--\r\n".utf8)
    }

    @Test func tasksOfOneBodyHaveBoundariesOfTheirOwn() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { type: upload, body: { multipart: [{ name: a, data: b }] } }
            tasks:
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, url: "\(server.url("/b"))" }
              - { id: c, url: "\(server.url("/c"))", contentType: multipart/mixed }
            """)
        #expect(run.status == 0)
        let types = try ["/a", "/b", "/c"].map { try #require(server.requests($0).first?.header("Content-Type")) }
        #expect(Set(types.map { $0.split(separator: "=").last }).count == 3)
        #expect(types[2].hasPrefix("multipart/mixed; boundary="))
        for (type, request) in zip(types, ["/a", "/b", "/c"].compactMap { server.requests($0).first }) {
            #expect(request.bodyText.hasPrefix("--\(type.split(separator: "=").last ?? "?")\r\n"))
        }
    }

    /// An answer that comes before the body is sent is the answer.
    @Test(arguments: [413, 401]) func anEarlyAnswerIsTheResult(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/early", [.ignoreBody] + Script.respond(status, body: "enough", close: true))
        let stage = try Stage()
        try stage.folder.write("big", Script.patternBytes(8 << 20))
        let run = try stage.run(
            """
            tasks:
              - { id: file, type: upload, method: PUT, url: "\(server.url("/early"))", body: { file: big } }
              - { id: stream, type: upload, method: PUT, url: "\(server.url("/early"))", body: { stream: { command: [yes] } } }
            """)
        #expect(run.status == 1)
        for task in ["file", "stream"] {
            #expect(try run.task(task, "error.name") == "unexpectedResponse")
            #expect(try run.task(task, "response.status") == "\(status)")
            #expect(try run.task(task, "body.text") == "enough")
        }
    }

    /// Where the answer sends on to what came of the body, the body must have come.
    @Test(arguments: [303, 302]) func anEarlyWordThatItWasTakenIsNone(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let location = [("Location", "/done")]
        server.on("/early", [.readPart(1)] + Script.respond(status, headers: location, close: true))
        server.on("/read", .respond(status, headers: location))
        server.on("/done", .respond(200, body: "done"))
        let stage = try Stage()
        try stage.folder.write("big", Script.patternBytes(8 << 20))
        let run = try stage.run(
            """
            defaults: { type: upload, method: POST, body: { file: big }, retry: { attempts: 1 } }
            tasks:
              - { id: early, url: "\(server.url("/early"))" }
              - { id: read, url: "\(server.url("/read"))" }
            """)
        #expect(run.status == 1)
        #expect(try run.task("early", "error.name") == "networkConnectionLost")
        #expect(try run.task("early", "error.message")?.contains("the server answered \(status) and ended") == true)
        #expect(try run.task("read", "outcome") == "succeeded")
        #expect(server.requests("/done").count == 1)
    }

    /// Nor if none of it was there yet, be it slow or never to come.
    @Test(arguments: [301, 302, 303]) func anEarlyWordBeforeTheBodyIsNone(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let location = [("Location", "/done")]
        server.on("/close", [.ignoreBody] + Script.respond(status, headers: location, close: true))
        server.on("/keep", [.ignoreBody] + Script.respond(status, headers: location))
        server.on("/done", .respond(200, body: "done"))
        let run = try Stage().run(
            """
            defaults: { type: upload, method: POST, retry: { attempts: 1 }, allowFailure: true }
            tasks:
              - { id: slow, url: "\(server.url("/close"))", body: { stream: { command: [sh, -c, "sleep 2; echo x"] } } }
              - id: failing
                url: "\(server.url("/keep"))"
                body: { stream: { command: [sh, -c, "sleep 2; exit 1"], length: 5 } }
            """)
        #expect(run.status == 0)
        for id in ["slow", "failing"] {
            #expect(try run.task(id, "error.name") == "networkConnectionLost", "\(id)")
            let message = "the server answered \(status) before it had any of the body"
            #expect(try run.task(id, "error.message") == message)
        }
        #expect(server.requests("/done").isEmpty)
    }

    /// Who is told no need not wait until a silent command says something.
    @Test(arguments: [403, 500]) func aSilentCommandIsNotWaitedForAfterTheAnswer(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/no", [.ignoreBody] + Script.respond(status, body: "no"))
        let stage = try Stage()
        let program = try stage.start(
            """
            tasks:
              - id: t
                type: upload
                method: PUT
                url: "\(server.url("/no"))"
                body: { stream: { command: [sh, -c, "while [ ! -e go ]; do sleep 0.1; done"] } }
                retry: { attempts: 1 }
            """)
        // Sooner than the patience of a request would end it.
        waitUntil { !program.isRunning }
        #expect(!program.isRunning)
        try stage.folder.write("go", "")
        let run = try stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("t", "response.status") == "\(status)")
        #expect(try run.task("t", "error.name") == "unexpectedResponse")
    }

    /// libcurl sends nothing more once an answer is complete that ends the connection: what was sent is not what is stored.
    @Test(
        arguments: [
            "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        ])
    func aSuccessBeforeTheWholeBodyWentOutIsNone(_ answer: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        // Of a body with a length something has come by then.
        let early: Script = [.readPart(1), .send(answer), .stall]
        for path in ["/file", "/form", "/data"] { server.on(path, early, .respond(201, close: true)) }
        server.on("/stream", [.ignoreBody, .send(answer), .stall], .respond(201, close: true))
        let stage = try Stage()
        let big = Script.patternBytes(8 << 20)
        try stage.folder.write("big", big)
        let run = try stage.run(
            """
            defaults: { type: upload, method: PUT, retry: { backoff: { initial: 1ms } } }
            tasks:
              - { id: file, url: "\(server.url("/file"))", body: { file: big } }
              - { id: form, url: "\(server.url("/form"))", body: { multipart: [{ name: f, file: big }] } }
              - { id: stream, url: "\(server.url("/stream"))", body: { stream: { command: [cat, big] } } }
              - { id: post, method: POST, url: "\(server.url("/data"))", body: { file: big } }
            """)
        #expect(run.status == 1)
        for task in ["file", "form", "stream"] {
            #expect(try run.task(task, "outcome") == "succeeded")
            // A command may not have written anything by then.
            let names = ["networkConnectionLost"] + (task == "stream" ? ["badServerResponse"] : [])
            #expect(names.contains(try run.task(task, "attempts[0].error.name") ?? ""))
            #expect(try run.task(task, "attempts[1].outcome") == "succeeded")
        }
        #expect(server.requests("/file").last?.body == big)
        #expect(server.requests("/stream").last?.body == big)
        #expect(try run.task("post", "error.name") == "networkConnectionLost")
        #expect(try run.task("post", "error.message")?.contains("of 8388608 bytes of the body had been sent") == true)
        #expect(server.requests("/data").count == 1)
    }
}
