import CurlCore
import Glibc
import TestSupport
import Testing
import TransferModel

/// Transfers that their receiver pauses, and transfers that are stopped, in every state that they can be in.
@Suite struct CurlLoopPauseTests {
    private static let bytes = Script.patternBytes(300_000)

    // MARK: Pauses

    @Test(arguments: [false, true]) func bodyThatPausesAgainAndAgain_comesWhole(_ secure: Bool) throws {
        let server = try ScriptedServer(tls: secure ? try TLSOptions() : nil) { _ in .respond(200, body: Self.bytes) }
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let receiver = RecordingReceiver()
        var isResumed = false
        receiver.replyToBody = { _ in
            defer { isResumed = false }
            return isResumed ? .taken : .pause
        }
        _ = try stage.start(server.url(), receiver) { $0.receiveBuffer = 16 << 10 }
        while receiver.completion == nil {
            let pauses = receiver.pauses
            stage.turn { receiver.pauses > pauses || receiver.completion != nil }
            isResumed = true
            stage.loop.resume(receiver.id)
        }
        #expect(receiver.completion?.code == .ok && receiver.body == Self.bytes)
        #expect(receiver.pauses >= Self.bytes.count / (16 << 10))
    }

    @Test func pausedBody_isNotDeliveredUntilItIsResumed() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "all") + [.close] }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.replyToBody = { _ in .pause }
        _ = try stage.start(server.url(), receiver)
        stage.turn { receiver.pauses == 1 }
        let activity = try #require(stage.loop.lastActivity(of: receiver.id))
        try stage.passTime()
        #expect(receiver.pauses == 1 && receiver.completion == nil)
        receiver.replyToBody = { _ in .taken }
        stage.loop.resume(receiver.id)
        #expect(try #require(stage.loop.lastActivity(of: receiver.id)) > activity)
        #expect(try stage.finish(receiver).code == .ok && receiver.body == Array("all".utf8))
    }

    @Test func pausedBodyOfAConnectionThatEnded_comesWhole() throws {
        let server = try ScriptedServer { _ in .untilClose(200, body: Self.bytes) }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.replyToBody = { _ in .pause }
        _ = try stage.start(server.url(), receiver)
        stage.turn { receiver.pauses == 1 }
        receiver.replyToBody = { _ in .taken }
        stage.loop.resume(receiver.id)
        #expect(try stage.finish(receiver).code == .ok && receiver.body == Self.bytes)
    }

    @Test(arguments: [Int64(300_000), -1]) func pausedUpload_goesOnWhereItPaused(_ length: Int64) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.uploadLimit = 100_000
        _ = try stage.start(server.url(), upload: Self.bytes, receiver) { $0.bodyLength = length }
        stage.turn { receiver.pauses == 1 }
        try stage.passTime()
        #expect(receiver.sent == 100_000 && receiver.pauses == 1)
        #expect(try #require(stage.loop.uploadedBytes(of: receiver.id)) >= 100_000)
        receiver.uploadLimit = .max
        stage.loop.resume(receiver.id)
        let end = try stage.finish(receiver)
        #expect(end.code == .ok && receiver.heads.map(\.status) == [201])
        #expect(server.requests().map(\.body) == [Self.bytes])
        #expect(server.requests()[0].chunks.isEmpty == (length >= 0))
    }

    /// The loop pauses reading by itself until it has reported much framing.
    @Test(arguments: [false, true])
    func pauseForFraming_endsNoPauseOfTheUpload(isReceiversOwn: Bool) throws {
        let framing = [UInt8](repeating: 0x78, count: 1 << 20)
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/",
            [
                .ignoreBody, .bytes(Script.head(200, [("Transfer-Encoding", "chunked")])), .gate("framing"),
                .send("5;"), .bytes(framing), .stall,
            ])
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.uploadLimit = 10
        if isReceiversOwn { receiver.replyToFraming = { $0.framing > 100_000 ? .pause : .taken } }
        _ = try stage.start(server.url(), upload: Self.bytes, receiver)
        stage.turn { receiver.pauses > 0 && receiver.heads.count == 1 }
        server.open(gate: "framing")
        stage.turn { receiver.framing > (isReceiversOwn ? 100_000 : framing.count) }
        try stage.passTime()
        #expect(receiver.pauses == 1 && receiver.sent == 10)
        _ = try stage.stop(receiver)
    }

    @Test func pausedTransfer_leavesOthersOfItsConnectionsPoolRunning() throws {
        let server = try ScriptedServer { _ in .respond(200, body: Self.bytes) }
        defer { server.stop() }
        let stage = try LoopStage()
        let paused = RecordingReceiver()
        paused.replyToBody = { _ in .pause }
        _ = try stage.start(server.url("/paused"), paused)
        stage.turn { paused.pauses == 1 }
        let end = try stage.fetch(server.url("/other"))
        #expect(end.code == .ok && end.recorded.body == Self.bytes && paused.pauses == 1)
        #expect(try stage.stop(paused).downloadedBytes < Self.bytes.count)
    }

    // MARK: Receivers that end their transfer

    @Test func receiverThatStopsTheBody_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in .respond(200, body: Self.bytes) }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.replyToBody = { $0.body.isEmpty ? .taken : .stop }
        let end = try stage.fetch(server.url(), receiver)
        #expect(end.code == .writeError && !receiver.body.isEmpty && receiver.body.count < Self.bytes.count)
        #expect(server.waitUntilIdle())
    }

    @Test func receiverThatRefusesTheHead_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "unwanted") }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.acceptsHeads = false
        #expect(try stage.fetch(server.url(), receiver).code == .writeError)
        #expect(receiver.heads.count == 1 && receiver.body.isEmpty)
        #expect(server.waitUntilIdle())
    }

    @Test func receiverThatStopsItsBody_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        (receiver.uploadLimit, receiver.replyAtLimit) = (100, .stop)
        #expect(try stage.fetch(server.url(), upload: Self.bytes, receiver).code == .stopped)
        #expect(receiver.heads.isEmpty && server.waitUntilIdle())
        #expect(server.requests().allSatisfy { !$0.isComplete })
    }

    // MARK: Stops

    @Test func stopBeforeTheFirstTurn_connectsNowhere() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let stage = try LoopStage()
        let metrics = try stage.stop(stage.start(server.url()))
        #expect(metrics.nameLookup == 0 && metrics.openedConnections == 0 && server.totalConnections == 0)
    }

    /// On a busy machine the look-up may be over with the first turn: tried until a stop came before its end.
    @Test func stopWhileTheNameIsLookedUp_connectsNowhere() throws {
        for _ in 0..<500 {
            let stage = try LoopStage()
            let receiver = try stage.start("http://nowhere.invalid/")
            stage.turn()
            guard receiver.completion == nil else { continue }
            let metrics = try stage.stop(receiver)
            #expect(metrics.nameLookup == 0 && metrics.openedConnections == 0)
            return
        }
        Issue.record("each look-up was over before its stop")
    }

    /// A port whose queue of connections is full: the system answers no more of them.
    private final class FullPort {
        private var sockets: [Int32] = []
        let port: UInt16

        init() throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            var made: [Int32] = []
            // The listener, and what fills a queue of length 0 twice over.
            for index in 0..<4 {
                let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                let socket = socket(AF_INET, index == 0 ? kind : kind | Int32(SOCK_NONBLOCK.rawValue), 0)
                made.append(socket)
                withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        guard index == 0 else { return _ = connect(socket, $0, length) }
                        #expect(bind(socket, $0, length) == 0 && listen(socket, 0) == 0)
                        #expect(getsockname(socket, $0, &length) == 0)
                    }
                }
            }
            sockets = made
            port = UInt16(bigEndian: address.sin_port)
        }

        deinit { for socket in sockets { close(socket) } }
    }

    @Test func stopWhileConnecting_endsTheAttemptToConnect() throws {
        let full = try FullPort()
        let stage = try LoopStage()
        let receiver = try stage.start("http://127.0.0.1:\(full.port)/")
        try stage.passTime()
        #expect(stage.loop.lastArrival(of: receiver.id) == nil)
        let metrics = try stage.stop(receiver)
        #expect(metrics.nameLookup > 0 && metrics.connect == 0 && metrics.requestBytes == 0)
        withExtendedLifetime(full) {}
    }

    @Test func connectionThatIsNeverReady_endsAtTheBoundOfConnecting() throws {
        let full = try FullPort()
        let stage = try LoopStage()
        let end = try stage.fetch("http://127.0.0.1:\(full.port)/") { $0.connectTimeout = .milliseconds(50) }
        #expect(end.code.rawValue == 28 && end.metrics.total >= 50_000 && end.metrics.connect == 0)
        withExtendedLifetime(full) {}
    }

    @Test func stopInTheHandshake_sendsNoRequest() throws {
        let server = try ScriptedServer(tls: try TLSOptions())
        defer { server.stop() }
        server.onAccept { _ in [.stall] }
        let stage = try LoopStage(trusting: server)
        let receiver = try stage.start(server.url())
        stage.turn { stage.loop.lastArrival(of: receiver.id) != nil }
        try stage.passTime()
        let metrics = try stage.stop(receiver)
        #expect(metrics.openedConnections == 1 && metrics.secureConnect == 0 && metrics.requestBytes == 0)
        #expect(metrics.tlsVersion == 0 && server.waitUntilIdle())
    }

    @Test func stopBeforeTheAnswer_endsTheConnection() throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = try stage.start(server.url())
        stage.turn { server.requests().count == 1 }
        let activity = stage.loop.lastActivity(of: receiver.id)
        try stage.passTime()
        #expect(stage.loop.lastActivity(of: receiver.id) == activity && !stage.loop.awaitsWord(receiver.id))
        #expect(!stage.loop.hasInterimAnswerOnly(receiver.id))
        let metrics = try stage.stop(receiver)
        #expect(metrics.requestBytes == server.requests()[0].head.count && metrics.headerBytes == 0)
        #expect(metrics.remotePort == server.port && server.waitUntilIdle())
    }

    @Test(arguments: [0, 100_000], [false, true])
    func stopInTheAnswer_endsTheConnection(after count: Int, whilePaused: Bool) throws {
        let head = Script.head(200, [("Content-Length", "\(Self.bytes.count)")])
        let server = try ScriptedServer { _ in [.bytes(head), .pattern(count: count), .stall] }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        if whilePaused { receiver.replyToBody = { _ in .pause } }
        _ = try stage.start(server.url(), receiver)
        stage.turn {
            receiver.heads.count == 1
                && (whilePaused ? receiver.pauses > 0 || count == 0 : receiver.body.count == count)
        }
        let metrics = try stage.stop(receiver)
        #expect(metrics.headerBytes == head.count)
        if !whilePaused { #expect(metrics.downloadedBytes == count) }
        #expect(server.waitUntilIdle())
    }

    @Test func stopInAnUpload_endsTheConnection() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try LoopStage()
        let receiver = RecordingReceiver()
        receiver.uploadLimit = 100_000
        _ = try stage.start(server.url(), upload: Self.bytes, receiver)
        stage.turn { receiver.pauses == 1 }
        #expect(stage.loop.uploadedBytes(of: receiver.id) == 100_000)
        let metrics = try stage.stop(receiver)
        #expect(metrics.uploadedBytes == 100_000 && metrics.sent != nil && metrics.answered == nil)
        #expect(server.waitUntilIdle() && server.requests().allSatisfy { !$0.isComplete })
    }

    @Test func endedTransfersID_isNotItsSuccessors() throws {
        let server = try ScriptedServer { _ in .respond(200, body: Self.bytes) }
        defer { server.stop() }
        let stage = try LoopStage()
        let first = try stage.fetch(server.url("/a")).recorded
        let paused = RecordingReceiver()
        paused.replyToBody = { _ in .pause }
        _ = try stage.start(server.url("/b"), paused)
        stage.turn { paused.pauses == 1 }
        #expect(stage.loop.stop(first.id) == nil && stage.loop.lastActivity(of: first.id) == nil)
        #expect(stage.loop.uploadedBytes(of: first.id) == nil && !stage.loop.awaitsWord(first.id))
        stage.loop.resume(first.id)
        #expect(stage.loop.activeCount == 1 && paused.pauses == 1)
        paused.replyToBody = { _ in .taken }
        stage.loop.resume(paused.id)
        #expect(try stage.finish(paused).code == .ok && stage.loop.activeCount == 0)
    }
}
