import TestSupport
import Testing
import TextFormats

/// The other formats of a report, as a run and `report convert` write them.
@Suite struct ExportTests {
    private static let failing = """
        tasks: [{ id: a, url: '%/a', to: a }, { id: b, url: '%/b', to: b }]
        """

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/a", .respond(200, body: "hello"))
        server.on("/b", .respond(404))
        return server
    }

    private func job(_ server: ScriptedServer, head: String = "") -> String {
        head + Self.failing.split(separator: "%", omittingEmptySubsequences: false).joined(separator: server.url(""))
    }

    @Test func aRunAndConvertWriteTheSameBytes() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let run = try binary.run("job.yaml", "--failed-list", "failed.ndjson")
        #expect(run.exitStatus == 1)
        let written = try binary.folder.text("failed.ndjson")
        #expect(written.contains("\"id\":\"b\"") && !written.contains("\"id\":\"a\""))
        let convert = try binary.run("report", "convert", "job.report.json", "--failed-list", "-")
        #expect(convert.exitStatus == 0 && convert.outputText == written && convert.errorText.isEmpty)
        // From a pipe, too.
        let piped = try binary.run(
            arguments: ["report", "convert", "-", "--failed-list", "-"], input: binary.folder.text("job.report.json"))
        #expect(piped.outputText == written)
    }

    private static let formats = [
        "--html", "--junit", "--har", "--trace", "--otlp", "--prometheus", "--markdown", "--failed-list",
    ]

    /// A secret of each kind is in none of them, nor in what people see.
    @Test func noFormatTellsASecret() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let canaries = (0..<7).map { "canary\($0)xyzzy" }
        server.on(
            "/a", .respond(401, headers: [("WWW-Authenticate", "Basic realm=r")], body: canaries.joined(separator: " "))
        )
        server.on(
            "/b", .respond(302, headers: [("Location", "/c?sig=\(canaries[3])"), ("Set-Cookie", "s=\(canaries[4])")]))
        server.on("/c", .respond(500, body: "you sent \(canaries[5])"))
        let binary = try Binary()
        try binary.folder.write("secrets", canaries.enumerated().map { "S\($0)=\($1)\n" }.joined(), mode: 0o600)
        let declared = canaries.indices.map { "S\($0): { env: S\($0) }" }.joined(separator: ", ")
        try binary.folder.write(
            "job.yaml",
            """
            secrets: { \(declared) }
            defaults: { retry: { attempts: 1 } }
            sessions:
              default:
                credentials: [{ host: 127.0.0.1, user: u, password: "${secret.S0}" }]
                headers: { X-Key: "${secret.S2}" }
            tasks:
              - { id: a, url: '\(server.url("/a"))', to: a }
              - { id: bearer, url: '\(server.url("/a"))', to: d, headers: { Authorization: "Bearer ${secret.S1}" } }
              - { id: b, url: '\(server.url("/b"))', to: b }
              - id: c
                url: '\(server.url("/c"))?sig=${secret.S3}'
                method: POST
                type: data
                body: { data: "${secret.S5} ${secret.S6}" }
            """)
        var words = ["job.yaml", "--secrets-file", "secrets", "--events", "events", "-v"]
        for format in Self.formats { words += [format, "x" + format] }
        let run = try binary.run(arguments: words)
        #expect(run.exitStatus == 1, "\(run.errorText)")
        #expect(server.requests().contains { $0.target.contains(canaries[3]) })
        let outputs = Self.formats.map { "x" + $0 } + ["events", "job.report.json"]
        for output in outputs {
            let text = try binary.folder.text(output)
            // Metrics name no tasks.
            #expect(text.contains(output.hasSuffix("prometheus") ? "127.0.0.1" : "bearer"), "\(output)")
            for canary in canaries { #expect(!text.contains(canary), "\(canary) in \(output)") }
        }
        for canary in canaries { #expect(!(run.errorText + run.outputText).contains(canary), "\(run.errorText)") }
    }

    @Test func aTraceIsPackedWhereItsNameSaysSo() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        #expect(try binary.run("job.yaml", "--trace", "t.json", "--har", "h").exitStatus == 1)
        #expect(try binary.run("report", "convert", "job.report.json", "--trace", "t.json.gz").exitStatus == 0)
        let unpacked = try Binary(in: binary.folder, program: "/usr/bin/gzip").run("-dc", "t.json.gz")
        #expect(unpacked.exitStatus == 0)
        #expect(try unpacked.output == binary.folder.bytes("t.json"))
    }

    @Test func metricsKeepTheLastSuccess() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        #expect(try binary.run("job.yaml", "--only", "a", "--prometheus", "m.prom").exitStatus == 0)
        func success() throws -> Substring? {
            try binary.folder.text("m.prom").split(separator: "\n").first {
                $0.hasPrefix("transfer_run_last_success_timestamp_seconds{")
            }
        }
        let first = try #require(try success())
        #expect(try binary.run("job.yaml", "--prometheus", "m.prom").exitStatus == 1)
        #expect(try success() == first)
        #expect(try binary.folder.text("m.prom").contains("transfer_run_exit_status{job_name=\"job\"} 1\n"))
        // The files are written before the command and after it.
        try binary.folder.write("job.yaml", job(server, head: "onFinish: [\"false\"]\n"))
        #expect(try binary.run("job.yaml", "--only", "a", "--prometheus", "m.prom").exitStatus == 1)
        #expect(try success() == first)
        #expect(try binary.run("job.yaml", "--only", "a", "--prometheus", "new.prom").exitStatus == 1)
        #expect(try !binary.folder.text("new.prom").contains("last_success"))
    }

    /// `tools/page_test.py` looks at pages in a browser.
    @Test func aRunWritesItsPage() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server, head: "report: { json: r.json, html: page.html }\n"))
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let page = try binary.folder.text("page.html")
        #expect(page.hasPrefix("<!doctype html>\n") && page.hasSuffix("</html>\n"))
        #expect(page.contains("1 of 2 tasks failed.") && page.contains("404 Not Found"))
        let convert = try binary.run("report", "convert", "r.json", "--html", "-")
        #expect(convert.outputText == page)
    }

    /// The job says where; the environment wins over it, and the command line over both.
    @Test func theJobTheEnvironmentAndTheCommandLineSayWhere() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server, head: "report: { json: none, failed: from-job }\n"))
        #expect(try binary.run("job.yaml").exitStatus == 1)
        #expect(binary.folder.exists("from-job") && !binary.folder.exists("job.report.json"))
        binary.folder.remove("from-job")
        let environment = ["TRANSFER_RUN_FAILED_LIST": "from-environment"]
        #expect(try binary.run("job.yaml", environment: environment).exitStatus == 1)
        #expect(!binary.folder.exists("from-job") && binary.folder.exists("from-environment"))
        binary.folder.remove("from-environment")
        let typed = try binary.run("job.yaml", "--failed-list", "typed", environment: environment)
        #expect(typed.exitStatus == 1 && !binary.folder.exists("from-environment") && binary.folder.exists("typed"))
    }

    @Test func standardOutputTakesOneThing() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let run = try binary.run("job.yaml", "--failed-list", "-", "--no-report")
        #expect(run.exitStatus == 1 && run.outputText.hasPrefix("{\"id\":\"b\""))
        let both = try binary.run("job.yaml", "--failed-list", "-", "--report", "-")
        #expect(both.exitStatus == 2)
        #expect(both.errorText.contains("report and the list of failed tasks cannot both go to standard output"))
    }

    /// Before anything is sent.
    @Test(arguments: [
        ("--failed-list", "job.yaml", "cannot write the list of failed tasks to job.yaml: it is the place of the job"),
        ("--failed-list", "job.report.json", "it is the place of the report"),
        ("--failed-list", "a", "would write over the list of failed tasks"),
        ("--failed-list", "job.yaml/x", "cannot write job.yaml/x: job.yaml: Not a directory"),
    ])
    func aPlaceThatIsTakenEndsTheRun(_ flag: String, _ place: String, _ message: String) throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let run = try binary.run("job.yaml", flag, place)
        #expect(run.exitStatus == 4)
        #expect(run.errorText.contains(message), "\(run.errorText)")
        #expect(server.requests().isEmpty)
    }

    @Test func checkKnowsThePlaces() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml", "report: { failed: x, events: x }\ntasks: [{ id: a, url: 'https://e.example/', to: a }]\n")
        let check = try binary.run("check", "job.yaml")
        #expect(check.exitStatus == 2)
        #expect(check.errorText.contains("it is the place of the events") && check.errorText.contains("place-taken"))
    }

    /// What cannot be written at the end is a failure of the runner; the others are written.
    @Test func anExportThatCannotBeWrittenIsAFailure() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.makeFolder("gone")
        let folder = binary.folder
        server.on("/a") { _ in
            folder.remove("gone")
            _ = try? folder.write("gone", "a file")
            return .respond(200, body: "hello")
        }
        try binary.folder.write("job.yaml", job(server))
        let run = try binary.run("job.yaml", "--failed-list", "gone/failed")
        #expect(run.exitStatus == 4, "\(run.errorText)")
        #expect(run.errorText.contains("error: cannot write"))
        #expect(binary.folder.exists("job.report.json"))
    }

    @Test(arguments: [
        (["report", "convert", "x.json", "--events", "y"], "not of `report`"),
        (["report", "convert", "x.json"], "no format is asked for"),
        (["report", "convert", "none.json", "--failed-list", "y"], "cannot read none.json: no such file"),
        (["report", "convert", "x.json", "--failed-list", "y"], "x.json:1:1: this is no report"),
        (["report", "convert", "x.json", "--failed-list", "x.json"], "it is the place of the report"),
        (["report", "turn", "x.json"], "`transfer-run report` cannot `turn`"),
        (["report", "convert"], "`transfer-run report convert` needs a report"),
        (["report", "convert", "x.json", "y.json"], "does not take `y.json`"),
        (["report", "convert", "x.json", "--report", "y"], "not of `report`"),
        (["report", "convert", "x.json", "--fail-on", "any"], "not an option of `report convert`"),
        (["report", "diff", "x.json"], "needs two reports"),
        (["report", "diff", "-", "-"], "standard input can be only one"),
        (["report", "diff", "x.json", "x.json", "--fail-on", "weather"], "`--fail-on` cannot be `weather`"),
        (["report", "diff", "x.json", "x.json", "--html", "y"], "not an option of `report diff`"),
        (["report", "diff", "x.json", "x.json"], "x.json:1:1: this is no report"),
        (["report", "merge", "x.json", "-o", "y"], "x.json:1:1: this is no report"),
        (["explain", "job.transfer.yaml"], "error: job.transfer.yaml is a job file; unless"),
        (["report", "convert", "job.transfer.yaml", "--html", "y"], "its report is `job.report.json`"),
        (["explain", "none.json"], "cannot read none.json: no such file"),
        (["explain", "x.json"], "x.json:1:1: this is no report"),
    ])
    func aWrongConversionEndsWithTwo(_ words: [String], _ message: String) throws {
        let binary = try Binary()
        try binary.folder.write("x.json", "[]")
        try binary.folder.write("job.transfer.yaml", "tasks: []")
        let result = try binary.run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains(message), "\(result.errorText)")
        #expect(binary.folder.list() == ["job.transfer.yaml", "x.json"])
    }

    @Test func reportsAreExplainedComparedAndMerged() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        #expect(try binary.run("job.yaml", "--only", "a", "--report", "1.json").exitStatus == 0)
        #expect(try binary.run("job.yaml", "--only", "b", "--report", "2.json").exitStatus == 1)
        let run = try binary.run("explain", "2.json")
        #expect(run.exitStatus == 0 && run.outputText.contains("The task failed.") && run.errorText.isEmpty)
        #expect(run.outputText.contains("404 Not Found") && run.outputText.contains("1 request took"))
        let task = try binary.run("explain", "2.json", "b")
        #expect(task.exitStatus == 0 && task.outputText.hasPrefix("b: failed in ") && task.outputText.contains("→ 404"))
        let nobody = try binary.run("explain", "2.json", "c")
        #expect(nobody.exitStatus == 2 && nobody.errorText == "error: 2.json has no task `c`\n")
        let swapped = try binary.run("explain", "b", "2.json")
        #expect(swapped.exitStatus == 2 && swapped.errorText.contains("`transfer-run explain 2.json b`"))

        let diff = try binary.run("report", "diff", "1.json", "2.json")
        #expect(diff.exitStatus == 0 && diff.outputText.contains("Failed anew (1)\n  b: "), "\(diff.outputText)")
        #expect(try binary.run("report", "diff", "1.json", "2.json", "--fail-on", "slower,failed").exitStatus == 1)
        #expect(try binary.run("report", "diff", "1.json", "2.json", "--fail-on", "certificate").exitStatus == 0)
        #expect(try binary.run("report", "diff", "2.json", "2.json", "--fail-on", "any").exitStatus == 0)

        let merge = try binary.run("report", "merge", "1.json", "2.json", "-o", "both.json")
        #expect(merge.exitStatus == 0 && merge.errorText.isEmpty)
        #expect(try binary.run("report", "merge", "1.json", "2.json").output == binary.folder.bytes("both.json"))
        let list = try binary.run("report", "convert", "both.json", "--junit", "-")
        #expect(list.outputText.contains("tests=\"2\" failures=\"1\" errors=\"0\""))
        let twice = try binary.run("report", "merge", "1.json", "1.json", "-o", "none.json")
        #expect(twice.exitStatus == 2 && twice.errorText.contains("1.json and 1.json both have a task `a`"))
        #expect(!binary.folder.exists("none.json"))
    }

    // MARK: OpenTelemetry's collector

    private static let traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// The variables that OpenTelemetry has for it say where the spans go: the very ones that `--otlp` writes.
    @Test(arguments: [
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "%/otlp/"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "%/otlp"],
        [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "%/otlp/v1/traces",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b , =c,x-bad=1%0d%0aX-Worse: 2",
        ],
    ])
    func theCollectorGetsTheSpans(_ variables: [String: String]) throws {
        let server = try server()
        defer { server.stop() }
        server.on("/otlp/v1/traces", .respond(200, body: "{}"))
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        var environment = variables.mapValues { $0.hasPrefix("%") ? server.url("") + $0.dropFirst() : $0 }
        environment["TRACEPARENT"] = Self.traceParent
        let run = try binary.run("job.yaml", "--otlp", "spans.json", environment: environment)
        #expect(run.exitStatus == 1 && !run.errorText.contains("warning"), "\(run.errorText)")
        let sent = server.requests("/otlp/v1/traces")
        #expect(sent.count == 1 && sent.first?.method == "POST")
        #expect(sent.first?.header("Content-Type") == "application/json")
        #expect(sent.first?.header("Content-Encoding") == "gzip")
        #expect(sent.first?.header("x-key") == (variables.count == 3 ? "a b" : nil))
        #expect(sent.first?.header("x-bad") == nil && sent.first?.header("X-Worse") == nil)
        try binary.folder.write("sent.gz", sent.first?.body ?? [])
        let unpacked = try Binary(in: binary.folder, program: "/usr/bin/gzip").run("-dc", "sent.gz")
        #expect(try unpacked.output == binary.folder.bytes("spans.json"))
        #expect(unpacked.outputText.contains("00f067aa0ba902b7"))
    }

    /// A collector that is not there, or refuses, is a warning.
    @Test func aCollectorFailsNoRun() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let endpoint = "http://user:sesame@\(server.url("").dropFirst("http://".count))"
        let refused = try binary.run(
            "job.yaml", "--only", "a", environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": endpoint])
        #expect(refused.exitStatus == 0)
        #expect(
            refused.errorText.contains("warning: the spans did not get to http://127.0.0.1"), "\(refused.errorText)")
        #expect(refused.errorText.contains("it answered 404") && !refused.errorText.contains("sesame"))
        let gone = try binary.run(
            "job.yaml", "--only", "a", environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"])
        #expect(gone.exitStatus == 0 && gone.errorText.contains("warning: the spans did not get to"))
        let switches = [
            "OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        ]
        for off in switches {
            let run = try binary.run(
                "job.yaml", "--only", "a",
                environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", off.key: off.value])
            #expect(run.exitStatus == 0 && !run.errorText.contains("warning"), "\(run.errorText)")
        }
    }

    /// The background process writes them where nobody waits; one who attaches later gets them as well.
    @Test func aDetachedRunHasItsExports() throws {
        let stage = try BackgroundStage()
        stage.server.on("/a", .respond(404))
        let folder = stage.stage.folder
        let detached = try stage.detach(
            stage.job(stage.task("a")) + "\nreport: { failed: failed.ndjson }\n", "--failed-list", "typed.ndjson")
        #expect(detached.exitStatus == 0, "\(detached.errorText)")
        stage.waitForReport()
        stage.waitUntil("the list is there") { folder.exists("typed.ndjson") }
        #expect(try folder.text("typed.ndjson").contains("\"id\":\"a\""))
        #expect(!folder.exists("failed.ndjson"))
    }
}
