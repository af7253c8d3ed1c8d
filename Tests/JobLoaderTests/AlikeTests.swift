import JobLoader
import TestSupport
import Testing
import TransferModel

/// Tasks that write the same are read once. What comes of it is what each would be alone.
@Suite struct AlikeTests {
    private static let head = """
        variables: { v: seen }
        sessions: { default: {}, other: { headers: { X-S: s } } }
        defaults: { timeoutForResource: 5m }

        """
    private static let options = [
        "method: PUT", "method: POST", "method: \"PUT\"", "priority: 1", "priority: 0.5", "priority: \"1\"",
        "body: { file: a.bin }", "body: { file: b.bin }", "body: { file: \"${v}.bin\" }", "body: { data: x }",
        "body: { json: { a: 1 } }", "headers: { A: b }", "headers: { A: c }", "cookies: false", "cookies: null",
        "description: \"${v}\"", "timeoutForResource: null", "timeoutForResource: 10m", "session: other",
        "bandwidth: 1MB", "retry: { attempts: 2 }", "expect: { status: [200] }", "body: { file: \"\" }",
        "priority: high",
    ]

    private func line(_ number: Int, _ random: inout Seeded) -> String {
        var chosen: [String: String] = [:]
        for _ in 0..<random.below(4) {
            let option = Self.options[random.below(Self.options.count)]
            chosen[String(option.prefix { $0 != ":" })] = option
        }
        let own = chosen.values.sorted().map { ", \($0)" }.joined()
        return "  - { id: t\(number), type: upload, url: \"https://example.org/\(number)\"\(own) }\n"
    }

    private func words(_ task: TaskSpecification) -> String {
        var text = ""
        dump(task.options.values, to: &text)
        return "\(task.type) \(task.session.raw) \(text)"
    }

    @Test func eachIsWhatItWouldBeAlone() throws {
        var random = Seeded("eachIsWhatItWouldBeAlone")
        for _ in 0..<Rounds.scaled(60) {
            // Few kinds of lines, so that many stand beside their like.
            let kinds = (0..<3).map { line($0, &random) }
            let lines = (0..<12).map { number in
                let kind = kinds[random.below(kinds.count)]
                return "  - { id: t\(number)," + kind.drop { $0 != "," }.dropFirst()
            }
            let together = load(Self.head + "tasks:\n" + lines.joined())
            var alone: [LoadResult] = []
            for line in lines { alone.append(load(Self.head + "tasks:\n" + line)) }
            #expect(together.summary.count == alone.reduce(0) { $0 + $1.summary.count })
            guard let job = together.job, alone.allSatisfy({ $0.job != nil }) else { continue }
            for (task, other) in zip(job.tasks, alone) {
                #expect(words(task) == other.job.map { words($0.tasks[0]) }, "\(lines.joined())")
            }
        }
    }

    @Test func kinDifferInTheirFileAlone() throws {
        func kin(_ options: String...) throws -> [Bool] {
            let lines = options.enumerated().map {
                "  - { id: t\($0), type: upload, url: \"https://example.org/\", \($1) }\n"
            }
            let job = try #require(load("tasks:\n" + lines.joined()).job)
            return zip(job.tasks, job.tasks.dropFirst()).map { $0.options.kin === $1.options.kin }
        }
        #expect(try kin("body: { file: a }", "body: { file: b }", "body: { file: c }") == [true, true])
        #expect(try kin("method: PUT, body: { file: a }", "body: { file: b }, method: PUT") == [true])
        #expect(try kin("method: PUT, body: { file: a }", "method: POST, body: { file: b }") == [false])
        #expect(try kin("priority: 1, body: { file: a }", "priority: 0, body: { file: a }") == [false])
        #expect(try kin("body: { file: a }", "body: { data: b }", "body: { data: b }") == [false, false])
        #expect(try kin("body: { file: a }, headers: { A: b }", "body: { file: b }, headers: { A: b }") == [false])
    }
}
