import CurlCore
import TestSupport
import Testing
import TransferModel

/// What comes with a body and is none of its own, and answers before the answer, on a real connection.
@Suite struct FramingTests {
    private final class Receiver: TransferReceiver {
        var body = 0
        var framing = 0
        /// Framing from which more is answered by `reply`.
        var most = Int.max
        var reply = BodyReply.taken
        var code: CurlCode?

        func received(head: ResponseHead) -> Bool { true }
        func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
            body += bytes.count
            return .taken
        }
        func received(framing count: Int) -> BodyReply {
            framing += count
            return framing > most ? reply : .taken
        }
        func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill { .stop }
        func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool { false }
    }

    /// A loop with one transfer from a server with one script.
    private struct Exchange {
        let loop = CurlLoop(maximumConnections: 4, streamsPerConnection: 1)
        let receiver = Receiver()
        let id: TransferID

        init(_ server: ScriptedServer, most: Int = .max, reply: BodyReply = .taken) throws {
            try loop.open()
            let pool = ConnectionPool(tls: TLSSettings(TLSConfiguration()))
            (receiver.most, receiver.reply) = (most, reply)
            id = try loop.start(CurlRequest(url: server.url("/f"), method: "GET", pool: pool), receiver: receiver)
        }

        /// Turns until the transfer has ended or `isDone`; `false` when that takes too long.
        func turn(until isDone: () -> Bool = { false }) -> Bool {
            for _ in 0..<2_000 where receiver.code == nil && !isDone() {
                for completion in loop.turn(wait: .milliseconds(10)) { receiver.code = completion.code }
            }
            return receiver.code != nil || isDone()
        }
    }

    private static let head = Script.head(200, [("Transfer-Encoding", "chunked")])
    private static let extensionOfAChunk = [UInt8](repeating: 0x78, count: 1 << 20)

    @Test func chunkSizesExtensionsAndTrailers_areFraming() throws {
        let frames = ["5;", "\r\n", "\r\n0\r\nX-Sum: 1\r\n\r\n"]
        let server = try ScriptedServer { _ in
            [
                .bytes(Self.head), .send(frames[0]), .bytes(Self.extensionOfAChunk), .send(frames[1]), .send("hello"),
                .send(frames[2]),
            ]
        }
        defer { server.stop() }
        let exchange = try Exchange(server)
        #expect(exchange.turn() && exchange.receiver.code == .ok)
        #expect(exchange.receiver.body == 5)
        let expected = frames.reduce(Self.extensionOfAChunk.count) { $0 + $1.utf8.count }
        #expect(exchange.receiver.framing == expected)
    }

    @Test func bodyOfKnownLength_hasNoFraming() throws {
        let server = try ScriptedServer { _ in .respond(200, patternOf: 300_000) }
        defer { server.stop() }
        let exchange = try Exchange(server)
        #expect(exchange.turn() && exchange.receiver.code == .ok)
        #expect(exchange.receiver.body == 300_000 && exchange.receiver.framing == 0)
    }

    /// A chunk's size line of 40 MB.
    private static let endless = Script(
        [.bytes(head), .send("5;")] + Array(repeating: .bytes(extensionOfAChunk), count: 40)
            + [.send("\r\nhello\r\n0\r\n\r\n")])

    @Test func framingThatMustStop_endsTheTransfer() throws {
        let server = try ScriptedServer { _ in Self.endless }
        defer { server.stop() }
        let exchange = try Exchange(server, most: 100_000, reply: .stop)
        #expect(exchange.turn() && exchange.receiver.code?.rawValue == 23)
        #expect(exchange.receiver.framing > 100_000 && exchange.receiver.framing < 8 << 20)
    }

    @Test func framingThatIsPaused_isReadNoFurtherUntilItResumes() throws {
        let server = try ScriptedServer { _ in Self.endless }
        defer { server.stop() }
        let exchange = try Exchange(server, most: 100_000, reply: .pause)
        let receiver = exchange.receiver
        #expect(exchange.turn { receiver.framing > 100_000 })
        // libcurl reads one more buffer that it was ready for.
        for _ in 0..<5 { _ = exchange.loop.turn(wait: .milliseconds(5)) }
        let before = receiver.framing
        for _ in 0..<20 { _ = exchange.loop.turn(wait: .milliseconds(5)) }
        #expect(receiver.framing == before && before < 8 << 20)
        receiver.most = .max
        exchange.loop.resume(exchange.id)
        #expect(exchange.turn() && receiver.code == .ok && receiver.body == 5)
        #expect(receiver.framing > 40 << 20)
    }

    // MARK: Interim answers

    @Test func interimAnswers_areNoActivity_andTheFinalOneIs() throws {
        let server = try ScriptedServer { _ in
            [.gate("interim"), .bytes(Script.head(102, [])), .gate("final")] + .respond(200, body: "hello")
        }
        defer { server.stop() }
        let exchange = try Exchange(server)
        let (loop, id) = (exchange.loop, exchange.id)
        #expect(exchange.turn { server.requests().count == 1 } && !loop.hasInterimAnswerOnly(id))
        let before = try #require(loop.lastActivity(of: id))
        server.open(gate: "interim")
        #expect(exchange.turn { loop.hasInterimAnswerOnly(id) })
        #expect(loop.lastActivity(of: id) == before && loop.lastArrival(of: id) == nil)
        server.open(gate: "final")
        #expect(exchange.turn() && exchange.receiver.code == .ok && exchange.receiver.body == 5)
    }
}
