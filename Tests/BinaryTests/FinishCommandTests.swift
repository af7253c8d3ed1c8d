import TestSupport
import Testing
import TextFormats

/// `onFinish` of a job: a command that is run once, when the report is written.
@Suite struct FinishCommandTests {
    private func job(_ server: ScriptedServer, _ script: String, more: String = "") -> String {
        """
        onFinish: [sh, -c, '\(script)']
        \(more)
        tasks:
          - { id: a, url: "\(server.url("/a"))", to: a, retry: { attempts: 1 } }
        """
    }

    @Test(arguments: [(200, 0, "succeeded"), (404, 1, "failed")])
    func theEndIsTold_alsoAFailure(_ answer: Int, _ status: Int32, _ outcome: String) throws {
        let server = try ScriptedServer { _ in .respond(answer, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        let script = """
            env | grep ^TRANSFER_RUN_HOOK_ | sort > told; pwd >> told; grep -c outcome "$TRANSFER_RUN_HOOK_REPORT" >> told
            """
        let run = try stage.run(job(server, script))
        #expect(run.status == status, "\(run.errorText)")
        let told = try stage.text("told").split(separator: "\n").map { String($0) }
        #expect(told.count == 6 && told[4] == stage.folder.path && Int(told[5]) ?? 0 > 0, "\(told)")
        #expect(told[0].hasPrefix("TRANSFER_RUN_HOOK_DELIVERY_ID=") && told[0].count > 40)
        #expect(told[1] == "TRANSFER_RUN_HOOK_IDENTIFIER=" && told[2] == "TRANSFER_RUN_HOOK_OUTCOME=\(outcome)")
        #expect(told[3].hasPrefix("TRANSFER_RUN_HOOK_REPORT=/") && told[3].hasSuffix("report.json"))
        #expect(try run.values("$.hooks[*].exitStatus") == ["0"])
    }

    /// A word may be the first cause of the run's failure, in one line; it is empty where all is well.
    @Test(arguments: [(200, ""), (404, "a failed (unexpectedResponse): GET ")])
    func theRunsError_isItsFirstCause(_ answer: Int, _ start: String) throws {
        let server = try ScriptedServer { _ in .respond(answer, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        _ = try stage.run(
            """
            onFinish: [sh, -c, 'printf "%s" "$0" > told', "${run.error}"]
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a, retry: { attempts: 1 } }
              - { id: b, needs: [a], url: "\(server.url("/b"))" }
            """)
        let told = try stage.text("told")
        #expect(told.hasPrefix(start) && told.isEmpty == start.isEmpty && !told.contains("\n"), "\(told)")
    }

    /// What it prints, errors included, is shown beside the run's own lines, and never on standard output.
    @Test func whatItPrints_isShownOnStandardError() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(job(server, "echo told the channel; echo with a warning >&2"))
        #expect(run.status == 0 && run.errorText.contains("told the channel\n"))
        #expect(run.errorText.contains("\nwith a warning\n"), "\(run.errorText)")
    }

    @Test(arguments: [
        ("[sh, -c, 'echo no such place >&2; exit 3']", "`onFinish` ended with status 3: no such place", "3"),
        ("[sh, -c, 'kill -9 $$$$']", "`onFinish` was ended by signal 9", nil),
        ("[/no/such/program]", "`onFinish` cannot be started: ", nil),
    ])
    func itsFailure_isSaid_andTurnsZeroIntoOne(_ command: String, _ why: String, _ exit: String?) throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            "onFinish: \(command)\ntasks: [{ id: a, url: \"\(server.url("/a"))\", to: a }]")
        #expect(run.status == 1 && run.errorText.contains("error: \(why)"), "\(run.errorText)")
        #expect(try run.values("$.hooks[*].exitStatus") == [exit])
        #expect(try run.value("$.outcome") == "failed" && run.value("$.exitStatus") == "1")
        #expect(try run.task("a", "outcome") == "succeeded")
    }

    @Test func aJobWithSecrets_masksThemInWhatIsSaid() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("token", "hunter22secret")
        let run = try stage.run(
            """
            secrets: { TOKEN: { file: token } }
            onFinish: [sh, -c, 'echo "said $0"; echo "not with $0" >&2; exit 1', "${secret.TOKEN}"]
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """)
        #expect(run.status == 1 && run.errorText.contains("not with ***"), "\(run.errorText)")
        #expect(run.errorText.contains("said ***\n"))
        #expect(
            try !run.errorText.contains("hunter22secret")
                && run.value("$.hooks[0].command[2]") == "echo \"said $0\"; echo \"not with $0\" >&2; exit 1")
    }

    /// A line without an end is passed on in pieces, and none of them ends in a secret.
    @Test func aLongLineHidesSecretsWhereverItIsCut() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("token", "hunter22secret")
        let run = try stage.run(
            """
            secrets: { TOKEN: { file: token } }
            onFinish: [sh, -c, 'i=0; while [ $i -lt 16000 ]; do printf "$0.."; i=$((i+1)); done', "${secret.TOKEN}"]
            tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
            """)
        #expect(run.status == 0)
        let told = run.errorText.filter { $0 != "*" }
        #expect(!told.contains("hunter") && !told.contains("22secret"), "\(told.prefix(300))")
        #expect(run.errorText.ranges(of: "***..").count == 16000)
    }

    /// All of the job is in the background: the process that carries it runs the command too, whoever follows.
    @Test func inTheBackground_theProcessRunsIt() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            "onFinish: [sh, -c, 'echo $TRANSFER_RUN_HOOK_OUTCOME >> told; exit 3']\n"
                + BackgroundScene.head("org.example.end", "")
                + "tasks: [{ id: t, url: \"\(server.url("/x"))\", to: x }]")
        #expect(run.status == 1 && run.errorText.contains("error: `onFinish` ended with status 3"), "\(run.errorText)")
        #expect(try scene.stage.text("told") == "succeeded\n")
        #expect(try run.values("$.hooks[*].exitStatus") == ["3"])
    }

    /// A part of the job is in the background: the command that writes the report of both parts runs it, once.
    @Test func ofAJobInTwoParts_itIsRunOnce() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let scene = try BackgroundScene()
        let run = try scene.stage.run(
            """
            onFinish: [sh, -c, 'echo $TRANSFER_RUN_HOOK_OUTCOME >> told']
            sessions:
              near: {}
              far: { configuration: background, identifier: org.example.two, onFinish: [sh, -c, 'echo far >> far'] }
            tasks:
              - { id: n, session: near, url: "\(server.url("/n"))", to: n }
              - { id: f, session: far, url: "\(server.url("/f"))", to: f }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try scene.stage.text("told") == "succeeded\n" && scene.stage.text("far") == "far\n")
        #expect(try run.values("$.hooks[*].exitStatus") == ["0", "0"])
    }
}
