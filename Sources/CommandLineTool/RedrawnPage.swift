import Reporting

/// A page of text that replaces the page before it on a terminal.
package struct RedrawnPage {
    private var screen = LiveScreen()

    package init() {}

    /// Returns the bytes that replace the last page by `text`. Long lines and pages are cut: lines that have scrolled
    /// off the screen could not be overwritten.
    package mutating func replacing(with text: String, columns: Int, rows: Int) -> String {
        var lines = text.split(separator: "\n").map { TextLayout.cut(String($0), to: columns - 1) }
        let most = max(2, rows - 1)
        if lines.count > most {
            let rest = lines.count - most + 1
            lines = lines.prefix(most - 1) + [TextLayout.cut("… and \(rest) more lines", to: columns - 1)]
        }
        return String(decoding: screen.draw(lines, columns: columns), as: UTF8.self)
    }
}
