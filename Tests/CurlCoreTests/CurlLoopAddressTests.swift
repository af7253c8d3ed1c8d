import CurlCore
import Glibc
import TestSupport
import Testing
import TransferModel

/// Addresses that a request must not connect to, decided on the address that libcurl is about to connect to.
@Suite struct CurlLoopAddressTests {
    private func limits(
        _ deny: [AddressRules.Entry], allow: [AddressRules.Entry] = [], isLedFromPublic: Bool = false
    ) -> AddressLimits? {
        AddressLimits(
            [AddressRules(owner: .session, deny: deny.map { AddressRules.Denial($0) }, allow: allow)],
            isLedFromPublic: isLedFromPublic)
    }

    private func server(at host: String = "127.0.0.1", port: UInt16 = 0) throws -> ScriptedServer {
        try ScriptedServer(at: host, port: port) { _ in .respond(200, body: "ok") }
    }

    private var loopback: AddressLimits? { limits([.all(.loopback)]) }

    @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
    func refusedAddress_isNotConnectedTo(_ host: String) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        let all = limits([.all(.loopback), .all(.unspecified)])
        let end = try stage.fetch("http://\(host):\(server.port)/") { $0.addresses = all }
        #expect(end.code != .ok && end.objection != nil && server.totalConnections == 0)
        if case .rule(let denial, .session)? = end.objection?.cause {
            #expect(denial.entry == .all(host == "0.0.0.0" ? .unspecified : .loopback))
        } else {
            Issue.record("no rule refused it")
        }
    }

    @Test func allowedAddress_isConnectedTo() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        let only = limits([.all(.loopback)], allow: [.range(try .parse("127.0.0.1"))])
        let end = try stage.fetch(server.url()) { $0.addresses = only }
        #expect(end.code == .ok && end.objection == nil)
    }

    /// Of a host with several addresses the allowed one is used, and the others are not touched.
    @Test func otherAddressesOfTheHost_areTried() throws {
        let server = try server()
        defer { server.stop() }
        let sixth = try? self.server(at: "::1", port: server.port)
        defer { sixth?.stop() }
        let stage = try LoopStage()
        let onlyFour = limits([.all(.loopback)], allow: [.range(try .parse("127.0.0.0/8"))])
        let end = try stage.fetch("http://localhost:\(server.port)/") { $0.addresses = onlyFour }
        #expect(end.code == .ok && end.metrics.remoteAddress == "127.0.0.1")
        #expect(sixth?.totalConnections ?? 0 == 0)
    }

    /// A connection that a request under other limits opened does not carry this one's.
    @Test(arguments: [false, true]) func openConnection_isNotUsedAgainstTheLimits(_ isHTTP2: Bool) throws {
        let server = try ScriptedServer(tls: isHTTP2 ? try TLSOptions() : nil) { _ in .respond(200, body: "ok") }
        defer { server.stop() }
        let stage = try LoopStage(trusting: server)
        func fetch(_ limits: AddressLimits?) throws -> CurlCompletion {
            try stage.fetch(server.url()) {
                ($0.addresses, $0.version) = (limits, isHTTP2 ? .http2OverTLS : .http1)
            }
        }
        #expect(try fetch(nil).code == .ok)
        let refused = try fetch(loopback)
        #expect(refused.code != .ok && refused.objection != nil)
        #expect(server.requests().count == 1 && server.totalConnections == 1)
        let allowed = try fetch(limits([.all(.private)]))
        #expect(allowed.code == .ok && server.requests().count == 2)
    }

    @Test func ledFromPublic_connectsToNothingInside() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try LoopStage()
        let led = AddressLimits([], isLedFromPublic: true)
        let end = try stage.fetch(server.url()) { $0.addresses = led }
        #expect(end.objection?.cause == .ledFromPublic && server.totalConnections == 0)
    }

    /// What is connected to is the proxy.
    @Test func proxyAtARefusedAddress_isNotConnectedTo() throws {
        let proxy = try server()
        defer { proxy.stop() }
        let stage = try LoopStage(proxy: proxy.port)
        let end = try stage.fetch("http://a.test/") { $0.addresses = loopback }
        #expect(end.objection != nil && proxy.totalConnections == 0)
    }

    @Test func placeConnectedToInstead_isJudged() throws {
        let server = try server()
        defer { server.stop() }
        var path = ConnectionPath()
        (path.host, path.port) = ("127.0.0.1", server.port)
        let stage = try LoopStage(path: path)
        let end = try stage.fetch("http://203.0.113.7/") { $0.addresses = loopback }
        #expect(end.objection != nil && server.totalConnections == 0)
    }

    @Test func unixSocket_isRefusedWhereLoopbackIs() throws {
        let folder = try TemporaryTree()
        let server = try ScriptedServer(unixSocket: folder.path("s")) { _ in .respond(200, body: "ok") }
        defer { server.stop() }
        var path = ConnectionPath()
        path.unixSocket = folder.path("s")
        let stage = try LoopStage(path: path)
        let refused = try stage.fetch("http://a.test/") { $0.addresses = loopback }
        #expect(refused.objection?.place == .socket(folder.path("s")) && server.totalConnections == 0)
        let allowed = try stage.fetch("http://a.test/") { $0.addresses = limits([.all(.private)]) }
        #expect(allowed.code == .ok)
    }

    @Test func ftpServerAtARefusedAddress_isNotConnectedTo() throws {
        let server = try FTPServer()
        let stage = try LoopStage()
        let end = try stage.fetch("ftp://127.0.0.1:\(server.port)/a") {
            ($0.ftp, $0.addresses) = (FTPAccess(), loopback)
        }
        #expect(end.objection != nil && server.commands.isEmpty)
    }

    /// Where an address was tried, its failure is the transfer's: it may heal.
    @Test func failureOfAnAllowedAddress_isNoRefusal() throws {
        let server = try server(at: "::1")
        let port = server.port
        server.stop()
        let stage = try LoopStage()
        let onlySix = limits([.all(.loopback)], allow: [.range(try .parse("::1"))])
        let end = try stage.fetch("http://localhost:\(port)/") { $0.addresses = onlySix }
        #expect(end.code != .ok && end.objection == nil)
    }
}
