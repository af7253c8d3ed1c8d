import Glibc
import TestSupport
import Testing
import TextFormats

/// `when`: tasks that report, clean up or call a webhook at the end, and what they may say of the run.
@Suite struct WhenTests {
    private static let json = [("Content-Type", "application/json")]

    private func hook(_ server: ScriptedServer, _ when: String, _ more: String = "") -> String {
        """
          - id: notify
            when: \(when)
            needs: ["*"]
            url: \(server.url("/hook"))
            headers: { X-Outcome: "${run.outcome}" }
            body: { json: { outcome: "${run.outcome}", failed: "${run.failed}", a: "${tasks.a.outcome}", why: "${tasks.a.error}" } }
        \(more)

        """
    }

    private func get(_ server: ScriptedServer, _ id: String, _ more: String = "") -> String {
        "  - { id: \(id), url: \"\(server.url("/\(id)"))\"\(more) }\n"
    }

    private func hookBody(_ server: ScriptedServer) throws -> JSONValue {
        let request = try #require(server.requests("/hook").first)
        return try JSONParser.parse(request.body)
    }

    @Test func aFailure_isToldByAWebhook_andTheRunFailsAsEver() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(404))
        server.on("/b", .respond(200, body: "b"))
        server.on("/hook", .respond(204))
        let stage = try Stage()
        let run = try stage.run("tasks:\n" + get(server, "a") + get(server, "b") + hook(server, "failed"))
        #expect(run.status == 1, "\(run.errorText)")
        let body = try hookBody(server)
        #expect(body["outcome"]?.plainText == "failed" && body["a"]?.plainText == "failed")
        #expect(body["failed"] == .number("1"), "a count stays a number")
        #expect(try body["why"]?.plainText == run.task("a", "error.message"))
        #expect(server.requests("/hook").first?.header("X-Outcome") == "failed")
        #expect(try run.task("notify", "outcome") == "succeeded")
    }

    @Test func nothingFailed_soItIsSkippedWithoutHarm() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "a"))
        let stage = try Stage()
        let run = try stage.run(
            "tasks:\n" + get(server, "a") + hook(server, "failed")
                + "  - { id: after, when: succeeded, needs: [notify], url: \"\(server.url("/after"))\" }\n",
            "--failed-list", "failed")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("notify", "outcome") == "skipped" && run.value("$.totals.skipped") == "2")
        #expect(try run.task("notify", "error") == nil)
        #expect(
            try run.task("notify", "explanation")
                == "Skipped: its `when: failed` is not met: nothing that it needs failed.")
        #expect(
            try run.task("after", "explanation")
                == "Skipped: its `when: succeeded` is not met: `notify`, which it needs, was skipped.")
        #expect(try run.value("$.outcome") == "succeeded")
        #expect(try stage.text("failed") == "")
        #expect(server.requests().map(\.target) == ["/a"])
    }

    @Test func finished_saysSucceeded_andHasNoError() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "a"))
        server.on("/hook", .respond(204))
        let run = try Stage().run("tasks:\n" + get(server, "a") + hook(server, "finished"))
        #expect(run.status == 0, "\(run.errorText)")
        let body = try hookBody(server)
        #expect(body["outcome"]?.plainText == "succeeded" && body["failed"] == .number("0"))
        #expect(body["why"] == .null)
    }

    @Test func afterFailFast_itStillRuns() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(404))
        server.on("/hook", .respond(204))
        let run = try Stage().run(
            "failFast: true\ntasks:\n" + get(server, "a") + get(server, "b", ", needs: [c]")
                + get(server, "c", ", earliestBegin: 1h") + hook(server, "finished"))
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("c", "outcome") == "cancelled" && run.task("notify", "outcome") == "succeeded")
        #expect(try hookBody(server)["failed"] == .number("1"))
    }

    @Test func afterASignal_itDoesNot() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.stall])
        let stage = try Stage()
        let program = try stage.start("tasks:\n" + get(server, "a") + hook(server, "finished"))
        #expect(server.waitForRequests(1, "/a"))
        program.send(signal: SIGTERM)
        let run = try stage.finish(program)
        #expect(run.status == 143)
        #expect(try run.task("notify", "outcome") == "cancelled")
        #expect(server.requests("/hook").isEmpty)
    }

    @Test func itsOwnFailure_failsTheRun() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "a"))
        server.on("/hook", .respond(500))
        let run = try Stage().run(
            "tasks:\n" + get(server, "a") + hook(server, "finished", "    retry: { attempts: 1 }"))
        #expect(run.status == 1)
        #expect(try run.task("notify", "outcome") == "failed")
    }

    /// What a server says is text: it adds no header, no JSON, and no secret.
    @Test func anErrorsText_isOneLineWithoutSecrets() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: Self.json, body: #"{"v": "x\" s3cret \r\nX-Evil: 1"}"#))
        server.on("/hook", .respond(204))
        let job = """
            tasks:
              - { id: a, url: "\(server.url("/a"))", headers: { X: "${secret.S}" }, expect: { body: { json: { $.v: y } } } }
              - id: notify
                when: failed
                needs: [a]
                url: "\(server.url("/hook"))?why=${tasks.a.error}"
                headers: { X-Why: "${tasks.a.error}" }
                body: { json: { text: "it said ${tasks.a.error}" } }

            """
        let run = try Stage().run(job, environment: ["S": "s3cret"])
        #expect(run.status == 1, "\(run.errorText)")
        #expect(try run.task("notify", "outcome") == "succeeded", "\(run.errorText)")
        let request = try #require(server.requests("/hook").first)
        #expect(request.header("X-Evil") == nil)
        let why = try #require(request.header("X-Why"))
        #expect(why.contains("***") && !why.contains("s3cret"))
        #expect(!request.target.contains("s3cret"))
        let text = try JSONParser.parse(request.body)["text"]?.plainText
        #expect(text?.hasPrefix("it said ") == true && text?.contains("s3cret") == false)
    }

    /// Tasks that a template becomes count under `"*"`, though they are not there when the run begins.
    @Test func tasksOfATemplate_areWaitedFor() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, headers: Self.json, body: #"["x", "y"]"#))
        server.on("/f/x", .respond(200, body: "x"))
        server.on("/f/y", .respond(404))
        server.on("/hook", .respond(204))
        let job = """
            tasks:
              - { id: list, url: "\(server.url("/list"))", capture: { names: { json: "$[*]", all: true } } }
              - { id: "get-${n}", forEach: { n: { captured: tasks.list.names } }, url: "\(server.url("/f"))/${n}" }
              - { id: notify, when: failed, needs: ["*"], url: "\(server.url("/hook"))?failed=${run.failed}" }

            """
        let run = try Stage().run(job)
        #expect(run.status == 1, "\(run.errorText)")
        #expect(server.requests("/hook").map(\.target) == ["/hook?failed=1"])
    }

    @Test func whatNeedsAnotherProcess_isRefused() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = """
            sessions:
              day: {}
              night: { configuration: background, identifier: org.example.when }

            """
        let run = try BackgroundScene().stage.run(
            head + "tasks:\n" + get(server, "a", ", session: night")
                + "  - { id: notify, session: day, when: finished, needs: [\"*\"], url: \"\(server.url("/hook"))\" }\n")
        #expect(run.status == 2 && run.errorText.contains("when-across-sessions"), "\(run.errorText)")
        #expect(run.errorText.contains("`notify` has a `when` and needs `a`, which another process carries"))
        #expect(server.requests().isEmpty)
    }

    /// In a background session the values are those of the whole run, also when its process was killed between.
    @Test(arguments: [nil, SIGKILL]) func inTheBackground_itKnowsWhatAnEarlierProcessSaw(_ signal: Int32?) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(404))
        server.on("/b") { request in signal != nil && request.number == 1 ? [.stall] : .respond(200, body: "b") }
        server.on("/hook", .respond(204))
        let job =
            BackgroundScene.head() + "tasks:\n" + get(server, "a") + get(server, "b")
                + """
                  - id: notify
                    when: finished
                    needs: ["*"]
                    url: "\(server.url("/hook"))?outcome=${run.outcome}&failed=${run.failed}&a=${tasks.a.outcome}&why=${tasks.a.error}"

                """
        let scene = try BackgroundScene()
        let program = try scene.stage.start(job)
        if let signal {
            #expect(server.waitForRequests(1, "/b"))
            #expect(scene.waitForEnd(of: "a"))
            #expect(scene.end(signal))
        }
        let run = try scene.stage.finish(program)
        #expect(run.status == 1, "\(run.errorText)")
        let target = try #require(server.requests("/hook").first?.target)
        #expect(target.hasPrefix("/hook?outcome=failed&failed=1&a=failed&why="), "\(target)")
        #expect(target.contains("404"), "\(target)")
        #expect(server.requests("/a").count == 1 && server.requests("/hook").count == 1)
    }
}
