import Glibc
import TestSupport
import Testing
import TextFormats

/// What the program says without a run, and the runs it refuses.
@Suite struct CommandTests {
    @Test func versionNamesTheLibraries() throws {
        let result = try Binary().run("--version")
        #expect(result.exitStatus == 0)
        let lines = result.outputText.split(separator: "\n")
        #expect(lines.first == "transfer-run 0.1.0")
        for name in ["libcurl ", "TLS ", "libyaml ", "SQLite "] {
            #expect(lines.contains { $0.hasPrefix(name) && $0.contains { $0.isNumber } }, "\(name)")
        }
        #expect(result.errorOutput.isEmpty)
    }

    /// A library that is loaded before all may set a variable, which moves the environment away from the arguments.
    @Test(.enabled(if: access("/usr/bin/cc", X_OK) == 0)) func argumentsAreThereWhateverWasPreloaded() throws {
        let binary = try Binary()
        let text = """
            int setenv(const char *, const char *, int);
            __attribute__((constructor)) static void begin(void) { setenv("A_NEW_ONE", "x", 1); }

            """
        try binary.folder.write("early.c", text)
        let command = ["/bin/sh", "-c", "exec /usr/bin/cc -shared -fPIC -o early.so early.c"]
        let cc = try binary.start([], under: command).wait()
        #expect(cc.exitStatus == 0, "\(cc.errorText)")
        let early = ["LD_PRELOAD": binary.folder.path("early.so")]
        let result = try binary.run("--version", environment: early)
        #expect(result.exitStatus == 0 && result.outputText.hasPrefix("transfer-run "), "\(result.errorText)")
    }

    /// libcurl is loaded with what it needs before a run begins; what begins no run misses nothing.
    @Test(
        .enabled(if: loadsCurl, "this binary has libcurl in it (STATIC=1)"),
        arguments: ["libcurl.so.4", "libssl.so.3", "libnghttp2.so.14"])
    func withoutALibraryThatLibcurlNeedsNoRunBegins(_ library: String) throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'data:,x', to: c }]")
        try binary.folder.write("no/\(library)", "no library")
        let lacking = ["LD_LIBRARY_PATH": binary.folder.path("no")]
        let run = try binary.run("job.yaml", "--no-report", environment: lacking)
        #expect(run.exitStatus == 4 && !binary.folder.exists("c"))
        let words = "error: the run could not be carried out: libcurl cannot be loaded: "
        #expect(run.errorText.contains(words) && run.errorText.contains("/no/\(library): "), "\(run.errorText)")
        #expect(try binary.run("check", "job.yaml", environment: lacking).exitStatus == 0)
    }

    @Test(.enabled(if: loadsCurl, "this binary has libcurl in it (STATIC=1)"))
    func theVersionIsToldWhereALibraryIsMissing() throws {
        let binary = try Binary()
        try binary.folder.write("no/librtmp.so.1", "no library")
        let version = try binary.run("--version", environment: ["LD_LIBRARY_PATH": binary.folder.path("no")])
        let lines = version.outputText.split(separator: "\n")
        let words = "libcurl none (its features are unknown: cannot be loaded: "
        #expect(version.exitStatus == 0, "\(version.errorText)")
        #expect(lines.contains { $0.hasPrefix(words) && $0.contains("/no/librtmp.so.1: ") }, "\(version.outputText)")
    }

    /// A library that is fetched when something of it is called: nothing else misses it, and what calls it says which.
    @Test func withoutALibraryOnlyWhatNeedsItEnds() throws {
        let binary = try Binary()
        let task = "id: a, url: 'data:,x'"
        try binary.folder.write("plain.yaml", "tasks: [{ \(task) }]")
        try binary.folder.write("job.yaml", "tasks: [{ \(task), expect: { body: { matches: 'x+' } } }]")
        try binary.folder.write("no/libpcre2-8.so.0", "no library")
        let lacking = ["LD_LIBRARY_PATH": binary.folder.path("no")]
        #expect(try binary.run("plain.yaml", "--no-report", environment: lacking).exitStatus == 0)
        let run = try binary.run("job.yaml", "--no-report", environment: lacking)
        #expect(run.exitStatus == 4)
        let words = "error: a library cannot be loaded: "
        #expect(run.errorText.contains(words) && run.errorText.contains("libpcre2-8.so.0"), "\(run.errorText)")
        #expect(try binary.run("job.yaml", "--no-report").exitStatus == 0)
    }

    /// A file that cannot be read is one fault among those of the others.
    @Test func checkTellsOfAllFilesWhereOneCannotBeRead() throws {
        let binary = try Binary()
        try binary.folder.write("bad.yaml", "tasks: [{ id: a, url: 'data:,x', urk: 1 }]")
        let text = try binary.run("check", "no.yaml", "bad.yaml")
        #expect(text.exitStatus == 2)
        let missing = "no.yaml: error: cannot read the job `no.yaml`: no such file [unreadable-file]"
        #expect(text.errorText.contains(missing))
        #expect(text.errorText.contains("bad.yaml:1:34: error: unknown key `urk`"))
        let json = try binary.run("check", "bad.yaml", "no.yaml", "--format", "json")
        let found = try JSONParser.parse(json.output)["diagnostics"]
        guard case .array(let items)? = found else {
            Issue.record("no list")
            return
        }
        #expect(json.exitStatus == 2 && items.map { $0["file"] } == [.string("bad.yaml"), .string("no.yaml")])
        #expect(items.map { $0["line"] } == [.number("1"), .null])
    }

    @Test(arguments: ["explain", "rerun", "verify"]) func aReportThatIsMissing_mayBeAnother(_ command: String) throws {
        let binary = try Binary()
        for name in ["a.report.json", "unlike.txt"] { try binary.folder.write(name, "{}") }
        for folder in ["", binary.folder.path("") + "/"] {
            let run = try binary.run(command, "\(folder)a.reprot.json")
            let words = "cannot read \(folder)a.reprot.json: no such file; did you mean `\(folder)a.report.json`?"
            #expect(run.exitStatus == 2 && run.errorText.contains(words), "\(run.errorText)")
        }
        #expect(try binary.run(command, "none/like-it").errorText.hasSuffix("cannot read none/like-it: no such file\n"))
    }

    /// A place, and never a line: whatever stands there may be a secret.
    @Test func aSecretsFileIsToldByItsLines() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'data:,${secret.A}', to: a }]")
        try binary.folder.write("secrets", "A=one\n# none\nhunter2\nA=two\n")
        let github = try binary.run("check", "job.yaml", "--secrets-file", "secrets", "--format", "github")
        #expect(github.exitStatus == 2)
        #expect(github.outputText.contains("::error file=secrets,line=3,col=1,"), "\(github.outputText)")
        let again = "::error file=secrets,line=4,col=1,endLine=4,endColumn=2,title=duplicate-key::"
        #expect(github.outputText.contains(again))
        let text = try binary.run("job.yaml", "--secrets-file", "secrets")
        #expect(text.exitStatus == 2 && text.errorText.contains("secrets:4:1: error: the secret `A` stands here again"))
        for told in [github.outputText, text.errorText] { #expect(!told.contains("hunter") && !told.contains("two")) }
    }

    /// `<(…)` of a shell, and standard input by its name.
    @Test func secretsAndVariablesMayComeFromAPipe() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'data:,${secret.A}${v}', to: a }]")
        let words = ["job.yaml", "--no-report", "--secrets-file", "/dev/fd/7", "--variables-file", "/dev/stdin"]
        let shell = ["/bin/sh", "-c", #"{ printf 'A=one' | "$0" "$@" 7<&0 <&8 8<&-; } 8<&0"#]
        let result = try binary.start(words, input: "v: two\n", under: shell).wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(try binary.folder.text("a") == "onetwo")
        try binary.folder.write("secrets", "A=file")
        let file = ["job.yaml", "--no-report", "--secrets-file", "/dev/fd/7", "--set", "v=x"]
        let opened = try binary.start(file, under: ["/bin/sh", "-c", #"exec "$0" "$@" 7< secrets"#]).wait()
        #expect(try opened.exitStatus == 0 && binary.folder.text("a") == "filex", "\(opened.errorText)")
        let job = try binary.start(["/dev/fd/7"], under: ["/bin/sh", "-c", #"printf x | "$0" "$@" 7<&0"#]).wait()
        #expect(job.exitStatus == 2 && job.errorText.contains("write `-`"), "\(job.errorText)")
    }

    /// A command that sends nothing does not pay for libcurl, nor for the twenty libraries that come with it.
    @Test(.enabled(if: Strace.isUsable)) func check_loadsNoLibraryOfTheNetwork() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'data:,x' }]")
        let trace = binary.folder.path("trace")
        let strace = Strace().command(trace: trace, calls: ["open", "openat"])
        #expect(try binary.start(["check", "job.yaml"], under: strace).wait().exitStatus == 0)
        let opened = String(decoding: try binary.folder.bytes("trace"), as: UTF8.self)
        #expect(opened.contains("job.yaml"))
        let tooMuch = ["libcurl", "libcrypto", "libssl", "libnghttp2", "libgssapi", "libldap"]
        #expect(tooMuch.allSatisfy { !opened.contains($0) })
    }

    @Test(arguments: [["--help"], ["help"], ["help", "run"], ["run", "--help"], ["help", "check"]])
    func helpGoesToStandardOutput(_ words: [String]) throws {
        let result = try Binary().run(arguments: words)
        #expect(result.exitStatus == 0)
        #expect(result.outputText.contains(words.contains("check") ? "--format" : "JOB"))
        #expect(result.errorOutput.isEmpty)
    }

    /// A folder that was removed under its shell is not the root of all files.
    @Test(arguments: [
        (["-", "--no-report"], "relative paths of a job from standard input"),
        (["FOLDER/job.yaml", "--report", "r.json"], "`r.json` leads nowhere"),
        (["FOLDER/job.yaml", "--no-report", "--directory", "d"], "`d` leads nowhere"),
        (["FOLDER/job.yaml", "--no-report", "--state-dir", "s"], "the state folder `s`"),
        (["check", "-"], "relative paths of a job from standard input"),
        (["FOLDER/job.yaml", "--no-report"], ""), (["-", "--no-report", "--directory", "FOLDER"], ""),
    ])
    func aWorkingFolderThatIsGoneIsNone(_ words: [String], _ why: String) throws {
        let binary = try Binary()
        let job = "tasks: [{ id: a, url: 'data:,x', to: transfer-run-was-here }]"
        try binary.folder.write("job.yaml", job)
        let arguments = words.map { word in
            word.hasPrefix("FOLDER") ? binary.folder.path + word.dropFirst("FOLDER".utf8.count) : word
        }
        let shell = ["/bin/sh", "-c", #"mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@""#]
        let result = try binary.start(arguments, input: job, under: shell).wait()
        #expect(result.exitStatus == (why.isEmpty ? 0 : why.contains("state") ? 4 : 2), "\(result.errorText)")
        #expect(result.errorText.contains(why) && binary.folder.exists("transfer-run-was-here") == why.isEmpty)
        for name in ["transfer-run-was-here", "d", "s"] {
            #expect(throws: (any Error).self) { try TemporaryTree.bytes(at: "/\(name)") }
        }
    }

    /// What was asked for is not there.
    @Test(arguments: [
        ["--version"], ["help"], ["schema"], ["check", "--format", "json", "job.yaml"], ["status", "--json"],
    ])
    func outputThatCannotBeWrittenIsAnError(_ words: [String]) throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"http://127.0.0.1:1/a\" }]")
        let result = try binary.start(words, under: ["/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh"]).wait()
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("error: cannot write standard output: No space left"), "\(result.errorText)")
        let closed = try binary.start(words, under: ["/bin/sh", "-c", "exec \"$@\" >&-", "sh"]).wait()
        #expect(closed.exitStatus == 4, "\(closed.errorText)")
        let unheard = try binary.start(words, under: ["/bin/sh", "-c", "\"$@\" | true", "sh"]).wait()
        #expect(unheard.errorText == "")
    }

    /// The numbers of the standard streams are nobody else's, whoever closed them.
    @Test func closedStreamsAreWrittenNowhere() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml", "tasks: [{ id: a, url: \"\(server.url("/a"))\", to: a }, { id: b, url: \"data:,x\" }]")
        let result = try binary.start(
            ["job.yaml", "--progress", "plain", "--verbose", "--report", "-"],
            under: ["/bin/sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"]
        ).wait()
        #expect(result.exitStatus == 4)
        #expect(try binary.folder.text("a") == "x")
        for tree in [binary.folder, binary.home] {
            for name in tree.list() where !name.hasSuffix("/") && name != "job.yaml" {
                let text = String(decoding: try tree.bytes(name), as: UTF8.self)
                #expect(!text.contains("2 ok") && !text.contains("transfer-run/report"), "\(name): \(text)")
            }
        }
    }

    @Test(arguments: [["--no-such-flag"], ["run"], ["chekc", "job.yaml"], ["missing.yaml"], ["run", "a", "--report"]])
    func aWrongCommandLineEndsWithTwo(_ words: [String]) throws {
        let result = try Binary().run(arguments: words)
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("error: "))
        #expect(result.output.isEmpty)
    }

    @Test func aWrongFileShowsTheLineWithACaretAndTransfersNothing() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            version: 1
            sessions:
              s: { maxConnectionsPerHost: 4 }
            tasks:
              - id: a
                url: \(server.url("/a"))
                to: a
                exsisting: skip
            """)
        let result = try binary.run("job.yaml")
        #expect(result.exitStatus == 2)
        // Both at once, each where it stands, each with what was probably meant.
        #expect(result.errorText.contains("job.yaml:3:8: error: "))
        #expect(result.errorText.contains("job.yaml:8:5: error: "))
        #expect(result.errorText.contains("^^^^^^^^^"))
        #expect(result.errorText.contains("did you mean `maximumConnectionsPerHost`?"))
        #expect(result.errorText.contains("did you mean `existing`?"))
        #expect(server.requests().isEmpty)
        #expect(binary.folder.list() == ["job.yaml"])

        let check = try binary.run("check", "--format", "json", "job.yaml")
        #expect(check.exitStatus == 2)
        let lines = try JSONPath("$.diagnostics[*].line").select(from: JSONParser.parse(check.output))
        #expect(lines.map { $0.plainText } == ["3", "8"])
    }

    @Test func schemaIsJSON() throws {
        let result = try Binary().run("schema")
        #expect(result.exitStatus == 0)
        #expect(try JSONParser.parse(result.output)["$schema"]?.plainText?.contains("2020-12") == true)
    }
}

/// Where the report and the events go.
@Suite struct OutputPlaceTests {
    private func job(_ server: ScriptedServer) -> String {
        server.on("/a", .respond(200, body: "text"))
        return "tasks: [{ id: a, url: '\(server.url("/a"))', to: out }]\n"
    }

    @Test func theReportIsNamedAfterTheJobInTheWorkingFolder() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("inner/nightly.yaml", job(server))
        #expect(try binary.run("inner/nightly.yaml").exitStatus == 0)
        #expect(binary.folder.list() == ["inner/", "inner/nightly.yaml", "inner/out", "nightly.report.json"])
    }

    @Test func aJobFromStandardInputTakesPathsFromTheWorkingFolder() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        let result = try binary.run("-", "--no-report", input: job(server))
        #expect(result.exitStatus == 0)
        #expect(binary.folder.list() == ["out"])
        #expect(result.output.isEmpty)
    }

    @Test func standardOutputCarriesDataOnlyWhenAsked() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let text = job(server)
        let report = try Binary().run("-", "--report", "-", input: text)
        #expect(report.exitStatus == 0)
        #expect(try JSONParser.parse(report.output)["format"]?.plainText == "transfer-run/report")

        let events = try Binary().run("-", "--no-report", "--events", "-", input: text)
        #expect(events.exitStatus == 0)
        let names = try events.output.split(separator: 0x0A).map { try JSONParser.parse(Array($0))["event"]?.plainText }
        #expect(names.first == "sessionStarted")
        #expect(names.last == "runFinished")
    }

    @Test func aReportThatCannotBeWrittenEndsWithFourBeforeAnythingIsSent() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("file", "no folder")
        let result = try binary.run("-", "--report", "file/r.json", input: job(server))
        #expect(result.exitStatus == 4)
        #expect(result.errorText.contains("file/r.json"))
        #expect(server.requests().isEmpty)
    }

    @Test func gitHubGetsAnAnnotationOnTheTasksLine() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml", "version: 1\ntasks:\n  - id: gone\n    url: \(server.url("/gone"))\n    to: gone\n")
        let result = try binary.run("job.yaml", environment: ["GITHUB_ACTIONS": "true"])
        #expect(result.exitStatus == 1)
        #expect(result.errorText.contains("::error file=job.yaml,line=3"))
    }

    @Test func gitHubGetsATableOfTheTasks() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/there", .respond(200, body: "x"))
        let binary = try Binary()
        let text = """
            name: "<b>nightly</b> | mirror"
            tasks:
              - { id: there, url: "\(server.url("/there"))" }
              - { id: gone, url: "\(server.url("/gone"))", expect: { body: { contains: "${secret.WORD}" } } }
            """
        try binary.folder.write("summary.md", "before\n")
        var environment = ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md", "WORD": "s3cret-word"]
        #expect(try binary.run("-", environment: environment, input: text).exitStatus == 1)
        let written = try binary.folder.text("summary.md")
        let rows = written.split(separator: "\n").map { String($0) }
        try #require(rows.count == 7, "\(written)")
        #expect(rows[0] == "before")
        #expect(rows[1] == "### &#60;b&#62;nightly&#60;/b&#62; &#124; mirror: failed")
        #expect(rows[4].hasPrefix("| gone | failed | ") && rows[5].hasPrefix("| there | ok | "), "\(written)")
        #expect(rows[6].hasPrefix("2 tasks, in ") && !written.contains("s3cret"))
        // What is full already takes no more; a place that is none fails nothing.
        try binary.folder.write("summary.md", String(repeating: "x", count: 1 << 20))
        _ = try binary.run("-", environment: environment, input: text)
        #expect(try binary.folder.text("summary.md").utf8.count == 1 << 20)
        environment["GITHUB_STEP_SUMMARY"] = "summary.md/file"
        let result = try binary.run("-", "--only", "there", environment: environment, input: text)
        #expect(result.exitStatus == 0 && result.errorText.contains("warning: the step's summary: cannot write"))
    }

    /// What is printed at the end does the same again, for those tasks.
    @Test func theCommandAtTheEndRunsTheSameAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "-job.yaml",
            """
            tasks:
              - { id: good, url: "${site}/good" }
              - { id: bad, url: "${site}/bad" }
            """)
        server.on("/good", .respond(200, body: "x"))
        let result = try binary.run(
            "--set", "site=\(server.origin)", "--network", "wired,metered", "-v", "--color=never", "--", "-job.yaml")
        #expect(result.exitStatus == 1)
        let line = try #require(
            result.errorText.split(separator: "\n").first { $0.hasPrefix("Run only this task again: ") })
        #expect(
            line == "Run only this task again: transfer-run rerun ./-job.report.json --network wired,metered")
        let words = line.split(separator: " ").dropFirst(6).map { String($0) }
        server.on("/bad", .respond(200, body: "x"))
        #expect(try binary.run(arguments: words).exitStatus == 0)
        #expect(server.requests().map(\.target).sorted() == ["/bad", "/bad", "/good"])
    }

    @Test func aVariableThatTheJobHasNotEndsWithTwo() throws {
        let binary = try Binary()
        let result = try binary.run(
            "-", "--set", "relase=12", input: "variables: { release: 1 }\ntasks: [{ id: a, url: 'data:,${release}' }]")
        #expect(result.exitStatus == 2)
        #expect(result.errorText.contains("did you mean `release`?"))
    }

    @Test func variablesSelectionsAndLimitsComeFromTheCommandLine() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let binary = try Binary()
        let text = """
            variables: { site: "http://127.0.0.1:9", name: nobody }
            tasks:
              - { id: first-a, url: "${site}/${name}-1", to: a }
              - { id: first-b, url: "${site}/${name}-2", to: b }
              - { id: second, url: "${site}/${name}-3", to: c }
            """
        let result = try binary.run(
            "-", "--set", "site=\(server.origin)", "--set", "name=ada", "--only", "first-*", "--except", "first-b",
            "--no-report", input: text)
        #expect(result.exitStatus == 0)
        #expect(server.requests().map { $0.target } == ["/ada-1"])
        #expect(binary.folder.list() == ["a"])
    }
}

/// Whether the binary under test loads the system's libcurl when a run begins: the library's name is in it then.
private let loadsCurl = (try? Binary().start([], under: ["/bin/grep", "-qa", "libcurl.so.4"]).wait())?.exitStatus == 0
