import TestSupport
import Testing
import TextFormats

/// `plan`: what a run would do, told before it does it.
@Suite struct PlanTests {
    private static func validator() throws -> SchemaValidator {
        try SchemaValidator(schema: TemporaryTree.bytes(at: "\(Binary.packageRoot)/schemas/plan.schema.json"))
    }

    /// The plan in JSON, held against its schema.
    static func plan(_ binary: Binary, _ options: String..., place: SourceLocation = #_sourceLocation) throws
        -> JSONValue
    {
        let result = try binary.run(arguments: ["plan", "job.yaml", "--json"] + options)
        #expect(result.exitStatus == 0, "\(result.errorText)", sourceLocation: place)
        let problems = try validator().problems(in: result.output)
        #expect(problems.isEmpty, "\(problems.prefix(5))", sourceLocation: place)
        return try JSONParser.parse(result.output)
    }

    static func value(_ plan: JSONValue, _ path: String) throws -> [String] {
        try JSONPath(path).select(from: plan).map { $0.plainText ?? "null" }
    }

    /// Whoever opens a firewall for the hosts of a plan needs those that give tokens, too.
    @Test func aServerThatGivesTokens_isAmongTheHosts() throws {
        let stage = try Stage()
        try stage.folder.write(
            "job.yaml",
            """
            sessions:
              default:
                credentials:
                  - host: a.test
                    oauth2: { tokenURL: "https://login.test/token", clientID: me, clientSecret: hunter22 }
                  - { host: other.test, oauth2: { tokenURL: "https://unused.test/", clientID: me, clientSecret: hunter22 } }
            tasks: [{ id: a, url: "https://a.test/a" }, { id: b, url: "https://a.test/b" }]
            """)
        let plan = try Self.plan(stage.binary)
        #expect(try Self.value(plan, "$.hosts[*].host") == ["https://a.test:443", "https://login.test:443"])
        #expect(try Self.value(plan, "$.hosts[*].tasks") == ["2", "0"])
        let text = try stage.binary.run("plan", "job.yaml").outputText
        #expect(text.contains("https://login.test:443  access tokens  ") && text.contains(" · 2 hosts"), "\(text)")
    }

    private func server() throws -> ScriptedServer {
        let server = try ScriptedServer()
        server.on("/a") { ServedResource("hello", etag: "\"v1\"").answer($0) }
        server.on("/b", .respond(200, headers: [("ETag", "\"b\"")], body: "bytes"))
        server.on("/list", .respond(200, headers: [("Cache-Control", "max-age=600")], body: "[]"))
        return server
    }

    private func job(_ server: ScriptedServer) -> String {
        """
        tasks:
          - { id: a, url: '\(server.url("/a"))', to: files/a }
          - { id: b, url: '\(server.url("/b"))', to: files/b, needs: [a], sizeHint: 5 }
          - { id: list, url: '\(server.url("/list"))' }
          - { id: own, url: 'data:,x', to: own, needs: [b] }

        """
    }

    /// The plan says before the run how many files a group removes, and the run how many it removed.
    @Test func filesThatAGroupRemovesAreCounted() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            groups: { site: { to: site, extraneous: remove }, other: { to: other } }
            tasks:
              - { id: a, url: '\(server.url("/a"))', to: a, group: site }
              - { id: b, url: '\(server.url("/b"))', to: sub/b, group: site }
              - { id: c, url: '\(server.url("/a"))', to: c, group: other }
            """)
        for folder in ["site/sub", "site/gone"] { try binary.folder.makeFolder(folder) }
        for name in ["a", "old", "sub/b", "sub/older", "gone/oldest"] {
            try binary.folder.write("site/\(name)", "x")
        }
        let plan = try Self.plan(binary)
        #expect(try Self.value(plan, "$.removals[*].group") == ["site"])
        #expect(try Self.value(plan, "$.removals[*].files") == ["3"])
        let run = try binary.run("job.yaml")
        #expect(run.exitStatus == 0)
        #expect(run.errorText.contains("3 files removed from the group `site`: no task names them.\n"))
        let report = try JSONParser.parse(binary.folder.bytes("job.report.json"))
        #expect(try Self.value(report, "$.groups[*].removed.count") == ["3"])
        #expect(
            try Self.value(report, "$.groups[0].removed.files[*]").sorted() == ["gone/oldest", "old", "sub/older"])
        #expect(try Self.value(Self.plan(binary), "$.removals[*].files") == ["0"])
    }

    @Test func beforeTheFirstRun_everythingIsFetched() throws {
        let server = try server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job(server))
        let plan = try Self.plan(binary)
        #expect(try Self.value(plan, "$.tasks[*].action") == ["fetch", "fetch", "fetch", "local"])
        #expect(try Self.value(plan, "$.tasks[*].step") == ["1", "2", "1", "3"])
        #expect(try Self.value(plan, "$.tasks[1].needs[*]") == ["a"])
        #expect(try Self.value(plan, "$.totals['bytesToMove','unknownSizes','steps']") == ["5", "2", "3"])
        #expect(try Self.value(plan, "$.hosts[*].tasks") == ["3"])
        #expect(try Self.value(plan, "$.tasks[0].to") == ["files/a"])
        #expect(server.requests().isEmpty)
    }

    /// Nothing is sent, and no byte of the folder or of the state changes.
    @Test func afterARun_thePlanSaysWhatIsThere_andChangesNothing() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        try stage.folder.write("files/b", "other")
        let asked = server.requests().count
        let before = try (stage.folder.contents(), stage.binary.home.contents())
        let plan = try Self.plan(stage.binary)
        #expect(try Self.value(plan, "$.tasks[*].action") == ["revalidate", "fetch", "cache", "local"])
        #expect(try Self.value(plan, "$.tasks[0]['bytesThere','bytesToMove']") == ["5", "0"])
        #expect(try Self.value(plan, "$.tasks[1].why") == ["the file was changed here since it was fetched"])
        #expect(try Self.value(plan, "$.totals.actions.revalidate") == ["1"])
        let text = try stage.binary.run("plan", "job.yaml")
        #expect(text.exitStatus == 0 && text.outputText.contains("ask whether it changed"))
        #expect(server.requests().count == asked)
        let after = try (stage.folder.contents(), stage.binary.home.contents())
        #expect(before.0 == after.0)
        #expect(before.1.filter { !$0.key.hasSuffix("-shm") } == after.1.filter { !$0.key.hasSuffix("-shm") })
        // What the plan says is what the run does.
        let run = try stage.run(job(server))
        #expect(try run.values("$.tasks[*].source") == ["unchanged", "network", "cache", "local"])
    }

    @Test func aPartialFileIsCounted() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let size = 3 << 20
        let cut = Script([
            .bytes(Script.head(200, [("ETag", "\"v\""), ("Content-Length", "\(size)")])), .pattern(count: 2 << 20),
            .cut,
        ])
        server.on("/big", cut, .respond(200, headers: [("ETag", "\"v\"")], patternOf: size))
        let stage = try Stage()
        let job = "tasks: [{ id: big, url: '\(server.url("/big"))', to: big, retry: { attempts: 1 } }]"
        #expect(try stage.run(job).status == 1)
        let plan = try Self.plan(stage.binary)
        #expect(try Self.value(plan, "$.tasks[0].action") == ["resume"])
        let kept = try #require(Int(try Self.value(plan, "$.tasks[0].bytesKept")[0]))
        #expect(kept > 0 && kept <= 2 << 20)
        #expect(try Self.value(plan, "$.tasks[0]['size','bytesToMove']") == ["\(size)", "\(size - kept)"])
        #expect(try stage.binary.run("plan", "job.yaml").outputText.contains("go on where it stopped"))
    }

    @Test func aLiteralChecksumThatIsMetNeedsNothing() throws {
        let binary = try Binary()
        try binary.folder.write("a", "hello")
        let sum = "md5:5d41402abc4b2a76b9719d911017c592"
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'http://h.invalid/a', to: a, checksum: '\(sum)' }]")
        #expect(try Self.value(Self.plan(binary), "$.tasks[0].action") == ["keep"])
        try binary.folder.write("a", "jello")
        #expect(try Self.value(Self.plan(binary), "$.tasks[0].action") == ["fetch"])
    }

    @Test func secretsAreMaskedAndMistakesAreTold() throws {
        let binary = try Binary()
        let job = "tasks: [{ id: a, url: 'http://h.invalid/${secret.KEY}/x', to: a }]"
        try binary.folder.write("job.yaml", job)
        let refused = try binary.run("plan", "job.yaml")
        #expect(refused.exitStatus == 2 && refused.output.isEmpty && refused.errorText.contains("job.yaml:1:"))
        try binary.folder.write("secrets", "KEY=canaryxyzzy\n")
        let plan = try Self.plan(binary, "--secrets-file", "secrets")
        #expect(try Self.value(plan, "$.tasks[0].url") == ["http://h.invalid/***/x"])
        let text = try binary.run("plan", "job.yaml", "--secrets-file", "secrets", "-v")
        #expect(text.exitStatus == 0 && !text.outputText.contains("canary"))
    }

    /// Bounded, and within its time: a debug build on a busy machine has a generous bound.
    @Test func manyTasksGiveAShortText() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            "tasks: [{ id: '${n}', forEach: { n: 1..20000 }, url: 'http://h.invalid/${n}', to: 'files/${n}', sizeHint: 1KiB }]"
        )
        let text = try binary.run("plan", "job.yaml")
        #expect(text.exitStatus == 0)
        let lines = text.outputText.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count < 80 && text.outputText.contains("20,000 tasks"), "\(text.outputText.prefix(2000))")
        #expect(text.outputText.contains("and 19,960 more tasks: `-v` lists all"))
        let whole = try binary.run("plan", "job.yaml", "-v")
        #expect(whole.outputText.split(separator: "\n").count > 20_000)
        let only = try Self.plan(binary, "--only", "17", "--only", "18")
        #expect(try Self.value(only, "$.tasks[*].id") == ["17", "18"])
    }

    @Test func aTemplateIsShownWithWhatItWaitsFor() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: index, url: '\(server.url("/index"))', capture: { names: { json: '$[*]', all: true } } }
              - { id: 'get-${n.index}', forEach: { n: { captured: tasks.index.names } }, url: '\(server.url(""))/${n}', to: '${n.index}' }

            """)
        let plan = try Self.plan(binary)
        #expect(try Self.value(plan, "$.tasks[*].action") == ["fetch", "expand"])
        #expect(try Self.value(plan, "$.tasks[1].needs[*]") == ["index"])
        let text = try binary.run("plan", "job.yaml").outputText
        #expect(text.contains("become more tasks") && text.contains("after `index`"), "\(text)")
        #expect(try Self.value(plan, "$.totals['bytesToMove','unknownSizes']") == ["0", "2"])
        #expect(text.contains("  how much 1 task moves (`--online` asks the servers)\n"))
        #expect(text.contains("  how many tasks 1 `forEach` becomes, and what they move: known in the run\n"))
        #expect(!text.contains("that other tasks capture"))
        #expect(server.requests().isEmpty)
    }

    /// The text of an example, whole: a change of it is a change for people.
    @Test func theTextOfAnExample() throws {
        let place = try ExamplePlace()
        let text = try place.stage.binary.run(
            arguments: [
                "plan", "\(Binary.packageRoot)/examples/polite-mirror/polite-mirror.transfer.yaml", "--set",
                "site=http://127.0.0.1:8080",
                "--directory", place.stage.folder.path,
            ])
        #expect(text.exitStatus == 0, "\(text.errorText)")
        try Snapshot.check(text.outputText, "Golden/plan-polite-mirror.txt")
    }
}
