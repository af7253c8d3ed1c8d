import Diagnostics
import Testing

@Suite struct SourceTextTests {
    private let source = SourceText(
        name: "x", bytes: [0xEF, 0xBB, 0xBF] + Array("one\r\ntwö\rthree\u{85}four\u{2028}five\n\nseven".utf8))

    @Test func linesEndAsInYAML() {
        #expect((0...9).map(source.line) == ["", "one", "twö", "three", "four", "five", "", "seven", "", ""])
        #expect(source.lineCount == 7)
    }

    @Test func aByteHasALineAndAColumn() {
        func place(_ offset: Int) -> [Int] {
            let place = source.position(ofByte: offset)
            return [place.line, place.column]
        }
        #expect(place(0) == [1, 1])
        #expect(place(3) == [1, 1])
        #expect(place(5) == [1, 3])
        #expect(place(8) == [2, 1])
        #expect(place(12) == [2, 4], "ö is one column and two bytes")
        #expect(place(source.bytes.count) == [7, 6])
    }

    @Test func partsOfALineAreFoundByTheirColumns() {
        let source = SourceText(name: "x", bytes: Array("one\ntwö €".utf8) + [0xE2, 0x82, 0x66, 0xFF])
        func text(_ first: Int, _ end: Int = .max) -> String {
            String(String.UnicodeScalarView(source.scalars(ofLine: 2, from: first, to: end)))
        }
        // Forward from what was found last, and back.
        #expect([text(3, 5), text(4)] == ["ö ", " €\u{FFFD}f\u{FFFD}"])
        #expect([text(7), text(1, 3), text(90)] == ["f\u{FFFD}", "tw", ""])
        #expect(text(1) == source.line(2))
    }

    @Test func brokenBytesShowAsReplacements() {
        #expect(SourceText(name: "x", bytes: [0x61, 0xFF, 0x62]).line(1) == "a\u{FFFD}b")
    }
}
