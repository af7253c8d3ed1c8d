import JobLoader
import Testing

/// The schema and the reference are written by the table; what lies in the repository must be that.
struct GeneratedTests {
    @Test(arguments: ["schemas/jobs.schema.json", "docs/job-file.md"])
    func fileIsWhatTheTableWrites(path: String) {
        let wanted = path.hasSuffix(".json") ? JobSchema.json() : Array(JobReference.markdown().utf8)
        let file = "\(Files.root)/\(path)"
        if Files.isRecording {
            #expect(Files.write(wanted, to: file))
            Issue.record("recorded \(path): run again without TRANSFER_RUN_RECORD")
            return
        }
        #expect(Files.read(file) == wanted, "TRANSFER_RUN_RECORD=1 writes \(path) anew")
    }

    @Test func schemaIsWholeJSON() throws {
        let text = String(decoding: JobSchema.json(), as: UTF8.self)
        #expect(text.contains("\"maximumConnectionsPerHost\""))
        #expect(!text.contains("\"$ref\": \"#/$defs/\""))
    }

    /// The sections of the reference: their headings, and the lines below each.
    private static let sections: [(title: String, lines: [Substring])] = {
        var sections: [(title: String, lines: [Substring])] = [("", [])]
        for line in JobReference.markdown().split(separator: "\n") {
            if line.hasPrefix("## ") {
                sections.append((String(line.dropFirst(3)), []))
            } else {
                sections[sections.count - 1].lines.append(line)
            }
        }
        return sections
    }()

    /// The anchor of a heading, as GitHub makes it.
    private static func anchor(_ title: String) -> String {
        let kept = title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
        return String(kept.map { $0 == " " ? "-" : $0 })
    }

    /// What stands in `](#…)`, in order.
    private static func targets(_ line: Substring) -> [String] {
        line.split(separator: "](#", omittingEmptySubsequences: false).dropFirst().map { part in
            String(part.prefix { $0 != ")" })
        }
    }

    /// The key that a row of a table is about; `nil` for another line.
    private static func key(_ row: Substring) -> String? {
        guard row.hasPrefix("| `") else { return nil }
        return String(row.dropFirst(3).prefix { $0 != "`" })
    }

    @Test func linksOfTheReference_leadToItsHeadings() {
        let anchors = Self.sections.dropFirst().map { Self.anchor($0.title) }
        #expect(Set(anchors).count == anchors.count, "two headings have one anchor")
        let targets = Self.sections.flatMap(\.lines).flatMap { Self.targets($0) }
        #expect(Set(targets).isSubset(of: anchors), "\(Set(targets).subtracting(anchors))")
        // The contents name every section once, in their order but for those before and after the tables of keys.
        let contents = Self.sections[0].lines.flatMap { Self.targets($0) }
        #expect(contents.sorted() == anchors.sorted())
    }

    @Test func theIndexNamesEveryKey_withEachSectionThatHasIt() throws {
        let index = try #require(Self.sections.last)
        #expect(index.title == "Index of keys")
        var indexed: [String: [String]] = [:]
        for row in index.lines { if let key = Self.key(row) { indexed[key] = Self.targets(row) } }
        var written: [String: [String]] = [:]
        for section in Self.sections.dropLast() where section.lines.contains(where: { $0.hasPrefix("| key |") }) {
            for row in section.lines {
                if let key = Self.key(row) { written[key, default: []].append(Self.anchor(section.title)) }
            }
        }
        #expect(written.count > 200 && indexed == written)
        let names = index.lines.compactMap { Self.key($0)?.lowercased() }
        #expect(names == names.sorted())
    }
}
