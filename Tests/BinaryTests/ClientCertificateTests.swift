import TestSupport
import Testing
import TransferModel

/// `tls.clientCertificates`: who is shown which, and what is said when that fails.
@Suite struct ClientCertificateTests {
    private let authority: CertificateAuthority

    init() throws { authority = try CertificateAuthority() }

    private func server(
        required: Bool = true, minimum: TLSOptions.Version = .v1_2, maximum: TLSOptions.Version = .v1_3
    ) throws -> ScriptedServer {
        var options = try TLSOptions(
            authority: authority, minimum: minimum, maximum: maximum, requiresClientCertificate: required)
        options.asksForClientCertificate = true
        let server = try ScriptedServer(tls: options)
        server.on("/a", .respond(200, body: "hello"))
        return server
    }

    private func job(_ server: ScriptedServer, _ certificates: String) -> String {
        """
        sessions:
          default:
            tls: { trust: { ca: \(authority.caFile) }, clientCertificates: [\(certificates)] }
        tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
        """
    }

    private func certificate(
        _ file: String, host: String = "localhost", key: String? = nil, password: String? = nil
    ) -> String {
        let key = key.map { ", key: \($0)" } ?? ""
        let password = password.map { ", password: \"\($0)\"" } ?? ""
        return "{ host: \"\(host)\", certificate: \(file)\(key)\(password) }"
    }

    /// Every way to write one.
    @Test func isReadFromPEMAndPKCS12() throws {
        let own = try authority.issue("ada", throughIntermediate: true)
        let plain = try authority.issue("ada")
        let ways = [
            certificate(own.certificateFile, key: own.keyFile), certificate(try own.together()),
            certificate(own.certificateFile, key: try own.encryptedKey(password: "open it"), password: "open it"),
            certificate(try plain.pkcs12(password: "open it"), password: "open it"),
            certificate(try plain.pkcs12(password: "")),
        ]
        for way in ways {
            let server = try server()
            defer { server.stop() }
            let stage = try Stage()
            let run = try stage.run(job(server, way))
            #expect(run.status == 0, "\(way)")
            #expect(server.clientNames.values.contains("ada"))
            for text in [run.errorText, run.report.plainText ?? ""] { #expect(!text.contains("open it")) }
        }
    }

    /// What one person was told is not told to another out of the cache.
    @Test func anAnswerIsForWhoWasShown() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("Cache-Control", "max-age=3600")], body: "hello"))
        let (ada, eve) = (try authority.issue("ada"), try authority.issue("eve"))
        let stage = try Stage()
        for (who, requests) in [(ada, 1), (ada, 1), (eve, 2), (ada, 2)] {
            let own = certificate(who.certificateFile, key: who.keyFile)
            let run = try stage.run(job(server, own).replacing(", to: a }", with: " }"))
            #expect(run.status == 0 && server.requests().count == requests)
        }
    }

    @Test func whatCannotBeUsedIsSaidBeforeAnythingIsSent() throws {
        let own = try authority.issue("ada")
        let other = try authority.issue("other")
        let ways = [
            (certificate("no/such.pem"), "there is no such file"),
            (certificate(own.certificateFile), "no key can be read"),
            (certificate(own.certificateFile, key: other.keyFile), "the key does not belong to the certificate"),
            (certificate(own.certificateFile, key: try own.encryptedKey(password: "abcdef")), "needs a `password`"),
            (
                certificate(own.certificateFile, key: try own.encryptedKey(password: "abcdef"), password: "wrong!"),
                "the `password` does not open the key"
            ),
            (certificate(try own.pkcs12(password: "abcdef")), "needs a `password`"),
            (certificate(try own.pkcs12(password: "abcdef"), password: "wrong!"), "the `password` does not open"),
            (certificate(own.keyFile), "no certificate can be read"), (certificate("/dev/null"), "no regular file"),
        ]
        let server = try server()
        defer { server.stop() }
        for (way, words) in ways {
            let run = try Stage().run(job(server, way))
            #expect(run.status == 1)
            #expect(try run.task("a", "error.name") == "clientCertificateUnusable")
            let message = try run.task("a", "error.message") ?? ""
            #expect(message.contains(words), "\(message)")
            #expect(try run.value("$.totals.attempts") == "1")
        }
        #expect(server.totalConnections == 0)
    }

    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func noneIsShownAndOneWasWanted(_ version: TLSOptions.Version) throws {
        let server = try server(minimum: version, maximum: version)
        defer { server.stop() }
        let elsewhere = certificate(try authority.issue("ada").together(), host: "*.example.org")
        for certificates in ["", elsewhere] {
            let run = try Stage().run(job(server, certificates))
            #expect(run.status == 1)
            #expect(try run.task("a", "error.name") == "clientCertificateRequired")
            #expect(try run.task("a", "error.code") == "-1206")
            #expect(try run.value("$.totals.attempts") == "1")
        }
    }

    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func oneThatTheServerDoesNotTake(_ version: TLSOptions.Version) throws {
        let server = try server(minimum: version, maximum: version)
        defer { server.stop() }
        // Its files live as long as it does.
        let elsewhere = try CertificateAuthority()
        defer { withExtendedLifetime(elsewhere) {} }
        for stranger in [try elsewhere.issue("ada"), try authority.issue("ada", flaw: .expired)] {
            let run = try Stage().run(job(server, certificate(try stranger.together())))
            #expect(run.status == 1)
            #expect(try run.task("a", "error.name") == "clientCertificateRejected")
            #expect(try run.task("a", "error.code") == "-1205")
            #expect(try run.value("$.totals.attempts") == "1")
        }
    }

    @Test func aServerThatTakesAnybodyIsNotAProblem() throws {
        let server = try server(required: false)
        defer { server.stop() }
        let run = try Stage().run(job(server, ""))
        #expect(run.status == 0)
        #expect(server.clientNames == [1: ""])
    }

    /// The first whose host matches; each on connections of its own.
    @Test func eachHostSeesItsOwn() throws {
        let (first, second) = (try server(), try server())
        defer {
            first.stop()
            second.stop()
        }
        let certificates = [
            certificate(try authority.issue("ada").together(), host: "localhost:\(first.port)"),
            certificate(try authority.issue("bob").together(), host: "*"),
        ]
        let run = try Stage().run(
            """
            sessions:
              default:
                tls: { trust: { ca: \(authority.caFile) }, clientCertificates: [\(certificates.joined(separator: ", "))] }
            tasks:
              - { id: a, url: "\(first.url("/a"))", to: a }
              - { id: b, url: "\(second.url("/a"))", to: b }
            """)
        #expect(run.status == 0)
        #expect(Set(first.clientNames.values) == ["ada"])
        #expect(Set(second.clientNames.values) == ["bob"])
    }

    /// Another port is another origin: it asks, and is shown nothing.
    @Test func aRedirectTakesItNowhere() throws {
        let (first, second) = (try server(), try server(required: false))
        defer {
            first.stop()
            second.stop()
        }
        first.on("/go", .respond(302, headers: [("Location", second.url("/a"))]))
        let own = certificate(try authority.issue("ada").together(), host: "localhost:\(first.port)")
        let run = try Stage().run(
            """
            sessions: { default: { tls: { trust: { ca: \(authority.caFile) }, clientCertificates: [\(own)] } } }
            tasks: [{ id: a, url: "\(first.url("/go"))", to: a }]
            """)
        #expect(run.status == 0)
        #expect(Set(first.clientNames.values) == ["ada"])
        #expect(second.clientNames == [1: ""])
    }

    /// A server under another name is found out while it has not yet been shown who we are.
    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func aServerThatIsNotTheOneSeesNothing(_ version: TLSOptions.Version) throws {
        var options = try TLSOptions(authority: authority, minimum: version, maximum: version, flaw: .otherHost)
        options.asksForClientCertificate = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        let run = try Stage().run(job(server, certificate(try authority.issue("ada").together(), host: "*")))
        #expect(try run.task("a", "error.name") == "serverCertificateWrongHost")
        #expect(server.clientNames.isEmpty)
        #expect(server.failedHandshakes == 1)
    }
}
