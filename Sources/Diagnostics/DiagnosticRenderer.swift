package import TextFormats

/// Renders diagnostics in three forms: for people, for programs, and for GitHub's annotations.
package enum DiagnosticRenderer {
    /// Returns text for people: position, fault, the line with carets, and what would be right; plain ASCII around the
    /// quoted text.
    package static func text(_ items: [Diagnostic], color: Bool) -> String {
        var page = TextPage(color: color)
        for item in items { page.append(item) }
        return page.text
    }

    /// Returns `{"diagnostics":[…]}` with the members that `more` adds; unknown values are `null`.
    package static func json(_ items: [Diagnostic], more: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
        var writer = JSONWriter(reserving: 256 * items.count + 32)
        writer.beginObject()
        writer.array("diagnostics", items) { writer, item in append(item, to: &writer) }
        more(&writer)
        writer.endObject()
        return writer.bytes
    }

    private static func append(_ item: Diagnostic, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("severity", item.severity.rawValue)
        writer.member("code", item.code)
        writer.member("message", item.shownMessage)
        writer.member("hint", item.shownHint)
        writer.member("file", item.source?.name)
        writer.member("line", item.span.map { Int($0.line) })
        writer.member("column", item.span.map { Int($0.column) })
        writer.member("endLine", item.span.map { Int($0.endLine) })
        writer.member("endColumn", item.span.map { Int($0.endColumn) })
        writer.endObject()
    }

    /// Returns one workflow command per line. All text in it is escaped, so none can start a command of its own.
    package static func github(_ items: [Diagnostic]) -> String {
        items.reduce(into: "") { text, item in
            var properties: [String] = []
            if let source = item.source { properties.append("file=" + WorkflowCommand.property(source.name)) }
            if let span = item.span { properties += place(span) }
            properties.append("title=" + WorkflowCommand.property(item.code))
            let message = item.shownMessage + (item.shownHint.map { "\nhint: " + $0 } ?? "")
            text += "::\(item.severity.rawValue) \(properties.joined(separator: ","))"
            text += "::\(WorkflowCommand.data(message))\n"
        }
    }

    /// Returns the position's properties. GitHub accepts columns only for an annotation within one line.
    private static func place(_ span: SourceSpan) -> [String] {
        let endsAtLineStart = span.endColumn <= 1 && span.endLine > span.line
        let endLine = endsAtLineStart ? span.endLine - 1 : span.endLine
        guard span.endLine == span.line else { return ["line=\(span.line)", "endLine=\(endLine)"] }
        return ["line=\(span.line)", "col=\(span.column)", "endLine=\(span.endLine)", "endColumn=\(span.endColumn)"]
    }
}

/// Escapes text for GitHub's workflow commands.
enum WorkflowCommand {
    static func data(_ text: String) -> String { escape(text, commas: false) }
    static func property(_ text: String) -> String { escape(text, commas: true) }

    private static func escape(_ text: String, commas: Bool) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": out += "%25"
            case "\r": out += "%0D"
            case "\n": out += "%0A"
            case ":" where commas: out += "%3A"
            case "," where commas: out += "%2C"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
