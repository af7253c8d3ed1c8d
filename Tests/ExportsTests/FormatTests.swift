import Exports
import Reporting
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Every format of a report, held against what it was when it was last looked at and against a strict reader of the format.
@Suite struct FormatTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private func written(
        _ format: ReportFormat, _ surroundings: ExportSurroundings = ExportSurroundings(),
        _ path: String = Recorded.path
    ) throws -> String {
        try Recorded.written(ExportFormats.export(format, surroundings), path).text
    }

    @Test(arguments: [
        (ReportFormat.junit, "report.junit.xml"), (.har, "report.har"), (.trace, "report.trace.json"),
        (.otlp, "report.otlp.json"), (.prometheus, "report.prom"), (.markdown, "report.md"),
    ])
    func itSaysWhatItDidBefore(_ format: ReportFormat, _ golden: String) throws {
        try Snapshot.check(try written(format), "Golden/\(golden)")
    }

    /// `nightly-mirror` is a real run, `report` has all that a report can have.
    @Test(arguments: [ReportFormat.junit, .har, .trace, .otlp, .prometheus], ["report", "nightly-mirror", "empty"])
    func aStrictReaderTakesIt(_ format: ReportFormat, _ report: String) throws {
        let tree = try TemporaryTree()
        var path = Recorded.folder + "/Golden/\(report).json"
        if report == "empty" {
            path = try tree.write("empty.json", #"{"format":"transfer-run/report","version":1,"tasks":[]}"#)
        }
        let file = try tree.write("export", try written(format, ExportSurroundings(), path))
        let script = String(Recorded.folder.dropLast("/Tests/ExportsTests".count)) + "/tools/check_exports.py"
        let check = try Binary(program: "/usr/bin/python3").run(arguments: [script, format.rawValue, file])
        #expect(check.exitStatus == 0, "\(check.errorText)")
    }

    // MARK: JUnit

    @Test func whatXMLForbidsIsShown() throws {
        let report = try Recorded.text().replacingFirst("\"id\":\"release\"", with: "\"id\": \"re\\u0001le\\uffffase\"")
        let tree = try TemporaryTree()
        let text = try written(.junit, ExportSurroundings(), tree.write("report.json", report))
        #expect(text.contains(#"name="re\u{1}le\u{ffff}ase""#), "\(text)")
    }

    /// Many a message begins with the request.
    @Test func theRequestIsNamedOnce() throws {
        let request = "GET https://mirror.example.org/slow: "
        let report = try Recorded.text().replacingFirst("it was cancelled", with: request + "it was cancelled")
        let tree = try TemporaryTree()
        let text = try written(.junit, ExportSurroundings(), tree.write("report.json", report))
        #expect(text.contains(">\(request)it was cancelled</error>"), "\(text)")
        // Others name the URL later.
        let later = "Failed after 3 attempts: https://mirror.example.org/slow: it was reset"
        let other = try Recorded.text().replacing("it was cancelled", with: later)
        let written = try self.written(.junit, ExportSurroundings(), tree.write("report.json", other))
        #expect(written.contains(">\(later)</error>"), "\(written)")
    }

    // MARK: Prometheus

    /// The report's run failed: the time of the last one that did not stands in the file that is replaced.
    @Test func theLastSuccessOutlivesAFailure() throws {
        let failed = try written(.prometheus)
        #expect(!failed.contains("last_success"))
        let success = "transfer_run_last_success_timestamp_seconds{job_name=\"nightly <mirror> & more\"} 1795000000.25"
        let later = try written(.prometheus, surroundings(former: failed + success + "\n"))
        #expect(later.contains("last_success_timestamp_seconds{job_name=\"nightly <mirror> & more\"} 1795000000.250\n"))
        let again = try written(.prometheus, surroundings(former: later))
        #expect(again == later)
        // Another job's, and what is no number.
        for former in [
            success.replacingFirst("nightly", with: "daily"), success + "x", "\u{0}", success.dropLast(13) + "-5",
        ] {
            #expect(try written(.prometheus, surroundings(former: former + "\n")) == failed, "\(former)")
        }
    }

    private func surroundings(former: String) -> ExportSurroundings {
        var surroundings = ExportSurroundings()
        surroundings.former = Array(former.utf8)
        return surroundings
    }

    // MARK: OTLP

    @Test func theRunBelongsToTheSpanOfTheEnvironment() throws {
        let spans = try spans(ExportSurroundings(traceParent: Self.parent))
        #expect(spans.allSatisfy { $0["traceId"] == .string("4bf92f3577b34da6a3ce929d0e0e4736") })
        #expect(spans.first?["parentSpanId"] == .string("00f067aa0ba902b7"))
    }

    @Test(arguments: [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        "\"},{\"",
    ])
    func whatIsNoTraceParentIsNone(_ text: String) throws {
        let spans = try spans(ExportSurroundings(traceParent: text))
        #expect(spans.first?["parentSpanId"] == nil)
        #expect(try spans.first?["traceId"] == self.spans(ExportSurroundings()).first?["traceId"])
    }

    private func spans(_ surroundings: ExportSurroundings) throws -> [JSONValue] {
        let document = try JSONParser.parse(Array(try written(.otlp, surroundings).utf8))
        return try JSONPath("$.resourceSpans[0].scopeSpans[0].spans[*]").select(from: document)
    }

    // MARK: Markdown

    /// However much went wrong.
    @Test func aSummaryIsBounded() throws {
        var text = try Recorded.text()
        let start = try #require(text.firstRange(of: "\"tasks\": [") ?? text.firstRange(of: "\"tasks\":["))
        let long = String(repeating: "<", count: 2_000)
        let tasks = (0..<300).map { number in
            """
            {"id":"t\(number)","type":"download","outcome":"failed","tolerated":false,"error":{"domain":"transfer-run",\
            "name":"unexpectedResponse","code":null,"message":"\(number)\(long)"},"explanation":null}
            """
        }
        text = String(text[..<start.lowerBound]) + "\"tasks\":[" + tasks.joined(separator: ",") + "]}"
        let tree = try TemporaryTree()
        let written = try written(.markdown, ExportSurroundings(), tree.write("report.json", text))
        #expect(written.utf8.count <= 1 << 20 && written.contains("more stand in the report only"))
    }
}

extension StringProtocol {
    fileprivate func replacingFirst(_ part: String, with other: String) -> String {
        guard let found = String(self).firstRange(of: part) else { return String(self) }
        let text = String(self)
        return text[..<found.lowerBound] + other + text[found.upperBound...]
    }
}
