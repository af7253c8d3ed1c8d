import TestSupport
import Testing
import TextFormats
import TransferModel

/// `tracing`: servers are told which span a request belongs to, and the spans of the run are those.
@Suite struct TracingTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// `a` fails once and is led on by a redirect to another server; `own` types a header of its own.
    private func servers() throws -> (ScriptedServer, ScriptedServer) {
        let (told, other) = (try ScriptedServer(), try ScriptedServer())
        told.on("/a") { request in
            request.number == 1 ? .respond(503) : .respond(302, headers: [("Location", other.url("/elsewhere"))])
        }
        told.on("/own", .respond(200, body: "own"))
        other.on("/elsewhere", .respond(200, body: "elsewhere"))
        return (told, other)
    }

    private func job(_ told: ScriptedServer, _ session: String = "") -> String {
        """
        sessions: { s: { \(session)tracing: { propagateTo: ["\(told.origin.dropFirst("http://".count))"] } } }
        defaults: { session: s, retry: { backoff: { initial: 10ms, jitter: none } } }
        tasks:
          - { id: a, url: "\(told.url("/a"))", to: a }
          - { id: own, url: "\(told.url("/own"))", to: own, headers: { Traceparent: mine } }
        """
    }

    private func spans(_ text: [UInt8]) throws -> [JSONValue] {
        try JSONPath("$.resourceSpans[0].scopeSpans[0].spans[*]").select(from: JSONParser.parse(text))
    }

    /// The header names the spans of the attempts, as they are written.
    private func expectSpans(_ told: ScriptedServer, _ other: ScriptedServer, _ spans: [JSONValue]) throws {
        let attempts = spans.filter { $0["name"]?.plainText?.hasPrefix("attempt ") == true }
        let tasks = try #require(spans.first { $0["name"]?.plainText == "a" }?["spanId"]?.plainText)
        let own = attempts.filter { $0["parentSpanId"]?.plainText == tasks }
        #expect(own.count == 2)
        let expected = own.map { "00-\($0["traceId"]?.plainText ?? "")-\($0["spanId"]?.plainText ?? "")-01" }
        #expect(told.requests("/a").compactMap { $0.header("traceparent") } == expected)
        #expect(told.requests("/own").map { $0.header("traceparent") } == ["mine"])
        #expect(other.requests().map { $0.header("traceparent") } == [nil])
        let ids = spans.compactMap { $0["spanId"]?.plainText }
        #expect(Set(ids).count == ids.count && ids.allSatisfy { $0.count == 16 })
    }

    @Test(arguments: [nil, parent]) func serversAreToldTheSpansOfTheRun(_ parent: String?) throws {
        let (told, other) = try servers()
        defer {
            told.stop()
            other.stop()
        }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(told))
        let environment = parent.map { ["TRACEPARENT": $0] } ?? [:]
        let run = try binary.run("job.yaml", "--otlp", "spans.json", environment: environment)
        #expect(run.exitStatus == 0, "\(run.errorText)")
        let spans = try spans(binary.folder.bytes("spans.json"))
        try expectSpans(told, other, spans)
        if parent != nil {
            #expect(spans[0]["traceId"]?.plainText == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(spans[0]["parentSpanId"]?.plainText == "00f067aa0ba902b7")
        }
        // Afterwards the report gives the same ones.
        let converted = try binary.run(
            arguments: ["report", "convert", "job.report.json", "--otlp", "again.json"], environment: environment)
        #expect(converted.exitStatus == 0, "\(converted.errorText)")
        #expect(try binary.folder.bytes("again.json") == binary.folder.bytes("spans.json"))
    }

    @Test func theBackgroundProcessTellsThemToo() throws {
        let background = try BackgroundStage()
        let (told, other) = try servers()
        defer {
            told.stop()
            other.stop()
        }
        let text = job(told, "configuration: background, identifier: org.example.traced, ")
        let handed = try background.detach(text, "--otlp", "spans.json")
        #expect(handed.exitStatus == 0, "\(handed.errorText)")
        background.waitUntil("the spans are there") { background.stage.folder.exists("spans.json") }
        try expectSpans(told, other, spans(background.stage.folder.bytes("spans.json")))
    }

    @Test func nothingIsToldWithoutIt() throws {
        let (told, other) = try servers()
        defer {
            told.stop()
            other.stop()
        }
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: own, url: \"\(told.url("/own"))\", to: own }]")
        let run = try binary.run("job.yaml", environment: ["TRACEPARENT": Self.parent])
        #expect(run.exitStatus == 0)
        #expect(told.requests().map { $0.header("traceparent") } == [nil] && other.requests().isEmpty)
    }
}
