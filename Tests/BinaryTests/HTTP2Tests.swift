import TestSupport
import Testing
import TransferModel

/// Streams of HTTP/2 that end early, or without a proof that they did not. This libcurl may call one whole that was cut;
/// a part of a body never becomes the file.
@Suite struct HTTP2Tests {
    private static let whole = "the whole body"
    private static let part = "the whole"

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frames: [UInt8]
        var then = Script.Step.stall
    }

    static let cuts = [
        Case(testDescription: "reset with an error", frames: HTTP2Frame.head() + begun + HTTP2Frame.reset(error: 2)),
        Case(testDescription: "reset without an error", frames: HTTP2Frame.head() + begun + HTTP2Frame.reset(error: 0)),
        Case(testDescription: "cancelled", frames: HTTP2Frame.head() + begun + HTTP2Frame.reset(error: 8)),
        Case(
            testDescription: "sent away with an error",
            frames: HTTP2Frame.head() + begun + HTTP2Frame.goAway(error: 2), then: .close),
        Case(
            testDescription: "sent away without an error",
            frames: HTTP2Frame.head() + begun + HTTP2Frame.goAway(error: 0), then: .close),
        Case(testDescription: "closed in order", frames: HTTP2Frame.head() + begun, then: .close),
        Case(testDescription: "cut", frames: HTTP2Frame.head() + begun, then: .cut),
        Case(testDescription: "reset by the system", frames: HTTP2Frame.head() + begun, then: .reset),
        Case(testDescription: "shorter than announced", frames: HTTP2Frame.head(length: whole.utf8.count) + ended),
        Case(
            testDescription: "announced, and reset",
            frames: HTTP2Frame.head(length: whole.utf8.count) + begun + HTTP2Frame.reset(error: 0)),
        Case(
            testDescription: "longer than announced",
            frames: HTTP2Frame.head(length: part.utf8.count) + HTTP2Frame.data(whole, isLast: true)),
    ]
    private static let begun = HTTP2Frame.data(part)
    private static let ended = HTTP2Frame.data(part, isLast: true)

    /// Speaks the frames over HTTP/2, and the whole body over HTTP/1.1.
    private func server(_ frames: [UInt8], then: Script.Step = .stall) throws -> ScriptedServer {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try ScriptedServer(tls: options)
        // The request follows the client's first line at once; frames for a stream that is not there yet are an error.
        server.on("PRI *", [.bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(frames), then])
        server.on("/a", .respond(200, body: Self.whole))
        return server
    }

    private func job(_ server: ScriptedServer, _ keys: String = "") -> String {
        """
        sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } } } }
        defaults: { retry: { attempts: 1 } }
        tasks: [{ id: a, url: "\(server.url("/a"))", to: a, existing: replace, timeoutForRequest: 10s\(keys) }]
        """
    }

    @Test(arguments: cuts) func aCutStreamIsNoFile(_ given: Case) throws {
        let server = try server(given.frames, then: given.then)
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("a", "old")
        let run = try stage.run(job(server))
        #expect(server.requests("*").count == 1, "it did not speak HTTP/2")
        // Either the cut was seen, or what nothing proves was fetched again, alone.
        #expect(try stage.text("a") == (run.status == 0 ? Self.whole : "old"))
        #expect(try run.status == 0 || run.task("a", "error.name") != nil)
        #expect(stage.files == ["a"])
        #expect(server.requests("/a").count == (run.status == 0 ? 1 : 0))
    }

    /// The server says that it did not look at it: then even what must not be done twice is sent again.
    @Test(arguments: ["PUT", "POST"]) func whatTheServerRefusedToLookAtIsSentAgain(_ method: String) throws {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        let answer = HTTP2Frame.head(length: Self.whole.utf8.count) + HTTP2Frame.data(Self.whole, isLast: true)
        let scripts: [Script] = [HTTP2Frame.reset(error: 7), answer].map { frames in
            [.bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(frames), .stall]
        }
        server.on("PRI *", scripts: scripts)
        let stage = try Stage()
        try stage.folder.write("data", "what is sent")
        let run = try stage.run(
            """
            sessions: { default: { http: { version: "2" }, tls: { trust: { ca: \(server.caFile ?? "") } } } }
            defaults: { retry: { attempts: 1 } }
            tasks: [{ id: a, url: "\(server.url("/a"))", method: \(method), body: { file: data } }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests("*").count == 2)
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["succeeded"])
    }

    /// It may say so before it has the body, and then that it wants no more of it (RFC 9113, section 8.1). Older versions of
    /// libcurl drop that answer while they send: the same over HTTP/1.1 tells it. What must not be done twice is not done twice.
    @Test(arguments: ["PUT", "POST"], [413, 201])
    func anAnswerInTheMiddleOfABodyIsHeard(_ method: String, _ status: Int) throws {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        let answer = HTTP2Frame.head(status: status, length: 5) + HTTP2Frame.data("large", isLast: true)
        server.on(
            "PRI *",
            [
                .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(answer + HTTP2Frame.reset(error: 0)),
                .stall,
            ])
        server.on("/a", .respond(status, body: "large"))
        let stage = try Stage()
        try stage.folder.write("data", Script.patternBytes(1 << 20))
        let run = try stage.run(
            """
            sessions: { default: { http: { version: "2" }, tls: { trust: { ca: \(server.caFile ?? "") } } } }
            defaults: { retry: { attempts: 1 } }
            tasks: [{ id: a, type: upload, url: "\(server.url("/a"))", method: \(method), body: { file: data } }]
            """)
        #expect(server.requests("*").count == 1, "it did not speak HTTP/2")
        let again = server.requests("/a")
        let message = try run.values("$.tasks[0].error.message").first.flatMap { $0 } ?? ""
        if again.isEmpty, !message.contains("what it answered is lost") {
            // Of a success it would have to have had all of the body, as over HTTP/1.1.
            #expect(try run.task("a", "attempts[0].transactions[0].response.status") == "\(status)")
            let name = status == 413 ? "unexpectedResponse" : "networkConnectionLost"
            #expect(try run.task("a", "error.name") == name, "\(message)")
            return
        }
        #expect(again.map(\.version) == (method == "PUT" ? ["HTTP/1.1"] : []))
        #expect(again.allSatisfy { $0.body == Script.patternBytes(1 << 20) })
        if method == "PUT" {
            #expect(try run.task("a", "response.status") == "\(status)")
            #expect(try run.values("$.tasks[0].error.name") == (status == 413 ? ["unexpectedResponse"] : []))
        } else {
            #expect(try run.task("a", "error.message")?.contains("what it answered is lost") == true)
        }
    }

    @Test func aStreamWithoutALengthIsFetchedAgainAlone() throws {
        let server = try server(HTTP2Frame.head() + Self.ended)
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0)
        #expect(try stage.text("a") == Self.whole)
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
        #expect(server.requests("/a").map(\.version) == ["HTTP/1.1"])
    }

    @Test(arguments: ["", "checksum: md5:d3d4e3c23202d05021de45f8fcac58f9"])
    func aStreamThatIsProvedIsTaken(_ checksum: String) throws {
        let length = checksum.isEmpty ? Self.whole.utf8.count : nil
        let server = try server(HTTP2Frame.head(length: length) + HTTP2Frame.data(Self.whole, isLast: true))
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server, checksum.isEmpty ? "" : ", \(checksum)"))
        #expect(run.status == 0)
        #expect(try stage.text("a") == Self.whole)
        #expect(try run.task("a", "length") == "verified")
        #expect(server.requests("/a").isEmpty)
    }
}
