import TestSupport
import Testing

/// Downloads whose `to` is a folder: the name comes from the answer or the URL.
@Suite struct FolderTests {
    @Test func theServerNamesTheFileInsideTheFolderOnly() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let disposition = [("Content-Disposition", "attachment; filename=\"../../evil.txt\"")]
        server.on("/named", .respond(200, headers: disposition, body: "named"))
        server.on("/dir/plain.bin", .respond(200, body: "plain"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: named, url: "\(server.url("/named"))", to: out/ }
              - { id: plain, url: "\(server.url("/dir/plain.bin"))", to: out/ }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("out/evil.txt") == "named")
        #expect(try stage.text("out/plain.bin") == "plain")
    }

    /// A name is whose file it is, not whose it was to be.
    @Test(arguments: [
        "checksum: \"sha256:\(String(repeating: "0", count: 64))\"", "expect: { body: { contains: no } }",
    ])
    func whoFailedHasNoName(_ why: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let disposition = [("Content-Disposition", "attachment; filename=same.txt")]
        server.on("/a", .respond(200, headers: disposition, body: "any"))
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { url: "\(server.url("/a"))", to: out/, retry: { attempts: 2, backoff: { initial: 1ms } } }
            tasks:
              - { id: first, \(why), allowFailure: true }
              - { id: second, needs: [first] }
              - { id: third, needs: [second], allowFailure: true }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("first", "outcome") == "failed" && run.task("second", "outcome") == "succeeded")
        #expect(try run.task("third", "error.name") == "nameTaken")
        #expect(try stage.text("out/same.txt") == "any")
    }

    @Test func twoTasksNeverSucceedWithOneFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let disposition = [("Content-Disposition", "attachment; filename=same.txt")]
        server.on("/first", .respond(200, headers: disposition, body: "first"))
        server.on("/second", .respond(200, headers: disposition, body: "second"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: first, url: "\(server.url("/first"))", to: out/ }
              - { id: second, needs: [first], url: "\(server.url("/second"))", to: out/ }
              - { id: fixed, url: "data:,fixed", to: out/fixed.txt }
            """)
        #expect(run.status == 1)
        #expect(try run.task("first", "outcome") == "succeeded")
        #expect(try run.task("second", "error.name") == "nameTaken")
        #expect(try stage.text("out/same.txt") == "first")
        #expect(try stage.text("out/fixed.txt") == "fixed")
    }

    /// What the job is made of and what the run writes is no task's file, whoever chose the name.
    @Test(arguments: ["job.yaml", ".report.json", ".events.ndjson", "secret", "secrets.env", "sent"])
    func noNameTakesAPlaceOfTheRun(_ name: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/name", .respond(200, body: "{\"name\": \"\(name)\"}"))
        server.on("/f", .respond(200, body: "theirs"))
        server.on("/sent", .respond(200))
        let stage = try Stage()
        for file in ["secret", "sent"] { try stage.folder.write(file, "mine") }
        try stage.folder.write("secrets.env", "other=mine")
        try stage.folder.link("link", to: ".")
        // What a task sends is known by its path alone: not through a link.
        let linked = name == "sent" ? "link/other" : "link/\(name)"
        let run = try stage.run(
            """
            secrets: { word: { file: secret } }
            tasks:
              - { id: name, url: "\(server.url("/name"))", capture: { name: { json: $.name } } }
              - { id: captured, url: "\(server.url("/f"))", to: "./${tasks.name.name}" }
              - { id: linked, url: "\(server.url("/f"))", onResponse: [{ do: download, to: \(linked) }] }
              - { id: ruled, url: "\(server.url("/f"))", onResponse: [{ do: download, to: \(name) }] }
              - id: sends
                url: "\(server.url("/sent"))"
                needs: [name]
                method: PUT
                body: { file: sent }
                headers: { X-Word: "${secret.word}" }
            """, "--secrets-file", stage.folder.path("secrets.env"))
        #expect(run.status == 1)
        let ids = name == "sent" ? ["captured", "ruled"] : ["captured", "linked", "ruled"]
        for id in ids { #expect(try run.task(id, "error.name") == "destinationExists", "\(id)") }
        #expect(try run.task("sends", "outcome") == "succeeded")
        if name == "secret" { #expect(try stage.text(name) == "mine") }
        #expect(try stage.text("job.yaml").hasPrefix("secrets:"))
    }

    /// One place by way of two paths: only who opens the folders sees it.
    @Test(arguments: ["link/a", "through/../a"]) func twoTasksNeverWriteOneFileByTwoPaths(_ path: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/first", .respond(200, body: "first"))
        server.on("/second", .respond(200, body: "second"))
        let stage = try Stage()
        try stage.folder.makeFolder("real/deep")
        try stage.folder.link("link", to: "real")
        try stage.folder.link("through", to: "real/deep")
        for old in [nil, "old"] {
            if let old { try stage.folder.write("real/a", old) } else { stage.folder.remove("real/a") }
            let run = try stage.run(
                """
                defaults: { existing: replace }
                tasks:
                  - { id: first, url: "\(server.url("/first"))", to: real/a }
                  - { id: second, needs: [first], url: "\(server.url("/second"))", to: \(path) }
                  - { id: other, url: "\(server.url("/second"))", to: link/b }
                """)
            #expect(run.status == 1)
            #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed", "succeeded"])
            #expect(try run.task("second", "error.name") == "destinationExists")
            #expect(try run.task("second", "error.message")?.contains("the file of the task `first`") == true)
            #expect(try stage.text("real/a") == "first" && stage.text("real/b") == "second")
        }
    }

    /// What `existing` protects is not fetched: the headers tell the name.
    @Test(arguments: ["skip", "fail"], ["named", "plain"]) func aProtectedFileEndsTheTransfer(
        _ existing: String, _ name: String
    ) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = Script.head(
            200,
            [("Content-Length", "100000000"), ("ETag", "\"v1\"")]
                + (name == "named" ? [("Content-Disposition", "attachment; filename=named")] : []))
        server.on("/plain", [.bytes(head), .pattern(count: 2 << 20), .stall])
        let stage = try Stage()
        try stage.folder.write("out/\(name)", "mine")
        let run = try stage.run(
            """
            defaults: { timeoutForRequest: 20s, retry: { attempts: 1 } }
            tasks: [{ id: a, url: "\(server.url("/plain"))", to: out/, existing: \(existing) }]
            """)
        #expect(try stage.text("out/\(name)") == "mine")
        #expect(stage.folder.list("out") == [name])
        #expect(run.status == (existing == "skip" ? 0 : 1))
        if existing == "skip" {
            #expect(try run.task("a", "source") == "unchanged" && run.task("a", "changed") == "false")
            #expect(try run.task("a", "file.path") == "out/\(name)" && run.task("a", "file.bytes") == "4")
        } else {
            #expect(try run.task("a", "error.name") == "destinationExists")
        }
    }

    /// A short body is there before anybody could look.
    @Test func aProtectedFileIsNoResultOfTheNetwork() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, body: "new"))
        let stage = try Stage()
        try stage.folder.write("out/a", "mine")
        let run = try stage.run(
            """
            defaults: { existing: skip, to: out/ }
            tasks:
              - { id: http, url: "\(server.url("/a"))" }
              - { id: fresh, url: "\(server.url("/a?b"))", to: other/ }
            """)
        #expect(try run.values("$.tasks[*].source") == ["unchanged", "network"])
        #expect(try run.values("$.tasks[*].changed") == ["false", "true"])
        #expect(try stage.text("out/a") == "mine" && stage.text("other/a") == "new")
    }

    @Test func aNameThatIsNoTextStaysAsItIsWritten() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/caf%e9%2F.txt", .respond(200, body: "latin"))
        let stage = try Stage()
        #expect(try stage.run("tasks: [{ id: a, url: '\(server.url("/caf%e9%2F.txt"))', to: out/ }]").status == 0)
        #expect(try stage.text("out/caf%e9%2F.txt") == "latin")
    }
}
