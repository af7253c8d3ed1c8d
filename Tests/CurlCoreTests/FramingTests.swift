import CurlCore
import TestSupport
import Testing
import TransferModel

/// What comes with a body and is none of its own, and answers before the answer, on a real connection.
@Suite struct FramingTests {
    private static let head = Script.head(200, [("Transfer-Encoding", "chunked")])
    private static let extensionOfAChunk = [UInt8](repeating: 0x78, count: 1 << 20)

    @Test func chunkSizesExtensionsAndTrailers_areFraming() throws {
        let frames = ["5;", "\r\n", "\r\n0\r\nX-Sum: 1\r\n\r\n"]
        let server = try ScriptedServer { _ in
            [
                .bytes(Self.head), .send(frames[0]), .bytes(Self.extensionOfAChunk), .send(frames[1]), .send("hello"),
                .send(frames[2]),
            ]
        }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .ok && end.recorded.body.count == 5)
        let expected = frames.reduce(Self.extensionOfAChunk.count) { $0 + $1.utf8.count }
        #expect(end.recorded.framing == expected)
    }

    @Test func bodyOfKnownLength_hasNoFraming() throws {
        let server = try ScriptedServer { _ in .respond(200, patternOf: 300_000) }
        defer { server.stop() }
        let end = try LoopStage().fetch(server.url())
        #expect(end.code == .ok && end.recorded.body.count == 300_000 && end.recorded.framing == 0)
    }

    /// A chunk's size line of 40 MB.
    private static let endless = Script(
        [.bytes(head), .send("5;")] + Array(repeating: .bytes(extensionOfAChunk), count: 40)
            + [.send("\r\nhello\r\n0\r\n\r\n")])

    @Test func framingThatMustStop_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in Self.endless }
        defer { server.stop() }
        let receiver = RecordingReceiver()
        receiver.replyToFraming = { $0.framing > 100_000 ? .stop : .taken }
        #expect(try LoopStage().fetch(server.url(), receiver).code == .writeError)
        #expect(receiver.framing > 100_000 && receiver.framing < 8 << 20)
    }

    @Test func framingThatIsPaused_isReadNoFurtherUntilItResumes() throws {
        let server = try ScriptedServer { _ in Self.endless }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.replyToFraming = { $0.framing > 100_000 ? .pause : .taken }
        _ = try stage.start(server.url(), receiver)
        stage.turn { receiver.framing > 100_000 }
        // libcurl reads one more buffer that it was ready for.
        try stage.passTime()
        let before = receiver.framing
        try stage.passTime()
        #expect(receiver.framing == before && before < 8 << 20)
        receiver.replyToFraming = { _ in .taken }
        stage.loop.resume(receiver.id)
        #expect(try stage.finish(receiver).code == .ok && receiver.body.count == 5)
        #expect(receiver.framing > 40 << 20)
    }

    // MARK: Interim answers

    @Test func interimAnswers_areNoActivity_andTheFinalOneIs() throws {
        let server = try ScriptedServer { _ in
            [.gate("interim"), .bytes(Script.head(102, [])), .gate("final")] + .respond(200, body: "hello")
        }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = try stage.start(server.url())
        let (loop, id) = (stage.loop, receiver.id)
        stage.turn { server.requests().count == 1 }
        #expect(!loop.hasInterimAnswerOnly(id))
        let before = try #require(loop.lastActivity(of: id))
        server.open(gate: "interim")
        stage.turn { loop.hasInterimAnswerOnly(id) }
        #expect(loop.lastActivity(of: id) == before && loop.lastArrival(of: id) == nil)
        server.open(gate: "final")
        #expect(try stage.finish(receiver).code == .ok && receiver.body.count == 5)
    }
}
