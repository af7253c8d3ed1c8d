/// A word of a command: its text in the form of a job file, with references for shell variables.
struct ShellWord: Hashable, Sendable {
    /// Text in which `${` begins a reference and `$$` is a dollar.
    var text = ""
    /// What cannot be known without running the script, such as `$(date)`; `nil` where all is known.
    var unknown: String?
    /// Whether any part of it was quoted.
    var isQuoted = false

    /// The literal text; `nil` with a reference or an unknown part.
    var literal: String? { unknown == nil ? JobText.plain(text) : nil }
}

/// A simple command of a script.
struct ShellCommand: Sendable {
    /// A `>`, `<` or `<<` with its word.
    struct Redirection: Sendable {
        let sign: String
        let word: ShellWord
    }
    let line: Int
    var words: [ShellWord] = []
    var redirections: [Redirection] = []
    /// Text of a here-document.
    var input: ShellWord?
    /// What ends it: `;`, `\n`, `&&`, `||`, `|` or `&`.
    var end = "\n"
}

/// Splits a shell script into simple commands. It runs nothing: what depends on running is marked unknown.
struct ShellScript: Sendable {
    private(set) var commands: [ShellCommand] = []
    /// Lines where a quote or a here-document has no end.
    private(set) var brokenLines: [Int] = []
    /// Values of variables that the script itself sets to plain text, by name.
    private var assigned: [String: ShellWord] = [:]
    /// Names that were used as variables of the script, in order, with their values.
    private(set) var variables: [(name: String, value: String)] = []

    private var scalars: [Unicode.Scalar]
    private var index = 0
    private var line: Int
    private var waiting: [(delimiter: String, isQuoted: Bool, stripsTabs: Bool, command: Int)] = []

    private static let most = 200_000

    /// `line` is the number of the text's first line.
    init(_ text: String, line: Int = 1) {
        scalars = Array(text.unicodeScalars)
        self.line = line
        while index < scalars.count, commands.count < Self.most { readCommand() }
        commands.removeAll { $0.words.isEmpty && $0.redirections.isEmpty }
    }

    // MARK: Commands

    private mutating func readCommand() {
        skipBlanks()
        var command = ShellCommand(line: line)
        while index < scalars.count {
            skipBlanks()
            guard index < scalars.count else { break }
            if scalars[index] == "#" {
                while index < scalars.count, scalars[index] != "\n" { index += 1 }
                continue
            }
            if let end = takeEnd() {
                command.end = end
                break
            }
            if let sign = takeRedirection() {
                take(sign, into: &command)
                continue
            }
            let before = index
            let word = readWord()
            if index == before {
                // A bracket or another sign of the shell's grammar stands as a word of its own.
                command.words.append(ShellWord(text: String(scalars[index])))
                index += 1
            } else {
                command.words.append(word)
            }
        }
        assign(&command)
        commands.append(command)
        if command.end == "\n" { readDocuments() }
    }

    private mutating func skipBlanks() {
        while index < scalars.count {
            if scalars[index] == " " || scalars[index] == "\t" || scalars[index] == "\r" {
                index += 1
            } else if scalars[index] == "\\", let next = peek(1), next == "\n" || (next == "\r" && peek(2) == "\n") {
                index += next == "\n" ? 2 : 3
                line += 1
            } else {
                return
            }
        }
    }

    private func peek(_ distance: Int) -> Unicode.Scalar? {
        index + distance < scalars.count ? scalars[index + distance] : nil
    }

    private mutating func takeEnd() -> String? {
        switch scalars[index] {
        case "\n":
            index += 1
            line += 1
            return "\n"
        case ";":
            index += peek(1) == ";" ? 2 : 1
            return ";"
        case "&" where peek(1) == "&":
            index += 2
            return "&&"
        case "&" where peek(1) != ">":
            index += 1
            return "&"
        case "|" where peek(1) == "|":
            index += 2
            return "||"
        case "|":
            index += peek(1) == "&" ? 2 : 1
            return "|"
        default: return nil
        }
    }

    private mutating func takeRedirection() -> String? {
        var start = index
        while start < scalars.count, ("0"..."9").contains(scalars[start]) { start += 1 }
        guard start < scalars.count else { return nil }
        let digits = String(String.UnicodeScalarView(scalars[index..<start]))
        if scalars[start] == "&", start == index, peek(1) == ">" {
            index += 2
            return "&>"
        }
        guard scalars[start] == ">" || scalars[start] == "<" else { return nil }
        let rest = String(String.UnicodeScalarView(scalars[start...].prefix(3)))
        for sign in ["<<<", "<<-", "<<", ">>", ">&", "<&", ">|", "<>", ">", "<"] where rest.hasPrefix(sign) {
            index = start + sign.unicodeScalars.count
            return digits + sign
        }
        return nil
    }

    private mutating func take(_ sign: String, into command: inout ShellCommand) {
        skipBlanks()
        let word = readWord()
        command.redirections.append(ShellCommand.Redirection(sign: sign, word: word))
        if sign.hasSuffix("<<<") {
            command.input = word
        } else if sign.hasSuffix("<<") || sign.hasSuffix("<<-") {
            waiting.append((word.text, word.isQuoted, sign.hasSuffix("-"), commands.count))
        }
    }

    /// Takes leading assignments; those that stand alone define variables of the script.
    private mutating func assign(_ command: inout ShellCommand) {
        var words = command.words[...]
        if words.first?.text == "export" || words.first?.text == "readonly" || words.first?.text == "local" {
            words.removeFirst()
        }
        guard !words.isEmpty, words.allSatisfy({ Self.assignment($0) != nil }) else { return }
        for word in words {
            guard let (name, value) = Self.assignment(word) else { continue }
            assigned[name] = value
        }
        command.words = []
    }

    /// Returns name and value of `NAME=value`.
    static func assignment(_ word: ShellWord) -> (String, ShellWord)? {
        guard let equals = word.text.firstIndex(of: "="), equals != word.text.startIndex else { return nil }
        let name = word.text[..<equals]
        guard isName(name) else { return nil }
        var value = word
        value.text = String(word.text[word.text.index(after: equals)...])
        return (String(name), value)
    }

    static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || $0 == UInt8(ascii: "_")
        }
    }

    /// Reads the here-documents of the line that has ended.
    private mutating func readDocuments() {
        for document in waiting {
            var text = ""
            var hasEnded = false
            while index < scalars.count, !hasEnded {
                var end = index
                while end < scalars.count, scalars[end] != "\n" { end += 1 }
                var content = String(String.UnicodeScalarView(scalars[index..<end]))
                if document.stripsTabs { content = String(content.drop { $0 == "\t" }) }
                index = min(end + 1, scalars.count)
                line += 1
                if content == document.delimiter { hasEnded = true } else { text += content + "\n" }
            }
            if !hasEnded { brokenLines.append(commands[document.command].line) }
            commands[document.command].input =
                document.isQuoted ? ShellWord(text: JobText.literal(text), isQuoted: true) : expanded(text)
        }
        waiting.removeAll()
    }

    /// The text of a here-document, in which variables count as between double quotes.
    private func expanded(_ text: String) -> ShellWord {
        var reader = ShellScript(empty: assigned, text)
        var word = reader.readDoubleQuoted(endsAtQuote: false)
        word.isQuoted = true
        return word
    }

    private init(empty assigned: [String: ShellWord], _ text: String) {
        scalars = Array(text.unicodeScalars)
        line = 1
        self.assigned = assigned
    }
}

// MARK: - Words

extension ShellScript {
    private static let ends: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r", ";", "&", "|", "<", ">", "(", ")"]

    private mutating func readWord() -> ShellWord {
        var word = ShellWord()
        if index < scalars.count, scalars[index] == "~",
            peek(1) == "/" || peek(1).map({ Self.ends.contains($0) }) != false
        {
            word.text = "${env.HOME}"
            index += 1
        }
        while index < scalars.count, !Self.ends.contains(scalars[index]) {
            let scalar = scalars[index]
            switch scalar {
            case "'": readSingleQuoted(into: &word)
            case "\"":
                index += 1
                append(readDoubleQuoted(endsAtQuote: true), to: &word)
                word.isQuoted = true
            case "\\": readEscape(into: &word)
            case "$" where peek(1) == "'": readEscapedQuote(into: &word)
            case "$" where peek(1) == "\"": index += 1
            case "$": append(readReference(), to: &word)
            case "`": append(readBackticks(), to: &word)
            default:
                word.text += JobText.literal(String(scalar))
                index += 1
            }
        }
        return word
    }

    private func append(_ part: ShellWord, to word: inout ShellWord) {
        word.text += part.text
        word.unknown = word.unknown ?? part.unknown
    }

    private mutating func readSingleQuoted(into word: inout ShellWord) {
        let start = line
        word.isQuoted = true
        index += 1
        var text = ""
        while index < scalars.count, scalars[index] != "'" {
            if scalars[index] == "\n" { line += 1 }
            text.unicodeScalars.append(scalars[index])
            index += 1
        }
        if index >= scalars.count { brokenLines.append(start) }
        index += 1
        word.text += JobText.literal(text)
    }

    private mutating func readEscape(into word: inout ShellWord) {
        guard let next = peek(1) else {
            index += 1
            return
        }
        index += 2
        if next == "\n" {
            line += 1
        } else {
            word.text += JobText.literal(String(next))
            word.isQuoted = true
        }
    }

    /// Reads `$'…'` with its escapes.
    private mutating func readEscapedQuote(into word: inout ShellWord) {
        let start = line
        index += 2
        var text = ""
        while index < scalars.count, scalars[index] != "'" {
            if scalars[index] == "\\", let next = peek(1) {
                index += 2
                switch next {
                case "n": text += "\n"
                case "t": text += "\t"
                case "r": text += "\r"
                case "\\", "'", "\"", "?": text.unicodeScalars.append(next)
                case "x", "u", "U": text += readHex(next == "x" ? 2 : next == "u" ? 4 : 8)
                default:
                    text.unicodeScalars.append("\\")
                    text.unicodeScalars.append(next)
                }
            } else {
                if scalars[index] == "\n" { line += 1 }
                text.unicodeScalars.append(scalars[index])
                index += 1
            }
        }
        if index >= scalars.count { brokenLines.append(start) }
        index += 1
        word.isQuoted = true
        word.text += JobText.literal(text)
    }

    private mutating func readHex(_ most: Int) -> String {
        var digits = ""
        while digits.count < most, index < scalars.count, scalars[index].properties.isASCIIHexDigit {
            digits.unicodeScalars.append(scalars[index])
            index += 1
        }
        return UInt32(digits, radix: 16).flatMap { Unicode.Scalar($0) }.map { String($0) } ?? ""
    }

    fileprivate mutating func readDoubleQuoted(endsAtQuote: Bool) -> ShellWord {
        let start = line
        var word = ShellWord()
        while index < scalars.count {
            let scalar = scalars[index]
            if scalar == "\"", endsAtQuote {
                index += 1
                return word
            }
            switch scalar {
            case "\\" where peek(1) == "\n":
                index += 2
                line += 1
            case "\\" where peek(1).map({ "$`\"\\".unicodeScalars.contains($0) }) == true:
                word.text += JobText.literal(String(scalars[index + 1]))
                index += 2
            case "$": append(readReference(), to: &word)
            case "`": append(readBackticks(), to: &word)
            default:
                if scalar == "\n" { line += 1 }
                word.text += JobText.literal(String(scalar))
                index += 1
            }
        }
        if endsAtQuote { brokenLines.append(start) }
        return word
    }

    /// Reads `$NAME`, `${NAME}`, `${NAME:-default}`, or what only a shell can know.
    private mutating func readReference() -> ShellWord {
        index += 1
        guard let next = index < scalars.count ? scalars[index] : nil else { return ShellWord(text: "$") }
        if next == "{" { return readBraces() }
        if next == "(" { return readNested("(", ")", "$(…)") }
        if Self.isName(String(next)) {
            var name = ""
            while index < scalars.count, Self.isName("a" + String(scalars[index])) {
                name.unicodeScalars.append(scalars[index])
                index += 1
            }
            return value(of: name)
        }
        if ("0"..."9").contains(next) || "@*#?!$-_".unicodeScalars.contains(next) {
            index += 1
            return ShellWord(unknown: "$\(next)")
        }
        return ShellWord(text: JobText.literal("$"))
    }

    private mutating func readBraces() -> ShellWord {
        index += 1
        var content = ""
        var depth = 1
        while index < scalars.count {
            if scalars[index] == "{" { depth += 1 }
            if scalars[index] == "}" {
                depth -= 1
                if depth == 0 { break }
            }
            if scalars[index] == "\n" { line += 1 }
            content.unicodeScalars.append(scalars[index])
            index += 1
        }
        if index >= scalars.count { brokenLines.append(line) }
        index += 1
        if Self.isName(content) { return value(of: content) }
        guard let mark = content.firstRange(of: ":-"), Self.isName(content[..<mark.lowerBound]) else {
            return ShellWord(unknown: "${…}")
        }
        let name = String(content[..<mark.lowerBound])
        if assigned[name] != nil { return value(of: name) }
        let fallback = content[mark.upperBound...]
        guard !fallback.contains(where: { "$`\"'\\{}".contains($0) }) else { return ShellWord(unknown: "${…}") }
        return ShellWord(text: "${env.\(name):-\(fallback)}")
    }

    private mutating func readBackticks() -> ShellWord {
        index += 1
        while index < scalars.count, scalars[index] != "`" {
            if scalars[index] == "\n" { line += 1 }
            index += scalars[index] == "\\" ? 2 : 1
        }
        if index >= scalars.count { brokenLines.append(line) }
        index += 1
        return ShellWord(unknown: "`…`")
    }

    private mutating func readNested(_ open: Unicode.Scalar, _ close: Unicode.Scalar, _ what: String) -> ShellWord {
        var depth = 0
        while index < scalars.count {
            if scalars[index] == "\n" { line += 1 }
            if scalars[index] == open { depth += 1 }
            if scalars[index] == close { depth -= 1 }
            index += 1
            if depth == 0 { return ShellWord(unknown: what) }
        }
        brokenLines.append(line)
        return ShellWord(unknown: what)
    }

    /// A variable that the script sets is one of the job, another one is of the environment.
    private mutating func value(of name: String) -> ShellWord {
        guard let word = assigned[name] else { return ShellWord(text: "${env.\(name)}") }
        guard word.unknown == nil else { return ShellWord(unknown: "$\(name)") }
        // A variable of the job cannot be set twice.
        if let known = variables.first(where: { $0.name == name }) {
            return known.value == word.text ? ShellWord(text: "${\(name)}") : ShellWord(text: word.text)
        }
        variables.append((name, word.text))
        return ShellWord(text: "${\(name)}")
    }
}

extension ShellWord {
    fileprivate init(unknown: String) {
        self.init()
        self.unknown = unknown
    }
}
