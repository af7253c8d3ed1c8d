import Glibc
import Synchronization
import TestSupport
import Testing
import TransferModel

/// HTTP/1.1 and HTTP/2 to one host. Once it met HTTP/2 there, this libcurl takes every connection to the host for one that
/// carries many requests, and puts a request on one of HTTP/1.1 over which another's answer is coming: each would read bytes
/// of the other's.
@Suite struct MixedProtocolTests {
    private static let long = Script.patternBytes(300_000)

    private func server() throws -> ScriptedServer {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        return try ScriptedServer(tls: options)
    }

    /// Half of the long body, and the rest when the gate opens.
    private var halting: Script {
        [
            .bytes(Script.head(200, [("Content-Length", "\(Self.long.count)")]) + Self.long[..<150_000]),
            .gate("rest"), .bytes(Array(Self.long[150_000...])),
        ]
    }

    /// Tasks that begin when the test says so: each needs an answer of another server that waits for its gate.
    private func job(_ server: ScriptedServer, _ pace: ScriptedServer, _ session: String, _ tasks: [String]) -> String {
        var text = """
            sessions: { default: { tls: { trust: { ca: \(server.caFile ?? "") } }\(session) } }
            defaults: { retry: { attempts: 1 }, timeoutForRequest: 20s }
            tasks:

            """
        for (index, task) in tasks.enumerated() {
            let id = "t\(index)"
            if index > 0 { text += "  - { id: gate\(index), url: '\(pace.url("/\(index)"))' }\n" }
            text += "  - { id: \(id), url: '\(server.url("/\(id)"))'\(index > 0 ? ", needs: [gate\(index)]" : "")"
            text += "\(task.isEmpty ? "" : ", \(task)") }\n"
        }
        return text
    }

    private func pace() throws -> ScriptedServer {
        try ScriptedServer { request in [.gate(request.path)] + .respond(200) }
    }

    /// A stream that proves nothing is fetched again over HTTP/1.1; meanwhile the server ends its connection of HTTP/2.
    @Test func whatMayGoOverHTTP2JoinsNoAnswerInHTTP1() throws {
        let (server, pace) = (try server(), try pace())
        defer { server.stop() }
        defer { pace.stop() }
        let answer = { HTTP2Frame.head($0, length: 5) + HTTP2Frame.data("short", $0, isLast: true) }
        server.on(
            "PRI *",
            scripts: [
                [
                    .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)),
                    .bytes(HTTP2Frame.head() + HTTP2Frame.data("unproven", isLast: true)), .gate("next"),
                    .wait(.milliseconds(300)), .bytes(answer(3)), .gate("away"),
                    .bytes(HTTP2Frame.goAway(last: 3, error: 0)), .close,
                ],
                [.bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(answer(1)), .stall],
            ])
        server.on("/t0", halting)
        server.on("/t2", .respond(200, body: "short"))
        let stage = try Stage()
        let program = try stage.start(job(server, pace, "", ["to: long", "to: short", "to: last"]), ["-v"])
        #expect(server.waitForRequests(1, "/t0"))
        pace.open(gate: "/1")
        server.open(gate: "next")
        waitUntil { stage.hasAnswers(3) }
        server.open(gate: "away")
        waitUntil { server.openConnections <= 1 }
        pace.open(gate: "/2")
        #expect(server.waitForRequests(3))
        server.open(gate: "rest")
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("long") == Self.long)
        #expect(try stage.text("short") == "short" && stage.text("last") == "short")
        #expect(server.requests("/t2").isEmpty && server.requests("*").count == 2)
        #expect(try run.values("$.tasks[?@.id=='t2'].attempts[*].outcome") == ["succeeded"])
    }

    /// Where it met HTTP/2, this libcurl takes a connection for one that carries many requests even before the proxy has
    /// let it through, and the next request for sent.
    @Test func aTunnelCarriesNothingBeforeItStands() throws {
        let (server, pace) = (try server(), try pace())
        let port = server.port
        let tunnels = Mutex(0)
        let proxy = try ScriptedServer { _ in
            let isFirst = tunnels.withLock { count in
                count += 1
                return count == 1
            }
            return Script(isFirst ? [] : [.gate("tunnel")])
                + [.send("HTTP/1.1 200 Go on\r\n\r\n"), .relay(to: port)]
        }
        defer { for server in [server, pace, proxy] { server.stop() } }
        let answer = { HTTP2Frame.head($0, length: 5) + HTTP2Frame.data("short", $0, isLast: true) }
        server.on(
            "PRI *",
            scripts: [
                [
                    .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(answer(1)), .gate("next"),
                    .wait(.milliseconds(300)), .bytes(HTTP2Frame.goAway(last: 3, error: 0)), .gate("rest"),
                    .bytes(answer(3)), .stall,
                ],
                [.bytes(HTTP2Frame.beginning), .wait(.milliseconds(400)), .bytes(answer(1) + answer(3)), .stall],
            ])
        let stage = try Stage()
        let program = try stage.start(
            job(
                server, pace, ", proxy: { https: 'http://127.0.0.1:\(proxy.port)' }", ["", "", "", ""]), ["-v"])
        waitUntil { stage.hasAnswers(1) }
        pace.open(gate: "/1")
        waitUntil { stage.hasAnswers(2) }
        server.open(gate: "next")
        let upToGoAway = HTTP2Frame.beginning.count + answer(1).count + HTTP2Frame.goAway(last: 3, error: 0).count
        #expect(server.waitUntilRead(upToGoAway, "*") && happens { proxy.isRead })
        pace.open(gate: "/2")
        #expect(proxy.waitForRequests(2))
        pace.open(gate: "/3")
        waitUntil { stage.hasTold("attemptStarted", of: "t3") }
        proxy.open(gate: "tunnel")
        server.open(gate: "rest")
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(proxy.requests().count == 2 && server.requests("*").count == 2)
        #expect(try run.values("$.tasks[*].attempts[*].outcome").allSatisfy { $0 == "succeeded" })
    }

    /// While the one is at work the other waits for its turn.
    @Test func bothKindsShareTheHostsOnlyConnection() throws {
        let (server, pace) = (try server(), try pace())
        defer { server.stop() }
        defer { pace.stop() }
        let begun = HTTP2Frame.head(3, length: 5) + HTTP2Frame.data("sh", 3)
        server.on(
            "PRI *",
            [
                .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)),
                .bytes(HTTP2Frame.head(length: 5) + HTTP2Frame.data("short", isLast: true)), .gate("next"),
                .wait(.milliseconds(300)), .bytes(begun), .gate("rest"),
                .bytes(HTTP2Frame.data("ort", 3, isLast: true)),
                .stall,
            ])
        server.on("/t2", .respond(201))
        let stage = try Stage()
        let program = try stage.start(
            job(
                server, pace, ", maximumConnectionsPerHost: 1",
                ["to: first", "to: second", "type: upload, method: PUT, body: { data: hello }"]), ["-v"])
        waitUntil { stage.hasTold("taskFinished", of: "t0") }
        pace.open(gate: "/1")
        server.open(gate: "next")
        waitUntil { stage.hasAnswers(3) }
        pace.open(gate: "/2")
        waitUntil { stage.hasTold("attemptStarted", of: "t2") }
        // Time enough for what must not be sent yet.
        usleep(300_000)
        #expect(server.requests("/t2").isEmpty)
        server.open(gate: "rest")
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("second") == "short")
        #expect(server.requests("/t2").count == 1 && server.peakConnections == 1)
    }

    /// What lies idle of the one kind counts where one of the other is opened.
    @Test(arguments: [1, 2]) func bothKindsCountAgainstTheHostsLimit(_ limit: Int) throws {
        let (server, pace) = (try server(), try pace())
        defer { server.stop() }
        defer { pace.stop() }
        server.on(
            "PRI *",
            [
                .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)),
                .bytes(HTTP2Frame.head(length: 5) + HTTP2Frame.data("short", isLast: true)), .stall,
            ])
        server.on("/t1", .respond(201))
        server.on("/t2", .respond(201))
        let upload = "type: upload, method: PUT, body: { data: hello }"
        let stage = try Stage()
        let program = try stage.start(
            job(server, pace, ", maximumConnectionsPerHost: \(limit)", ["to: first", upload, upload]), ["-v"])
        waitUntil { stage.hasTold("taskFinished", of: "t0") }
        pace.open(gate: "/1")
        waitUntil { stage.hasTold("taskFinished", of: "t1") }
        pace.open(gate: "/2")
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.peakConnections == limit && server.totalConnections == 2)
        #expect(try run.values("$.tasks[?@.id=='t2'].attempts[*].transactions[*].isReusedConnection") == ["true"])
    }
}
