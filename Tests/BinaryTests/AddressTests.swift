import TestSupport
import Testing

/// Addresses that a job does not connect to, in a machine that has a public address of its own.
@Suite(.enabled(if: NetworkWorld.isAllowed)) struct AddressTests {
    private static let outside = "203.0.113.7"
    private let machine: NetworkNamespace

    init() throws {
        machine = try NetworkNamespace()
        try machine.ip("link set lo up")
        try machine.ip("address add \(Self.outside)/32 dev lo")
    }

    private func server(at address: String, port: UInt16 = 0) throws -> ScriptedServer {
        try machine.inside { try ScriptedServer(at: address, port: port) }
    }

    /// Words that run a command in the machine, with these lines as its `/etc/hosts`.
    private func machine(withHosts lines: String, in stage: Stage) throws -> [String] {
        let hosts = try stage.folder.write("hosts", lines)
        let script = "/usr/bin/mount --bind \(hosts) /etc/hosts && exec \"$0\" \"$@\""
        return machine.wrapper + ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script]
    }

    private func job(_ url: String, _ keys: String = "", session: String = "") -> String {
        """
        sessions: { default: { configuration: ephemeral\(session) } }
        tasks: [{ id: a, type: data, url: "\(url)"\(keys) }]
        """
    }

    /// The address is in the redirect, or a name leads there: then only the connection shows it.
    @Test(arguments: [false, true]) func aPublicServerLeadsNowhereInside(_ byName: Bool) throws {
        let inner = try server(at: "127.0.0.1")
        let outer = try server(at: Self.outside)
        defer { for server in [inner, outer] { server.stop() } }
        inner.on("/secret", .respond(200, body: "secret"), .respond(200, body: "secret"))
        let target = "http://\(byName ? "inner.test" : "127.0.0.1"):\(inner.port)/secret"
        for _ in 1...2 { outer.on("/a", .respond(302, headers: [("Location", target)])) }
        let stage = try Stage()
        let place = try machine(withHosts: "127.0.0.1 inner.test", in: stage)
        let url = "http://\(Self.outside):\(outer.port)/a"
        let refused = try stage.run(job(url), under: place)
        #expect(refused.status == 1 && inner.totalConnections == 0)
        #expect(try refused.task("a", "error.name") == "redirectRefused")
        let message = try #require(try refused.task("a", "error.message"))
        #expect(message.contains("127.0.0.1") && message.contains("a loopback address"), "\(message)")
        #expect(try refused.task("a", "explanation")?.contains("toPrivate: true") == true)
        #expect(try refused.values("$.tasks[0].attempts[*].number").count == 1)

        outer.on("/a", .respond(302, headers: [("Location", target)]))
        let followed = try stage.run(job(url, ", redirects: { toPrivate: true }"), under: place)
        #expect(followed.status == 0, "\(followed.errorText)")
        #expect(try followed.task("a", "body.text") == "secret")
    }

    /// A name that was rebound has a public address and one inside: the second is not fallen back to, whatever the first does.
    @Test func ofANamesAddressesOnlyTheAllowedAreTried() throws {
        let inner = try server(at: "127.0.0.1")
        defer { inner.stop() }
        let stage = try Stage()
        let place = try machine(withHosts: "\(Self.outside) both.test\n127.0.0.1 both.test\n", in: stage)
        let url = "http://both.test:\(inner.port)/a"
        let rules = ", addresses: { deny: [loopback] }"
        // Nothing listens at the public address.
        let alone = try stage.run(
            job(url, ", retry: { attempts: 1 }", session: rules), "--network", "wired", under: place)
        #expect(alone.status == 1 && inner.totalConnections == 0)
        #expect(try alone.task("a", "error.name") == "cannotConnectToHost")
        let outer = try server(at: Self.outside, port: inner.port)
        defer { outer.stop() }
        outer.on("/a", .respond(200, body: "outside"))
        let run = try stage.run(job(url, session: rules), "--network", "wired", under: place)
        #expect(run.status == 0 && inner.totalConnections == 0)
        #expect(try run.task("a", "body.text") == "outside")
    }

    /// The error says what, why and what would help, and is final; the next of `urls` is tried.
    @Test func aRefusedAddressIsFinalButForMirrors() throws {
        let inner = try server(at: "127.0.0.1")
        let outer = try server(at: Self.outside)
        defer { for server in [inner, outer] { server.stop() } }
        let stage = try Stage()
        let rules = ", addresses: { deny: [private, loopback] }"
        let first = "http://localhost:\(inner.port)/a"
        let refused = try stage.run(job(first, session: rules), under: machine.wrapper)
        #expect(refused.status == 1 && inner.totalConnections == 0)
        #expect(try refused.task("a", "error.name") == "addressRefused")
        #expect(try refused.task("a", "error.domain") == "transfer-run")
        #expect(
            try refused.task("a", "error.message")?.hasSuffix(
                "a loopback address: `addresses.deny` refuses `loopback` in job.yaml:1") == true)
        #expect(try refused.values("$.tasks[0].attempts[*].number").count == 1)

        outer.on("/a", .respond(200, body: "mirror"))
        let mirrored = try stage.run(
            """
            sessions: { default: { configuration: ephemeral\(rules) } }
            tasks: [{ id: a, type: data, urls: ["\(first)", "http://\(Self.outside):\(outer.port)/a"] }]
            """, under: machine.wrapper)
        #expect(mirrored.status == 0 && inner.totalConnections == 0, "\(mirrored.errorText)")
        #expect(try mirrored.task("a", "body.text") == "mirror")
    }

    /// From inside to inside nothing is refused.
    @Test func aServerInsideLeadsWhereItLikes() throws {
        let inner = try server(at: "127.0.0.1")
        defer { inner.stop() }
        inner.on("/a", .respond(302, headers: [("Location", "http://localhost:\(inner.port)/b")]))
        inner.on("/b", .respond(200, body: "b"))
        let run = try Stage().run(job("http://127.0.0.1:\(inner.port)/a"), under: machine.wrapper)
        #expect(run.status == 0, "\(run.errorText)")
    }
}
