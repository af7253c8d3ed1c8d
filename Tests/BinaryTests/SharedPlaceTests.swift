import Glibc
import TestSupport
import Testing

/// The report and the events: no place takes another's, and none is lost because another cannot be written.
@Suite struct SharedPlaceTests {
    private let binary: Binary
    private let job = "version: 1\ntasks: [{ id: a, url: \"data:,x\", to: out/same.json }]\n"

    init() throws {
        binary = try Binary()
        try binary.folder.write("job.yaml", job)
    }

    @Test(arguments: [
        (["--report", "job.yaml"], "it is the place of the job itself"),
        (["--events", "./job.yaml"], "it is the place of the job itself"),
        (["--report", "out/same.json"], "the task `a` would write over the report, out/same.json"),
        (["--events", "r", "--report", "./r"], "it is the place of the events"),
        (["--report", "link/same.json"], "the task `a` would write over the report, link/same.json"),
    ]) func noTwoThingsAreOneFile(_ options: [String], _ why: String) throws {
        try #require(mkdir(binary.folder.path("out"), 0o755) == 0)
        try #require(symlink("out", binary.folder.path("link")) == 0)
        let result = try binary.start(["job.yaml"] + options).wait()
        #expect(result.exitStatus == 4 && result.errorText.contains(why), "\(result.errorText)")
        #expect(try binary.folder.text("job.yaml") == job)
        #expect(!binary.folder.exists("out/same.json") && !binary.folder.exists("r"))
    }

    /// Nothing is replaced by what it asked for.
    @Test(arguments: ["job.yaml", "link/job.yaml", "secret", "deep/../vars"]) func noTaskWritesOverItsJob(_ to: String)
        throws
    {
        try #require(symlink(".", binary.folder.path("link")) == 0)
        try binary.folder.makeFolder("deep")
        for name in ["secret", "vars"] { try binary.folder.write(name, "") }
        try binary.folder.write(
            "job.yaml", "secrets: { s: { file: secret } }\ntasks: [{ id: a, url: \"data:,x\", to: \(to) }]\n")
        let before = try binary.folder.text("job.yaml")
        let result = try binary.start(["job.yaml", "--variables-file", "vars"]).wait()
        #expect(result.exitStatus == 4 && result.errorText.contains("`a` would write over"), "\(result.errorText)")
        #expect(try binary.folder.text("job.yaml") == before && binary.folder.text("secret").isEmpty)
    }

    /// Nor over the list that it goes over, or over what runs remember.
    @Test(arguments: ["link/list", "state/store.sqlite", "link/state/journal.sqlite"])
    func noTaskWritesOverWhatTheRunLivesOn(_ to: String) throws {
        try #require(symlink(".", binary.folder.path("link")) == 0)
        try binary.folder.makeFolder("state")
        try binary.folder.write("list", "q\n")
        let id = to.hasSuffix("list") ? "id: 'a${q}', forEach: { q: { lines: list } }" : "id: a"
        try binary.folder.write("job.yaml", "tasks: [{ \(id), url: \"data:,x\", to: \(to) }]\n")
        let result = try binary.start(["job.yaml", "--state-dir", "state"]).wait()
        #expect(result.exitStatus == 4 && result.errorText.contains("would write over"), "\(result.errorText)")
        #expect(try binary.folder.text("list") == "q\n")
    }

    /// What a run would refuse is found before it.
    @Test(arguments: [
        ("report: { json: out/same.json }\n", 3, "the task `a` would write over the report, "),
        ("report: { events: ./e, json: e }\n", 0, "cannot write the report to"),
        ("report: { json: job.yaml }\n", 0, "it is the place of the job itself"),
        ("report: { json: out/other.json }\n", 0, ""),
    ]) func aCheckFindsItToo(_ report: String, _ line: Int, _ why: String) throws {
        try #require(mkdir(binary.folder.path("out"), 0o755) == 0)
        let tasks = "tasks: [{ id: a, url: \"data:,x\", to: out/same.json }]\n"
        try binary.folder.write("job.yaml", "version: 1\n\(report)\(tasks)")
        let check = try binary.start(["check", "job.yaml"]).wait()
        let run = try binary.start(["job.yaml"]).wait()
        #expect(check.exitStatus == (why.isEmpty ? 0 : 2) && run.exitStatus == (why.isEmpty ? 0 : 4))
        #expect(check.errorText.contains(why) && run.errorText.contains(why), "\(check.errorText)\n\(run.errorText)")
        #expect(check.errorText.contains("[place-taken]") == !why.isEmpty)
        #expect(line == 0 || check.errorText.contains("job.yaml:\(line):1: error: "))
    }

    @Test func nowhereIsNoPlace() throws {
        let result = try binary.start(["job.yaml", "--report", "/dev/null", "--events", "/dev/null"]).wait()
        #expect(result.exitStatus == 0)
    }

    /// Events that cannot be written are an error, and the report is there all the same.
    @Test func aFullDiskForTheEventsIsNoneForTheReport() throws {
        let result = try binary.start(["job.yaml", "--report", "r.json", "--events", "/dev/full"]).wait()
        #expect(result.exitStatus == 4 && result.errorText.contains("/dev/full"))
        let report = try binary.folder.text("r.json")
        #expect(report.contains("\"succeeded\"") && report.contains("\"exitStatus\":4"))
    }

    /// For Swift these are one text; in a folder they are two names.
    @Test func namesThatAreOneTextAreTwoPlaces() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        for (place, name) in [("/one", "caf%C3%A9"), ("/two", "cafe%CC%81")] {
            let header = ("Content-Disposition", "attachment; filename*=UTF-8''\(name)")
            server.on(place, .respond(200, headers: [header], body: place))
        }
        server.on("/up", .respond(200, body: "taken"))
        try binary.folder.write("d/\(composed)", "sent")
        try #require(symlink("d", binary.folder.path("link")) == 0)
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: one, url: "\(server.url("/one"))", to: all/ }
              - { id: two, url: "\(server.url("/two"))", to: all/ }
              - { id: three, url: "data:,three", to: "d/\(decomposed)" }
              - { id: four, url: "\(server.url("/up"))", type: upload, body: { file: "link/\(composed)" } }
            """)
        let result = try binary.run("job.yaml")
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(
            try binary.folder.text("all/\(composed)") == "/one" && binary.folder.text("all/\(decomposed)") == "/two")
        #expect(try binary.folder.text("d/\(composed)") == "sent" && binary.folder.text("d/\(decomposed)") == "three")
        // What a member writes is another file than the one that is sent, which would go with the old folder.
        try binary.folder.write(
            "job.yaml",
            """
            groups: { g: { to: d, extraneous: remove } }
            tasks:
              - { id: member, group: g, url: "data:,x", to: "\(decomposed)", existing: replace }
              - { id: sender, url: "\(server.url("/up"))", type: upload, body: { file: "d/\(composed)" } }
            """)
        let refused = try binary.run("job.yaml")
        #expect(
            refused.exitStatus == 4 && refused.errorText.contains("would take what the task"), "\(refused.errorText)")
        #expect(try binary.folder.text("d/\(composed)") == "sent")
    }

    /// A pipe with a name would be waited for until somebody reads it; one that the run was given open is written to.
    @Test(arguments: [["--report", "none", "--events"], ["--report"]])
    func namedPipe_isRefused_andAnOpenOneIsNot(_ options: [String]) throws {
        try #require(mkfifo(binary.folder.path("ev"), 0o600) == 0)
        let refused = try binary.start(["job.yaml"] + options + ["ev"]).wait()
        #expect(
            refused.exitStatus == 4 && refused.errorText.contains("ev: it is a named pipe, "), "\(refused.errorText)")
        let script = "{ \"$0\" \"$@\" /dev/fd/3 3>&1 >/dev/null; } | cat"
        let read = try binary.start(["job.yaml"] + options, under: ["/bin/sh", "-c", script]).wait()
        let text = read.outputText
        #expect(text.contains("\"seq\":1,") || text.contains("transfer-run/report"), "\(text)\(read.errorText)")
    }

    /// What else is written to a redirected standard output stays where it is.
    @Test func standardOutputByItsName_keepsItsPlaceInAFile() throws {
        let script = "{ echo before; \"$0\" \"$@\"; echo after; } >out"
        let result = try binary.start(
            ["job.yaml", "--progress", "none", "--report", "/dev/stdout"], under: ["/bin/sh", "-c", script]
        ).wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
        let text = try binary.folder.text("out")
        #expect(text.hasPrefix("before\n{\"format\"") && text.hasSuffix("]}\nafter\n"), "\(text)")
    }
}
