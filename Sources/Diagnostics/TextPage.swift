/// Renders diagnostics for a terminal, one after the other.
struct TextPage {
    private(set) var text = ""
    private let style: Style

    init(color: Bool) { style = Style(isOn: color) }

    mutating func append(_ item: Diagnostic) {
        text += headline(item)
        var gutter = String(repeating: " ", count: 6)
        if let source = item.source, let span = item.span, !source.isWithheld {
            let number = String(span.line)
            let padding = String(repeating: " ", count: max(0, 5 - number.utf8.count))
            gutter = String(repeating: " ", count: max(5, number.utf8.count) + 1)
            let excerpt = Excerpt(of: source, span, hiding: item.credentialNames)
            text += style.place("\(padding)\(number) |") + (excerpt.line.isEmpty ? "" : " " + excerpt.line) + "\n"
            text += style.place("\(gutter)|") + " "
            text += excerpt.indent + style.caret(excerpt.carets, item.severity) + "\n"
        }
        if let hint = item.shownHint {
            text += style.place("\(gutter)=") + " " + style.hint("hint:") + " " + Visible.text(hint) + "\n"
        }
    }

    private func headline(_ item: Diagnostic) -> String {
        var place = item.source.map { Visible.text($0.name) + ":" } ?? ""
        if let span = item.span { place += "\(span.line):\(span.column):" }
        let severity = style.severity(item.severity.rawValue + ":", item.severity)
        let message = style.message(Visible.text(item.shownMessage))
        return (place.isEmpty ? "" : place + " ") + "\(severity) \(message) [\(item.code)]\n"
    }
}

/// Wraps text in terminal colours, or leaves it as it is.
private struct Style {
    let isOn: Bool

    func place(_ text: String) -> String { paint("1;34", text) }
    func message(_ text: String) -> String { paint("1", text) }
    func hint(_ text: String) -> String { paint("1;36", text) }
    func caret(_ text: String, _ severity: Diagnostic.Severity) -> String { paint(code(severity), text) }
    func severity(_ text: String, _ severity: Diagnostic.Severity) -> String { paint(code(severity), text) }

    private func code(_ severity: Diagnostic.Severity) -> String {
        switch severity {
        case .error: "1;31"
        case .warning: "1;33"
        }
    }

    private func paint(_ code: String, _ text: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
