import Synchronization
import TestSupport
import Testing
import TextFormats

/// NTLM and Negotiate, which prove a connection and not a request.
@Suite struct ConnectionProofTests {
    /// `NTLMSSP`, type 2, eight bytes of challenge, an empty list of names.
    private static let typeTwo: [UInt8] =
        Array("NTLMSSP\0".utf8) + [2, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0x33, 0x82, 2, 0]
        + [1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF] + [UInt8](repeating: 0, count: 8) + [4, 0, 4, 0, 48, 0, 0, 0]
        + [0, 0, 0, 0]

    /// What the third message says: the user's name in UTF-16.
    private static func isUser(_ name: String, _ header: String) -> Bool {
        guard let bytes = Base64.decode(String(header.dropFirst(5))), bytes.count > 44, bytes[8] == 3 else {
            return false
        }
        let (length, start) = (Int(bytes[36]) | Int(bytes[37]) << 8, Int(bytes[40]) | Int(bytes[41]) << 8)
        guard start + length <= bytes.count else { return false }
        return Array(bytes[start..<(start + length)]) == name.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    }

    private final class Known: Sendable {
        let connections = Mutex<Set<Int>>([])
    }

    /// Believes whoever is Aladdin, connection by connection.
    private func server(_ refused: String = "/wrong", unixSocket: String? = nil) throws -> ScriptedServer {
        let known = Known()
        return try ScriptedServer(unixSocket: unixSocket) { request in
            let asks = Script.respond(401, headers: [("WWW-Authenticate", "NTLM")], body: "who?")
            guard request.path != refused else {
                guard request.header("Authorization")?.hasPrefix("NTLM TlRMTVNTUAAB") == true else { return asks }
                return .respond(
                    401, headers: [("WWW-Authenticate", "NTLM \(Base64.encode(Self.typeTwo))")], body: "go on")
            }
            if let shown = request.header("Authorization") {
                if shown.hasPrefix("NTLM TlRMTVNTUAAB") {
                    return .respond(
                        401, headers: [("WWW-Authenticate", "NTLM \(Base64.encode(Self.typeTwo))")], body: "go on")
                }
                guard Self.isUser("Aladdin", shown) else { return asks }
                known.connections.withLock { _ = $0.insert(request.connection) }
            }
            guard known.connections.withLock({ $0.contains(request.connection) }) else { return asks }
            return .respond(200, headers: [("ETag", "\"v\"")], body: "in: \(request.bodyText)")
        }
    }

    private static let aladdin = "{ user: Aladdin, password: open-sesame }"

    /// There each request opens a connection, which all its messages share.
    @Test func atAUnixSocketToo() throws {
        let stage = try Stage()
        let server = try server(unixSocket: stage.folder.path("service.sock"))
        defer { server.stop() }
        let run = try stage.run(
            """
            sessions:
              default: { configuration: ephemeral, unixSocket: service.sock, credentials: [\(Self.aladdin)] }
            tasks:
              - { id: a, url: "http://service.test/a" }
              - { id: b, needs: [a], url: "http://service.test/b", body: { data: text } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("a", "body.text") == "in: ")
        #expect(try run.task("b", "body.text") == "in: text")
    }

    @Test func threeMessagesOnOneConnection() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks:
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, needs: [a], url: "\(server.url("/b"))", to: file }
            """, "-v")
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "in: ")
        #expect(try stage.text("file") == "in: ")
        let requests = server.requests("/a")
        #expect(requests.count == 3)
        #expect(requests[0].header("Authorization") == nil)
        // What was asked first is left; the proof has a connection of its own, and the next task finds it proven.
        #expect(requests[1].connection != requests[0].connection)
        #expect(requests[1].clientPort == requests[2].clientPort)
        #expect(server.requests("/b").map(\.clientPort) == [requests[2].clientPort])
        #expect(server.requests("/b").first?.header("Authorization") == nil)
        #expect(try run.task("a", "challenges[0].method") == "ntlm")
        #expect(try run.task("a", "challenges[0].level") == "session")
        #expect(try run.task("a", "response.status") == "200")
        #expect(run.story(of: "a").count { $0 == "response" } == 1)
        let told = (run.report.plainText ?? "") + run.errorText + run.events.compactMap(\.plainText).joined()
        #expect(!told.contains("open-sesame"))
        #expect(!told.contains("go on"))
    }

    @Test(arguments: ["POST", "PUT"]) func bodies(_ method: String) throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", method: \(method), body: { data: the whole of it } }
              - { id: b, needs: [a], url: "\(server.url("/b"))", method: \(method), body: { data: once more } }
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "in: the whole of it")
        #expect(try run.task("b", "body.text") == "in: once more")
        // Whole where it was let in, and only there.
        #expect(
            server.requests("/a").filter { $0.header("Authorization") != nil }.map(\.bodyText) == [
                "", "the whole of it",
            ])
        let last = server.requests("/b")
        #expect(last.filter { $0.bodyText == "once more" }.count == 1)
        if method == "POST" { #expect(Set(last.map(\.connection)).count == 1) }
    }

    /// A server that asks on and on, or takes the first of the three messages for an answer, is not sent the proof for ever.
    @Test(arguments: ["GET", "POST"], [true, false]) func aLoginWithoutEnd(_ method: String, _ asksOn: Bool) throws {
        let server = try ScriptedServer { request in
            guard request.header("Authorization") != nil || asksOn else {
                return .respond(401, headers: [("WWW-Authenticate", "NTLM")], body: "who?")
            }
            let more = "NTLM \(Base64.encode(Self.typeTwo))"
            return asksOn ? .respond(401, headers: [("WWW-Authenticate", more)]) : .respond(200, body: "in")
        }
        defer { server.stop() }
        let body = method == "POST" ? ", body: { data: the whole of it }" : ""
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks: [{ id: a, url: "\(server.url("/a"))", method: \(method)\(body), retry: { attempts: 1 } }]
            """)
        #expect(server.requests().count <= (asksOn ? 12 : 100), "\(server.requests().count) requests")
        // What takes the first message of a GET for the whole lets it in.
        #expect(run.status == (method == "GET" && !asksOn ? 0 : 1))
        if asksOn { #expect(try run.task("a", "error.name") == "userAuthenticationRequired") }
    }

    /// The server takes the proof, with the body, and the connection ends: nobody knows what became of it.
    @Test(arguments: ["POST", "DELETE", "GET"]) func aProofThatIsSwallowed(_ method: String) throws {
        let server = try ScriptedServer { request in
            guard let shown = request.header("Authorization") else {
                return .respond(401, headers: [("WWW-Authenticate", "NTLM")], body: "who?")
            }
            let more = "NTLM \(Base64.encode(Self.typeTwo))"
            return shown.hasPrefix("NTLM TlRMTVNTUAAB")
                ? .respond(401, headers: [("WWW-Authenticate", more)], body: "go on") : [.cut]
        }
        defer { server.stop() }
        let body = method == "POST" ? ", body: { data: the whole of it }" : ""
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks: [{ id: a, url: "\(server.url("/a"))", method: \(method)\(body), retry: { attempts: 1 } }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "networkConnectionLost")
        #expect(try run.values("$.tasks[0].challenges[*].disposition") == ["use"])
        let proofs = server.requests().count { $0.header("Authorization")?.hasPrefix("NTLM TlRMTVNTUAAD") == true }
        // What may be repeated is, once and on another connection; what must not is not.
        #expect(proofs == (method == "POST" ? 1 : 2))
        let told = try run.values("$.tasks[0].attempts[0].transactions[*]").count
        #expect(told <= server.requests().count && told > proofs)
    }

    @Test func aWrongPassword() throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks: [{ id: a, url: "\(server.url("/wrong"))" }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "body.text") == "who?")
        #expect(try run.values("$.tasks[0].challenges[*].disposition") == ["use", "default"])
        #expect(server.requests().count { $0.header("Authorization")?.hasPrefix("NTLM TlRMTVNTUAAD") == true } == 1)
    }

    /// Two people never share a connection.
    @Test func connectionsBelongToSomebody() throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks:
              - { id: a, url: "\(server.url("/a"))" }
              - { id: b, needs: [a], url: "\(server.url("/b"))", credentials: [{ user: Cassim, password: open-sesame }],
                  allowFailure: true }
              - { id: c, needs: [b], url: "\(server.url("/c"))", credentials: [], allowFailure: true }
            """)
        #expect(run.status == 0)
        #expect(try run.task("b", "response.status") == "401")
        #expect(try run.task("c", "response.status") == "401")
        let proven = try #require(server.requests("/a").last?.connection)
        #expect(!(server.requests("/b") + server.requests("/c")).contains { $0.connection == proven })
    }

    /// Without a ticket the next way is tried.
    @Test func negotiateWithoutATicket() throws {
        let server = try ScriptedServer { request in
            if request.header("Authorization") == "Basic QWxhZGRpbjpvcGVuLXNlc2FtZQ==" {
                return .respond(200, body: "in")
            }
            return .respond(
                401, headers: [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", "Basic realm=r")], body: "who?")
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [\(Self.aladdin)] } }
            tasks: [{ id: a, url: "\(server.url("/a"))" }]
            """, environment: ["KRB5CCNAME": "/no/such/cache", "KRB5_CONFIG": "/dev/null"])
        #expect(run.status == 0)
        #expect(try run.values("$.tasks[0].challenges[*].method") == ["negotiate", "basic"])
        #expect(try run.values("$.tasks[0].challenges[*].previousFailureCount") == ["0", "0"])
    }

    @Test func theSessionAnswersFirst() throws {
        let server = try server()
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions:
              default:
                configuration: ephemeral
                credentials: [\(Self.aladdin)]
                challenges: [{ method: ntlm, do: cancel }]
            tasks: [{ id: a, url: "\(server.url("/a"))", challenges: [{ do: use }] }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "outcome") == "cancelled")
        #expect(try run.task("a", "challenges[0].level") == "session")
        #expect(server.requests().count == 1)
    }
}
