import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

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

    @Test(arguments: [("none.pem", "cannot be read: No such file or directory"), ("job.yaml", "holds no certificate")])
    func anAuthorityThatCannotBeReadIsTold(_ file: String, _ words: String) throws {
        let (stage, run) = try run(
            TLSOptions(), tls: { _ in "trust: { ca: \(file) }" }, .respond(200, body: "hello"))
        #expect(try run.task("a", "error.name") == "serverCertificateUntrusted")
        let path = stage.folder.path(file)
        #expect(
            try run.task("a", "error.message")?.hasPrefix("the file of CA certificates \(path) \(words)") == true)
        #expect(run.errorText.contains("Correct `tls.trust.ca`"))
    }

    @Test func anUnknownAuthorityIsNot() throws {
        let (stage, run) = try run(TLSOptions(), tls: { _ in "minimum: \"1.2\"" }, .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "serverCertificateHasUnknownRoot")
        #expect(try run.task("a", "error.code") == "-1203")
        #expect(try run.value("$.totals.attempts") == "1")
        #expect(stage.files == [])
    }

    @Test(arguments: [CertificateAuthority.Flaw.none, .expired, .otherHost, .selfSigned])
    func insecureMustBeSaidAndIsTold(_ flaw: CertificateAuthority.Flaw) throws {
        let (_, run) = try run(
            TLSOptions(flaw: flaw), tls: { _ in "trust: { policy: insecure }" }, .respond(200, body: "hello"))
        #expect(run.status == 0)
        #expect(run.errorText.contains("warning: the session `default` checks no certificates"))
        #expect(try run.value("$.sessions[0].insecure") == "true")
    }

    @Test func theReportTellsWhatWasAgreedOn() throws {
        let server = try ScriptedServer(tls: TLSOptions(minimum: .v1_3))
        defer { server.stop() }
        server.on("/a", .respond(200, body: "hello"))
        server.on("/b", .respond(200, body: "again"))
        let run = try Stage().run(
            """
            sessions: { default: { tls: { trust: { ca: \(try #require(server.caFile)) } }, maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, needs: [a], url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 0)
        let transaction = "attempts[0].transactions[0]"
        let fingerprint = try #require(server.certificate).fingerprint
        for id in ["a", "b"] {
            #expect(try run.task(id, "\(transaction).negotiatedTLSProtocolVersion") == "772")
            let cipher = try run.task(id, "\(transaction).negotiatedTLSCipherSuite").flatMap { Int($0) }
            #expect([0x1301, 0x1302, 0x1303].contains(cipher))
            #expect(try run.task(id, "\(transaction).negotiatedTLSCertificateFingerprint") == fingerprint)
            // The test's authority makes certificates for two days.
            let end = try #require(try run.task(id, "\(transaction).negotiatedTLSCertificateExpirationDate"))
            let left = try #require(RFC3339.parse(end)) - Clocks.now().wall
            #expect(left > .seconds(47 * 3_600) && left <= .seconds(48 * 3_600))
        }
        #expect(try run.value("$.sessions[0].insecure") == "false")
        #expect(try run.task("b", "\(transaction).isReusedConnection") == "true")
    }

    /// `only` leaves the machine's own authorities out, which here means that nothing but the named one is read.
    @Test func onlyTheNamedAuthorityIsBelieved() throws {
        let (_, right) = try run(
            TLSOptions(), tls: { "trust: { policy: only, ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(right.status == 0)
        let other = try CertificateAuthority()
        let (_, wrong) = try run(
            TLSOptions(), tls: { _ in "trust: { policy: only, ca: \(other.caFile) }" }, .respond(200, body: "hello"))
        #expect(try wrong.task("a", "error.name") == "serverCertificateHasUnknownRoot")
    }

    @Test func anAuthorityThatIsNoFileIsToldByName() throws {
        let (_, run) = try run(
            TLSOptions(), tls: { _ in "trust: { ca: no/such.pem }" }, .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "serverCertificateUntrusted")
        #expect(try run.task("a", "error.message")?.contains("no/such.pem") == true)
    }

    @Test(
        arguments: [
            (CertificateAuthority.Flaw.expired, "serverCertificateHasBadDate", "-1201"),
            (.notYetValid, "serverCertificateNotYetValid", "-1204"), (.otherHost, "serverCertificateWrongHost", nil),
            (.selfSigned, "serverCertificateUntrusted", "-1202"),
        ] as [(CertificateAuthority.Flaw, String, String?)])
    func flawsAreFound(_ flaw: CertificateAuthority.Flaw, _ error: String, _ code: String?) throws {
        let (stage, run) = try run(
            TLSOptions(flaw: flaw), tls: { "trust: { ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == error)
        #expect(try run.task("a", "error.code") == code)
        #expect(try run.value("$.totals.attempts") == "1")
        #expect(stage.files == [])
    }

    @Test func aServerBelowTheFloorIsRefused() throws {
        let (_, run) = try run(
            TLSOptions(maximum: .v1_2), tls: { "minimum: \"1.3\", trust: { ca: \($0.authority.caFile) }" },
            .respond(200, body: "hello"))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "secureConnectionFailed")
    }

    @Test func aServerAboveTheCeilingIsRefused() throws {
        let (_, run) = try run(
            TLSOptions(minimum: .v1_3), tls: { "maximum: \"1.2\", trust: { ca: \($0.authority.caFile) }" },
            .respond(200, body: "hello"))
        #expect(try run.task("a", "error.name") == "secureConnectionFailed")
        #expect(try run.task("a", "error.code") == "-1200")
    }

    @Test(arguments: [("1.2", 771), ("1.3", 772)])
    func theCeilingIsSpoken(_ maximum: String, _ version: Int) throws {
        let (_, run) = try run(
            TLSOptions(), tls: { "maximum: \"\(maximum)\", trust: { ca: \($0.authority.caFile) }" },
            .respond(200, body: "hello"))
        #expect(run.status == 0)
        let spoken = try run.task("a", "attempts[0].transactions[0].negotiatedTLSProtocolVersion")
        #expect(spoken == "\(version)")
    }

    @Test func anOldVersionIsSpokenOnlyWhenItIsAllowed() throws {
        let old = try TLSOptions(minimum: .v1_0, maximum: .v1_1)
        let (_, refused) = try run(
            old, tls: { "trust: { ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(try refused.task("a", "error.name") == "secureConnectionFailed")
        let (_, allowed) = try run(
            old, tls: { "minimum: \"1.0\", trust: { ca: \($0.authority.caFile) }" }, .respond(200, body: "hello"))
        #expect(allowed.status == 0)
        #expect(try allowed.task("a", "attempts[0].transactions[0].negotiatedTLSProtocolVersion") == "770")
    }

    @Test func aCeilingBelowTheFloorIsAMistakeOfTheJob() throws {
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { tls: { minimum: "1.3", maximum: "1.2" } } }
            tasks: [{ id: a, url: "https://127.0.0.1:9/a", to: a }]
            """)
        #expect(run.status == 2)
        #expect(run.errorText.contains("`tls.maximum` 1.2 is below `minimum` 1.3"))
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
