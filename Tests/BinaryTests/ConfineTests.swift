import Glibc
import TestSupport
import Testing
import TextFormats

/// A job that somebody else wrote, and what it does not reach (`--confine`).
@Suite struct ConfineTests {
    /// A folder `room` with the job, beside what the job must not reach.
    private struct Scene {
        let binary: Binary
        let server: ScriptedServer
        var folder: TemporaryTree { binary.folder }

        init() throws {
            binary = try Binary()
            server = try ScriptedServer()
            try folder.write("outside/secret", "what nobody is to see")
            try folder.makeFolder("room")
        }

        /// Runs the tasks in the room; this machine's addresses are allowed unless `flags` begin anew.
        func run(
            _ job: String, _ flags: [String] = ["--allow-address", "127.0.0.0/8"], environment: [String: String] = [:]
        ) throws -> Binary.Result {
            try folder.write("room/job.yaml", job)
            return try binary.run(
                arguments: ["run", "room/job.yaml", "--confine", "room", "--report", "room/report.json"] + flags,
                environment: environment)
        }

        func report(_ path: String) throws -> [String] {
            let json = try JSONParser.parse(try folder.bytes("room/report.json"))
            return try JSONPath(path).select(from: json).compactMap(\.plainText)
        }
    }

    /// Each job, and words of the message: none of them sends anything, and each names its place.
    @Test(arguments: [
        ("to: ../outside/new", "outside/new` is not in"), ("to: /tmp/new-of-a-stranger", "is not in"),
        ("to: x, onFinish: [sh, -c, id]", "runs no command"),
        ("to: x, headers: { A: \"${env.HOME}\" }", "`HOME` is not for a confined job"),
        ("body: { file: ../outside/secret }", "outside/secret` is not in"),
        ("body: { stream: { command: [cat, ../outside/secret] } }", "runs no command"),
    ])
    func hostileJob_isRefused_beforeAnythingIsSent(_ lines: String, _ words: String) throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        let run = try scene.run("tasks: [{ id: a, url: \"\(scene.server.url("/a"))\", \(lines) }]")
        #expect(run.exitStatus == 2 && run.errorText.contains(words), "\(run.errorText)")
        #expect(
            run.errorText.contains("room/job.yaml:1:") && run.errorText.contains("[confined]")
                && run.errorText.contains("^"))
        #expect(scene.server.requests().isEmpty && !scene.folder.exists("outside/new"))
        #expect(!scene.folder.exists("room/report.json"))
    }

    @Test func reportsAndExports_areWritesToo() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .respond(200, body: "new"))
        let job = "tasks: [{ id: a, url: \"\(scene.server.url("/a"))\", to: a }]"
        for flags in [["--report", "outside/r.json"], ["--junit", "outside/j.xml"], ["--events", "e.jsonl"]] {
            let run = try scene.run(job, flags)
            #expect(run.exitStatus == 2 && run.errorText.contains("to which this job is confined"), "\(run.errorText)")
        }
        #expect(scene.server.requests().isEmpty && scene.folder.list("outside") == ["secret"])
    }

    /// The text of the job shows none of these: the path is refused where it is opened.
    @Test func linksInTheFolder_leadNowhereElse() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .respond(200, body: "new"))
        try scene.folder.link("room/out", to: "../outside")
        try scene.folder.link("room/file", to: "../outside/secret")
        try scene.folder.link("room/absolute", to: scene.folder.path("outside/secret"))
        let url = scene.server.url("/a")
        let run = try scene.run(
            """
            tasks:
              - { id: into, url: "\(url)", to: out/new }
              - { id: over, url: "\(url)", to: file, existing: replace }
              - { id: whole, url: "\(url)", to: absolute, existing: replace }
              - { id: sent, url: "\(url)", body: { file: file } }
              - { id: read, url: "file://\(scene.folder.path("room/file"))", to: copy }
              - { id: fine, url: "\(url)", to: fine }
            """)
        #expect(run.exitStatus == 1, "\(run.errorText)")
        #expect(try scene.folder.text("outside/secret") == "what nobody is to see")
        #expect(scene.folder.list("outside") == ["secret"] && !scene.folder.exists("room/copy"))
        #expect(try scene.folder.text("room/fine") == "new")
        for id in ["into", "over", "whole", "sent", "read"] {
            let message = try scene.report("$.tasks[?@.id=='\(id)'].error.message")
            #expect(
                message.first?.contains("leads out of the folder that this run is confined to") == true,
                "\(id): \(message)")
        }
        #expect(!scene.server.requests().contains { String(decoding: $0.body, as: UTF8.self).contains("nobody") })
        // A list is read before the run.
        let list = try scene.run(
            "tasks: [{ id: \"a-${l.index}\", forEach: { l: { lines: file } }, url: \"\(url)?${l}\" }]")
        #expect(list.exitStatus == 2 && list.errorText.contains("outside the folder that this run is confined to"))
    }

    /// What a server says makes a path or a URL only in the run.
    @Test func capturedPlaces_areHeldToTheFolder() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        // The last two the process may read for itself.
        let places = [scene.folder.path("outside/secret"), "/etc/hosts", "/proc/self/environ"]
        scene.server.on(
            "/names", .respond(200, body: "[" + places.map { "\"\($0)\"" }.joined(separator: ", ") + "]"))
        let run = try scene.run(
            """
            tasks:
              - { id: names, url: "\(scene.server.url("/names"))", capture: { n: { json: "$[*]", all: true } } }
              - { id: "a-${n.index}", forEach: { n: { captured: tasks.names.n } }, url: "file://${raw:n}", to: "x-${n.index}" }
            """)
        #expect(run.exitStatus == 1, "\(run.errorText)")
        for number in 1...3 {
            let message = try scene.report("$.tasks[?@.id=='a-\(number)'].error.message")
            #expect(message.first?.contains("leads out of the folder") == true, "\(message)")
            #expect(!scene.folder.exists("room/x-\(number)"))
        }
    }

    @Test func commonJob_runsAsEver() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/file") { ServedResource(String(repeating: "line\n", count: 400_000)).answer($0) }
        scene.server.on("/list", .respond(200, body: "[\"p\", \"q\"]"))
        for name in ["p", "q"] { scene.server.on("/\(name)") { ServedResource("part \(name)").answer($0) } }
        let job = """
            report: { json: room/report.json, junit: room/junit.xml, html: room/page.html, events: room/events.jsonl }
            sessions: { default: { cookies: { file: cookies.txt, save: true } } }
            groups: { g: { to: tree } }
            tasks:
              - { id: big, url: "\(scene.server.url("/file"))", to: deep/er/big, segments: 3 }
              - { id: list, url: "\(scene.server.url("/list"))", capture: { n: { json: "$[*]", all: true } } }
              - { id: "g-${n}", forEach: { n: { captured: tasks.list.n } }, url: "\(scene.server.url("/"))${n}", to: "${n}", group: g }
            """
        let run = try scene.run(job)
        #expect(run.exitStatus == 0, "\(run.errorText)")
        #expect(try scene.folder.text("room/tree/p") == "part p" && scene.folder.text("room/tree/q") == "part q")
        #expect(
            try scene.report("$.runner.confined.folder").count == 1
                && scene.report("$.runner.confined.missing[*]").isEmpty)
        for name in ["junit.xml", "page.html", "events.jsonl", "cookies.txt"] {
            #expect(scene.folder.exists("room/\(name)"), "\(name)")
        }
        let again = try scene.run(job)
        #expect(again.exitStatus == 0 && again.errorText.contains("unchanged"), "\(again.errorText)")
    }

    /// The file that GitHub gives a step for its summary is written, and nothing beside it.
    @Test func summaryOfAStep_isWritten() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        try scene.folder.write("outside/summary", "")
        let run = try scene.run(
            "tasks: [{ id: a, url: \"data:,x\", to: a }]",
            environment: ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": scene.folder.path("outside/summary")])
        #expect(run.exitStatus == 0 && !run.errorText.contains("summary"), "\(run.errorText)")
        #expect(try !scene.folder.text("outside/summary").isEmpty)
    }

    @Test func connections_toThisMachine_areRefusedUnlessAllowed() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .respond(200, body: "new"))
        let job = "defaults: { retry: { attempts: 1 } }\ntasks: [{ id: a, url: \"\(scene.server.url("/a"))\", to: a }]"
        let run = try scene.run(job, [])
        #expect(run.exitStatus == 2 && run.errorText.contains("not of the public Internet"), "\(run.errorText)")
        let name = try scene.run(
            job.split(separator: "127.0.0.1").joined(separator: "localhost"), ["--allow-address", "10.0.0.0/8"])
        #expect(name.exitStatus == 1 && name.errorText.contains("addressRefused"), "\(name.errorText)")
        #expect(scene.server.requests().isEmpty)
    }

    /// A redirect to a port that no URL of the job names would reach services that the job's author cannot name.
    @Test func redirect_toAnotherPort_isNotFollowed() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        let other = try ScriptedServer { _ in .respond(200, body: "internal") }
        defer { other.stop() }
        scene.server.on("/a", .redirect(302, to: other.url("/x")))
        let run = try scene.run(
            "defaults: { retry: { attempts: 1 } }\ntasks: [{ id: a, url: \"\(scene.server.url("/a"))\", to: a }]")
        #expect(
            run.exitStatus == 1 && run.errorText.contains("none that this confined run connects to"), "\(run.errorText)"
        )
        #expect(other.requests().isEmpty)
    }

    @Test func variables_areReadWhereTheyAreNamed() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .respond(200, body: "new"))
        let job = """
            tasks: [{ id: a, url: "\(scene.server.url("/a"))", headers: { A: "${env.NAMED}", B: "${secret.TOKEN}" } }]
            """
        let environment = ["NAMED": "one", "TOKEN": "two-of-them"]
        let refused = try scene.run(job, environment: environment)
        #expect(
            refused.exitStatus == 2 && refused.errorText.ranges(of: "[confined]").count == 2, "\(refused.errorText)")
        #expect(!refused.errorText.contains("two-of-them"))
        let flags = ["--allow-address", "127.0.0.0/8", "--allow-env", "NAMED", "--allow-env", "TOKEN"]
        let allowed = try scene.run(job, flags, environment: environment)
        #expect(
            allowed.exitStatus == 0 && scene.server.requests().last?.header("B") == "two-of-them",
            "\(allowed.errorText)")
    }

    /// A job that takes the name of another finds nothing of it.
    @Test func stateOfOtherJobs_isNotFound() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .respond(200, headers: [("Set-Cookie", "session=of-the-other; Max-Age=1000")], body: "x"))
        let job = "name: same\ntasks: [{ id: a, url: \"\(scene.server.url("/a"))\" }]"
        try scene.folder.write("own.yaml", job)
        #expect(try scene.binary.run("own.yaml", "--no-report").exitStatus == 0)
        let run = try scene.run(job)
        #expect(run.exitStatus == 0 && scene.server.requests().last?.header("Cookie") == nil, "\(run.errorText)")
        #expect(try scene.binary.run("own.yaml", "--no-report").exitStatus == 0)
        #expect(scene.server.requests().last?.header("Cookie") == "session=of-the-other")
    }

    @Test func check_saysWhatWouldBeRefused_andByWhichRule() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        try scene.folder.write(
            "room/job.yaml",
            """
            onFinish: [./tell]
            sessions: { s: { unixSocket: /run/docker.sock, configuration: ephemeral } }
            tasks: [{ id: a, url: https://example.org/a, to: /srv/a }, { id: b, url: https://example.org/b, to: b }]
            """)
        let flags = ["check", "room/job.yaml", "--explain-access", "--confine", "room"]
        let text = try scene.binary.run(arguments: flags)
        #expect(text.exitStatus == 2 && text.errorText.ranges(of: "[confined]").count == 3, "\(text.errorText)")
        for line in [
            "refused by the rule `commands`: ./tell", "refused by the rule `sockets`: /run/docker.sock",
            "refused by the rule `folder`: /srv/a", "    https://example.org",
        ] {
            #expect(text.outputText.contains(line), "\(text.outputText)")
        }
        let json = try JSONParser.parse(scene.binary.run(arguments: flags + ["--format", "json"]).output)
        let rules = try ["commands", "sockets", "writes"].flatMap {
            try JSONPath("$.access[0].\($0)[*].refused").select(from: json).map(\.plainText)
        }
        #expect(rules == ["commands", "sockets", "folder"])
        // Where nothing confines it, it may.
        #expect(try scene.binary.run("check", "room/job.yaml").exitStatus == 0)
    }

    @Test func folderAndBestEffort_areToldApart() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        try scene.folder.write("room/job.yaml", "tasks: [{ id: a, url: \"data:,x\", to: a }]")
        func run(_ flags: String...) throws -> Binary.Result {
            try scene.binary.run(arguments: ["run", "room/job.yaml", "--no-report"] + flags)
        }
        #expect(try run("--confine", "room", "--confine=best-effort").exitStatus == 0)
        for (flags, words) in [
            (["--confine=best-effort"], "add `--confine DIR`"),
            (["--confine", "nowhere"], "names no folder that is there"),
            (["--confine", "room", "--confine", "outside"], "confined to one folder"),
            (["--allow-env", "X"], "add `--confine DIR`"),
        ] {
            let result = try scene.binary.run(arguments: ["run", "room/job.yaml", "--no-report"] + flags)
            #expect(result.exitStatus == 2 && result.errorText.contains(words), "\(result.errorText)")
        }
    }
}
