import TestSupport
import Testing
import TextFormats

/// `plan --online`: the servers are asked, nothing is fetched; `run --plan` holds them to what they said.
@Suite struct OnlinePlanTests {
    private final class Mirror: Sendable {
        let server: ScriptedServer
        init() throws {
            server = try ScriptedServer()
            serve("hello", "\"v1\"")
        }
        deinit { server.stop() }

        func serve(_ body: String, _ etag: String) {
            server.on("/a") { ServedResource(body, etag: etag).answer($0) }
        }

        var job: String {
            """
            tasks:
              - { id: a, url: '\(server.url("/a"))', to: a }
              - { id: post, method: POST, body: { data: x }, url: '\(server.url("/post"))' }

            """
        }
        var methods: [String] { server.requests().map(\.method) }
    }

    @Test func sizesComeFromTheServers_andNothingIsFetched() throws {
        let mirror = try Mirror()
        let binary = try Binary()
        try binary.folder.write("job.yaml", mirror.job)
        let plan = try PlanTests.plan(binary, "--online")
        #expect(try PlanTests.value(plan, "$.online") == ["true"])
        #expect(try PlanTests.value(plan, "$.tasks[0]['size','sizeFrom']") == ["5", "server"])
        #expect(try PlanTests.value(plan, "$.tasks[0].server['asked','status','etag']") == ["true", "200", "\"v1\""])
        #expect(try PlanTests.value(plan, "$.tasks[1].server.asked") == ["false"])
        #expect(mirror.methods == ["HEAD"])
        #expect(binary.folder.list() == ["job.yaml"])
        let text = try binary.run("plan", "job.yaml", "--online").outputText
        #expect(text.contains("How long") && text.contains("not asked: it sends a body"), "\(text)")
    }

    @Test func aServerThatRefusesHead_isAskedWithAGetThatEndsAtTheHeaders() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("HEAD /a", .respond(405))
        server.on("GET /a", .respond(200, headers: [("ETag", "\"g\"")], patternOf: 1 << 20))
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]")
        let plan = try PlanTests.plan(binary, "--online")
        #expect(
            try PlanTests.value(plan, "$.tasks[0].server['status','length','etag']") == ["200", "1048576", "\"g\""])
        #expect(server.requests().map(\.method) == ["HEAD", "GET"])
        #expect(binary.folder.list() == ["job.yaml"])
    }

    @Test func whatChangedIsTold() throws {
        let mirror = try Mirror()
        mirror.server.on("/post", .respond(200))
        let stage = try Stage()
        #expect(try stage.run(mirror.job).status == 0)
        let same = try PlanTests.plan(stage.binary, "--online")
        #expect(try PlanTests.value(same, "$.tasks[0].action") == ["revalidate"])
        #expect(try PlanTests.value(same, "$.tasks[0].server.changed") == ["false"])
        mirror.serve("changed!", "\"v2\"")
        let changed = try PlanTests.plan(stage.binary, "--online")
        #expect(try PlanTests.value(changed, "$.tasks[0]['action','bytesToMove']") == ["fetch", "8"])
        #expect(try PlanTests.value(changed, "$.tasks[0].server.changed") == ["true"])
    }

    /// The question goes through the session: its credentials and headers, and not after a limit is met.
    @Test func sessionsAskAsInARun() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a") { request in
            request.header("Authorization") == "Bearer canaryxyzzy" && request.header("X-Own") == "1"
                ? .headOnly(200, length: 7) : .respond(401)
        }
        let binary = try Binary()
        try binary.folder.write("secrets", "T=canaryxyzzy\n")
        try binary.folder.write(
            "job.yaml",
            """
            sessions: { default: { headers: { Authorization: 'Bearer ${secret.T}', X-Own: '1' } } }
            tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]

            """)
        let plan = try PlanTests.plan(binary, "--online", "--secrets-file", "secrets")
        #expect(try PlanTests.value(plan, "$.tasks[0].server['status','length']") == ["200", "7"])
    }

    @Test func aFailureIsToldAndIsNoFailureOfThePlan() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/gone", .respond(410))
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: '\(server.url("/gone"))', to: a }]")
        let plan = try PlanTests.plan(binary, "--online")
        #expect(try PlanTests.value(plan, "$.tasks[0].server.error") == ["the server answered 410"])
        #expect(try PlanTests.value(plan, "$.totals.unknownSizes") == ["1"])
    }

    // MARK: Held to it

    @Test func whatMovedSinceIsRefusedBeforeAnythingIsFetched() throws {
        let mirror = try Mirror()
        mirror.server.on("/post", .respond(200))
        let stage = try Stage()
        try stage.folder.write("job.yaml", mirror.job)
        let saved = try stage.binary.run("plan", "job.yaml", "--online", "--save", "saved.yaml")
        #expect(saved.exitStatus == 0, "\(saved.errorText)")
        let text = try stage.text("saved.yaml")
        #expect(text.contains("format: transfer-run/server-plan") && text.contains("etag: \"\\\"v1\\\"\""), "\(text)")
        mirror.serve("moved", "\"v2\"")
        let refused = try stage.binary.run("job.yaml", "--plan", "saved.yaml")
        #expect(refused.exitStatus == 1)
        #expect(refused.errorText.contains("1 of 1 file moved since the plan saved.yaml"), "\(refused.errorText)")
        #expect(refused.errorText.contains("\"v2\"") && refused.errorText.contains("\"v1\""))
        #expect(refused.errorText.contains("movedSincePlan"))
        #expect(!stage.folder.exists("a") && !mirror.methods.contains("GET") && !mirror.methods.contains("POST"))
        mirror.serve("hello", "\"v1\"")
        let run = try stage.run(mirror.job, "--plan", "saved.yaml")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("a") == "hello")
    }

    /// The file moves after the servers were asked: its task fails, and the old file stays.
    @Test func whatMovesDuringTheRunFailsItsTask() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("HEAD /a", .headOnly(200, headers: [("ETag", "\"v1\"")], length: 5))
        server.on("GET /a", .respond(200, headers: [("ETag", "\"v2\"")], body: "moved"))
        let stage = try Stage()
        let job = "tasks: [{ id: a, url: '\(server.url("/a"))', to: a, existing: replace }]"
        try stage.folder.write("a", "old")
        try stage.folder.write("job.yaml", job)
        #expect(try stage.binary.run("plan", "job.yaml", "--online", "--save", "saved.yaml").exitStatus == 0)
        let run = try stage.run(job, "--plan", "saved.yaml")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "movedSincePlan")
        #expect(try run.task("a", "error.domain") == "transfer-run")
        #expect(try stage.text("a") == "old")
        #expect(server.requests().filter { $0.method == "GET" }.count == 1)
    }

    @Test func aRedirectElsewhereIsAMove() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", .redirect(302, to: "/one?signed=1"))
        for path in ["/one", "/two"] { server.on(path) { ServedResource("hello", etag: "\"v\"").answer($0) } }
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: '\(server.url("/a"))', to: a }]")
        #expect(try binary.run("plan", "job.yaml", "--online", "--save", "saved.yaml").exitStatus == 0)
        #expect(try binary.folder.text("saved.yaml").contains("url: \"\(server.url("/one"))\""))
        // A new signature is no move, another path is one.
        server.on("/a", .redirect(302, to: "/one?signed=2"))
        #expect(try binary.run("job.yaml", "--plan", "saved.yaml").exitStatus == 0)
        server.on("/a", .redirect(302, to: "/two"))
        let refused = try binary.run("job.yaml", "--plan", "saved.yaml")
        #expect(refused.exitStatus == 1 && refused.errorText.contains("comes from \(server.url("/two"))"))
    }

    @Test func badPlansAndOptionsAreRefused() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: 'data:,x', to: a }]")
        try binary.folder.write("bad.yaml", "format: transfer-run/lock\nversion: 1\nfiles: {}\n")
        let wrong = try binary.run("job.yaml", "--plan", "bad.yaml")
        #expect(
            wrong.exitStatus == 2 && wrong.errorText.contains("bad.yaml:1:9: error: `format` is"), "\(wrong.errorText)")
        let missing = try binary.run("job.yaml", "--plan", "no.yaml")
        #expect(missing.exitStatus == 2 && missing.errorText.contains("--online --save no.yaml"))
        let offline = try binary.run("plan", "job.yaml", "--save", "x.yaml")
        #expect(offline.exitStatus == 2 && offline.errorText.contains("add `--online`"))
        #expect(!binary.folder.exists("a") && !binary.folder.exists("x.yaml"))
    }

    /// A server may have one `ETag` for each coding, as Apache's does: the question accepts what the request accepts.
    @Test func aServerThatCompresses_isHeldToTheETagOfTheCodingThatTheRunAsksFor() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for path in ["/data", "/unpacked", "/as-it-is", "/own"] {
            server.on(path) { request in
                let isPacked = request.header("Accept-Encoding")?.contains("gzip") == true
                let tag = ("ETag", isPacked ? "\"e-gzip\"" : "\"e\"")
                let coding = isPacked ? [("Content-Encoding", "gzip")] : []
                return .respond(
                    200, headers: [tag, ("Vary", "Accept-Encoding")] + coding,
                    body: isPacked ? Self.packed : Array("text".utf8))
            }
        }
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: data, url: '\(server.url("/data"))' }
              - { id: unpacked, url: '\(server.url("/unpacked"))', to: unpacked, decompress: true }
              - { id: as-it-is, url: '\(server.url("/as-it-is"))', to: as-it-is }
              - { id: own, url: '\(server.url("/own"))', to: own, headers: { accept-encoding: gzip } }

            """)
        let plan = try binary.run("plan", "job.yaml", "--online", "--save", "p.yaml")
        #expect(plan.exitStatus == 0, "\(plan.errorText)")
        let asked = server.requests().map { $0.header("Accept-Encoding") ?? "" }.sorted()
        #expect(asked == ["gzip", "gzip, br, zstd", "gzip, br, zstd", "identity"])
        let run = try binary.run("job.yaml", "--plan", "p.yaml")
        #expect(run.exitStatus == 0, "\(run.errorText)")
        #expect(try binary.folder.text("unpacked") == "text" && binary.folder.text("as-it-is") == "text")
        let gets = server.requests().filter { $0.method == "GET" }.map { $0.header("Accept-Encoding") ?? "" }.sorted()
        #expect(gets == asked)
    }

    /// "text", packed with gzip.
    private static let packed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x2B, 0x49, 0xAD, 0x28, 0x01, 0x00, 0xC7, 0xA7,
        0x8B, 0x3B, 0x04, 0x00, 0x00, 0x00,
    ]
}
