import Reporting

/// Phrases that plans and simulations have in common.
enum Words {
    /// Returns `1 task` or `3,011 tasks`.
    static func count(_ count: Int, _ noun: String) -> String { HumanText.count(count, noun) }

    /// Returns a heading, its rows in columns and a last line; nothing without rows. `right` names the columns that are
    /// aligned to the right.
    static func table(_ rows: [[String]], indent: String = "  ", right: Set<Int> = []) -> [String] {
        guard let columns = rows.map(\.count).max() else { return [] }
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? TextLayout.width(of: $0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                right.contains(column)
                    ? TextLayout.leftPadded(cell, to: widths[column]) : TextLayout.padded(cell, to: widths[column])
            }
            return trimmed(indent + cells.joined(separator: "  "))
        }
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }
}
