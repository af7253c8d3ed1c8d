import Reporting

/// A page of text that takes the place of the one before it on a terminal.
package struct RedrawnPage {
    /// Lines of the page that stands there.
    private var height = 0
    private var columns = 0

    package init() {}

    /// What to write so that `text` stands where the page before stood. Lines and pages that are too long are cut: what has
    /// left the screen could not be written over.
    package mutating func replacing(with text: String, columns: Int, rows: Int) -> String {
        var lines = text.split(separator: "\n").map { TextLayout.cut(String($0), to: columns - 1) }
        let most = max(2, rows - 1)
        if lines.count > most {
            let rest = lines.count - most + 1
            lines = lines.prefix(most - 1) + [TextLayout.cut("… and \(rest) more lines", to: columns - 1)]
        }
        // In a terminal of another width the lines stand elsewhere.
        let up = height > 0 && self.columns == columns ? "\u{1B}[\(height)A\r" : ""
        height = lines.count
        self.columns = columns
        return up + lines.map { "\($0)\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }
}
