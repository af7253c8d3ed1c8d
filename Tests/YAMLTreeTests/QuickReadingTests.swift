import Diagnostics
import TestSupport
import Testing
import YAMLTree

/// What is read without libyaml is held against what libyaml reads: the same tree, the same problems at the same places.
@Suite struct QuickReadingTests {
    @Test(arguments: [
        "a: b\n",
        "---\n# which job it is\nversion: 1   # the first\n\ntasks:\n  - { id: a, url: \"http://h/a?b=c#d\", to: ./a }\n",
        "tasks:\n- id: a\n  url: https://h:80/x?y={z}\n  to: folder/\n- id: b\n  needs: [a, 'b c', \"d: e\"]\n",
        "a:\n  b:\n    c: d e  f\n    g: {}\n  h: []\ni: { j: { k: [l, [m], {n: o}] } } # p\n",
        "- a\n- b: c\n  d: e\n- { f: g }\n- [h]\n",
        "\"a b\": 'c: d'\n'e': \"f # g\"\nh: i'j\"k\n",
        "at: 12:30:00\nurl: http://[::1]:80/\nspan: 5m # long\nempty: {}\n$x: ${y}\n",
        "a: 1\na: 2\nb: { c: 1, c: 2 }\n",
    ]) func whatIsSimpleIsReadAlike(_ text: String) {
        #expect(YAMLTree.isSimple(SourceText(name: "job.yaml", bytes: Array(text.utf8))), "\(text)")
        expectAlike(Array(text.utf8))
    }

    /// What it does not know, and what is wrong.
    @Test(arguments: [
        "", "\n", "# nothing\n", "a: b", "a:\n", "a: b\nc\n", "a: *b\n", "a: &b c\n", "a: |\n  b\n", "a: !!str b\n",
        "a: é\n", "a: b\n c: d\n", "a: b\n  c\n", "a: \"b\n  c\"\n", "a: {b: c,\n  d: e}\n", "a: 'it''s'\n",
        "a: \"\\n\"\n", "a:\tb\n", "a: b\r\n", "? a\n: b\n", "a: {b}\n", "a: {b: }\n", "a: [b: c]\n", "a: [b,]\n",
        "a: {b:c}\n", "a: b: c\n", "- - a\n", "-\n  a: b\n", "a: b\n---\nc: d\n", "...\n", "a: b\n...\n",
        "%YAML 1.2\n---\na: b\n", "--- a\n", "a: [b\n", "a: b]\n: c\n", "a: @b\n", "a: }\n", "a : b\n", "a: -\n",
        "a: [?b]\n", "a:\n- b\n c: d\n", "\u{FEFF}a: b\n", "a: {b: c}d\n", "a: 'b'c\n", "a:\n  - b\n - c\n",
        "a: {\"b\":c}\n", "\"a\":b\n", "a: [b:]\n", "a: [b:,c]\n", "a: b\u{7F}\n", "a: b #c\u{1}\n",
    ]) func whatIsNotSimpleIsLeftToLibyaml(_ text: String) {
        #expect(!YAMLTree.isSimple(SourceText(name: "job.yaml", bytes: Array(text.utf8))), "\(text)")
        expectAlike(Array(text.utf8))
    }

    @Test func keysAndDepthsHaveTheirBounds() {
        for length in [10, 999, 1_000, 1_023, 1_024, 1_025, 5_000] {
            let key = String(repeating: "k", count: length)
            expectAlike(Array("\(key): v\nb: { \(key): v }\n- \(key): v\n".utf8))
            expectAlike(Array("\(key): v\nb: { \(key): v, c: \(key) }\n".utf8))
            expectAlike(Array("- \(key): v\n- \(key)\n- { a: \(key) }\n".utf8))
        }
        for depth in [10, 58, 59, 60, 61, 63, 64, 65, 66, 200] {
            expectAlike(
                Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "\n").utf8))
            expectAlike(
                Array("a: \(String(repeating: "{a: ", count: depth))b\(String(repeating: "}", count: depth))\n".utf8))
            let block = (0..<depth).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
            expectAlike(Array((block + String(repeating: " ", count: depth) + "a: b\n").utf8))
        }
        let limits = YAMLTree.Limits(bytes: 1_000, depth: 4, expandedNodes: 20)
        for count in [2, 5, 8, 9, 10, 11, 30] {
            expectAlike(Array((0..<count).flatMap { "k\($0): v\n".utf8 }), limits)
            expectAlike(
                Array((0..<count).flatMap { "\(String(repeating: " ", count: $0))a:\n".utf8 } + "".utf8), limits)
        }
    }

    @Test func anyTextIsReadAlike() {
        var random = Seeded("anyTextIsReadAlike")
        var simple = 0
        for round in 0..<Rounds.scaled(20_000) {
            var writer = Writer(isWild: round % 2 == 0)
            writer.block(0, depth: 0, &random)
            var bytes = Array(writer.text.utf8)
            for _ in 0..<random.below(4) { Self.mutate(&bytes, &random) }
            if YAMLTree.isSimple(SourceText(name: "job.yaml", bytes: bytes)) { simple += 1 }
            guard expectAlike(bytes) else {
                Issue.record("seed \(random.seed)")
                return
            }
        }
        // The others show no more than that it gives up.
        #expect(simple > Rounds.scaled(20_000) / 10, "\(simple)")
    }

    private static let spice = Array("{}[]:,&*!|>'\"%@`#?-<~$ \n\r\t\\.ab/é:: -- ,,  ".utf8) + [0x7F, 0x80]

    private static func mutate(_ bytes: inout [UInt8], _ random: inout Seeded) {
        let place = random.below(bytes.count + 1)
        let end = min(bytes.count, place + random.below(8))
        switch random.below(4) {
        case 0: bytes.insert(random.pick(spice), at: place)
        case 1: bytes.removeSubrange(place..<end)
        case 2: bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count + 1))
        default: if place < bytes.count { bytes[place] = random.pick(spice) }
        }
    }

    @discardableResult
    private func expectAlike(_ bytes: [UInt8], _ limits: YAMLTree.Limits = .standard) -> Bool {
        let quick = Reading(bytes: bytes, limits: limits)
        var found = DiagnosticList()
        let slow = YAMLTree.parse(quick.source, limits: limits, quickly: false, into: &found)
        let isAlike =
            switch (quick.tree, slow) {
            case (nil, nil): true
            case (let quick?, let slow?): quick.isSame(as: slow)
            default: false
            }
        let isTold = quick.diagnostics.items.map(Self.line) == found.items.map(Self.line)
        #expect(isAlike && isTold, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        return isAlike && isTold
    }

    private static func line(_ item: Diagnostic) -> String { "\(item)" }

    /// Writes blocks and flows as people and programs do, and with `isWild` some that nobody would.
    private struct Writer {
        var text = ""
        let isWild: Bool

        init(isWild: Bool) { self.isWild = isWild }

        mutating func block(_ indent: Int, depth: Int, _ random: inout Seeded) {
            let isSequence = random.below(3) == 0
            for index in 0..<1 + random.below(4) {
                if index > 0 || depth == 0 { margin(indent, &random) }
                if isSequence {
                    text += "- "
                    if random.below(3) == 0, depth < 4 {
                        entries(indent + 2, depth: depth, &random)
                    } else {
                        value(&random)
                    }
                } else {
                    pair(indent, depth: depth, &random)
                }
            }
        }

        private mutating func entries(_ indent: Int, depth: Int, _ random: inout Seeded) {
            for index in 0..<1 + random.below(3) {
                if index > 0 { margin(indent, &random) }
                pair(indent, depth: depth, &random)
            }
        }

        private mutating func pair(_ indent: Int, depth: Int, _ random: inout Seeded) {
            text += key(&random) + ":"
            guard depth < 4, random.below(3) == 0 else {
                text += " "
                return value(&random)
            }
            text += random.below(5) == 0 ? " # why\n" : "\n"
            let inner = indent + (random.below(4) == 0 ? 0 : 1 + random.below(3))
            margin(inner, &random)
            block(inner, depth: depth + 1, &random)
        }

        private mutating func margin(_ indent: Int, _ random: inout Seeded) {
            if random.below(12) == 0 { text += random.pick(["\n", "  \n", "# said\n", "    # more\n"]) }
            text += String(repeating: " ", count: indent)
        }

        private mutating func value(_ random: inout Seeded) {
            text += random.below(3) == 0 ? flow(0, &random) : scalar(&random)
            text += random.pick(["\n", "\n", "\n", " \n", " # said\n", isWild ? "#x\n" : "\n"])
        }

        private func flow(_ depth: Int, _ random: inout Seeded) -> String {
            let isMapping = random.below(2) == 0
            let parts = (0..<random.below(4)).map { _ in
                let value = depth < 3 && random.below(4) == 0 ? flow(depth + 1, &random) : scalar(&random)
                return isMapping ? "\(key(&random)): \(value)" : value
            }
            let inside = parts.joined(separator: random.pick([", ", ",", " , "]))
            let gap = random.pick(["", " "])
            return isMapping ? "{\(gap)\(inside)\(gap)}" : "[\(gap)\(inside)\(gap)]"
        }

        private func key(_ random: inout Seeded) -> String {
            random.pick(
                ["id", "url", "a", "b", "to", "two words", "\"q\"", "'s'", "x-y", "1", "a"] + (isWild ? wild : []))
        }

        private func scalar(_ random: inout Seeded) -> String {
            random.pick(
                [
                    "a", "1", "true", "~", "./a/b", "http://h:80/a", "a b  c", "\"a: b\"", "'c # d'", "\"\"", "x_y",
                    "1.5", "$x",
                ]
                    + (isWild ? wild : []))
        }

        private var wild: [String] {
            [
                "a:b", "a#b", "a #b", "a: b", "?a", "a?b", "-1", "- a", "*a", "&a b", "!t a", "|", ">", "%a", "@a",
                "<<", "a,b",
                "[a", "a]", "{a", "}", "'a''b'", "\"\\t\"", "é", "", "a:", "::", ":a", "\"a\"b", "#", ".", "...", "---",
                "a\tb",
            ]
        }
    }
}
