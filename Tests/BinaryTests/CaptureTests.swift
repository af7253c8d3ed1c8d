import TestSupport
import Testing
import TextFormats
import TransferModel

/// What a task takes from its answer and where another puts it.
@Suite struct CaptureTests {
    private static let json = [("Content-Type", "application/json")]

    /// The host stands in the job, so that the task queues there like any other: its attempt and its time begin with its
    /// turn.
    @Test func aTaskWithACapturedPathBeginsWithItsTurn() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, headers: Self.json, body: #"{"n": 7}"#))
        server.on("/long", [.gate("long")] + .respond(200, body: "x"))
        server.on("/late/7", .respond(200, body: "y"))
        let stage = try Stage()
        let program = try stage.start(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: list, url: "\(server.url("/list"))", capture: { n: { json: $.n } } }
              - { id: long, url: "\(server.url("/long"))", needs: [list], priority: 1 }
              - { id: late, url: "\(server.url("/late"))/${tasks.list.n}" }
            """)
        #expect(server.waitForRequests(1, "/long"))
        server.open(gate: "long")
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        let began = try #require(try run.task("late", "attempts[0].startedAt"))
        let ended = try #require(try run.task("long", "finishedAt"))
        #expect(began >= ended, "\(began) \(ended)")
        #expect(try run.value("$.sessions[0].hosts[0].tasks") == "3")
    }

    @Test func valuesComeFromHeadersJSONAndExpressions() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/make",
            .respond(201, headers: Self.json + [("X-Run", "r 1/2")], body: #"{"id": 7, "tags": ["a"]} etag=abc;"#))
        server.on("/make2", .respond(200, headers: Self.json, body: #"{"id": 7, "tags": ["a"], "n": {"v": "x"}}"#))
        server.on("/run/r%201/2", .respond(200, body: "ok"))
        server.on("/ids/7?q=r%201%2F2&w=abc", .respond(200, body: "ok"))
        server.on("/put", .respond(200, body: "ok"))
        let run = try Stage().run(
            """
            tasks:
              - id: one
                url: "\(server.url("/make"))"
                capture: { run: { header: x-run }, word: { regex: "etag=(\\\\w+)" } }
              - { id: two, url: "\(server.url("/make2"))", capture: { id: { json: $.id }, all: { json: $.tags } } }
              - { id: path, url: "\(server.url())run/${tasks.one.run}" }
              - id: query
                url: "\(server.url("/ids"))/${tasks.two.id}"
                query: { q: "${tasks.one.run}", w: "${tasks.one.word}" }
              - id: put
                url: "\(server.url("/put"))"
                headers: { X-A: "a ${tasks.one.word} z" }
                body: { json: { id: "${tasks.two.id}", text: "n${tasks.two.id}", all: "${tasks.two.all}" } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("one", "captures") == #"{"run":"r 1/2","word":"abc"}"#)
        #expect(try run.task("two", "captures") == #"{"id":7,"all":["a"]}"#)
        let put = try #require(server.requests("/put").first)
        #expect(put.header("X-A") == "a abc z")
        #expect(put.bodyText == #"{"id":7,"text":"n7","all":["a"]}"#)
        #expect(try run.task("path", "request.original.url") == server.url("/run/r%201/2"))
        #expect(server.requests("/ids/7?q=r%201%2F2&w=abc").count == 1)
    }

    /// Links as answers have them: relative ones are resolved against the answer, by `{ url }` or where they are the URL.
    @Test func relativeLinksLeadFromTheirAnswer() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = #"{"self": "../v1/me?x=1", "items": [{"href": "items/1"}, {"href": "/v2/2"}]}"#
        server.on("/v1/list", .respond(200, headers: Self.json, body: body))
        for path in ["/v1/me?x=1", "/v1/items/1", "/v2/2", "/base/v2/2"] { server.on(path, .respond(200, body: "ok")) }
        let run = try Stage().run(
            """
            tasks:
              - id: list
                url: "\(server.url("/v1/list"))"
                capture: { me: { url: $.self }, items: { json: "$.items[*]", all: true }, two: { json: "$.items[1].href" } }
              - { id: me, url: "${tasks.list.me}" }
              - { id: "item-${i.index}", forEach: { i: { captured: tasks.list.items } }, url: "${i.href}" }
              - { id: "row-${i.index}", forEach: { i: { json: { task: list, path: "$.items[*]" } } }, url: "${i.href}" }
              - { id: joined, url: "http://127.0.0.1:\(server.port)${tasks.list.two}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("me", "request.original.url") == server.url("/v1/me?x=1"))
        for task in ["item", "row"] {
            #expect(try run.task("\(task)-1", "request.original.url") == server.url("/v1/items/1"))
            #expect(try run.task("\(task)-2", "request.original.url") == server.url("/v2/2"))
        }
        #expect(try run.task("joined", "request.original.url") == server.url("/v2/2"))
    }

    /// Many rows that cannot stand where they are put are one failure, with the value and what to write.
    @Test func valuesThatCannotStandBehindAHostAreOneFailure() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(200, headers: Self.json, body: #"["a/1", "a/2", ".evil.test"]"#))
        let run = try Stage().run(
            """
            variables: { api: "http://127.0.0.1:\(server.port)" }
            tasks:
              - { id: list, url: "\(server.url("/list"))", capture: { items: { json: "$[*]", all: true } } }
              - { id: "item-${i.index}", forEach: { i: { captured: tasks.list.items } }, url: "${api}${i}" }
            """)
        #expect(run.status == 1)
        #expect(server.requests().count == 1)
        #expect(run.errorText.contains("3 tasks failed (captureUnusable)"), "\(run.errorText)")
        #expect(run.errorText.contains("its value is `a/1`") && run.errorText.contains("`url: ${item.href}`"))
    }

    @Test func aWholeURLIsTakenAsItIsAndFormsAndNamesAreFilled() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
        server.on(
            "/release",
            .respond(
                200, headers: Self.json,
                body: #"{"url": "\#(server.url("/files/a b?x=1&y=2"))", "name": "v1.txt", "sum": "sha256:\#(sum)"}"#))
        server.on("/files/a%20b?x=1&y=2", .respond(200, body: "foo"))
        server.on("/form", .respond(200, body: ""))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - id: release
                url: "\(server.url("/release"))"
                capture: { url: { json: $.url }, name: { json: $.name }, sum: { json: $.sum } }
              - id: file
                url: ${tasks.release.url}
                to: out/${tasks.release.name}
                checksum: ${tasks.release.sum}
              - { id: form, url: "\(server.url("/form"))", body: { form: { a: "&${tasks.release.name}=" } } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/v1.txt") == "foo")
        #expect(try run.task("file", "file.checksum") == "sha256:\(sum)")
        #expect(server.requests("/form").first?.bodyText == "a=%26v1.txt%3D")
    }

    /// What came from the network must not lead out of the folder that the job names: a link is replaced, not followed.
    @Test func aLinkOfACapturedNameIsReplaced() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/name", .respond(200, headers: Self.json, body: #"{"name": "file", "odd": "null"}"#))
        server.on("/f", .respond(200, body: "new"))
        let stage = try Stage()
        try stage.folder.makeFolder("out")
        try stage.folder.write("outside", "secret")
        try stage.folder.link("out/file", to: "../outside")
        try stage.folder.link("out/null", to: "/dev/null")
        let run = try stage.run(
            """
            tasks:
              - { id: n, url: "\(server.url("/name"))", capture: { name: { json: $.name }, odd: { json: $.odd } } }
              - { id: a, url: "\(server.url("/f"))", to: "out/${tasks.n.name}" }
              - { id: b, url: "\(server.url("/f"))", to: "out/${tasks.n.odd}" }
            """)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "failed"])
        #expect(try stage.text("outside") == "secret" && stage.text("out/file") == "new")
        #expect(stage.files == ["out/", "out/file", "out/null@", "outside"])
        #expect(try run.task("b", "error.message")?.contains("a device, pipe or socket") == true)
    }

    @Test func whatCannotStandSomewhereFailsTheTaskThere() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/bad",
            .respond(
                200, headers: Self.json,
                body:
                    #"{"lines": "a\r\nX-Evil: 1", "up": "x/../../evil", "dots": "..", "file": "file:///etc/passwd", "host": "evil.example/", "empty": "", "link": "l/x"}"#
            ))
        let stage = try Stage()
        try stage.folder.makeFolder("out")
        try stage.folder.makeFolder("elsewhere")
        try stage.folder.link("out/l", to: "../elsewhere")
        let names = ["lines", "up", "dots", "file", "host", "empty", "link"]
        let capture = names.map { "\($0): { json: $.\($0) }" }.joined(separator: ", ")
        let base = server.url()
        let run = try stage.run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: source, url: "\(base)bad", capture: { \(capture) } }
              - { id: header, url: "\(base)x", headers: { X: "${tasks.source.lines}" } }
              - { id: url, url: "\(base)x/${tasks.source.lines}" }
              - { id: dots, url: "\(base)x/${tasks.source.dots}/y" }
              - { id: folder, url: "\(base)x", to: "out/${tasks.source.up}" }
              - { id: name, url: "\(base)x", to: "out/a${tasks.source.up}" }
              - { id: newline, url: "\(base)x", to: "out/${tasks.source.lines}" }
              - { id: nameless, url: "\(base)x", to: "out/${tasks.source.empty}" }
              - { id: link, url: "\(base)x", to: "out/${tasks.source.link}" }
              - { id: file, url: "${tasks.source.file}" }
              - { id: host, url: "http://${tasks.source.host}:80/x" }
              - { id: sum, url: "\(base)x", to: sum, checksum: "${tasks.source.up}" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("source", "outcome") == "succeeded")
        for id in ["header", "url", "dots", "folder", "name", "newline", "nameless", "link", "host", "sum"] {
            #expect(try run.task(id, "error.name") == "captureUnusable", "\(id)")
        }
        #expect(try run.task("file", "error.name") == "unsupportedURL")
        #expect(try run.task("host", "attempts[0].error.name") == "captureUnusable")
        #expect(run.story(of: "host").suffix(3) == ["attemptStarted", "attemptFinished", "taskFinished"])
        #expect(try run.task("header", "error.message")?.contains("control character") == true)
        #expect(server.requests().count == 1, "nothing of it was asked for")
        #expect(stage.files == ["elsewhere/", "out/", "out/l@"])
    }

    /// Whoever knows what stands between the parts can write some of his own.
    @Test(arguments: ["contentType", "header"]) func noCaptureChoosesABoundary(_ place: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let types = #"{"bad": "form-data; boundary=evil", "good": "mixed"}"#
        server.on("/s", .respond(200, headers: Self.json, body: types))
        server.on("/x", .respond(200, body: "ok"))
        func task(_ name: String) -> String {
            let type = "\"multipart/${tasks.s.\(name)}\""
            let said = place == "header" ? "headers: { Content-Type: \(type) }" : "contentType: \(type)"
            let body = "body: { multipart: [{ name: n, data: v }] }"
            return "- { id: \(name), url: \"\(server.url("/x"))\", \(said), \(body) }"
        }
        let run = try Stage().run(
            """
            tasks:
              - { id: s, url: "\(server.url("/s"))", capture: { bad: { json: $.bad }, good: { json: $.good } } }
              \(task("bad"))
              \(task("good"))
            """)
        #expect(run.status == 1)
        #expect(try run.task("bad", "error.name") == "captureUnusable")
        #expect(try run.task("good", "outcome") == "succeeded")
        #expect(server.requests("/x").count == 1)
        #expect(server.requests("/x").first?.header("Content-Type")?.hasPrefix("multipart/mixed; boundary=") == true)
    }

    @Test func whatIsNotThereFailsTheTaskThatWantsIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: Self.json, body: #"{"ids": [1, 2], "none": null}"#))
        server.on("/text", .respond(200, body: "no JSON"))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: header, url: "\(server.url("/a"))", capture: { v: { header: X-Not } } }
              - { id: path, url: "\(server.url("/a"))", capture: { v: { json: "$.ids[*]" }, w: { json: $.x } } }
              - { id: nothing, url: "\(server.url("/a"))", capture: { v: { json: $.none } } }
              - { id: group, url: "\(server.url("/a"))", capture: { v: { regex: "ids|(x)" } } }
              - { id: regex, url: "\(server.url("/a"))", capture: { v: { regex: "zzz" } } }
              - { id: text, url: "\(server.url("/text"))", capture: { v: { json: $.a } } }
              - { id: after, url: "\(server.url("/a"))", headers: { X: "${tasks.text.v}" } }
              - { id: asks, url: "\(server.url("/a"))?k=${tasks.text.v}", query: { q: "1", r: "2" } }
            """)
        #expect(run.status == 0)
        #expect(try run.task("asks", "request.original.url") == "\(server.url("/a"))?k=${tasks.text.v}&q=1&r=2")
        let messages = [
            "header": "the answer has no header `x-not`",
            "path": "`v` was not captured: `$.ids[*]` leads to 2 values, where one is wanted; "
                + "`w` was not captured: `$.x` leads to nothing; the body has the keys `ids`, `none`",
            "nothing": "leads to null", "group": "the first group", "regex": "`zzz` matches nothing",
            "text": "the body is no JSON",
        ]
        for (id, words) in messages {
            #expect(try run.task(id, "error.name") == "captureNotFound", "\(id)")
            #expect(try run.task(id, "error.message")?.contains(words) == true, "\(id)")
        }
        #expect(try run.task("after", "error.name") == "dependencyFailed")
        #expect(try run.task("after", "error.message")?.contains("`text` did not run or succeed") == true)
        #expect(try run.task("after", "captures") == "{}")
    }

    /// Half of a character in a body is no reason not to take the rest of it.
    @Test func halfACharacterIsNotTaken() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let body = #"{"half": "a\ud83d", "list": ["\ud83d"], "whole": "\ud83d\ude00", "mark": "a\ufffd"}"#
            .replacing("\\\\", with: "\\")
        server.on("/a", .respond(200, headers: Self.json, body: body))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true, url: "\(server.url("/a"))" }
            tasks:
              - { id: half, capture: { v: { json: $.half } } }
              - { id: list, capture: { v: { json: $.list } } }
              - { id: whole, capture: { v: { json: $.whole }, w: { json: $.mark } } }
              - { id: same, expect: { body: { json: { $.half: "a\u{FFFD}" } } } }
              - { id: mark, expect: { body: { json: { $.mark: "a\u{FFFD}" } } } }
            """)
        for id in ["half", "list"] {
            #expect(try run.task(id, "error.name") == "captureUnusable", "\(id)")
            #expect(try run.task(id, "error.message")?.contains("half of a character") == true, "\(id)")
        }
        #expect(try run.task("whole", "captures.v") == "😀" && run.task("whole", "captures.w") == "a\u{FFFD}")
        #expect(try run.task("same", "outcome") == "failed" && run.task("mark", "outcome") == "succeeded")
    }

    /// What is no text is not made one behind anybody's back.
    @Test func whatIsNoTextIsNotTaken() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Name: caf".utf8) + [0xE9]
        server.on("/a", Script([.bytes(head + Array("\r\n\r\nv=x".utf8) + [0xE9] + Array("yz".utf8))]))
        let run = try Stage().run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: header, url: "\(server.url("/a"))", capture: { v: { header: X-Name } } }
              - { id: secret, url: "\(server.url("/a"))", capture: { v: { header: X-Name, secret: true } } }
              - { id: regex, url: "\(server.url("/a"))", capture: { v: { regex: "v=(.*)" }, w: { header: X-Not } } }
              - { id: after, url: "\(server.url("/b"))/${tasks.header.v}" }
            """)
        #expect(run.status == 0)
        for id in ["header", "secret"] {
            #expect(try run.task(id, "error.name") == "captureUnusable")
            #expect(try run.task(id, "error.message")?.contains("`x-name` is not UTF-8 text") == true)
        }
        #expect(try run.values("$.tasks[1].response.headers[*][1]") == ["6", "***"])
        #expect(server.requests("/b").isEmpty)
    }

    @Test func theFinalAnswerCounts() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/flaky", .respond(503, headers: [("X-V", "old")], body: "wait"),
            .respond(200, headers: [("X-V", "new")], body: "done"))
        server.on("/jump", .respond(302, headers: [("Location", "/flaky"), ("X-V", "hop")], body: ""))
        server.on("/use/new", .respond(200, body: "ok"))
        let run = try Stage().run(
            """
            sessions: { default: { retry: { backoff: { initial: 10ms } } } }
            tasks:
              - { id: a, url: "\(server.url("/jump"))", capture: { v: { header: X-V } } }
              - { id: b, url: "\(server.url())use/${tasks.a.v}" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "captures.v") == "new")
    }

    @Test func aDownloadIsLookedIntoBeforeItGetsItsName() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list.json", .respond(200, headers: Self.json + [("X-V", "1")], body: #"{"next": "/two"}"#))
        server.on("/two", .respond(200, body: "second"))
        let stage = try Stage()
        let job = """
            tasks:
              - id: list
                url: "\(server.url("/list.json"))"
                to: list.json
                capture: { next: { json: $.next }, v: { header: X-V } }
              - { id: two, url: "\(server.origin)${raw:tasks.list.next}", to: "two-${tasks.list.v}" }
            """
        let run = try stage.run(job)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("two-1") == "second")
        // It asks again: what is captured comes out of an answer.
        let again = try stage.run(job)
        #expect(again.status == 0)
        #expect(server.requests("/list.json").count == 2)
        #expect(try again.task("list", "changed") == "false")
        server.on("/list.json", .respond(200, headers: Self.json + [("X-V", "1")], body: "{}"))
        let broken = try stage.run(job)
        #expect(broken.status == 1)
        #expect(try broken.task("list", "error.name") == "captureNotFound")
        #expect(try broken.task("two", "outcome") == "skipped")
        #expect(try stage.text("list.json") == #"{"next": "/two"}"#, "the old file stays")
    }

    @Test func mirrorsAndSessionsOfOneConnectionTakeLateURLs() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .respond(200, headers: [("X-P", "there")], body: ""))
        server.on("/gone/there", .respond(404))
        server.on("/here/there", .respond(200, body: "found"))
        let lines = (0..<20).map {
            "  - { id: t\($0), urls: ['\(server.url())gone/${tasks.a.p}', '\(server.url())here/${tasks.a.p}'], to: f\($0) }"
        }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 1 } }
            tasks:
              - { id: a, url: "\(server.url("/a"))", capture: { p: { header: X-P } } }
            \(lines.joined(separator: "\n"))
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("f19") == "found")
        #expect(server.peakConnections == 1)
    }

    @Test func charsetsAreReadAndUnknownOnesNamed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        func text(_ charset: String, _ bytes: [UInt8]) -> Script {
            .respond(200, headers: [("Content-Type", "text/plain; charset=\(charset)")], body: bytes)
        }
        server.on("/latin", text("ISO-8859-1", [0x67, 0x72, 0xFC, 0xDF, 0x65]))
        server.on("/utf16", .respond(200, body: [0xFF, 0xFE, 0x67, 0, 0x72, 0, 0xFC, 0, 0xDF, 0, 0x65, 0]))
        server.on("/odd", text("shift_jis", [0x83, 0x41]))
        let run = try Stage().run(
            """
            defaults: { expect: { body: { contains: grüße } }, capture: { v: { regex: "gr(..)e" } }, allowFailure: true }
            tasks:
              - { id: latin, url: "\(server.url("/latin"))" }
              - { id: utf16, url: "\(server.url("/utf16"))" }
              - { id: odd, url: "\(server.url("/odd"))" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("latin", "captures.v") == "üß")
        #expect(try run.task("latin", "body.base64") == "Z3L832U=")
        #expect(try run.task("utf16", "captures.v") == "üß")
        #expect(try run.task("odd", "error.message")?.contains("shift_jis") == true)
    }
}
