import JobLoader
import Testing
import TransferModel

struct InterpolationTests {
    private func url(_ text: String, _ head: String, environment: [String: String] = [:]) -> String? {
        let job = load("\(head)\ntasks:\n  - { id: a, url: \"\(text)\", to: a }", environment: environment).job
        return job?.tasks.first?.location.url?.text
    }

    private func description(_ text: String, _ head: String = "", environment: [String: String] = [:]) -> String? {
        let result = load(dataTask("description: \(text)", head: head), environment: environment)
        return result.job?.tasks.first?.options.values.description
    }

    @Test func valuesKeepTheirText() {
        #expect(description("v${n}", "variables: { n: 3.10 }\n") == "v3.10")
        #expect(description("v${n}", "variables: { n: 0x1F }\n") == "v0x1F")
        #expect(description("v${n}", "variables: { n: \"${m}!\", m: true }\n") == "vtrue!")
    }

    @Test func dollarsThatAreNoReferenceStay() {
        #expect(description("\"$5 $x $$ $${a} a$\"") == "$5 $x $ ${a} a$")
    }

    @Test func fallbacksWorkAsInAShell() {
        let head = "variables: { empty: \"\", full: x }\n"
        #expect(description("\"${empty:-d}${full:-d}${none:-d}${none:-}\"", head) == "dxd")
        #expect(description("\"${none:-a${full}b${deep:-${full}}}\"", head) == "axbx")
        #expect(description("\"${env.A:-e}${env.B:-e}\"", head, environment: ["A": "1"]) == "1e")
        #expect(load(dataTask("description: \"${empty:?say ${full}}\"", head: head)).messages == "`${empty}`: say x")
    }

    @Test func urlsEncodeWhatIsPlacedInThem() {
        let head = "variables: { site: \"https://example.org/x?a=b\", v: \"a b/ä&c#d\" }"
        #expect(url("https://example.org/${v}/z", head) == "https://example.org/a%20b/%C3%A4%26c%23d/z")
        #expect(url("https://example.org/z?q=${v}", head) == "https://example.org/z?q=a%20b%2F%C3%A4%26c%23d")
        #expect(url("${site}&v=${v}", head) == "https://example.org/x?a=b&v=a%20b%2F%C3%A4%26c%23d")
        #expect(url("${none:-}${site}&v=${v}", head) == "https://example.org/x?a=b&v=a%20b%2F%C3%A4%26c%23d")
        #expect(url("https://example.org/${raw:v}", head) == "https://example.org/a%20b/%C3%A4&c")
        #expect(url("https://${h}.org/", "variables: { h: example }") == "https://example.org/")
        #expect(url("https://${raw:h}/", "variables: { h: \"example.org:8080\" }") == "https://example.org:8080/")
    }

    @Test func aWholeReferenceKeepsItsType() throws {
        let text = dataTask(
            "resume_: 1", "body: { json: { n: \"${n}\", b: \"${b}\", t: \"x${n}\", s: \"${s}\", l: [1, null] } }",
            head: "variables: { n: 3.10, b: false, s: \"7\" }\n"
        ).split(separator: "\n").filter { !$0.contains("resume_") }.joined(separator: "\n")
        let job = try #require(load(text).job)
        guard case .json(.object(let members))? = job.tasks[0].options.values.body else {
            Issue.record("no JSON body")
            return
        }
        #expect("\(members[0].value)" == "number(\"3.10\")")
        #expect("\(members[1].value)" == "boolean(false)")
        #expect("\(members[2].value)".hasPrefix("string"))
        #expect("\(members[3].value)".hasPrefix("string"))
    }

    @Test func textIsReadAsTheKeysType() throws {
        let job = try #require(
            load(
                task(
                    "resume: \"${env.R}\"", "timeoutForRequest: \"${env.T}s\"", "maximumSize: ${size}",
                    "priority: ${p}",
                    head: "variables: { size: 12, p: high }\n"), environment: ["R": "false", "T": "5"]
            ).job)
        let values = job.tasks[0].options.values
        #expect(values.resume == .no)
        #expect(values.policies.timeoutForRequest == .seconds(5))
        #expect(values.maximumSize == 12)
        #expect(values.priority == 0.75)
        #expect(load(task("resume: \"${env.R}\""), environment: ["R": "yes"]).summary == ["5:13 wrong-type"])
    }

    @Test func pathsAreHeldBack() {
        func to(_ text: String, _ environment: [String: String]) -> String? {
            load("tasks:\n  - { id: a, url: https://example.org/, to: \"\(text)\" }", environment: environment).job?
                .tasks[0]
                .destination
        }
        #expect(to("${env.D}/x", ["D": "../up"]) == "/job/../up/x")
        #expect(to("${env.D}/x", ["D": "/abs"]) == "/abs/x")
        #expect(to("out/${env.D}", ["D": "a/b"]) == "/job/out/a/b")
        #expect(to("out/${env.D}", ["D": "../b"]) == nil)
        #expect(to("out/.${env.D}/x", ["D": "."]) == nil)
        #expect(to("out/../${env.D}", ["D": "a..b"]) == "/job/out/../a..b")
    }

    @Test func aLongChainOfVariablesIsNoStack() {
        let count = 5_000
        var head = "variables:\n"
        for number in 0..<count { head += "  v\(number): \"${v\(number + 1)}\"\n" }
        head += "  v\(count): end\n"
        #expect(description("${v0}", head) == "end")
    }

    @Test func theCommandLineWins() throws {
        let text = dataTask("description: \"${a}-${b}-${c}\"", head: "variables: { a: 1, b: 2, c: 3 }\n")
        let options = LoadOptions(set: [("b", "x"), ("b", "y")], variablesFile: "vars.yaml")
        let result = load(text, files: ["/here/vars.yaml": "a: f\nb: f\n"], options: options)
        #expect(result.job?.tasks[0].options.values.description == "f-y-3")
        #expect(result.job?.variables.map(\.name) == ["a", "b", "c"])
    }
}

struct SecretTests {
    @Test func comeFromTheirPlacesInOrder() {
        func value(
            _ environment: [String: String], _ files: [String: String], _ file: String?, _ declared: String = "{}"
        ) -> String? {
            let text = dataTask("headers: { X: \"${secret.K}\" }", head: "secrets: { K: \(declared) }\n")
            let result = load(text, environment: environment, files: files, options: LoadOptions(secretsFile: file))
            return result.job?.tasks[0].options.values.headers.first?.value.revealed
        }
        let files = ["/here/s": "# mine\nK=from file=1\n", "/creds/K": "from creds\n", "/job/k": "declared\r\n"]
        let environment = ["CREDENTIALS_DIRECTORY": "/creds", "K": "from env", "OTHER": "other"]
        #expect(value(environment, files, "s") == "from file=1")
        #expect(value(environment, files, nil) == "from creds")
        // One newline is dropped, and no header has another in it.
        #expect(value(environment, files.merging(["/creds/K": "from creds\n\n"]) { $1 }, nil) == nil)
        #expect(value(["K": "from env"], files, nil) == "from env")
        #expect(value(["K": "from env"], files, nil, "{ file: k }") == "declared")
        #expect(value(["K": "from env", "OTHER": "other"], files, nil, "{ env: OTHER }") == "other")
        #expect(value(["K": "from env"], files, nil, "{ env: OTHER }") == nil)
    }

    /// A command may take one from the environment that the job only declares; one that is nowhere is missed by nobody.
    @Test func areKnownWhetherUsedOrNot() throws {
        let head =
            "secrets: { A: { env: B, hosts: [h.example] }, C: { file: c }, D: {}, E: { file: nowhere }, F: {} }\n"
        let result = load(
            dataTask(head: head), environment: ["B": "of the environment", "F": "abc"],
            files: ["/job/c": "of a file\n", "/here/s": "G=of the secrets file\n"],
            options: LoadOptions(secretsFile: "s"))
        #expect(result.summary == [])
        let job = try #require(result.job)
        #expect(job.secrets.map(\.name) == ["A", "C", "G"])
        #expect(job.secrets.map(\.value) == ["of the environment", "of a file", "of the secrets file"])
        #expect(job.secrets.map { $0.hosts?.count } == [1, nil, nil])
    }

    /// A file of secrets that is missing is one fault, however many secrets are used; those of other places have values.
    @Test func aMissingFileOfSecrets_isOneFault() {
        let result = load(
            dataTask("headers: { X: \"${secret.K}\", Y: \"${secret.L}\", Z: \"${secret.M:-none}\" }"),
            environment: ["L": "value"], files: ["/here/my.secrets": "K=a\n"],
            options: LoadOptions(secretsFile: "my.secret"))
        #expect(result.messages == "my.secret: no such file (did you mean `my.secrets`?)")
        #expect(result.job == nil)
    }

    /// `export` and quotes around a value are no part of it; what programs read differently is an error.
    @Test(arguments: [
        ("K=a=b", "a=b"), ("export K=a", "a"), ("  K=a", "a"), ("K='a $b \\n # \"c\"'", "a $b \\n # \"c\""),
        ("K=\"a # b\"", "a # b"), ("K=a\"b'c", "a\"b'c"), ("K=a#b $c \\", "a#b $c \\"), ("K=''", ""), ("K=", ""),
        ("# K=b\n\n  # c\nK=a\r\n", "a"), ("K=' a '", " a "), ("K=a b", "a b"),
        ("K=a # b", nil), ("K= a", nil), ("K=a ", nil), ("K=\"a", nil), ("K='a' # b", nil), ("K=\"a\\nb\"", nil),
        ("K=\"$a\"", nil), ("K=\"", nil), ("K='a'b'", nil), ("set K=a", nil), ("export K", nil), ("K", nil),
    ])
    func aLineOfTheSecretsFile(_ line: String, _ value: String?) {
        let result = load(
            dataTask("body: { data: \"<${secret.K}>\" }"), files: ["/here/s": line],
            options: LoadOptions(secretsFile: "s"))
        if let value {
            guard case .data(let text)? = result.job?.tasks[0].options.values.body else {
                Issue.record("\(result.messages)")
                return
            }
            #expect(text.revealed == "<\(value)>")
        } else {
            #expect(result.summary.contains { $0.hasSuffix("bad-file") }, "\(result.messages)")
        }
    }

    /// Whether a task can be sent with its secret is known before the run; only the run refuses it.
    @Test(arguments: [
        ("headers: { A: x, B: 'k ${secret.K}' }", "4:58 warning secret-elsewhere"),
        ("body: { json: { key: '${secret.K}' } }", "4:38 warning secret-elsewhere"),
        ("session: s", "4:5 warning secret-elsewhere"), ("headers: { A: x }", nil),
    ])
    func aSecretThatMayNotGoToTheHostIsTold(_ part: String, _ told: String?) {
        func summary(_ host: String) -> [String] {
            load(
                """
                secrets: { K: { hosts: [example.org] } }
                sessions: { default: {}, s: { headers: { C: "${secret.K}" } } }
                tasks:
                  - { id: a, url: https://\(host)/, \(part) }
                """, environment: ["K": "hush"]
            ).summary
        }
        #expect(summary("evil.net") == (told.map { [$0] } ?? []))
        #expect(summary("example.org") == [])
    }

    @Test func stayMarked() throws {
        let text = """
            secrets: { K: { hosts: ["*.example.org"] } }
            variables: { auth: "Bearer ${secret.K}" }
            tasks:
              - { id: a, url: "https://api.example.org/${secret.K}", headers: { Authorization: "${auth}", Plain: x } }
            """
        let job = try #require(load(text, environment: ["K": "a/b c"]).job)
        #expect(job.secrets.map(\.name) == ["K"] && job.secrets.map(\.value) == ["a/b c"])
        #expect(job.secrets.first?.hosts?.map(\.description) == ["*.example.org"])
        let fields = job.tasks[0].options.values.headers
        #expect(fields[0].value.redacted == "Bearer ***")
        #expect(fields[0].value.revealed == "Bearer a/b c")
        #expect(fields[0].value.secretBarred(from: Origin(scheme: "https", host: "evil.net", port: 443)) == "K")
        #expect(!fields[1].value.isSecret)
        #expect(job.variables == [.init(name: "auth", value: .string("Bearer ***"))])
        #expect(job.tasks[0].location.url?.text == "https://api.example.org/a/b%20c")
    }

    @Test func areNeverQuoted() {
        let text = dataTask(
            "timeoutForRequest: \"${secret.K}\"", "description: ${x:?it is ${secret.K}}", head: "secrets: { K: }\n")
        let result = load(text, environment: ["K": "hunter2"])
        #expect(result.job == nil)
        #expect(!result.messages.contains("hunter2"))
        let path = load(dataTask("body: { file: \"x/${secret.K}\" }"), environment: ["K": "../hunter2"])
        #expect(path.summary == ["4:19 path-escape"])
        #expect(!path.messages.contains("hunter2"))
        let url = load("tasks: [{ id: a, url: \"https://${secret.K}/\" }]", environment: ["K": "hunter2.-x_ y"])
        #expect(url.job == nil)
        #expect(!url.messages.contains("hunter2"))
    }

    /// A variable that is nowhere in the job is a slip of the pen.
    @Test(arguments: [
        ("relase", "did you mean `release`?"), ("nothing", "it has `inner`, `lone`, `message`, `release`"),
    ])
    func whatIsSetMustBeThere(_ name: String, _ hint: String) {
        let text = """
            variables: { release: "1" }
            tasks:
              - id: a-${row.index}
                forEach: { row: [1] }
                url: "https://example.org/${release}/${lone:-x${inner:-y}}/${message:?say it}"
                body: { data: "$${escaped}" }
            """
        let known = ["release", "lone", "inner"].map { ($0, "2") } + [("message", "m")]
        #expect(load(text, options: LoadOptions(set: known)).summary.isEmpty)
        let result = load(text, options: LoadOptions(set: known + [(name, "x"), ("escaped", "x")]))
        #expect(result.summary == ["unknown-name", "unknown-name"])
        #expect(result.messages.contains("--set: the job has no variable `\(name)` (\(hint))"), "\(result.messages)")
    }

    /// A name of `forEach` has the values of its list; setting it would change nothing.
    @Test func aNameOfForEachIsNotSet() {
        let text = """
            tasks:
              - { id: "a-${row}", forEach: { row: [1, 2] }, url: "https://example.org/${row}/${row.index}" }
            """
        let result = load(text, options: LoadOptions(set: [("row", "5")]))
        #expect(result.summary == ["unknown-name"])
        #expect(
            result.messages == """
                --set: `row` is no variable but a name of `forEach`, whose values are its list's (`--only ID` runs some \
                of its tasks; or write a variable into the list, such as `forEach: { row: ["${first}"] }`, and set that)
                """)
        #expect(
            load(text.replacing("[1, 2]", with: #"["${first}"]"#), options: LoadOptions(set: [("first", "5")])).job?
                .tasks.map(\.id) == ["a-5"])
    }

    /// The same name is a variable where no `forEach` binds it: in another task, in the list itself, or for a task that
    /// takes the default's `forEach` away.
    @Test(arguments: [
        (#"{ id: "a-${n}", forEach: { n: [1] }, url: "https://e.org/" }, { id: b, url: "https://e.org/${n}" }"#, ""),
        (#"{ id: "a-${n.index}", forEach: { n: ["${n}"] }, url: "https://e.org/${n}" }"#, ""),
        (#"{ id: "a-${n.index}", url: "https://e.org/" }, { id: b, forEach: null }"#, "url: \"https://e.org/${n}\", "),
    ])
    func aNameOfForEachIsAVariableElsewhere(_ tasks: String, _ defaults: String) {
        let head = defaults.isEmpty ? "" : "defaults: { \(defaults)forEach: { n: [1] } }\n"
        let result = load("\(head)tasks: [\(tasks)]", options: LoadOptions(set: [("n", "5")]))
        #expect(result.summary.isEmpty, "\(result.messages)")
    }
}
