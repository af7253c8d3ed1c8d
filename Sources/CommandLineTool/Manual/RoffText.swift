/// Text for manual pages: escapes what roff would take for its own, and sets Markdown's code and emphasis in bold and
/// italic.
package enum RoffText {
    private enum Font: String {
        case roman = "R"
        case bold = "B"
        case italic = "I"
    }

    /// Returns the text as roff that prints it. `isCode` keeps characters as they are typed: hyphens, quotes, carets.
    package static func escaped(_ text: some StringProtocol, isCode: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\(rs"
            case "-" where isCode: result += "\\-"
            case "'" where isCode: result += "\\(aq"
            case "`" where isCode: result += "\\(ga"
            case "^" where isCode: result += "\\(ha"
            case "~" where isCode: result += "\\(ti"
            case "\"": result += "\\(dq"
            case "\n", "\t": result += " "
            // A terminal of ASCII alone shows nothing for `\[u2026]`; the mark of no width keeps it from ending a sentence.
            case "…": result += "...\\&"
            case _ where !scalar.isASCII: result += "\\[u\(hexadecimal(scalar.value))]"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns one line of roff for inline Markdown.
    package static func inline(_ markdown: some StringProtocol) -> String { inline(markdown, in: .roman) }

    private static func inline(_ markdown: some StringProtocol, in font: Font) -> String {
        var result = ""
        var plain = ""
        var rest = Substring(markdown)
        func set(_ text: String, in inner: Font) -> String { "\\f\(inner.rawValue)\(text)\\f\(font.rawValue)" }
        while let next = rest.first {
            if let (body, after) = enclosed(rest, by: "`") {
                result += escaped(plain) + set(escaped(body, isCode: true), in: .bold)
                (plain, rest) = ("", after)
            } else if let (body, after) = enclosed(rest, by: "**") {
                result += escaped(plain) + set(inline(body, in: .bold), in: .bold)
                (plain, rest) = ("", after)
            } else if let (body, after) = enclosed(rest, by: "*") {
                result += escaped(plain) + set(inline(body, in: .italic), in: .italic)
                (plain, rest) = ("", after)
            } else if let (title, target, after) = link(rest) {
                result += escaped(plain) + linked(title, target, in: font)
                (plain, rest) = ("", after)
            } else {
                plain.append(next)
                rest.removeFirst()
            }
        }
        return result + escaped(plain)
    }

    /// What stands between two marks at the beginning of the text, and what follows them.
    private static func enclosed(_ text: Substring, by mark: String) -> (body: Substring, after: Substring)? {
        guard text.hasPrefix(mark) else { return nil }
        let inner = text.dropFirst(mark.count)
        guard let first = inner.first, mark == "`" || first != " " && first != "*",
            let end = range(of: mark, in: inner)
        else { return nil }
        return (inner[..<end.lowerBound], inner[end.upperBound...])
    }

    private static func range(of mark: String, in text: Substring) -> Range<String.Index>? {
        text.indices.lazy.filter { text[$0...].hasPrefix(mark) }.first.map { $0..<text.index($0, offsetBy: mark.count) }
    }

    /// `[title](target)` at the beginning of the text.
    private static func link(_ text: Substring) -> (title: Substring, target: Substring, after: Substring)? {
        guard text.first == "[", let middle = range(of: "](", in: text),
            let end = text[middle.upperBound...].firstIndex(of: ")")
        else { return nil }
        let title = text[text.index(after: text.startIndex)..<middle.lowerBound]
        return title.contains("[") ? nil : (title, text[middle.upperBound..<end], text[text.index(after: end)...])
    }

    /// A page is named by its file; another title has the file behind it.
    private static func linked(_ title: Substring, _ target: Substring, in font: Font) -> String {
        let page = "\\fI\(escaped(target, isCode: true))\\f\(font.rawValue)"
        return title == target ? page : inline(title, in: font) + " (\(page))"
    }

    /// At least four digits, as roff wants them.
    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
