import Digests
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Work that is found on the way: tasks that are made of what another task brought.
@Suite struct FoundWorkTests {
    private static let names = ["a", "b", "c"]

    private func server(_ list: [UInt8], _ headers: [(String, String)] = []) throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/list", .respond(200, headers: headers, body: list))
        for name in Self.names { server.on("/f/\(name)", .respond(200, body: "file \(name)")) }
        return server
    }

    private func sums(_ names: [String] = names) throws -> [UInt8] {
        Array(try names.map { "\(try sha256("file \($0)"))  \($0)\n" }.joined().utf8)
    }

    private func sha256(_ text: String) throws -> String {
        String(try Checksum.of(Array(text.utf8), .sha256).description.dropFirst("sha256:".count))
    }

    private func outcomes(_ run: Stage.Run) throws -> [String] {
        try zip(run.values("$.tasks[*].id"), run.values("$.tasks[*].outcome")).map { "\($0 ?? "") \($1 ?? "")" }
    }

    // MARK: Each format

    @Test func aChecksumList_isFetchedAndThenItsFiles() throws {
        let server = try server(sums())
        defer { server.stop() }
        server.on("/done", .respond(200, body: "ok"))
        let stage = try Stage()
        let job = """
            tasks:
              - { id: sums, url: "\(server.url("/list"))", to: SHA256SUMS }
              - { id: "get-${f.path}", forEach: { f: { checksums: { task: sums } } }, url: "\(server.url("/f"))/${f.path}",
                  to: "out/${f.path}", checksum: "${f.checksum}" }
              - { id: done, url: "\(server.url("/done"))", needs: [get-*] }
            """
        let run = try stage.run(job)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try Self.names.map { try stage.text("out/\($0)") } == ["file a", "file b", "file c"])
        #expect(run.errorText.contains("3 tasks of what `sums` brought"), "\(run.errorText)")
        #expect(try run.values("$.tasks[*].id") == ["sums", "done", "get-a", "get-b", "get-c"])
        #expect(server.requests().last?.target == "/done")
        // What is there with the right checksum is not asked for again.
        let before = server.requests().count
        let again = try stage.run(job)
        #expect(again.status == 0, "\(again.errorText)")
        #expect(server.requests().dropFirst(before).map(\.target).sorted() == ["/done", "/list"])
        #expect(try again.task("get-b", "source") == "unchanged")
    }

    @Test(arguments: [
        ("lines", "lines: { task: list }", "a\n\nb\r\nc", "${r}"),
        ("csv", "csv: { task: list }", "size,name\n1,a\n2,\"b\"\n3,c\n", "${r.name}"),
        ("json", "json: { task: list, path: \"$.items[*]\" }", #"{"items":[{"n":"a"},{"n":"b"},{"n":"c"}]}"#, "${r.n}"),
        (
            "json beside", "json: { task: list }, path: \"$.items[*].n\"",
            #"{"items":[{"n":"a"},{"n":"b"},{"n":"c"}]}"#, "${r}"
        ),
        ("xml", "xml: { task: list, path: /l/i }", "<l><i n='a'/><i n='b'/><i><n>c</n></i></l>", "${r.n}"),
        ("debian", "debian: { task: list }", "Name: a\nX: y\n\nName: b\n\nname:\n c\n", "${r.Name}"),
        (
            "links", "links: { task: list, match: \"^f/[abc]$\" }",
            "<a href=f/a><a href=/x><a href='f/b'><A HREF=\"f/c\">", "${r.name}"
        ),
    ]) func everyFormatGivesTasks(_ words: String, _ source: String, _ list: String, _ value: String) throws {
        for (type, packed) in [("type: data", false), ("to: list", false), ("to: list", true), ("type: data", true)] {
            let bytes = packed ? Encoder.gzip(Array(list.utf8)) : Array(list.utf8)
            let server = try server(bytes)
            defer { server.stop() }
            let stage = try Stage()
            let run = try stage.run(
                """
                tasks:
                  - { id: list, url: "\(server.url("/list"))", \(type) }
                  - { id: "get-${r.index}", forEach: { r: { \(source) } }, url: "\(server.url("/f"))/\(value)", to: "out/\(value)" }
                """)
            #expect(run.status == 0, "\(words), \(type), packed \(packed): \(run.errorText)")
            #expect(stage.files.filter { $0.hasPrefix("out/") } == ["out/", "out/a", "out/b", "out/c"], "\(words)")
            #expect(try run.values("$.tasks[*].id") == ["list", "get-1", "get-2", "get-3"])
        }
    }

    /// Links are resolved against the page that was found in the end, not the one that was asked for.
    /// Without checksums: a file whose name came from the network is asked for as any other is.
    @Test(arguments: ["", ", group: all"]) func aLaterRunAsksForChangesOnly_ofFilesWithFoundNames(_ group: String)
        throws
    {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/page", .respond(200, body: "<a href=f/a>a</a> <a href=f/b>b</a>"))
        for name in ["a", "b"] {
            server.serve("/f/\(name)", ServedResource(Array("file \(name)".utf8), etag: "\"\(name)1\""))
        }
        let stage = try Stage()
        let job = """
            \(group.isEmpty ? "" : "groups: { all: { to: out } }")
            tasks:
              - { id: page, url: "\(server.url("/page"))" }
              - { id: "get-${l.name}", forEach: { l: { links: { task: page } } }, url: "${l}", to: "\(group.isEmpty ? "out/" : "./")${l.name}"\(group) }
            """
        let first = try stage.run(job)
        #expect(first.status == 0, "\(first.errorText)")
        server.serve("/f/b", ServedResource(Array("file B".utf8), etag: "\"b2\""))
        let again = try stage.run(job)
        #expect(again.status == 0, "\(again.errorText)")
        #expect(try again.task("get-a", "source") == "unchanged")
        #expect(try again.task("get-b", "source") == "network")
        #expect(try stage.text("out/a") == "file a" && stage.text("out/b") == "file B")
        #expect(server.requests("/f/a").last?.header("If-None-Match") == "\"a1\"")
    }

    @Test func linksAreThoseOfThePageBehindARedirect() throws {
        let server = try server(Array("unused".utf8))
        defer { server.stop() }
        server.on("/start", .respond(302, headers: [("Location", "/f/")]))
        server.on(
            "/f/",
            .respond(200, headers: [("Content-Type", "text/html")], body: "<a href=a>a</a> <a href='./b#x'>b</a>"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: page, url: "\(server.url("/start"))" }
              - { id: "get-${l.name}", forEach: { l: { links: { task: page } } }, url: "${l}", to: "out/${l.name}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/a") == "file a" && stage.text("out/b") == "file b")
    }

    @Test func severalListsAndNames_giveEveryCombination() throws {
        let server = try server(Array("a\nb\n".utf8))
        defer { server.stop() }
        for path in ["/f/a/1", "/f/a/2", "/f/b/1", "/f/b/2"] { server.on(path, .respond(200, body: path)) }
        server.on("/numbers", .respond(200, body: "[1, 2]"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))" }
              - { id: numbers, url: "\(server.url("/numbers"))", to: numbers.json }
              - { id: "get-${l}-${n}", forEach: { l: { lines: { task: list } }, n: { json: { task: numbers } } },
                  url: "\(server.url("/f"))/${l}/${n}", to: "out/${l}/${n}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].id").dropFirst(2) == ["get-a-1", "get-a-2", "get-b-1", "get-b-2"])
        #expect(try stage.text("out/b/2") == "/f/b/2")
    }

    @Test(arguments: ["type: data", "to: \"pages/${page}\""]) func rowsOfAllPagesAreOneList(_ type: String) throws {
        let server = try server(Array())
        defer { server.stop() }
        server.on("/list", .respond(200, headers: [("Link", "</more>; rel=next")], body: "a\n"))
        server.on("/more", .respond(200, body: "b\nc\n"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", \(type), next: { link: next } }
              - { id: "get-${n}-${n.index}", forEach: { n: { lines: { task: list } } }, url: "\(server.url("/f"))/${n}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.values("$.tasks[*].id") == ["list", "get-a-1", "get-b-2", "get-c-3"])
    }

    // MARK: What is wrong with a list

    private static let cut = Array(Encoder.xz(Array(String(repeating: "Name: a\n\n", count: 5_000).utf8)).dropLast(40))

    @Test(
        arguments: [
            ("json: { task: list }", Array("[1,\n2,,".utf8), "what `list` brought, line 2: "),
            ("json: { task: list, path: \"$.x[*]\" }", Array("{}".utf8), "what `list` brought: `$.x[*]` finds nothing"),
            ("lines: { task: list }", [0x61, 0x0A, 0xFF, 0x0A], "what `list` brought, line 2: not UTF-8 text"),
            (
                "csv: { task: list }", Array("a,b\n1,2\n".utf8),
                "what `list` brought, line 1: there is no column `Name`, only `a`, `b`"
            ),
            ("debian: { task: list }", cut, "what `list` brought: "),
            ("debian: { task: list }", Array("BZh91AY&SY".utf8) + [0x00], "what `list` brought: packed by bzip2"),
            ("debian: { task: list }", Array("Name: a\n<html>\n".utf8), "line 2: no field of a Debian index: `<html>`"),
            ("debian: { task: list }", Array("Name: a\n\nX: y\n".utf8), "row 2 of what `list` brought has no `Name`"),
            (
                "json: { task: list }", Array("[{\"Name\": \"a\"}, {\"Name\": null}]".utf8),
                "row 2 of what `list` brought: `${r.Name}` is null, no text"
            ),
            ("links: { task: list, match: zzz }", Array("<a href=x>".utf8), "no link of the page matches `zzz`"),
            ("xml: { task: list, path: /a/b }", Array("<a>\n<b></a>".utf8), "what `list` brought, line 2: `</a>`"),
        ] as [(String, [UInt8], String)]) func aListThatIsNotWhatItShouldBe_failsTheTemplate(
            _ source: String, _ list: [UInt8], _ told: String
        ) throws
    {
        let server = try server(list)
        defer { server.stop() }
        let stage = try Stage()
        let value = source.hasPrefix("lines") ? "${r}" : source.hasPrefix("links") ? "${r.name}" : "${r.Name}"
        let run = try stage.run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", to: list }
              - { id: "get-${r.index}", forEach: { r: { \(source) } }, url: "\(server.url("/f"))/\(value)", to: "out/${r.index}" }
              - { id: after, url: "\(server.url("/f/a"))", needs: [get-*] }
            """)
        #expect(run.status == 1)
        #expect(try run.task("get-${r.index}", "error.name") == "expansionFailed")
        let message = try run.task("get-${r.index}", "error.message") ?? ""
        #expect(message.contains(told), "\(message)")
        #expect(try outcomes(run) == ["list succeeded", "get-${r.index} failed", "after skipped"])
        #expect(server.requests().map(\.target) == ["/list"])
    }

    @Test(arguments: ["lines", "debian", "checksums"]) func anEmptyList_isAWarningAndNoTask(_ format: String) throws {
        let server = try server([])
        defer { server.stop() }
        let field = format == "lines" ? "${r}" : format == "debian" ? "${r.Filename}" : "${r.path}"
        let run = try Stage().run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", to: list }
              - { id: "get-${r.index}", forEach: { r: { \(format): { task: list } } }, url: "\(server.url("/f"))/\(field)" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(run.errorText.contains("warning: get-${r.index}: no task, for the list that `list` brought is empty"))
        #expect(try run.values("$.tasks[*].id") == ["list"])
    }

    @Test func aFailedSource_skipsTheTemplate() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/list", .respond(404))
        let run = try Stage().run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", to: list }
              - { id: "get-${r.index}", forEach: { r: { lines: { task: list } } }, url: "${r}" }
            """)
        #expect(try run.status == 1 && outcomes(run) == ["list failed", "get-${r.index} skipped"])
    }

    /// Rows come from the network: each fails the task that it belongs to, and no other.
    @Test func hostileRows_doNoMoreThanOtherCapturedValues() throws {
        let server = try server(Array())
        defer { server.stop() }
        let good = server.url("/f/a")
        server.on(
            "/list",
            .respond(
                200,
                body: """
                    url,to
                    \(good),good
                    file:///etc/passwd,passwd
                    \(good),../../escape
                    \(good),/abs/../../../name
                    "x\r\nHost: evil",head
                    """))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))" }
              - { id: "get-${n.index}", forEach: { n: { csv: { task: list } } }, url: "${n.url}", to: "out/${n.to}" }
            """)
        #expect(run.status == 1)
        #expect(
            try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "failed", "failed", "failed", "failed"])
        #expect(try run.task("get-2", "error.name") == "unsupportedURL")
        #expect(try run.task("get-3", "error.name") == "captureUnusable")
        let message = try run.task("get-3", "error.message") ?? ""
        #expect(message.contains("`to` of row 3 of what `list` brought"), "\(message)")
        #expect(stage.files == ["out/", "out/good"], "\(stage.files)")
    }

    @Test func aRowIsNotTakenIntoTheReportAsACapture() throws {
        let server = try server(Array("a\n".utf8))
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - { id: list, url: "\(server.url("/list"))", capture: { first: { regex: "^(.)" } } }
              - { id: "get-${n}", forEach: { n: { lines: { task: list } } }, url: "\(server.url("/f"))/${n}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].captures") == #"{"first":"a"}"#)
    }

    // MARK: Groups

    @Test func aGroupsOwnListNamesItsMembers() throws {
        let server = try server(sums())
        defer { server.stop() }
        server.on("/after", .respond(200, body: "after"))
        let stage = try Stage()
        let job = """
            groups: { site: { to: site, extraneous: remove } }
            tasks:
              - { id: sums, group: site, url: "\(server.url("/list"))", to: SHA256SUMS }
              - { id: "get-${f.path}", group: site, forEach: { f: { checksums: { task: sums } } },
                  url: "\(server.url("/f"))/${f.path}", to: "./${f.path}", checksum: "${f.checksum}" }
              - { id: after, url: "\(server.url("/after"))", needs: [group.site] }
            """
        let run = try stage.run(job)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.folder.list("site") == ["SHA256SUMS", "a", "b", "c"])
        #expect(server.requests().last?.target == "/after")
        // What the list no longer names is gone, and what it names still is not asked for.
        server.on("/list", .respond(200, body: try sums(["a", "c"])))
        let before = server.requests().count
        let again = try stage.run(job)
        #expect(again.status == 0, "\(again.errorText)")
        #expect(stage.folder.list("site") == ["SHA256SUMS", "a", "c"])
        #expect(server.requests().dropFirst(before).map(\.target) == ["/list", "/after"])
    }

    @Test func aGroupWhoseListIsBroken_staysAsItWas() throws {
        let server = try server(sums())
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            groups: { site: { to: site, extraneous: remove } }
            tasks:
              - { id: sums, group: site, url: "\(server.url("/list"))", to: SHA256SUMS }
              - { id: "get-${f.path}", group: site, forEach: { f: { checksums: { task: sums } } },
                  url: "\(server.url("/f"))/${f.path}", to: "./${f.path}", checksum: "${f.checksum}" }
            """
        #expect(try stage.run(job).status == 0)
        server.on("/list", .respond(200, body: "<html>\n"))
        let run = try stage.run(job)
        #expect(try run.status == 1 && run.value("$.groups[0].published") == "false")
        #expect(try stage.text("site/SHA256SUMS").utf8.elementsEqual(sums()))
        #expect(stage.folder.list("site") == ["SHA256SUMS", "a", "b", "c"])
    }

    /// A list that is a group's member is read where it is published by a task outside of the group.
    @Test func aTemplateOutsideOfTheGroup_readsThePublishedFile() throws {
        let server = try server(Array("a\nb\n".utf8))
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            groups: { site: { to: site } }
            tasks:
              - { id: list, group: site, url: "\(server.url("/list"))", to: list }
              - { id: "get-${n}", forEach: { n: { lines: { task: list } } }, url: "\(server.url("/f"))/${n}", to: "out/${n}" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/b") == "file b" && stage.text("site/list") == "a\nb\n")
    }
}
