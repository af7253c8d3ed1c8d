import Glibc
import TestSupport
import Testing
import TextFormats

/// `rerun`: the job again for some of a report's tasks.
@Suite struct RerunTests {
    private func job(_ server: ScriptedServer) -> String {
        """
        variables: { site: "http://nowhere.test" }
        defaults: { retry: { attempts: 1 } }
        tasks:
          - { id: a, url: "${site}/a", to: out/a }
          - { id: b, url: "${site}/b", to: out/b, needs: [a] }
          - { id: c, url: "${site}/c", to: out/c, needs: [b] }

        """
    }

    private func broken() throws -> (Binary, ScriptedServer) {
        let server = try ScriptedServer()
        server.on("/a", .respond(200, body: "a"))
        server.on("/b", .respond(404), .respond(200, body: "b"))
        server.on("/c", .respond(200, body: "c"))
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let run = try binary.run("job.yaml", "--set", "site=\(server.origin)")
        #expect(run.exitStatus == 1)
        #expect(
            run.errorText.contains("Run only these again: transfer-run rerun job.report.json\n"), "\(run.errorText)")
        return (binary, server)
    }

    @Test func theFailedTasksRunAgain_withTheVariablesOfThen_andAReportOfTheirOwn() throws {
        let (binary, server) = try broken()
        defer { server.stop() }
        let before = try binary.folder.bytes("job.report.json")
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 0, "\(again.errorText)")
        let first = again.errorText.split(separator: "\n").first
        #expect(first == "rerun: 2 of 3 tasks of job.yaml, that did not succeed: b, c", "\(again.errorText)")
        #expect(server.requests("/a").count == 1 && server.requests("/b").count == 2)
        #expect(try binary.folder.text("out/c") == "c")
        #expect(try binary.folder.bytes("job.report.json") == before)
        let report = try JSONParser.parse(try binary.folder.bytes("job.report.rerun.json"))
        #expect(try JSONPath("$.tasks[*].id").select(from: report).map { $0.plainText } == ["b", "c"])
        let nothing = try binary.run("rerun", "job.report.rerun.json")
        #expect(nothing.exitStatus == 0 && nothing.errorText.contains("no task that did not succeed: nothing to run"))
    }

    /// Tasks that were made of the rows of a list: it is asked for again, for they are made of it.
    @Test func aTaskOfAListRunsAgain_andItsFileIsRepaired() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, body: "a\nb\n"))
        server.on("/a", .respond(200, body: "a"))
        server.on("/b", .respond(404), .respond(200, body: "b"))
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: list, url: "\(server.url("/list"))" }
              - { id: "f-${x.index}", forEach: { x: { lines: { task: list } } }, url: "\(server.url("/"))${x}", to: "out/${x}" }

            """)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 0, "\(again.errorText)")
        #expect(try binary.folder.text("out/b") == "b", "\(again.errorText)")
        let left = try binary.run("rerun", "job.report.rerun.json")
        #expect(left.errorText.contains("nothing to run again"), "\(left.errorText)")
        binary.folder.remove("out/b")
        #expect(try binary.run("verify", "job.report.rerun.json").exitStatus == 1)
        let repair = try binary.run("verify", "job.report.rerun.json", "--repair")
        #expect(repair.exitStatus == 0, "\(repair.errorText)")
        #expect(try binary.folder.text("out/b") == "b")
        #expect(server.requests("/a").count == 1)
    }

    @Test func tasksAreChosenByNameByChangeOrAll() throws {
        let (binary, server) = try broken()
        defer { server.stop() }
        let one = try binary.run("rerun", "job.report.json", "--task", "a")
        #expect(one.exitStatus == 0 && one.errorText.contains("1 of 3 tasks of job.yaml, that `--task` names: a"))
        #expect(server.requests("/a").count == 2 && server.requests("/b").count == 1)
        let changed = try binary.run("rerun", "job.report.json", "--changed", "--report", "r.json")
        #expect(changed.errorText.contains("whose file changed: a") && binary.folder.exists("r.json"))
        let all = try binary.run("rerun", "job.report.json", "--all")
        #expect(all.exitStatus == 0 && all.errorText.contains("3 of 3 tasks of job.yaml, of the report: a, b, c"))
        let wrong = try binary.run("rerun", "job.report.json", "--task", "zz")
        #expect(wrong.exitStatus == 2 && wrong.errorText.contains("has no task `zz`"))
    }

    @Test func aChangedJobIsTold_andItsOwnValuesCount() throws {
        let (binary, server) = try broken()
        defer { server.stop() }
        try binary.folder.write("job.yaml", job(server).replacing("http://nowhere.test", with: server.origin + "/./"))
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.errorText.contains("warning: `job.yaml` has changed since the report was written"))
        #expect(
            again.errorText.contains(
                "warning: the variable `site` was `\(server.origin)` and is `\(server.origin)/./` in the job now"),
            "\(again.errorText)")
        #expect(again.exitStatus == 1 && server.requests("/b").count == 1)
        let typed = try binary.run("rerun", "job.report.json", "--set", "site=\(server.origin)")
        #expect(typed.exitStatus == 0, "\(typed.errorText)")
    }

    @Test func aJobThatIsGoneIsRefused() throws {
        let (binary, server) = try broken()
        defer { server.stop() }
        binary.folder.remove("job.yaml")
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 2)
        #expect(again.errorText.contains("error: the job file `job.yaml` of the report `job.report.json` is gone"))
        let none = try binary.run("rerun", "no.json")
        #expect(none.exitStatus == 2 && none.errorText.contains("cannot read no.json: "))
        try binary.folder.write("x.json", "{\n  \"format\": 3 }")
        let wrong = try binary.run("rerun", "x.json")
        #expect(wrong.exitStatus == 2 && wrong.errorText.contains("x.json:2:"))
    }

    @Test func theJobIsFoundBesideTheReport() throws {
        let (binary, server) = try broken()
        defer { server.stop() }
        try binary.folder.makeFolder("sub")
        let command = ["/bin/sh", "-c", "cd sub && exec \"$0\" \"$@\""]
        let again = try binary.start(["rerun", "../job.report.json"], under: command).wait()
        #expect(again.exitStatus == 0, "\(again.errorText)")
        #expect(binary.folder.exists("sub/job.report.rerun.json") && binary.folder.exists("out/c"))
    }

    @Test func whatTasksCaptureIsFetchedAnew() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/login", .respond(200, body: "{\"t\":\"1\"}"), .respond(200, body: "{\"t\":\"2\"}"))
        server.on("/x?t=1", .respond(404))
        server.on("/x?t=2", .respond(200, body: "x"))
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: login, url: '\(server.url("/login"))', capture: { t: { json: $.t } } }
              - { id: x, url: '\(server.url("/x"))?t=${tasks.login.t}', to: x }
            """)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 0, "\(again.errorText)")
        let along = "; along with them, for what they capture or bring, or for their group: login\n"
        #expect(again.errorText.contains(along))
        #expect(try binary.folder.text("x") == "x")
    }

    /// Of the tasks that a list of the run becomes, only the chosen one runs again.
    @Test func aTaskOfAListRunsAgainAlone() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, body: "[1, 2, 3]"), .respond(200, body: "[1, 2, 3]"))
        server.on("/2", .respond(404), .respond(200, body: "two"))
        for item in ["/1", "/3"] { server.on(item, .respond(200, body: item)) }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: list, url: '\(server.url("/list"))', capture: { n: { json: "$[*]", all: true } } }
              - { id: "item-${n}", forEach: { n: { captured: tasks.list.n } }, url: '\(server.url("/"))${n}', to: "out/${n}" }
              - { id: all, needs: ["item-*"], url: '\(server.url("/1"))' }
            """)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 0, "\(again.errorText)")
        #expect(again.errorText.contains("rerun: 2 of 5 tasks of job.yaml, that did not succeed: all, item-2; "))
        let counts = ["/list", "/1", "/2", "/3"].map { server.requests($0).count }
        #expect(counts == [2, 2, 2, 1])
        #expect(try binary.folder.text("out/2") == "two")
        let none = try binary.run("job.yaml", "--only", "item-4", "--no-report")
        #expect(none.exitStatus == 1 && none.errorText.contains("none of its 3 tasks matches `item-4`"))
    }

    /// A stop after a POST that succeeded: the command that is named does not send it again.
    @Test func aStoppedRunGoesOn_withoutThePOSTThatSucceeded() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/post", .respond(201), .respond(201))
        server.on("/f", [.stall], .respond(200, body: "f"))
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: post, method: POST, url: "\(server.url("/post"))", body: { data: x } }
              - { id: f, needs: [post], url: "\(server.url("/f"))", to: f }

            """)
        let program = try binary.start(["run", "job.yaml"])
        waitUntil { !server.requests("/f").isEmpty }
        #expect(program.send(signal: SIGINT))
        let stopped = program.wait()
        #expect(stopped.exitStatus == 130)
        #expect(
            stopped.errorText.contains(
                """
                The same command sends 1 request again; `rerun` does only what is left.
                Go on: transfer-run rerun job.report.json

                """), "\(stopped.errorText)")
        #expect(try binary.run("rerun", "job.report.json").exitStatus == 0)
        #expect(server.requests("/post").count == 1 && server.requests("/f").count == 2)
    }

    /// Tasks whose `when` was not met because of the failure come again with it.
    @Test func whatWasPassedOverForAFailureRunsAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/bad", .respond(404), .respond(200, body: "a"))
        for path in ["/plain", "/whens", "/star"] { server.on(path, .respond(200, body: "b")) }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            defaults: { retry: { attempts: 1 } }
            tasks:
              - { id: bad, url: "\(server.url("/bad"))" }
              - { id: plain, needs: [bad], url: "\(server.url("/plain"))" }
              - { id: whens, when: succeeded, needs: [bad], url: "\(server.url("/whens"))" }
              - { id: star, when: succeeded, needs: ["*"], url: "\(server.url("/star"))" }

            """)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        let again = try binary.run("rerun", "job.report.json")
        #expect(again.exitStatus == 0, "\(again.errorText)")
        #expect(
            again.errorText.contains("rerun: 4 of 4 tasks of job.yaml, that did not succeed: "), "\(again.errorText)")
        #expect(["/plain", "/whens", "/star"].allSatisfy { server.requests($0).count == 1 })
    }
}
