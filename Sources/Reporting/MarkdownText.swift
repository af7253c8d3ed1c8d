/// Text from job files and servers in Markdown.
package enum MarkdownText {
    /// Text that Markdown and HTML show as it is, on one line: all that could mean something there is a reference.
    package static func cell(_ text: String) -> String {
        let longest = 2_000
        let line = SafeText.line(text)
        var safe = ""
        let scalars = Array(line.unicodeScalars.prefix(longest))
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", " ", ",", ".", "-", "/", "(", ")", "'", "%", ";", "\"", "=", "?", "!",
                "+":
                safe.unicodeScalars.append(scalar)
            case ":" where isPlain(scalars[(index + 1)...]):
                safe.unicodeScalars.append(scalar)
            case "_"
            where index > 0 && isWord(scalars[index - 1]) && scalars.dropFirst(index + 1).first.map(isWord) == true:
                safe.unicodeScalars.append(scalar)
            case ":": safe += "\\:"
            default:
                if scalar.isASCII { safe += "&#\(scalar.value);" } else { safe.unicodeScalars.append(scalar) }
            }
        }
        return line.unicodeScalars.count > longest ? safe + "…" : safe
    }

    /// Whether a colon before this text means nothing: it begins no link (`://`) and no emoji (`:name:`).
    private static func isPlain(_ next: ArraySlice<Unicode.Scalar>) -> Bool {
        guard next.first != "/" else { return false }
        let word = next.prefix { isWord($0) || $0 == "_" || $0 == "+" || $0 == "-" }
        // No emoji is named by two digits, as the minutes of a time are.
        let isTime = word.count == 2 && word.allSatisfy { ("0"..."9").contains($0) }
        return isTime || word.isEmpty || next.dropFirst(word.count).first != ":"
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }

    /// The origin of a URL as code, which no reader of Markdown makes a link of.
    package static func code(origin: String) -> String {
        let isPlain = origin.unicodeScalars.allSatisfy { isWord($0) || ".-:/[]".unicodeScalars.contains($0) }
        return isPlain && !origin.isEmpty ? "`\(origin)`" : cell(origin)
    }
}
