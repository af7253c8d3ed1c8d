import JobLoader
import Testing
import TransferModel

struct MergingTests {
    @Test func defaultsFillAJob() throws {
        let job = try #require(load(task()).job)
        #expect(job.name == "jobs")
        #expect(job.baseDirectory == "/job")
        #expect(job.sessions.map(\.name) == ["default"])
        #expect(job.limits.maximumConcurrentTasks == 64)
        #expect(job.report.json == .byDefault)
        #expect(job.tasks[0].type == .download)
        #expect(job.tasks[0].destination == "/job/a")
        #expect(job.tasks[0].line == 2)
        let session = job.sessions[0]
        #expect(session.maximumConnectionsPerHost == 6)
        #expect(session.connectTimeout == .seconds(30))
        #expect(session.taskDefaults.timeoutForResource == .seconds(7 * 86_400))
        #expect(session.durability == .none)
    }

    @Test func typesAreInferred() throws {
        let job = try #require(
            load(
                """
                tasks:
                  - { id: a, url: https://example.org/, to: x/ }
                  - { id: b, url: https://example.org/, body: { data: x } }
                  - { id: c, url: https://example.org/ }
                """
            ).job)
        #expect(job.tasks.map(\.type) == [.download, .upload, .data])
        #expect(job.tasks[0].destination == "/job/x/")
    }

    @Test func mapsMergeAndNullRemoves() throws {
        let job = try #require(
            load(
                """
                sessions:
                  base: { maximumConnectionsPerHost: 2, retry: { attempts: 9, backoff: { initial: 5s } }, headers: { A: s, B: s } }
                  main: { extends: base, retry: { backoff: { maximum: 7s } }, maximumConnectionsPerHost: null, connectTimeout: 1 }
                defaults: { session: main, retry: { statuses: [500] }, headers: { b: d, C: d }, timeoutForRequest: 9 }
                tasks:
                  - { id: plain, url: https://example.org/ }
                  - { id: own, url: https://example.org/, retry: { attempts: 2 }, headers: { c: t, D: [1, 2], A: null } }
                  - { id: null, url: https://example.org/, retry: null, timeoutForRequest: ~, headers: ~ }
                """.replacingNullID()
            ).job)
        #expect(job.sessions[1].maximumConnectionsPerHost == 6)
        #expect(job.sessions[1].taskDefaults.retry.initialBackoff == .seconds(5))
        #expect(job.sessions[1].taskDefaults.retry.maximumBackoff == .seconds(7))
        let (plain, own, removed) = (
            job.tasks[0].options.values, job.tasks[1].options.values, job.tasks[2].options.values
        )
        #expect(plain.policies.retry.attempts == 9)
        #expect(plain.policies.retry.statuses == StatusSet(500))
        #expect(plain.headers.map { "\($0.name)=\($0.value.revealed)" } == ["A=s", "b=d", "C=d"])
        #expect(plain.policies.timeoutForRequest == .seconds(9))
        #expect(own.policies.retry.attempts == 2)
        #expect(own.policies.retry.initialBackoff == .seconds(5))
        #expect(own.headers.map { "\($0.name)=\($0.value.revealed)" } == ["b=d", "c=t", "D=1", "D=2"])
        #expect(removed.policies.retry.attempts == nil)
        #expect(removed.policies.timeoutForRequest == .seconds(60))
        #expect(removed.headers.isEmpty)
    }

    /// Without a word it is ten minutes; `attempts` alone bounds no time; of both what comes first.
    @Test func retryBounds_addUp() throws {
        let job = try #require(
            load(
                """
                sessions: { few: { retry: { attempts: 5 } }, some: {}, long: { retry: { for: 2h } } }
                tasks:
                  - { id: a, session: some, url: https://example.org/ }
                  - { id: b, session: few, url: https://example.org/ }
                  - { id: c, session: few, url: https://example.org/, retry: { for: 2m } }
                  - { id: d, session: few, url: https://example.org/, retry: { attempts: unlimited } }
                  - { id: e, session: long, url: https://example.org/, retry: { attempts: 3 } }
                  - { id: f, session: long, url: https://example.org/, retry: { for: null } }
                  - { id: g, session: long, url: https://example.org/, retry: { for: 0 } }
                """
            ).job)
        let retries = job.tasks.map(\.options.values.policies.retry)
        #expect(retries.map(\.attempts) == [nil, 5, 5, nil, 3, nil, nil])
        let minute = TimeSpan.seconds(60)
        let hours = TimeSpan.seconds(7_200)
        #expect(
            retries.map(\.patience) == [.seconds(600), nil, .seconds(120), .seconds(600), hours, .seconds(600), .zero])
        #expect(retries.map(\.writtenPatience) == [nil, nil, .seconds(120), nil, hours, nil, .zero])
        #expect(RetryPolicy.unansweredPatience == minute)
    }

    @Test func plainTasksShareTheirOptions() throws {
        let job = try #require(
            load(
                """
                defaults: { retry: { attempts: 7 } }
                tasks:
                  - { id: a, url: https://example.org/a, to: a }
                  - { id: b, url: https://example.org/b, to: b }
                  - { id: "c${n}", forEach: { n: 1..3 }, url: https://example.org/b, to: "c${n}", priority: low }
                """
            ).job)
        #expect(job.tasks[0].options === job.tasks[1].options)
        #expect(job.tasks[2].options === job.tasks[4].options)
        #expect(job.tasks[0].options !== job.tasks[2].options)
        #expect(job.tasks[4].options.values.policies.retry.attempts == 7)
    }

    @Test func defaultsAreFilledInPerTask() throws {
        let job = try #require(
            load(
                """
                defaults: { headers: { X-Arch: "${arch}" }, to: "out/${arch}", query: { a: "${arch}", b: 1 } }
                tasks:
                  - { id: "t-${arch}", forEach: { arch: [amd64, arm64] }, url: "https://example.org/p?x", query: { b: 2 } }
                """
            ).job)
        #expect(job.tasks.map(\.destination) == ["/job/out/amd64", "/job/out/arm64"])
        #expect(job.tasks[1].options.values.headers[0].value.revealed == "arm64")
        #expect(job.tasks[1].location.url?.text == "https://example.org/p?x&a=arm64&b=2")
    }

    @Test func aLongChainOfSessionsIsNoStack() throws {
        let count = 5_000
        var text = "sessions:\n"
        for number in 0..<count { text += "  s\(number): { extends: s\(number + 1) }\n" }
        text += "  s\(count): { maximumConnectionsPerHost: 3 }\n"
        text += "tasks: [{ id: a, session: s0, url: https://example.org/ }]\n"
        #expect(load(text).job?.sessions.first?.maximumConnectionsPerHost == 3)
    }

    @Test func backgroundHasDefaultsOfItsOwn() throws {
        let text = """
            sessions:
              a: { configuration: background, identifier: x.y }
              b: { configuration: background, identifier: x.z, durability: none }
            tasks: [{ id: t, session: a, url: https://example.org/, to: a }]
            """
        let job = try #require(load(text).job)
        #expect(job.sessions.map(\.durability) == [.flush, .none])
        #expect(job.sessions[0].taskDefaults.waitsForConnectivity)
        #expect(load(text).laterPlaces.isEmpty)
    }

    /// Whoever says otherwise, and wherever.
    @Test func backgroundTasksWaitForANetwork() throws {
        func text(_ defaults: String) -> String {
            """
            defaults: { session: b, \(defaults) }
            sessions: { b: { configuration: background, identifier: x.y }, f: {} }
            tasks:
              - { id: t, url: https://example.org/t, to: t }
              - { id: u, url: https://example.org/u, to: u, waitsForConnectivity: false }
              - { id: v, url: https://example.org/v, to: v, waitsForConnectivity: null }
              - { id: w, url: https://example.org/w, to: w, session: f }
              - { id: "x-${n}", forEach: { n: [1, 2] }, url: https://example.org/x, to: "x-${n}" }
            """
        }
        let plain = load(text("type: download"))
        let job = try #require(plain.job)
        #expect(job.tasks.map(\.options.values.policies.waitsForConnectivity) == [true, true, true, false, true, true])
        #expect(plain.summary == ["5:71 warning no-effect"])
        let refusing = load(text("waitsForConnectivity: false"))
        let tasks = try #require(refusing.job).tasks
        #expect(tasks.map(\.options.values.policies.waitsForConnectivity) == [true, true, true, false, true, true])
        #expect(refusing.summary == ["1:47 warning no-effect", "5:71 warning no-effect"])
    }

    /// `contentType` and a header of that name say one thing: the nearer word counts.
    @Test func theNearerTypeOfABodyCounts() throws {
        let loaded = load(
            """
            sessions: { s: { headers: { content-type: of/session, A: a } } }
            defaults: { session: s, type: data, body: { data: x }, contentType: of/defaults }
            tasks:
              - { id: a, url: https://example.org/ }
              - { id: b, url: https://example.org/, contentType: of/task }
              - { id: c, url: https://example.org/, headers: { Content-Type: of/header } }
              - { id: "d-${n}", forEach: { n: [1] }, url: https://example.org/, contentType: "of/${n}" }
            """)
        let values = try #require(loaded.job).tasks.map(\.options.values)
        func types(_ values: TaskOptions.Values) -> [String?] {
            [values.contentType?.revealed]
                + values.headers.filter { $0.isNamed("content-type") }.map(\.value.revealed)
        }
        #expect(values.map(types) == [["of/defaults"], ["of/task"], [nil, "of/header"], ["of/1"]])
        #expect(values.allSatisfy { $0.headers.contains { $0.isNamed("a") } })
        #expect(loaded.summary.isEmpty)
    }

    @Test func oneMapSaysTheTypeOfABodyInOneWay() {
        let twice = "contentType: a/b, headers: { CONTENT-TYPE: c/d }"
        let body = "url: https://example.org/, type: data, body: { data: x }"
        #expect(load("tasks:\n  - { id: a, \(body), \(twice) }").summary == ["2:72 conflicting-keys"])
        #expect(
            load("defaults: { \(twice) }\ntasks:\n  - { id: a, \(body) }").summary
                == ["1:13 conflicting-keys"])
        let none = load("tasks:\n  - { id: a, url: https://example.org/, contentType: a/b }")
        #expect(none.summary == ["2:41 warning no-effect"])
        let ofDefaults = load("defaults: { contentType: a/b }\ntasks:\n  - { id: a, url: https://example.org/ }")
        #expect(ofDefaults.summary.isEmpty)
        // A body with an error is one all the same.
        let wrong = load(
            "tasks:\n  - { id: a, type: data, url: https://example.org/, contentType: a/b, body: { data: \"${secret.NONE}\" } }"
        )
        #expect(!wrong.summary.isEmpty && !wrong.summary.contains { $0.hasSuffix("no-effect") }, "\(wrong.summary)")
    }

    @Test func reportsGoToTheWorkingFolder() throws {
        #expect(try #require(load(task(head: "report: r.json\n")).job).report.json == .path("/here/r.json"))
        #expect(try #require(load(task(head: "report: none\n")).job).report.json == .none)
        let plan = try #require(load(task(head: "report: { events: e, json: none }\n")).job).report
        #expect(plan.events == "/here/e")
        #expect(plan.json == .none)
        let formats = try #require(load(task(head: "report: { failed: y, har: none, events: z }\n")).job).report
        #expect(formats.exports == [.failed: "/here/y"])
    }

    @Test func foldersAndStandardInput() {
        func base(_ file: String, _ directory: String? = nil) -> String? {
            load(task(), file: file, options: LoadOptions(directory: directory)).job?.baseDirectory
        }
        #expect(base("-") == "/here")
        #expect(base("jobs.yaml") == "/here")
        #expect(base("sub/jobs.yaml") == "/here/sub")
        #expect(base("/x.yaml") == "/")
        #expect(base("a/jobs.yaml", "d/") == "/here/d")
    }
}

extension String {
    /// `id: null` would be no id; the test wants one that looks like it.
    func replacingNullID() -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.replacing("{ id: null", with: "{ id: \"null\"")
        }
        .joined(separator: "\n")
    }
}
