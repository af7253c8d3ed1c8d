/// A manual page under construction, in the macros of man(7).
package struct RoffPage {
    /// The page so far.
    package private(set) var text = ""
    /// Whether nothing has followed the last heading.
    private var isAtHeading = false

    /// Begins a page such as `transfer-run-job(5)` with its NAME.
    package init(_ name: String, section: Int, date: String, version: String, does: String) {
        macro("TH \(name.uppercased()) \(section) \(date) \"transfer-run \(version)\" \"Manual of transfer-run\"")
        text = ".\\\" Generated from the program's tables and docs/ (Sources/CommandLineTool/Manual).\n" + text
        heading("NAME")
        add(line: "\(RoffText.escaped(name, isCode: true)) \\- \(RoffText.escaped(does))")
        isAtHeading = false
    }

    /// Adds a heading; text of the next paragraphs stands below it.
    package mutating func heading(_ markdown: String, isSmall: Bool = false) {
        macro("\(isSmall ? "SS" : "SH") \"\(RoffText.inline(markdown))\"")
        isAtHeading = true
    }

    /// Adds a paragraph, filled by the reader's terminal.
    package mutating func paragraph(_ markdown: String) {
        beginParagraph()
        add(line: RoffText.inline(markdown))
    }

    /// Adds a term with what it means below it, indented; each of `details` begins a line.
    package mutating func entry(_ term: String, _ meaning: String, details: [String] = []) {
        isAtHeading = false
        macro("TP")
        add(line: RoffText.inline(term), isWrapped: false)
        add(line: RoffText.inline(meaning))
        for detail in details {
            macro("br")
            add(line: RoffText.inline(detail))
        }
    }

    /// Adds an item of a list.
    package mutating func bullet(_ markdown: String) {
        isAtHeading = false
        macro("IP \\(bu 2")
        add(line: RoffText.inline(markdown))
    }

    /// Adds lines that are shown as they are.
    package mutating func code(_ lines: [String]) {
        beginParagraph()
        macro("RS 4")
        macro("EX")
        for line in lines { add(line: RoffText.escaped(line, isCode: true), isWrapped: false) }
        macro("EE")
        macro("RE")
    }

    private mutating func macro(_ line: String) { text += ".\(line)\n" }

    /// Begins a paragraph. A heading has begun one already.
    private mutating func beginParagraph() {
        if !isAtHeading { macro("PP") }
        isAtHeading = false
    }

    /// Adds a line of text, broken between words after 78 characters: roff fills them anew.
    private mutating func add(line: String, isWrapped: Bool = true) {
        var current = ""
        for word in isWrapped ? line.split(separator: " ") : [line[...]] {
            if !current.isEmpty, current.utf8.count + word.utf8.count >= 78 {
                end(current)
                current = ""
            }
            current += current.isEmpty ? word : " " + word
        }
        if !isWrapped || !current.isEmpty { end(current) }
    }

    /// Ends a line of text. One that looks like a macro gets a mark of no width first; so does an empty one, which
    /// would be a paragraph.
    private mutating func end(_ line: String) {
        let isMarked = line.isEmpty || line.hasPrefix(".") || line.hasPrefix("'") || line.hasPrefix(" ")
        text += (isMarked ? "\\&" : "") + line + "\n"
    }
}
