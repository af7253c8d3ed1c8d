import TestSupport
import Testing
import TextFormats

/// `init`: a first job file for URLs that somebody typed, which is one that works.
@Suite struct InitTests {
    @Test func theFirstJob_isOneThatRuns() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let binary = try Binary()
        let urls = ["/a/one.iso", "/a/two.tar.gz?x=1&y=$2", "/b/one.iso", "/"].map { server.url($0) }
        let made = try binary.start(["init"] + urls).wait()
        #expect(made.exitStatus == 0 && made.outputText.isEmpty)
        #expect(made.errorText.contains("wrote `transfer.yaml`: 4 tasks. Run it: transfer-run transfer.yaml"))
        let text = String(decoding: try binary.folder.bytes("transfer.yaml"), as: UTF8.self)
        #expect(text.contains("site: \"\(server.origin)\"") || text.contains("site: \(server.origin)"))
        #expect(try binary.run("check", "transfer.yaml").exitStatus == 0)
        let run = try binary.run("transfer.yaml", "--report", "-", "-q")
        #expect(run.exitStatus == 0)
        #expect(Set(server.requests().map(\.target)) == ["/a/one.iso", "/a/two.tar.gz?x=1&y=$2", "/b/one.iso", "/"])
        #expect(binary.folder.list("downloads").count == 4)
    }

    @Test(arguments: ["https://h.test/a?token=hunter2", "https://h.test/bot123456789:AAhunter2hunter2/getMe"])
    func aSecretInAURL_isNotWritten(_ url: String) throws {
        let binary = try Binary()
        let printed = try binary.run("init", "-o", "-", url, "https://h.test/b")
        #expect(printed.exitStatus == 0 && !printed.outputText.contains("hunter2"), "\(printed.outputText)")
        #expect(printed.outputText.contains("secrets:\n  H_TEST_"), "\(printed.outputText)")
        try binary.folder.write("job.yaml", printed.output)
        #expect(try binary.run("check", "job.yaml").exitStatus == 0)
    }

    @Test func aFileThatIsThere_isNotOverwritten() throws {
        let binary = try Binary()
        try binary.folder.write("transfer.yaml", "mine")
        let result = try binary.run("init", "https://example.org/a")
        #expect(result.exitStatus == 2 && result.errorText.contains("`-o PATH`"))
        #expect(String(decoding: try binary.folder.bytes("transfer.yaml"), as: UTF8.self) == "mine")
        let printed = try binary.run("init", "-o", "-", "https://example.org/a")
        #expect(printed.exitStatus == 0 && printed.outputText.contains("url: https://example.org/a"))
    }

    @Test(arguments: [
        ("https://me:secret@example.org/a", "does not belong into a job file"), ("nonsense", "is no URL"),
        ("ssh://example.org/a", "cannot be downloaded"),
        ("curl -LO https://example.org/a", "write `transfer-run init -- curl …`, without quotes around it all"),
    ])
    func whatCannotBeDownloaded_isRefused(_ url: String, _ words: String) throws {
        let binary = try Binary()
        let result = try binary.run("init", url)
        #expect(result.exitStatus == 2 && result.errorText.contains(words))
        #expect(!result.errorText.contains("secret@") && binary.folder.list().isEmpty)
    }

    @Test(arguments: [
        (["-j4", "job.yaml"], "use `--max-concurrent N`"), (["--jobs", "3", "job.yaml"], "use `--max-concurrent N`"),
        (["--dry-run", "job.yaml"], "`transfer-run check JOB`"),
        (["job.yaml", "--bandwidth", "500KB/s"], "did you mean `500kB/s` (decimal) or `500KiB/s` (binary)?"),
        (["job.yaml", "--bandwidth", "5MB"], "`5MB/s`"),
        (["https://example.org/x"], "`transfer-run init URL…`"),
        (["init", "aria2c", "-x4", "https://example.org/x"], "write `transfer-run init -- aria2c …`"),
        (["import", "curl", "-LO", "https://example.org/x"], "write `transfer-run import -- curl …`"),
        (["import", "wget"], "write `transfer-run import -- wget …`"),
    ])
    func whatOtherProgramsCallIt_isHinted(_ words: [String], _ hint: String) throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"data:,x\" }]")
        let result = try binary.run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains(hint), "\(result.errorText)")
    }

    /// The likeliest of the job files that are there, else all of them, else how to make one.
    @Test(arguments: [
        ("a", ["a.transfer.yaml", "b.transfer.yaml"], "did you mean `a.transfer.yaml`?"),
        ("nightly.yaml", ["nightly.transfer.yaml"], "did you mean `nightly.transfer.yaml`?"),
        ("nihgtly.transfer.yaml", ["nightly.transfer.yaml"], "did you mean `nightly.transfer.yaml`?"),
        ("x.yaml", ["a.transfer.yaml", "b.transfer.yaml"], "there are `a.transfer.yaml`, `b.transfer.yaml`"),
        ("zzzzz.yaml", ["other.yaml"], "`transfer-run init URL` writes a first job file"),
        ("no/a.yaml", ["a.transfer.yaml"], "`transfer-run init URL` writes a first job file"),
    ])
    func aJobThatIsNotThere_isLookedFor(_ path: String, _ files: [String], _ hint: String) throws {
        let binary = try Binary()
        for file in files { try binary.folder.write(file, "tasks: []") }
        let result = try binary.run(path)
        #expect(result.exitStatus == 2)
        #expect(
            result.errorText == "error: cannot read the job `\(path)`: no such file\n  hint: \(hint)\n")
    }

    /// No default name has the `.transfer` of the job's file: neither the report's, nor the job's, nor the lock's.
    @Test func defaultNames_areMadeOfTheStem() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/f", .respond(200, body: "f"), .respond(200, body: "f"))
        let binary = try Binary()
        try binary.folder.write(
            "jobs/nightly.transfer.yaml", "tasks: [{ id: a, url: \"\(server.url("/f"))\", to: f }]")
        let run = try binary.run("jobs/nightly.transfer.yaml")
        #expect(run.exitStatus == 0 && run.errorText.hasSuffix(" · report: nightly.report.json\n"))
        #expect(try binary.folder.text("nightly.report.json").contains("\"job\":{\"name\":\"nightly\","))
        let unit = try binary.run("unit", "jobs/nightly.transfer.yaml")
        #expect(unit.outputText.contains("/transfer-run-nightly.service\n"))
        #expect(try binary.run("lock", "jobs/nightly.transfer.yaml").exitStatus == 0)
        #expect(binary.folder.exists("jobs/nightly.lock"))
    }

    @Test func nothingTyped_saysInThreeLinesWhatToType() throws {
        let result = try Binary().run(arguments: [])
        #expect(result.exitStatus == 2)
        #expect(
            result.errorText == """
                error: no job file is named
                  usage: transfer-run JOB…
                  `transfer-run --help` lists the commands, `transfer-run init URL` writes a first job file

                """)
        #expect(result.outputText.isEmpty)
    }
}
