import Reporting

/// Lays rows of cells out as lines of a terminal.
enum Columns {
    /// Returns one line for each row. `right` names the columns that are aligned to the right.
    static func rows(_ rows: [[String]], right: Set<Int> = []) -> [String] {
        guard let columns = rows.map(\.count).max() else { return [] }
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? TextLayout.width(of: $0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                right.contains(column)
                    ? TextLayout.leftPadded(cell, to: widths[column]) : TextLayout.padded(cell, to: widths[column])
            }
            var line = "  " + cells.joined(separator: "  ")
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
