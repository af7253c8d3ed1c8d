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
    ])
    func whatOtherProgramsCallIt_isHinted(_ words: [String], _ hint: String) throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"data:,x\" }]")
        let result = try binary.run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains(hint), "\(result.errorText)")
    }

    @Test func nothingTyped_showsHelpWithAnExample() throws {
        let result = try Binary().run(arguments: [])
        #expect(result.exitStatus == 2)
        #expect(result.errorText.hasPrefix("error: no job file is named\n"))
        #expect(result.errorText.contains("transfer-run init https://example.org/file.iso"))
        #expect(result.outputText.isEmpty)
    }
}
