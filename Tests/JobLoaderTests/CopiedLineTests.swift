import Diagnostics
import JobLoader
import Testing

/// Two downloads that are most likely one line, copied and changed in part.
@Suite struct CopiedLineTests {
    private static let sum = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    private static let otherSum = "sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"

    private func warnings(_ tasks: String, _ head: String = "") -> [String] {
        load("\(head)tasks:\n\(tasks)").diagnostics.sorted().map { "\($0.code):\($0.span?.line ?? 0)" }
    }

    @Test func oneChecksum_atTwoURLs_isWarnedOf() {
        let told = warnings(
            """
              - { id: a, url: https://e.org/a, to: a, checksum: "\(Self.sum)" }
              - { id: b, url: https://e.org/b, to: b, checksum: "\(Self.sum)" }
              - { id: c, url: https://e.org/c, to: c, checksum: "\(Self.otherSum)" }
            """)
        #expect(told == ["same-checksum:3"])
    }

    @Test func manyCopies_areWarnedOfOnce() {
        let lines = (0..<50).map { "  - { id: t\($0), url: https://e.org/a, to: f\($0), checksum: \"\(Self.sum)\" }\n" }
        #expect(warnings(lines.joined()) == ["same-url:3"])
    }

    @Test func oneURL_writtenToTwoPlaces_isWarnedOf() {
        let told = warnings(
            """
              - { id: a, url: https://e.org/a, to: a }
              - { id: b, url: https://e.org/a, to: b, checksum: "\(Self.sum)" }
            """)
        #expect(told == ["same-url:3"])
    }

    /// Each asks for something else, or means to ask twice.
    @Test(arguments: [
        "headers: { Accept: text/html }", "session: other", "decompress: true", "method: POST", "body: { data: x }",
    ]) func oneURL_askedInAnotherWay_isNoCopiedLine(_ key: String) {
        let told = warnings(
            """
              - { id: a, session: one, url: https://e.org/a, to: a }
              - { id: b, \(key.hasPrefix("session") ? "" : "session: one, ")url: https://e.org/a, to: b, \(key) }
            """, "sessions: { one: {}, other: {} }\n")
        #expect(told == [])
    }

    /// A list of files may well have two with the same bytes.
    @Test func tasksOfOneLine_mayHaveOneChecksum() {
        let told = warnings(
            """
              - { id: "a${n}", forEach: { n: 1..3 }, url: "https://e.org/${n}", to: "${n}", checksum: "\(Self.sum)" }
              - { id: last, url: https://e.org/last, to: last }
            """)
        #expect(told == [])
    }

    @Test func dataTasks_mayAskTwice() {
        let told = warnings("  - { id: a, url: https://e.org/a }\n  - { id: b, url: https://e.org/a }\n")
        #expect(told == [])
    }

    @Test func algorithmThatOnlyReportsName_isRefused() {
        let literal = load(
            "tasks: [{ id: a, url: https://e.org/a, to: a, checksum: 'xxh3:\(String(repeating: "0", count: 32))' }]")
        #expect(literal.diagnostics.sorted().map(\.code) == ["invalid-value"])
        let listed = load(
            "tasks: [{ id: a, url: https://e.org/a, to: a, checksum: { from: https://e.org/s, algorithm: xxh3 } }]")
        #expect(listed.diagnostics.sorted().map(\.code) == ["invalid-value"])
    }
}
