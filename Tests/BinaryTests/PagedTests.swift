import Glibc
import TestSupport
import Testing
import TextFormats

/// `next`: one task, many pages.
@Suite struct PagedTests {
    private static let json = [("Content-Type", "application/json")]

    private func page(_ body: String, next: String? = nil, status: Int = 200) -> Script {
        .respond(status, headers: Self.json + (next.map { [("Link", "<\($0)>; rel=\"next\"")] } ?? []), body: body)
    }

    private func numbers(_ run: Stage.Run, _ task: String = "list") throws -> [String?] {
        try run.values("$.tasks[?@.id=='\(task)'].pages[*].number")
    }

    private func job(_ server: ScriptedServer, _ keys: String, more: String = "") -> String {
        "tasks:\n  - { id: list, url: \"\(server.url("/p1"))\", \(keys) }\n\(more)"
    }

    // MARK: Where the next page is

    @Test func aLinkHeader_leadsFromPageToPage() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(#"["a"]"#, next: "p2?x=1"))
        server.on("/p2", page(#"["b"]"#, next: "/deep/p3"))
        server.on("/deep/p3", page(#"["c"]"#))
        let run = try Stage().run(job(server, "next: { link: next }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p2?x=1", "/deep/p3"])
        #expect(try numbers(run) == ["1", "2", "3"])
        #expect(try run.values("$.tasks[0].pages[*].body.text") == [#"["a"]"#, #"["b"]"#, #"["c"]"#])
        #expect(try run.values("$.tasks[0].pages[*].status") == ["200", "200", "200"])
        #expect(try run.value("$.tasks[0].pages[2].url") == server.url("/deep/p3"))
        #expect(try run.task("list", "body.text") == #"["c"]"#)
        #expect(try run.value("$.totals.attempts") == "1" && run.value("$.totals.retries") == "0")
        #expect(try run.values("$.tasks[0].attempts[0].transactions[*].request.url").count == 3)
        #expect(run.story(of: "list").filter { $0 == "pageFinished" }.count == 3)
    }

    @Test func aTaskThatBroughtOnePage_saysSo() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("[]"))
        let run = try Stage().run(job(server, "next: { link: next }"))
        let line = try #require(run.errorText.split(separator: "\n").first { $0.hasPrefix("ok ") })
        #expect(line.hasSuffix("  1 page"), "\(line)")
    }

    /// The size is that of all pages, whether they are kept as files or not.
    @Test(arguments: ["", ", to: \"p${page}\""])
    func theSizeIsThatOfAllPages(_ to: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(String(repeating: "a", count: 300), next: "p2"))
        server.on("/p2", page(String(repeating: "b", count: 200)))
        let run = try Stage().run(job(server, "next: { link: next }\(to)"))
        let line = try #require(run.errorText.split(separator: "\n").first { $0.hasPrefix("ok ") })
        #expect(line.contains("  500 B  ") && line.hasSuffix("  2 pages"), "\(line)")
    }

    @Test(arguments: [
        ("{ json: $.next }", #"{"next": "/p2"}"#, #"{"next": null}"#),
        ("{ json: $.links.next }", #"{"links": {"next": "p2"}}"#, #"{"links": {}}"#),
        ("{ json: $.next }", #"{"next": "/p2"}"#, #"{"next": false}"#),
    ]) func aJSONPath_namesTheNextPage(_ next: String, _ first: String, _ last: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(first))
        server.on("/p2", page(last))
        let run = try Stage().run(job(server, "next: \(next)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p2"])
    }

    @Test func aHeader_namesTheNextPage_andAnEmptyOneIsTheEnd() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", .respond(200, headers: [("X-Next", "/p2")], body: "1"))
        server.on("/p2", .respond(200, headers: [("X-Next", "")], body: "2"))
        let run = try Stage().run(job(server, "next: { header: X-Next }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try numbers(run) == ["1", "2"])
    }

    @Test func aNextThatIsNoURL_fails() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(#"{"next": {"page": 2}}"#))
        let run = try Stage().run(job(server, "next: { json: $.next }"))
        #expect(run.status == 1)
        #expect(
            try run.task("list", "error.message")?.hasPrefix("the next page was not found: `$.next` leads to ") == true)
    }

    /// A cursor is a query parameter of the first URL; none, or an empty one, is the end.
    @Test(
        arguments: [
            ("{ json: $.next, query: after }", #"{"next": "x y/z"}"#, #"{"next": ""}"#, nil),
            ("{ json: $.next, query: after }", #"{"next": "x y/z"}"#, "{}", nil),
            ("{ header: X-Next, query: after }", "1", "2", "x y/z"),
        ] as [(String, String, String, String?)])
    func aCursor_isAParameterOfTheFirstURL(_ next: String, _ first: String, _ last: String, _ header: String?) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", .respond(200, headers: header.map { [("X-Next", $0)] } ?? [], body: first))
        server.on("/p1?after=x%20y%2Fz", .respond(200, body: last))
        let run = try Stage().run(job(server, "next: \(next)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p1?after=x%20y%2Fz"])
    }

    @Test func aCursorThatComesAgain_isALoop() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(#"{"next": "x"}"#))
        server.on("/p1?c=x", page(#"{"next": "x"}"#))
        let run = try Stage().run(job(server, "next: { json: $.next, query: c }"))
        #expect(run.status == 1)
        #expect(try run.task("list", "error.name") == "nextPageUnusable")
        #expect(server.requests().count == 2)
    }

    @Test(arguments: [
        ("{ page: p, until: empty }", ["[1]", "[1]", "[]"], ["/p1?p=1", "/p1?p=2", "/p1?p=3"]),
        ("{ page: o, from: 0, step: 2, until: { shorterThan: 2 } }", ["[1, 2]", "[3]"], ["/p1?o=0", "/p1?o=2"]),
        ("{ page: p, until: { json: $.more } }", [#"{"more": true}"#, #"{"more": false}"#], ["/p1?p=1", "/p1?p=2"]),
    ])
    func aParameterThatCounts_leadsFromPageToPage(_ next: String, _ bodies: [String], _ targets: [String]) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for (target, body) in zip(targets, bodies) { server.on(target, page(body)) }
        let run = try Stage().run(job(server, "next: \(next)"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == targets)
        #expect(try run.task("list", "request.original.url") == server.url(targets[0]))
    }

    @Test func aPageThatFails_saysWhichItIs_andWhereItsURLCameFrom() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("1", next: "/p2"))
        server.on("/p2", .respond(404))
        let run = try Stage().run(job(server, "next: { link: next }"))
        #expect(run.status == 1)
        let message = try #require(try run.task("list", "error.message"))
        #expect(message.hasSuffix("; it was page 2 of `list`, whose URL page 1 named"), "\(message)")
        #expect(run.errorText.contains("See what page 1 named as the next one"), "\(run.errorText)")
    }

    // MARK: Files and captures

    @Test func eachPageOfADownload_isAFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("one", next: "/p2"))
        server.on("/p2", page("two"))
        let stage = try Stage()
        let run = try stage.run(job(server, "next: { link: next }, to: \"${page}/items-${page}.json\""))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["1/", "1/items-1.json", "2/", "2/items-2.json"])
        #expect(try stage.text("2/items-2.json") == "two")
        #expect(try run.values("$.tasks[0].pages[*].file.path") == ["1/items-1.json", "2/items-2.json"])
        #expect(try run.values("$.tasks[0].pages[*].body") == [nil, nil])
    }

    /// A file that is there answers nothing: each page is asked for in the next run, too.
    @Test func aSecondRun_asksForAllPages() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let first = Self.json + [("Link", "</p2>; rel=next"), ("ETag", "\"1\"")]
        server.on("/p1", .respond(200, headers: first, body: "one"))
        server.on("/p2", .respond(200, headers: Self.json + [("ETag", "\"2\"")], body: "two"))
        let stage = try Stage()
        let keys = "next: { link: next }, to: \"i-${page}\""
        #expect(try stage.run(job(server, keys)).status == 0)
        let run = try stage.run(job(server, keys))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("list", "changed") == "false")
        #expect(server.requests().map(\.target) == ["/p1", "/p2", "/p1", "/p2"])
    }

    @Test func captures_areListsOverAllPages() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page(#"{"total": 3, "items": ["a", "b"]}"#, next: "/p2"))
        server.on("/p2", page(#"{"total": 3, "items": ["c"]}"#))
        for name in ["a", "b", "c"] { server.on("/f/\(name)", .respond(200, body: name)) }
        let keys =
            "next: { link: next }, capture: { items: { json: \"$.items[*]\", all: true }, total: { json: $.total } }"
        let more =
            "  - { id: \"get-${n}\", forEach: { n: { captured: tasks.list.items } }, url: \"\(server.url("/f"))/${n}\", "
            + "to: \"out/${n}\" }\n"
        let stage = try Stage()
        let run = try stage.run(job(server, keys, more: more))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("list", "captures") == #"{"items":["a","b","c"],"total":[3,3]}"#)
        #expect(try ["a", "b", "c"].map { try stage.text("out/\($0)") } == ["a", "b", "c"])
    }

    // MARK: Failures

    @Test func aPageThatFails_isTriedAgain_andNotThoseBeforeIt() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", .respond(503), page("1", next: "/p2"))
        server.on("/p2", .respond(503), page("2", next: "/p3"))
        server.on("/p3", .respond(503), page("3"))
        let keys = "next: { link: next }, retry: { attempts: 2, backoff: { initial: 10ms } }"
        let run = try Stage().run(job(server, keys))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p1", "/p2", "/p2", "/p3", "/p3"])
        #expect(try numbers(run) == ["1", "2", "3"])
    }

    @Test func aPageThatFailsForGood_failsTheTask_andItsFilesStay() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("one", next: "/p2"))
        server.on("/p2", .respond(404))
        let stage = try Stage()
        let run = try stage.run(job(server, "next: { link: next }, to: \"i-${page}\""))
        #expect(run.status == 1)
        #expect(stage.files == ["i-1"])
        #expect(try numbers(run) == ["1"])
    }

    @Test(arguments: [
        ("/p1", "page 1 names itself as the next page"), ("/p2", "page 2 names itself as the next page"),
    ]) func aLoop_isAnError(_ back: String, _ message: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("1", next: back == "/p1" ? "/p1" : "/p2"))
        server.on("/p2", page("2", next: back))
        let run = try Stage().run(job(server, "next: { link: next }"))
        #expect(run.status == 1)
        #expect(try run.task("list", "error.name") == "nextPageUnusable")
        #expect(try run.task("list", "error.message")?.hasPrefix(message) == true)
        #expect(server.requests().count == (back == "/p1" ? 1 : 2))
    }

    @Test func anEarlierPageAgain_isALoop() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("1", next: "/p2"))
        server.on("/p2", page("2", next: "/p1"))
        let run = try Stage().run(job(server, "next: { link: next }"))
        #expect(run.status == 1)
        #expect(try run.task("list", "error.message")?.hasPrefix("page 2 names page 1 as the next page") == true)
    }

    @Test(arguments: [("maximum: 2", 1), ("maximum: 2, stop: true", 0)]) func tooManyPages(
        _ keys: String, _ status: Int
    ) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for number in 1...3 { server.on("/p\(number)", page("\(number)", next: "/p\(number + 1)")) }
        let run = try Stage().run(job(server, "next: { link: next, \(keys) }"))
        #expect(run.status.map { Int($0) } == status, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p2"])
        #expect(try numbers(run) == ["1", "2"])
        if status == 1 {
            #expect(try run.task("list", "error.message")?.hasPrefix("there are more than 2 pages") == true)
        }
    }

    // MARK: Other origins

    /// What the job types goes to the origin of the task's own URL, on every page.
    @Test func anotherOrigin_getsNoCredentials_andTheOwnGetsThemBack() throws {
        let server = try ScriptedServer()
        let other = try ScriptedServer()
        defer {
            server.stop()
            other.stop()
        }
        server.on("/p1", page("1", next: other.url("/p2")))
        other.on("/p2", page("2", next: server.url("/p3")))
        server.on("/p3", page("3"))
        let headers = "headers: { Authorization: Bearer x, X-Token: \"${secret.T}\", X-Own: y, Accept: z }"
        let run = try Stage().run(job(server, "next: { link: next }, \(headers)"), environment: ["T": "s3cret-token"])
        #expect(run.status == 0, "\(run.errorText)")
        let there = try #require(other.requests().first)
        for name in ["Authorization", "X-Token", "X-Own"] { #expect(there.header(name) == nil, "\(name)") }
        #expect(there.header("Accept") == "z")
        for request in server.requests() {
            #expect(request.header("Authorization") == "Bearer x" && request.header("X-Token") == "s3cret-token")
        }
    }

    @Test func redirectsRules_holdForPages() throws {
        let server = try ScriptedServer()
        let other = try ScriptedServer()
        defer {
            server.stop()
            other.stop()
        }
        server.on("/p1", page("1", next: other.url("/p2")))
        for rule in ["allowHosts: [\"127.0.0.1:\(server.port)\"]", "follow: sameOrigin", "follow: never"] {
            let run = try Stage().run(job(server, "next: { link: next }, redirects: { \(rule) }"))
            #expect(run.status == 1, "\(rule)")
            #expect(try run.task("list", "error.name") == "redirectRefused", "\(rule)")
        }
        #expect(other.requests().isEmpty)
    }

    @Test func aRedirectOfAPage_isFollowed_andTheNextIsResolvedAgainstItsEnd() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", .respond(302, headers: [("Location", "/v2/p1")]))
        server.on("/v2/p1", page("1", next: "p2"))
        server.on("/v2/p2", page("2"))
        let run = try Stage().run(job(server, "next: { link: next }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/v2/p1", "/v2/p2"])
    }

    // MARK: In the background

    /// A process that follows one that was killed begins with the first page again, and says so.
    @Test func afterAKill_thePagesAreAskedForAgain() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/p1", page("1", next: "/p2"))
        server.on("/p2") { request in request.number == 1 ? [.stall] : page("2") }
        let scene = try BackgroundScene()
        let program = try scene.stage.start(
            BackgroundScene.head() + job(server, "next: { link: next }, to: \"i-${page}\""))
        #expect(server.waitForRequests(1, "/p2"))
        // What the follower tells is in the journal.
        waitUntil { scene.stage.hasTold("pageFinished", of: "list") }
        #expect(scene.end(SIGKILL))
        let run = try scene.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/p1", "/p2", "/p1", "/p2"])
        #expect(try scene.stage.text("i-2") == "2")
        #expect(try numbers(run) == ["1", "2"])
        #expect(try run.task("list", "attempts[1].startedOver")?.contains("asked for from the first one on") == true)
    }
}
