/// A value that a script takes out of what a transfer prints: `V=$(curl … | jq -r .a)`. It becomes a `capture`.
struct AnswerValue: Hashable, Sendable {
    /// Number of the value, from 1. A reference has it until the ids of tasks are known: `${tasks.@1.V}`.
    let number: Int
    /// Name of the variable, or `value`.
    var name = "value"
    /// What `capture` says: `json` or `regex`.
    let source: YAMLField
    /// What the script prints beyond this value; `nil` where that is all.
    let note: String?
    /// Values that later commands take out of it.
    var parts: [AnswerValue] = []

    /// The source of a whole answer.
    static let whole = YAMLField("regex", .text("(?s)\\A(.*?)\\n*\\z"))

    /// The value and its parts.
    var all: [AnswerValue] { [self] + parts }

    var reference: String { "${tasks.@\(number).\(name)}" }

    /// The number and the name of each such reference in a text.
    static func references(in text: String) -> [(number: Int, name: String)] {
        text.split(separator: "tasks.@").dropFirst(text.hasPrefix("tasks.@") ? 0 : 1).compactMap { part in
            let digits = part.prefix { $0.isASCII && $0.isNumber }
            let name = part.dropFirst(digits.count + 1).prefix { $0 != "}" }
            return Int(digits).map { ($0, String(name)) }
        }
    }
}

/// The programs that take a value out of what curl or wget prints, as a `capture`.
enum AnswerFilter {
    /// Returns the source of the capture for the commands of a pipe, the transfer first; `nil` for others.
    static func source(_ commands: ArraySlice<ShellCommand>) -> (source: YAMLField, note: String?)? {
        guard let transfer = commands.first, let program = transfer.ownTransfer, program != "aria2c" else { return nil }
        return source(of: commands)
    }

    /// Returns the source of the capture for the commands behind the first one of a pipe.
    static func source(of commands: ArraySlice<ShellCommand>) -> (source: YAMLField, note: String?)? {
        guard commands.dropLast().allSatisfy({ $0.end == "|" }),
            commands.allSatisfy({ $0.redirections.allSatisfy { $0.sign.hasPrefix("2") || $0.sign.hasPrefix("<<") } })
        else { return nil }
        var filters = commands.dropFirst().map { $0.words.compactMap(\.literal) }
        guard zip(filters, commands.dropFirst()).allSatisfy({ $0.count == $1.words.count }) else { return nil }
        if filters.isEmpty { return (AnswerValue.whole, nil) }
        let isFirstAlone =
            filters.count == 2 && [["head", "-1"], ["head", "-n1"], ["head", "-n", "1"]].contains(filters[1])
        if isFirstAlone { filters.removeLast() }
        guard filters.count == 1, let program = filters[0].first else { return nil }
        let words = filters[0].dropFirst()
        switch program {
        case "jq": return isFirstAlone ? nil : path(words).map { (YAMLField("json", .text(JobText.literal($0))), nil) }
        case "grep", "sed":
            let note = isFirstAlone ? nil : "`\(program)` prints all that it finds: the first of it is captured"
            return (program == "grep" ? match(words) : group(words)).map {
                (YAMLField("regex", .text(JobText.literal($0))), note)
            }
        default: return nil
        }
    }

    // MARK: jq

    /// The JSON path of `jq -r .a.b[0]`.
    private static func path(_ words: ArraySlice<String>) -> String? {
        let options = words.filter { $0.hasPrefix("-") }
        let filters = words.filter { !$0.hasPrefix("-") }
        let isRaw = options.contains { $0 == "--raw-output" || !$0.hasPrefix("--") && $0.contains("r") }
        let isKnown = options.allSatisfy { option in
            option == "--raw-output" || option == "--exit-status"
                || !option.dropFirst().contains { !"rej".contains($0) }
        }
        guard isRaw, isKnown, filters.count == 1, let filter = filters.first else { return nil }
        var path = "$"
        let empty = ["// empty", "//empty"].first { filter.hasSuffix($0) } ?? ""
        var rest = filter.dropLast(empty.count).trimmed[...]
        while let next = rest.first {
            if next == "." {
                rest.removeFirst()
                if rest.first == "[" || rest.isEmpty { continue }
                if rest.first == "\"" {
                    guard let name = quoted(&rest) else { return nil }
                    path += "['\(name)']"
                    continue
                }
                let name = rest.prefix { ShellScript.isName("a\($0)") }
                guard ShellScript.isName(name) else { return nil }
                path += ".\(name)"
                rest = rest.dropFirst(name.count)
            } else if next == "[" {
                rest.removeFirst()
                if rest.first == "\"" {
                    guard let name = quoted(&rest) else { return nil }
                    path += "['\(name)']"
                } else {
                    let digits = rest.prefix { $0 == "-" || $0.isASCII && $0.isNumber }
                    guard Int(digits) != nil else { return nil }
                    path += "[\(digits)]"
                    rest = rest.dropFirst(digits.count)
                }
                guard rest.popFirst() == "]" else { return nil }
            } else {
                // `.a | .b` is `.a.b`.
                rest = rest.drop { $0 == " " }
                if rest.isEmpty { break }
                guard rest.popFirst() == "|", path != "$" else { return nil }
                rest = rest.drop { $0 == " " }
                guard rest.first == "." else { return nil }
            }
        }
        return path == "$" ? nil : path
    }

    /// Takes a name in quotes that needs no escapes.
    private static func quoted(_ rest: inout Substring) -> Substring? {
        let name = rest.dropFirst().prefix { $0 != "\"" }
        rest = rest.dropFirst(name.count + 1)
        guard rest.popFirst() == "\"", !name.isEmpty, !name.contains(where: { "\\'".contains($0) }) else { return nil }
        return name
    }

    // MARK: grep and sed

    /// The expression of `grep -o`, whose first match is the value.
    private static func match(_ words: ArraySlice<String>) -> String? {
        var letters = ""
        var expressions: [String] = []
        var words = words
        while let word = words.popFirst() {
            if word == "--only-matching" {
                letters += "o"
            } else if word.hasPrefix("-"), word.count > 1 {
                guard !word.hasPrefix("--") else { return nil }
                letters += word.dropFirst()
                guard word.hasSuffix("e") else { continue }
                guard let expression = words.popFirst() else { return nil }
                expressions.append(expression)
            } else {
                expressions.append(word)
            }
        }
        guard letters.contains("o"), letters.allSatisfy({ "oEPiehsam1".contains($0) }), expressions.count == 1 else {
            return nil
        }
        let dialect: ForeignExpression.Dialect =
            letters.contains("P") ? .perl : letters.contains("E") ? .extended : .basic
        guard let found = ForeignExpression.translated(expressions[0], dialect) else { return nil }
        if found.groups > 0, found.pattern.contains("\\K") { return nil }
        let flags = letters.contains("i") ? "(?mi)" : "(?m)"
        return flags + (found.groups > 0 ? "(\(found.pattern))" : found.pattern)
    }

    /// The expression of `sed -n 's/.*\(…\).*/\1/p'`, which replaces whole lines: the value is its first group.
    private static func group(_ words: ArraySlice<String>) -> String? {
        let options = words.filter { $0.hasPrefix("-") }.flatMap { $0.dropFirst() }
        let scripts = words.filter { !$0.hasPrefix("-") }
        guard options.contains("n"), options.allSatisfy({ "nEre".contains($0) }), scripts.count == 1,
            let script = scripts.first, script.first == "s", let mark = script.dropFirst().first
        else { return nil }
        var parts = [""]
        var rest = script.dropFirst(2)
        while let character = rest.popFirst() {
            if character == mark {
                parts.append("")
            } else if character == "\\", let next = rest.popFirst() {
                parts[parts.count - 1] += next == mark ? "\(next)" : "\\\(next)"
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        guard parts.count == 3, parts[1] == "\\1", parts[2] == "p", parts[0].hasPrefix("^") || parts[0].hasPrefix(".*"),
            parts[0].hasSuffix("$") || parts[0].hasSuffix(".*"),
            let found = ForeignExpression.translated(
                parts[0], options.contains("E") || options.contains("r") ? .extended : .basic),
            found.groups > 0
        else { return nil }
        let line = found.pattern.hasPrefix("^") ? found.pattern.dropFirst() : found.pattern[...]
        return "(?m)^\(line.hasSuffix("$") ? line.dropLast() : line)$"
    }
}

/// Expressions of grep and sed as those of a job, which are Perl's. Both look at one line at a time: nothing but a line's end
/// may match a line break.
enum ForeignExpression {
    enum Dialect { case basic, extended, perl }

    /// Returns the expression and the number of its groups; `nil` for one with parts that mean something else here.
    static func translated(_ text: String, _ dialect: Dialect) -> (pattern: String, groups: Int)? {
        var pattern = ""
        var groups = 0
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "\\":
                guard let next = rest.popFirst() else { return nil }
                if let lines = lines[next] {
                    pattern += lines
                } else if dialect == .basic, "(){}|+?".contains(next) {
                    pattern.append(next)
                    if next == "(" { groups += 1 }
                } else if next == "<" || next == ">" {
                    pattern += "\\b"
                } else if next.isNumber || dialect != .perl && next.isLetter && !"wSbB".contains(next) {
                    return nil
                } else {
                    pattern += "\\\(next)"
                }
            case "[":
                guard let set = set(&rest, dialect) else { return nil }
                pattern += set
            case "(" where dialect != .basic:
                pattern.append("(")
                let isNamed = ["?P", "?'", "?<"].contains { rest.hasPrefix($0) }
                if isNamed, !rest.hasPrefix("?<="), !rest.hasPrefix("?<!") { return nil }
                if rest.first != "?" { groups += 1 }
            case "(", ")", "{", "}", "|", "+", "?": pattern += dialect == .basic ? "\\\(character)" : "\(character)"
            case "*" where pattern.isEmpty: return nil
            default: pattern.append(character)
            }
        }
        return (pattern, groups)
    }

    /// Classes that would match a line break.
    private static let lines: [Character: String] = ["s": "[^\\S\\n]", "W": "[^\\w\\n]", "D": "[^\\d\\n]"]

    /// Takes a bracket expression, after its `[`.
    private static func set(_ rest: inout Substring, _ dialect: Dialect) -> String? {
        var set = "["
        if rest.first == "^" {
            rest.removeFirst()
            set += "^\\n"
        }
        var isFirst = true
        while let character = rest.popFirst() {
            if character == "]", !isFirst { return set + "]" }
            isFirst = false
            if character == "[", rest.first == ":" {
                guard let end = rest.firstRange(of: ":]") else { return nil }
                set += "[" + rest[..<end.upperBound]
                rest = rest[end.upperBound...]
            } else if character == "\\", dialect == .perl {
                guard let next = rest.popFirst() else { return nil }
                set += "\\\(next)"
            } else {
                set += "\\[]".contains(character) ? "\\\(character)" : "\(character)"
            }
        }
        return nil
    }
}
