import Diagnostics
import Testing
import YAMLTree

/// What is said about a broken file: the place, the code, and a hint that helps.
@Suite struct ProblemTests {
    @Test(arguments: [
        ("a: 1\nb: c: d\n", "2:5-2:6 yaml-syntax", "quote a text"),
        ("a: {b: 1\nc: 2\n", "2:2-2:3 yaml-syntax", "missing `}`"),
        ("a: [1, 2\n", "1:4-1:5 yaml-syntax", "add `]`"),
        ("a: {b: 1 c: 2}\n", "1:11-1:12 yaml-syntax", "with `,`"),
        ("a: \"open\nb: 1\n", "1:4-1:5 yaml-syntax", "closing quote"),
        ("a: 'it's'\n", "1:8-1:9 yaml-syntax", "same column"),
        ("a:\n\tb: 1\n", "2:1-2:2 yaml-syntax", "indent with spaces"),
        ("a: \"C:\\work\"\n", "1:7-1:8 yaml-syntax", "single quotes"),
        ("hosts: [*.example.org]\n", "1:9-1:10 yaml-syntax", "\"*.example.org\""),
        ("a: @b\n", "1:4-1:5 yaml-syntax", "quote the text"),
        ("a: 1\n  b: 2\n", "2:4-2:5 yaml-syntax", "indentation"),
        ("- a\nb: 1\n", "2:1-2:2 yaml-syntax", "indentation"),
        ("a:\n  b: 1\n c: 2\n", "3:2-3:3 yaml-syntax", "indentation"),
        ("a: 1\nword\nb: 2\n", "2:1-2:2 yaml-syntax", "`:` and a space"),
        ("t: { url: ${site}/x }\n", "1:11-1:13 yaml-syntax", "quote it"),
        ("t: [mirror/${arch}.xz, b]\n", "1:12-1:14 yaml-syntax", "quote it"),
        ("a: 1\n---\nb: 2\n", "2:1-2:4 several-documents", "file of its own"),
        ("a: 1\na: 2\n", "2:1-2:2 duplicate-key", "remove one"),
        ("a: &x 1\nb: *y\n", "2:4-2:6 unknown-anchor", "before it is used"),
        ("a: &defaults 1\nb: *default\n", "2:4-2:12 unknown-anchor", "`*defaults`"),
        ("a: !vault secret\n", "1:4-1:17 unknown-tag", "!!str"),
        ("{a: 1}: b\n", "1:1-1:7 key-not-scalar", "needs quotes"),
        ("a: { <<: [*y] }\n", "1:11-1:13 unknown-anchor", "before it is used"),
        ("<<: 12\n", "1:5-1:7 bad-merge", "*anchor"),
        ("a: {<<: {x: 1}, <<: {y: 2}}\n", "1:17-1:19 duplicate-key", "[*a, *b]"),
        ("a: \u{1}b\n", "1:4-1:5 control-character", "remove it"),
    ])
    func says(about text: String, what problem: String, andHints hint: String) {
        let reading = Reading(text)
        #expect(reading.problems == [problem])
        #expect(reading.hints.first?.contains(hint) == true, "\(reading.hints)")
    }

    @Test func whatIsMergedIntoItselfIsToldOnce() {
        #expect(Reading("a: &x { b: 1, <<: *x }\n").problems == ["1:19-1:21 recursive-alias"])
    }

    @Test func findsBytesThatAreNoUTF8() {
        let broken = Reading(bytes: Array("a: 1\nnäme: x".utf8) + [0xFF] + Array("y\n".utf8))
        #expect(broken.problems == ["2:8-2:9 not-utf8"])
        #expect(Reading(bytes: [0xFF, 0xFE, 0x61, 0]).problems == ["not-utf8"])
        for (mark, name) in [
            ([0xFF, 0xFE, 0x61, 0], "UTF-16"), ([0xFE, 0xFF, 0, 0x61], "UTF-16"), ([0xFF, 0xFE, 0, 0], "UTF-32"),
            ([0, 0, 0xFE, 0xFF], "UTF-32"),
        ] as [([UInt8], String)] {
            let found = Reading(bytes: mark + [0x61, 0, 0, 0]).diagnostics.items
            #expect(found.map(\.message) == ["the file is \(name)"])
        }
    }

    @Test func aTagMustFitItsValue() {
        let reading = Reading("- !!int word\n- !!map [a]\n- !!bool yes\n- !!float 3\n- !!null ''\n- !!str [a]\n")
        #expect(reading.problems.map { $0.prefix(2) } == ["1:", "2:", "3:", "6:"])
        #expect(reading.diagnostics.items.allSatisfy { $0.code == "tag-mismatch" })
    }

    @Test func collectsAllThatLetsTheReadingGoOn() {
        let reading = Reading("a: *x\na: !foo 1\nb: &b [*b]\nc: {d: 1, d: 2}\n")
        #expect(
            reading.problems == [
                "1:4-1:6 unknown-anchor", "2:1-2:2 duplicate-key", "2:4-2:10 unknown-tag", "3:8-3:10 recursive-alias",
                "4:11-4:12 duplicate-key",
            ])
        #expect(reading.tree != nil, "the loader can look for more")
    }

    @Test func findsDuplicatesAmongManyKeys() {
        let keys = (0..<5000).map { "key\($0): 1\n" }.joined()
        #expect(Reading(keys).problems == [])
        #expect(
            Reading(keys + "key17: 2\nkey17: 3\nkey4999: 4\n").problems == [
                "5001:1-5001:6 duplicate-key", "5002:1-5002:6 duplicate-key", "5003:1-5003:8 duplicate-key",
            ])
    }

    @Test func stopsAfterAThousand() {
        let reading = Reading("[" + String(repeating: "*x, ", count: 5000) + "]")
        #expect(reading.tree == nil)
        #expect(reading.diagnostics.items.count == 1001)
    }

    // MARK: Limits

    @Test func stopsAnAliasBomb() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...12 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
                + "]\n"
        }
        let reading = Reading(text)
        #expect(reading.tree == nil)
        #expect(reading.diagnostics.items.map(\.code) == ["too-many-nodes"])
        #expect(Reading("a: &a [1, 2]\nb: [*a, *a]\n", limits: .init(expandedNodes: 13)).problems == [])
        #expect(Reading("a: &a [1, 2]\nb: [*a, *a]\n", limits: .init(expandedNodes: 11)).tree == nil)
    }

    @Test func hasALimitOfDepthAndOfSize() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(Reading(nested(64)).problems == [])
        #expect(Reading(nested(65)).problems == ["1:65-1:66 too-deep"])
        #expect(Reading(nested(100_000)).problems == ["1:65-1:66 too-deep"])
        #expect(Reading("a: 12345", limits: .init(bytes: 7)).problems == ["file-too-large"])
        #expect(Reading("a: 1234", limits: .init(bytes: 7)).problems == [])
    }
}
