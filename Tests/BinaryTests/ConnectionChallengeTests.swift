import TestSupport
import Testing
import TextFormats
import TransferModel

/// `challenges` where a connection is made: whose certificate is shown, and whether a server is trusted at all.
@Suite struct ConnectionChallengeTests {
    private let authority: CertificateAuthority

    init() throws { authority = try CertificateAuthority() }

    private func run(
        required: Bool = false, session: String = "", task: String = "", certificate: Bool = true,
        maximum: TLSOptions.Version = .v1_3
    ) throws -> (Stage.Run, ScriptedServer) {
        var options = try TLSOptions(authority: authority, maximum: maximum, requiresClientCertificate: required)
        options.asksForClientCertificate = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        server.on("/a", .respond(200, body: "hello"))
        let own = try authority.issue("ada").together()
        let certificates = certificate ? "{ host: localhost, certificate: \(own) }" : ""
        let run = try Stage().run(
            """
            defaults: { retry: { attempts: 1 } }
            sessions:
              default:
                tls: { trust: { ca: \(authority.caFile) }, clientCertificates: [\(certificates)] }
                challenges: [\(session)]
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a\(task.isEmpty ? "" : ", challenges: [\(task)]") }]
            """)
        return (run, server)
    }

    private func challenges(_ run: Stage.Run) throws -> [String] {
        try JSONPath("$.tasks[0].challenges[*]").select(from: run.report).map { challenge in
            ["method", "level", "disposition"].map { challenge[$0]?.plainText ?? "-" }.joined(separator: " ")
        }
    }

    @Test(arguments: [
        ("", "", "session use"), ("{ method: clientCertificate, do: use }", "", "session use"),
        ("{ method: clientCertificate, do: default }", "", "session default"),
        ("{ method: clientCertificate, do: reject }", "", "session reject"),
        ("{ method: clientCertificate, host: elsewhere.example, do: default }", "", "session use"),
        ("", "{ method: clientCertificate, do: default }", "task default"),
    ])
    func whatIsShownIsTold(_ session: String, _ task: String, _ told: String) throws {
        let (run, server) = try run(session: session, task: task)
        #expect(run.status == 0)
        #expect(try challenges(run) == ["clientCertificate \(told)"])
        #expect(server.clientNames == [1: told.hasSuffix("use") ? "ada" : ""])
        let host = try run.task("a", "challenges[0].host")
        #expect(host == "localhost:\(server.port)")
        // Asked before the answer came, told before it.
        let story = run.story(of: "a")
        let (asked, answered) = (story.firstIndex(of: "challenge"), story.firstIndex(of: "response"))
        #expect(try #require(asked) < #require(answered))
    }

    @Test func whoHasNoneGoesOnWithout() throws {
        let (run, server) = try run(certificate: false)
        #expect(run.status == 0)
        #expect(try challenges(run) == ["clientCertificate session default"])
        #expect(server.clientNames == [1: ""])
    }

    @Test func aRefusalIsToldToo() throws {
        let (run, _) = try run(required: true, session: "{ method: clientCertificate, do: default }")
        #expect(try run.task("a", "error.name") == "clientCertificateRequired")
        #expect(try challenges(run) == ["clientCertificate session default"])
    }

    @Test(arguments: [TLSOptions.Version.v1_2, .v1_3])
    func cancelCancelsWhenItIsAsked(_ version: TLSOptions.Version) throws {
        let (run, server) = try run(session: "{ method: clientCertificate, do: cancel }", maximum: version)
        #expect(run.status == 1)
        #expect(try run.task("a", "outcome") == "cancelled")
        #expect(try run.task("a", "error.code") == "-999")
        #expect(try challenges(run) == ["clientCertificate session cancel"])
        #expect(server.requests().isEmpty && server.clientNames.isEmpty)
    }

    /// One connection at a time, and none that was made as somebody serves a task that shows nothing.
    @Test func tasksThatShowDifferentThingsShareNoConnection() throws {
        var options = try TLSOptions(authority: authority)
        options.asksForClientCertificate = true
        let server = try ScriptedServer(tls: options) { _ in .respond(200, body: "hello") }
        defer { server.stop() }
        let own = try authority.issue("ada").together()
        let silent = ", challenges: [{ method: clientCertificate, do: default }]"
        let tasks = (1...6).map { number in
            let needs = number == 1 ? "" : ", needs: [t\(number - 1)]"
            let rule = number % 2 == 0 ? silent : ""
            return "  - { id: t\(number)\(needs), url: \"\(server.url("/\(number)"))\", to: t\(number)\(rule) }"
        }
        let run = try Stage().run(
            """
            sessions:
              default:
                maximumConnectionsPerHost: 1
                tls:
                  trust: { ca: \(authority.caFile) }
                  clientCertificates: [{ host: localhost, certificate: \(own) }]
            tasks:
            \(tasks.joined(separator: "\n"))
            """)
        #expect(run.status == 0)
        #expect(server.peakConnections == 1)
        let shown = server.requests().map { server.clientNames[$0.connection] ?? "?" }
        #expect(shown == ["ada", "", "ada", "", "ada", ""])
    }

    @Test func aServerThatDoesNotAskIsNotCancelled() throws {
        let server = try ScriptedServer(tls: TLSOptions(authority: authority)) { _ in .respond(200, body: "hello") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions:
              default:
                tls: { trust: { ca: \(authority.caFile) } }
                challenges: [{ method: clientCertificate, do: cancel }]
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """)
        #expect(run.status == 0)
        #expect(try challenges(run).isEmpty)
    }

    @Test(arguments: [("cancel", "cancelled", "cancelled"), ("reject", "failed", "serverCertificateUntrusted")])
    func serverTrustIsRefusedBeforeConnecting(_ word: String, _ outcome: String, _ name: String) throws {
        let (run, server) = try run(session: "{ method: serverTrust, host: localhost, do: \(word) }")
        #expect(run.status == 1)
        #expect(try run.task("a", "outcome") == outcome)
        #expect(try run.task("a", "error.name") == name)
        #expect(try challenges(run) == ["serverTrust session \(word)"])
        #expect(server.totalConnections == 0)
    }

    @Test(arguments: ["use", "default"]) func serverTrustIsOtherwiseWhatTLSSays(_ word: String) throws {
        let (run, _) = try run(session: "{ method: serverTrust, do: \(word) }")
        #expect(run.status == 0)
    }
}
