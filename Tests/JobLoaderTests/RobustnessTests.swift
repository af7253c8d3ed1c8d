import Diagnostics
import JobLoader
import Testing
import TransferModel

/// Files that nobody meant to write.
struct RobustnessTests {
    private static let whole = """
        version: 1
        name: all
        variables: { a: "1", b: "${a}", c: true }
        secrets: { K: { env: HOME, hosts: ["*.example.org"] } }
        limits: { maximumConcurrentTasks: 3, finishBy: 1h, hosts: { "*": { maximumConnections: 2 } } }
        groups: { site: { to: public, extraneous: remove } }
        sessions:
          main:
            configuration: ephemeral
            tls: { minimum: "1.2", trust: { ca: ca.pem } }
            proxy: { http: "http://p.example.org", bypass: [10.0.0.0/8] }
            credentials: [{ host: example.org, user: a, password: "${secret.K}" }]
            window: { from: "22:00", to: "06:00", days: [monday] }
            requestsPerSecond: { rate: 5, burst: 2 }
          other: { extends: main, cache: { rules: [{ scheme: https, storage: notAllowed }] } }
        defaults: { session: main, headers: { X: "${a}" }, retry: { attempts: 2 } }
        tasks:
          - id: "a${n}"
            forEach: { n: 1..3, m: [{ k: v }] }
            url: https://example.org/${n}?q=${m.k}
            to: out/${n}
            checksum: md5:d41d8cd98f00b204e9800998ecf8427e
            expect: { status: [200, 3xx], body: { json: { "$.a": 1 } } }
          - { id: b, needs: ["a*"], url: "data:,x", capture: { v: { json: $.x, secret: true } } }
          - { id: c, session: other, url: "https://example.org/${tasks.b.v}", body: { multipart: [{ name: f, data: x }] } }
        """

    @Test func theWholeIsRight() {
        let result = load(Self.whole, environment: ["HOME": "h"])
        #expect(result.messages == "")
        #expect(result.job?.tasks.count == 5)
        #expect(result.job?.tasks[4].needs == [TaskIndex(raw: 3)])
    }

    /// Values, keys and whole lines go astray: whatever comes of it is a job or located errors, never a crash.
    @Test func strayBytesAreDiagnosed() {
        let seed = Seed.value
        var generator = Seed.generator(seed)
        let words = [
            "[]", "{}", "~", "yes", "-1", "${", "${a}", "${x:-${b}}", "1..2", "*", "&x", "\"\"", "a: b", "99999999999",
            "é", "$$", "null:",
        ]
        let lines = Self.whole.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for _ in 0..<Seed.rounds(400) {
            var changed = lines
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let line = Int.random(in: 0..<changed.count, using: &generator)
                var parts = changed[line].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
                let part = Int.random(in: 0..<max(parts.count, 1), using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: changed[line] = ""
                case 1: changed[line] += " " + (words.randomElement(using: &generator) ?? "")
                default:
                    if part < parts.count { parts[part] = words.randomElement(using: &generator) ?? "" }
                    changed[line] = parts.joined(separator: " ")
                }
            }
            let result = load(changed.joined(separator: "\n"), environment: ["HOME": "h"])
            #expect((result.job == nil) == result.diagnostics.hasErrors, "TRANSFER_RUN_SEED=\(seed)")
            for item in result.diagnostics.items + result.notBuilt {
                let line = Int(item.span?.line ?? 0)
                #expect(line >= 1 && line <= lines.count + 1, "\(item.message), TRANSFER_RUN_SEED=\(seed)")
                #expect(!item.message.isEmpty)
            }
        }
    }

    @Test func tooManyTasksAreRefused() {
        let text = "tasks:\n  - { id: \"a${n}-${m}\", forEach: { n: 1..1000000, m: 1..2 }, url: https://example.org/ }"
        #expect(load(text).summary == ["2:5 too-many-tasks"])
    }

    /// A generator's one mistake is in every task: saying so must not take longer than reading them.
    @Test func manyMistakesAreSaidQuickly() {
        var text = "tasks:\n"
        for number in 0..<5_000 {
            text += "  - { id: t\(number), needs: [x\(number)], url: https://example.org/, to: same }\n"
        }
        let start = ContinuousClock.now
        #expect(load(text).diagnostics.items.count == 5_000 + 4_999)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func aCopyOfABackgroundSessionThatIsNoneHasItsOwnDefaults() throws {
        let text = """
            sessions:
              bg: { configuration: background, identifier: x.y }
              fg: { extends: bg, configuration: default }
            tasks: [{ id: t, session: fg, url: https://example.org/ }]
            """
        let sessions = try #require(load(text).job).sessions
        #expect(sessions[0].durability == .flush)
        #expect(sessions[1].durability == .none)
        #expect(!sessions[1].taskDefaults.waitsForConnectivity)
    }
}
