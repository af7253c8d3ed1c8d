import TestSupport
import Testing
import TextFormats

/// What is asked of an answer before it becomes a file. What does not hold fails at once: asking again would bring the
/// same.
@Suite struct VerificationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        /// `nil`: it is published.
        let error: String?
        let keys: String
        let script: Script
        let message: String

        init(_ name: String, _ error: String?, _ keys: String, _ script: Script, message: String = "") {
            (self.name, self.error, self.keys, self.script, self.message) = (name, error, keys, script, message)
        }
        var testDescription: String { name }
    }

    private static let page = Script.respond(
        200, headers: [("Content-Type", "text/html; charset=utf-8")], body: "<!DOCTYPE html><title>Log in</title>")
    private static let gzip: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    private static let zeros = String(repeating: "A", count: 22) + "=="
    /// The digest of all of the file says nothing of the part that the job asked for; that of the content does.
    private static func part(_ header: Script.Header) -> Script {
        .respond(206, headers: [("Content-Range", "bytes 0-2/9"), header], body: "abc")
    }
    private static func digested(_ header: String, _ value: String) -> Script {
        .respond(200, headers: [(header, value)], body: "abc")
    }
    /// Of "abc".
    private static let md5 = "kAFQmDzST7DWlj99KOF/cg=="
    private static let sha256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

    static let cases: [Case] = [
        Case("no gzip", "magicMismatch", "expect: { magic: gzip }", page, message: "3c 21 44 4f"),
        Case("gzip", nil, "expect: { magic: gzip }", .respond(200, body: gzip)),
        Case("gzip in small pieces", nil, "expect: { magic: gzip }", .chunked(200, gzip.map { [$0] })),
        Case("too short for magic", "magicMismatch", "expect: { magic: 1f8b08 }", .respond(200, body: [0x1F, 0x8B])),
        Case("nothing at all", "magicMismatch", "expect: { magic: zip }", .respond(200), message: "is empty"),
        Case("magic at the end of a chunk", "magicMismatch", "expect: { magic: '616263' }", .chunked(200, [[0x61]])),
        Case(
            "a page by its beginning", "unexpectedHTML", "expect: { notHTML: true }",
            .respond(200, body: "\r\n<HTML><body>")),
        Case("a page by its type", "unexpectedHTML", "expect: { notHTML: true }", page, message: "text/html"),
        Case(
            "a page that was asked for", nil, "expect: { notHTML: true, mimeType: text/html }",
            .respond(200, headers: [("Content-Type", "text/html")], body: "no tags")),
        Case("a page, and nobody minds", nil, "expect: { status: 200 }", page),
        Case("no page", nil, "expect: { notHTML: true }", .respond(200, body: "abc")),
        Case(
            "a header that is missing", "unexpectedResponse", "expect: { headers: { X-Kind: '^a' } }",
            .respond(200, body: "abc"), message: "the server sent none"),
        Case(
            "a header that is another", "unexpectedResponse", "expect: { headers: { x-kind: '^a$' } }",
            .respond(200, headers: [("X-Kind", "ab")], body: "abc"), message: "the server sent `ab`"),
        Case(
            "a header that is one of two", nil, "expect: { headers: { x-kind: '^a$', ETag: x } }",
            .respond(200, headers: [("X-Kind", "ab"), ("X-Kind", "a"), ("ETag", "\"x\"")], body: "abc")),
        Case(
            "Repr-Digest", "checksumMismatch", "mode: '0600'", digested("Repr-Digest", "md5=:\(zeros):"),
            message: "`Repr-Digest` says md5:000"),
        Case(
            "Content-Digest", "checksumMismatch", "mode: '0600'",
            digested("Content-Digest", "sha-256=:\(String(repeating: "A", count: 43))=:"),
            message: "`Content-Digest` says"),
        Case(
            "Content-MD5", "checksumMismatch", "mode: '0600'", digested("Content-MD5", zeros),
            message: "`Content-MD5` says"),
        Case("a digest that holds", nil, "mode: '0600'", digested("Repr-Digest", "sha-256=:\(sha256):")),
        Case(
            "two digests, and the server's is wrong", "checksumMismatch",
            "checksum: md5:900150983cd24fb0d6963f7d28e17f72",
            digested("Repr-Digest", "sha-256=:\(String(repeating: "A", count: 43))=:"), message: "`Repr-Digest` says"),
        Case(
            "two digests, and the job's is wrong", "checksumMismatch",
            "checksum: sha1:0000000000000000000000000000000000000000", digested("Content-MD5", md5),
            message: ", expected 000"),
        Case(
            "the whole's digest beside a part", nil, "headers: { Range: bytes=0-2 }",
            part(("Repr-Digest", "md5=:\(zeros):"))),
        Case("a part's digest", nil, "headers: { Range: bytes=0-2 }", part(("Content-Digest", "sha-256=:\(sha256):"))),
        Case(
            "a part's digest that is wrong", "checksumMismatch", "headers: { Range: bytes=0-2 }",
            part(("Content-Digest", "md5=:\(zeros):")), message: "`Content-Digest` says"),
        Case("a digest that is malformed", nil, "mode: '0600'", digested("Repr-Digest", "sha-256=\(zeros)")),
        Case("a digest that nobody knows", nil, "mode: '0600'", digested("Repr-Digest", "unixsum=:AAA=:")),
    ]

    @Test(arguments: cases) func itHoldsOrTheOldFileStays(_ given: Case) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", given.script)
        let stage = try Stage()
        try stage.folder.write("kept", "old")
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: kept, existing: replace, \(given.keys) }
            """)
        let error = try run.task("a", "error")
        #expect((error == nil) == (given.error == nil))
        // What misses the job's own checksum may be a cache's copy.
        let isAskedTwice = given.error == "checksumMismatch" && given.keys.contains("checksum")
        #expect(try run.values("$.tasks[0].attempts[*].number") == (isAskedTwice ? ["1", "2"] : ["1"]))
        #expect(stage.files == ["kept"])
        if let name = given.error {
            #expect(run.status == 1)
            #expect(try run.task("a", "error.name") == name)
            #expect(try run.task("a", "error.message")?.contains(given.message) == true, "\(error ?? "")")
            #expect(try stage.text("kept") == "old")
            #expect(!run.story(of: "a").contains("fileFinished"))
        } else {
            #expect(run.status == 0, "\(error ?? "")")
            #expect(try stage.text("kept") != "old")
        }
        #expect(server.requests().map { $0.header("Cache-Control") } == (isAskedTwice ? [nil, "no-cache"] : [nil]))
    }

    /// A cache on the way sends an old copy, until it is asked to look anew.
    @Test func aWrongFile_isAskedForOnce_pastAllCaches() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a") {
            $0.header("Cache-Control") == "no-cache" ? .respond(200, body: "abc") : .respond(200, body: "old")
        }
        server.on("/moved", .redirect(302, to: "/a"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { backoff: { initial: 1ms } }, checksum: "md5:900150983cd24fb0d6963f7d28e17f72" }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: moved, url: "\(server.url("/moved"))", to: moved }
              - { id: typed, url: "\(server.url("/a"))", to: typed, headers: { Cache-Control: max-age=5 } }
            """)
        #expect(run.status == 1)
        #expect(try stage.text("a") == "abc" && stage.text("moved") == "abc" && !stage.folder.exists("typed"))
        let why = "the file had the wrong checksum: asked for once more past all caches"
        for task in 0...2 {
            #expect(try run.values("$.tasks[\(task)].attempts[*].startedOver") == [nil, why])
        }
        // The job's own word stays, and the task is asked for once more all the same.
        #expect(server.requests().compactMap { $0.header("Cache-Control") }.count { $0 == "max-age=5" } == 2)
    }

    /// Of several places the last is asked past all caches, and the others are not.
    @Test func aWrongFileOfTheLastPlace_isAskedForOnce_pastAllCaches() throws {
        let servers = try (0..<2).map { _ in try ScriptedServer() }
        defer { for server in servers { server.stop() } }
        for server in servers {
            server.on("/a") {
                $0.header("Cache-Control") == "no-cache" ? .respond(200, body: "abc") : .respond(200, body: "old")
            }
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { backoff: { initial: 1ms } }, checksum: "md5:900150983cd24fb0d6963f7d28e17f72" }
            tasks: [{ id: a, urls: ["\(servers[0].url("/a"))", "\(servers[1].url("/a"))"], to: a }]
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "abc")
        #expect(servers[0].requests().map { $0.header("Cache-Control") } == [nil])
        #expect(servers[1].requests().map { $0.header("Cache-Control") } == [nil, "no-cache"])
        let why = "the file had the wrong checksum: asked for once more past all caches"
        #expect(try run.values("$.tasks[0].attempts[*].startedOver") == [nil, nil, why])
    }

    @Test func withOneAttempt_aWrongFileIsNotAskedForAgain() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "old") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, checksum: "md5:900150983cd24fb0d6963f7d28e17f72", retry: { attempts: 1 } }
            """)
        #expect(run.status == 1 && server.requests().count == 1)
    }

    /// A body that never ends is not waited for.
    @Test func theBeginningIsEnough() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = Script.head(200, [("Content-Length", "1000000")])
        server.on("/a", [.bytes(head), .send("<html>"), .stall])
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, expect: { magic: zip } }
              - { id: b, url: "\(server.url("/a"))", expect: { notHTML: true } }
            """)
        #expect(try run.task("a", "error.name") == "magicMismatch")
        #expect(try run.task("b", "error.name") == "unexpectedHTML")
        #expect(stage.files.isEmpty)
    }

    @Test func sourcesWithoutAConnectionAreHeldAgainstItToo() throws {
        let stage = try Stage()
        let source = try stage.folder.write("page.html", "<html>")
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "file://\(source)", to: a, expect: { notHTML: true } }
              - { id: data, url: "data:,%3Chtml%3E", to: b, expect: { magic: gzip } }
              - { id: answer, url: "file://\(source)", expect: { size: 7 } }
              - { id: typed, url: "data:,abc", expect: { mimeType: image/* } }
              - { id: fine, url: "file://\(source)", to: c, expect: { size: 6, mimeType: text/html, magic: 3c68 } }
            """)
        #expect(
            try run.values("$.tasks[*].error.name")
                == ["unexpectedHTML", "magicMismatch", "unexpectedResponse", "unexpectedResponse"])
        #expect(stage.files == ["c", "page.html"])
    }

    @Test func aDigestProvesTheEndThatNothingElseProves() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for (path, digest) in [("/good", Self.md5), ("/bad", Self.zeros)] {
            server.on(
                path, .untilClose(200, headers: [("Repr-Digest", "md5=:\(digest):")], body: Array("abc".utf8)))
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: good, url: "\(server.url("/good"))", to: good, requireLength: true }
              - { id: bad, url: "\(server.url("/bad"))", to: bad, retry: { attempts: 2 } }
            """)
        #expect(try run.task("good", "length") == "verified")
        #expect(try run.task("good", "file.checksum") == "md5:900150983cd24fb0d6963f7d28e17f72")
        #expect(try run.task("bad", "error.name") == "checksumMismatch")
        #expect(stage.files == ["good"])
    }

    @Test func aLongBodyIsHashedAsItComes() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 3 << 20
        server.on("/a", .respond(200, headers: [("Content-MD5", Self.zeros)], patternOf: size))
        let stage = try Stage()
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]")
        let message = try run.task("a", "error.message")
        #expect(message?.contains(": `Content-MD5` says md5:000") == true)
        #expect(message?.contains("unknown") == false)
        #expect(stage.files.isEmpty)
    }
}
