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
        ("basicAuth: me:x", "write `credentials: [{ user: me, password: \"${secret.PASSWORD}\" }]`"),
        ("upload: x", "`method: PUT, body: { file: FILE }`"), ("form: { a: b }", "write `body: { form: … }`"),
        ("retries: 3", "write `retry: { attempts: 3 }`"), ("sha256: abc", "write `checksum: \"sha256:…\"`"),
        ("timeout: 5m", "`timeoutForResource` that of the whole task"),
        ("loop: [a]", "write `forEach: { name: [a, b] }`"),
        ("after: [a]", "did you mean `needs`?"), ("limit-rate: 1MB/s", "did you mean `bandwidth`?"),
        ("credentials: [{ username: a }]", "did you mean `user`?"), ("retry: { delay: 5s }", "did you mean `backoff`?"),
        ("capture: { t: $.t }", "`capture: { token: { json: $.token } }`"),
        ("if: failed", "did you mean `when`?"), ("verify: false", "policy: insecure"),
        ("insecure: true", "policy: insecure"), ("limits: { bandwidth: 1MB/s }", "the top level of the file"),
    ])
    func aKeyOfOtherToolsIsUnderstood(_ key: String, _ hint: String) {
        #expect(load(dataTask(key)).messages.contains(hint))
    }

    /// One cause, one line: its names are unknown for that reason alone.
    @Test(arguments: ["foreach", "forEeach", "loop", "with_items"])
    func aMisspelledForEachIsToldOnce(_ key: String) {
        let result = load("tasks: [{ id: \"a${n}\", url: \"https://e.org/${n}\", to: \"${n}\", \(key): { n: [1] } }]")
        #expect(result.summary == ["1:63 unknown-key"], "\(result.messages)")
    }

    /// A key that stands for a missing one is the only fault.
    @Test(arguments: [
        ("sha256: abc", "a checksum of its own is text: `checksum: \"sha256:…\"`"),
        ("url: https://e.org/SHA256SUMS", "did you mean `from`?"), ("frm: list", "did you mean `from`?"),
    ])
    func aWrongKeyOfAChecksumIsToldOnce(_ key: String, _ hint: String) {
        let told = load("tasks: [{ id: a, url: https://e.org/a, to: a, checksum: { \(key) } }]").diagnostics.sorted()
        #expect(told.map(\.code) == ["unknown-key"] && told.first?.hint == hint, "\(told.first?.hint ?? "")")
    }

    /// Only what can be read is offered.
    @Test(arguments: [
        ("5min", "5m"), ("5 minutes", "5m"), ("1 hour 30 minutes", "1h30m"), ("PT5M", "5m"), ("1.5hrs", "1.5h"),
        ("90 s", "90s"), ("5S", "5s"), ("five", nil), ("30m1h", nil), ("5 parsecs", nil), ("min", nil), ("", nil),
    ])
    func aDurationWithOtherUnitsIsUnderstood(_ text: String, _ meant: String?) {
        #expect(ValueText.durationHint(text) == meant.map { "did you mean `\($0)`?" })
    }

    @Test(arguments: [
        ("2026-12-01 10:00", "did you mean `2026-12-01T10:00:00Z`?"),
        ("2026-12-01T10:00", "did you mean `2026-12-01T10:00:00Z`?"), ("2026-12-01", "`2026-12-01T00:00:00Z`"),
        ("2 hours", "did you mean `2h`?"), ("tomorrow", nil), ("2026-13-01 10:00", nil),
    ])
    func aDateThatIsNearlyRightIsUnderstood(_ text: String, _ hint: String?) throws {
        let told = try #require(load(dataTask("earliestBegin: \"\(text)\"")).diagnostics.sorted().first)
        #expect(hint.map { told.hint?.contains($0) == true } ?? (told.hint == nil), "\(told.hint ?? "")")
    }

    @Test(arguments: [
        ("localhost:8080/x", "write `http://localhost:8080/x`"), ("127.0.0.1/x", "write `http://127.0.0.1/x`"),
        ("SHA256SUMS.minisig", nil), ("example.org", nil),
        ("example.org:8443/x?a", "write `https://example.org:8443/x?a`"),
        ("http:/example.org/x", "write `http://example.org/x`"), ("//example.org/x", "write `https://example.org/x`"),
        ("/etc/hosts", "write `file:///etc/hosts`"), ("file", nil), ("exa mple.org", nil), ("a.b:c/d", nil),
        ("http:", nil),
    ])
    func aURLWithoutItsBeginningIsUnderstood(_ url: String, _ hint: String?) throws {
        let told = try #require(load("tasks: [{ id: a, url: \"\(url)\" }]").diagnostics.sorted().first)
        #expect(told.code == "invalid-url" && told.hint == hint, "\(told.hint ?? "")")
    }

    /// `sftp` is near to `ftp` by its letters alone.
    @Test(arguments: [
        ("sftp", "`protocols`"), ("s3", "`method: awsSigV4`"), ("htpp", "did you mean `http`?"),
        ("depot", "`protocols`"),
    ])
    func aSchemeOfOtherProgramsIsAnswered(_ scheme: String, _ hint: String) throws {
        let told = try #require(load("tasks: [{ id: a, url: \"\(scheme)://e.org/x\" }]").diagnostics.sorted().first)
        #expect(told.code == "unknown-scheme" && told.hint?.contains(hint) == true, "\(told.hint ?? "")")
    }

    @Test func aTrustThatIsMeantIsNamedAtEachDepth() {
        for tls in ["insecure: true", "tls: { verify: false }", "tls: { trust: { insecure: true } }"] {
            let result = load("sessions: { default: { \(tls) } }\ntasks: [{ id: t, url: https://e.org/ }]")
            #expect(result.messages.contains("`tls: { trust: { policy: insecure } }`"), "\(result.messages)")
        }
    }

    /// A misspelled id is a slip. A task that `forEach` makes in mid-run has no id before, and is found in the run.
    @Test(arguments: [
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
        for found in ["f-${n.index}", "f-1", "f-*1", "*2", "f-*"] {
            #expect(try TaskSelection(only: [found]).apply(to: job).tasks.map(\.id) == ["list", "f-${n.index}"])
        }
    }

    /// Other tools write references with one sign, or with two braces.
    @Test(arguments: [
        ("https://h.test/$site/1", "3:19 warning foreign-reference", "write `${site}`"),
        ("https://h.test/{{ site }}/1", "3:19 warning foreign-reference", "write `${site}`"),
        ("$site/1", "3:19 invalid-url", "write `${site}` for `$site`"),
        ("{{site}}/1", "3:19 invalid-url", "write `${site}` for `{{site}}`"),
        ("https://h.test/$sites/$$site/$1", nil, ""),
    ])
    func aReferenceAsOtherToolsWriteItIsTold(_ url: String, _ summary: String?, _ hint: String) {
        let result = load("variables: { site: \"https://e.org\" }\ntasks:\n  - { id: a, url: \"\(url)\" }")
        #expect(result.summary == (summary.map { [$0] } ?? []), "\(result.messages)")
        #expect(result.diagnostics.sorted().first?.hint ?? "" == hint)
    }

    private static func task(_ line: String) -> String {
        let url = line.hasPrefix("url") ? "" : "    url: https://h.test/\n"
        return "variables: { known: x }\ntasks:\n  - id: a\n\(url)    \(line)\n"
    }

    /// What would be sent as it stands, though a value is meant.
    @Test(arguments: [
        ("headers: { Authorization: \"Bearer $TOKEN\" }", "`$TOKEN`", "${env.TOKEN}"),
        ("headers: { Authorization: [\"Bearer {{ api-token }}\"] }", "`{{ api-token }}`", "${env.API_TOKEN}"),
        ("headers: { X-Key: <your key> }", "`<your key>`", "${secret.your_key}"),
        ("headers: { X-Key: \"Bearer <token>\" }", "`<token>`", "${token}"),
        ("headers: { X-Key: \"{{known}}\" }", "`{{known}}`", "write `${known}`"),
        ("query: { page: \"$PAGE\" }", "`$PAGE`", "${env.PAGE}"),
        ("query: { t: [a, \"{{ secrets.T }}\"] }", "`{{ secrets.T }}`", "${secret.T}"),
        ("url: \"https://h.test/{id}/x\"", "`{id}`", "`${id}`"),
        ("url: \"https://h.test/?t={{token}}\"", "`{{token}}`", "${secret.token}"),
        ("url: \"https://h.test/$NAME/${tasks.b.v}\"", "`$NAME`", "${env.NAME}"),
        ("credentials: [{ host: h.test, method: bearer, token: $TOKEN }]", "`$TOKEN`", "${env.TOKEN}"),
        ("credentials: [{ host: h.test, user: me, password: <password> }]", "`<password>`", "${secret.password}"),
    ])
    func aPlaceholderThatIsSent_isWarnedOf(_ line: String, _ written: String, _ meant: String) {
        let result = load(
            Self.task(line) + "  - { id: b, url: https://h.test/, capture: { v: { json: $.v } } }\n")
        let found = result.diagnostics.sorted()
        #expect(result.job != nil && found.count == 1, "\(result.messages)")
        #expect(found.first?.message.contains("\(written) is plain text here") == true, "\(result.messages)")
        #expect(found.first?.hint?.contains(meant) == true, "\(result.messages)")
    }

    /// What other texts have of these signs is no placeholder.
    @Test(arguments: [
        "headers: { X: \"a $5 b, {id}, a < b > c, $$TOKEN\" }", "headers: { X-HTML: \"<b>x</b>\" }",
        "headers: { Link: \"<https://h.test/x>; rel=next\", From: \"me <me@h.test>\" }",
        "headers: { X-JSON: '{\"a\": {\"b\": \"<c>\"}}' }", "query: { $filter: \"id eq 5\", f: \"$top\" }",
        "expect: { headers: { X: \"^<id>$\" } }", "body: { data: \"$TOKEN {{x}} <y> {z}\" }",
        "body: { json: { a: \"{{x}}\" } }",
        "credentials: [{ host: h.test, user: me, password: \"$SECRET\" }]",
        "credentials: [{ host: h.test, user: me, password: \"a<b>{{c}}\" }]",
        "url: \"https://h.test/{6B29FC40-CA47-1067}/%7Bid%7D?q={a,b}\"", "url: \"https://me:pa$WORD@h.test/\"",
    ])
    func whatIsNoPlaceholder_isNotWarnedOf(_ line: String) {
        let result = load(Self.task(line))
        #expect(result.job != nil && result.messages == "", "\(result.messages)")
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

    /// A URL is no path: a folder of its scheme would be made.
    @Test(arguments: [
        ("https://e.org/x", "invalid-value"), ("ftp://e.org/x", "invalid-value"),
        ("S3://bucket/key", "invalid-value"), ("s3:bucket/key", "invalid-value"), ("s3:/bucket/key", "invalid-value"),
        ("\"https://e.org/${tasks.c.n}\"", "invalid-value"),
        ("./s3://a", nil), ("a:/b", nil),
    ])
    func aDestinationThatIsAURLIsRefused(_ to: String, _ code: String?) {
        let result = load(
            "tasks: [{ id: c, url: https://e.org/c, capture: { n: { json: $.n } } }, { id: a, url: https://e.org/a, to: \(to) }]"
        )
        #expect(
            (result.diagnostics.sorted() + result.notBuilt).map(\.code) == (code.map { [$0] } ?? []),
            "\(result.messages)")
    }

    private func object(_ to: String, _ more: String = "", _ credential: String = "") -> LoadResult {
        let keys = "{ method: awsSigV4, accessKey: a, secretKey: b, region: eu-north-1, service: s3\(credential) }"
        return load(
            """
            sessions: { default: { credentials: [\(keys)] } }
            tasks:
              - { id: c, url: "https://e.org/c", capture: { n: { json: $.n } } }
              - { id: a, url: "https://e.org/a", to: \(to)\(more) }
            """)
    }

    /// An object has a bucket and a key, and nothing of a file's.
    @Test(
        arguments: [
            ("s3://bucket/key", "", nil), ("s3://bucket/a/b c+d", "", nil), ("\"s3://bucket/a/${tasks.c.n}\"", "", nil),
            ("s3://", "", "names no bucket"), ("s3://b/key", "", "names no bucket"),
            ("s3://bucket", "", "names no object"),
            ("s3://bucket/", "", "names no object"), ("s3://bucket/a/", "", "names no object"),
            ("s3://bucket/a/../b", "", "has a `..`"), ("\"s3://bucket-${tasks.c.n}/x\"", "", "names no object"),
            ("s3://bucket/key", ", mode: \"0600\"", "`to: s3://…` and `mode`"),
            ("s3://bucket/key", ", next: { link: next }", "`to: s3://…` and `next`"),
            ("s3://bucket/key", ", resume: adopt", "`to: s3://…` and `resume: adopt`"),
            (
                "s3://bucket/key", ", existing: skip, checksum: \"md5:00000000000000000000000000000000\"",
                "`existing: skip` and `checksum`"
            ),
        ] as [(String, String, String?)])
    func anObjectIsNamedInFull(_ to: String, _ more: String, _ part: String?) {
        let result = object(to, more)
        if let part {
            #expect(result.messages.contains(part), "\(result.messages)")
            #expect(result.diagnostics.sorted().filter { $0.severity == .error }.count == 1, "\(result.messages)")
        } else {
            #expect(result.messages == "")
        }
    }

    @Test func whatBecomesAnObjectIsNoFileOfThisMachine() {
        let list = object(
            "s3://bucket/sums", " }\n  - { id: b, needs: [a], url: \"https://e.org/b\", to: b, checksum: { from: a }")
        #expect(list.messages.contains("`a` becomes an object of a store"), "\(list.messages)")
        let rows = object(
            "s3://bucket/rows",
            " }\n  - { id: \"b-${r.index}\", forEach: { r: { lines: { task: a } } }, url: \"${r}\", to: b")
        #expect(rows.messages.contains("`a` becomes an object of a store"), "\(rows.messages)")
        let twice = object("s3://bucket/x", " }\n  - { id: b, url: \"https://e.org/b\", to: \"s3://bucket/x\"")
        #expect(twice.messages.contains("both write `s3://bucket/x`"), "\(twice.messages)")
    }

    @Test func anObjectIsFetchedByItsPlainURL() {
        let source = object(
            "s3://bucket/key", " }\n  - { id: s, url: \"s3://bucket/a b\", to: s",
            ", endpoint: \"http://minio:9000\"")
        #expect(source.messages.contains("write `http://minio:9000/bucket/a%20b`"), "\(source.messages)")
    }

    @Test func aRuleMakesNoObject() {
        let rule = load(
            "tasks: [{ id: a, url: https://e.org/a, onResponse: [{ do: download, to: \"s3://bucket/key\" }] }]")
        #expect(rule.messages.contains("a download whose own `to` is `s3://bucket/key`"), "\(rule.messages)")
    }

    @Test func anObjectNeedsAKeyForIt() {
        let none = load("tasks: [{ id: a, url: https://e.org/a, to: s3://bucket/key }]")
        #expect(none.messages.contains("no credential of this task signs for `s3://bucket/key`"), "\(none.messages)")
        let elsewhere = load(
            """
            sessions:
              default: {}
              store: { credentials: [{ method: awsSigV4, accessKey: a, secretKey: b, region: c, service: s3 }] }
            tasks: [{ id: a, url: https://e.org/a, to: s3://bucket/key }]
            """)
        #expect(elsewhere.messages.contains("the session `store` has one: `session: store`"), "\(elsewhere.messages)")
        // What is wrong with the credential is said once.
        let misspelt = load(
            """
            sessions: { default: { credentials: [
              { method: awsSigV4, accessKey: a, secretAccessKey: b, region: c, service: s3 }] } }
            tasks: [{ id: a, url: https://e.org/a, to: s3://bucket/key }]
            """)
        #expect(misspelt.messages.contains("did you mean `secretKey`?"), "\(misspelt.messages)")
        #expect(!misspelt.messages.contains("signs for"), "\(misspelt.messages)")
        for (credential, part) in [
            (", endpoint: \"ftp://e.org\"", "`endpoint` is an http or https URL"),
            (", endpoint: \"https://u:p@e.org\"", "`endpoint` is an http or https URL"),
            (", endpoint: \"https://e.org/bucket\"", "names the bucket `bucket` already"),
            (", host: other.org, endpoint: \"https://e.org\"", "the key is for `other.org` alone"),
        ] {
            let messages = object("s3://bucket/key", "", credential).messages
            #expect(messages.contains(part), "\(messages)")
        }
    }

    /// The store's address follows from what the job says of it.
    @Test(arguments: [
        ("", "https://bucket.s3.eu-north-1.amazonaws.com/a%20b"),
        (", host: \"*.amazonaws.com\"", "https://bucket.s3.eu-north-1.amazonaws.com/a%20b"),
        (", host: s3.example.org", "https://s3.example.org/bucket/a%20b"),
        (", host: \"127.0.0.1:9000\"", "http://127.0.0.1:9000/bucket/a%20b"),
        (", endpoint: \"http://minio:9000/\"", "http://minio:9000/bucket/a%20b"),
        (", endpoint: \"https://bucket.s3.example.org\"", "https://bucket.s3.example.org/a%20b"),
    ])
    func whereAnObjectGoes(_ credential: String, _ url: String) throws {
        let job = try #require(object("s3://bucket/a b", "", credential).job)
        #expect(try job.tasks[1].options.values.object?.url().text == url)
        // Elsewhere the key is not shown.
        let isBound = credential.contains("host") || credential.contains("endpoint")
        #expect(job.tasks[1].options.values.policies.credentials.count == (isBound ? 1 : 0))
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
