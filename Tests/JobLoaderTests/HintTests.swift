import Diagnostics
import JobLoader
import Testing
import TransferModel

/// What messages say would be right.
struct HintTests {
    /// A value of a wrong type is answered with one correct line for its key, which is correct indeed.
    @Test(arguments: [
        ("retry: 3", "retry: { attempts: 3 }"), ("expect: 200", "expect: { status: 200 }"),
        ("headers: [a, b]", "headers: { Accept: application/json }"), ("needs: { a: b }", "needs: [first, second]"),
        ("needs: other", "needs: [other]"), ("query: a=b", "query: { page: 2 }"), ("capture: [a]", nil),
        ("body: text", "body: { json: { name: nightly } }"), ("onFinish: ./done.sh", "onFinish: [./done.sh]"),
        ("onFinish: ./done.sh now", "onFinish: [./publish.sh, nightly]"), ("next: link", "next: { link: next }"),
        ("allowFailure: [404]", "allowFailure: { status: [404] }"), ("labels: [a]", "labels: { team: web }"),
        ("redirects: never", "redirects: { follow: sameHost }"), ("minimumRate: 1kB/s", nil),
        ("onResponse: cancel", nil), ("urls: https://example.org/f", nil),
    ])
    func aWrongTypeIsToldWithARightLine(_ key: String, _ line: String?) throws {
        let head =
            "tasks:\n  - { id: first, url: https://e.org/ }\n  - { id: second, url: https://e.org/ }\n"
            + "  - { id: other, url: https://e.org/ }\n"
        let place = key.hasPrefix("urls") ? "" : ", url: https://e.org/t"
        func result(_ key: String) -> LoadResult { load(head + "  - { id: t\(place), \(key) }\n") }
        let told = result(key)
        #expect(told.diagnostics.sorted().first?.code == "wrong-type", "\(told.messages)")
        let hint = try #require(told.diagnostics.sorted().first?.hint)
        let words = hint.split(separator: "`")
        let shown = String(try #require(words.dropFirst().first))
        if let line { #expect(shown == line) }
        #expect(result(shown).messages == "")
    }

    /// The same of sessions, and of the top level.
    @Test(arguments: [
        ("tls: insecure", true), ("http: 2", true), ("cookies: never", true), ("cache: 3", true),
        ("connectTo: [a]", true), ("tracing: true", true), ("window: night", true), ("credentials: me", true),
        ("challenges: use", true), ("limits: 3", false), ("report: [a]", false), ("groups: [a]", false),
        ("secrets: [A]", false), ("variables: [a]", false), ("sessions: [a]", false), ("defaults: [a]", false),
    ])
    func aWrongTypeOutsideOfTasksIsToldWithARightLine(_ key: String, _ isOfSession: Bool) throws {
        func result(_ key: String) -> LoadResult {
            let line = isOfSession ? "sessions: { default: { \(key) } }" : key
            return load(line + "\ntasks: [{ id: t, url: https://e.org/ }]", environment: ["PASSWORD": "secret"])
        }
        let told = try #require(result(key).diagnostics.sorted().first)
        #expect(told.code == "wrong-type")
        let hint = try #require(told.hint, "\(told.message)")
        let shown = String(try #require(hint.split(separator: "`").dropFirst().first))
        #expect(result(shown).messages == "")
    }

    @Test(arguments: [
        ("json: { a: 1 }", "write `body: { json: … }`"), ("bearer: x", "Authorization: \"Bearer ${secret.NAME}\""),
        ("basicAuth: me:x", "did you mean `credentials`?"),
        ("capture: { t: $.t }", "`capture: { token: { json: $.token } }`"),
        ("if: failed", "did you mean `when`?"), ("verify: false", "policy: insecure"),
        ("insecure: true", "policy: insecure"), ("limits: { bandwidth: 1MB/s }", "the top level of the file"),
    ])
    func aKeyOfOtherToolsIsUnderstood(_ key: String, _ hint: String) {
        #expect(load(dataTask(key)).messages.contains(hint))
    }

    @Test func aTrustThatIsMeantIsNamedAtEachDepth() {
        for tls in ["insecure: true", "tls: { verify: false }", "tls: { trust: { insecure: true } }"] {
            let result = load("sessions: { default: { \(tls) } }\ntasks: [{ id: t, url: https://e.org/ }]")
            #expect(result.messages.contains("`tls: { trust: { policy: insecure } }`"), "\(result.messages)")
        }
    }

    /// A task that `forEach` makes in mid-run has no id before, and a misspelled id is a slip.
    @Test(arguments: [
        ("f-1", "`f-${n.index}` becomes its tasks in the run: `--only 'f-${n.index}'` means all of them"),
        ("f-*x", "`f-${n.index}` becomes its tasks in the run: `--only 'f-${n.index}'` means all of them"),
        ("lst", "did you mean `list`?"), ("nothing", "there are `list`, `f-${n.index}`"),
    ])
    func whatOnlyDoesNotFindIsExplained(_ pattern: String, _ hint: String) throws {
        let job = try #require(
            load(
                """
                tasks:
                  - { id: list, url: https://e.org/, capture: { names: { json: "$[*]", all: true } } }
                  - { id: "f-${n.index}", forEach: { n: { captured: tasks.list.names } }, url: "https://e.org/${n}" }
                """
            ).job)
        let problem = #expect(throws: TaskSelection.Problem.self) { try TaskSelection(only: [pattern]).apply(to: job) }
        #expect(problem?.hint == hint)
        #expect(try TaskSelection(only: ["f-${n.index}"]).apply(to: job).tasks.count == 2)
    }

    /// No task can write a file where another needs a folder.
    @Test func aFileIsNoFolderOfAnotherTask() {
        func result(_ first: String, _ second: String) -> LoadResult {
            load(
                "tasks: [{ id: a, url: https://e.org/a, to: \(first) }, { id: b, url: https://e.org/b, to: \(second) }]"
            )
        }
        for (first, second) in [("out", "out/x"), ("out/x/y", "out"), ("out", "out/"), ("out", "./out/a/b/")] {
            #expect(result(first, second).messages.contains("which is the file of"), "\(first) \(second)")
        }
        for (first, second) in [("out", "outer/x"), ("out/x", "out/y"), ("out/", "out/y"), ("/out", "out/x")] {
            #expect(result(first, second).messages == "", "\(first) \(second)")
        }
    }

    /// No shell reads a job: what it would replace is the name of a folder.
    @Test(arguments: [
        ("~/a", "HOME"), ("$HOME/a", "HOME"), ("\"$OUT/a\"", "OUT"), ("./~/a", nil), ("a$HOME", nil), ("~a/b", nil),
        ("\"${env.HOME}/a\"", nil), ("$$HOME/a", nil),
    ])
    func aPathForAShellIsWarnedOf(_ path: String, _ name: String?) {
        let job = "tasks: [{ id: a, url: https://e.org/a, to: \(path) }]"
        let result = load(job, environment: ["HOME": "/h"])
        #expect(result.summary == (name == nil ? [] : ["1:44 warning no-shell"]), "\(result.messages)")
        if let name { #expect(result.messages.contains("write `${env.\(name)}`")) }
    }
}
