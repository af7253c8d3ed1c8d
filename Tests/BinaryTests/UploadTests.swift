import TestSupport
import Testing

/// Bodies, compared byte for byte where they arrive.
@Suite struct UploadTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let body: String
        let bytes: [UInt8]
        let type: String?
        init(_ name: String, _ body: String, _ bytes: [UInt8], type: String?) {
            (self.name, self.body, self.bytes, self.type) = (name, body, bytes, type)
        }
        init(_ name: String, _ body: String, _ text: String, type: String?) {
            self.init(name, body, Array(text.utf8), type: type)
        }
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case("data", "{ data: \"grüß \\\"dich\\\"\\n\" }", "grüß \"dich\"\n", type: nil),
        Case("empty data", "{ data: \"\" }", "", type: nil),
        Case("base64", "{ base64: AAEC/f7/ }", [0, 1, 2, 0xFD, 0xFE, 0xFF], type: nil),
        Case(
            "json", "{ json: { a: [1, 2.50, 1e3], b: { c: null, d: true }, e: \"\\u00fc/\\\"\" } }",
            #"{"a":[1,2.50,1e3],"b":{"c":null,"d":true},"e":"ü/\""}"#, type: "application/json"),
        Case("file", "{ file: some.csv }", "a,b\n1,2\n", type: "text/csv"),
    ]

    @Test(arguments: cases) func arrivesAsWritten(_ given: Case) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("some.csv", "a,b\n1,2\n")
        let run = try stage.run(
            """
            tasks:
              - { id: post, type: upload, url: "\(server.url("/post"))", body: \(given.body) }
              - { id: put, type: upload, method: PUT, url: "\(server.url("/put"))", body: \(given.body), contentType: x/y }
              - { id: bare, type: upload, method: PUT, url: "\(server.url("/bare"))", body: \(given.body), contentType: none }
            """)
        #expect(run.status == 0)
        let post = try #require(server.requests("/post").first)
        #expect(post.method == "POST")
        #expect(post.body == given.bytes)
        #expect(post.header("Content-Length") == "\(given.bytes.count)")
        #expect(post.header("Content-Type") == given.type)
        #expect(post.header("Expect") == nil)
        let put = try #require(server.requests("/put").first)
        #expect(put.method == "PUT")
        #expect(put.body == given.bytes)
        #expect(put.header("Content-Type") == "x/y")
        let bare = try #require(server.requests("/bare").first)
        #expect(bare.body == given.bytes && bare.header("Content-Type") == nil)
        #expect(try run.value("$.totals.bytesSent") == "\(3 * given.bytes.count)")
    }

    @Test(arguments: [1, 8], [100, 200_000]) func manyBodies_arriveWhole(atOnce: Int, bytes: Int) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("body", Script.patternBytes(bytes))
        let run = try stage.run(
            """
            limits: { maximumConcurrentTasks: \(atOnce) }
            sessions: { default: { maximumConnectionsPerHost: \(atOnce) } }
            tasks:
              - { id: "a-${n}", forEach: { n: 1..40 }, type: upload, method: PUT, url: "\(server.url("/${n}"))", body: { file: body } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        let requests = server.requests()
        #expect(requests.count == 40)
        #expect(requests.allSatisfy { $0.body == Script.patternBytes(bytes) })
    }

    /// Tasks that differ in their file alone are made alike, and each sends its own.
    @Test(arguments: [1, 16]) func alikeTasksSendTheirOwnFiles(atOnce: Int) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        var (lines, expected) = ("limits: { maximumConcurrentTasks: \(atOnce) }\ntasks:\n", [String: [String]]())
        for number in 0..<24 {
            let (name, type) = [("csv", "text/csv"), ("json", "application/json"), ("csv", "text/csv")][number % 3]
            let method = number < 12 ? "PUT" : "POST"
            // Each of another length, some of none.
            let content = String(repeating: "content \(number)", count: [1, 0, 9_000, 3][number % 4])
            try stage.folder.write("f\(number).\(name)", content)
            lines += "  - { id: t\(number), type: upload, method: \(method), url: \"\(server.url("/\(number)"))\", "
            lines += "body: { file: f\(number).\(name) } }\n"
            expected["/\(number)"] = [method, content, type]
        }
        #expect(try stage.run(lines).status == 0)
        for (path, said) in expected {
            let request = try #require(server.requests(path).first)
            #expect([request.method, request.bodyText, request.header("Content-Type")] == said)
        }
    }

    @Test func formFieldsAreEncoded() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", body: { form: { "a b": "1&2=3", ü: "+", plain: 4 } } }
            """)
        #expect(run.status == 0)
        let arrived = try #require(server.requests("/a").first)
        #expect(arrived.header("Content-Type") == "application/x-www-form-urlencoded")
        let decoded = arrived.bodyText.replacing("%20", with: "+")
        #expect(decoded == "a+b=1%262%3D3&%C3%BC=%2B&plain=4")
    }

    @Test func aLargeFileArrivesWholeAlsoAfterARedirectAndARetry() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let bytes = Script.patternBytes(5_000_003)
        server.on("/busy", .respond(503), .redirect(307, to: "/store"))
        server.on("/store", .respond(201))
        let stage = try Stage()
        try stage.folder.write("large.bin", bytes)
        let run = try stage.run(
            """
            tasks:
              - id: put
                type: upload
                method: PUT
                url: \(server.url("/busy"))
                body: { file: large.bin }
                retry: { backoff: { initial: 10ms } }
            """)
        #expect(run.status == 0)
        #expect(server.requests("/store").first?.body == bytes)
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
    }

    @Test func aPOSTThatWasSentIsNotSentAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/once", [.readBody, .reset])
        server.on("/again", [.readBody, .reset], .respond(200))
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 3, backoff: { initial: 10ms } } }
            tasks:
              - { id: once, url: "\(server.url("/once"))", body: { data: x } }
              - { id: again, url: "\(server.url("/again"))", body: { data: x }, retry: { nonIdempotent: true } }
            """)
        #expect(run.status == 1)
        #expect(server.requests("/once").count == 1)
        #expect(server.requests("/again").count == 2)
        #expect(try run.task("again", "outcome") == "succeeded")
    }

    @Test func aFileThatIsNotThereFailsTheTask() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let run = try Stage().run(
            "tasks: [{ id: a, type: upload, url: '\(server.url("/a"))', body: { file: nowhere } }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "fileDoesNotExist")
    }
}
