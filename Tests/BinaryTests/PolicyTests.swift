import TestSupport
import Testing
import TextFormats

/// An operator's rules over a job (`--policy`), in the whole program.
@Suite struct PolicyTests {
    /// A job beside an operator's file that lies elsewhere.
    private struct Scene {
        let binary: Binary
        let server: ScriptedServer
        var folder: TemporaryTree { binary.folder }

        init() throws {
            binary = try Binary()
            server = try ScriptedServer()
            try folder.makeFolder("operator")
            try folder.makeFolder("room")
        }

        func write(_ policy: String, _ job: String) throws {
            try folder.write("operator/policy.yaml", policy)
            try folder.write("room/job.yaml", job)
        }

        func run(_ policy: String, _ job: String, _ flags: [String] = []) throws -> Binary.Result {
            try write(policy, job)
            return try binary.run(
                arguments: [
                    "run", "room/job.yaml", "--policy", "operator/policy.yaml", "--report", "room/report.json",
                ] + flags)
        }

        func report(_ path: String) throws -> [String] {
            let json = try JSONParser.parse(try folder.bytes("room/report.json"))
            return try JSONPath(path).select(from: json).compactMap(\.plainText)
        }

        func task(_ path: String, _ keys: String = "") -> String {
            "tasks: [{ id: a, url: \"\(server.url(path))\", to: a\(keys) }]"
        }
    }

    /// A policy, lines of the job beside its task, keys of the task, and words of the message.
    @Test(arguments: [
        ("hosts: { allow: [\"*.example.org\"] }", "", "", "allows no host but `*.example.org`"),
        ("hosts: { deny: [127.0.0.1] }", "", "", "denies `127.0.0.1`"),
        ("commands: false", "", ", onFinish: [sh, -c, id]", "lets a job run no command"),
        (
            "tls: { insecure: false }", "sessions: { default: { tls: { trust: { policy: insecure } } } }\n", "",
            "forbids that"
        ),
        (
            "tls: { minimum: \"1.3\" }", "sessions: { default: { tls: { maximum: \"1.2\" } } }\n", "",
            "no version below 1.3"
        ),
    ])
    func whatTheJobSays_isRefusedBeforeAnythingIsSent(_ policy: String, _ head: String, _ keys: String, _ words: String)
        throws
    {
        let scene = try Scene()
        defer { scene.server.stop() }
        let run = try scene.run(policy, head + scene.task("/a", keys))
        #expect(run.exitStatus == 2 && run.errorText.contains(words), "\(run.errorText)")
        #expect(run.errorText.contains("the policy operator/policy.yaml:1 ") && run.errorText.contains("[policy]"))
        #expect(run.errorText.contains("room/job.yaml:") && run.errorText.contains("^"))
        #expect(scene.server.requests().isEmpty && !scene.folder.exists("room/report.json"))
    }

    @Test func aWrongPolicy_endsTheCommandFirst() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        let wrong = try scene.run("hosts: { alow: [a] }", scene.task("/a"))
        #expect(
            wrong.exitStatus == 2 && wrong.errorText.contains("operator/policy.yaml:1:10: error: unknown key `alow`"))
        #expect(wrong.errorText.contains("did you mean `allow`?"), "\(wrong.errorText)")
        let gone = try scene.binary.run(
            arguments: ["check", "room/job.yaml"], environment: ["TRANSFER_RUN_POLICY": "none.yaml"])
        #expect(gone.exitStatus == 2 && gone.errorText.contains("TRANSFER_RUN_POLICY"), "\(gone.errorText)")
        #expect(scene.server.requests().isEmpty)
    }

    /// Where a server leads is known in the run alone.
    @Test func aRedirect_goesToNoOtherHost() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .redirect(302, to: "http://localhost:\(scene.server.port)/b"))
        let run = try scene.run("hosts: { allow: [127.0.0.1] }", scene.task("/a"))
        #expect(run.exitStatus == 1 && scene.server.requests().map(\.path) == ["/a"], "\(run.errorText)")
        #expect(try scene.report("$.tasks[0].error.name") == ["addressRefused"])
        let message = try scene.report("$.tasks[0].error.message").first
        #expect(
            message?.hasSuffix("localhost: the policy operator/policy.yaml:1 allows no host but `127.0.0.1`") == true,
            "\(message ?? "")")
    }

    @Test func addresses_andOtherURLs() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        let denied = try scene.run("addresses: { deny: [loopback] }", scene.task("/a"))
        #expect(
            denied.exitStatus == 1 && denied.errorText.contains("the policy refuses `loopback`"), "\(denied.errorText)")
        #expect(scene.server.requests().isEmpty)
        // The operator's mirror takes the place of the server that the job names.
        scene.server.on("/mirror/x", .respond(200, body: "new"))
        let policy = """
            hosts: { allow: [127.0.0.1] }
            rewrite: [{ match: "^https://a\\\\.example/", to: "\(scene.server.url("/mirror/"))" }]
            """
        let rewritten = try scene.run(policy, "tasks: [{ id: a, url: https://a.example/x, to: a }]")
        #expect(rewritten.exitStatus == 0, "\(rewritten.errorText)")
        #expect(try scene.folder.text("room/a") == "new")
        #expect(try scene.report("$.tasks[0].url") == [scene.server.url("/mirror/x")])
    }

    /// The command line is not above the operator either.
    @Test func limits_endTheRun_andNameTheRule() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a") { ServedResource(String(repeating: "line\n", count: 40_000)).answer($0) }
        let bytes = try scene.run(
            "limits: { bytes: 64KiB, bandwidth: 100MB/s }", scene.task("/a"), ["--bandwidth", "1GB/s"])
        #expect(bytes.exitStatus == 1, "\(bytes.errorText)")
        let message = try scene.report("$.tasks[0].error.message").first
        #expect(message?.contains("the policy operator/policy.yaml:1 ") == true, "\(message ?? "")")
        #expect(!scene.folder.exists("room/a"))

        scene.server.on("/slow") { _ in Script([.stall]) }
        let time = try scene.run("limits: { time: 300ms }", "limits: { timeout: 1h }\n\(scene.task("/slow"))")
        #expect(
            time.exitStatus == 1 && time.errorText.contains("the policy operator/policy.yaml:1"), "\(time.errorText)")
        #expect(try scene.report("$.tasks[0].error.name") == ["timedOut"])
    }

    @Test func tasks_areCountedAtFirstAndInTheRun() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        let url = scene.server.url("/")
        scene.server.on("/list", .respond(200, body: "[1, 2, 3]"))
        for number in 1...3 { scene.server.on("/\(number)", .respond(200, body: "x")) }
        let two = try scene.run(
            "limits: { tasks: 1 }", "tasks:\n  - { id: a, url: \"\(url)1\" }\n  - { id: b, url: \"\(url)2\" }")
        #expect(two.exitStatus == 2 && two.errorText.contains("room/job.yaml:3:"), "\(two.errorText)")
        #expect(scene.server.requests().isEmpty)
        let made = try scene.run(
            "limits: { tasks: 3 }",
            """
            tasks:
              - { id: list, url: "\(url)list", capture: { n: { json: "$[*]", all: true } } }
              - { id: "a-${n}", forEach: { n: { captured: tasks.list.n } }, url: "\(url)${n}" }
            """)
        #expect(made.exitStatus == 1 && scene.server.requests().map(\.path) == ["/list"], "\(made.errorText)")
        #expect(
            try scene.report("$.tasks[*].error.message").contains {
                $0.contains("the policy operator/policy.yaml:1 allows 3")
            })
    }

    @Test func checkAndPlan_sayWhatIsRefusedAndLowered() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        try scene.write(
            "hosts: { deny: [b.example] }\nlimits: { time: 1h }\ntls: { insecure: false }\n",
            """
            sessions: { s: { tls: { trust: { policy: insecure } } } }
            tasks: [{ id: a, url: https://a.example/x, to: a }, { id: b, url: https://b.example/x, to: b }]
            """)
        let flags = ["check", "room/job.yaml", "--explain-access", "--policy", "operator/policy.yaml"]
        let text = try scene.binary.run(arguments: flags)
        #expect(text.exitStatus == 2 && text.errorText.ranges(of: "[policy]").count == 2, "\(text.errorText)")
        for line in [
            "refused by the rule `hosts.deny` of the policy operator/policy.yaml:1: https://b.example",
            "refused by the rule `tls.insecure` of the policy operator/policy.yaml:3",
            "`limits.timeout`: 1 h  (operator/policy.yaml:2)",
        ] {
            #expect(text.outputText.contains(line), "\(text.outputText)")
        }
        let json = try JSONParser.parse(scene.binary.run(arguments: flags + ["--format", "json"]).output)
        func values(_ path: String) throws -> [String?] { try JSONPath(path).select(from: json).map(\.plainText) }
        #expect(try values("$.access[0].hosts[*].refused") == ["hosts.deny"])
        #expect(try values("$.access[0].hosts[*].policy") == ["operator/policy.yaml:1"])
        #expect(try values("$.access[0].refused[*].refused") == ["tls.insecure"])
        #expect(try values("$.access[0].policy[*].rule") == ["operator/policy.yaml:2"])

        try scene.folder.write("room/job.yaml", "tasks: [{ id: a, url: https://a.example/x, to: a }]")
        let plan = try scene.binary.run(arguments: ["plan", "room/job.yaml", "--policy", "operator/policy.yaml"])
        #expect(plan.exitStatus == 0 && plan.outputText.contains("`limits.timeout`: 1 h (operator/policy.yaml:2)"))
        #expect(plan.outputText.contains("cancelled after 1 h"), "\(plan.outputText)")
    }

    /// The operator's file lies outside the room, and is read before the room is closed.
    @Test func aConfinedJob_isUnderAPolicyToo() throws {
        let scene = try Scene()
        defer { scene.server.stop() }
        scene.server.on("/a", .redirect(302, to: "http://localhost:\(scene.server.port)/b"))
        let run = try scene.run(
            "hosts: { allow: [127.0.0.1] }", scene.task("/a"),
            ["--confine", "room", "--allow-address", "127.0.0.0/8"])
        #expect(run.exitStatus == 1 && scene.server.requests().map(\.path) == ["/a"], "\(run.errorText)")
        #expect(
            try scene.report("$.tasks[0].error.message").first?.contains("the policy operator/policy.yaml:1") == true)
    }

    /// What is handed over is under the rules that the command names, and comes back under no other.
    @Test func aBackgroundSession_takesThePolicyAlong() throws {
        let stage = try BackgroundStage()
        stage.server.on("/a", .redirect(302, to: "http://localhost:\(stage.server.port)/b"))
        let policy = try stage.stage.folder.write("policy.yaml", "hosts: { allow: [127.0.0.1] }")
        let run = try stage.stage.run(stage.job(stage.task("a")), "--policy", policy)
        #expect(run.status == 1 && stage.server.requests().map(\.path) == ["/a"], "\(run.errorText)")
        #expect(try run.task("a", "error.name") == "addressRefused")
        #expect(try run.task("a", "error.message")?.contains("the policy \(policy):1 allows no host but") == true)
    }
}
