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

    @Test func aDrip_timesOutAndTheNextAttemptResumes() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions:
              s: { retry: { backoff: { initial: 10ms, jitter: none } }, minimumRate: { rate: 2kB/s, over: 1s } }
            tasks: [{ id: t, url: "\(server.url("/f"))", to: f }]
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("f") == Self.body)
        #expect(try run.value("$.tasks[0].attempts[0].error.name") == "timedOut")
        #expect(try run.value("$.tasks[0].attempts[0].error.message")?.contains("`minimumRate`") == true)
        #expect(try run.value("$.tasks[0].source") == "resumed")
        let second = try #require(server.requests().last?.header("Range"))
        #expect(second != "bytes=0-" && second.hasPrefix("bytes=10"))
    }
}
