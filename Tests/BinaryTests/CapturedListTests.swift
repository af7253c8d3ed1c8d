import TestSupport
import Testing
import TextFormats
import TransferModel

/// Work that is found on the way: tasks that are made of what another task captured.
@Suite struct CapturedListTests {
    private static let json = [("Content-Type", "application/json")]

    private func serve(_ server: ScriptedServer, _ list: String, files: [String] = []) {
        server.on("/list", .respond(200, headers: Self.json, body: list))
        for file in files { server.on("/f/\(file)", .respond(200, body: "file \(file)")) }
    }

    private func list(_ server: ScriptedServer, _ path: String = "$[*]") -> String {
        "tasks:\n  - { id: list, url: \"\(server.url("/list"))\", capture: { names: { json: \"\(path)\", all: true } } }\n"
    }

    private func get(_ server: ScriptedServer, _ more: String = "") -> String {
        """
          - { id: "get-${n}", forEach: { n: { captured: tasks.list.names } }, url: "\(server.url("/f"))/${n}", \
        to: "out/${n}"\(more) }

        """
    }

    @Test func tasksAreMadeOfWhatAnotherCaptured_andWhatNeedsThemWaits() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b", "c"]"#, files: ["a", "b", "c"])
        server.on("/done", .respond(200, body: "ok"))
        let stage = try Stage()
        let run = try stage.run(
            list(server) + get(server) + "  - { id: done, url: \"\(server.url("/done"))\", needs: [get-*] }\n")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try ["a", "b", "c"].map { try stage.text("out/\($0)") } == ["file a", "file b", "file c"])
        #expect(try run.value("$.totals.tasks") == "5" && run.value("$.totals.succeeded") == "5")
        let ids = try JSONPath("$.tasks[*].id").select(from: run.report).compactMap(\.plainText)
        #expect(ids == ["list", "done", "get-a", "get-b", "get-c"])
        #expect(run.errorText.contains("3 tasks of what `list` captured"), "\(run.errorText)")
        let events = run.events.compactMap { $0["event"]?.plainText }
        #expect(events.count { $0 == "expanded" } == 1 && events.count { $0 == "taskCreated" } == 6)
        #expect(server.requests("/done").count == 1)
    }

    /// Without the list nothing says what is extraneous.
    @Test func whereTheListIsLeftOut_soAreItsTasks_andTheirFilesStay() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b"]"#, files: ["a", "b", "fix"])
        let stage = try Stage()
        let job =
            "groups: { g: { to: out, extraneous: remove } }\n" + list(server)
            + get(server, ", group: g").replacing("to: \"out/", with: "to: \"x-")
            + "  - { id: fix, url: \"\(server.url("/f/fix"))\", to: fix, group: g }\n"
        #expect(try stage.run(job).status == 0)
        #expect(stage.files == ["out/", "out/fix", "out/x-a", "out/x-b"])
        let run = try stage.run(job, "--except", "list")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(
            run.errorText.contains(
                "warning: `get-${n}` is left out too: `--except` leaves out the task with the list"))
        #expect(stage.files == ["out/", "out/fix", "out/x-a", "out/x-b"])
    }

    @Test func anEmptyListIsAWarningAndNoTask() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, "[]")
        let run = try Stage().run(list(server) + get(server))
        #expect(run.status == 0 && run.errorText.contains("no task, for the list that `list` captured is empty"))
        #expect(try run.value("$.totals.tasks") == "1")
    }

    @Test func aTemplateWhoseSourceFailed_isSkippedInOneEntry() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(404))
        let run = try Stage().run(list(server) + get(server))
        #expect(run.status == 1)
        #expect(try run.value("$.totals.tasks") == "2" && run.value("$.totals.skipped") == "1")
        #expect(try run.task("get-${n}", "outcome") == "skipped")
        #expect(run.errorText.contains("1 was skipped") || run.errorText.contains("1 skipped"), "\(run.errorText)")
    }

    @Test func valuesThatClash_failTheTemplateAndMakeNoTask() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"[{"id": "a", "to": "x"}, {"id": "b", "to": "./x"}]"#)
        let stage = try Stage()
        let run = try stage.run(
            list(server) + """
                  - { id: "get-${n.id}", forEach: { n: { captured: tasks.list.names } }, url: "\(server.url("/f"))/a", \
                to: "out/${n.to}" }

                """)
        #expect(run.status == 1)
        #expect(try run.task("get-${n.id}", "error.name") == "expansionFailed")
        let message = try run.task("get-${n.id}", "error.message") ?? ""
        #expect(message.contains("`get-a` and `get-b` would both write"), "\(message)")
        #expect(server.requests("/f/a").isEmpty && stage.files.isEmpty)
    }

    @Test func aGroupFromTheNetwork_failsTheTemplate() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["site"]"#, files: ["z"])
        let run = try Stage().run(
            "groups: { site: { to: site } }\n" + list(server) + """
                  - { id: "get-${n.index}", group: "${n}", forEach: { n: { captured: tasks.list.names } }, \
                url: "\(server.url("/f/z"))", to: "${n.index}" }
                  - { id: z, group: site, url: "\(server.url("/f/z"))", to: z }

                """)
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("get-${n.index}", "error.name") == "expansionFailed")
        #expect(try run.value("$.groups[0].published") == "true")
    }

    /// Each fails the task that it belongs to, and no other.
    @Test func hostileValues_doNoMoreThanOtherCapturedOnes() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(
            server,
            #"""
            [{"u": "\#(server.url("/f/good"))", "t": "good"}, {"u": "file:///etc/passwd", "t": "passwd"},
             {"u": "\#(server.url("/f/good"))", "t": "../../escape"}, {"u": "x\r\nHost: evil", "t": "head"},
             {"u": "\#(server.url("/f/good"))", "t": "/abs/../../../name"}]
            """#, files: ["good"])
        let stage = try Stage()
        let run = try stage.run(
            list(server) + """
                  - { id: "get-${n.index}", forEach: { n: { captured: tasks.list.names } }, url: "${n.u}", to: "out/${n.t}" }

                """)
        #expect(run.status == 1)
        #expect(try run.value("$.totals.succeeded") == "2" && run.value("$.totals.failed") == "4", "\(run.errorText)")
        #expect(try run.task("get-2", "error.name") == "unsupportedURL")
        #expect(try run.task("get-3", "error.name") == "captureUnusable")
        #expect(try run.task("get-4", "error.name") == "captureUnusable")
        #expect(stage.files == ["out/", "out/good"], "\(stage.files)")
    }

    @Test func secretValuesAreMaskedWherever() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"[{"n": "one", "k": "very-secret-key"}]"#)
        server.on("/f/one", .respond(200, body: "very-secret-key is echoed"))
        let stage = try Stage()
        try stage.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", capture: { names: { json: "$[*]", all: true, secret: true } } }
              - { id: "get-${n.index}", forEach: { n: { captured: tasks.list.names } }, url: "\(server.url("/f/one"))", \
            headers: { X-Key: "${n.k}" } }
            """)
        let run = try stage.binary.run("run", "job.yaml", "--report", "r.json", "--events", "e.ndjson", "-v")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        #expect(server.requests("/f/one").first?.header("X-Key") == "very-secret-key")
        for text in [try stage.text("r.json"), try stage.text("e.ndjson"), run.errorText] {
            #expect(!text.contains("very-secret-key"))
        }
    }

    @Test func onlyAndExcept_takeTheTemplateByItsWrittenId() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a"]"#, files: ["a"])
        let job = list(server) + get(server) + "  - { id: other, url: \"\(server.url("/other"))\" }\n"
        let stage = try Stage()
        let run = try stage.run(job, "--only", "get-*")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.totals.tasks") == "2" && stage.text("out/a") == "file a")
        let without = try Stage().run(job, "--only", "list")
        #expect(try without.status == 0 && without.value("$.totals.tasks") == "1")
    }

    @Test func aGroupIsPublishedWithWhatItsTemplateBecame() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        serve(server, #"["a", "b"]"#, files: ["a", "b", "z"])
        let stage = try Stage()
        let job =
            "groups: { site: { to: site } }\n" + list(server) + """
                  - { id: "get-${n}", group: site, forEach: { n: { captured: tasks.list.names } }, \
                url: "\(server.url("/f"))/${n}", to: "${n.index}/${n}" }
                  - { id: z, group: site, url: "\(server.url("/f/z"))", to: z }
                  - { id: after, url: "\(server.url("/list"))", needs: [group.site] }

                """
        let run = try stage.run(job)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("site/1/a") == "file a" && stage.text("site/2/b") == "file b")
        #expect(try stage.text("site/z") == "file z" && run.value("$.groups[0].published") == "true")
    }
}
