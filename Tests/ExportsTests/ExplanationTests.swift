import Exports
import TestSupport
import Testing
import TransferModel

/// What `explain` says of a run and of a task.
@Suite struct ExplanationTests {
    private func run(_ path: String) throws -> String {
        let reader = try ReportReader(ReportFile(path), reading: RunExplanation.parts)
        var run = RunExplanation(reader.head)
        while let task = try reader.next() { run.add(task) }
        return run.lines().map { $0 + "\n" }.joined()
    }

    private func task(_ id: String, _ path: String = Recorded.path) throws -> String {
        let reader = try ReportReader(ReportFile(path))
        while let task = try reader.next() {
            if task.id == id { return TaskExplanation(task).lines().map { $0 + "\n" }.joined() }
        }
        return ""
    }

    @Test(arguments: ["report", "nightly-mirror"]) func ofARun(_ name: String) throws {
        try Snapshot.check(try run(Recorded.folder + "/Golden/\(name).json"), "Golden/explain-\(name).txt")
    }

    @Test func ofTasks() throws {
        let reader = try ReportReader(ReportFile(Recorded.path))
        var all = ""
        while let task = try reader.next() { all += try self.task(task.id) + "\n" }
        try Snapshot.check(all, "Golden/explain-tasks.txt")
    }

    /// Each wait that made up most of the tasks' time has its advice, and nothing else does.
    @Test(arguments: [
        ("hostLimit", "`maximumConnectionsPerHost`"), ("sessionLimit", "`maximumConcurrentTasks` of the session"),
        ("runLimit", "`--max-concurrent`"), ("requestRate", "`requestsPerSecond`"), ("bandwidth", "`bandwidth`"),
        ("retryAfter", "asked for quiet"), ("hostParked", "asked for quiet"), ("dependency", "`needs`"),
        ("flush", "`durability: flush`"), ("window", "hours of its `window`"), ("power", "mains power"),
    ])
    func whatHeldARunBackHasAdvice(_ reason: String, _ words: String) throws {
        let report = SmallReport(
            duration: 10, tasks: [SmallReport.task("a", duration: 10, waits: #"{"reason":"\#(reason)","duration":8}"#)])
        let advice = try advice(report)
        #expect(advice.count == 1 && advice[0].contains(words), "\(advice)")
        let little = SmallReport(
            duration: 10,
            tasks: [SmallReport.task("a", duration: 10, waits: #"{"reason":"\#(reason)","duration":0.5}"#)])
        #expect(try self.advice(little) == ["Nothing stands out: no limit and no host held the run back."])
    }

    /// A file that is verified waits for its group, and not for what it needs.
    @Test func waitAfterTheAttempt_isForTheGroup() throws {
        let waits = #"{"reason":"dependency","duration":8}"#
        let task = SmallReport.task("a", duration: 10, waits: waits)
            .replacing(
                #""explanation":null"#,
                with: #""explanation":null,"group":"site","finishedAt":"2026-11-21T07:00:07.000Z""#)
        let advice = try advice(SmallReport(duration: 10, tasks: [task]))
        #expect(advice.contains { $0.contains("1 file waited 7.00s together, verified, for the other") }, "\(advice)")
        #expect(advice.contains { $0.contains("1 task waited 1.00s together for tasks they need") }, "\(advice)")
    }

    /// Requests that took two milliseconds of ten seconds are not what to change, others are.
    @Test(arguments: [("00.002", 0), ("08.000", 1)])
    func requestsHaveAdviceWhereTheyTookTime(_ end: String, _ count: Int) throws {
        let task = SmallReport.task("a", duration: 10).replacing(
            #""resourceFetchType""#,
            with: #""requestStartDate":"2026-11-21T07:00:00.000Z","requestEndDate":"2026-11-21T07:00:00.000Z","#
                + #""responseStartDate":"2026-11-21T07:00:\#(end)Z","responseEndDate":"2026-11-21T07:00:\#(end)Z","#
                + #""resourceFetchType""#)
        let advice = try advice(SmallReport(duration: 10, tasks: [task]))
        #expect(advice.count { $0.contains("waiting for the first byte") } == count, "\(advice)")
    }

    @Test func aShortRunHasNothingToGain() throws {
        let report = SmallReport(
            duration: 0.5,
            tasks: [SmallReport.task("a", duration: 0.5, waits: #"{"reason":"runLimit","duration":0.5}"#)])
        #expect(try advice(report) == ["The run was over in 0.50s: there is little to gain."])
    }

    /// The lines below "What to change".
    private func advice(_ report: SmallReport) throws -> [String] {
        let tree = try TemporaryTree()
        let lines = try run(tree.write("report.json", report.text)).split(separator: "\n")
        guard let start = lines.firstIndex(of: "What to change") else { return [] }
        return lines[(start + 1)...].prefix { $0.hasPrefix("  ") }.map { String($0.dropFirst(2)) }
    }

    @Test func thePagesOfATaskAreCountedTogether() {
        var task = ReportedTask()
        (task.id, task.outcome) = ("list", .succeeded)
        task.pageFiles = [("p1", 300), ("p2", 200)].map { path, bytes in
            var file = ReportedTask.File()
            (file.path, file.bytes) = (path, Int64(bytes))
            return file
        }
        task.file = task.pageFiles.last
        #expect(TaskExplanation(task).lines().first?.contains("500 B in 2 files of its pages") == true)
    }
}
