import TestSupport
import Testing
import TextFormats

/// What README.md shows is what the program does.
@Suite struct ReadmeTests {
    /// The fenced blocks of a kind, in order.
    private static func blocks(_ kind: String) throws -> [String] {
        let text = String(decoding: try TemporaryTree.bytes(at: "\(Binary.packageRoot)/README.md"), as: UTF8.self)
        var blocks: [String] = []
        var lines: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let open = lines, line == "```" {
                blocks.append(open.map { "\($0)\n" }.joined())
                lines = nil
            } else if lines != nil {
                lines?.append(line)
            } else if line == "```\(kind)" {
                lines = []
            }
        }
        return blocks
    }

    @Test func theJobIsTheQuickstart() throws {
        let example = try TemporaryTree.bytes(at: "\(Binary.packageRoot)/examples/quickstart/quickstart.transfer.yaml")
        let lines = String(decoding: example, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(try Self.blocks("yaml") == [lines.map { "\($0)\n" }.joined()])
        #expect(lines.count == 10)
    }

    @Test func theReportIsOneThatTheJobGives() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        for (name, type) in [("notes.txt", "text/plain"), ("status.json", "application/json")] {
            var resource = ServedResource(try TemporaryTree.bytes(at: "\(Binary.packageRoot)/examples/site/\(name)"))
            resource.contentType = type
            server.serve("/\(name)", resource)
        }
        let stage = try Stage()
        let run = try stage.run(try #require(Self.blocks("yaml").first), "--set", "site=\(server.origin)")
        #expect(run.status == 0)
        let shown = try JSONParser.parse(Array(try #require(Self.blocks("json").first).utf8))
        for difference in Self.differences(shown, run.report, "") { Issue.record("\(difference)") }

        let shownRun = try Self.blocks("console").first { $0.contains("quickstart.transfer.yaml") }
        let console = try #require(shownRun).split(separator: "\n").dropFirst()
        let told = run.errorText.split(separator: "\n")
        // A line's first word and subject; sizes and times are that run's own. Tasks may end in any order.
        let gist = { (line: Substring) in line.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(Set(console.map(gist)) == Set(told.map(gist)))
    }

    private static let volatile: Set<String> = ["startedAt", "finishedAt", "duration"]

    /// Where the real report does not hold what is shown. Times need only be times.
    private static func differences(_ shown: JSONValue, _ real: JSONValue?, _ path: String) -> [String] {
        switch (shown, real) {
        case (.object(let members), .object):
            return members.flatMap { member -> [String] in
                let inner = "\(path)/\(member.name)"
                guard volatile.contains(member.name) else {
                    return differences(member.value, real?[member.name], inner)
                }
                return sameKind(member.value, real?[member.name]) ? [] : ["\(inner) is of another kind"]
            }
        case (.array(let left), .array(let right)):
            guard left.count == right.count else { return ["\(path) has \(right.count) elements"] }
            return left.indices.flatMap { differences(left[$0], right[$0], "\(path)/\($0)") }
        default:
            return shown == real ? [] : ["\(path) is \(real?.plainText ?? "null")"]
        }
    }

    private static func sameKind(_ left: JSONValue, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.string, .string), (.number, .number): true
        default: false
        }
    }
}
