import TestSupport
import Testing

/// TLS: what is trusted, and what an end without a word means.
@Suite struct SecureTests {
    private func job(_ server: ScriptedServer, tls: String) -> String {
        """
        defaults: { retry: { attempts: 1 } }
        sessions: { default: { tls: { \(tls) }, http: { version: "1.1" } } }
        tasks:
          - { id: a, url: "\(server.url("/a"))", to: a }
        """
    }

    private func run(_ options: TLSOptions, tls: (TLSOptions) -> String, _ script: Script) throws -> (Stage, Stage.Run)
    {
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        server.on("/a", script)
        let stage = try Stage()
        return (stage, try stage.run(job(server, tls: tls(options))))
    }

    private static let body = Array("hello".utf8)

    @Test func anAuthorityThatIsNamedIsTrusted() throws {
        let (stage, run) = try run(
            TLSOptions(), tls: { "trust: { ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(run.status == 0)
        #expect(try stage.text("a") == "hello")
    }

    @Test func anUnknownAuthorityIsNot() throws {
        let (stage, run) = try run(TLSOptions(), tls: { _ in "minimum: \"1.2\"" }, .respond(200, body: "hello"))
        #expect(run.status == 1)
        let name = try run.task("a", "error.name")
        #expect(["serverCertificateUntrusted", "serverCertificateHasUnknownRoot"].contains(name))
        #expect(stage.files == [])
    }

    @Test func insecureMustBeSaid() throws {
        let (_, run) = try run(TLSOptions(), tls: { _ in "trust: { policy: insecure }" }, .respond(200, body: "hello"))
        #expect(run.status == 0)
    }

    @Test(arguments: [
        (CertificateAuthority.Flaw.expired, "serverCertificateHasBadDate"),
        (.notYetValid, "serverCertificateNotYetValid"), (.otherHost, "serverCertificateUntrusted"),
    ])
    func flawsAreFound(_ flaw: CertificateAuthority.Flaw, _ error: String) throws {
        let (stage, run) = try run(
            TLSOptions(flaw: flaw), tls: { "trust: { ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == error)
        #expect(stage.files == [])
    }

    @Test func aServerBelowTheFloorIsRefused() throws {
        let (_, run) = try run(
            TLSOptions(maximum: .v1_2), tls: { "minimum: \"1.3\", trust: { ca: \($0.authority.caFile) }" },
            .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "secureConnectionFailed")
    }

    @Test func aWrongPinIsRefused() throws {
        let pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let (stage, run) = try run(
            TLSOptions(), tls: { "trust: { ca: \($0.authority.caFile), pin: [\"\(pin)\"] }" },
            .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(stage.files == [])
    }

    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func aBodyThatEndsWithTheConnectionNeedsCloseNotify(_ version: TLSOptions.Version) throws {
        let tls = { (options: TLSOptions) in "trust: { ca: \(options.authority.caFile) }" }
        let options = try TLSOptions(minimum: version, maximum: version)
        let (ordered, said) = try run(options, tls: tls, .untilClose(200, body: Self.body))
        #expect(said.status == 0)
        #expect(try ordered.text("a") == "hello")
        let length = try said.task("a", "length")
        #expect(length == "verified")

        let head = Script.head(200, [("Connection", "close")])
        let (cut, silent) = try run(options, tls: tls, [.bytes(head + Self.body), .cut])
        #expect(silent.status == 1)
        #expect(try silent.task("a", "error.name") == "networkConnectionLost")
        #expect(cut.files == [])
    }

    @Test func aBodyWithALengthNeedsNone() throws {
        let (stage, run) = try run(
            TLSOptions(), tls: { "trust: { ca: \($0.authority.caFile) }" },
            .respond(200, body: "hello") + [.cut])
        #expect(run.status == 0)
        #expect(try stage.text("a") == "hello")
    }
}
