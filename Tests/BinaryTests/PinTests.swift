import TestSupport
import Testing
import TransferModel

/// `tls.trust.pin`: the server's key, or that of a certificate between it and its authority.
@Suite struct PinTests {
    private static let foreign = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func run(_ server: ScriptedServer, trust: String, minimum: String = "1.2") throws -> (Stage, Stage.Run) {
        server.on("/a", .respond(200, body: "hello"))
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { tls: { minimum: "\(minimum)", trust: { \(trust) } } } }
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """)
        return (stage, run)
    }

    private func refuses(_ server: ScriptedServer, trust: String) throws {
        let (stage, run) = try run(server, trust: trust)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "serverKeyNotPinned")
        #expect(try run.value("$.totals.attempts") == "1")
        #expect(stage.files == [])
        // Not a byte of the request reached it.
        #expect(server.requests().isEmpty)
    }

    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func theLeafsKeyOrTheIntermediatesMayBeNamed(_ version: TLSOptions.Version) throws {
        var options = try TLSOptions(minimum: version, maximum: version)
        options.hasIntermediate = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        let certificate = try #require(server.certificate)
        let ca = "ca: \(options.authority.caFile)"
        for pin in [certificate.pin, try #require(certificate.intermediatePin)] {
            let (_, run) = try run(server, trust: "\(ca), pin: [\"\(Self.foreign)\", \"\(pin)\"]")
            #expect(run.status == 0)
        }
    }

    @Test func anotherKeyIsRefusedBeforeTheRequest() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        try refuses(server, trust: "ca: \(try #require(server.caFile)), pin: [\"\(Self.foreign)\"]")
    }

    /// What a server only sends along proves nothing.
    @Test func aCertificateThatIsNoPartOfTheChainIsNoPin() throws {
        let authority = try CertificateAuthority()
        let stranger = try authority.issue(throughIntermediate: true)
        let server = try ScriptedServer(tls: TLSOptions(authority: authority))
        defer { server.stop() }
        let pin = try #require(stranger.intermediatePin)
        try refuses(server, trust: "ca: \(authority.caFile), pin: [\"\(pin)\"]")
    }

    @Test func aPinDoesNotMakeAnUnknownAuthorityKnown() throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: .selfSigned))
        defer { server.stop() }
        let (_, run) = try run(server, trust: "pin: [\"\(try #require(server.certificate).pin)\"]")
        #expect(try run.task("a", "error.name") == "serverCertificateUntrusted")
    }

    @Test(arguments: [CertificateAuthority.Flaw.selfSigned, .expired, .otherHost])
    func whereOnlyAPinIsTrustedTheKeyIsAll(_ flaw: CertificateAuthority.Flaw) throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: flaw))
        defer { server.stop() }
        let pin = try #require(server.certificate).pin
        let (_, run) = try run(server, trust: "policy: only, pin: [\"\(pin)\"]")
        #expect(run.status == 0)
        #expect(server.requests().count == 1)
    }

    @Test(arguments: [CertificateAuthority.Flaw.none, .selfSigned])
    func andAnotherKeyIsRefused(_ flaw: CertificateAuthority.Flaw) throws {
        let server = try ScriptedServer(tls: TLSOptions(flaw: flaw))
        defer { server.stop() }
        try refuses(server, trust: "policy: only, pin: [\"\(Self.foreign)\"]")
    }

    @Test func insecureStillHoldsToThePin() throws {
        let server = try ScriptedServer(tls: TLSOptions())
        defer { server.stop() }
        try refuses(server, trust: "policy: insecure, pin: [\"\(Self.foreign)\"]")
        let (_, run) = try run(server, trust: "policy: insecure, pin: [\"\(try #require(server.certificate).pin)\"]")
        #expect(run.status == 0)
    }

    /// Resumed, a TLS session shows no certificate again: it must not have come from one that was refused.
    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func resumedSessionsAreHeldToIt(_ version: TLSOptions.Version) throws {
        let server = try ScriptedServer(tls: TLSOptions(minimum: version, maximum: version))
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("Connection", "close")], body: "hello") + [.close])
        let pin = try #require(server.certificate).pin
        let run = try Stage().run(
            """
            sessions:
              good: { tls: { trust: { ca: \(try #require(server.caFile)), pin: ["\(pin)"] } }, maximumConnectionsPerHost: 1 }
              bad: { tls: { trust: { ca: \(try #require(server.caFile)), pin: ["\(Self.foreign)"] } } }
            tasks:
              - { id: "g${n}", forEach: { n: 1..4 }, session: good, url: "\(server.url("/a"))", to: "g${n}" }
              - { id: "b${n}", forEach: { n: 1..4 }, session: bad, url: "\(server.url("/a"))", to: "b${n}" }
            """)
        #expect(run.status == 1)
        #expect(try run.value("$.totals.succeeded") == "4")
        let errors = try run.values("$.tasks[?@.session=='bad'].error.name")
        #expect(errors == Array(repeating: "serverKeyNotPinned", count: 4))
        #expect(server.requests().count == 4)
    }
}
