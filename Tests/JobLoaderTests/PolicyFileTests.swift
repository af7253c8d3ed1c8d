import Diagnostics
import JobLoader
import Testing
import TransferModel

/// The file of `--policy`, and what of a job it refuses or changes when that is read.
@Suite struct PolicyFileTests {
    private func read(_ text: String) -> (policy: LoadedPolicy?, said: String) {
        let (policy, found) = PolicyLoader.load(SourceText(name: "p.yaml", bytes: Array(text.utf8)))
        return (policy, DiagnosticRenderer.text(found.sorted(), color: false))
    }

    private func look(_ job: String, under policy: String, templates: TemplateValues? = nil) throws -> LoadResult {
        let (loaded, said) = read(policy)
        var options = LoadOptions()
        let rules: LoadedPolicy = try #require(loaded, "\(said)")
        options.policy = rules
        return JobLoader.load(
            SourceText(name: "/job/jobs.yaml", bytes: Array(job.utf8)), options: options, resources: world(),
            notesAccess: true, templates: templates)
    }

    private func errors(_ result: LoadResult) -> [String] { result.summary.filter { !$0.contains("warning") } }

    // MARK: The file

    @Test func everyRule_hasItsPlace() throws {
        let policy = try #require(
            read(
                """
                version: 1
                hosts:
                  allow: ["*.example.org", example.org:8443]
                  deny:
                    - bad.example.org
                addresses: { deny: [private], allow: [10.1.0.0/16] }
                rewrite: [{ match: "^https://a\\\\.test/", to: "https://mirror.test/" }]
                tls: { minimum: "1.3", insecure: false }
                limits:
                  tasks: 1000
                  bytes: 10GiB
                  time: 1h
                  maximumConcurrentTasks: 8
                  maximumConnectionsPerHost: 4
                  requestsPerSecond: 5
                  bandwidth: 10MB/s
                commands: false
                """
            ).policy
        ).rules
        #expect(policy.hosts.allow?.value.map(\.description) == ["*.example.org", "example.org:8443"])
        #expect(policy.hosts.allow?.place == "p.yaml:3" && policy.hosts.deny.map(\.place) == ["p.yaml:5"])
        #expect(policy.addresses.owner == .policy && policy.addresses.deny.map(\.place) == ["p.yaml:6"])
        #expect(policy.addresses.allow.count == 1 && policy.rewrite.map(\.to) == ["https://mirror.test/"])
        #expect(
            policy.minimumTLS == .init(.v1_3, place: "p.yaml:8") && policy.insecure == .init(false, place: "p.yaml:8"))
        #expect(policy.limits.tasks == .init(1000, place: "p.yaml:10"))
        #expect(policy.limits.bytes == .init(10 << 30, place: "p.yaml:11"))
        #expect(policy.limits.time == .init(.seconds(3600), place: "p.yaml:12"))
        #expect(policy.limits.maximumConcurrentTasks == .init(8, place: "p.yaml:13"))
        #expect(policy.limits.maximumConnectionsPerHost == .init(4, place: "p.yaml:14"))
        #expect(policy.limits.requestsPerSecond == .init(RequestRate(perSecond: 5), place: "p.yaml:15"))
        #expect(policy.limits.bandwidth == .init(10_000_000, place: "p.yaml:16"))
        #expect(policy.commands == .init(false, place: "p.yaml:17"))
    }

    @Test(arguments: [
        ("", "p.yaml:1:1: error: the policy is empty", "hosts:"), ("# nothing\n", "the policy is empty", ""),
        ("host: {}", "p.yaml:1:1: error: unknown key `host` in a policy", "did you mean `hosts`?"),
        ("hosts: { alow: [a] }", "p.yaml:1:10: error: unknown key `alow` in `hosts`", "did you mean `allow`?"),
        ("hosts: { allow: }", "p.yaml:1:10: error: `allow` has no value", "leave the key out"),
        ("hosts:\n", "p.yaml:1:1: error: `hosts` has no value", ""), ("commands:", "`commands` has no value", ""),
        ("hosts: { allow: [\"a*b\"] }", "p.yaml:1:18: error", "^"), ("hosts: { allow: a.test }", "must be a list", ""),
        ("hosts: { deny: [\"https://a.test/x\"] }", "p.yaml:1:17", "without scheme and path"),
        ("addresses: { deny: [privat] }", "`privat` is no class of addresses", "did you mean `private`?"),
        ("tls: { minimum: \"1.4\" }", "`minimum` must be", "1.4"),
        ("tls: { insecure: no }", "`true` or `false`", "write `false`"),
        ("limits: { tasks: 0 }", "p.yaml:1:18", "`tasks`"), ("limits: { time: 0s }", "`time`", ""),
        ("limits: { bytes: many }", "`bytes` must be", ""), ("limits: { timeout: 1h }", "unknown key `timeout`", ""),
        ("rewrite: [{ match: \"(\", to: x }]", "p.yaml:1:20: error: `(` is no regular expression", ""),
        ("rewrite: [{ match: a, to: $1 }]", "names the group `$1`", ""),
        ("version: 2", "`version`", ""), ("[]", "a policy must be a map, not a list", ""), ("hosts: {", "error", ""),
        ("commands: ${env.X}", "env.X", ""), ("commands: false\ncommands: true", "duplicate", ""),
    ])
    func whatIsWrong_isSaid(text: String, message: String, hint: String) {
        let (policy, said) = read(text)
        #expect(policy == nil && said.contains(message) && said.contains(hint), "\(said)")
    }

    @Test func thePage_holdsTheTables() {
        let page = Files.read("\(Files.root)/docs/policy.md").map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(page.contains(PolicyReference.tables()), "docs/policy.md lacks:\n\(PolicyReference.tables())")
    }

    // MARK: What it refuses of a job

    private static let one = "tasks: [{ id: a, url: https://a.test/x, to: x }]"

    /// A policy, a job, and place and rule of what is refused.
    @Test(arguments: [
        ("hosts: { allow: [b.test] }", one, "1:23", "hosts.allow"),
        ("hosts: { deny: [\"*.test\"] }", one, "1:23", "hosts.deny"),
        (
            "hosts: { allow: [a.test] }", "tasks: [{ id: a, urls: [https://a.test/x, https://b.test/x], to: x }]",
            "1:43", "hosts.allow"
        ),
        (
            "hosts: { allow: [a.test] }",
            "tasks: [{ id: a, url: https://a.test/x, to: x, checksum: { from: https://b.test/sums, algorithm: sha256 } }]",
            "1:66",
            "hosts.allow"
        ),
        (
            "hosts: { allow: [a.test] }",
            "tasks: [{ id: a, url: \"https://b.test/${tasks.b.n}\", to: x },"
                + " { id: b, url: https://a.test/y, capture: { n: { header: N } } }]", "1:23", "hosts.allow"
        ),
        (
            "hosts: { allow: [a.test] }", "sessions: { s: { proxy: \"http://p.test:3128\" } }\n\(one)", "1:25",
            "hosts.allow"
        ),
        (
            "hosts: { allow: [a.test] }", "sessions: { s: { connectTo: { \"a.test:443\": \"b.test:443\" } } }\n\(one)",
            "1:45",
            "hosts.allow"
        ),
        (
            "hosts: { allow: [a.test] }",
            "sessions: { s: { credentials: [{ host: a.test, oauth2: { tokenURL: \"https://b.test/t\", clientID: i, "
                + "clientSecret: s } }] } }\n\(one)", "1:68", "hosts.allow"
        ),
        ("commands: false", "onFinish: [id]\n\(one)", "1:11", "commands"),
        (
            "commands: false", "tasks: [{ id: a, url: https://a.test/x, body: { stream: { command: [cat, x] } } }]",
            "1:68",
            "commands"
        ),
        ("commands: false", "tasks: [{ id: a, url: https://a.test/x, to: x, onFinish: [id] }]", "1:58", "commands"),
        (
            "commands: false", "sessions: { s: { protocols: [{ scheme: own, command: [./own] }] } }\n\(one)", "1:54",
            "commands"
        ),
        (
            "commands: false", "sessions: { s: { credentials: [{ host: a.test, helper: [store] }] } }\n\(one)", "1:56",
            "commands"
        ),
        (
            "tls: { insecure: false }", "sessions: { s: { tls: { trust: { policy: insecure } } } }\n\(one)", "1:42",
            "tls.insecure"
        ),
        ("tls: { minimum: \"1.3\" }", "sessions: { s: { tls: { maximum: \"1.2\" } } }\n\(one)", "1:18", "tls.minimum"),
        (
            "limits: { tasks: 1 }",
            "tasks:\n  - { id: a, url: https://a.test/x }\n  - { id: b, url: https://a.test/y }", "3:1",
            "limits.tasks"
        ),
    ])
    func job_isRefusedAtItsLine(_ policy: String, _ job: String, _ place: String, _ rule: String) throws {
        #expect(load(job).job != nil, "\(load(job).messages)")
        let result = try look(job, under: policy)
        #expect(errors(result) == ["\(place) policy"] && result.job == nil, "\(result.messages)")
        #expect(result.messages.contains("the policy p.yaml:1 "), "\(result.messages)")
        let access = try #require(result.access)
        let refusals = access.entries.compactMap(\.refusal) + access.refused.map(\.refusal)
        #expect(refusals.map(\.rule) == [rule] && refusals.map(\.place) == ["p.yaml:1"])
    }

    /// What is not forbidden may be, and what is known in the run is decided there.
    @Test(arguments: [
        ("hosts: { allow: [a.test] }", one), ("hosts: { deny: [b.test] }", one),
        ("commands: true", "onFinish: [id]\n\(one)"),
        ("commands: false", one), ("limits: { tasks: 1 }", one),
        ("tls: { insecure: true }", "sessions: { s: { tls: { trust: { policy: insecure } } } }\n\(one)"),
        (
            "hosts: { allow: [a.test] }",
            "tasks: [{ id: a, url: \"${tasks.b.n}\", to: x }, { id: b, url: https://a.test/y, capture: { n: { header: N } } }]"
        ),
        ("hosts: { allow: [a.test] }", "tasks: [{ id: a, url: https://a.test/x, mainDocument: https://b.test/ }]"),
        (
            "hosts: { allow: [a.test] }",
            "tasks: [{ id: a, url: \"file:///etc/hosts\", to: x }, { id: b, url: \"data:,x\" }]"
        ),
    ]) func otherJobs_areRead(_ policy: String, _ job: String) throws {
        let result = try look(job, under: policy)
        #expect(result.job?.policy != nil, "\(result.messages)")
    }

    @Test func urls_areRewritten_andThenJudged() throws {
        let policy = """
            hosts: { allow: [mirror.test] }
            rewrite: [{ match: "^https://([a-z]+)\\\\.test/", to: "https://mirror.test/$1/" }]
            """
        let result = try look(
            "tasks: [{ id: a, urls: [https://a.test/x, \"https://b${variable}.test/y\"], to: x }]\nvariables: { variable: c }",
            under: policy)
        let task = try #require(result.job?.tasks.first, "\(result.messages)")
        #expect(
            task.options.values.mirrors.compactMap { $0.url?.text } == [
                "https://mirror.test/a/x", "https://mirror.test/bc/y",
            ])
        #expect(try errors(look("tasks: [{ id: a, url: https://a1.test/x, to: x }]", under: policy)) == ["1:23 policy"])
        // A URL that is not whole yet is judged in the run.
        let late = "tasks: [{ id: a, url: \"https://a.test/${tasks.b.n}\", to: x }, "
        let known = "{ id: b, url: https://b.test/y, capture: { n: { header: N } } }]"
        #expect(try errors(look(late + known, under: policy)).isEmpty)
        let broken = try look(Self.one, under: "rewrite: [{ match: \"https\", to: \"\" }]")
        #expect(errors(broken) == ["1:23 policy"] && broken.messages.contains("the policy's `rewrite` makes"))
    }

    @Test func looserValues_areLowered_withANote() throws {
        let result = try look(
            "sessions: { s: {}, t: { tls: { minimum: \"1.3\" } } }\nlimits: { timeout: 1d }\n"
                + "tasks: [{ id: a, session: s, url: https://a.test/x, to: x }]",
            under: "tls: { minimum: \"1.3\" }\nlimits: { time: 1h, bytes: 1MiB }")
        var job = try #require(result.job, "\(result.messages)")
        #expect(job.sessions.allSatisfy { $0.tls.minimum == .v1_3 && $0.policy == job.policy })
        // Limits of the run are held when all is known that the command line says.
        #expect(job.limits.timeout == .seconds(86_400))
        job.holdLimits()
        #expect(job.limits.timeout == .seconds(3600) && job.limits.maximumBytes == 1 << 20)
        #expect(
            result.access?.notes.map { "\($0.what) \($0.place)" }.suffix(2)
                == ["`limits.timeout`: 1 h p.yaml:2", "`limits.maximumBytes`: 1.0 MiB p.yaml:2"])
        #expect(result.access?.notes.contains { $0.what.contains("session `s`") && $0.place == "p.yaml:1" } == true)
        #expect(result.access?.notes.contains { $0.what.contains("session `t`") } == false)
    }

    /// A process that takes the run over has the same rules.
    @Test func policy_isHandedOverWithTheJob() throws {
        var options = LoadOptions()
        let policy: LoadedPolicy = try #require(read("hosts: { deny: [b.test] }\nlimits: { tasks: 1 }").policy)
        options.policy = policy
        let recorder = InputRecorder(world())
        let source = SourceText(name: "/job/jobs.yaml", bytes: Array(Self.one.utf8))
        _ = JobLoader.load(source, options: options, resources: recorder.resources)
        let handed = try RecordedInputs(recorder.recorded(source, options: options).encoded())
        #expect(handed.load().job?.policy == options.policy?.rules)
        let plain = try RecordedInputs(recorder.recorded(source, options: LoadOptions()).encoded())
        #expect(plain.options.policy == nil && plain.load().job?.policy == nil)
    }

    /// What a list becomes in the run is counted with the rest of the job.
    @Test func tasksOfATemplate_areCounted() throws {
        let job = """
            tasks:
              - { id: list, url: https://a.test/l, capture: { n: { json: "$[*]", all: true } } }
              - { id: "g-${n.index}", forEach: { n: { captured: tasks.list.n } }, url: "${n}", to: "${n.index}" }
            """
        func made(_ names: [String], under policy: String) throws -> LoadResult {
            var captured = CapturedValues()
            captured.keep(
                [CapturedValue(name: "n", text: "", value: .list(names.map { .string("https://\($0).test/x") }))],
                of: "list")
            return try look(job, under: policy, templates: TemplateValues(order: [0], captured: captured))
        }
        #expect(try made(["b", "c"], under: "limits: { tasks: 3 }").added?.count == 2)
        #expect(try made(["b", "c"], under: "limits: { tasks: 2 }").messages.contains("the policy p.yaml:1 allows 2"))
        // A host that an answer names is judged before its request.
        #expect(try made(["b", "c"], under: "hosts: { deny: [c.test] }").added?.count == 2)
    }
}
