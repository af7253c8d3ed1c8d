import TestSupport
import Testing
import TransferModel

@Suite struct TLSServerTests {
    private let request = "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    @Test func speaksTLSWithACertificateThatItsAuthoritySigned() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        server.on("/a", .respond(200, body: "secret"))
        let client = try RawClient(port: server.port, caFile: try #require(server.caFile))
        client.send(request)
        let (bytes, ending) = client.readToEnd()
        #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\r\n\r\nsecret"))
        #expect(ending == .finished)
        #expect(server.tlsVersions == [1: "TLSv1.3"])
        #expect(server.url("/a").hasPrefix("https://localhost:"))
        let stranger = try CertificateAuthority()
        #expect(throws: (any Error).self) { try RawClient(port: server.port, caFile: stranger.caFile) }
    }

    @Test func cutsWithoutANotice() throws {
        let server = try ScriptedServer(tls: TLSOptions(maximum: .v1_2, closesInOrder: false))
        defer { server.stop() }
        server.on("/a", .untilClose(200, body: [1, 2, 3]))
        let client = try RawClient(port: server.port, caFile: try #require(server.caFile))
        client.send(request)
        #expect(client.readToEnd().ending == .truncated)
        #expect(server.tlsVersions == [1: "TLSv1.2"])
    }

    @Test(arguments: [CertificateAuthority.Flaw.expired, .notYetValid, .otherHost, .selfSigned])
    func showsAFlawedCertificate(flaw: CertificateAuthority.Flaw) throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: flaw))
        defer { server.stop() }
        #expect(throws: (any Error).self) {
            try RawClient(port: server.port, caFile: try #require(server.caFile))
        }
    }

    @Test func wantsAClientsCertificate() throws {
        let authority = try CertificateAuthority()
        let server = try ScriptedServer(
            tls: TLSOptions(authority: authority, maximum: .v1_2, requiresClientCertificate: true)
        ) { _ in .respond(200) }
        defer { server.stop() }
        #expect(throws: (any Error).self) { try RawClient(port: server.port, caFile: authority.caFile) }
        let own = try authority.issue("client")
        #expect(own.pin.hasPrefix("sha256//") && own.pin.utf8.count == 52)
        let client = try RawClient(port: server.port, caFile: authority.caFile, certificate: own)
        client.send(request)
        #expect(client.read(12) == Array("HTTP/1.1 200".utf8))
        #expect(server.failedHandshakes == 1)
    }
}
