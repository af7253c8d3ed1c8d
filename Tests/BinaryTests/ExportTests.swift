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
        ("--failed-list", "no/folder/x", "cannot write no/folder/x: No such file or directory"),
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
        (["report", "convert", "x.json", "--otlp", "y"], "`--otlp` is not built yet"),
        (["report", "convert", "none.json", "--failed-list", "y"], "cannot read none.json: No such file"),
        (["report", "convert", "x.json", "--failed-list", "y"], "x.json:1:1: this is no report"),
        (["report", "convert", "x.json", "--failed-list", "x.json"], "it is the place of the report"),
        (["report", "turn", "x.json"], "`transfer-run report` cannot `turn`"),
        (["report", "convert"], "needs"),
        (["report", "convert", "x.json", "--report", "y"], "not of `report`"),
    ])
    func aWrongConversionEndsWithTwo(_ words: [String], _ message: String) throws {
        let binary = try Binary()
        try binary.folder.write("x.json", "[]")
        let result = try binary.run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains(message), "\(result.errorText)")
        #expect(binary.folder.list() == ["x.json"])
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
