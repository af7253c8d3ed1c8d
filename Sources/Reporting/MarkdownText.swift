/// Text from job files and servers in Markdown.
package enum MarkdownText {
    /// Text that Markdown and HTML show as it is, on one line: all that could mean something there is a reference.
    package static func cell(_ text: String) -> String {
        let longest = 2_000
        let line = SafeText.line(text)
        var safe = ""
        for scalar in line.unicodeScalars.prefix(longest) {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", " ", ",", ".", "-", "/", "(", ")", "'", "%", ";":
                safe.unicodeScalars.append(scalar)
            default:
                if scalar.isASCII { safe += "&#\(scalar.value);" } else { safe.unicodeScalars.append(scalar) }
            }
        }
        return line.unicodeScalars.count > longest ? safe + "…" : safe
    }
}
