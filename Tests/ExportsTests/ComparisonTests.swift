import Exports
import Reporting
import TestSupport
import Testing
import TextFormats

/// What `report diff` finds between two reports.
@Suite struct DiffTests {
    private typealias Task = SmallReport

    private func diff(_ old: [String], _ new: [String]) throws -> (lines: [String], found: Set<ReportDiff.Kind>) {
        let tree = try TemporaryTree()
        let before = try ReportReader(
            ReportFile(tree.write("old", SmallReport(tasks: old).text)), reading: ReportDiff.parts)
        let after = try ReportReader(
            ReportFile(tree.write("new", SmallReport(tasks: new).text)), reading: ReportDiff.parts)
        var diff = ReportDiff(old: before.head, new: after.head)
        while let task = try before.next() { diff.add(old: task) }
        while let task = try after.next() { diff.add(new: task) }
        diff.finish()
        return (diff.lines(), Set(ReportDiff.Kind.allCases.filter { diff.contains($0) }))
    }

    @Test func alikeIsNoDifference() throws {
        let task = Task.task("a", bytes: 1_000_000, redirect: "https://b.example/x", certificate: "aa")
        let same = try diff([task], [task])
        #expect(same.found.isEmpty && same.lines.last == "Nothing else changed.")
    }

    @Test(arguments: [
        (Task.task("a"), Task.task("a", outcome: "failed"), ReportDiff.Kind.failed),
        (Task.task("a"), Task.task("a", outcome: "skipped"), .failed),
        (Task.task("a", outcome: "failed"), Task.task("a"), .mended),
        (Task.task("a", duration: 2), Task.task("a", duration: 3.1), .slower),
        (Task.task("a", bytes: 1_000_000), Task.task("a", bytes: 1_200_000), .larger),
        (Task.task("a", bytes: 1_000_000), Task.task("a", bytes: 400_000), .smaller),
        (Task.task("a"), Task.task("a", redirect: "https://b.example/x"), .redirected),
        (Task.task("a", redirect: "https://b.example/x"), Task.task("a", redirect: "https://c.example/x"), .redirected),
        (Task.task("a", certificate: "aa"), Task.task("a", certificate: "bb"), .certificate),
        (Task.task("a", certificate: "aa"), Task.task("a", certificate: "aa", expiry: "2026-12-20"), .certificate),
        (Task.task("a", certificate: "aa"), Task.task("a", certificate: "aa", expiry: "2026-11-20"), .certificate),
    ])
    func aDifferenceIsFound(_ old: String, _ new: String, _ kind: ReportDiff.Kind) throws {
        let both = try diff([old], [new])
        #expect(both.found == [kind], "\(both.lines)")
    }

    @Test(arguments: [
        (Task.task("a", outcome: "failed"), Task.task("a", outcome: "failed")),
        (Task.task("a", outcome: "failed", tolerated: true), Task.task("a")),
        (Task.task("a"), Task.task("a", outcome: "failed", tolerated: true)),
        (Task.task("a"), Task.task("a", outcome: "deferred")),
        (Task.task("a", duration: 0.1), Task.task("a", duration: 1)),
        (Task.task("a", duration: 10), Task.task("a", duration: 14)),
        (Task.task("a", bytes: 1_000), Task.task("a", bytes: 60_000)),
        (Task.task("a", bytes: 1_000_000), Task.task("a", bytes: 1_050_000)),
        (Task.task("a", redirect: "https://b.example/1"), Task.task("a", redirect: "https://b.example/2")),
        (Task.task("a"), Task.task("a", certificate: "bb")),
        (
            Task.task("a", certificate: "aa", expiry: "2026-11-22"),
            Task.task("a", certificate: "aa", expiry: "2026-12-22")
        ),
    ])
    func whatIsChanceOrKnownIsNone(_ old: String, _ new: String) throws {
        #expect(try diff([old], [new]).found.isEmpty)
    }

    @Test func tasksComeAndGo() throws {
        let both = try diff(
            [Task.task("a"), Task.task("b")], [Task.task("b"), Task.task("c"), Task.task("d", outcome: "failed")])
        #expect(both.found == [.missing, .added, .failed])
        #expect(both.lines.contains("  a: it succeeded") && both.lines.contains("  c: succeeded"))
        // The page of a report that holds everything.
        #expect(both.lines.filter { $0.hasPrefix("New (") } == ["New (2)"])
    }

    @Test func manyAreFolded() throws {
        let new = (0..<30).map { Task.task("t\($0)", duration: Double($0) + 3) }
        let both = try diff((0..<30).map { Task.task("t\($0)", duration: 1) }, new)
        #expect(both.lines.contains("Slower (30)") && both.lines.contains("  and 10 more"))
        let first = try #require(both.lines.firstIndex(of: "Slower (30)"))
        #expect(both.lines[first + 1].hasPrefix("  t29: 1.00s → 32.0s"))
    }
}

/// What `report merge` makes of several reports.
@Suite struct MergeTests {
    private func merged(_ texts: [String]) throws -> JSONValue {
        let tree = try TemporaryTree()
        let files = try texts.enumerated().map { try ReportFile(tree.write("r\($0)", $1)) }
        let collector = Collector()
        try ReportMerge(files).write(to: collector)
        // It can be read again.
        let again = try ReportReader(ReportFile(tree.write("merged", collector.bytes)))
        while try again.next() != nil {}
        return try JSONParser.parse(collector.bytes)
    }

    @Test func aReportAloneStaysAsItIs() throws {
        let one = try JSONParser.parse(Array(Recorded.text().utf8))
        let merged = try merged([Recorded.text()])
        for member in [
            "runner", "job", "startedAt", "finishedAt", "outcome", "exitStatus", "totals", "sessions", "groups",
            "hooks", "tasks",
        ] {
            #expect(merged[member] == one[member], "\(member)")
        }
    }

    @Test func countsAddUpAndTasksFollow() throws {
        let first = SmallReport(duration: 10, tasks: [SmallReport.task("a", outcome: "failed")], exitStatus: 1)
        let second = SmallReport(
            start: "2026-11-21T06:59:00.000Z", duration: 5, tasks: [SmallReport.task("b"), SmallReport.task("c")])
        let merged = try merged([first.text, second.text])
        #expect(merged["startedAt"] == .string("2026-11-21T06:59:00.000Z"))
        #expect(merged["finishedAt"] == .string("2026-11-21T07:00:10.000Z"))
        #expect(merged["duration"] == .number("70"))
        #expect(merged["outcome"] == .string("failed") && merged["exitStatus"] == .number("1"))
        #expect(try JSONPath("$.tasks[*].id").select(from: merged).map { $0 } == ["a", "b", "c"].map { .string($0) })
        #expect(merged["totals"]?["tasks"] == .number("3"))
        func value(_ path: String) throws -> JSONValue? { try JSONPath(path).select(from: merged).first }
        #expect(try value("$.sessions[0].connectionsOpened") == .number("2"))
        #expect(try value("$.sessions[0].hosts[0].peakConnections") == .number("4"))
        #expect(merged["hooks"] == .array([]))
    }

    @Test(arguments: [
        ([0, 0], 0), ([0, 1], 1), ([75, 1], 1), ([130, 1], 130), ([4, 130], 4), ([9, 9], 9), ([9, 0], 0),
        ([75, 9], 75),
    ])
    func theStatusIsTheOneThatWins(_ statuses: [Int], _ status: Int) throws {
        let texts = statuses.enumerated().map {
            SmallReport(tasks: [SmallReport.task("t\($0)")], exitStatus: $1).text
        }
        #expect(try merged(texts)["exitStatus"] == .number("\(status)"))
    }

    @Test func aTaskOfTwoReportsIsAnError() throws {
        let text = SmallReport(tasks: [SmallReport.task("a")]).text
        #expect(throws: ReportProblem.self) { try merged([text, text]) }
    }
}

/// A report of a few tasks, each of one attempt with one request.
struct SmallReport {
    var start = "2026-11-21T07:00:00.000Z"
    var duration = 10.0
    var tasks: [String]
    var exitStatus = 0

    var text: String {
        let count = tasks.count
        let failed = tasks.count { $0.contains("\"outcome\":\"failed\",\"tolerated\":false") }
        let minute = start.contains("06:59") ? "06:59" : "07:00"
        let seconds = duration < 10 ? "0\(Int(duration))" : "\(Int(duration))"
        return """
            {"format":"transfer-run/report","version":1,"runner":{"version":"0.1.0","libcurl":"8.14.1","pid":1,"host":"h"},
            "job":{"name":"small","file":"small.yaml","sha256":null,"variables":{}},
            "startedAt":"\(start)","finishedAt":"2026-11-21T\(minute):\(seconds).000Z","duration":\(duration),
            "outcome":"\(failed > 0 ? "failed" : "succeeded")","exitStatus":\(exitStatus),
            "totals":{"tasks":\(count),"succeeded":\(count - failed),"failed":\(failed)},
            "sessions":[{"name":"default","configuration":"ephemeral","connectionsOpened":1,"connectionsReused":0,
            "hosts":[{"host":"https://a.example:443","peakConnections":2,"tasks":\(count)}]}],"groups":[],"hooks":[],
            "tasks":[\(tasks.joined(separator: ",\n"))]}
            """
    }

    static func task(
        _ id: String, outcome: String = "succeeded", tolerated: Bool = false, duration: Double = 1, bytes: Int64? = nil,
        redirect: String? = nil, certificate: String? = nil, expiry: String? = nil,
        waits: String? = nil
    ) -> String {
        let url = "https://a.example/\(id)"
        let request = #"{"method":"GET","url":"\#(url)"}"#
        let error =
            outcome == "succeeded"
            ? "null" : #"{"domain":"NSURLErrorDomain","name":"timedOut","code":-1001,"message":"too slow"}"#
        let file = bytes.map { #"{"path":"\#(id)","bytes":\#($0),"checksum":null}"# } ?? "null"
        let redirects = redirect.map {
            #"{"status":302,"from":"\#(url)","to":"\#($0)","method":"GET","action":"followed","stripped":[]}"#
        }
        let print = certificate.map { "\"sha256:\($0)\"" } ?? "null"
        let end = expiry.map { "\"\($0)T00:00:00.000Z\"" } ?? "null"
        // What only waited sent nothing.
        let transactions =
            waits == nil
            ? #"{"request":\#(request),"response":{"status":200},"fetchStartDate":"2026-11-21T07:00:00.000Z","#
                + #""resourceFetchType":"networkLoad","negotiatedTLSCertificateFingerprint":\#(print),"#
                + #""negotiatedTLSCertificateExpirationDate":\#(end)}"# : ""
        return
            #"{"id":"\#(id)","session":"default","type":"download","outcome":"\#(outcome)","tolerated":\#(tolerated),"#
            + #""request":{"original":\#(request),"current":\#(request)},"file":\#(file),"duration":\#(duration),"#
            + #""waits":[\#(waits ?? "")],"redirects":[\#(redirects ?? "")],"error":\#(error),"explanation":null,"#
            + #""attempts":[{"number":1,"url":"\#(url)","outcome":"\#(outcome)","resumedFrom":0,"#
            + #""startedAt":"2026-11-21T07:00:00.000Z","duration":\#(waits == nil ? duration : 0),"error":\#(error),"#
            + #""transactions":[\#(transactions)]}]}"#
    }
}
