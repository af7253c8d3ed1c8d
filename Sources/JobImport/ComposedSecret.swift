/// Credentials that a script puts together from a text of its own and variables, such as `sid=$SID`.
extension ImportedJob {
    /// The text with a secret in the place of each variable in it; `nil` where it is no such credential, or where what stands
    /// between the variables may be a secret, too.
    mutating func composed(_ text: String, _ host: String?) -> String? {
        let parts = Self.parts(of: text)
        guard parts.count > 1, parts.contains(where: \.isReference),
            parts.allSatisfy({ $0.isReference ? Self.variable(in: $0.text) != nil : !Self.mayBeSecret($0.text) })
        else { return nil }
        return parts.map { part in
            guard part.isReference, let name = Self.variable(in: part.text) else { return part.text }
            if part.text.hasPrefix("${secret.") { return part.text }
            if !part.text.contains("env.") { forget(name) }
            return secret(name, for: host)
        }.joined()
    }

    /// The parts of a text: its references, and what stands between them.
    private static func parts(of text: String) -> [(text: String, isReference: Bool)] {
        var parts: [(text: String, isReference: Bool)] = []
        var rest = text[...]
        while let mark = rest.firstIndex(of: "$") {
            let isReference = rest[mark...].hasPrefix("${")
            guard isReference, let end = rest[mark...].firstIndex(of: "}") else {
                parts.append((String(rest[...mark]) + String(rest[mark...].dropFirst().prefix(1)), false))
                rest = rest[mark...].dropFirst(2)
                continue
            }
            if mark > rest.startIndex { parts.append((String(rest[..<mark]), false)) }
            parts.append((String(rest[mark...end]), true))
            rest = rest[end...].dropFirst()
        }
        if !rest.isEmpty { parts.append((String(rest), false)) }
        return parts
    }

    /// The variable of a reference that says nothing else, as a default.
    private static func variable(in reference: String) -> String? {
        var name = reference.dropFirst(2).dropLast()
        if name.hasPrefix("raw:") { name = name.dropFirst(4) }
        for prefix in ["env.", "secret."] where name.hasPrefix(prefix) { name = name.dropFirst(prefix.count) }
        return ShellScript.isName(name) ? String(name) : nil
    }

    /// Whether a text has in it what looks like a key or a password, or the value of a field whose name means one.
    private static func mayBeSecret(_ text: String) -> Bool {
        let pairs = text.split { ";&, \"\t".contains($0) }
        let hasField = pairs.contains { pair in
            guard let equals = pair.firstIndex(of: "="), equals != pair.indices.last else { return false }
            return SecretNames.isField(pair[..<equals])
        }
        let runs = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        return hasField
            || runs.contains { run in
                let isMixed = run.contains { $0.isLetter } && run.contains { $0.isNumber }
                return run.count > (isMixed ? 6 : run.contains { $0.isNumber } ? 9 : 15)
            }
    }
}

/// JSON that is the text of a member of other JSON, `"{\"a\":1}"`.
enum JSONInJSON {
    /// The JSON in a text; `nil` where it holds none.
    static func text(of value: Substring) -> String? {
        guard let first = value.first(where: { !$0.isWhitespace }), first == "{" || first == "[" else { return nil }
        var text = ""
        var rest = value
        while let character = rest.popFirst() {
            let isEscape = character == "\\" && (rest.first == "\\" || rest.first == "\"")
            text.append(isEscape ? rest.removeFirst() : character)
        }
        return text
    }

    /// The text of a member that holds JSON.
    static func value(of text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
