import TestSupport
import Testing
import TransferModel

/// Bytes on a connection that belong to no answer: the next request on it must not take them for its own.
@Suite struct StrayAnswerTests {
    enum Framing: CaseIterable {
        case length, chunked, empty

        var answer: [UInt8] {
            switch self {
            case .length: Script.head(200, [("Content-Length", "5")]) + Array("first".utf8)
            case .chunked:
                Script.head(200, [("Transfer-Encoding", "chunked")]) + Array("5\r\nfirst\r\n0\r\n\r\n".utf8)
            case .empty: Script.head(204, [])
            }
        }
    }

    private static let stray = Script.head(200, [("Content-Length", "5")]) + Array("STRAY".utf8)

    /// One connection for both, which libcurl keeps: what stands behind the first answer came with it.
    @Test(arguments: Transport.allCases, Framing.allCases)
    func withTheAnswerBeforeThem(_ transport: Transport, _ framing: Framing) throws {
        let server = try transport.server()
        defer { server.stop() }
        server.on("/first", [.bytes(framing.answer + Self.stray)])
        server.on("/second", .respond(200, body: "right"))
        let stage = try Stage()
        let run = try stage.run(
            """
            \(transport.session(server, ", maximumConnectionsPerHost: 1"))
            tasks:
              - { id: first, url: "\(server.url("/first"))", \(framing == .empty ? "type: data" : "to: first"), expect: { status: [200, 204] } }
              - { id: second, needs: [first], url: "\(server.url("/second"))", to: second }
            """)
        #expect(run.status == 0)
        if framing != .empty { #expect(try stage.text("first") == "first") }
        #expect(try stage.text("second") == "right")
    }

    /// Three connections are open and idle, and the server hangs up on each that is used. It may have closed it before
    /// the request came: that goes out once more, on a new one. Not more often, and the report tells it.
    @Test(arguments: Transport.allCases, [true, false])
    func aRequestThatWasSwallowedIsSentOnceMore(_ transport: Transport, _ isAnswered: Bool) throws {
        let server = try transport.server()
        defer { server.stop() }
        for path in ["/a", "/b", "/c"] { server.on(path, [.wait(.milliseconds(100))] + .respond(200, body: "x")) }
        server.on("/put") { isAnswered && $0.number == 2 ? .respond(200, body: "there") : [.close] }
        let stage = try Stage()
        let gets = ["a", "b", "c"].map { "  - { id: \($0), type: data, url: \"\(server.url("/\($0)"))\" }\n" }
        let run = try stage.run(
            """
            \(transport.session(server))
            defaults: { retry: { attempts: 1 } }
            tasks:
            \(gets.joined())
              - { id: put, needs: [a, b, c], type: upload, method: PUT, url: "\(server.url("/put"))", body: { data: hello } }
            """)
        #expect(run.status == (isAnswered ? 0 : 1))
        let sent = server.requests("/put")
        #expect(sent.count == 2 && sent.allSatisfy { $0.body == Array("hello".utf8) })
        if !isAnswered { #expect(try run.task("put", "error.name") == "networkConnectionLost") }
        let transactions = "$.tasks[?@.id=='put'].attempts[0].transactions[*]"
        #expect(try run.values("\(transactions).isReusedConnection") == ["true", "false"])
        #expect(try run.values("\(transactions).countOfRequestBodyBytesSent") == ["5", "5"])
        #expect(try run.values("\(transactions).response.status") == (isAnswered ? ["200"] : []))
        let times = try run.values("\(transactions).requestStartDate").map { $0 ?? "" }
        #expect(times.count == 2 && times == times.sorted())
        #expect(try run.values("$.totals.bytesSent") == ["10"])
        #expect(server.totalConnections == 4)
    }

    struct RepeatedBody: Sendable, CustomTestStringConvertible {
        let name: String
        let body: String
        var testDescription: String { name }
    }

    /// Longer than what libcurl takes at once.
    private static let repeated = String(repeating: "0123456789", count: 20_000)
    static let repeatedBodies = [
        RepeatedBody(name: "file", body: "{ file: body.bin }"),
        RepeatedBody(name: "data", body: "{ data: \"\(repeated)\" }"),
        RepeatedBody(name: "multipart", body: "{ multipart: [{ name: a, data: b }, { name: c, file: body.bin }] }"),
    ]

    /// The server hangs up on the only connection that is open: nothing but a new one is left, and the body begins
    /// anew there, whatever went out on the first.
    @Test(arguments: Transport.allCases, repeatedBodies)
    func theBodyOfASwallowedRequestIsSentWholeOnceMore(_ transport: Transport, _ body: RepeatedBody) throws {
        for ending: Script.Step in [.close, .reset] {
            let server = try transport.server()
            defer { server.stop() }
            server.on("/get", .respond(200, body: "x"))
            server.on("/put") { $0.number == 1 ? [ending] : .respond(201) }
            let stage = try Stage()
            try stage.folder.write("body.bin", Script.patternBytes(200_000))
            let run = try stage.run(
                """
                \(transport.session(server))
                defaults: { timeoutForRequest: 10s, retry: { attempts: 1 } }
                tasks:
                  - { id: get, type: data, url: "\(server.url("/get"))" }
                  - { id: put, needs: [get], type: upload, method: PUT, url: "\(server.url("/put"))", body: \(body.body) }
                """)
            #expect(run.status == 0, "\(run.errorText)")
            let sent = server.requests("/put")
            let first = try #require(sent.first)
            #expect(sent.count == 2 && first.body.count >= 200_000 && sent.allSatisfy { $0.body == first.body })
            #expect(server.totalConnections == 2)
            let transactions = "$.tasks[?@.id=='put'].attempts[0].transactions[*]"
            #expect(try run.values("\(transactions).isReusedConnection") == ["true", "false"])
            let bytes = "\(first.body.count)"
            #expect(try run.values("\(transactions).countOfRequestBodyBytesSent") == [bytes, bytes])
        }
    }
}
