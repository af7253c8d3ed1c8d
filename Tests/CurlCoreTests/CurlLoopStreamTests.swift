import CurlCore
import TestSupport
import Testing
import TransferModel

/// Streams of HTTP/2 that end in order, or not.
@Suite struct CurlLoopStreamTests {
    private static let whole = HTTP2Frame.head(length: 5) + HTTP2Frame.data("whole", isLast: true)

    /// A server that sends frames over HTTP/2 once the gate of the connection is open: "1" for the first.
    private static func server(_ frames: [UInt8]..., then: Script.Step = .stall) throws -> ScriptedServer {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try ScriptedServer(tls: options)
        server.on(
            "PRI *",
            scripts: frames.enumerated().map { index, frames in
                [.bytes(HTTP2Frame.beginning), .gate("\(index + 1)"), .bytes(frames), then]
            })
        return server
    }

    private static func overHTTP2(_ request: inout CurlRequest) { request.version = .http2OverTLS }

    /// Starts a transfer and opens the connection's gate once its request is with libcurl's HTTP/2: frames for a stream
    /// that libcurl does not know would be an error.
    private func start(
        _ stage: LoopStage, _ server: ScriptedServer, gate: String = "1", upload: [UInt8]? = nil,
        _ receiver: RecordingReceiver = RecordingReceiver()
    ) throws -> RecordingReceiver {
        let started = try stage.start(server.url(), upload: upload, receiver, with: Self.overHTTP2)
        let before = stage.loop.lastActivity(of: started.id)
        stage.turn { stage.loop.lastActivity(of: started.id) != before }
        server.open(gate: gate)
        return started
    }

    @Test func stream_comesWhole() throws {
        let server = try Self.server(Self.whole)
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let receiver = try start(stage, server)
        let end = try stage.finish(receiver)
        #expect(end.code == .ok && receiver.heads.map(\.version) == [.http2] && receiver.body == Array("whole".utf8))
        #expect(receiver.framing == 0 && server.totalConnections == 1)
    }

    @Test func streamsOfOneConnection_endEachByItself() throws {
        let frames = HTTP2Frame.head(1) + HTTP2Frame.head(3, length: 5) + HTTP2Frame.data("part", 1)
        let server = try Self.server(
            frames + HTTP2Frame.reset(1, error: 2) + HTTP2Frame.data("whole", 3, isLast: true))
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let cut = try stage.start(server.url(), with: Self.overHTTP2)
        // The second joins the connection of the first, whose stream it follows.
        let whole = try start(stage, server)
        #expect(try stage.finish(cut).code == .stream)
        #expect(try stage.finish(whole).code == .ok && whole.body == Array("whole".utf8))
        #expect(server.totalConnections == 1)
    }

    @Test(arguments: [
        (HTTP2Frame.head() + HTTP2Frame.data("part") + HTTP2Frame.reset(error: 2), Script.Step.stall),
        (HTTP2Frame.reset(error: 2), .stall), (HTTP2Frame.goAway(last: 0, error: 0), .close),
        (HTTP2Frame.head(length: 10) + HTTP2Frame.data("part", isLast: true), .stall),
        (HTTP2Frame.head() + HTTP2Frame.data("part") + HTTP2Frame.goAway(error: 2), .close),
        (HTTP2Frame.head() + HTTP2Frame.data("part"), .cut),
    ])
    func streamThatIsCut_isNoSuccess(_ frames: [UInt8], _ then: Script.Step) throws {
        let server = try Self.server(frames, then: then)
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let receiver = try start(stage, server)
        let end = try stage.finish(receiver)
        #expect(end.code != .ok, "\(end.code) \(end.message)")
        #expect(
            end.error?.name == .networkConnectionLost && "part".utf8.starts(with: receiver.body)
        )
    }

    /// The server says that it did not process the request: sending it again is harmless, also of what must not be
    /// repeated.
    @Test func streamThatTheServerDidNotProcess_isSentAgain() throws {
        let server = try Self.server(HTTP2Frame.reset(error: 7), Self.whole)
        defer { server.stop() }
        server.open(gate: "2")
        let stage = try LoopStage(trusting: server)
        let receiver = try start(stage, server, upload: Array("body".utf8))
        let end = try stage.finish(receiver)
        #expect(end.code == .ok && receiver.body == Array("whole".utf8), "\(end.code) \(end.message)")
        #expect(receiver.rewinds == [false] && end.metrics.lostRequests.isEmpty)
        #expect(server.totalConnections == 2)
    }
}
