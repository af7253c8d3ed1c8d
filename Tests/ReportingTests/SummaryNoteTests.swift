import Reporting
import TestSupport
import Testing
import TransferModel

/// What a run says beside the ends of its tasks.
struct SummaryNoteTests {
    private func printed(
        _ style: PlainProgress.Style, type: TaskType = .download, _ coding: String? = nil,
        path: String = "/srv/data.txt",
        validator: String? = nil, changed: Bool = false, decompress: Decompression = .no, tasks: Int = 1,
        removed: RemovedFiles? = nil
    ) throws -> [String] {
        var job = Job(name: "j", file: "jobs.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        var values = TaskOptions.Values(policies: TransferPolicies())
        values.decompress = decompress
        for index in 0..<tasks {
            job.tasks.append(
                TaskSpecification(
                    id: "t\(index)", type: type, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse("https://example.org/\(index)")), destination: nil,
                    line: 1, options: TaskOptions(values)))
        }
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: style)
        var events: [Event] = []
        func add(_ task: Int?, _ kind: Event.Kind) {
            events.append(
                Event(
                    time: WallTime(nanoseconds: 0), sequence: UInt64(events.count + 1), session: nil,
                    task: task.map { TaskIndex(raw: UInt32($0)) }, kind: kind))
        }
        for task in 0..<tasks {
            add(task, .attemptStarted(AttemptStart(number: 1, url: "u")))
            add(
                task,
                .response(
                    ResponseRecord(
                        status: 200, url: "u", method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
                        suggestedFilename: nil, contentEncoding: coding,
                        headers: HeaderBlock(raw: Array((validator.map { "\($0): x\r\n" } ?? "").utf8)))))
            add(
                task,
                .fileFinished(
                    FileRecord(path: path, bytes: 1, checksum: nil, changed: changed, lengthUnverified: false)))
            add(
                task,
                .taskFinished(
                    TaskRecord(
                        outcome: .succeeded, tolerated: false, changed: changed, source: .network, waits: [],
                        error: nil, body: nil, lengthUnverified: false, captures: [], duration: .seconds(1),
                        explanation: nil)))
        }
        add(nil, .groupPublished(GroupRecord(name: "site", removed: removed)))
        add(nil, .runFinished(RunRecord(outcome: .succeeded, exitStatus: 0, duration: .seconds(1))))
        progress.consume(events[...])
        return sink.text.split(separator: "\n").map(String.init)
    }

    // MARK: What is sent again

    /// Of requests that their servers may have heard, the advice says that it sends them again.
    @Test(arguments: [
        (1, "Run only this task again (sends t0 again): "), (3, "Run only these again (sends t0, t1, t2 again): "),
        (5, "Run only these again (sends t0, t1, t2 and 2 more again): "),
    ])
    func requestThatMayHaveBeenHeard_isNamedAsSentAgain(_ count: Int, _ words: String) throws {
        for error in [TransferError.notSentAgain, .lostFromJournal, TransferError(.timedOut, "late").notSentAgain] {
            #expect(try advice(count, error).hasPrefix(words))
        }
        #expect(try !advice(count, TransferError(.timedOut, "late")).contains("sends"))
    }

    private func advice(_ count: Int, _ error: TransferError) throws -> String {
        var job = Job(name: "j", file: "jobs.yaml", baseDirectory: "/srv")
        job.sessions = [SessionConfiguration(name: "default")]
        job.tasks = try (0..<count).map { index in
            TaskSpecification(
                id: "t\(index)", type: .upload, session: SessionIndex(raw: 0),
                location: .url(try ResourceURL.parse("https://example.org/\(index)")), destination: nil, line: 1,
                options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        }
        let sink = MemorySink()
        let progress = PlainProgress(job: job, sink: sink, style: .init(report: "r.json"))
        var kinds: [(Int?, Event.Kind)] = (0..<count).map { index in
            let end = TaskRecord(
                outcome: .failed, tolerated: false, changed: nil, source: nil, waits: [], error: error, body: nil,
                lengthUnverified: false, captures: [], duration: .seconds(1), explanation: nil)
            return (index, .taskFinished(end))
        }
        kinds.append((nil, .runFinished(RunRecord(outcome: .failed, exitStatus: 1, duration: .seconds(1)))))
        let events = kinds.enumerated().map { place, told in
            Event(
                time: WallTime(nanoseconds: 0), sequence: UInt64(place + 1), session: nil,
                task: told.0.map { TaskIndex(raw: UInt32($0)) }, kind: told.1)
        }
        progress.consume(events[...])
        return try #require(sink.text.split(separator: "\n").map(String.init).first { $0.hasPrefix("Run only") })
    }

    // MARK: A packed body

    private static let warning =
        "  warning: t0: `data.txt` is stored in gzip, as the server sent it; `decompress: true` unpacks it"

    @Test func aFileThatIsStoredPackedIsToldOnce() throws {
        #expect(try printed(.init(), "gzip", tasks: 3).filter { $0.contains("warning") } == [Self.warning])
    }

    @Test(arguments: ["/srv/data.txt.gz", "/srv/a.TGZ", "/srv/b.tar.zst", "/srv/c.br"])
    func aNameThatSaysSoIsNoSurprise(_ path: String) throws {
        #expect(try printed(.init(), "gzip", path: path).contains { $0.contains("warning") } == false)
    }

    @Test func whatIsNotPackedOrUnpackedIsNotTold() throws {
        for coding in [nil, "identity", "aws-chunked"] {
            #expect(try printed(.init(), coding).contains { $0.contains("warning") } == false)
        }
        #expect(try printed(.init(), "gzip", decompress: .answer).contains { $0.contains("warning") } == false)
        #expect(try printed(.init(), type: .data, "gzip").contains { $0.contains("warning") } == false)
        #expect(try printed(.init(amount: .quiet), "gzip").contains { $0.contains("warning") } == false)
    }

    // MARK: Downloads that are never unchanged

    @Test func aServerWithoutValidatorsIsToldWhereUnchangedIsAskedFor() throws {
        var style = PlainProgress.Style()
        #expect(try printed(style).contains { $0.contains("came again") } == false)
        style.explainsUnchanged = true
        #expect(
            try printed(style, tasks: 2).filter { $0.contains("came again") } == [
                "2 files came again without a change: the server sends neither `ETag` nor `Last-Modified`, "
                    + "so only fetching tells; a `checksum` would save it."
            ])
        for validator in ["ETag", "Last-Modified"] {
            #expect(try printed(style, validator: validator).contains { $0.contains("came again") } == false)
        }
        #expect(try printed(style, changed: true).contains { $0.contains("came again") } == false)
    }

    // MARK: Removed files

    @Test func filesThatAGroupRemovedAreCounted_andNamedWhereMoreIsAskedFor() throws {
        let removed = RemovedFiles(count: 3, named: ["old", "sub/older"])
        let line = "3 files removed from the group `site`: no task names them."
        #expect(try printed(.init(), removed: removed).filter { $0.contains("removed") } == [line])
        #expect(try printed(.init(amount: .quiet), removed: removed).contains(line) == false)
        let verbose = try printed(.init(amount: .verbose), removed: removed).filter { $0.contains("removed") }
        #expect(
            verbose == ["  site: removed old", "  site: removed sub/older", "  site: removed 1 other file", line])
        #expect(try printed(.init(), removed: RemovedFiles()).contains { $0.contains("removed") } == false)
        #expect(try printed(.init(), removed: nil).contains { $0.contains("removed") } == false)
    }
}
