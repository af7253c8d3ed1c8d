import Diagnostics
import TestSupport
import Testing
import YAMLTree

/// Broken files of every kind: no crash, no hang, and each place lies within the file.
@Suite struct FuzzTests {
    private static let samples = [
        "version: 1\nsessions:\n  api: { headers: { Authorization: \"Bearer ${secret.X}\" } }\ntasks:\n  - id: a\n",
        "base: &b { x: 1, <<: { y: 2 } }\nt:\n- <<: *b\n  z: [1, 'two', \"thr\\u00e9e\"]\n- !!str 12\n- *b\n",
        "text: |\n  líne one\n  two\u{2028}x\nfold: >-\n  a\n\n  b\n? key\n: value\n# end\n",
        "\u{FEFF}%YAML 1.1\n---\na: {b: [c, {d: e}], f: 'it''s'}\r\nwide: 漢字🎉\n...\n",
    ]
    private static let spice =
        Array("{}[]:,&*!|>'\"%@`#?-<~$ \n\r\t\\\u{FEFF}\u{85}é".utf8) + [0, 0x1B, 0x80, 0xC2, 0xE2, 0xFF]

    @Test func mutatedFilesNeverBreakTheReader() {
        var random = Seeded("FuzzTests")
        for _ in 0..<Rounds.scaled(3000) {
            var bytes = Array(FuzzTests.samples.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 1...8, using: &random) { mutate(&bytes, using: &random) }
            let reading = Reading(bytes: bytes)
            #expect(reading.tree != nil || reading.diagnostics.hasErrors, "seed \(random.seed)")
            for item in reading.diagnostics.items {
                if let span = item.span { expectInside(span, reading.source, bytes, random.seed) }
            }
            if let tree = reading.tree, let root = tree.root { walk(root, in: tree, bytes, random.seed) }
            _ = DiagnosticRenderer.text(reading.diagnostics.sorted(), color: false)
        }
    }

    private func mutate(_ bytes: inout [UInt8], using random: inout Seeded) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 0...12, using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.insert(FuzzTests.spice.randomElement(using: &random)!, at: place)
        case 1: bytes.removeSubrange(place..<end)
        case 2: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
        default: if place < bytes.count { bytes[place] = FuzzTests.spice.randomElement(using: &random)! }
        }
    }

    private func walk(_ id: YAMLTree.NodeID, in tree: YAMLTree, _ bytes: [UInt8], _ seed: UInt64) {
        expectInside(tree.span(id), tree.source, bytes, seed)
        switch tree.kind(id) {
        case .scalar: _ = tree.resolve(id)
        case .sequence: for child in tree.children(id) { walk(child, in: tree, bytes, seed) }
        case .mapping:
            for (key, value) in tree.entries(id) {
                walk(key, in: tree, bytes, seed)
                walk(value, in: tree, bytes, seed)
            }
        }
    }

    private func expectInside(_ span: SourceSpan, _ source: SourceText, _ bytes: [UInt8], _ seed: UInt64) {
        func isInside(_ line: Int32, _ column: Int32) -> Bool {
            line >= 1 && Int(line) <= source.lineCount && column >= 1
                && Int(column) <= source.line(Int(line)).unicodeScalars.count + 1
        }
        let isOrdered = (span.line, span.column) <= (span.endLine, span.endColumn)
        if !isOrdered || !isInside(span.line, span.column) || !isInside(span.endLine, span.endColumn) {
            Issue.record("\(span) of \(String(decoding: bytes, as: UTF8.self).debugDescription), seed \(seed)")
        }
    }
}
