import Diagnostics
import Testing

/// The shown line and the carets under it, as a terminal with fixed columns would show them.
@Suite struct ExcerptTests {
    private func lines(_ line: String, column: Int, length: Int) -> [String] {
        lines(line, SourceSpan(line: 1, column: column, length: length))
    }

    private func lines(_ line: String, _ span: SourceSpan) -> [String] {
        let source = SourceText(name: "f", bytes: Array(line.utf8))
        let item = Diagnostic(severity: .error, code: "c", message: "m", source: source, span: span)
        let shown = DiagnosticRenderer.text([item], color: false).split(separator: "\n")
        return shown.dropFirst().map { String($0.dropFirst(8)) }
    }

    @Test(arguments: [
        // A tab goes to the next multiple of four.
        ("\tkey: x", 2, 3, "    key: x", "    ^^^"),
        ("a\tkey", 2, 1, "a   key", " ^^^"),
        // Wide characters take two columns, marks that combine none.
        ("漢字: x", 5, 1, "漢字: x", "      ^"),
        ("漢字: x", 1, 2, "漢字: x", "^^^^"),
        ("e\u{301}x: y", 4, 1, "e\u{301}x: y", "  ^"),
        ("🎉🎉!", 3, 1, "🎉🎉!", "    ^"),
        // What would move the cursor or hide is shown.
        ("a\u{1B}[2Jb", 6, 1, "a\\u{1b}[2Jb", "          ^"),
        ("x\u{202E}y", 2, 1, "x\\u{202e}y", " ^^^^^^^^"),
        ("\u{FEFF}a\u{FEFF}b", 3, 1, "a\\u{feff}b", "         ^"),
        // Past the end there is still one caret.
        ("abc", 4, 0, "abc", "   ^"),
        ("abc", 90, 5, "abc", "   ^"),
        ("abc", 2, 50, "abc", " ^^"),
    ])
    func caretsStandUnderWhatIsMeant(_ line: String, column: Int, length: Int, shown: String, carets: String) {
        #expect(lines(line, column: column, length: length) == [shown, carets])
    }

    @Test func aSpanOfSeveralLinesIsMarkedToTheEndOfItsFirst() {
        let span = SourceSpan(line: 1, column: 3, endLine: 2, endColumn: 2)
        #expect(lines("a: [1,\n2]", span) == ["a: [1,", "  ^^^^"])
    }

    @Test(arguments: [1, 50, 300, 995, 1000])
    func longLinesAreCutAroundTheCaret(column: Int) {
        var letters = [Character](repeating: "-", count: 1000)
        letters[column - 1] = "X"
        let shown = lines(String(letters), column: column, length: 1)
        #expect(shown[0].count <= 106)
        #expect(Array(shown[0])[shown[1].count - 1] == "X")
        #expect(shown[1].hasSuffix("^"))
        #expect(shown[0].hasPrefix("...") == (column > 41))
    }

    /// What stands around the caret is the same in a line of any length.
    @Test(arguments: [1, 50, 600, 3_000, 4_999, 5_000])
    func veryLongLinesAreCutAlike(column: Int) {
        let around = (0..<5_000).map { Character(Unicode.Scalar(0x4E00 + UInt32($0 % 500)) ?? "x") }
        var letters = around
        letters[column - 1] = "X"
        let shown = lines(String(letters), column: column, length: 1)
        #expect(shown[0].hasPrefix("...") == (column > 21) && shown[0].hasSuffix("...") == (column < 4_950))
        let place = shown[0].firstIndex(of: "X").map { shown[0].distance(from: shown[0].startIndex, to: $0) }
        let dots = shown[0].hasPrefix("...") ? 3 : 0
        #expect(place.map { $0 - dots } == (shown[1].count - 1 - dots) / 2)
        #expect(shown[0].dropFirst(dots).first == letters[column - 1 - ((place ?? 0) - dots)])
    }

    /// Faults in a file of one line are shown in the time that it takes to read it, not in that for each.
    @Test func manyFaultsOfOneLongLineAreShownSoon() {
        let source = SourceText(name: "f", bytes: Array(repeating: UInt8(ascii: "x"), count: 2_000_000))
        let faults = (1...1_000).map { number in
            Diagnostic(
                severity: .error, code: "c", message: "m", source: source,
                span: SourceSpan(line: 1, column: number * 1_999, length: 3))
        }
        let start = ContinuousClock.now
        #expect(DiagnosticRenderer.text(faults, color: false).split(separator: "\n").count == 3_000)
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test func namesAndMessagesCannotMoveTheCursor() {
        let source = SourceText(name: "a\u{1B}]0;x\u{7}.yaml", bytes: [])
        let item = Diagnostic(severity: .error, code: "c", message: "key `a\nb\u{9B}`", hint: "\r", source: source)
        #expect(
            DiagnosticRenderer.text([item], color: false)
                == "a\\u{1b}]0;x\\u{7}.yaml: error: key `a\\nb\\u{9b}` [c]\n      = hint: \\r\n")
    }
}
