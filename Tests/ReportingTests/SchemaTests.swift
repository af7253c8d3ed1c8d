import Reporting
import TestSupport
import Testing
import TransferModel

@Suite struct SchemaTests {
    /// From the folder of the schemas, wherever the package lies.
    private func validator(_ name: String) throws -> SchemaValidator {
        let tests = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return try SchemaValidator(schema: TemporaryTree.bytes(at: "/\(tests)/schemas/\(name)"))
    }

    @Test func everyReportFitsItsSchema() throws {
        var random = Seeded("everyReportFitsItsSchema")
        let validator = try validator("report.schema.json")
        for round in 0..<Rounds.scaled(10) {
            let story = Story(random: Seeded(seed: random.next()), tasks: random.below(40))
            let report = JSONReport(job: story.job, runner: runner)
            // Half of them break off half way.
            report.consume(story.events.prefix(round % 2 == 0 ? story.events.count : story.events.count / 2))
            let sink = MemorySink()
            try report.write(to: sink)
            #expect(validator.problems(in: sink.bytes) == [])
        }
    }

    @Test func everyLineFitsItsSchema() throws {
        var random = Seeded("everyLineFitsItsSchema")
        let validator = try validator("events.schema.json")
        for _ in 0..<Rounds.scaled(2) {
            let story = Story(random: Seeded(seed: random.next()), tasks: 20)
            let sink = MemorySink()
            EventLines(job: story.job, sink: sink).consume(story.events[...])
            for line in sink.bytes.split(separator: UInt8(ascii: "\n")) {
                #expect(validator.problems(in: Array(line)) == [])
            }
        }
    }

    /// The schema is no rubber stamp: a report with one thing wrong in it is refused.
    @Test(arguments: [
        ("\"outcome\":\"succeeded\"", "\"outcome\":\"fine\""), ("\"tolerated\":false,", ""),
        ("\"version\":1", "\"version\":2"),
        ("\"parts\":[]", "\"parts\":[],\"more\":1"), ("\"pid\":4242", "\"pid\":\"4242\""),
    ])
    func aWrongReportIsRefused(_ right: String, _ wrong: String) throws {
        let story = Story(random: Seeded(seed: 77), tasks: 30)
        let report = JSONReport(job: story.job, runner: runner)
        report.consume(story.events[...])
        let sink = MemorySink()
        try report.write(to: sink)
        let range = try #require(sink.bytes.firstRange(of: Array(right.utf8)))
        var bytes = sink.bytes
        bytes.replaceSubrange(range, with: Array(wrong.utf8))
        #expect(try validator("report.schema.json").problems(in: bytes) != [])
    }
}
