/// The blocks of a Markdown page, as far as the pages in docs/ use it.
package enum MarkdownBlock: Hashable, Sendable {
    /// A heading, from 1 for the page's title.
    case heading(level: Int, String)
    /// A paragraph in one line.
    case paragraph(String)
    /// An item of a list in one line.
    case bullet(String)
    /// Lines between fences.
    case code([String])
    /// Rows of cells; the first row names the columns.
    case table([[String]])

    var beginsSection: Bool { if case .heading(2, _) = self { true } else { false } }

    /// Reads a page.
    package static func parse(_ markdown: String) -> [MarkdownBlock] {
        var reader = MarkdownReader(markdown)
        return reader.read()
    }
}

/// Reads blocks line by line.
private struct MarkdownReader {
    private let lines: [Substring]
    private var number = 0
    private var blocks: [MarkdownBlock] = []
    /// A paragraph or bullet that the next line may continue.
    private var open: MarkdownBlock?

    init(_ markdown: String) { lines = markdown.split(separator: "\n", omittingEmptySubsequences: false) }

    mutating func read() -> [MarkdownBlock] {
        while number < lines.count { readLine() }
        close()
        return blocks
    }

    private mutating func readLine() {
        let line = lines[number]
        if line.hasPrefix("```") {
            readCode()
        } else if line.hasPrefix("|") {
            readTable()
        } else {
            number += 1
            read(text: line)
        }
    }

    private mutating func read(text line: Substring) {
        let level = line.prefix { $0 == "#" }.count
        if line.isEmpty || line.hasPrefix("<!--") {
            close()
        } else if level > 0, line.dropFirst(level).hasPrefix(" ") {
            close()
            blocks.append(.heading(level: level, String(line.dropFirst(level + 1))))
        } else if line.hasPrefix("- ") {
            close()
            open = .bullet(String(line.dropFirst(2)))
        } else {
            let words = String(line.drop { $0 == " " })
            switch open {
            case .paragraph(let text): open = .paragraph("\(text) \(words)")
            case .bullet(let text): open = .bullet("\(text) \(words)")
            default: open = .paragraph(words)
            }
        }
    }

    private mutating func close() {
        if let open { blocks.append(open) }
        open = nil
    }

    private mutating func readCode() {
        close()
        let body = lines[(number + 1)...].prefix { !$0.hasPrefix("```") }
        blocks.append(.code(body.map(String.init)))
        number += body.count + 2
    }

    private mutating func readTable() {
        close()
        let body = lines[number...].prefix { $0.hasPrefix("|") }
        number += body.count
        let rows = body.map { cells(of: $0) }
        blocks.append(.table(rows.filter { !$0.allSatisfy { $0.allSatisfy { $0 == "-" } && !$0.isEmpty } }))
    }

    /// A bar with a backslash before it is part of a cell.
    private func cells(of line: Substring) -> [String] {
        var cells = [""]
        var rest = line.dropFirst()
        while let next = rest.popFirst() {
            if next == "\\", rest.first == "|" {
                cells[cells.count - 1].append(rest.removeFirst())
            } else if next == "|" {
                cells.append("")
            } else {
                cells[cells.count - 1].append(next)
            }
        }
        return cells.dropLast().map { cell in
            var text = cell.drop { $0 == " " }
            while text.last == " " { text.removeLast() }
            return String(text)
        }
    }
}

extension RoffPage {
    /// Adds blocks of a page; its headings of the first level are left out.
    mutating func add(_ blocks: some Sequence<MarkdownBlock>) {
        for block in blocks {
            switch block {
            case .heading(let level, let text): if level > 1 { heading(text, isSmall: level > 2) }
            case .paragraph(let text): paragraph(text)
            case .bullet(let text): bullet(text)
            case .code(let lines): code(lines)
            case .table(let rows): add(table: rows)
            }
        }
    }

    /// Adds an entry for each row: its first cell is the term, its last the meaning, and those between have a line each.
    private mutating func add(table rows: [[String]]) {
        guard let titles = rows.first else { return }
        for row in rows.dropFirst() where !row.isEmpty {
            let between = zip(titles, row).dropFirst().prefix(max(0, row.count - 2)).filter { !$0.1.isEmpty }
            entry(
                row[0], row.count > 1 ? row[row.count - 1] : "",
                details: between.map { "\(capitalized($0.0)): \($0.1)." })
        }
    }

    private func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}

extension [MarkdownBlock] {
    /// The blocks without the sections whose heading is left out.
    func without(sections isLeftOut: (String) -> Bool) -> [MarkdownBlock] {
        var isOut = false
        return filter { block in
            if case .heading(2, let title) = block { isOut = isLeftOut(title) }
            return !isOut
        }
    }

    /// The blocks below one heading.
    func section(_ title: String) -> [MarkdownBlock] {
        Array(without { $0 != title }.sections.dropFirst())
    }

    /// The blocks before the first section.
    var opening: ArraySlice<MarkdownBlock> { prefix { !$0.beginsSection } }

    /// The blocks from the first section on.
    var sections: ArraySlice<MarkdownBlock> { drop { !$0.beginsSection } }
}
