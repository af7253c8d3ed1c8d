import TestSupport
import Testing
import TextFormats
import TransferModel

/// How long a failing task is tried, and what people see of it.
@Suite struct PatienceTests {
    @Test func aTaskThatWaits_saysWhyAndUntilWhen() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/busy", .respond(503), .respond(503), .respond(200, body: "at last"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { backoff: { initial: 20ms } } }
            tasks: [{ id: a, url: "\(server.url("/busy"))", to: a }]
            """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "at last")
        // Ten minutes from the first failure, for both.
        let until = try run.values("$.tasks[0].attempts[*].retriesUntil")
        let first = try #require(until.first ?? nil)
        #expect(until.count == 3 && until[2] == nil)
        let ended = try #require(try run.task("a", "attempts[0].startedAt").flatMap { RFC3339.parse($0) })
        let left = try #require(RFC3339.parse(first)) - ended
        #expect(left >= .seconds(599) && left < .seconds(660))
        let events = run.events.filter { $0["event"]?.plainText == "attemptFinished" }
        #expect(events.map { $0["retriesUntil"]?.plainText } == until)
        let words = "  a: GET \(server.url("/busy")): 503"
        let lines = run.errorText.split(separator: "\n").filter { $0.hasPrefix(words) }
        // The first trouble has a line, and what follows within a minute has none.
        #expect(lines.count == 1, "\(run.errorText)")
        #expect(lines.first?.contains("tried again in ") == true && lines.first?.hasSuffix(" UTC at most") == true)
    }

    @Test func aTaskThatIsGivenUp_saysHowLongAndHowOftenItWasTried() throws {
        let server = try ScriptedServer { _ in .respond(503) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { for: 400ms, backoff: { initial: 50ms } } }
            tasks: [{ id: a, url: "\(server.url("/busy"))", to: a }]
            """)
        #expect(run.status == 1)
        let times = try run.values("$.tasks[0].attempts[*].number").count
        #expect(times > 2)
        let sentence = try #require(try run.task("a", "explanation"))
        #expect(sentence.hasPrefix("Tried for ") && sentence.contains(", \(times) times: "))
        #expect(run.errorText.contains("a failed (unexpectedResponse), tried for "))
    }

    @Test func aWaitBeyondTheTime_failsAtOnce() throws {
        let server = try ScriptedServer { _ in .respond(503, headers: [("Retry-After", "120")]) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { retry: { for: 1m } }
            tasks: [{ id: a, url: "\(server.url("/busy"))", to: a }]
            """)
        #expect(run.status == 1)
        #expect(server.requests().count == 1)
        #expect(
            try run.task("a", "error.message")?.contains("asks to wait 120 s, longer than `retry.for`") == true)
    }

    /// A download that goes on with each attempt is not given up because the first cut was long ago.
    @Test func aDownloadThatComesOn_isTriedOn() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = Script.patternBytes(600_000)
        server.on("/large") { request in
            let from = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            let end = min(body.count, from + 100_000)
            let head = Script.head(
                from == 0 ? 200 : 206,
                [
                    ("ETag", "\"1\""), ("Content-Length", "\(body.count - from)"), ("Accept-Ranges", "bytes"),
                ] + (from == 0 ? [] : [("Content-Range", "bytes \(from)-\(body.count - 1)/\(body.count)")]))
            let part = Array(body[from..<end])
            return Script(
                [.bytes(head), .wait(.milliseconds(100)), .bytes(part)] + (end < body.count ? [.reset] : []))
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { retry: { for: 250ms, backoff: { initial: 1ms, maximum: 1ms } } }
            tasks: [{ id: a, url: "\(server.url("/large"))", to: a }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[0].attempts[*].number").count == 6)
    }
}
