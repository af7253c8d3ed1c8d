import Exports
import Reporting
import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct ReportReaderTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree() }

    private func all(_ path: String, _ parts: ReportParts = .all) throws -> (head: ReportHead, tasks: [ReportedTask]) {
        let reader = try ReportReader(ReportFile(path), reading: parts)
        var tasks: [ReportedTask] = []
        while let task = try reader.next() { tasks.append(task) }
        return (reader.head, tasks)
    }

    @Test func theRecordedReportFitsTheSchema() throws {
        let schema = Recorded.folder.split(separator: "/").dropLast(2).joined(separator: "/")
        let validator = try SchemaValidator(
            schema: TemporaryTree.bytes(at: "/\(schema)/schemas/report.schema.json"))
        #expect(validator.problems(in: try TemporaryTree.bytes(at: Recorded.path)) == [])
    }

    @Test func theHeadHasEverything() throws {
        let head = try all(Recorded.path).head
        #expect(head.runner.host == "ci-7" && head.runner.pid == 4242)
        #expect(head.job.name == "nightly <mirror> & more" && head.job.file == "jobs/nightly.yaml")
        #expect(
            head.job.variables == [
                NamedValue("release", "12.7"), NamedValue("count", "3"), NamedValue("quote\"d", "[true]"),
            ])
        #expect(head.startedAt == RFC3339.parse("2026-11-21T07:00:00.000Z"))
        #expect(head.duration == .milliseconds(6100))
        #expect(head.outcome == .failed && head.exitStatus == 1)
        #expect(head.totals.tasks == 13 && head.totals.bytesSaved == 7_340_032)
        #expect(head.sessions.map(\.name) == ["mirror", "uploads", "night"])
        #expect(head.sessions[0].hosts.map(\.peakConnections) == [2, 1])
        #expect(head.sessions[2].connectionsOpened == nil)
        #expect(head.groups.map(\.published) == [true, false])
        #expect(head.groups[1].error?.name == "groupNotPublished")
        #expect(head.hooks.map(\.exitStatus) == [0, nil])
    }

    @Test func aTaskHasEverything() throws {
        let tasks = try all(Recorded.path).tasks
        #expect(tasks.count == 13)
        let big = tasks[1]
        #expect(big.id == "big" && big.line == 13 && big.outcome == .succeeded && big.source == .network)
        #expect(big.attempts.map(\.number) == [1, 2])
        #expect(big.attempts[0].error?.errno == 104 && big.attempts[0].backoff == .milliseconds(1300))
        #expect(big.attempts[1].resumedFrom == 1_048_576)
        #expect(big.waits == [TaskRecord.Wait(reason: .backoff, duration: .milliseconds(1300))])
        let first = try #require(tasks[0].attempts[0].transactions.first)
        #expect(first.fetchStart == RFC3339.parse("2026-11-21T07:00:00.010Z"))
        #expect(first.requestEnd == RFC3339.parse("2026-11-21T07:00:00.091Z"))
        #expect(first.status == 200 && first.tlsVersion == 772 && first.responseBodyBytesReceived == 100)
        #expect(tasks[0].labels == [NamedValue("tier", "gold"), NamedValue("rank", "1")])
        #expect(tasks[2].redirects[0].stripped == ["Authorization"])
        #expect(tasks[3].challenges[0].realm == "staff \"only\"")
        #expect(tasks[3].body?.text == "{\"answer\": \"42\"}\n")
        #expect(tasks[3].captures[1].text == #"[1,2,{"a":null}]"#)
        #expect(tasks[4].body?.isBase64 == true && tasks[4].body?.isTruncated == true)
        #expect(tasks[6].id == "fehlt <&\"'> ü")
        #expect(tasks[9].line == nil && tasks[9].duration == .milliseconds(20))
        #expect(tasks[11].response?.headers[1].value == "a\tb\\\"c")
    }

    @Test func partsThatAreNotAskedForAreSkipped() throws {
        let tasks = try all(Recorded.path, []).tasks
        #expect(tasks.map(\.id) == (try all(Recorded.path).tasks.map(\.id)))
        for task in tasks {
            #expect(task.attempts.isEmpty && task.waits.isEmpty && task.body == nil && task.captures.isEmpty)
            #expect(task.response?.headers.isEmpty != false)
        }
        #expect(try all(Recorded.path, .attempts).tasks[1].attempts.map(\.transactions.count) == [0, 0])
    }

    /// Another program may sort the members, indent them and add some.
    @Test func aReportThatWasWrittenAnewIsTheSame() throws {
        let value = try JSONParser.parse(TemporaryTree.bytes(at: Recorded.path))
        let path = try tree.write("anew.json", Self.sorted(value, indent: "\n"))
        let (anew, recorded) = (try all(path), try all(Recorded.path))
        #expect("\(anew.tasks)" == "\(recorded.tasks)")
        #expect("\(anew.head.totals)" == "\(recorded.head.totals)")
        #expect("\(anew.head.sessions)" == "\(recorded.head.sessions)")
    }

    /// Members sorted by name, a further one in each object, white space between all values.
    private static func sorted(_ value: JSONValue, indent: String) -> String {
        let deeper = indent + "  "
        switch value {
        case .array(let elements):
            return "[\(indent)" + elements.map { deeper + sorted($0, indent: deeper) }.joined(separator: " ,") + "\r\n]"
        case .object(let members)
        where members.contains { $0.name == "domain" || $0.name == "id" || $0.name == "format" }:
            let all = (members + [.init(name: "further", value: .array([.null, .object([])]))]).sorted {
                $0.name < $1.name
            }
            return "{"
                + all.map { "\(deeper)\"\($0.name)\" : " + sorted($0.value, indent: deeper) }
                .joined(separator: ",") + "\(indent)}"
        default:
            var writer = JSONWriter()
            value.append(to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    @Test func aTaskMayBeLongerThanAPiece() throws {
        let long = String(repeating: "ü€ \\n", count: 700_000)
        let text = try Recorded.text()
        let marked = text.split(separator: "\"Its window opens at 22:00: run the job again then.\"", maxSplits: 1)
        let path = try tree.write("long.json", marked[0] + "\"\(long)\"" + marked[1])
        let tasks = try all(path).tasks
        #expect(tasks.count == 13)
        #expect(tasks[9].explanation?.utf8.count == 700_000 * 7)
        #expect(tasks[12].id == "cancelled")
    }

    @Test func aReportCanBeReadTwice() throws {
        let reader = try ReportReader(ReportFile(Recorded.path), reading: [])
        var counts: [Int] = []
        for _ in 0..<2 {
            var count = 0
            while try reader.next() != nil { count += 1 }
            counts.append(count)
            try reader.rewind()
        }
        #expect(counts == [13, 13])
    }

    @Test func aReportWithoutTasksHasNone() throws {
        let text = try Recorded.text()
        let head = try #require(text.split(separator: "\"tasks\":[", maxSplits: 1).first)
        #expect(try all(tree.write("none.json", head + "\"tasks\":[]}")).tasks.isEmpty)
    }

    @Test(arguments: [
        ("", "1:1: the report ends here"), ("[]", "1:1: this is no report: an object is needed here"),
        ("{}", "1:2: this is no report: `format` and `version` are missing"),
        (#"{"a":1}"#, "1:7: this is no report"), (#"{"format":"x"}"#, "1:11: this is no report: `format` must be"),
        (#"{"format":"transfer-run/report","version":2}"#, "1:43: version 2 of the report is not known"),
        (#"{"format":"transfer-run/report","version":1}"#, "1:44: the report has no `tasks`"),
        ("{\"format\":\"transfer-run/report\",\"version\":1,\n \"ü\":0,\"tasks\":[{}]}", "2:17: a task has no `id`"),
        (Self.wrong("[{\"id\":3}]"), "a text is needed here"),
        (Self.wrong("[{\"id\":\"a\"} {}]"), "`,` or `]` is needed"),
        (Self.wrong("[{\"id\":\"a\",\"type\":\"x\"}]"), "`x` is no value that is known here"),
        (Self.wrong("[{\"id\":\"a\",\"duration\":\"x\"}]"), "a value is needed here"),
        (Self.wrong("[{\"id\":\"a\",\"createdAt\":\"today\"}]"), "a date is needed here"),
        (Self.wrong("[{\"id\":\"a\",\"body\":[{]}]"), "`]` closes nothing here"),
        (Self.wrong("[{\"id\":\"a\\x\"}]"), "no such escape"), (Self.wrong("[{\"id\":\"a\nb\"}]"), "control character"),
        (Self.wrong("[{\"id\":\"a\"}"), "the report ends here before it is complete"),
        (Self.wrong("[{\"id\":\"a\"}]") + "}", "more text stands after the report"),
        (Self.wrong("[{\"id\":\"a\",\"line\":99999999999999999999}]"), "the number is too large"),
        (Self.wrong("[[]]"), "an object is needed here"),
        (Self.wrong("[{\"id\":\"a\",\"x\":" + String(repeating: "[", count: 70)), "nested more than 64 deep"),
    ])
    func whatIsNoReportSaysWhere(_ text: String, _ message: String) throws {
        let path = try tree.write("wrong.json", text)
        let problem = #expect(throws: ReportProblem.self) { try all(path) }
        #expect(
            problem?.message.hasPrefix("\(path):") == true && problem?.message.contains(message) == true,
            "\(problem as Any)")
    }

    private static func wrong(_ tasks: String) -> String {
        #"{"format":"transfer-run/report","version":1,"tasks":"# + tasks + (tasks.hasSuffix("]") ? "}" : "")
    }

    @Test func aFileThatIsNotThereSaysSo() throws {
        let problem = #expect(throws: ReportProblem.self) { try ReportFile(tree.path("none")) }
        #expect(problem?.message == "cannot read \(tree.path("none")): no such file")
        #expect(throws: ReportProblem.self) { try ReportFile(tree.path("")) }
    }

    /// However the bytes of a report are cut or changed, the reader ends with a task, an end or a sentence.
    @Test func brokenBytesAreAnswered() throws {
        var random = Seeded("brokenBytesAreAnswered")
        let whole = try TemporaryTree.bytes(at: Recorded.path)
        for _ in 0..<Rounds.scaled(150) {
            var bytes = whole
            if random.below(3) == 0 { bytes.removeLast(random.below(bytes.count)) }
            for _ in 0..<random.below(4) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            let path = try tree.write("broken.json", bytes)
            do {
                _ = try all(path)
            } catch let problem as ReportProblem {
                #expect(problem.message.hasPrefix(path))
            }
        }
    }
}
