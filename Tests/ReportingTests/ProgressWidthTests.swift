import Reporting
import TestSupport
import Testing
import TransferModel

/// What people read of one recorded run, in terminals of several widths.
@Suite struct ProgressWidthTests {
    private static let origin = "https://mirror.example.org"
    private let start = WallTime(nanoseconds: 1_000_000_000_000)

    /// One task for each way to end: at once, resumed, after another attempt, unchanged, failed alone, failed like others,
    /// and what follows from these.
    private func job() throws -> Job {
        var job = Job(name: "nightly", file: "ci/nightly mirror.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        let ids = [
            "index", "images/debian-12.7-amd64.iso", "名前-写真", "e\u{301}te\u{301}", "notes", "release", "part-1",
            "part-2", "publish", "announce",
        ]
        for (number, id) in ids.enumerated() {
            job.tasks.append(
                TaskSpecification(
                    id: id, type: .download, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("\(Self.origin)/\(number)")), destination: nil,
                    line: UInt32(10 + number), options: TaskOptions(TaskOptions.Values(policies: TransferPolicies()))))
        }
        job.tasks[8].needs = [TaskIndex(raw: 5)]
        job.tasks[9].needs = [TaskIndex(raw: 8)]
        return job
    }

    private struct Log {
        let start: WallTime
        var events: [Event] = []

        mutating func add(_ kind: Event.Kind, _ task: UInt32?, after seconds: Int64) {
            events.append(
                Event(
                    time: start + .seconds(seconds), sequence: UInt64(events.count + 1), session: nil,
                    task: task.map { TaskIndex(raw: $0) }, kind: kind))
        }

        mutating func attempt(
            _ task: UInt32, _ number: Int, from offset: Int64 = 0, bytes: Int64, seconds: Int64,
            _ error: TransferError? = nil
        ) {
            var transaction = TransactionMetrics(method: "GET", url: "https://mirror.example.org/f", fetchStart: start)
            (transaction.status, transaction.responseBodyBytesReceived) = (offset > 0 ? 206 : 200, bytes)
            add(
                .attemptStarted(AttemptStart(number: number, url: "\(ProgressWidthTests.origin)/\(task)")), task,
                after: 0)
            add(
                .attemptFinished(
                    AttemptRecord(
                        number: number, url: "https://mirror.example.org/f",
                        outcome: error == nil ? .succeeded : .failed, resumedFrom: offset,
                        startedAt: start, duration: .seconds(seconds), error: error, backoff: nil,
                        transactions: [transaction])), task, after: seconds)
        }

        mutating func end(
            _ task: UInt32, _ outcome: TaskOutcome, bytes: Int64 = 0, source: ResultSource? = .network,
            seconds: Int64 = 2, _ error: TransferError? = nil, explanation: String? = nil
        ) {
            if bytes > 0 {
                let file = FileRecord(path: "/x", bytes: bytes, checksum: nil, changed: true, lengthUnverified: false)
                add(.fileFinished(file), task, after: seconds)
            }
            let record = TaskRecord(
                outcome: outcome, tolerated: false, changed: nil, source: source, waits: [], error: error, body: nil,
                lengthUnverified: false, captures: [], duration: .seconds(seconds), explanation: explanation)
            add(.taskFinished(record), task, after: seconds)
        }
    }

    private func log() -> [Event] {
        var log = Log(start: start)
        let mebibyte: Int64 = 1 << 20
        let lost = TransferError(.networkConnectionLost, "the connection was reset after 3.4 of 20.0 MiB")
        let gone = TransferError(
            .unexpectedResponse,
            "GET \(Self.origin)/dists/bookworm/Release: 404 Not Found: \"there is no such release any more\u{1B}[2J\"")
        let late = TransferError(.timedOut, "no byte moved for 60 s")
        log.attempt(0, 1, bytes: 4_200, seconds: 1)
        log.end(0, .succeeded, bytes: 4_200)
        log.attempt(1, 1, from: 30 * mebibyte, bytes: 10 * mebibyte, seconds: 2)
        log.end(1, .succeeded, bytes: 40 * mebibyte, source: .resumed)
        log.attempt(2, 1, bytes: 5 * mebibyte, seconds: 1, lost)
        log.attempt(2, 2, from: 5 * mebibyte, bytes: 15 * mebibyte, seconds: 3)
        log.end(2, .succeeded, bytes: 20 * mebibyte, source: .resumed, seconds: 5)
        log.end(3, .succeeded, bytes: 900, source: .unchanged)
        log.end(4, .succeeded, source: .cache)
        log.attempt(5, 1, bytes: 0, seconds: 1, gone)
        log.end(5, .failed, gone)
        for task: UInt32 in [6, 7] {
            log.attempt(task, 1, bytes: 0, seconds: 60, late)
            log.end(task, .failed, seconds: 60, late)
        }
        log.end(8, .skipped, source: nil, TransferError(.dependencyFailed, "`release`, which it needs, failed"))
        log.end(9, .skipped, source: nil, TransferError(.dependencyFailed, "`publish`, which it needs, was skipped"))
        log.add(
            .runFinished(RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(75))), nil, after: 75)
        return log.events
    }

    private func printed(_ events: [Event], _ style: PlainProgress.Style) throws -> String {
        let sink = MemorySink()
        PlainProgress(job: try job(), sink: sink, style: style).consume(events[...])
        return sink.text
    }

    @Test(arguments: [60, 80, 200]) func aRun_isToldWithinTheColumns(_ width: Int) throws {
        let text = try printed(log(), .init(width: width, report: "nightly mirror.report.json"))
        for line in text.split(separator: "\n") where !line.contains("://") {
            #expect(TextLayout.width(of: String(line)) <= width, "\(line)")
        }
        #expect(!text.contains("\u{1B}"))
        try Snapshot.check(text, "Golden/progress-\(width).txt")
    }

    /// Colours take no columns: without them the lines are the same.
    @Test(arguments: [60, 80, 200]) func colours_changeNoLine(_ width: Int) throws {
        let plain = try printed(log(), .init(width: width))
        var colored = try printed(log(), .init(color: true, width: width))
        for code in ["31", "32", "33", "0"] { colored.replace("\u{1B}[\(code)m", with: "") }
        #expect(colored == plain)
    }

    /// With `-q` the causes alone, and how it ended.
    @Test(arguments: [60, 80, 200]) func quiet_tellsTheCausesOnce(_ width: Int) throws {
        let text = try printed(log(), .init(amount: .quiet, width: width))
        #expect(text.ranges(of: "no such release").count == 1)
        try Snapshot.check(text, "Golden/progress-quiet-\(width).txt")
    }

    // MARK: The end of the whole run

    private func stopped(
        _ ends: [(TaskOutcome, TransferError?, String?)], _ amount: PlainProgress.Amount
    ) throws -> String {
        var log = Log(start: start)
        for (task, end) in ends.enumerated() {
            log.end(UInt32(task), end.0, source: nil, end.1, explanation: end.2)
        }
        log.add(.runFinished(RunRecord(outcome: .cancelled, exitStatus: 130, duration: .seconds(9))), nil, after: 9)
        return try printed(log.events, .init(amount: amount))
    }

    @Test(arguments: [PlainProgress.Amount.normal, .quiet])
    func aSignal_isOneCause_andNamesNoTask(_ amount: PlainProgress.Amount) throws {
        let good: [(TaskOutcome, TransferError?, String?)] = [(.succeeded, nil, nil)]
        let text = try stopped(good + (0..<9).map { _ in (.cancelled, .stoppedBySignal, nil) }, amount)
        let summary = """

            Stopped by a signal: 9 of 10 tasks are not done.
            Go on: transfer-run run 'ci/nightly mirror.yaml'
            Exit status 130: interrupted.
            1 ok, 9 cancelled · 9.00s

            """
        #expect(text.hasSuffix(summary), "\(text)")
        #expect(!text.contains("part-1"))
    }

    @Test func aSignalAfterAFailure_tellsTheFailureFirst() throws {
        let text = try stopped(
            [(.failed, TransferError(.timedOut, "late"), nil), (.cancelled, .stoppedBySignal, nil)], .quiet)
        #expect(
            text.hasPrefix(
                """

                1 of 2 tasks failed:
                  index failed (timedOut): late

                """), "\(text)")
        #expect(text.contains("\nStopped by a signal: 1 of 2 tasks is not done.\nGo on: transfer-run run "))
    }

    @Test(arguments: [
        (Deferral.finishBy, "`limits.finishBy` has come: 10 of 10 tasks are not done.\n"),
        (Deferral.maximumBytes, "`limits.maximumBytes` is reached: 10 of 10 tasks are not done.\n"),
    ])
    func aLimitOfTheRun_isOneCause(_ deferral: Deferral, _ words: String) throws {
        let sentence = Explanation.sentence(
            outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: deferral)
        let text = try stopped((0..<10).map { _ in (.deferred, nil, sentence) }, .normal)
        #expect(text.contains("\n\(words)Go on: transfer-run run "), "\(text)")
        #expect(!text.contains("part-1"))
    }

    /// With `-v` each task has its line all the same.
    @Test func verbose_tellsEachTask() throws {
        let text = try stopped((0..<10).map { _ in (.cancelled, .stoppedBySignal, nil) }, .verbose)
        #expect(text.contains("cancelled  part-1"))
    }

    // MARK: GitHub

    @Test func onGitHub_theAnnotationAloneSaysWhy() throws {
        let text = try printed(log(), .init(isGitHub: true))
        #expect(text.ranges(of: "no such release any more").count == 1, "\(text)")
    }

    @Test func theStepsSummary_foldsWhatFollows() throws {
        let folder = try TemporaryTree()
        let summary = GitHubSummary(job: try job(), path: folder.path("summary.md"))
        summary.consume(log()[...])
        try summary.write()
        let rows = try folder.text("summary.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.map(String.init)
        try #require(rows.count == 9, "\(rows)")
        #expect(rows[2].hasPrefix("| release | failed | 2.00s | GET"))
        #expect(rows[2].hasSuffix(" (2 tasks that need it were skipped) |"))
        #expect(rows[3] == "| part-1, part-2 | failed | 1m00s | no byte moved for 60 s |")
        #expect(try folder.text("summary.md").contains("\n10 tasks, in 1m15s\n"))
    }

    private func summaryRows(_ ends: [(TaskOutcome, TransferError?)]) throws -> [String] {
        var log = Log(start: start)
        for (task, end) in ends.enumerated() { log.end(UInt32(task), end.0, source: nil, end.1) }
        log.add(.runFinished(RunRecord(outcome: .cancelled, exitStatus: 130, duration: .seconds(9))), nil, after: 9)
        let folder = try TemporaryTree()
        let summary = GitHubSummary(job: try job(), path: folder.path("summary.md"))
        summary.consume(log.events[...])
        try summary.write()
        return try folder.text("summary.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.map(String.init)
    }

    @Test func theStepsSummary_ofAStoppedRun_namesNoTaskThatWasNotReached() throws {
        let stopped: [(TaskOutcome, TransferError?)] = Array(repeating: (.cancelled, .stoppedBySignal), count: 9)
        let rows = try summaryRows(stopped + [(.failed, TransferError(.timedOut, "late"))])
        try #require(rows.count == 4, "\(rows)")
        #expect(rows[2].hasSuffix("| failed | 2.00s | late |"))
        #expect(
            rows[3].hasPrefix("| 9 tasks | cancelled | ") && rows[3].contains("Stopped by a signal; they are"),
            "\(rows)")
    }

    /// What it followed is in another part of the run.
    @Test func theStepsSummary_countsWhatFollowsNoKnownCause() throws {
        let rows = try summaryRows([
            (.skipped, TransferError(.dependencyFailed, "`x`, which it needs, failed")),
            (.skipped, TransferError(.dependencyFailed, "`y`, which it needs, failed")),
        ])
        #expect(rows.count == 3 && rows[2] == "| 2 tasks | skipped or cancelled |  | the report says why |", "\(rows)")
    }
}
