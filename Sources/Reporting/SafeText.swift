/// Text from servers and files, made fit for a terminal and a CI log: it stays on its line and starts nothing.
package enum SafeText {
    /// Control characters and what reorders or breaks a line are shown as escapes.
    package static func line(_ text: String) -> String {
        // Most is plain ASCII.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        guard text.unicodeScalars.contains(where: { isUnsafe($0) }) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { safe += escape(scalar) } else { safe.unicodeScalars.append(scalar) }
        }
        return safe
    }

    /// Makes text of several lines safe: line feeds and tabs stay, and CR LF is a line feed.
    package static func lines(_ text: String) -> String {
        var safe = ""
        var hasReturn = false
        for scalar in text.unicodeScalars {
            if hasReturn, scalar != "\n" { safe += escape("\r") }
            hasReturn = scalar == "\r"
            if scalar == "\n" || scalar == "\t" || !isUnsafe(scalar) {
                safe.unicodeScalars.append(scalar)
            } else if !hasReturn {
                safe += escape(scalar)
            }
        }
        return hasReturn ? safe + escape("\r") : safe
    }

    /// A line for a GitHub log. `::` is a command only where a line begins, and ours begin with words of ours; the old
    /// form `##[command]` is one anywhere.
    static func gitHubLine(_ text: String) -> String {
        let safe = line(text)
        return safe.contains("##[") ? replacing("##[", with: "## [", in: safe) : safe
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0xFEFF, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(scalar.value, radix: 16))}"
        }
    }

    static func replacing(_ part: String, with other: String, in text: String) -> String {
        var result = ""
        var rest = text[...]
        while let found = rest.firstRange(of: part) {
            result += rest[..<found.lowerBound]
            result += other
            rest = rest[found.upperBound...]
        }
        return result + rest
    }
}

/// `::error` annotations for GitHub Actions.
enum GitHubAnnotation {
    /// GitHub shows ten of a kind for a step and drops the others.
    static let most = 10

    static func error(file: String, line: UInt32, title: String, message: String) -> String {
        "::error file=\(property(file)),line=\(line),title=\(property(title))::\(data(SafeText.line(message)))"
    }

    /// What stands after `::`.
    static func data(_ text: String) -> String {
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": safe += "%25"
            case "\r": safe += "%0D"
            case "\n": safe += "%0A"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    /// A property's value, which `:` and `,` would end.
    static func property(_ text: String) -> String {
        var safe = ""
        for scalar in data(text).unicodeScalars {
            switch scalar {
            case ":": safe += "%3A"
            case ",": safe += "%2C"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }
}
