import Digests
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Bodies that servers pack: who asks for it, who undoes it, and what bounds that.
@Suite struct CompressionTests {
    /// A coding with its encoder.
    struct Coding: CustomTestStringConvertible, Sendable {
        let name: String
        let pack: @Sendable ([UInt8]) -> [UInt8]
        var testDescription: String { name }

        static let all = [
            Coding(name: "gzip", pack: { Encoder.gzip($0) }),
            Coding(name: "x-gzip", pack: { Encoder.gzip($0) + Encoder.gzip([]) }),
            Coding(name: "deflate", pack: { Encoder.zlib($0) }),
            Coding(name: "Deflate", pack: { Encoder.rawDeflate($0) }),
            Coding(name: "br", pack: { Encoder.brotli($0) }),
            Coding(name: "zstd", pack: { Encoder.zstd($0) }),
            Coding(name: "br, gzip, zstd", pack: { Encoder.zstd(Encoder.gzip(Encoder.brotli($0))) }),
        ]
    }

    private static let text = String(repeating: "a line that is there often\n", count: 200)
    private static let bytes = Array(text.utf8)

    private func packed(_ name: String, _ body: [UInt8], status: Int = 200) -> Script {
        .respond(status, headers: [("Content-Type", "text/plain"), ("Content-Encoding", name)], body: body)
    }

    private let once = "retry: { attempts: 1 }"

    // MARK: Downloads

    @Test(arguments: Coding.all) func aDownloadIsUnpackedOnRequest(coding: Coding) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let content = Script.patternBytes(1_500_000)
        let body = coding.pack(content)
        server.on("/a", packed(coding.name, body))
        let sum = try Checksum.of(content, .sha256)
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, decompress: true, checksum: "\(sum)",
                  maximumSize: 1500000, expect: { size: 1500000 } }
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == content)
        #expect(try run.task("a", "file.bytes") == "1500000")
        #expect(try run.task("a", "response.contentEncoding") == coding.name)
        #expect(try run.task("a", "response.expectedLength") == "\(body.count)")
        let counts = "attempts[0].transactions[0].countOfResponseBodyBytes"
        #expect(try run.task("a", "\(counts)Received") == "\(body.count)")
        #expect(try run.task("a", "\(counts)AfterDecoding") == "1500000")
        #expect(server.requests().map { $0.header("Accept-Encoding") } == ["gzip, br, zstd"])
    }

    @Test func whatNobodyPackedStaysAsItIs() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let archive = Encoder.gzip(Self.bytes)
        server.on("/plain", .respond(200, body: Self.bytes))
        server.on("/a.gz", .respond(200, headers: [("Content-Type", "application/gzip")], body: archive))
        server.on("/same", packed("identity", archive))
        server.on("/empty", packed("gzip", []))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { decompress: true }
            tasks:
              - { id: plain, url: "\(server.url("/plain"))", to: plain }
              - { id: archive, url: "\(server.url("/a.gz"))", to: a.gz }
              - { id: same, url: "\(server.url("/same"))", to: same.gz }
              - { id: empty, url: "\(server.url("/empty"))", to: empty }
            """)
        #expect(run.status == 0)
        #expect(stage.files == ["a.gz", "empty", "plain", "same.gz"])
        #expect(try stage.folder.bytes("plain") == Self.bytes)
        #expect(try stage.folder.bytes("a.gz") == archive)
        #expect(try stage.folder.bytes("same.gz") == archive)
        #expect(try stage.folder.bytes("empty") == [])
    }

    /// `decompress: file`: what the server did on the way, and then what the file itself is.
    @Test func aPackedFileIsUnpackedByItsFirstBytes() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let files = [
            "gz": Encoder.gzip(Self.bytes), "zst": Encoder.zstd(Self.bytes), "xz": Encoder.xz(Self.bytes),
        ]
        for (name, file) in files {
            server.on("/\(name)", .respond(200, body: file))
            server.on("/sent-\(name)", packed("gzip", Encoder.gzip(file)))
            server.on("/cut-\(name)", .respond(200, body: Array(file.dropLast(3))))
        }
        server.on("/plain", .respond(200, body: Self.bytes))
        server.on("/short", .respond(200, body: "("))
        let stage = try Stage()
        try stage.folder.write("local.xz", files["xz"] ?? [])
        let sum = try Checksum.of(Self.bytes, .sha256)
        let rest = "checksum: \"\(sum)\", expect: { size: \(Self.bytes.count) }"
        let names = files.keys.sorted()
        let tasks = names.flatMap { name in
            [
                "  - { id: \(name), url: \"\(server.url("/\(name)"))\", to: a.\(name), \(rest) }\n",
                "  - { id: sent-\(name), url: \"\(server.url("/sent-\(name)"))\", to: sent.\(name), \(rest) }\n",
                "  - { id: cut-\(name), url: \"\(server.url("/cut-\(name)"))\", to: cut.\(name), \(once) }\n",
            ]
        }
        let run = try stage.run(
            """
            defaults: { decompress: file }
            tasks:
            \(tasks.joined())
              - { id: plain, url: "\(server.url("/plain"))", to: plain, \(rest) }
              - { id: short, url: "\(server.url("/short"))", to: short }
              - { id: local, url: "file://\(stage.folder.path("local.xz"))", to: local, \(rest) }
              - { id: data, url: "data:;base64,\(Base64.encode(files["gz"] ?? []))", to: data, \(rest) }
            """)
        for name in names {
            #expect(try stage.folder.bytes("a.\(name)") == Self.bytes, "\(name)")
            #expect(try stage.folder.bytes("sent.\(name)") == Self.bytes, "\(name)")
            #expect(try run.task("cut-\(name)", "error.name") == "cannotDecodeRawData")
            #expect(!stage.folder.exists("cut.\(name)"))
        }
        for name in ["plain", "local", "data"] { #expect(try stage.folder.bytes(name) == Self.bytes, "\(name)") }
        #expect(try stage.text("short") == "(")
        #expect(run.status == 1)
    }

    @Test func withoutTheWordADownloadIsNeverTouched() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let archive = Encoder.gzip(Self.bytes)
        server.on("/a", packed("gzip", archive))
        server.on("/b", packed("secret-sauce", [1, 2, 3]))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, expect: { size: \(archive.count) } }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("a") == archive)
        #expect(try stage.folder.bytes("b") == [1, 2, 3])
        #expect(try run.task("a", "response.contentEncoding") == "gzip")
        #expect(server.requests().allSatisfy { $0.header("Accept-Encoding") == "identity" })
    }

    @Test(arguments: Coding.all) func whatIsCutOrWrongIsNoFile(coding: Coding) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = coding.pack(Script.patternBytes(900_000))
        // Cut by whoever packed it: HTTP says that it is whole.
        server.on("/cut", packed(coding.name, Array(body.dropLast(2))))
        server.on("/more", packed(coding.name, body + Array("more".utf8)))
        // Cut on the way.
        let head = Script.head(200, [("Content-Encoding", coding.name), ("Content-Length", "\(body.count)")])
        server.on("/lost", [.bytes(head + Array(body.dropLast(2))), .close])
        let stage = try Stage()
        try stage.folder.write("cut", "old")
        let run = try stage.run(
            """
            defaults: { decompress: true, \(once) }
            tasks:
              - { id: cut, url: "\(server.url("/cut"))", to: cut }
              - { id: more, url: "\(server.url("/more"))", to: more }
              - { id: lost, url: "\(server.url("/lost"))", to: lost }
            """)
        #expect(run.status == 1)
        #expect(try run.task("cut", "error.name") == "cannotDecodeRawData")
        #expect(try run.task("more", "error.name") == "cannotDecodeRawData")
        #expect(try run.task("lost", "error.name") == "networkConnectionLost")
        #expect(stage.files == ["cut"])
        #expect(try stage.text("cut") == "old")
    }

    @Test func aDamagedBodyIsFetchedAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Encoder.gzip(Self.bytes)
        server.on("/a", packed("gzip", Array(body.dropLast(1))), packed("gzip", body))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, decompress: true,
                  retry: { backoff: { initial: 1ms } } }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == Self.text)
        #expect(try run.task("a", "attempts[0].error.name") == "cannotDecodeRawData")
        #expect(server.requests("/a").map { $0.header("Cache-Control") } == [nil, "no-cache"])
    }

    /// What is damaged twice is no fault of a cache, and waiting does not mend it.
    @Test func aBodyThatStaysDamaged_isAskedForTwice() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let cut = Array(Encoder.gzip(Self.bytes).dropLast(4))
        for path in ["/data", "/file"] { server.on(path, packed("gzip", cut)) }
        let run = try Stage().run(
            """
            defaults: { retry: { backoff: { initial: 1ms } } }
            tasks:
              - { id: data, url: "\(server.url("/data"))" }
              - { id: file, url: "\(server.url("/file"))", to: f, decompress: true }
            """)
        #expect(run.status == 1)
        for id in ["data", "file"] {
            #expect(try run.task(id, "error.name") == "cannotDecodeRawData")
            #expect(server.requests("/\(id)").count == 2)
            #expect(
                try run.task(id, "attempts[1].startedOver")
                    == "the body was damaged: asked for once more past all caches")
        }
    }

    @Test func bombsGoOffNowhere() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        // 16 KiB that unpack to 512 MiB.
        let block = Encoder.zstd(Array(repeating: 0, count: 64 << 20))
        server.on("/bomb", packed("zstd", Array(repeating: block, count: 8).flatMap { $0 }))
        // It goes on for ever: only who notices in time ends.
        let endless = Script.head(200, [("Content-Encoding", "zstd"), ("Transfer-Encoding", "chunked")])
        let blocks = Array(repeating: block, count: 300).flatMap { $0 }
        server.on("/endless", [.bytes(endless), .bytes(Script.chunk(blocks)), .stall])
        server.on("/long", packed("gzip", Encoder.gzip(Script.patternBytes(300_000))))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: bomb, url: "\(server.url("/bomb"))", to: bomb, decompress: true }
              - { id: endless, url: "\(server.url("/endless"))", to: endless, decompress: true, maximumSize: 1MiB }
              - { id: long, url: "\(server.url("/long"))", to: long, decompress: true, maximumSize: 299999 }
              - { id: wrong, url: "\(server.url("/long"))", to: wrong, decompress: true, expect: { size: 299999 } }
              - { id: short, url: "\(server.url("/long"))", to: short, decompress: true,
                  expect: { minimumSize: 300001 } }
              - { id: data, url: "\(server.url("/bomb"))" }
            """)
        #expect(run.status == 1)
        for id in ["bomb", "endless", "long", "data"] {
            #expect(try run.task(id, "error.name") == "dataLengthExceedsMaximum")
            // More of the same does not help.
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        for id in ["wrong", "short"] { #expect(try run.task(id, "error.name") == "unexpectedResponse") }
        #expect(stage.files == [])
    }

    @Test func codingsThatNobodyKnowsOrTooMany() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/unknown", packed("secret-sauce", [1, 2, 3]))
        server.on("/many", packed("gzip, gzip, gzip, gzip, gzip", [1, 2, 3]))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "\(server.url("/unknown"))", to: file, decompress: true }
              - { id: many, url: "\(server.url("/many"))", to: many, decompress: true }
              - { id: data, url: "\(server.url("/unknown"))" }
            """)
        #expect(run.status == 1)
        for id in ["file", "many", "data"] {
            #expect(try run.task(id, "error.name") == "cannotDecodeContentData")
            #expect(try run.values("$.tasks[?@.id=='\(id)'].attempts[*].number") == ["1"])
        }
        #expect(try run.task("file", "error.message")?.contains("secret-sauce") == true)
        #expect(stage.files == [])
    }

    // MARK: Answers

    @Test(arguments: Coding.all) func answersAreUnpacked(coding: Coding) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/data", packed(coding.name, coding.pack(Self.bytes)))
        server.on("PUT /upload", packed(coding.name, coding.pack(Self.bytes)))
        server.on(
            "/chunks",
            .chunked(
                200, headers: [("Content-Encoding", coding.name)], coding.pack(Self.bytes).map { [$0] }))
        let run = try Stage().run(
            """
            tasks:
              - { id: data, url: "\(server.url("/data"))", expect: { size: \(Self.bytes.count) } }
              - { id: upload, method: PUT, url: "\(server.url("/upload"))", body: { data: x }, type: upload }
              - { id: chunks, url: "\(server.url("/chunks"))" }
            """)
        #expect(run.status == 0)
        for id in ["data", "upload", "chunks"] {
            #expect(try run.task(id, "body.text") == Self.text)
            #expect(try run.task(id, "response.contentEncoding") == coding.name)
            let count = "attempts[0].transactions[0].countOfResponseBodyBytesAfterDecoding"
            #expect(try run.task(id, count) == "\(Self.bytes.count)")
        }
        #expect(server.requests().allSatisfy { $0.header("Accept-Encoding") == "gzip, br, zstd" })
    }

    @Test func errorPagesCanBeRead() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/gone", packed("gzip", Encoder.gzip(Self.bytes), status: 404))
        server.on("/odd", packed("secret-sauce", Array("odd".utf8), status: 404))
        server.on("/cut", packed("gzip", Array(Encoder.gzip(Self.bytes).dropLast(4)), status: 404))
        server.on("HEAD /head", .headOnly(200, headers: [("Content-Encoding", "gzip")], length: 9))
        let run = try Stage().run(
            """
            tasks:
              - { id: gone, url: "\(server.url("/gone"))" }
              - { id: odd, url: "\(server.url("/odd"))" }
              - { id: cut, url: "\(server.url("/cut"))" }
              - { id: head, method: HEAD, url: "\(server.url("/head"))" }
            """)
        #expect(run.status == 1)
        for id in ["gone", "odd", "cut"] { #expect(try run.task(id, "error.name") == "unexpectedResponse") }
        #expect(try run.task("gone", "body.text") == Self.text)
        #expect(try run.task("odd", "body.text") == "odd")
        #expect(try run.task("head", "outcome") == "succeeded")
    }

    @Test func answersAreBoundedAndWhole() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/long", packed("br", Encoder.brotli(Array(repeating: 0x20, count: 17 << 20))))
        server.on("/cut", packed("gzip", Array(Encoder.gzip(Self.bytes).dropLast(4))))
        server.on("/wrong", packed("gzip", Self.bytes))
        let run = try Stage().run(
            """
            defaults: { \(once) }
            tasks:
              - { id: long, url: "\(server.url("/long"))" }
              - { id: short, url: "\(server.url("/cut"))", maximumSize: 100 }
              - { id: cut, url: "\(server.url("/cut"))" }
              - { id: wrong, url: "\(server.url("/wrong"))" }
              - { id: size, url: "\(server.url("/long"))", maximumSize: 20MiB, expect: { size: 17MiB } }
            """)
        #expect(run.status == 1)
        #expect(try run.task("long", "error.name") == "dataLengthExceedsMaximum")
        #expect(try run.task("short", "error.name") == "dataLengthExceedsMaximum")
        #expect(try run.task("cut", "error.name") == "cannotDecodeRawData")
        #expect(try run.task("wrong", "error.name") == "cannotDecodeRawData")
        // 17 MiB from a few bytes: past 10 MiB that is too good to be true.
        #expect(try run.task("size", "error.name") == "dataLengthExceedsMaximum")
    }

    @Test func withoutCompressionAnswersAreToldAsTheyCame() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", packed("gzip", [0x1F, 0x8B, 0xFF]))
        server.on("/b", packed("secret-sauce", Array("odd".utf8)))
        let run = try Stage().run(
            """
            sessions: { default: { http: { compression: false } } }
            tasks:
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, url: "\(server.url("/b"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "body.base64") == "H4v/")
        #expect(try run.task("b", "body.text") == "odd")
        #expect(server.requests().allSatisfy { $0.header("Accept-Encoding") == "identity" })
    }

    @Test func aTypedWordOnCodingsIsKept() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", packed("gzip", Encoder.gzip(Self.bytes)))
        let run = try Stage().run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", headers: { accept-encoding: gzip } }
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == Self.text)
        #expect(server.requests().map { $0.header("Accept-Encoding") } == ["gzip"])
    }
}
