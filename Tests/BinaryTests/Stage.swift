import TestSupport
import Testing
import TextFormats

/// A folder, a home and the built program: what a test runs jobs on.
///
/// Whatever a run leaves is held against the schemas and against itself, so that every test of this folder is also
/// one of the report and of the events.
struct Stage {
    let binary: Binary
    private let started = Started()
    var folder: TemporaryTree { binary.folder }

    /// What the run under way was given: its events are held against it.
    private final class Started {
        var options: [String] = []
        var environment: [String: String] = [:]
    }

    init() throws { binary = try Binary() }

    static let jobFile = "job.yaml"
    private static let reportFile = ".report.json"
    private static let eventFile = ".events.ndjson"

    /// Every file but the job and what tells of the run; folders end in `/`.
    var files: [String] {
        folder.list().filter { ![Self.jobFile, Self.reportFile, Self.eventFile].contains($0) }
    }

    /// What stands under a name, as text.
    func text(_ name: String) throws -> String { try folder.text(name) }

    /// Runs a job to its end.
    func run(
        _ job: String, _ options: String..., environment: [String: String] = [:], under wrapper: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let program = try start(job, options, environment: environment, under: wrapper)
        return try finish(program, sourceLocation: sourceLocation)
    }

    /// Starts a job; `finish` must follow. `wrapper` is a command that is given the program.
    func start(
        _ job: String, _ options: [String] = [], environment: [String: String] = [:], under wrapper: [String] = []
    ) throws -> RunningProgram {
        try folder.write(Self.jobFile, job)
        started.options = options
        started.environment = environment
        let arguments = [Self.jobFile, "--report", Self.reportFile, "--events", Self.eventFile] + options
        return try binary.start(arguments, environment: environment, under: wrapper)
    }

    func finish(_ program: RunningProgram, sourceLocation: SourceLocation = #_sourceLocation) throws -> Run {
        let run = try Run(program.wait(), in: folder, sourceLocation)
        if !run.events.isEmpty {
            let violations = try checker(of: run.events, isWhole: true).violations
            #expect(violations.isEmpty, "the run breaks its rules", sourceLocation: sourceLocation)
        }
        return run
    }

    /// Whether so many answers have begun.
    func hasAnswers(_ count: Int) -> Bool {
        guard let events = try? eventsSoFar() else { return false }
        return String(decoding: events, as: UTF8.self).split(separator: "\"response\"").count > count
    }

    /// Whether an event of a task was written, with `words` in its line.
    func hasTold(_ event: String, of task: String, _ words: String = "") -> Bool {
        guard let events = try? eventsSoFar() else { return false }
        return String(decoding: events, as: UTF8.self).split(separator: "\n").contains {
            $0.contains("\"event\":\"\(event)\"") && $0.contains("\"task\":\"\(task)\"")
                && (words.isEmpty || $0.contains(words))
        }
    }

    /// Whether so many bytes of a task's body came, as its events tell.
    func hasReceived(_ bytes: Int, of task: String) -> Bool {
        let lines = ((try? eventsSoFar()) ?? []).split(separator: 0x0A).compactMap { try? JSONParser.parse(Array($0)) }
        return lines.contains { line in
            line["event"]?.plainText == "receivedData" && line["task"]?.plainText == task
                && line["bytes"]?.plainText.flatMap { Int($0) } ?? 0 >= bytes
        }
    }

    /// The lines of events as far as they were written.
    func eventsSoFar() throws -> [UInt8] { try folder.bytes(Self.eventFile) }

    /// The rules of a run over these events of the job that was started last.
    func checker(of events: [JSONValue], isWhole: Bool) throws -> RunChecker {
        let facts = TraceFacts(
            job: try folder.text(Self.jobFile), named: Self.jobFile, in: folder, options: started.options,
            environment: started.environment, events: events)
        var checker = RunChecker(try #require(facts, "a job that ran cannot be loaded"))
        for step in try TraceStep.steps(events, checker.facts) { checker.take(step) }
        if isWhole { checker.finish() }
        return checker
    }

    /// What a run left.
    struct Run {
        let result: Binary.Result
        let report: JSONValue
        let events: [JSONValue]

        fileprivate init(_ result: Binary.Result, in folder: TemporaryTree, _ place: SourceLocation) throws {
            self.result = result
            guard folder.exists(Stage.reportFile) else {
                report = .null
                events = []
                #expect(
                    result.exitStatus == 2, "no report, \(result.ending): \(result.errorText)", sourceLocation: place)
                return
            }
            let reportBytes = try folder.bytes(Stage.reportFile)
            report = try JSONParser.parse(reportBytes)
            let lines = try folder.bytes(Stage.eventFile).split(separator: 0x0A).map { Array($0) }
            events = try lines.map { try JSONParser.parse($0) }
            folder.remove(Stage.reportFile)
            folder.remove(Stage.eventFile)
            Contract.check(report: report, events: events, status: result.exitStatus, place)
        }

        var status: Int32? { result.exitStatus }
        var errorText: String { result.errorText }

        /// The one value at a path of the report, such as `$.tasks[0].error.name`, as text; `nil` for null.
        func value(_ path: String) throws -> String? {
            let found = try JSONPath(path).select(from: report)
            guard found.count == 1, let value = found.first else {
                throw Missing(path: path, count: found.count)
            }
            return value.plainText
        }

        /// The same of the task with this id.
        func task(_ id: String, _ member: String) throws -> String? {
            try value("$.tasks[?@.id=='\(id)'].\(member)")
        }

        func values(_ path: String) throws -> [String?] {
            try JSONPath(path).select(from: report).map { $0.plainText }
        }

        /// The names of one task's events, in order.
        func story(of id: String) -> [String] {
            events.filter { $0["task"]?.plainText == id }.compactMap { $0["event"]?.plainText }
        }
    }

    struct Missing: Error, CustomStringConvertible {
        let path: String
        let count: Int
        var description: String { "\(count) values at \(path)" }
    }
}

extension JSONValue {
    /// A scalar as it is written, without quotes; `nil` for null; lists and objects as JSON.
    var plainText: String? {
        switch self {
        case .null: return nil
        case .boolean(let value): return "\(value)"
        case .number(let text), .string(let text), .broken(let text): return text
        case .array, .object:
            var writer = JSONWriter()
            append(to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}

/// What holds for every report and every stream of events.
enum Contract {
    private static let schemas = Result {
        try (report: validator("report.schema.json"), event: validator("events.schema.json"))
    }

    private static func validator(_ name: String) throws -> SchemaValidator {
        try SchemaValidator(schema: TemporaryTree.bytes(at: "\(Binary.packageRoot)/schemas/\(name)"))
    }

    static func check(report: JSONValue, events: [JSONValue], status: Int32?, _ place: SourceLocation) {
        do {
            let schemas = try schemas.get()
            let problems = schemas.report.problems(in: report)
            #expect(problems.isEmpty, "the report breaks its schema", sourceLocation: place)
            for event in events {
                let problems = schemas.event.problems(in: event)
                #expect(problems.isEmpty, "\(event.plainText ?? "") breaks the schema", sourceLocation: place)
            }
            #expect(report["exitStatus"]?.plainText == status.map { "\($0)" }, sourceLocation: place)
            checkOrder(of: events, place)
            try checkTotals(of: report, place)
        } catch {
            Issue.record("\(error)", sourceLocation: place)
        }
    }

    private static func checkOrder(of events: [JSONValue], _ place: SourceLocation) {
        let numbers = events.map { $0["seq"]?.plainText }
        #expect(numbers == (1...max(1, events.count)).map { "\($0)" }, "events are counted", sourceLocation: place)
        #expect(events.last?["event"]?.plainText == "runFinished", sourceLocation: place)
        var finished: Set<String> = []
        for event in events {
            guard let task = event["task"]?.plainText else { continue }
            #expect(!finished.contains(task), "an event after taskFinished of \(task)", sourceLocation: place)
            if event["event"]?.plainText == "taskFinished" { finished.insert(task) }
        }
    }

    private static func checkTotals(of report: JSONValue, _ place: SourceLocation) throws {
        let tasks = try JSONPath("$.tasks[*]").select(from: report)
        let tolerated = tasks.count { $0["tolerated"] == .boolean(true) }
        for outcome in ["succeeded", "failed", "cancelled", "skipped", "deferred"] {
            let counted = try JSONPath("$.totals.\(outcome)").select(from: report).first?.plainText
            let found = tasks.count { $0["outcome"] == .string(outcome) && $0["tolerated"] == .boolean(false) }
            #expect(counted == "\(found)", "totals.\(outcome)", sourceLocation: place)
        }
        #expect(report["totals"]?["tolerated"]?.plainText == "\(tolerated)", sourceLocation: place)
        // Waits and attempts explain the whole of a task's duration.
        for task in try JSONPath("$.tasks[?@.startedAt!=null]").select(from: report) {
            let parts = try JSONPath("$['attempts','waits'][*].duration").select(from: task)
            let explained = parts.compactMap { $0.plainText.flatMap { Double($0) } }.reduce(0, +)
            let duration = task["duration"]?.plainText.flatMap { Double($0) } ?? 0
            #expect(
                abs(duration - explained) < 0.05 + duration / 20,
                "\(task["id"]?.plainText ?? ""): \(duration) s, explained \(explained) s", sourceLocation: place)
        }
    }
}
