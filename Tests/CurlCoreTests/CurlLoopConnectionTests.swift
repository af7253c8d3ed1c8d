import CurlCore
import TestSupport
import Testing
import TransferModel

/// Which connection a request goes over, and what becomes of it afterwards.
@Suite struct CurlLoopConnectionTests {
    /// A server that answers every request with two bytes.
    private func server(_ handler: @escaping ScriptedServer.Handler = { _ in .respond(200, body: "ok") }) throws
        -> ScriptedServer
    {
        try ScriptedServer(handler: handler)
    }

    /// What TLS sends on its own account, such as session tickets, is no stray answer.
    @Test(arguments: [false, true]) func secondRequest_usesTheFirstOnesConnection(_ secure: Bool) throws {
        let server = try ScriptedServer(tls: secure ? try TLSOptions() : nil) { _ in .respond(200, body: "ok") }
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        let first = try stage.fetch(server.url("/a")).metrics
        let second = try stage.fetch(server.url("/b")).metrics
        #expect(!first.isReused && first.openedConnections == 1 && first.connect > 0)
        #expect(second.isReused && second.openedConnections == 0 && second.localPort == first.localPort)
        #expect(second.remoteAddress == "127.0.0.1" && second.remotePort == server.port)
        #expect(server.totalConnections == 1)
    }

    @Test func requestThatKeepsNoConnection_closesItAfterTheAnswer() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        #expect(try stage.fetch(server.url()) { $0.keepsConnection = false }.code == .ok)
        #expect(server.waitUntilIdle())
        #expect(try !stage.fetch(server.url()).metrics.isReused)
    }

    @Test func requestThatNeedsAFreshConnection_leavesTheIdleOneToOthers() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        _ = try stage.fetch(server.url("/kept"))
        #expect(try !stage.fetch(server.url("/fresh")) { $0.needsFreshConnection = true }.metrics.isReused)
        #expect(try stage.fetch(server.url("/next")).metrics.isReused)
        #expect(server.requests().map(\.connection) == [1, 2, 1])
        #expect(happens { server.openConnections == 1 })
    }

    @Test func connectionThatTheServerEnds_isNotUsedAgain() throws {
        let server = try server { _ in .respond(200, body: "ok", close: true) }
        defer { server.stop() }
        let stage = try LoopStage()
        for _ in 1...2 {
            let end = try stage.fetch(server.url())
            #expect(end.code == .ok && !end.metrics.isReused && end.metrics.lostRequests.isEmpty)
        }
    }

    /// Whether the end of the stream has arrived at the socket of this process with that local port (CLOSE_WAIT).
    private func isEndedByPeer(_ port: UInt16) -> Bool {
        let text =
            (try? TemporaryTree.bytes(at: "/proc/self/net/tcp")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").dropFirst().contains { line in
            let words = line.split(separator: " ")
            return words[1].split(separator: ":").last.flatMap { UInt16($0, radix: 16) } == port && words[3] == "08"
        }
    }

    @Test func idleConnectionThatTheServerEnded_costsNoRequest() throws {
        let server = try server { request in
            request.connection == 1 ? .respond(200, body: "ok") + [.close] : .respond(200, body: "ok")
        }
        defer { server.stop() }
        let stage = try LoopStage()
        let port = try stage.fetch(server.url()).metrics.localPort
        #expect(happens { isEndedByPeer(port) })
        let end = try stage.fetch(server.url())
        #expect(end.code == .ok && end.recorded.body == Array("ok".utf8))
        #expect(server.totalConnections == 2 && server.requests().map(\.numberOnConnection) == [1, 1])
    }

    /// They are the end of an answer that was longer than announced, or a 408 for no request.
    @Test(arguments: [false, true], [200, 408])
    func bytesThatNobodyAskedFor_areNoAnswerToTheNextRequest(secure: Bool, status: Int) throws {
        let stray = Script.head(status, [("Content-Length", "5")]) + Array("STRAY".utf8)
        let first = Script.head(200, [("Content-Length", "5")]) + Array("first".utf8)
        let server = try ScriptedServer(tls: secure ? try TLSOptions() : nil) { request in
            guard request.connection == 1 else { return .respond(200, body: "right") }
            return [.bytes(first), .gate("stray"), .bytes(stray)]
        }
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        #expect(try stage.fetch(server.url()).recorded.body == Array("first".utf8))
        server.open(gate: "stray")
        #expect(happens { server.requests().first?.sent == first.count + stray.count })
        let end = try stage.fetch(server.url())
        #expect(end.code == .ok && end.recorded.heads.map(\.status) == [200])
        #expect(end.recorded.body == Array("right".utf8) && server.totalConnections == 2)
    }

    // MARK: Requests that a kept connection swallows

    /// A server that reads the second request of each connection and hangs up.
    private func swallowing() throws -> ScriptedServer {
        try server { $0.numberOnConnection == 1 ? .respond(200, body: "ok") : [.cut] }
    }

    @Test func requestThatAKeptConnectionSwallows_isSentOnceMoreOnItsOwn() throws {
        let server = try swallowing()
        defer { server.stop() }
        let stage = try LoopStage()
        _ = try stage.fetch(server.url("/a"))
        let body = Script.patternBytes(5_000)
        let end = try stage.fetch(server.url("/b"), upload: body)
        #expect(end.code == .ok && end.recorded.rewinds == [true])
        let lost = end.metrics.lostRequests
        #expect(lost.count == 1 && lost[0].isReused && lost[0].uploadedBytes == 5_000)
        #expect(!end.metrics.isReused && end.metrics.openedConnections == 1 && end.metrics.uploadedBytes == 5_000)
        #expect(server.requests("/b").map(\.body) == [body, body])
        #expect(server.requests("/b").map(\.connection) == [1, 2])
    }

    @Test func requestThatIsSwallowedTwice_failsWithoutAnAnswer() throws {
        let server = try server { $0.path == "/a" ? .respond(200, body: "ok") : [.cut] }
        defer { server.stop() }
        let stage = try LoopStage()
        _ = try stage.fetch(server.url("/a"))
        let end = try stage.fetch(server.url("/b"))
        #expect(end.code == .gotNothing && end.code.saysNothingCame)
        #expect(end.metrics.lostRequests.count == 1 && server.requests("/b").count == 2)
        #expect(end.recorded.heads.isEmpty)
    }

    @Test func bodyThatCannotBeRewound_isSentOnce() throws {
        let server = try swallowing()
        defer { server.stop() }
        let stage = try LoopStage()
        _ = try stage.fetch(server.url("/a"))
        let receiver = RecordingReceiver()
        receiver.canRewind = false
        let end = try stage.fetch(server.url("/b"), upload: [1, 2, 3], receiver)
        #expect(end.code == .gotNothing && end.message == "the connection ended before an answer came")
        #expect(end.metrics.lostRequests.count == 1 && server.requests("/b").count == 1)
    }

    @Test func requestThatMustNotBeRepeated_isSentOnce() throws {
        let server = try server { $0.path == "/a" ? .respond(200, body: "ok") : [.cut] }
        defer { server.stop() }
        let stage = try LoopStage()
        _ = try stage.fetch(server.url("/a"))
        let end = try stage.fetch(server.url("/b"), upload: [1]) { $0.needsFreshConnection = true }
        #expect(end.code == .gotNothing && end.recorded.rewinds.isEmpty && end.metrics.lostRequests.isEmpty)
        #expect(server.requests("/b").count == 1)
    }

    // MARK: Limits

    @Test func hostsLimit_makesTheSecondRequestWaitForTheFirstOnesConnection() throws {
        let server = try server { $0.path == "/a" ? [.gate("a")] + .respond(200) : .respond(200) }
        defer { server.stop() }
        let stage = try LoopStage(perHost: 1)
        let first = try stage.start(server.url("/a"))
        stage.turn { server.requests("/a").count == 1 }
        let second = try stage.start(server.url("/b"))
        try stage.passTime()
        #expect(second.completion == nil && server.requests("/b").isEmpty)
        server.open(gate: "a")
        #expect(try stage.finish(first).code == .ok)
        #expect(try stage.finish(second).metrics.isReused)
        #expect(server.totalConnections == 1)
    }

    @Test func idleConnections_areAtMostAsManyAsTheLoopKeeps() throws {
        let servers = try (1...3).map { _ in try server() }
        defer { for server in servers { server.stop() } }
        let stage = try LoopStage(idle: 1)
        for server in servers { _ = try stage.fetch(server.url()) }
        #expect(happens { servers.reduce(0) { $0 + $1.openConnections } == 1 })
    }

    @Test func limitOfSeveralPools_endsTheIdleConnectionOfAnother() throws {
        let server = try server()
        defer { server.stop() }
        let limits = HostLimits(mostPerHost: 2)
        limits.narrow(Origin(scheme: "http", host: "127.0.0.1", port: server.port), to: 1)
        let stage = try LoopStage(limits: limits)
        let other = stage.addPool(limits: limits)
        for pool in [stage.pool, other, stage.pool] {
            #expect(try !stage.fetch(server.url(), in: pool).metrics.isReused)
        }
        #expect(happens { server.openConnections == 1 })
        #expect(server.totalConnections == 3)
    }

    @Test func twinPools_shareNoConnection() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        let twin = stage.pool.twin()
        _ = try stage.fetch(server.url())
        #expect(try !stage.fetch(server.url(), in: twin).metrics.isReused)
        #expect(try stage.fetch(server.url(), in: twin).metrics.isReused)
        withExtendedLifetime((stage, twin)) {}
    }

    // MARK: Ends that are not the server's

    @Test func endIdle_endsIdleConnectionsAlone() throws {
        let server = try server { $0.path == "/a" ? [.gate("a")] + .respond(200) : .respond(200) }
        defer { server.stop() }
        let stage = try LoopStage()
        let busy = try stage.start(server.url("/a"))
        stage.turn { server.requests("/a").count == 1 }
        _ = try stage.fetch(server.url("/b"))
        stage.pool.endIdle()
        #expect(happens { server.openConnections == 1 })
        let end = try stage.fetch(server.url("/c"))
        #expect(!end.metrics.isReused && end.metrics.lostRequests.isEmpty)
        server.open(gate: "a")
        #expect(try stage.finish(busy).code == .ok)
    }

    /// Connects over interface 7, and allows what is on interfaces named to go on.
    private final class Gate: ConnectionGate {
        var allowed: Set<UInt32> = [7]
        var refusal: Shortage?
        private(set) var judged: [NetworkAddress] = []
        func judge(_ address: NetworkAddress) -> ConnectionRule.Answer {
            judged.append(address)
            return refusal.map { .refuse($0) } ?? .connect(over: 7)
        }
        func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool {
            #expect(address?.isLoopback == true)
            return allowed.contains(interface)
        }
    }

    @Test(arguments: [true, false]) func cutConnections_endTheirTransfersAndNameTheNetwork(_ all: Bool) throws {
        let server = try server { _ in [.bytes(Script.head(200, [("Content-Length", "5")])), .stall] }
        defer { server.stop() }
        let gate = Gate()
        let stage = try LoopStage(gate: gate)
        let receiver = try stage.start(server.url())
        stage.turn { receiver.heads.count == 1 }
        stage.pool.cut()
        #expect(stage.loop.lostNetwork(of: receiver.id) == nil)
        if !all { gate.allowed = [] }
        stage.pool.cut(all: all)
        #expect(stage.loop.lostNetwork(of: receiver.id) == 7)
        let end = try stage.finish(receiver)
        #expect(end.code != .ok && end.metrics.interface == 7)
        #expect(server.waitUntilIdle())
    }

    @Test func addressThatTheGateRefuses_isNotConnectedTo() throws {
        let server = try server()
        defer { server.stop() }
        let gate = Gate()
        gate.refusal = .metered
        let stage = try LoopStage(gate: gate)
        let end = try stage.fetch(server.url())
        #expect(end.code == .noConnection && end.foundNoConnection && end.refusal == .metered)
        #expect(gate.judged.count == 1 && gate.judged[0].isLoopback && server.totalConnections == 0)
    }

    @Test func loopThatIsReleased_endsItsTransfersWithoutAWord() throws {
        let server = try server { _ in [.bytes(Script.head(200, [("Content-Length", "5")])), .stall] }
        defer { server.stop() }
        let receiver = RecordingReceiver()
        do {
            let stage = try LoopStage()
            _ = try stage.start(server.url(), receiver)
            stage.turn { receiver.heads.count == 1 }
        }
        #expect(server.waitUntilIdle())
        #expect(receiver.completion == nil && receiver.calls == 1)
    }
}
