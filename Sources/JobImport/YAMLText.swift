/// A node of the job file that an import writes.
indirect enum YAMLNode: Hashable, Sendable {
    /// Text, quoted where YAML would take it for something else.
    case text(String)
    /// A number, a boolean, a duration or another word that is written as it is.
    case plain(String)
    case list([YAMLNode])
    case map([YAMLField])

    static func map(_ fields: KeyValuePairs<String, YAMLNode>) -> YAMLNode {
        .map(fields.map { YAMLField($0.key, $0.value) })
    }
}

/// A key and its value.
struct YAMLField: Hashable, Sendable {
    let key: String
    let value: YAMLNode

    init(_ key: String, _ value: YAMLNode) {
        self.key = key
        self.value = value
    }
}

/// Writes YAML nodes as text.
enum YAMLText {
    /// The text as a scalar that is read as this text, in block and in flow style.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter || "._-/".utf8.contains($0) }
        let beginsPlain = text.utf8.first?.isASCIILetter == true
        if isPlain, beginsPlain, !words.contains(text.lowercased()) { return text }
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default: append(scalar, to: &result)
            }
        }
        return result + "\""
    }

    /// Words that YAML, or an older YAML, reads as something else.
    private static let words: Set<String> = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]

    private static func append(_ scalar: Unicode.Scalar, to result: inout String) {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        guard isControl || scalar.value == 0x2028 || scalar.value == 0x2029 || scalar.value == 0xFEFF else {
            result.unicodeScalars.append(scalar)
            return
        }
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }

    /// The node in flow style, on one line.
    static func flow(_ node: YAMLNode) -> String {
        switch node {
        case .text(let text): quoted(text)
        case .plain(let text): text
        case .list(let nodes): "[" + nodes.map { flow($0) }.joined(separator: ", ") + "]"
        case .map(let fields):
            "{ " + fields.map { "\(quoted($0.key)): \(flow($0.value))" }.joined(separator: ", ") + " }"
        }
    }

    /// A comment's lines: control characters are left out, so that no text can end the comment.
    static func comment(_ text: String, indent: String = "") -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            if isControl || scalar.value == 0x2028 || scalar.value == 0x2029 || scalar.value == 0xFEFF {
                line += " "
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return "\(indent)# \(line)\n"
    }

    /// A map's fields in block style; nested maps and lists in flow style.
    static func block(_ fields: [YAMLField], indent: String) -> String {
        fields.map { "\(indent)\(quoted($0.key)): \(flow($0.value))\n" }.joined()
    }
}

/// Text of a job file, in which `${` begins a reference and `$$` is a dollar.
enum JobText {
    /// Escapes a literal text.
    static func literal(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var result = ""
        let scalars = Array(text.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            let next = index + 1 < scalars.count ? scalars[index + 1] : nil
            // A dollar at the end may meet the text that follows.
            if scalar == "$", next == "{" || next == "$" || next == nil { result += "$" }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Whether the text has a reference to a variable in it.
    static func hasReference(_ text: String) -> Bool {
        var isEscaped = false
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if last == "$", !isEscaped {
                if scalar == "{" { return true }
                isEscaped = scalar == "$"
            } else {
                isEscaped = false
            }
            last = scalar
        }
        return false
    }

    /// The literal text, if it has no reference.
    static func plain(_ text: String) -> String? {
        guard !hasReference(text) else { return nil }
        var result = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            result.unicodeScalars.append(scalar)
            if scalar == "$", rest.first == "$" { rest.removeFirst() }
        }
        return result
    }
}
