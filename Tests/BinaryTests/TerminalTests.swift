import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What a person sees: the program in a pseudo-terminal, its bytes replayed through a terminal emulator.
@Suite struct TerminalTests {
    private let stage: Stage
    private let server: ScriptedServer
    private static let half = 50_000

    init() throws {
        stage = try Stage()
        server = try ScriptedServer()
        // Half a body stands still until the test has seen it.
        for path in ["/a", "/b", "/long"] {
            server.on(
                path,
                [
                    .bytes(Script.head(200, [("Content-Length", "\(2 * Self.half)"), ("ETag", "\"1\"")])),
                    .pattern(count: Self.half), .gate("go"), .bytes(Script.patternBytes(Self.half, from: Self.half)),
                ])
        }
        server.on("/go") { [server] _ in
            server.open(gate: "go")
            return .respond(200)
        }
        server.on("/missing") { _ in
            .respond(404, headers: [("Content-Type", "text/plain")], body: "gone\u{1B}[2J\u{1B}[1;1Hfor good")
        }
    }

    private func job(_ more: String = "") -> String {
        """
        sessions: { default: { maximumConnectionsPerHost: 20, retry: { attempts: 1 } } }
        tasks:
          - { id: first, url: "\(server.url("/a"))", to: a }
          - { id: second-with-a-long-name-that-does-not-fit, url: "\(server.url("/b"))", to: b }
          - { id: missing, url: "\(server.url("/missing"))", to: c, allowFailure: true }
        \(more)
        """
    }

    /// The screens that the steps ask for, by their names, and the status that the program ended with.
    private struct Seen {
        var screens: [String: [String]] = [:]
        var status: Int?
        subscript(name: String) -> [String] { screens[name] ?? [] }
    }

    private func look(
        _ columns: Int, _ rows: Int, _ job: String, _ options: [String] = [], environment: [String: String] = [:],
        steps: String
    ) throws -> Seen {
        defer { server.stop() }
        try stage.folder.write("steps", steps)
        try stage.folder.write(Stage.jobFile, job)
        var variables = [
            "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8",
            "TERMINAL_STEPS": stage.folder.path("steps"),
        ]
        variables.merge(environment) { $1 }
        let script = Binary.packageRoot + "/tools/terminal.py"
        let program = try stage.binary.start(
            [Stage.jobFile, "--no-report"] + options, environment: variables,
            under: ["/usr/bin/python3", script, "\(columns)", "\(rows)"])
        let result = program.wait()
        #expect(result.exitStatus == 0, "\(result.outputText)\(result.errorText)")
        var seen = Seen()
        var name = ""
        for line in result.outputText.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("== status ") {
                seen.status = Int(line.dropFirst(10))
            } else if line.hasPrefix("== ") {
                name = String(line.dropFirst(3))
                seen.screens[name] = []
            } else {
                seen.screens[name, default: []].append(line)
            }
        }
        return seen
    }

    private var go: String { "get \(server.url("/go"))\nend\nshot end" }

    @Test(arguments: [20, 60, 80, 200]) func rowsStandBelowWhatScrolled_andGoAtTheEnd(_ columns: Int) throws {
        let seen = try look(columns, 24, job(), steps: "rows 2 50%\nwait 1/3 done\nshot half\n" + go)
        let rows = seen["half"].filter { $0.contains("50%") }
        try #require(rows.count == 2, "\(seen["half"])")
        #expect(rows[0].hasPrefix("first") && rows[1].hasPrefix("seco"), "\(seen["half"])")
        #expect(seen["half"].last { !$0.isEmpty }?.hasPrefix("1/3 done") == true, "\(seen["half"])")
        if columns >= 100 { #expect(rows[0].contains("━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━")) }
        #expect(seen.status == 0)
        let end = seen["end"].joined(separator: "\n")
        #expect(!end.contains("━") && !end.contains("50%") && !end.contains("done"), "\(end)")
        #expect(end.contains("first") && end.contains("2 ok"), "\(end)")
    }

    /// Of what a server says only what can be seen is shown.
    @Test func textFromAServer_movesNoCursor() throws {
        let seen = try look(
            100, 24, job().replacing("allowFailure: true", with: "labels: {}"),
            steps: "wait 50%\nwait FAILED\nshot half\n" + go)
        #expect(seen["half"].contains { $0.hasPrefix("FAILED") && $0.contains("missing") }, "\(seen["half"])")
        #expect(seen["end"].joined().contains("gone[2J[1;1Hfor good"), "\(seen["end"])")
        #expect(seen.status == 1 && seen["end"].contains { $0 == "Exit status 1: not every task succeeded." })
    }

    @Test func aResize_leavesNoRubbish() throws {
        let steps =
            "rows 2 50%\nresize 60 24\nrows 2 50%\nresize 30 20\nrows 2 50%\nresize 100 24\nrows 2 ━━━━━━━━━━\nshot wide\n"
        let seen = try look(100, 24, job(), steps: steps + go)
        #expect(seen["wide"].count { $0.contains("50%") } == 2, "\(seen["wide"])")
        #expect(seen["end"].count { $0.hasPrefix("ok ") } == 2, "\(seen["end"])")
    }

    /// Ctrl-Z: the shell's prompt stands where the rows were; `fg`: they are drawn anew.
    @Test func whileItIsStopped_theTerminalIsTheShells() throws {
        let steps = "rows 2 50%\ntype \\x1a\nstopped\ngone 50%\nshot stopped\ncontinue\nrows 2 50%\nshot again\n"
        let seen = try look(80, 24, job(), steps: steps + go)
        #expect(!seen["stopped"].joined().contains("done"), "\(seen["stopped"])")
        #expect(seen["again"].count { $0.contains("50%") } == 2, "\(seen["again"])")
        #expect(seen.status == 0)
    }

    @Test func afterAnInterrupt_theRowsAreGone_andItSaysHowToGoOn() throws {
        let seen = try look(100, 24, job(), steps: "wait 50%\ntype \\x03\nend\nshot end")
        let end = seen["end"].joined(separator: "\n")
        #expect(seen.status == 130, "\(end)")
        #expect(!end.contains("━") && !end.contains("50%"), "\(end)")
        #expect(end.contains("Go on: transfer-run run") && end.contains("Exit status 130: interrupted."), "\(end)")
    }

    /// Where nothing can be drawn, and where nobody wants that: lines alone.
    @Test(
        arguments: [
            (["TERM": "dumb"], []), ([:], ["--progress", "plain"]), ([:], ["-q"]), (["GITHUB_ACTIONS": "true"], []),
        ] as [([String: String], [String])])
    func withoutALivePart(_ environment: [String: String], _ options: [String]) throws {
        server.open(gate: "go")
        let seen = try look(80, 24, job(), options, environment: environment, steps: "end\nshot end")
        #expect(seen.status == 0 && !seen["end"].joined().contains("1/3 done"))
    }

    @Test func withNoColor_barsAreShades() throws {
        let seen = try look(100, 24, job(), environment: ["NO_COLOR": "1"], steps: "wait 50%\nshot half\n" + go)
        #expect(seen["half"].contains { $0.contains("██████████") }, "\(seen["half"])")
    }

    @Test func inAnotherLocale_barsAreASCII() throws {
        let seen = try look(100, 24, job(), environment: ["LANG": "C"], steps: "wait 50%\nshot half\n" + go)
        #expect(seen["half"].contains { $0.contains("########") }, "\(seen["half"])")
        #expect(seen["half"].joined().utf8.allSatisfy { $0 < 0x80 })
    }

    /// Of many tasks the longest-running are shown, and how many more there are.
    @Test func manyTasks_takeTenRowsAtMost() throws {
        let more =
            "  - { id: \"many-${n}\", forEach: { n: [\((1...20).map { "\($0)" }.joined(separator: ", "))] }, "
            + "url: \"\(server.url("/long"))\", to: \"m${n}\" }"
        let seen = try look(80, 30, job(more), steps: "wait more\nshot half\n" + go)
        #expect(seen["half"].count { $0.hasPrefix("and ") && $0.hasSuffix(" more") } == 1, "\(seen["half"])")
        let low = seen["half"].count { $0.contains("many-") || $0.hasPrefix("first") || $0.hasPrefix("second") }
        #expect(low <= 10)
        #expect(seen.status == 0)
    }

    @Test func colourIsForcedOnAPipe() throws {
        server.open(gate: "go")
        defer { server.stop() }
        try stage.folder.write(Stage.jobFile, job())
        let result = try stage.binary.run(Stage.jobFile, "--no-report", environment: ["FORCE_COLOR": "1"])
        #expect(result.errorText.contains("\u{1B}[32mok"))
        let none = try stage.binary.run(
            Stage.jobFile, "--no-report", environment: ["FORCE_COLOR": "1", "NO_COLOR": "1"])
        #expect(!none.errorText.contains("\u{1B}"))
    }

    /// A run of the background process is drawn by the same code.
    @Test func aBackgroundRun_isDrawnToo() throws {
        let carrier = try BackgroundStage(stage, server)
        defer { carrier.endProcess(signal: SIGTERM) }
        let background = """
            sessions: { default: { configuration: background, identifier: org.example.terminal } }
            tasks: [{ id: first, url: "\(server.url("/a"))", to: a }]
            """
        let seen = try look(80, 24, background, steps: "wait 50%\nshot half\n" + go)
        #expect(seen["half"].contains { $0.hasPrefix("first") && $0.contains("50%") }, "\(seen["half"])")
        #expect(seen.status == 0 && !seen["end"].joined().contains("50%"), "\(seen["end"])")
    }

    /// Ctrl-C leaves a background run to itself, and the terminal without its rows.
    @Test func aBackgroundRunThatIsLeft_leavesNoRows() throws {
        let background = """
            sessions: { default: { configuration: background, identifier: org.example.left } }
            tasks: [{ id: first, url: "\(server.url("/a"))", to: a }]
            """
        let seen = try look(80, 24, background, steps: "wait 50%\ntype \\x03\nend\nshot end")
        let end = seen["end"].joined(separator: "\n")
        #expect(seen.status == 130 && end.contains("goes on in the background"), "\(end)")
        #expect(!end.contains("50%") && !end.contains("0/1 done"), "\(end)")
    }

    /// While it waits for another run of the job, too.
    @Test func aRunThatWaitsItsTurn_isStoppedByTheShell() throws {
        try stage.folder.write(Stage.jobFile, "onOverlap: wait\n" + job())
        let first = try stage.binary.start([Stage.jobFile, "--no-report"])
        #expect(server.waitForRequests(3))
        let steps = "wait under way\ntype \\x1a\nstopped\ncontinue\n"
        let seen = try look(100, 24, "onOverlap: wait\n" + job(), steps: steps + go)
        #expect(first.wait().exitStatus == 0)
        #expect(seen.status == 0, "\(seen["end"])")
    }
}
