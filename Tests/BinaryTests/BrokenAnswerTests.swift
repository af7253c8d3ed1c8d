import TestSupport
import Testing
import TextFormats

/// Answers that must not become a file. Whatever is wrong, the task fails, the old file stays, nothing else is left.
@Suite struct BrokenAnswerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let script: Script
        let error: String
        let keys: String
        let transports: [Transport]

        init(
            _ name: String, _ error: String, _ script: Script, keys: String = "",
            over transports: [Transport] = Transport.allCases
        ) {
            self.name = name
            self.error = error
            self.script = script
            self.keys = keys
            self.transports = transports
        }
        var testDescription: String { name }
    }

    private static func raw(_ head: String, _ body: String = "", then: Script.Step = .close) -> Script {
        [.send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(body)"), then]
    }

    static let cases: [Case] = [
        Case("not found", "unexpectedResponse", .respond(404, body: "an error page")),
        Case("server error", "unexpectedResponse", .respond(500, body: "an error page")),
        Case("cut before the announced length", "networkConnectionLost", raw("Content-Length: 100", "short")),
        Case("reset in the body", "networkConnectionLost", raw("Content-Length: 100", "short", then: .reset)),
        Case("cut in the headers", "badServerResponse", [.send("HTTP/1.1 200 OK\r\nContent-Le"), .close]),
        Case("no answer", "networkConnectionLost", [.close]),
        Case("no HTTP", "badServerResponse", [.send("SSH-2.0-OpenSSH_9.2\r\n"), .close]),
        Case("chunks without an end", "networkConnectionLost", raw("Transfer-Encoding: chunked", "5\r\nhello\r\n")),
        // libcurl reads the first of the two lines, and takes the chunks for the body.
        Case(
            "chunks that are said in two lines", "cannotParseResponse",
            raw("Transfer-Encoding:\r\n chunked", "5\r\nhello\r\n0\r\n\r\n")),
        Case(
            "a trailer without an end", "cannotParseResponse",
            raw(
                "Transfer-Encoding: chunked",
                "5\r\nhello\r\n0\r\n" + String(repeating: "X: \(String(repeating: "a", count: 900))\r\n", count: 400)
                    + "\r\n")),
        Case("cut in a chunk", "networkConnectionLost", raw("Transfer-Encoding: chunked", "50\r\nhello")),
        Case(
            "a chunk of no size", "cannotParseResponse", raw("Transfer-Encoding: chunked", "zz\r\nhello\r\n0\r\n\r\n")
        ),
        Case(
            "a header line that is too long", "cannotParseResponse",
            raw("X-Long: \(String(repeating: "a", count: 150_000))", "x")),
        Case(
            "too many headers", "cannotParseResponse",
            raw((0..<400).map { "X-\($0): \(String(repeating: "a", count: 1_000))" }.joined(separator: "\r\n"), "x")),
        Case(
            "a chunk size that wraps to 5", "cannotParseResponse",
            raw("Transfer-Encoding: chunked", "10000000000000005\r\nhello\r\n0\r\n\r\n")),
        Case(
            "a chunk of negative size", "cannotParseResponse",
            raw("Transfer-Encoding: chunked", "-5\r\nhello\r\n0\r\n\r\n")),
        Case(
            "a chunk that is longer than it says", "cannotParseResponse",
            raw("Transfer-Encoding: chunked", "3\r\nhello\r\n0\r\n\r\n")),
        Case(
            "cut after the last chunk", "networkConnectionLost",
            raw("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n")),
        Case(
            "cut in a trailer", "networkConnectionLost",
            raw("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\nX-Sum: 1")),
        Case(
            "chunks and another length", "badServerResponse",
            raw("Content-Length: 9\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")),
        Case("a coding that nobody undoes", "badServerResponse", raw("Transfer-Encoding: gzip", "hello")),
        Case(
            "a coding below the chunks", "badServerResponse",
            raw("Transfer-Encoding: gzip, chunked", "5\r\nhello\r\n0\r\n\r\n")),
        Case("a part that nobody asked for", "badServerResponse", .respond(206, body: "hello")),
        Case("two lengths in one line", "badServerResponse", raw("Content-Length: 5, 6", "hello")),
        Case("a length with a sign", "badServerResponse", raw("Content-Length: +5", "hello")),
        Case("a length behind a blank", "badServerResponse", raw("Content-Length : 100", "hello")),
        Case(
            "chunks behind a blank", "badServerResponse",
            raw("Transfer-Encoding : chunked", "5\r\nhello\r\n0\r\n\r\n")),
        Case("a length just past 2⁶³", "badServerResponse", raw("Content-Length: 9223372036854775808", "hello")),
        Case("a length that wraps to 5", "badServerResponse", raw("Content-Length: 18446744073709551621", "hello")),
        Case("two lengths", "badServerResponse", raw("Content-Length: 5\r\nContent-Length: 6", "hello")),
        Case("a negative length", "badServerResponse", raw("Content-Length: -5", "hello")),
        Case(
            "a length too long for any disk", "badServerResponse", raw("Content-Length: 99999999999999999999", "hello")),
        Case(
            "an end that nothing proves", "lengthUnproven", raw("Connection: close", "hello"),
            keys: "requireLength: true", over: [.plain]),
        Case("another size", "unexpectedResponse", .respond(200, body: "hello"), keys: "expect: { size: 6 }"),
        Case(
            "another size in chunks", "unexpectedResponse", .chunked(200, [Array("hello".utf8)]),
            keys: "expect: { size: 6 }"),
        Case("too small", "unexpectedResponse", .respond(200, body: "hello"), keys: "expect: { minimumSize: 6 }"),
        Case("too large", "dataLengthExceedsMaximum", .respond(200, body: "hello"), keys: "maximumSize: 4"),
        Case(
            "too large in chunks", "dataLengthExceedsMaximum",
            .chunked(200, [Array("hel".utf8), Array("lo".utf8)]), keys: "maximumSize: 4"),
        Case(
            "another type", "unexpectedResponse",
            .respond(200, headers: [("Content-Type", "text/html")], body: "hello"),
            keys: "expect: { mimeType: application/* }"),
        Case(
            "other bytes than the checksum's", "checksumMismatch", .respond(200, body: "hello"),
            keys: "checksum: md5:00000000000000000000000000000000"),
    ]

    @Test(arguments: cases.flatMap { given in given.transports.map { (given, $0) } })
    func theOldFileStays(_ given: Case, over transport: Transport) throws {
        let server = try transport.server()
        defer { server.stop() }
        server.on("/a", given.script)
        let stage = try Stage()
        try stage.folder.write("kept", "old")
        let run = try stage.run(
            """
            \(transport.session(server))
            defaults: { retry: { attempts: 1 } }
            tasks:
              - id: fresh
                url: \(server.url("/a"))
                to: new/folder/fresh
                \(given.keys)
              - id: over
                url: \(server.url("/a"))
                to: kept
                existing: replace
                \(given.keys)
            """)
        #expect(run.status == 1)
        #expect(try stage.text("kept") == "old")
        #expect(stage.files.filter { !$0.hasSuffix("/") } == ["kept"])
        for id in ["fresh", "over"] {
            let error = try run.task(id, "error.name")
            #expect(error == given.error)
            #expect(try run.task(id, "outcome") == "failed")
            #expect(try run.task(id, "explanation")?.isEmpty == false)
            #expect(run.story(of: id).contains("fileFinished") == false)
        }
        #expect(run.errorText.contains("FAILED"))
    }

    @Test func largeBodiesThatBreakLeaveNothing() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 3 << 20
        let head = Script.head(200, [("Content-Length", "\(size)")])
        server.on("/cut", [.bytes(head), .pattern(count: size - 1), .close])
        server.on("/whole", .respond(200, patternOf: size))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))", to: cut }
              - { id: whole, url: "\(server.url("/whole"))", to: whole }
            """)
        #expect(run.status == 1)
        #expect(try run.task("cut", "error.name") == "networkConnectionLost")
        #expect(stage.files == ["whole"])
        #expect(try stage.folder.bytes("whole") == Script.patternBytes(size))
        #expect(try run.task("whole", "file.bytes") == "\(size)")
    }

    /// A cut that nothing shows looks like a wrong file: it is fetched again as after a cut that shows, and a wrong
    /// file once, past all caches.
    @Test func whatMayHaveBeenCutIsFetchedAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let told = [("Repr-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")]
        let whole = Array("hello".utf8)
        server.on("/cut", .untilClose(200, body: Array("hel".utf8)), .untilClose(200, body: whole))
        server.on(
            "/told", .untilClose(200, headers: told, body: Array("hel".utf8)),
            .untilClose(200, headers: told, body: whole))
        server.on("/wrong", .untilClose(200, body: Array("hallo".utf8)))
        server.on("/proven", .respond(200, body: "hallo"))
        let stage = try Stage()
        let sum = "checksum: md5:5d41402abc4b2a76b9719d911017c592"
        let run = try stage.run(
            """
            defaults: { retry: { attempts: 2, backoff: { initial: 1ms } } }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))", to: cut, \(sum) }
              - { id: told, url: "\(server.url("/told"))", to: told }
              - { id: wrong, url: "\(server.url("/wrong"))", to: wrong, \(sum) }
              - { id: proven, url: "\(server.url("/proven"))", to: proven, \(sum) }
            """)
        #expect(run.status == 1)
        #expect(stage.files == ["cut", "told"])
        for name in ["cut", "told"] { #expect(try stage.text(name) == "hello") }
        for name in ["wrong", "proven"] { #expect(try run.task(name, "error.name") == "checksumMismatch") }
        #expect(try run.task("wrong", "error.message")?.hasSuffix("nothing proved where the body ends") == true)
        #expect(["/cut", "/told", "/wrong", "/proven"].map { server.requests($0).count } == [2, 2, 2, 2])
        #expect(server.requests("/proven").last?.header("Cache-Control") == "no-cache")
    }

    @Test func wholeAnswersOfEachFraming() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Array("hello".utf8)
        server.on("/length", .respond(200, body: body))
        server.on("/chunked", .chunked(200, [Array("hel".utf8), Array("lo".utf8)], trailers: [("X-Sum", "1")]))
        server.on("/close", .untilClose(200, body: body))
        server.on("/empty", .respond(200))
        let stage = try Stage()
        let tasks = ["length", "chunked", "close", "empty"].map {
            "  - { id: \($0), url: '\(server.url("/\($0)"))', to: \($0) }\n"
        }
        let run = try stage.run("tasks:\n" + tasks.joined())
        #expect(run.status == 0)
        for name in ["length", "chunked", "close"] { #expect(try stage.text(name) == "hello") }
        #expect(try stage.text("empty") == "")
        #expect(try run.task("length", "length") == "verified")
        #expect(try run.task("chunked", "length") == "verified")
        #expect(try run.task("close", "length") == "unverified")
    }

    /// A good file is not replaced by an empty one, whatever the job expects.
    @Test(arguments: [204, 205]) func noContentIsNoFile(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(status))
        server.on("HEAD /b", .headOnly(200, length: 5))
        let stage = try Stage()
        for name in ["a", "b", "c"] { try stage.folder.write(name, "good") }
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: '\(server.url("/a"))', to: a }
              - { id: b, url: '\(server.url("/b"))', method: HEAD, onResponse: [{ do: download, to: b }] }
              - { id: c, url: '\(server.url("/a"))', to: c, expect: { status: \(status) } }
            """)
        #expect(run.status == 1)
        for name in ["a", "b", "c"] {
            #expect(try stage.text(name) == "good")
            #expect(try run.task(name, "error.name") == "unexpectedResponse")
        }
    }
}
