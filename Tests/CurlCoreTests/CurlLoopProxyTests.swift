import CurlCore
import TestSupport
import Testing
import TransferModel

/// Transfers through a proxy: until its tunnel is open, every byte is the proxy's.
@Suite struct CurlLoopProxyTests {
    /// A server with TLS, and a proxy that answers CONNECT by a script.
    private final class Scene {
        let server: ScriptedServer
        let proxy: ScriptedServer
        let stage: LoopStage
        var url: String { server.url("/f") }

        init(_ script: (_ port: UInt16) -> Script) throws {
            server = try ScriptedServer(tls: TLSOptions()) { _ in .respond(200, body: "behind") }
            proxy = try ScriptedServer()
            proxy.on("CONNECT localhost:\(server.port)", script(server.port))
            stage = try LoopStage(trusting: server, proxy: proxy.port)
        }

        deinit {
            server.stop()
            proxy.stop()
        }

        /// The script that opens a tunnel.
        static func open(_ port: UInt16) -> Script {
            [.send("HTTP/1.1 200 Open\r\nX-Of: proxy\r\n\r\n"), .relay(to: port)]
        }
    }

    @Test func openedTunnel_leadsToTheServersAnswer() throws {
        let scene = try Scene(Scene.open)
        let end = try scene.stage.fetch(scene.url) { $0.proxyAuthorization = "Basic eDp5" }
        #expect(end.code == .ok && end.recorded.body == Array("behind".utf8))
        #expect(end.recorded.heads.map(\.status) == [200] && !end.recorded.heads[0].headers.has("x-of"))
        #expect(end.proxyHead?.status == 200 && end.proxyHead?.headers.first("x-of") == "proxy")
        #expect(end.metrics.isProxied && end.metrics.remotePort == scene.proxy.port)
        #expect(scene.proxy.requests()[0].header("Proxy-Authorization") == "Basic eDp5")
        #expect(scene.server.requests()[0].header("Proxy-Authorization") == nil)
        #expect(end.metrics.tlsFingerprint == scene.server.certificate?.fingerprint)
        #expect(try scene.stage.fetch(scene.url).metrics.isReused && scene.proxy.requests().count == 1)
    }

    @Test(arguments: [
        (403, ErrorName.proxyRefusedConnection), (407, .proxyAuthenticationRequired), (502, .proxyCouldNotConnect),
        (429, .proxyCouldNotConnect),
    ])
    func refusedTunnel_isTheProxysAnswer(_ status: Int, _ name: ErrorName) throws {
        let scene = try Scene { _ in .respond(status, headers: [("X-Of", "proxy")], body: "no") }
        let end = try scene.stage.fetch(scene.url)
        #expect(end.code != .ok && end.proxyHead?.status == status && end.proxyHead?.headers.first("x-of") == "proxy")
        #expect(end.proxyFailure?.name == name && end.error?.name == name, "\(end.message)")
        #expect(end.recorded.calls == 0 && end.metrics.requestBytes == 0 && scene.server.totalConnections == 0)
    }

    @Test func tunnelWithAnEndlessHead_isRefused() throws {
        let lines = (0..<1_000).map { ("X-\($0)", String(repeating: "v", count: 90)) }
        let scene = try Scene { _ in .respond(200, headers: lines) }
        let end = try scene.stage.fetch(scene.url)
        #expect(end.code != .ok && end.recorded.calls == 0 && scene.server.totalConnections == 0)
    }

    @Test func proxyThatSaysNothing_getsNoRequestOfTheTransfer() throws {
        let scene = try Scene { _ in [.stall] }
        let receiver = try scene.stage.start(scene.url)
        scene.stage.turn { scene.proxy.requests().count == 1 }
        #expect(scene.stage.loop.lastArrival(of: receiver.id) != nil)
        let metrics = try scene.stage.stop(receiver)
        #expect(metrics.openedConnections == 1 && metrics.requestBytes == 0 && metrics.isProxied)
        #expect(scene.proxy.waitUntilIdle() && scene.server.totalConnections == 0)
    }

    @Test func proxyThatHangsUp_isNamed() throws {
        let scene = try Scene { _ in [.cut] }
        let end = try scene.stage.fetch(scene.url)
        #expect(end.code != .ok && end.proxyHead == nil && end.proxyFailure?.name == .cannotConnectToProxy)
    }

    @Test func proxyThatIsNotThere_isNamed() throws {
        let scene = try Scene(Scene.open)
        scene.proxy.stop()
        let end = try scene.stage.fetch(scene.url)
        #expect(end.code == .noConnection && end.proxyFailure?.name == .cannotConnectToProxy && end.systemError == 111)
    }

    @Test func plainRequest_goesToTheProxyAsAWholeURL() throws {
        let proxy = try ScriptedServer { request in .respond(200, body: request.target) }
        defer { proxy.stop() }
        let end = try LoopStage(proxy: proxy.port).fetch("http://far.invalid/f?q")
        #expect(end.code == .ok && end.recorded.body == Array("http://far.invalid/f?q".utf8))
        #expect(end.proxyHead == nil && end.metrics.requestBytes == proxy.requests()[0].head.count)
    }

    // MARK: Transfers that wait for another's tunnel

    /// libcurl lets a request that may go over HTTP/2 join a connection whose tunnel is not open yet.
    private func waiting(_ end: (Scene, _ first: RecordingReceiver, _ second: RecordingReceiver) throws -> Void) throws
    {
        let scene = try Scene { [.gate("tunnel")] + Scene.open($0) }
        let mayShare = { (request: inout CurlRequest) -> Void in request.version = .http2OverTLS }
        let first = try scene.stage.start(scene.url, with: mayShare)
        scene.stage.turn { scene.proxy.requests().count == 1 }
        let second = try scene.stage.start(scene.url, with: mayShare)
        try scene.stage.passTime()
        #expect(second.calls == 0 && second.completion == nil)
        try end(scene, first, second)
    }

    @Test func transferThatWaitsForATunnel_goesOnWhenThatIsOpen() throws {
        try waiting { scene, first, second in
            scene.proxy.open(gate: "tunnel")
            for receiver in [first, second] {
                let end = try scene.stage.finish(receiver)
                #expect(end.code == .ok && receiver.body == Array("behind".utf8))
            }
        }
    }

    @Test func transferThatWaitsForATunnel_goesOnWhenTheOtherIsStopped() throws {
        try waiting { scene, first, second in
            #expect(scene.stage.loop.stop(first.id) != nil)
            scene.proxy.open(gate: "tunnel")
            let end = try scene.stage.finish(second)
            #expect(end.code == .ok && first.completion == nil && first.calls == 0)
        }
    }

    @Test func transferThatWaitsForATunnel_canBeStopped() throws {
        try waiting { scene, first, second in
            let metrics = try #require(scene.stage.loop.stop(second.id))
            #expect(metrics.requestBytes == 0 && scene.stage.loop.activeCount == 1)
            scene.proxy.open(gate: "tunnel")
            #expect(try scene.stage.finish(first).code == .ok && second.completion == nil && second.calls == 0)
        }
    }

    // MARK: SOCKS

    @Test func openedSOCKSTunnel_leadsToTheServersAnswer() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "behind") }
        let proxy = try SOCKS4Server(leadingTo: server.port)
        do {
            defer { server.stop() }
            let stage = try LoopStage(proxy: proxy.port, kind: .socks4a)
            let end = try stage.fetch("http://far.invalid:\(server.port)/f")
            #expect(end.code == .ok && end.recorded.body == Array("behind".utf8) && end.proxyHead == nil)
            #expect(end.metrics.isProxied && proxy.requests.map(\.name) == ["far.invalid"])
        }
        proxy.stop()
    }

    @Test func refusedSOCKSTunnel_isNamed() throws {
        let proxy = try SOCKS4Server(leadingTo: 1, reply: 91)
        do {
            let end = try LoopStage(proxy: proxy.port, kind: .socks4a).fetch("http://far.invalid/f")
            #expect(end.code != .ok && end.proxyFailure?.name == .proxyCouldNotConnect, "\(end.message)")
            #expect(end.recorded.calls == 0 && end.metrics.requestBytes == 0)
        }
        proxy.stop()
    }
}
