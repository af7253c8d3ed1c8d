import Reporting
import TestSupport
import Testing
import TransferModel

@Suite struct PlainProgressTests {
    private func record(
        _ outcome: TaskOutcome, _ error: TransferError? = nil, source: ResultSource? = .network,
        tolerated: Bool = false, explanation: String? = nil, waits: [TaskRecord.Wait] = []
    ) -> TaskRecord {
        TaskRecord(
            outcome: outcome, tolerated: tolerated, changed: true, source: source, waits: waits, error: error,
            body: nil,
            lengthUnverified: false, captures: [], duration: .milliseconds(1500), explanation: explanation)
    }

    private func job(_ count: Int) throws -> Job {
        var job = Job(name: "j", file: "my jobs.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        for index in 0..<count {
            job.tasks.append(
                TaskSpecification(
                    id: "t\(index)", type: .download, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("https://example.org/\(index)")), destination: nil,
                    line: UInt32(10 + index), options: TaskOptions(TaskOptions.Values(policies: TransferPolicies()))))
        }
        return job
    }

    /// What is printed for tasks that end so, each after one attempt that brought 3 MiB in half a second.
    private func printed(
        _ records: [TaskRecord], _ style: PlainProgress.Style = .init(), isSummed: Bool = true
    ) throws -> String {
        let job = try job(records.count)
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: style)
        var events: [Event] = []
        for (index, record) in records.enumerated() {
            func add(_ kind: Event.Kind) {
                events.append(
                    Event(
                        time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: TaskIndex(raw: UInt32(index)),
                        kind: kind))
            }
            add(.attemptStarted(AttemptStart(number: 1, url: "https://example.org/\(index)")))
            add(
                .fileFinished(
                    FileRecord(path: "/x", bytes: 3 << 20, checksum: nil, changed: true, lengthUnverified: false)))
            add(
                .attemptFinished(
                    AttemptRecord(
                        number: 1, url: "u", outcome: .succeeded, resumedFrom: 0, startedAt: WallTime(nanoseconds: 0),
                        duration: .milliseconds(500), error: nil, backoff: nil, transactions: [])))
            add(.taskFinished(record))
        }
        if isSummed {
            let end = RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(75))
            events.append(
                Event(time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: nil, kind: .runFinished(end)))
        }
        progress.consume(events[...])
        #expect(sink.writes.count == 1)
        return sink.text
    }

    @Test func oneLineATaskAndASummary() throws {
        let lost = TransferError(.networkConnectionLost, "the connection was reset")
        let needs = TransferError(.dependencyFailed, "task `t1` failed")
        let text = try printed([
            record(.succeeded), record(.failed, lost, explanation: "It broke."), record(.skipped, needs),
            record(.succeeded, source: .unchanged), record(.failed, lost, tolerated: true),
        ])
        let expected = """
            ok         t0  3.0 MiB  6.0 MiB/s  1.50s
            FAILED     t1  1.50s  the connection was reset
            skipped    t2  1.50s  task `t1` failed
            unchanged  t3  3.0 MiB  1.50s
            tolerated  t4  1.50s  the connection was reset

            2 tasks did not succeed:
              t1 failed (networkConnectionLost -1005): It broke.
              t2 skipped (dependencyFailed): task `t1` failed. \
            Mend the task it needs; it runs again with that one.
            Run just them again: transfer-run run 'my jobs.yaml' --only t1 --only t2
            5 tasks: 1 ok, 1 failed, 1 skipped, 1 unchanged, 1 tolerated in 1m15s

            """
        #expect(text == expected)
    }

    /// What a `bandwidth` lets through is what it says.
    @Test func theRateIsThatOfAllTheTime() throws {
        let held = TaskRecord.Wait(reason: .bandwidth, duration: .seconds(1))
        let other = TaskRecord.Wait(reason: .hostLimit, duration: .seconds(7))
        let text = try printed([record(.succeeded, waits: [other, held])])
        #expect(text.contains("ok         t0  3.0 MiB  2.0 MiB/s"), "\(text)")
    }

    /// What was typed goes into the command again, but for secrets.
    @Test(arguments: [
        ("my jobs.yaml", "secrets in the place of `***`: transfer-run run 'my jobs.yaml'"),
        ("-job.yaml", "secrets in the place of `***`: transfer-run run ./-job.yaml"),
        ("-", "the job on standard input and secrets in the place of `***`: transfer-run run -"),
    ])
    func theCommandIsWhatWasTyped(_ file: String, _ start: String) throws {
        var job = try job(1)
        job.file = file
        job.secrets = [KnownSecret(name: "T", value: "s3'cret", hosts: nil)]
        job.sessions[0].headers = [HeaderField(name: "X-API-Key", value: "key its-own")]
        job.sessions[0].taskDefaults.credentials = [Credential(source: .password(user: "me", password: "pass"))]
        let advice = RerunAdvice(
            assignments: ["release=12.7", "a=it's", "b=s3'cret", "c=its-own", "d=pass", "myToken=x"],
            options: ["--state-dir", "s d"], selection: ["--only", "*"])
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: .init(advice: advice))
        let time = WallTime(nanoseconds: 0)
        let end = RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(75))
        let failed = record(.failed, TransferError(.networkConnectionLost, "the connection was reset"))
        progress.consume([
            Event(time: time, sequence: 1, session: nil, task: TaskIndex(raw: 0), kind: .taskFinished(failed)),
            Event(time: time, sequence: 2, session: nil, task: nil, kind: .runFinished(end)),
        ])
        let line = sink.text.split(separator: "\n").first { $0.hasPrefix("Run just it again, with ") } ?? ""
        #expect(
            line == "Run just it again, with \(start) --set release=12.7 --set 'a=it'\\''s' --set 'b=***' "
                + "--set 'c=***' --set 'd=***' --set 'myToken=***' --state-dir 's d' --only t0")
    }

    @Test func quietShowsFailuresAndTheSummary() throws {
        let text = try printed(
            [record(.succeeded), record(.failed, TransferError(.timedOut, "no byte for 60s"))], .init(amount: .quiet))
        #expect(!text.contains("t0"))
        #expect(text.contains("FAILED     t1"))
        #expect(text.contains("2 tasks: 1 ok, 1 failed"))
    }

    @Test func allIsWell() throws {
        let text = try printed([record(.succeeded), record(.succeeded)])
        #expect(text.hasSuffix("\n2 tasks: 2 ok in 1m15s\n"))
        #expect(!text.contains("again"))
    }

    @Test func manyFailuresAreNotAllTold() throws {
        let text = try printed((0..<50).map { _ in record(.failed, TransferError(.timedOut, "late")) })
        #expect(text.contains("50 tasks did not succeed:"))
        #expect(text.contains("  and 30 more, all in the report"))
        #expect(text.contains("again: transfer-run run 'my jobs.yaml'\n"))
    }

    @Test func textFromServersStaysOnItsLine() throws {
        let error = TransferError(.unexpectedResponse, "bad\r\n::warning::x\u{1B}[2J\u{2028}##[error]y\u{202E}")
        let text = try printed([record(.failed, error)], .init(color: true, isGitHub: true))
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        let commands = lines.filter { $0.hasPrefix("::") }
        #expect(commands.count == 1)
        #expect(
            commands.first == """
                ::error file=my jobs.yaml,line=10,title=task t0 failed::\
                bad\\r\\n::warning::x\\u{1b}[2J\\u{2028}##[error]y\\u{202e}
                """)
        #expect(!text.contains("\r") && !text.contains("\u{1B}[2J") && !text.contains("\u{202E}"))
        #expect(text.contains("\u{1B}[31mFAILED   \u{1B}[0m"))
        #expect(!lines.filter { !$0.hasPrefix("::") }.contains { $0.contains("##[") })
    }

    @Test func tenAnnotationsAtMost() throws {
        let text = try printed(
            (0..<30).map { _ in record(.failed, TransferError(.timedOut, "100%, late")) },
            .init(isGitHub: true))
        let annotations = text.split(separator: "\n").filter { $0.hasPrefix("::error ") }
        #expect(annotations.count == 10)
        #expect(annotations[3].contains("line=13,") && annotations[3].hasSuffix("::100%25, late"))
    }

    /// Nothing moves, and nothing else says why: told once, and again when something has moved since.
    @Test func aNetworkThatIsLackingIsToldOnce() {
        let sink = MemorySink()
        let story = Story(random: Seeded(seed: 4), tasks: 3)
        let progress = PlainProgress(job: story.job, sink: sink)
        func waits(_ task: UInt32, _ reason: WaitReason, _ lacks: String?) -> Event {
            event(.waiting(reason, lacks: lacks), task)
        }
        func event(_ kind: Event.Kind, _ task: UInt32) -> Event {
            Event(
                time: WallTime(nanoseconds: 0), sequence: 1, session: SessionIndex(raw: 0), task: TaskIndex(raw: task),
                kind: kind)
        }
        progress.consume([
            waits(0, .network, "a network: there is none"), waits(1, .network, "a network: there is none"),
        ])
        progress.consume([waits(2, .hostLimit, nil), waits(2, .power, nil)])
        progress.consume([event(.attemptStarted(AttemptStart(number: 1, url: "http://x/")), 0)])
        progress.consume([waits(1, .network, "a network: there is none")])
        progress.consume([waits(0, .window, nil), waits(1, .window, nil)])
        let ids = story.job.tasks.map(\.id)
        #expect(
            String(decoding: sink.writes.joined(), as: UTF8.self) == """
                  \(ids[0]): waits for a network: there is none
                  \(ids[2]): waits for mains power or a fuller battery
                  \(ids[1]): waits for a network: there is none
                  \(ids[0]): waits for the hours of its `window`

                """)
    }

    @Test func writesGoOnAfterNobodyListens() throws {
        let sink = MemorySink()
        sink.failure = (0, OutputProblem("gone", errno: 32))
        let story = Story(random: Seeded(seed: 4), tasks: 4)
        let progress = PlainProgress(job: story.job, sink: sink)
        for event in story.events { progress.consume([event]) }
        #expect(sink.writes.isEmpty)
    }
}
