/// Text in the columns of a terminal.
package enum TextLayout {
    /// The columns that `text` takes: two for wide characters, none for those that combine with the one before.
    package static func width(of text: String) -> Int {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.generalCategory == .nonspacingMark || scalar.value == 0x200B { return 0 }
        // What is shown as a picture takes two columns, whatever its first scalar is by itself.
        if character.unicodeScalars.contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation }) {
            return 2
        }
        return isWide(scalar.value) ? 2 : 1
    }

    /// East Asian Width W and F, in blocks.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// `text`, and spaces up to `columns`.
    package static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(of: text)))
    }

    /// Spaces up to `columns`, and `text`.
    package static func leftPadded(_ text: String, to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - width(of: text))) + text
    }

    /// Breaks a line between words so that none is wider than `width`, which is no limit when `nil`. What follows the first
    /// line is indented. A word that is wider than a line stays whole: a URL or a command can still be copied.
    package static func wrapped(_ text: String, width: Int?, indent: String = "") -> [String] {
        guard let width, self.width(of: text) > width else { return [text] }
        let leading = text.prefix { $0 == " " }
        var lines: [String] = []
        var line = String(leading)
        var used = leading.count
        var isEmpty = true
        for word in text.dropFirst(leading.count).split(separator: " ", omittingEmptySubsequences: false) {
            let columns = self.width(of: String(word))
            if !isEmpty, used + 1 + columns > width {
                lines.append(trimmed(line))
                (line, used, isEmpty) = (indent, indent.utf8.count, true)
            }
            // Where a line breaks between columns, the spaces between them are none.
            if word.isEmpty, isEmpty, !lines.isEmpty { continue }
            if !isEmpty {
                line += " "
                used += 1
            }
            line += word
            used += columns
            isEmpty = false
        }
        return lines + [line]
    }

    /// `text`, or its beginning and `mark` where it is wider than `columns`.
    package static func cut(_ text: String, to columns: Int, mark: String = "…") -> String {
        guard width(of: text) > columns else { return text }
        var (kept, used) = ("", 0)
        for character in text {
            used += width(of: character)
            if used + mark.count > columns { break }
            kept.append(character)
        }
        return kept + mark.prefix(max(0, columns))
    }

    /// Without the spaces at its end.
    static func trimmed(_ line: String) -> String {
        guard let last = line.lastIndex(where: { $0 != " " }) else { return "" }
        return String(line[...last])
    }

    /// Lays rows of cells out in columns; `right` names the columns that are aligned to the right. A row may have fewer cells
    /// than the others.
    package static func columns(_ rows: [[String]], right: Set<Int> = []) -> [String] {
        guard let columns = rows.map(\.count).max() else { return [] }
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? width(of: $0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                right.contains(column) ? leftPadded(cell, to: widths[column]) : padded(cell, to: widths[column])
            }
            return trimmed("  " + cells.joined(separator: "  "))
        }
    }
}
