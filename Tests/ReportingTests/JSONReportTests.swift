import Reporting
import TestSupport
import Testing
import TransferModel

/// Keeps what is written, call by call.
final class MemorySink: ByteSink {
    var writes: [[UInt8]] = []
    var bytes: [UInt8] { writes.flatMap { $0 } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// Thrown by every write from this one on.
    var failure: (after: Int, problem: OutputProblem)?

    func write(_ bytes: [UInt8]) throws(OutputProblem) {
        if let failure, writes.count >= failure.after { throw failure.problem }
        writes.append(bytes)
    }
}

let runner = RunnerFacts(version: "0.1.0", libcurl: LateText("7.88.1"), pid: 4242, host: "ci-7")

/// Feeds events in batches of random sizes, as a loop's turns would.
func feed(_ events: [Event], to consumer: any EventConsumer, _ random: inout Seeded) throws {
    var start = 0
    while start < events.count {
        let end = min(events.count, start + 1 + random.below(20))
        try consumer.consume(events[start..<end])
        start = end
    }
}

private func report(of story: Story, _ random: inout Seeded) throws -> (JSONReport, TestJSON, MemorySink) {
    let report = JSONReport(job: story.job, runner: runner)
    try feed(story.events, to: report, &random)
    let sink = MemorySink()
    try report.write(to: sink)
    return (report, try TestJSON.parse(sink.bytes), sink)
}

@Suite struct JSONReportTests {
    @Test func tasksComeInFileOrderOneOnALine() throws {
        var random = Seeded("tasksComeInFileOrderOneOnALine")
        for _ in 0..<Rounds.scaled(30) {
            let story = Story(random: Seeded(seed: random.next()), tasks: 1 + random.below(60))
            let (_, json, sink) = try report(of: story, &random)
            let ids = try #require(json["tasks"]).values.map { $0["id"]?.text }
            #expect(ids == story.job.tasks.map { $0.id })
            let lines = sink.text.split(separator: "\n")
            #expect(lines.count == story.job.tasks.count + 2)
            #expect(lines.dropFirst().dropLast().allSatisfy { $0.hasPrefix("{\"id\":\"t") })
        }
    }

    /// Each byte of the file counts once: as received, or as saved where an attempt went on from what was there.
    @Test(
        arguments: [
            ([(0, 30), (30, 70)], 0), ([(20, 80)], 20), ([(20, 10), (30, 70)], 20),
            // An attempt that died with its process has no transaction: what it left was there before the next.
            ([(0, nil), (60, 40)], 60), ([(10, nil), (60, 20), (80, 20)], 60), ([(0, 30), (30, nil), (70, 30)], 40),
            // Begun anew, nothing of it is of use.
            ([(0, nil), (60, 10), (0, 100)], 0),
        ] as [([(from: Int64, received: Int64?)], Int64)])
    func resumedBytesAreSaved(_ attempts: [(from: Int64, received: Int64?)], _ saved: Int64) throws {
        let start = WallTime(nanoseconds: 0)
        let url = try ResourceURL.parse("https://a.test/f")
        var job = Job(name: "j", file: "j.yaml", baseDirectory: "/")
        job.sessions = [SessionConfiguration(name: "s")]
        job.tasks = [
            TaskSpecification(
                id: "f", type: .download, session: SessionIndex(raw: 0), location: .url(url), destination: "/f",
                line: 1,
                options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        ]
        var kinds: [Event.Kind] = []
        for (place, attempt) in attempts.enumerated() {
            kinds.append(.attemptStarted(AttemptStart(number: place + 1, url: url.text)))
            let transactions = attempt.received.map { received in
                var transaction = TransactionMetrics(method: "GET", url: url.text, fetchStart: start)
                (transaction.status, transaction.responseBodyBytesReceived) = (206, received)
                return [transaction]
            }
            kinds.append(
                .attemptFinished(
                    AttemptRecord(
                        number: place + 1, url: url.text, outcome: .failed, resumedFrom: attempt.from, startedAt: start,
                        duration: .zero, error: nil, backoff: nil, transactions: transactions ?? [])))
        }
        kinds.append(
            .taskFinished(
                TaskRecord(
                    outcome: .succeeded, tolerated: false, changed: true, source: .resumed, waits: [], error: nil,
                    body: nil, lengthUnverified: false, captures: [], duration: .zero, explanation: nil)))
        kinds.append(.runFinished(RunRecord(outcome: .succeeded, exitStatus: 0, duration: .zero)))
        let events = kinds.enumerated().map { place, kind in
            var task: TaskIndex? = TaskIndex(raw: 0)
            if case .runFinished = kind { task = nil }
            return Event(time: start, sequence: UInt64(place + 1), session: nil, task: task, kind: kind)
        }
        let report = JSONReport(job: job, runner: runner)
        report.consume(events[...])
        let sink = MemorySink()
        try report.write(to: sink)
        #expect(try TestJSON.parse(sink.bytes)["totals"]?["bytesSaved"] == .number("\(saved)"))
    }

    @Test func everyTaskHasEveryField() throws {
        var random = Seeded("everyTaskHasEveryField")
        let story = Story(random: Seeded(seed: random.next()), tasks: 200)
        let (_, json, _) = try report(of: story, &random)
        let fields = [
            "id", "session", "line", "type", "group", "description", "labels", "becameDownload", "outcome",
            "tolerated", "changed", "source", "cache", "request", "response", "file", "length", "body", "parts",
            "pages",
            "captures",
            "createdAt", "startedAt", "finishedAt", "duration", "waits", "attempts", "redirects", "challenges", "error",
            "explanation",
        ]
        for task in try #require(json["tasks"]).values {
            #expect(task.keys == fields)
            if task["outcome"]?.text != "succeeded" { #expect(task["explanation"]?.text != nil) }
        }
        #expect(
            json.keys == [
                "format", "version", "runner", "job", "startedAt", "finishedAt", "duration", "outcome", "exitStatus",
                "stopped", "totals", "sessions", "groups", "hooks", "tasks",
            ])
    }

    /// What commands at the run's end may name: the first failure in the order of the events.
    @Test func theRunsErrorIsThatOfTheFirstTaskThatFailed() throws {
        var random = Seeded("theRunsErrorIsThatOfTheFirstTaskThatFailed")
        for _ in 0..<Rounds.scaled(20) {
            let story = Story(random: Seeded(seed: random.next()), tasks: 1 + random.below(60))
            let (made, _, _) = try report(of: story, &random)
            let failed = story.events.first { event in
                guard case .taskFinished(let record) = event.kind else { return false }
                return record.outcome == .failed && !record.tolerated && record.error != nil
            }
            var captured = CapturedValues()
            captured.ends = made.ends
            let told = try captured.value(RunEnds.run, "error").text
            guard let task = failed?.task else { continue }
            #expect(told.hasPrefix("\(story.job.tasks[Int(task.raw)].id) failed ("), "\(told)")
        }
    }

    /// The totals are what one gets by counting the report itself.
    @Test func totalsAreThoseOfTheTasks() throws {
        var random = Seeded("totalsAreThoseOfTheTasks")
        for _ in 0..<Rounds.scaled(20) {
            let story = Story(random: Seeded(seed: random.next()), tasks: random.below(80))
            let (_, json, _) = try report(of: story, &random)
            let tasks = try #require(json["tasks"]).values
            let totals = try #require(json["totals"])
            func count(_ name: String, _ test: (TestJSON) -> Bool) {
                #expect(totals[name]?.int == tasks.count { test($0) }, "\(name)")
            }
            #expect(totals["tasks"]?.int == tasks.count)
            count("succeeded") { $0["outcome"]?.text == "succeeded" }
            count("failed") { $0["outcome"]?.text == "failed" && $0["tolerated"] == .bool(false) }
            count("tolerated") { $0["tolerated"] == .bool(true) }
            for name in ["cancelled", "skipped", "deferred"] { count(name) { $0["outcome"]?.text == name } }
            count("unchanged") { $0["source"]?.text == "unchanged" }
            let attempts = tasks.map { $0["attempts"]?.values.count ?? 0 }
            #expect(totals["attempts"]?.int == attempts.reduce(0, +))
            #expect(totals["retries"]?.int == attempts.map { max(0, $0 - 1) }.reduce(0, +))
            let redirects = tasks.flatMap { $0["redirects"]?.values ?? [] }
            #expect(totals["redirects"]?.int == redirects.count { $0["action"]?.text == "followed" })
            let transactions = tasks.flatMap { $0["attempts"]?.values ?? [] }.flatMap {
                $0["transactions"]?.values ?? []
            }
            let received = transactions.map { $0["countOfResponseBodyBytesReceived"]?.int ?? 0 }
            #expect(totals["bytesReceived"]?.int == received.reduce(0, +))
        }
    }

    /// In the URL of a task, of a mirror, and in one that waits for captured values; names are also those of `redact`.
    @Test func variablesThatAreCredentialsInAURL_areMasked() throws {
        var random = Seeded(seed: 1)
        let story = Story(random: Seeded(seed: 1), tasks: 4)
        var job = story.job
        job.credentialNames = CredentialNames(query: ["code"])
        let values = ["a/b +c", "two", "part-of-three", "four4", "five5", "page2"]
        job.variables = values.enumerated().map { Job.Variable(name: "v\($0.offset)", value: .string($0.element)) }
        job.tasks[0].location = .url(try ResourceURL.parse("https://a.test/?apikey=a%2Fb%20%2Bc&page=page2"))
        job.tasks[1].location = .awaitingCapture(
            SecretText(pieces: [.capture(task: "t", name: "u", escaping: .none), .literal("?access_token=two")]),
            query: [QueryField(name: "api_key", value: "a part-of-three")])
        job.tasks[2].location = .url(try ResourceURL.parse("https://a.test/?code=four4"))
        var mirrored = job.tasks[3].options.values
        mirrored.mirrors = [.url(try ResourceURL.parse("https://a.test/?x=1&sig=five5"))]
        job.tasks[3].options = TaskOptions(mirrored)
        let report = JSONReport(job: job, runner: runner)
        try feed(story.events, to: report, &random)
        let sink = MemorySink()
        try report.write(to: sink)
        let variables = try #require(TestJSON.parse(sink.bytes)["job"]?["variables"])
        #expect((0..<6).map { variables["v\($0)"]?.text } == ["***", "***", "***", "***", "***", "page2"])
    }

    @Test func headIsWhatTheRunSaid() throws {
        var random = Seeded(seed: 1)
        let story = Story(random: Seeded(seed: 1), tasks: 3)
        let (report, json, _) = try report(of: story, &random)
        #expect(json["format"]?.text == "transfer-run/report")
        #expect(json["runner"]?["pid"]?.int == 4242)
        #expect(json["job"]?["variables"]?["release"] == .number("3.10"))
        #expect(json["job"]?["variables"]?["odd"]?[0] == .string("0x1F"))
        #expect(json["outcome"]?.text == "failed")
        #expect(json["exitStatus"]?.int == 1)
        #expect(json["duration"] == .number("1.234"))
        #expect(json["sessions"]?[0]?["connectionsReused"]?.int == 2)
        #expect(json["sessions"]?[1]?["connectionsReused"] == .null)
        #expect(json["groups"]?[0]?["published"] == .bool(true))

        report.hooks = [HookResult(command: ["./publish.sh"], exitStatus: 3, duration: .milliseconds(400))]
        report.correction = (.failed, 1)
        let again = MemorySink()
        try report.write(to: again)
        let second = try TestJSON.parse(again.bytes)
        #expect(second["hooks"]?[0]?["exitStatus"]?.int == 3)
        #expect(second["tasks"] == json["tasks"])
    }

    @Test func aRunThatBrokeOffStillHasEveryTask() throws {
        let story = Story(random: Seeded(seed: 5), tasks: 30)
        let report = JSONReport(job: story.job, runner: runner)
        report.consume(story.events[..<(story.events.count / 2)])
        let sink = MemorySink()
        try report.write(to: sink)
        let json = try TestJSON.parse(sink.bytes)
        let tasks = try #require(json["tasks"]).values
        #expect(tasks.count == 30)
        #expect(json["totals"]?["deferred"]?.int == tasks.count { $0["outcome"]?.text == "deferred" })
        #expect(tasks.contains { $0["finishedAt"] == .null })
        #expect(json["exitStatus"] == .null)
    }

    @Test func aJobOfNoTasks() throws {
        var random = Seeded(seed: 1)
        let (_, json, _) = try report(of: Story(random: Seeded(seed: 2), tasks: 0), &random)
        #expect(json["tasks"] == .array([]))
    }

    @Test func pathsInTheJobsFolderAreRelative() throws {
        #expect(try file("/srv/job/out/a") == "out/a")
        #expect(try file("/srv/jobs/a") == "/srv/jobs/a")
        #expect(try file("/srv/job") == "/srv/job")
    }

    private func file(_ path: String) throws -> String? {
        let file = FileRecord(path: path, bytes: 1, checksum: nil, changed: true, lengthUnverified: false)
        return try single([.taskCreated, .fileFinished(file)], end())["file"]?["path"]?.text
    }

    @Test func bodiesAreTextOrBase64AndCutOnACharacter() throws {
        #expect(try body(Array("héllo\n".utf8)) == .object([("text", .string("héllo\n"))]))
        #expect(try body([0xFF, 0x00, 0x41]) == .object([("base64", .string("/wBB"))]))
        #expect(try body([0xFF, 0x00]) == .object([("base64", .string("/wA="))]))
        #expect(try body([]) == .object([("text", .string(""))]))
        let limit = 64 << 10
        let whole = [UInt8](repeating: 0x61, count: limit)
        #expect(try body(whole)["truncated"] == nil)
        let long = try body([UInt8](repeating: 0x61, count: limit - 1) + Array("éé".utf8))
        #expect(long["text"]?.text?.utf8.count == limit - 1)
        #expect(long["truncated"] == .bool(true))
        let binary = try body([0xFF] + whole)
        #expect(binary["base64"]?.text?.utf8.count == (limit + 2) / 3 * 4)
        #expect(binary["truncated"] == .bool(true))
    }

    private func body(_ bytes: [UInt8]) throws -> TestJSON {
        try #require(try single([.taskCreated], end(body: bytes))["body"])
    }

    @Test func theLastAttemptsAnswerIsTheTasks() throws {
        let answer = ResponseRecord(
            status: 503, url: "https://example.org/x", method: "GET", mimeType: nil, charset: nil,
            expectedLength: nil, suggestedFilename: nil, contentEncoding: nil,
            headers: HeaderBlock([("Retry-After", "1"), ("X", "\"é\"")]))
        let kinds: [Event.Kind] = [
            .taskCreated, .attemptStarted(AttemptStart(number: 1, url: "https://example.org/1")), .response(answer),
        ]
        let answered = try single(kinds, end())
        #expect(answered["response"]?["status"]?.int == 503)
        #expect(answered["response"]?["headers"]?[1]?[1]?.text == "\"é\"")
        #expect(answered["request"]?["current"]?["url"]?.text == "https://example.org/x")
        let second: Event.Kind = .attemptStarted(AttemptStart(number: 2, url: "https://b.example.org/"))
        let silent = try single(kinds + [second], end())
        #expect(silent["response"] == .null)
        #expect(silent["request"]?["current"]?["url"]?.text == "https://b.example.org/")
        #expect(silent["request"]?["original"]?["url"]?.text == "https://example.org/1")
    }

    private func single(_ kinds: [Event.Kind], _ record: TaskRecord) throws -> TestJSON {
        var job = Job(name: "one", file: "one.yaml", baseDirectory: "/srv/job")
        job.sessions = [SessionConfiguration(name: "default")]
        job.tasks = [
            TaskSpecification(
                id: "one", type: .data, session: SessionIndex(raw: 0),
                location: .url(try ResourceURL.parse("https://example.org/1")), destination: nil, line: 1,
                options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        ]
        let report = JSONReport(job: job, runner: runner)
        let all = kinds + [.taskFinished(record)]
        let events = all.enumerated().map {
            Event(
                time: WallTime(nanoseconds: Int64($0) * 1_000_000), sequence: UInt64($0 + 1), session: nil,
                task: TaskIndex(raw: 0), kind: $1)
        }
        report.consume(events[...])
        let sink = MemorySink()
        try report.write(to: sink)
        return try #require(try TestJSON.parse(sink.bytes)["tasks"]?[0])
    }

    private func end(body: [UInt8]? = nil) -> TaskRecord {
        TaskRecord(
            outcome: .succeeded, tolerated: false, changed: nil, source: .network, waits: [], error: nil, body: body,
            lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
    }
}
