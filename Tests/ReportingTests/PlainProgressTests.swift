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
        _ records: [TaskRecord], _ style: PlainProgress.Style = .init(), isSummed: Bool = true,
        answered: Bool = false, change: (inout Job) -> Void = { _ in }
    ) throws -> String {
        var job = try job(records.count)
        change(&job)
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: style)
        var events: [Event] = []
        var transaction = TransactionMetrics(method: "GET", url: "u", fetchStart: WallTime(nanoseconds: 0))
        (transaction.status, transaction.responseBodyBytesReceived) = (200, 3 << 20)
        for (index, record) in records.enumerated() {
            func add(_ kind: Event.Kind) {
                events.append(
                    Event(
                        time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: TaskIndex(raw: UInt32(index)),
                        kind: kind))
            }
            add(.attemptStarted(AttemptStart(number: 1, url: "https://example.org/\(index)")))
            if answered {
                add(
                    .response(
                        ResponseRecord(
                            status: 200, url: "u", method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
                            suggestedFilename: nil, contentEncoding: nil,
                            headers: HeaderBlock(raw: Array("ETag: \"1\"\r\n".utf8)))))
            }
            add(
                .fileFinished(
                    FileRecord(path: "/x", bytes: 3 << 20, checksum: nil, changed: true, lengthUnverified: false)))
            add(
                .attemptFinished(
                    AttemptRecord(
                        number: 1, url: "u", outcome: .succeeded, resumedFrom: 0, startedAt: WallTime(nanoseconds: 0),
                        duration: .milliseconds(500), error: nil, backoff: nil, transactions: [transaction])))
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
        let text = try printed(
            [
                record(.succeeded), record(.failed, lost, explanation: "It broke."), record(.skipped, needs),
                record(.succeeded, source: .unchanged), record(.failed, lost, tolerated: true),
            ], .init(report: "jobs.report.json")
        ) { $0.tasks[2].needs = [TaskIndex(raw: 1)] }
        let expected = """
            5 tasks
            ok         t0  3.0 MiB  6.0 MiB/s  1.50s
            FAILED     t1  1.50s  the connection was reset
            unchanged  t3  3.0 MiB  1.50s
            tolerated  t4  1.50s  the connection was reset

            1 of 5 tasks failed, 1 because of that:
              t1 failed (networkConnectionLost)
                1 task that needs it was skipped
                Run it again; the server or the network cut the connection.
            Run only these again: transfer-run rerun jobs.report.json
            Exit status 1: not every task succeeded.
            1 ok, 1 unchanged, 1 tolerated, 1 failed, 1 skipped · 15.0 MiB · 204.8 KiB/s · 1m15s · report: jobs.report.json

            """
        #expect(text == expected)
    }

    /// What 3,011 lines said.
    @Test(arguments: [PlainProgress.Amount.normal, .quiet])
    func groupThatMissesOneMember_isToldInAFewLines(_ amount: PlainProgress.Amount) throws {
        let missing = TransferError(.unexpectedResponse, "GET https://example.org/99: 404 Not Found")
        let others = TransferError(.runCancelled, "another member of its group did not succeed")
        let text = try printed(
            (0..<3_012).map { $0 == 99 ? record(.failed, missing) : record(.cancelled, others, source: nil) },
            .init(amount: amount)
        ) { job in
            for index in job.tasks.indices { job.tasks[index].group = GroupIndex(raw: 0) }
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.count < 12)
        #expect(lines.contains("1 of 3,012 tasks failed, 3,011 because of that:"))
        #expect(lines.contains("    3,011 other members of its group were not published"))
        #expect(text.ranges(of: "404 Not Found").count == 1)
        #expect(!text.contains("is kept"))
    }

    /// Its partial file is removed, unless it was told otherwise: nothing is promised.
    @Test func cancelByCommand_doesNotSayThatAnythingIsKept() throws {
        let records = (0..<2).map { _ in record(.cancelled, .cancelledByCommand, source: nil) }
        #expect(!(try printed(records, answered: true) { _ in }).contains("kept"))
    }

    /// What a stop leaves is said once, and not of what nothing keeps.
    @Test(arguments: [true, false]) func stop_saysWhatIsKept(_ isGrouped: Bool) throws {
        let records = (0..<4).map { _ in record(.cancelled, .stoppedBySignal, source: nil) }
        let text = try printed(records, answered: true) { job in
            if isGrouped { for index in job.tasks.indices { job.tasks[index].group = GroupIndex(raw: 0) } }
        }
        let words =
            isGrouped
            ? "4 verified files of unpublished groups are kept for a week: the same command fetches only the rest.\n"
            : "12.0 MiB of half-done downloads is kept: the same command resumes them.\n"
        #expect(text.contains(words))
        #expect(text.ranges(of: " kept").count == 1)
        #expect(
            text.contains("\nStopped by a signal: 4 of 4 tasks are not done.\n"))
    }

    /// A lost connection leaves what had come; what fails a check may be wrong.
    @Test func failure_saysWhatIsKept() throws {
        let errors = [
            TransferError(.networkConnectionLost, "GET https://example.org/0: \(TransferError.cutWords)1 of 3 MiB"),
            TransferError(.checksumMismatch, "sha256 is a, expected b"),
        ]
        let text = try printed(errors.map { record(.failed, $0) }, answered: true)
        #expect(text.contains("\n3.0 MiB of half-done downloads is kept: the same command resumes them.\n"))
        #expect(!(try printed(errors.map { record(.failed, $0) })).contains("kept"))
    }

    /// `limits.timeout` is no fault of the tasks: it is told once, with what would help.
    @Test func timeoutOfTheRun_isToldOnce() throws {
        let text = try printed(
            [record(.succeeded)] + (0..<3).map { _ in record(.cancelled, .runTimedOut, source: nil) }, answered: true)
        #expect(
            text.contains("\n\n`limits.timeout` is over: 3 of 4 tasks are not done. Raise it if they need longer.\n"))
        #expect(text.ranges(of: "limits.timeout").count == 1)
        #expect(text.contains("\n  cut: t1 at 3.0 MiB, t2 at 3.0 MiB, t3 at 3.0 MiB\n"), "\(text)")
        #expect(text.contains("9.0 MiB of half-done downloads is kept"))
        #expect(text.contains("\nGo on: transfer-run run 'my jobs.yaml'\n"))
    }

    /// Whatever a task had failed by before, one limit cut them all.
    @Test func timeoutOfTheRun_isOneCauseWhateverCameBefore() throws {
        let busy = TransferError(.unexpectedResponse, "GET https://example.org/0: 503 Service Unavailable")
        let text = try printed([
            record(.cancelled, .runTimedOut.following(busy, times: 2), source: nil),
            record(.cancelled, .runTimedOut, source: nil),
        ])
        #expect(text.ranges(of: "2 of 2 tasks are not done").count == 1, "\(text)")
    }

    /// What the run spent its time on is no part of what failed.
    @Test func timesStandBeforeTheFailures() throws {
        let wait = TaskRecord.Wait(reason: .hostLimit, duration: .seconds(7))
        let text = try printed([record(.failed, TransferError(.timedOut, "late"), waits: [wait])])
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let place = try #require(lines.firstIndex { $0.hasPrefix("Waits: ") })
        #expect(lines[(place + 1)...].starts(with: ["", "The task failed:"]), "\(text)")
    }

    /// The members of a group fail together: one line says why.
    @Test func groupThatIsNotPublished_isToldOnce() throws {
        let error = TransferError(.groupNotPublished, "4 of the 4 files in /site\(TransferError.removalsWords)1")
        let text = try printed((0..<5).map { _ in record(.failed, error) }) { job in
            for index in job.tasks.indices { job.tasks[index].group = GroupIndex(raw: index < 3 ? 0 : 1) }
        }
        #expect(text.ranges(of: "FAILED").count == 2)
        #expect(text.contains("  5 tasks failed (groupNotPublished): 4 of the 4 files in /site would be removed"))
        #expect(text.contains("raise `maximumRemovals` of the group"))
    }

    /// A chain of needs leads back to the one that failed.
    @Test func tasksThatAreSkipped_countUnderTheTaskThatFailed() throws {
        let lost = TransferError(.timedOut, "late")
        let needs = TransferError(.dependencyFailed, "task `t0` failed")
        let text = try printed([record(.failed, lost)] + (0..<500).map { _ in record(.skipped, needs) }) { job in
            for index in 1...500 { job.tasks[index].needs = [TaskIndex(raw: UInt32(index - 1))] }
        }
        #expect(text.contains("    500 tasks that need it were skipped\n"))
        #expect(!text.contains("skipped  "))
        #expect(text.contains("Run the job again: transfer-run run 'my jobs.yaml'\n") == false)
        #expect(text.contains("--only 't*'"))
    }

    /// A failure that has left the screen is told again, at the end.
    @Test func failureLongAgo_isToldAgain() throws {
        let late = TransferError(.timedOut, "no byte moved for 60 s")
        let text = try printed([record(.failed, late)] + (0..<40).map { _ in record(.succeeded) })
        #expect(text.ranges(of: "no byte moved for 60 s").count == 2)
        let few = try printed([record(.failed, late)] + (0..<4).map { _ in record(.succeeded) })
        #expect(few.ranges(of: "no byte moved for 60 s").count == 1)
    }

    /// Two tasks that met the same thing, and one that met another.
    @Test func equalCauses_areFolded() throws {
        let text = try printed(
            (0..<30).map { index in
                index == 7
                    ? record(.failed, TransferError(.timedOut, "late"))
                    : record(
                        .failed,
                        TransferError(.unexpectedResponse, "GET https://example.org/\(index): 404 Not Found"))
            }, .init(amount: .quiet))
        #expect(text.contains("  29 tasks failed (unexpectedResponse): GET https://example.org/0: 404 Not Found\n"))
        #expect(text.contains("    t0, t1, t2, t3, t4, t5, t6, t8, t9, t10 and 19 more\n"))
        #expect(text.contains("  t7 failed (timedOut): late\n"))
    }

    /// One found it out for the others, and one was given up after a minute: the host is down for all of them.
    @Test func aHostThatRefuses_isOneCause() throws {
        let own = TransferError(
            .cannotConnectToHost, "GET http://a.test:9/0: a.test port 9\(TransferError.refusalWords)")
        let errors = [own, own.foundByAnotherTask, own.foundByAnotherTask.ofSilentHost, own.ofSilentHost]
        for first in errors.indices {
            let text = try printed(
                (errors[first...] + errors[..<first]).map { record(.failed, $0) }, .init(amount: .quiet))
            #expect(
                text.contains("  4 tasks failed (cannotConnectToHost): a.test port 9 refused the connection\n"))
            #expect(text.contains("    Check that the server is running and that the port is right.\n"))
        }
    }

    /// An id is no URL, and libcurl's words have none.
    @Test(arguments: [
        (
            TransferError(.networkConnectionLost, "Empty reply from server"),
            "GET https://b.test/f: Empty reply from server"
        ),
        (TransferError(.unexpectedResponse, "GET https://a.test/f: 404"), "GET https://a.test/f: 404"),
        (TransferError(.cannotWriteToFile, "no space is left"), "no space is left"),
    ])
    func whatTheServerDid_isToldWithItsURL(_ error: TransferError, _ words: String) throws {
        for amount in [PlainProgress.Amount.normal, .quiet] {
            let sink = MemorySink()
            let progress = PlainProgress(job: try job(1), sink: sink, style: .init(amount: amount))
            let time = WallTime(nanoseconds: 0)
            let attempt = AttemptRecord(
                number: 1, url: "https://a.test/f", outcome: .failed, resumedFrom: 0, startedAt: time, duration: .zero,
                error: error, backoff: nil,
                transactions: [TransactionMetrics(method: "GET", url: "https://b.test/f", fetchStart: time)])
            let end = RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(75))
            let kinds: [Event.Kind] = [
                .attemptFinished(attempt), .taskFinished(record(.failed, error)), .runFinished(end),
            ]
            progress.consume(
                kinds.enumerated().map { place, kind in
                    Event(
                        time: time, sequence: UInt64(place), session: nil,
                        task: place < 2 ? TaskIndex(raw: 0) : nil, kind: kind)
                }[...])
            let line = sink.text.split(separator: "\n").first { $0.contains(error.message) } ?? ""
            #expect(line.hasSuffix((amount == .quiet ? ": " : "  ") + words))
        }
    }

    @Test func aHostThatRefuses_isToldOnceWhileItIsTried() throws {
        let sink = MemorySink()
        let progress = PlainProgress(job: try job(3), sink: sink, style: .init(heartbeat: .seconds(30)))
        let time = WallTime(nanoseconds: 0)
        for index in 0..<3 {
            let url = "http://a.test:9/\(index)"
            let error = TransferError(.cannotConnectToHost, "GET \(url): a.test port 9 refused the connection")
            let attempt = AttemptRecord(
                number: 1, url: url, outcome: .failed, resumedFrom: 0, startedAt: time, duration: .zero, error: error,
                backoff: .seconds(1), transactions: [])
            progress.consume([
                Event(
                    time: time, sequence: UInt64(index), session: nil, task: TaskIndex(raw: UInt32(index)),
                    kind: .attemptFinished(attempt))
            ])
        }
        #expect(sink.text.ranges(of: "refused the connection; tried again in 1.00s").count == 1)
    }

    /// What was wrong is asked for once more; what was lost, until a time.
    @Test(arguments: [ErrorName.checksumMismatch, .cannotDecodeRawData, .networkConnectionLost])
    func theLineOfARetry_saysWhetherThereAreMore(_ name: ErrorName) throws {
        let sink = MemorySink()
        let progress = PlainProgress(job: try job(1), sink: sink, style: .init(heartbeat: .seconds(30)))
        let time = WallTime(nanoseconds: 0)
        let isLost = name == .networkConnectionLost
        let attempt = AttemptRecord(
            number: 1, url: "u", outcome: .failed, resumedFrom: 0, startedAt: time, duration: .zero,
            error: TransferError(name, "it broke"), backoff: .seconds(1), transactions: [],
            retriesUntil: isLost ? time + .seconds(600) : nil)
        progress.consume([
            Event(time: time, sequence: 0, session: nil, task: TaskIndex(raw: 0), kind: .attemptFinished(attempt))
        ])
        let words = isLost ? "tried again in 1.00s, until 00:10:00 UTC at most" : "tried once more in 1.00s"
        #expect(sink.text.contains("t0: it broke; \(words)\n"), "\(sink.text)")
    }

    /// A login page under the name of an archive is no failure by the job's rules, and hardly what was meant.
    @Test(arguments: [
        ("https://a.test/file.tgz", nil, "text/html", true),
        ("https://a.test/file.tgz", "x/page.html", "text/html", false),
        ("https://a.test/list.php?a=b.zip", nil, "text/html", false),
        ("https://a.test/list.php", "x.zip", "text/html", true),
        ("https://a.test/latest", nil, "text/html", false), ("https://a.test/v1.2", nil, "text/html", false),
        ("https://a.test/file.tgz", nil, "application/gzip", false), ("https://a.test", "x/", "text/html", false),
    ])
    func aPageAfterARedirect_isWarnedOf(_ url: String, _ to: String?, _ type: String, _ isWarned: Bool) throws {
        for isRedirected in [true, false] {
            var job = try job(2)
            for index in job.tasks.indices { job.tasks[index].destination = to }
            let sink = MemorySink()
            let progress = PlainProgress(job: job, sink: sink)
            let time = WallTime(nanoseconds: 0)
            for task in 0..<2 {
                var kinds: [Event.Kind] = [.attemptStarted(AttemptStart(number: 1, url: url))]
                if isRedirected {
                    kinds.append(
                        .redirect(
                            RedirectRecord(
                                status: 302, from: url, to: "https://a.test/login?next=\(task)", method: "GET",
                                action: .followed, stripped: [])))
                }
                kinds.append(
                    .response(
                        ResponseRecord(
                            status: 200, url: "https://a.test/login?next=\(task)", method: "GET", mimeType: type,
                            charset: nil, expectedLength: nil, suggestedFilename: nil, contentEncoding: nil,
                            headers: .empty)))
                kinds.append(.taskFinished(record(.succeeded)))
                progress.consume(
                    kinds.map {
                        Event(time: time, sequence: 1, session: nil, task: TaskIndex(raw: UInt32(task)), kind: $0)
                    }[...])
            }
            let count = sink.text.ranges(of: "is a web page: a redirect led to https://a.test/login?next=0\n").count
            #expect(count == (isWarned && isRedirected ? 1 : 0), "\(sink.text)")
            #expect(sink.text.ranges(of: "warning").count == count)
            #expect(sink.text.contains("add `expect: { notHTML: true }`") == (count == 1))
        }
    }

    @Test func lines_areNoWiderThanTheTerminal_andWordsStayWhole() throws {
        let long = TransferError(
            .unexpectedResponse,
            "GET https://example.org/a/very/long/path/that/cannot/be/broken: 404 Not Found: \"no such thing\"")
        for width in [40, 60, 80, 200] {
            let text = try printed([record(.failed, long), record(.succeeded)], .init(amount: .quiet, width: width))
            for line in text.split(separator: "\n") {
                #expect(line.count <= width || !line.contains(" ") || line.contains("://"), "\(width): \(line)")
            }
            #expect(text.contains("https://example.org/a/very/long/path/that/cannot/be/broken:"))
        }
    }

    // MARK: The heartbeat

    @Test(arguments: [
        ([WaitReason.window, .window], "2 waiting for the hours of its `window`"),
        ([.window, .dependency, .dependency], "3 waiting (2 for the tasks it needs, 1 for the hours of its `window`)"),
    ])
    func whileNothingRuns_theLineSaysWhatIsWaitedFor(_ reasons: [WaitReason], _ words: String) throws {
        let sink = MemorySink()
        let progress = PlainProgress(
            job: try job(reasons.count), sink: sink, style: .init(heartbeat: .seconds(30)))
        let start = WallTime(nanoseconds: 1_000_000_000_000)
        let waits = reasons.enumerated().map { index, reason in
            Event(
                time: start, sequence: 1, session: nil, task: TaskIndex(raw: UInt32(index)),
                kind: .waiting(reason, lacks: nil))
        }
        progress.consume(waits[...])
        progress.tick(start + .seconds(30))
        #expect(sink.text.contains("] 0 of \(reasons.count) tasks done, \(words) · "), "\(sink.text)")
    }

    @Test func whereNobodyWatches_aLineEachHalfMinuteSaysHowFarItIs() throws {
        let job = try job(20)
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: .init(heartbeat: .seconds(30)))
        let start = WallTime(nanoseconds: 1_000_000_000_000)
        func event(_ kind: Event.Kind, _ task: UInt32, after seconds: Int64) -> Event {
            Event(
                time: start + .seconds(seconds), sequence: 1, session: nil, task: TaskIndex(raw: task), kind: kind)
        }
        progress.consume([event(.attemptStarted(AttemptStart(number: 1, url: "https://example.org/0")), 0, after: 0)])
        #expect(progress.nextTick == start + .seconds(30))
        progress.tick(start + .seconds(29))
        progress.consume([event(.receivedData(Event.Progress(bytes: 30 << 20, expected: nil)), 0, after: 20)])
        progress.tick(start + .seconds(30))
        progress.tick(start + .seconds(59))
        progress.tick(start + .seconds(60))
        #expect(
            sink.text == """
                20 tasks · 6 to a host
                [30.0s] 0 of 20 tasks done, 1 running, 19 waiting · 30.0 MiB · 1.0 MiB/s
                [1m00s] 0 of 20 tasks done, 1 running, 19 waiting · 30.0 MiB · 0 B/s

                """)
        let end = RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(75))
        progress.consume([Event(time: start, sequence: 2, session: nil, task: nil, kind: .runFinished(end))])
        #expect(progress.nextTick == nil)
    }

    // MARK: Rates

    private func course(_ attempts: [(received: Int64, seconds: Int64, from: Int64)]) throws -> String {
        let job = try job(1)
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink)
        let time = WallTime(nanoseconds: 0)
        func event(_ kind: Event.Kind) -> Event {
            Event(time: time, sequence: 1, session: nil, task: TaskIndex(raw: 0), kind: kind)
        }
        for (place, attempt) in attempts.enumerated() {
            var transaction = TransactionMetrics(method: "GET", url: "u", fetchStart: time)
            (transaction.status, transaction.responseBodyBytesReceived) = (
                attempt.from > 0 ? 206 : 200, attempt.received
            )
            progress.consume([
                event(.attemptStarted(AttemptStart(number: place + 1, url: "u"))),
                event(
                    .attemptFinished(
                        AttemptRecord(
                            number: place + 1, url: "u", outcome: .succeeded, resumedFrom: attempt.from,
                            startedAt: time,
                            duration: .seconds(attempt.seconds), error: nil, backoff: nil, transactions: [transaction]))
                ),
            ])
        }
        let bytes = attempts.reduce(0) { max($0, $1.from + $1.received) }
        progress.consume([
            event(
                .fileFinished(
                    FileRecord(path: "/x", bytes: bytes, checksum: nil, changed: true, lengthUnverified: false))),
            event(.taskFinished(record(.succeeded, source: attempts.count > 1 ? .resumed : .network))),
        ])
        return sink.text
    }

    /// 10 of 40 MB were left, and the server gives 5 MB a second.
    @Test func rateOfAResumedTask_isOfTheBytesThatMoved() throws {
        let later = try course([(received: 10 << 20, seconds: 2, from: 30 << 20)])
        #expect(later.contains("40.0 MiB  5.0 MiB/s  1.50s  resumed at 30.0 MiB"))
        let both = try course([
            (received: 30 << 20, seconds: 6, from: 0), (received: 10 << 20, seconds: 2, from: 30 << 20),
        ])
        #expect(both.contains("40.0 MiB  5.0 MiB/s  1.50s  2 attempts  resumed at 30.0 MiB"))
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
        let line = sink.text.split(separator: "\n").first { $0.hasPrefix("Run only this task again, with ") } ?? ""
        #expect(
            line == "Run only this task again, with \(start) --set release=12.7 --set 'a=it'\\''s' --set 'b=***' "
                + "--set 'c=***' --set 'd=***' --set 'myToken=***' --state-dir 's d' --only t0")
    }

    @Test func quietShowsFailuresAndTheSummary() throws {
        let text = try printed(
            [record(.succeeded), record(.failed, TransferError(.timedOut, "no byte for 60s"))], .init(amount: .quiet))
        #expect(!text.contains("t0"))
        #expect(text.contains("  t1 failed (timedOut): no byte for 60s\n"))
        #expect(text.contains("1 ok, 1 failed · "))
    }

    @Test func allIsWell() throws {
        let text = try printed([record(.succeeded), record(.succeeded)])
        #expect(text.hasSuffix("\n2 ok · 6.0 MiB · 81.9 KiB/s · 1m15s\n"))
        #expect(!text.contains("again"))
    }

    @Test func manyFailuresAreNotAllTold() throws {
        let text = try printed((0..<50).map { record(.failed, TransferError(.timedOut, "late \($0)")) })
        #expect(text.contains("50 of 50 tasks failed:"))
        #expect(text.contains("  and 30 other causes, all in the report"))
        #expect(text.contains("again: transfer-run run 'my jobs.yaml' --only 't*'\n"))
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
                3 tasks
                  \(ids[0]): waits for a network: there is none
                  \(ids[2]): waits for mains power or a fuller battery
                  \(ids[1]): waits for a network: there is none
                  \(ids[0]): waits for the hours of its `window`

                """)
    }

    /// Whoever runs it again sooner would only be put off again.
    @Test(arguments: [(["in 3 h 12 min", "in 3 h 11 min"], true), (["in 3 h 12 min", nil], true), ([nil], false)])
    func summary_ofTasksPutOffForTheirWindow_saysWhenToRunThemAgain(_ spans: [String?], _ isSaid: Bool) throws {
        let records = spans.map { span in
            record(
                .deferred,
                explanation: Explanation.sentence(
                    outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: .window,
                    lacks: span.map { "01:00 Europe/Berlin (\($0))" }))
        }
        let text = try printed(records)
        #expect(text.contains("\nRun the job again from 01:00 Europe/Berlin (in 3 h 1") == isSaid, "\(text)")
        #expect(text.contains("transfer-run ") != isSaid, "\(text)")
    }

    /// The line and the summary below it say so, whichever of them a person reads.
    @Test func whatIsPutOff_saysUntilWhen() throws {
        let put = record(
            .deferred,
            explanation: Explanation.sentence(
                outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: .earliestBegin,
                lacks: "2026-11-29 18:00 UTC (in 11 h)"))
        let text = try printed([put])
        let why = "its `earliestBegin` does not come until 2026-11-29 18:00 UTC (in 11 h), and the run"
        let lines = text.split(separator: "\n").filter { $0.contains(why) }
        #expect(lines.count == 2 && lines[0].hasPrefix("deferred ") && lines[1].contains(" deferred: its"), "\(text)")
        #expect(text.contains("\nRun the job again from 2026-11-29 18:00 UTC (in 11 h).\n"), "\(text)")
    }

    /// A duration begins anew with each run: waiting for it helps, and running again does not.
    @Test func whatIsPutOffForADuration_isRunWithoutNoWait() throws {
        let put = record(
            .deferred,
            explanation: Explanation.sentence(
                outcome: .deferred, error: nil, waits: [], attempts: 0, deferral: .earliestBegin,
                lacks: "2026-11-29 18:00 UTC (in 2 h)" + Explanation.fromEachStart))
        #expect(put.deferral == .earliestBegin)
        let text = try printed([put], .init(advice: RerunAdvice(options: ["--no-wait", "--quiet"])))
        #expect(text.contains("counted from each start"), "\(text)")
        #expect(text.contains(". Give a date, or run it without `--no-wait`."), "\(text)")
        #expect(!text.contains("Run the job again from") && text.contains(" --quiet"), "\(text)")
        #expect(!text.contains(" --no-wait "), "\(text)")
    }

    /// An attempt whose process was killed tells nothing of what it received: the place at which the next goes on does.
    @Test func summary_afterAKill_countsTheBytesOfTheWholeRun() throws {
        let sink = MemorySink()
        let progress = PlainProgress(job: try job(1), sink: sink)
        func end(_ number: Int, from offset: Int64, _ bytes: Int64?) -> Event.Kind {
            var transaction = TransactionMetrics(method: "GET", url: "u", fetchStart: WallTime(nanoseconds: 0))
            (transaction.status, transaction.responseBodyBytesReceived) = (206, bytes ?? 0)
            return .attemptFinished(
                AttemptRecord(
                    number: number, url: "u", outcome: bytes == nil ? .cancelled : .succeeded, resumedFrom: offset,
                    startedAt: WallTime(nanoseconds: 0), duration: .seconds(1),
                    error: bytes == nil ? .processEnded : nil, backoff: nil,
                    transactions: bytes == nil ? [] : [transaction]))
        }
        func goesOn(_ offset: Int64) -> Event.Kind { .resumedAtOffset(Event.Progress(bytes: offset, expected: nil)) }
        func start(_ number: Int) -> Event.Kind { .attemptStarted(AttemptStart(number: number, url: "u")) }
        let kinds: [Event.Kind] = [
            start(1), end(1, from: 0, nil), start(2), goesOn(4 << 20), end(2, from: 4 << 20, nil), start(3),
            goesOn(7 << 20), end(3, from: 7 << 20, 3 << 20), .taskFinished(record(.succeeded, source: .resumed)),
        ]
        var events = kinds.map { kind in
            Event(
                time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: TaskIndex(raw: 0), kind: kind)
        }
        let over = RunRecord(outcome: .succeeded, exitStatus: 0, duration: .seconds(10))
        events.append(
            Event(time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: nil, kind: .runFinished(over)))
        progress.consume(events[...])
        #expect(sink.text.contains("1 ok · 10.0 MiB · 1.0 MiB/s · 10.0s"), "\(sink.text)")
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
