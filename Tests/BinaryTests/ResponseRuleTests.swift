import TestSupport
import Testing
import TextFormats
import TransferModel

/// `onResponse`: what becomes of an answer is decided at its headers.
@Suite struct ResponseRuleTests {
    @Test func cancelEndsTheTaskBeforeTheBody() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/big", .headOnly(200, headers: [("Content-Type", "video/mp4")], length: 1 << 30) + [.stall])
        server.on("/late", .respond(503, body: "later"))
        let run = try Stage().run(
            """
            tasks:
              - { id: big, url: "\(server.url("/big"))", onResponse: [{ mimeType: "video/*", do: cancel }] }
              - { id: file, url: "\(server.url("/big"))", to: f, onResponse: [{ largerThan: 1MiB, do: cancel }] }
              - { id: late, url: "\(server.url("/late"))", onResponse: [{ status: 503, do: cancel }] }
              - { id: after, needs: [late], url: "\(server.url("/late"))" }
            """)
        #expect(run.status == 1)
        for id in ["big", "file", "late"] {
            #expect(try run.task(id, "outcome") == "cancelled", "\(id)")
            #expect(try run.task(id, "error.name") == "cancelled")
            #expect(run.story(of: id).contains("response"))
        }
        #expect(try run.task("big", "error.message")?.contains("of type video/mp4") == true)
        #expect(
            try run.task("late", "explanation")
                == "Cancelled: a rule of `onResponse` cancels an answer with status 503. "
                + "Change that rule if such an answer is welcome.")
        #expect(try run.task("after", "outcome") == "skipped")
        #expect(try run.task("after", "error.message") == "`late`, which it needs, was cancelled")
        #expect(server.requests("/late").count == 1, "no rule is tried again")
    }

    @Test func theFirstRuleThatMatchesDecides() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("Content-Type", "text/plain")], body: "text"))
        let stage = try Stage()
        let rules = "[{ mimeType: image/*, do: cancel }, { mimeType: text/*, do: allow }, { do: cancel }]"
        let run = try stage.run("tasks: [{ id: a, url: '\(server.url("/a"))', onResponse: \(rules) }]")
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "text")
    }

    @Test func aDataTaskBecomesADownload() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 20 << 20
        server.on("/big", .respond(200, headers: [("Content-Type", "application/x-big")], patternOf: size))
        server.on(
            "/named",
            .respond(200, headers: [("Content-Disposition", "attachment; filename=\"../x.bin\"")], body: "named"))
        server.on("/gone", .respond(404, body: "no such thing"))
        server.on("/text", .respond(200, headers: [("Content-Type", "text/plain")], body: "inline"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { onResponse: [{ mimeType: text/*, do: allow }, { largerThan: 1MiB, do: download, to: big.bin }, { do: download, to: in/ }] }
            tasks:
              - { id: big, url: "\(server.url("/big"))" }
              - { id: named, url: "\(server.url("/named"))" }
              - { id: gone, allowFailure: true, url: "\(server.url("/gone"))" }
              - { id: text, url: "\(server.url("/text"))" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("big.bin") == Script.patternBytes(size))
        #expect(try stage.text("in/x.bin") == "named")
        #expect(stage.files == ["big.bin", "in/", "in/x.bin"])
        #expect(try run.task("big", "becameDownload") == "true")
        #expect(try run.task("big", "type") == "data")
        #expect(try run.task("big", "body") == nil)
        #expect(try run.task("big", "file.path") == "big.bin")
        #expect(try run.task("big", "changed") == "true")
        let story = run.story(of: "big")
        let response = try #require(story.firstIndex(of: "response"))
        #expect(story[response + 1] == "becameDownload")
        #expect(story.contains("fileFinished"))
        #expect(try run.task("gone", "body.text") == "no such thing")
        #expect(try run.task("gone", "becameDownload") == "false")
        #expect(try run.task("text", "body.text") == "inline")
    }

    @Test func whatBreaksOffLeavesNoFileAndBeginsAnew() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\nETag: \"1\"\r\n\r\n"
        server.on("/a", [.send(head), .pattern(count: 200_000), .cut], .respond(200, patternOf: 300_000))
        server.on("/never", [.send(head), .pattern(count: 200_000), .cut])
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { retry: { attempts: 2, backoff: { initial: 10ms } } } }
            defaults: { onResponse: [{ do: download, to: f/ }], allowFailure: true }
            tasks: [{ id: a, url: "\(server.url("/a"))" }, { id: never, url: "\(server.url("/never"))" }]
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.folder.bytes("f/a") == Script.patternBytes(300_000))
        #expect(try run.task("never", "outcome") == "failed")
        #expect(stage.files == ["f/", "f/a"])
        #expect(server.requests("/a").allSatisfy { $0.header("Range") == nil })
    }

    @Test func aPackedAnswerIsWrittenUnpackedAndTwoTasksNeverShareAFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("Content-Encoding", "gzip")], body: Encoder.gzip(Array("plain".utf8))))
        server.on("/b", .respond(200, body: "b"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", onResponse: [{ do: download, to: same }] }
              - { id: b, needs: [a], url: "\(server.url("/b"))", onResponse: [{ do: download, to: same }] }
            """)
        #expect(run.status == 1)
        #expect(try stage.text("same") == "plain")
        #expect(try run.task("b", "error.name") == "destinationExists")
    }

    /// The rule's path is the job's own word, as a task's `to` is.
    @Test func aRulesLinkMeansTheFileItLeadsTo() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "new") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("real")
        try stage.folder.write("real/a", "old")
        try stage.folder.write("source", "local")
        for (name, end) in [("a", "real/a"), ("b", "real/b"), ("c", "real/c"), ("null", "/dev/null")] {
            try stage.folder.link(name, to: end)
        }
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", onResponse: [{ do: download, to: a }] }
              - { id: b, url: "\(server.url("/b"))", to: other, onResponse: [{ do: download, to: b }] }
              - { id: c, url: "file://\(stage.folder.path("source"))", onResponse: [{ do: download, to: c }] }
              - { id: d, url: "\(server.url("/d"))", onResponse: [{ do: download, to: "null" }] }
              - { id: e, url: "data:,x", onResponse: [{ do: download, to: "null" }] }
              - { id: f, url: "\(server.url("/f"))", needs: [a], onResponse: [{ do: download, to: real/a }] }
            """)
        #expect(run.status == 1)
        #expect(
            try run.values("$.tasks[*].outcome")
                == ["succeeded", "succeeded", "succeeded", "failed", "failed", "failed"])
        #expect(
            stage.files == ["a@", "b@", "c@", "null@", "real/", "real/a", "real/b", "real/c", "source"])
        #expect(try stage.text("real/a") == "new" && stage.text("real/b") == "new" && stage.text("real/c") == "local")
        #expect(try run.task("a", "file.path") == "real/a")
        for id in ["d", "e"] {
            #expect(try run.task(id, "error.message")?.contains("a device, pipe or socket") == true)
            #expect(try run.task(id, "attempts[*].number") == "1")
        }
        #expect(try run.task("f", "error.name") == "destinationExists")
    }

    @Test func aDownloadGoesElsewhereByRule() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("Content-Type", "image/png")], body: "picture"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: text, onResponse: [{ mimeType: image/*, do: download, to: pictures/ }] }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["pictures/", "pictures/a"])
        #expect(!run.story(of: "a").contains("becameDownload"))
    }
}
