import CurlCore
import TestSupport
import Testing
import TransferModel

/// Bodies of requests, and answers that come before their end.
@Suite struct CurlLoopUploadTests {
    private static let bytes = Script.patternBytes(300_000)

    @Test(arguments: [0, 1, 300_000]) func body_arrivesWithItsLength(_ count: Int) throws {
        let server = try ScriptedServer { _ in .respond(201, body: "stored") }
        defer { server.stop() }
        let stage = try LoopStage()
        let end = try stage.fetch(server.url(), method: "POST", upload: Array(Self.bytes[..<count]))
        #expect(end.code == .ok && end.recorded.heads.map(\.status) == [201])
        #expect(end.recorded.body == Array("stored".utf8) && end.metrics.uploadedBytes == count)
        #expect((end.metrics.sent == nil) == (count == 0) && (end.metrics.answered == nil) == (count == 0))
        let request = try #require(server.requests().first)
        #expect(request.method == "POST" && request.body == Array(Self.bytes[..<count]))
        #expect(request.header("Content-Length") == "\(count)" && request.header("Expect") == nil)
        #expect(try stage.fetch(server.url()).metrics.isReused)
    }

    @Test func bodyOfUnknownLength_arrivesInChunks() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url(), upload: Self.bytes) { $0.bodyLength = -1 }
        #expect(end.code == .ok && server.requests().map(\.body) == [Self.bytes])
        #expect(server.requests()[0].header("Transfer-Encoding") == "chunked" && !server.requests()[0].chunks.isEmpty)
        // libcurl counts the chunks' sizes too.
        #expect(end.metrics.uploadedBytes > Self.bytes.count)
    }

    // MARK: Expect

    @Test func serverThatSaysContinue_getsTheBody() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url(), upload: Self.bytes) { $0.expectsContinue = true }
        #expect(end.code == .ok && server.requests().map(\.body) == [Self.bytes])
        #expect(server.requests()[0].header("Expect") == "100-continue")
        #expect(end.recorded.heads.map(\.status) == [201] && end.recorded.interims.isEmpty)
    }

    /// The server may wait for the body after its answer, and take the next request for it.
    @Test(arguments: [403, 401, 200]) func serverThatAnswersInsteadOfContinue_getsNoBody(_ status: Int) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.ignoreBody] + .respond(status, body: "no"))
        server.on("/b", .respond(200))
        let stage = try LoopStage()
        let end = try stage.fetch(server.url("/a"), upload: Self.bytes) { $0.expectsContinue = true }
        let receiver = end.recorded
        #expect(end.code == .ok && receiver.heads.map(\.status) == [status] && receiver.body == Array("no".utf8))
        // Where no answer comes within a second, libcurl sends the body unasked.
        #expect(receiver.sent == 0 || end.metrics.total >= 1_000_000)
        #expect(try !stage.fetch(server.url("/b")).metrics.isReused)
    }

    /// libcurl would send the request again by itself, and deliver that answer too.
    @Test func refusedExpectation_isTheReceiversToDecideOn() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/", [.ignoreBody] + .respond(417))
        let receiver = RecordingReceiver()
        receiver.acceptsHeads = false
        let end = try LoopStage().fetch(server.url(), upload: Self.bytes, receiver) { $0.expectsContinue = true }
        #expect(end.code == .writeError && receiver.heads.map(\.status) == [417])
        #expect(server.waitUntilIdle() && server.requests().count == 1)
    }

    @Test func serverThatSaysNothing_getsTheBodyAfterASecond() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/", [.readPart(Self.bytes.count)] + .respond(201))
        let end = try LoopStage().fetch(server.url(), upload: Self.bytes) { $0.expectsContinue = true }
        #expect(end.code == .ok && server.requests().map(\.body) == [Self.bytes])
        #expect(end.metrics.total >= 1_000_000)
    }

    // MARK: Answers before the body's end

    @Test func answerBeforeTheBodysEnd_isHeard() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/", [.readPart(1_000)] + .respond(413, body: "too large", close: true))
        let stage = try LoopStage()
        let end = try stage.fetch(server.url(), upload: Script.patternBytes(32 << 20))
        let receiver = end.recorded
        #expect(receiver.heads.map(\.status) == [413] && receiver.body == Array("too large".utf8))
        #expect(end.code == .ok, "\(end.code) \(end.message)")
        #expect(end.metrics.uploadedBytes < 32 << 20 && server.waitUntilIdle())
    }

    /// What was sent of a large body stands before the next request, if the server never reads it.
    @Test(arguments: [(401, 100_000, false), (401, 1_000, true), (200, 100_000, true)])
    func challengeToALargeBody_endsTheConnection(_ status: Int, _ count: Int, _ isKept: Bool) throws {
        let server = try ScriptedServer { request in request.path == "/a" ? .respond(status, body: "x") : .respond(200)
        }
        defer { server.stop() }
        let stage = try LoopStage()
        #expect(try stage.fetch(server.url("/a"), upload: Array(Self.bytes[..<count])).code == .ok)
        #expect(try stage.fetch(server.url("/b")).metrics.isReused == isKept)
    }

    @Test func serverThatResetsAnUpload_endsIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/", [.readPart(1_000), .reset])
        let end = try LoopStage().fetch(server.url(), upload: Script.patternBytes(8 << 20))
        #expect(end.code != .ok && end.systemError != 0 && end.recorded.heads.isEmpty, "\(end.code) \(end.message)")
        #expect(end.recorded.rewinds.isEmpty && server.requests().count == 1)
    }

    @Test func serverThatReadsNothing_isSilentOnceItsBuffersAreFull() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/", [.ignoreBody, .gate("never")])
        let stage = try LoopStage()
        let receiver = try stage.start(server.url(), upload: Script.patternBytes(32 << 20))
        var sent: Int64 = -1
        stage.turn {
            defer { sent = stage.loop.uploadedBytes(of: receiver.id) ?? -1 }
            return sent > 0 && stage.loop.uploadedBytes(of: receiver.id) == sent
        }
        let activity = stage.loop.lastActivity(of: receiver.id)
        try stage.passTime()
        #expect(stage.loop.lastActivity(of: receiver.id) == activity && !stage.loop.awaitsWord(receiver.id))
        let metrics = try stage.stop(receiver)
        #expect(metrics.uploadedBytes == sent && sent < 32 << 20)
    }
}
