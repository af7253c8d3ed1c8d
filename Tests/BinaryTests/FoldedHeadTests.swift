import TestSupport
import Testing
import TransferModel

/// Answers whose first header line continues a line that is not there. Such a line must never be joined to the headers of
/// an earlier answer: those are freed, and their memory is another's.
@Suite struct FoldedHeadTests {
    /// What is freed is overwritten: whoever reads it dies.
    private static let poison = ["MALLOC_PERTURB_": "165"]
    private static let whole = Script.respond(200, headers: [("ETag", "\"v1\""), ("X-Long", long)], body: "body")
    private static let long = String(repeating: "a", count: 300)

    private static func folded(_ count: Int) -> Script {
        let value = String(repeating: "b", count: count)
        return [.send("HTTP/1.1 200 OK\r\n x: \(value)\r\nContent-Length: 4\r\n\r\nbody")]
    }

    private func check(
        _ transport: Transport, _ count: Int, concurrent: Int, then: [Script.Step] = []
    ) throws {
        let server = try transport.server()
        defer { server.stop() }
        for number in 0..<24 {
            server.on("/\(number)", number % 2 == 1 ? Self.folded(count) + Script(then) : Self.whole)
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            \(transport.session(server))
            limits: { maximumConcurrentTasks: \(concurrent) }
            defaults: { retry: { attempts: 2, backoff: { initial: 1ms } } }
            tasks:
              - { id: "t${n}", forEach: { n: 0..23 }, url: "\(server.url("/"))${n}", to: "f${n}" }
            """, environment: Self.poison)
        #expect(run.status == 1)
        for number in 0..<24 {
            #expect(try run.task("t\(number)", "outcome") == (number % 2 == 1 ? "failed" : "succeeded"))
        }
        #expect(try run.task("t1", "error.name") == "cannotParseResponse")
        #expect(stage.files == (0..<24).filter { $0 % 2 == 0 }.map { "f\($0)" }.sorted())
    }

    /// Every other answer is folded, over connections that are kept and by handles that carried transfers before.
    @Test(arguments: Transport.allCases, [4, 300, 4_000])
    func foldedFirstLine_afterOtherAnswers_failsThatTaskAlone(_ transport: Transport, _ count: Int) throws {
        try check(transport, count, concurrent: 1)
        try check(transport, count, concurrent: 6)
    }

    /// The second answer of one transfer: what an interim one said is no line to continue either.
    @Test func foldedFirstLine_afterAnInterimAnswer_failsTheTask() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", Script([.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")]) + Self.folded(300))
        let stage = try Stage()
        let run = try stage.run(
            "tasks: [{ id: a, url: \"\(server.url("/a"))\", to: a, retry: { attempts: 2, backoff: { initial: 1ms } } }]"
        )
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "cannotParseResponse")
        #expect(stage.files.isEmpty)
    }

    /// A connection that swallowed the request is followed by another, in the same transfer.
    @Test func foldedFirstLine_afterARequestThatWentOutTwice_failsTheTask() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/first", Self.whole)
        // The first is swallowed: the connection is kept by the client and ends without an answer.
        server.on("/second", [.reset], Self.folded(300), Self.folded(300))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: first, url: "\(server.url("/first"))", to: first }
              - { id: second, needs: [first], url: "\(server.url("/second"))", to: second, retry: { attempts: 1 } }
            """, environment: Self.poison)
        #expect(run.status == 1)
        #expect(try run.task("second", "error.name") == "cannotParseResponse")
        #expect(stage.files == ["first"])
    }
}
