import TestSupport
import Testing
import TextFormats
import TransferModel

/// `maximumConnectionsPerHost: auto` against servers that take so many connections and no more.
@Suite struct FoundConnectionTests {
    /// A real server, each answer of which takes a third of a second, and which takes five at a time.
    @Test(.enabled(if: Neighbour.hasNginx, "nginx is not installed"))
    func whatNginxRefuses_isFoundOut() throws {
        let server = try Neighbour.nginx(
            site: ["file": Array(repeating: 0x61, count: 60_000)],
            zones: "limit_conn_zone $server_addr zone=all:1m;",
            rules: "limit_conn all 5; limit_conn_status 429; limit_rate 180k;")
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: auto } }
            tasks:
              - { id: "t${n}", forEach: { n: 1..160 }, url: "http://127.0.0.1:\(server.port)/file?${n}", to: "f/${n}",
                  resume: false }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.totals.succeeded") == "160")
        // Without a memory each wave would be refused again.
        let refused = try run.values("$.tasks[*].attempts[?@.error.name=='unexpectedResponse'].number").count
        #expect(refused >= 1 && refused <= 40, "\(refused) refused")
        let steps = try run.values("$.sessions[0].hosts[0].connectionLimit.steps[*].reason")
        #expect(steps.contains("moreThroughput") && steps.contains("tooManyRequests"))
        let last = try run.value("$.sessions[0].hosts[0].connectionLimit.last").flatMap { Int($0) }
        #expect(last.map { (2...6).contains($0) } == true, "\(steps)")
        let told = run.events.filter { $0["event"]?.plainText == "connectionsChanged" }
        #expect(told.map { $0["reason"]?.plainText } == steps)
        #expect(told.allSatisfy { $0["host"]?.plainText == "http://127.0.0.1:\(server.port)" })
    }

    @Test func aFixedNumber_hasNoLimitInTheReport() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run("tasks: [{ id: a, url: \"\(server.url("/a"))\" }]")
        #expect(try run.value("$.sessions[0].hosts[0].connectionLimit") == nil)
    }

    /// The bounds hold with tasks enough for more, over all that a server bears.
    @Test func theBounds_hold() throws {
        let server = try ScriptedServer { _ in [.wait(.milliseconds(20))] + .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            sessions: { default: { maximumConnectionsPerHost: { minimum: 1, maximum: 3 } } }
            tasks: [{ id: "t${n}", forEach: { n: 1..80 }, url: "\(server.url("/a"))" }]
            """)
        #expect(run.status == 0)
        #expect(server.peakConnections <= 3)
        #expect(try run.value("$.sessions[0].hosts[0].connectionLimit.first") == "3")
    }
}
