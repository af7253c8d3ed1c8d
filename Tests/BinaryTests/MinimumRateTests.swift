import TestSupport
import Testing
import TransferModel

/// `minimumRate`: a drip is no progress.
@Suite struct MinimumRateTests {
    private static let body = Script.patternBytes(200_000)
    private static let begun = 100_000
    private static let headers: [Script.Header] = [("ETag", "\"v1\"")]

    /// One byte each 20 ms, which no `timeoutForRequest` ends.
    private static let drip: [Script.Step] = body[begun..<(begun + 3_000)].flatMap {
        [.bytes([$0]), .wait(.milliseconds(20))]
    }

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        let head = Script.head(200, [("Content-Length", "\(Self.body.count)")] + Self.headers)
        server.on("/f") { request in
            if request.number == 1 {
                return Script([.bytes(head), .bytes(Array(Self.body[..<Self.begun]))] + Self.drip)
            }
            let from = Int(request.header("Range")?.split(whereSeparator: { !$0.isNumber }).first ?? "0") ?? 0
            return .respond(
                206,
                headers: [("Content-Range", "bytes \(from)-\(Self.body.count - 1)/\(Self.body.count)")] + Self.headers,
                body: Array(Self.body[from...]))
        }
        return server
    }

    private func job(_ server: ScriptedServer, session: String = "", task: String = "") -> String {
        """
        sessions: { s: { retry: { backoff: { initial: 10ms, jitter: none } }\(session) } }
        tasks: [{ id: t, url: "\(server.url("/f"))", to: f\(task) }]
        """
    }

    @Test(arguments: [true, false]) func aDrip_timesOutAndTheNextAttemptResumes(_ isTasks: Bool) throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let floor = ", minimumRate: { rate: 2kB/s, over: 1s }"
        let run = try stage.run(isTasks ? job(server, task: floor) : job(server, session: floor))
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.value("$.tasks[0].attempts[0].error.name") == "timedOut")
        #expect(try run.value("$.tasks[0].attempts[0].error.message")?.contains("`minimumRate`") == true)
        #expect(try run.value("$.tasks[0].source") == "resumed")
        let second = try #require(server.requests().last?.header("Range"))
        #expect(second != "bytes=0-" && second.hasPrefix("bytes=10"))
    }

    /// A `bandwidth` below the minimum is the run's own doing.
    @Test func timeStoodStillForABandwidth_doesNotCount() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { _ in .respond(200, body: Array(Self.body[..<30_000])) }
        let stage = try Stage()
        let run = try stage.run(
            job(server, task: ", bandwidth: 15kB/s, minimumRate: { rate: 100kB/s, over: 500ms }"))
        #expect(run.status == 0)
        #expect(try run.value("$.totals.attempts") == "1")
    }

    /// The server has the whole body and thinks: that is `timeoutForRequest`'s.
    @Test func theWaitForAnAnswer_doesNotCount() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f") { _ in Script([.wait(.seconds(2))]) + .respond(200, body: []) }
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - id: t
                type: upload
                url: "\(server.url("/f"))"
                body: { data: "some words to send" }
                minimumRate: { rate: 1kB/s, over: 500ms }
                retry: { attempts: 1 }
            """)
        #expect(run.status == 0)
    }
}
