import TransferModel

/// The part of a line that is shown, and the carets below it.
struct Excerpt {
    private(set) var line = ""
    private(set) var indent = ""
    private(set) var carets = ""

    /// Largest width in columns; wider lines are cut around the carets, because a file of one long line must not fill
    /// the terminal.
    static let widestLine = 100
    /// Columns kept before the carets of a line that is cut.
    private static let before = 40
    /// Characters of a long line that are read on both sides of the fault: a thousand faults in one line must not read
    /// it a thousand times.
    private static let reach = 512

    init(of source: SourceText, _ span: SourceSpan, hiding names: CredentialNames = .standard) {
        let isLong = source.byteRange(ofLine: Int(span.line)).count > 4 * Self.reach
        let left = isLong ? max(Int(span.column) - 1 - Self.reach, 0) : 0
        let right = isLong ? left + 2 * Self.reach : .max - 1
        let scalars = source.scalars(ofLine: Int(span.line), from: left + 1, to: right + 1)
        let goesOn = isLong && scalars.count == right - left
        let start = min(max(Int(span.column) - 1 - left, 0), scalars.count)
        let isOneLine = span.endLine == span.line
        let end = isOneLine ? min(max(Int(span.endColumn) - 1 - left, start), scalars.count) : scalars.count
        let cells = Excerpt.cells(of: Self.hiding(names, in: scalars))
        let window = Excerpt.window(cells: cells, start: start, end: end)

        let isCut = left > 0 || window.lowerBound > 0
        line = isCut ? "..." : ""
        line += cells[window].lazy.map(\.shown).joined()
        if goesOn || window.upperBound < cells.count { line += "..." }
        let width = { (range: Range<Int>) in cells[range].reduce(0) { $0 + $1.width } }
        let dots = isCut ? 3 : 0
        indent = String(repeating: " ", count: dots + width(window.lowerBound..<start))
        carets = String(repeating: "^", count: max(1, width(start..<min(end, window.upperBound))))
    }

    /// Returns the scalars with `*` for each of a value that such a name masks, so that the carets stay where they are.
    private static func hiding(_ names: CredentialNames, in scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
        let bytes = scalars.map { $0.isASCII ? UInt8($0.value) : 0x80 }
        var shown = scalars
        for range in names.values(inSource: bytes) {
            for index in range { shown[index] = "*" }
        }
        return shown
    }

    private struct Cell {
        let shown: String
        let width: Int
    }

    private static func cells(of scalars: [Unicode.Scalar]) -> [Cell] {
        var column = 0
        return scalars.map { scalar in
            let (shown, width) = scalar == "\t" ? tab(at: column) : Visible.cell(scalar)
            column += width
            return Cell(shown: shown, width: width)
        }
    }

    private static func tab(at column: Int) -> (String, Int) {
        let width = 4 - column % 4
        return (String(repeating: " ", count: width), width)
    }

    /// Returns the range of cells to show: all if they fit, else as many as fit around the start of the carets.
    private static func window(cells: [Cell], start: Int, end: Int) -> Range<Int> {
        guard cells.reduce(0, { $0 + $1.width }) > widestLine else { return 0..<cells.count }
        var lower = start
        var width = 0
        while lower > 0, width + cells[lower - 1].width <= before {
            lower -= 1
            width += cells[lower].width
        }
        var upper = start
        while upper < cells.count, width + cells[upper].width <= widestLine {
            width += cells[upper].width
            upper += 1
        }
        // Near the end of the line there is room for more of what precedes the carets.
        while lower > 0, width + cells[lower - 1].width <= widestLine {
            lower -= 1
            width += cells[lower].width
        }
        return lower..<upper
    }
}
