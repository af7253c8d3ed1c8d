import CurlCore
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What libcurl does not keep apart in one pool, the loop does: it puts a request that may go over HTTP/2 on a connection of
/// HTTP/1.1 over which another's answer comes.
@Suite struct ConnectionSharingTests {
    private static let long = Script.patternBytes(300_000)

    /// What came for one request.
    private final class Answer: TransferReceiver {
        var version: HTTPProtocol?
        var body: [UInt8] = []
        var isOver = false
        func received(head: ResponseHead) -> Bool {
            version = head.version
            return true
        }
        func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
            body += bytes
            return .taken
        }
        func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill { .stop }
        func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool { false }
    }

    @Test func noRequestJoinsAnAnswerInHTTP1() throws {
        var options = try TLSOptions()
        options.takesHTTP2 = true
        let server = try ScriptedServer(tls: options)
        defer { server.stop() }
        let answer = { HTTP2Frame.head($0, length: 5) + HTTP2Frame.data("short", $0, isLast: true) }
        server.on(
            "PRI *",
            scripts: [
                [
                    .bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(answer(1)), .gate("next"),
                    .wait(.milliseconds(300)), .bytes(answer(3) + HTTP2Frame.goAway(last: 3, error: 0)), .close,
                ],
                [.bytes(HTTP2Frame.beginning), .wait(.milliseconds(100)), .bytes(answer(1)), .stall],
            ])
        let head = Script.head(200, [("Content-Length", "\(Self.long.count)")])
        server.on(
            "/long", [.bytes(head + Self.long[..<150_000]), .gate("rest"), .bytes(Array(Self.long[150_000...]))])

        let loop = CurlLoop(maximumConnections: 64, streamsPerConnection: 100)
        try loop.open()
        var trust = TLSConfiguration()
        trust.ca = server.caFile
        let pool = ConnectionPool(tls: TLSSettings(trust))
        func start(_ path: String, _ version: CurlRequest.Version) throws -> Answer {
            var request = CurlRequest(url: server.url(path), method: "GET", pool: pool)
            request.version = version
            let answer = Answer()
            _ = try loop.start(request, receiver: answer)
            return answer
        }
        func run(until isDone: () -> Bool) {
            let end = Clocks.instant() + .seconds(20)
            while !isDone(), Clocks.instant() < end {
                for completion in loop.turn(wait: .milliseconds(20)) {
                    #expect(completion.code == .ok, "\(completion.message)")
                    (completion.receiver as? Answer)?.isOver = true
                }
            }
            #expect(isDone())
        }

        let first = try start("/first", .http2OverTLS)
        run { first.isOver }
        let long = try start("/long", .http1)
        run { long.body.count == 150_000 }
        let second = try start("/second", .http2OverTLS)
        server.open(gate: "next")
        run { second.isOver && server.openConnections == 1 }
        let last = try start("/last", .http2OverTLS)
        run { last.isOver }
        server.open(gate: "rest")
        run { long.isOver }
        #expect(long.body == Self.long && long.version == .http1)
        #expect([first, second, last].allSatisfy { $0.body == Array("short".utf8) && $0.version == .http2 })
        #expect(server.totalConnections == 3)
    }
}
