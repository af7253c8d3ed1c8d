/// A word of a command: its text in the form of a job file, with references for shell variables.
struct ShellWord: Hashable, Sendable {
    /// Text in which `${` begins a reference and `$$` is a dollar.
    var text = ""
    /// What cannot be known without running the script, such as `$(date)`; `nil` where all is known.
    var unknown: String?
    /// The script of `$(…)`, where the word is nothing else.
    var substitution: String?
    /// The text whose last part `$(basename …)` is, where the word is nothing else and the text is not known.
    var basename: String?
    /// Its values, where it is an array.
    var elements: [ShellWord]?
    /// Whether any part of it was quoted.
    var isQuoted = false
    /// The transfers in its command substitutions.
    var hidden: [HiddenTransfer] = []

    /// The name in a word that is one reference, `${name}`, and nothing else.
    var reference: Substring? {
        guard text.hasPrefix("${"), let end = text.firstIndex(of: "}"), text.index(after: end) == text.endIndex else {
            return nil
        }
        let name = text[..<end].dropFirst(2)
        return name.contains(":") ? nil : name
    }

    /// The literal text; `nil` with a reference or an unknown part.
    var literal: String? { unknown == nil ? JobText.plain(text) : nil }
}

/// A curl, wget or aria2c in a command substitution, `$(…)` or backquotes.
struct HiddenTransfer: Hashable, Sendable {
    let line: Int
    /// `curl`, `wget` or `aria2c`.
    let program: String
    /// The variable that is set to what it prints, if one is.
    var variable: String?
}

/// Splits a shell script into simple commands. It runs nothing: what depends on running is marked unknown.
struct ShellScript: Sendable {
    var commands: [ShellCommand] = []
    /// Lines where a quote or a here-document has no end.
    private(set) var brokenLines: [Int] = []
    /// Values of variables that the script itself sets to plain text, by name.
    var assigned: [String: ShellWord] = [:]
    /// Names that were used as variables of the script, in order, with their values.
    var variables: [(name: String, value: String)] = []

    /// The loops that are open, each with its variable where it has one, and how that is written in a job.
    var loops: [(name: String, reference: String)?] = []

    /// Variables whose values are secrets in what a transfer does with them.
    var secretNames: Set<String> = []
    /// Whether the name of a variable stands in each word that uses it, for a first reading.
    var keepsNames = false
    /// The commands of substitutions, in a first reading.
    var inner: [ShellCommand] = []
    /// All texts that variables are set to.
    var texts: [(name: String, text: String)] = []

    /// What is read again.
    var replay = ShellReplay()

    /// What is known of variables besides their values.
    var scopes = VariableScopes()

    /// Whether the shell expands braces: all but `sh` do.
    var expandsBraces = true

    var scalars: [Unicode.Scalar]
    var index = 0
    var line: Int
    /// How many substitutions this text is inside of.
    var nesting = 0
    private var waiting: [(delimiter: String, isQuoted: Bool, stripsTabs: Bool, command: Int?)] = []
    /// Number of the values that were taken out of answers.
    var answerCount: Int
    /// Transfers of substitutions in the command that is read, out of whose answers it takes a value.
    var askedBefore: [ShellCommand] = []

    static let most = 200_000

    /// `answers` is the number of values that scripts before took out of answers; `variables` are those that they set.
    init(_ text: String, answers: Int = 0, variables: [(name: String, value: String)] = []) {
        var first = ShellScript([:], text, line: 1, nesting: 0, answers: answers)
        let head = text.prefix { !$0.isNewline }
        let shell = head.hasPrefix("#!") ? head.split { $0 == "/" || $0 == " " }.last { !$0.hasPrefix("-") } : nil
        first.expandsBraces = !["sh", "dash", "ash"].contains(shell.map { String($0) })
        first.keepsNames = true
        first.readCommands()
        self.init([:], text, line: 1, nesting: 0, answers: answers)
        expandsBraces = first.expandsBraces
        secretNames = ScriptCredentials.names(in: first.commands + first.inner, first.texts)
        self.variables = variables
        scopes.namesOfLoops = first.scopes.namesOfLoops
        readCommands()
        commands.removeAll { $0.function.map(replay.inlined.contains) == true }
    }

    init(_ assigned: [String: ShellWord], _ text: String, line: Int, nesting: Int, answers: Int) {
        scalars = Array(text.unicodeScalars)
        self.line = line
        self.nesting = nesting
        self.assigned = assigned
        answerCount = answers
    }

    mutating func readCommands() {
        while index < scalars.count, commands.count < Self.most { readCommand() }
        commands.removeAll {
            $0.words.isEmpty && $0.redirections.isEmpty && $0.hidden.isEmpty && $0.assigned.isEmpty
                && (nesting > 0 || !$0.isAssignment)
        }
    }

    // MARK: Commands

    /// Reads a command, or a bracket of the shell's grammar, with the sign that ends it.
    mutating func readCommand() {
        skipBlanks()
        var command = ShellCommand(line: line)
        // Brackets among the words that are open, and whether `[[` is.
        var depth = 0
        var isTest = false
        while index < scalars.count {
            let before = index
            skipBlanks()
            guard index < scalars.count else { break }
            if isTest, "&|<>()".unicodeScalars.contains(scalars[index]) {
                command.words.append(ShellWord(text: String(scalars[index])))
                index += 1
                continue
            }
            if scalars[index] == "#" {
                while index < scalars.count, scalars[index] != "\n" { index += 1 }
                continue
            }
            if let end = takeEnd() {
                command.end = end
                break
            }
            if scalars[index] == "<" || scalars[index] == ">", peek(1) == "(" {
                index += 1
                command.words.append(readNested(process: true))
                continue
            }
            if let sign = takeRedirection() {
                take(sign, into: &command)
                continue
            }
            if command.words.count == 1, command.words[0].text == ")", !command.words[0].isQuoted {
                command.end = ";"
                break
            }
            if scalars[index] == "(" || scalars[index] == ")" {
                if takeBracket(&command, &depth, isNext: index == before) { break }
                continue
            }
            let start = index
            let word = readWord()
            if index == start { index += 1 }
            if let program = programWords(word, after: command.words) ?? word.values {
                command.words += program
                continue
            }
            if !word.isQuoted, word.text == "[[" || word.text == "]]" { isTest = word.text == "[[" }
            let isAssignment = Self.assignment(word) != nil && command.words.allSatisfy { Self.assignment($0) != nil }
            command.words += ShellBraces.words(
                word, isExpanded: expandsBraces && !isTest && !isAssignment,
                isList: command.afterSteps.first?.text == "for")
        }
        command.words = counted(command.words)
        if call(command) || unroll(command) { return }
        define(command)
        command.function = replay.defined
        if command.words.first?.text == "}" { replay.defined = nil }
        collectHidden(&command)
        let isConditional = followScopes(command)
        let isAssignment = assign(&command, isConditional: isConditional)
        if !askedBefore.isEmpty, isAssignment || command.ownTransfer != nil {
            let opening = Self.opening(command)
            if !opening.isEmpty { commands.append(ShellCommand(line: command.line, words: opening, end: ";")) }
            command.words.removeFirst(opening.count)
            commands += askedBefore
        } else {
            // What else uses an answer is not translated.
            command.hidden += askedBefore.compactMap { asked in
                asked.ownTransfer.map { HiddenTransfer(line: asked.line, program: $0) }
            }
        }
        askedBefore = []
        followLoop(command)
        for place in waiting.indices where waiting[place].command == nil { waiting[place].command = commands.count }
        commands.append(command)
        if command.end == "\n" { readDocuments() }
    }

    /// Takes a bracket. Returns whether the command ends here. `isNext`: it follows the last word without a blank.
    private mutating func takeBracket(_ command: inout ShellCommand, _ depth: inout Int, isNext: Bool) -> Bool {
        let isOpen = scalars[index] == "("
        if isOpen, peek(1) == "(", let end = endOfNested(), end >= index + 4, scalars[end - 2] == ")" {
            // `((…))` is arithmetic.
            command.words.append(readNested())
            return false
        }
        if isOpen, isNext, let last = command.words.last, last.text.hasSuffix("="), Self.assignment(last) != nil {
            // The values of an array.
            let (start, first) = (index + 1, line)
            append(readNested(process: true), to: &command.words[command.words.count - 1])
            let text = String(String.UnicodeScalarView(scalars[min(start, index)..<max(start, index - 1)]))
            command.words[command.words.count - 1].elements = elements(of: text, first)
            return false
        }
        let opensGroup = command.words.allSatisfy { !$0.isQuoted && Self.beforeCommands.contains($0.text) }
        if isOpen, opensGroup {
            command.end = "("
            guard command.words.isEmpty else { return true }
            command.words = [ShellWord(text: "(")]
            index += 1
            return true
        }
        if isOpen, command.words.count == (command.words[0].text == "function" ? 2 : 1), takeEmptyBrackets() {
            command.words[command.words.count - 1].text += "()"
            command.end = "("
            return true
        }
        if !isOpen, depth == 0 {
            command.end = ";"
            guard command.words.isEmpty else { return true }
        }
        depth = max(0, depth + (isOpen ? 1 : -1))
        command.words.append(ShellWord(text: String(scalars[index])))
        index += 1
        return false
    }

    /// Words after which a command begins.
    private static let beforeCommands: Set<String> = [
        "if", "while", "until", "then", "do", "else", "elif", "!", "time", "{",
    ]

    /// Takes `()`, with or without blanks in it.
    private mutating func takeEmptyBrackets() -> Bool {
        var end = index + 1
        while end < scalars.count, scalars[end] == " " || scalars[end] == "\t" { end += 1 }
        guard end < scalars.count, scalars[end] == ")" else { return false }
        index = end + 1
        return true
    }

    /// Notes the transfers in the substitutions of a command, and which variables they set.
    private func collectHidden(_ command: inout ShellCommand) {
        for word in command.words {
            let name = Self.assignment(word)?.0
            command.hidden += word.hidden.map {
                HiddenTransfer(line: $0.line, program: $0.program, variable: $0.variable ?? name)
            }
        }
        for redirection in command.redirections { command.hidden += redirection.word.hidden }
    }

    /// Passes over blanks and line ends behind a backslash.
    mutating func skipBlanks() {
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
        let word = ShellBraces.words(readWord(), isExpanded: false, isList: false)[0]
        command.redirections.append(ShellCommand.Redirection(sign: sign, word: word))
        if sign.hasSuffix("<<<") {
            command.input = word
            command.input?.text += "\n"
        } else if sign.hasSuffix("<<") || sign.hasSuffix("<<-") {
            waiting.append((word.text, word.isQuoted, sign.hasSuffix("-"), nil))
        }
    }

    /// Reads the here-documents of the line that has ended.
    private mutating func readDocuments() {
        for document in waiting {
            var text = ""
            let first = line
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
            if !hasEnded { brokenLines.append(first) }
            guard let command = document.command else { continue }
            let input =
                document.isQuoted ? ShellWord(text: JobText.literal(text), isQuoted: true) : expanded(text, first)
            commands[command].hidden += input.hidden
            commands[command].input = input
        }
        waiting.removeAll()
    }

    /// The text of a here-document, in which variables count as between double quotes.
    private mutating func expanded(_ text: String, _ line: Int) -> ShellWord {
        var reader = ShellScript(assigned, text, line: line, nesting: nesting, answers: Self.most)
        reader.follow(self)
        var word = reader.readDoubleQuoted(endsAtQuote: false)
        variables = reader.variables
        word.isQuoted = true
        return word
    }
}

// MARK: - Words

extension ShellScript {
    private static let ends: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r", ";", "&", "|", "<", ">", "(", ")"]

    /// Reads a word, up to a blank or a sign.
    mutating func readWord() -> ShellWord {
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
                word.text += JobText.literal(String(ShellBraces.marks[scalar] ?? scalar))
                index += 1
            }
        }
        return word
    }

    private func append(_ part: ShellWord, to word: inout ShellWord) {
        let isAlone = word.text.isEmpty && word.unknown == nil
        word.substitution = isAlone ? part.substitution : nil
        word.basename = isAlone ? part.basename : nil
        word.elements = isAlone ? part.elements : nil
        word.text += part.text
        word.unknown = word.unknown ?? part.unknown
        word.hidden += part.hidden
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

    mutating func readDoubleQuoted(endsAtQuote: Bool) -> ShellWord {
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
            case "\\" where peek(1).map({ (endsAtQuote ? "$`\"\\" : "$`\\").unicodeScalars.contains($0) }) == true:
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
        if next == "(" { return readNested() }
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
            if let known = argument(Int(String(next)) ?? 0) { return known }
            if next == "@" || next == "*", let arguments = replay.arguments { return ShellWord(elements: arguments) }
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
        if let part = part(content) { return part }
        let name = String(content.prefix { Self.isName("a\($0)") })
        let isSet = content.dropFirst(name.count).hasPrefix("=") || content.dropFirst(name.count).hasPrefix(":=")
        guard Self.isName(name), let mark = content.firstRange(of: isSet ? ":=" : ":-"),
            mark.lowerBound == content.index(content.startIndex, offsetBy: name.count)
        else {
            if isSet { set(name, to: ShellWord(unknown: "$\(name)")) }
            let shown = content.contains("[") ? ShellWord.array : "${…}"
            return ShellWord(unknown: shown, hidden: transfers(inText: content, line))
        }
        if assigned[name] != nil || scopes.isAnyUnknown { return value(of: name) }
        let fallback = content[mark.upperBound...]
        guard !fallback.contains(where: { "$`\"'\\{}".contains($0) }) else {
            if isSet { set(name, to: ShellWord(unknown: "$\(name)")) }
            return ShellWord(unknown: "${…}", hidden: transfers(inText: content, line))
        }
        let word = ShellWord(text: "${env.\(name):-\(fallback)}")
        // It is the variable's value from here on, too.
        if isSet { set(name, to: word) }
        return word
    }

    private mutating func readBackticks() -> ShellWord {
        index += 1
        let start = line
        var content = ""
        while index < scalars.count, scalars[index] != "`" {
            if scalars[index] == "\n" { line += 1 }
            if scalars[index] == "\\", let next = peek(1), "`\\$".unicodeScalars.contains(next) { index += 1 }
            content.unicodeScalars.append(scalars[index])
            index += 1
        }
        if index >= scalars.count { brokenLines.append(line) }
        index += 1
        return substitution(content, start, shown: "`…`")
    }

    /// Reads from the bracket of `$(…)`, or of a list or `<(…)`, to the one that closes it.
    private mutating func readNested(process: Bool = false) -> ShellWord {
        let start = line
        let end = endOfNested()
        if end == nil { brokenLines.append(line) }
        let last = end ?? scalars.count
        let content = String(String.UnicodeScalarView(scalars[index..<last].dropFirst().dropLast(end == nil ? 0 : 1)))
        line += content.unicodeScalars.count(where: { $0 == "\n" })
        index = last
        var word = substitution(content, start, shown: process ? "(…)" : "$(…)")
        if !process, word.unknown != nil {
            word.substitution = content
            if content.contains("dirname") { word.unknown = ShellWord.ownFolder }
            if content.afterBlanks.hasPrefix("mktemp") { word.unknown = ShellWord.temporary }
        }
        return word
    }

    /// The place after the bracket that closes the one at `index`; `nil` without one. Brackets in quotes and comments
    /// do not count.
    private func endOfNested() -> Int? {
        var place = index
        var depth = 0
        while place < scalars.count {
            switch scalars[place] {
            case "\\": place += 1
            case "'":
                place += 1
                while place < scalars.count, scalars[place] != "'" { place += 1 }
            case "\"":
                place += 1
                while place < scalars.count, scalars[place] != "\"" { place += scalars[place] == "\\" ? 2 : 1 }
            case "#" where place > 0 && " \t\n;".unicodeScalars.contains(scalars[place - 1]):
                while place + 1 < scalars.count, scalars[place + 1] != "\n" { place += 1 }
            case "(": depth += 1
            case ")":
                depth -= 1
                if depth == 0 { return place + 1 }
            default: break
            }
            place += 1
        }
        return nil
    }

    /// A variable that the script sets is one of the job, another one is of the environment.
    private mutating func value(of name: String) -> ShellWord {
        if let loop = loops.last(where: { $0?.name == name }) ?? nil { return ShellWord(text: loop.reference) }
        guard let word = assigned[name] else {
            let isKnown = !scopes.isAnyUnknown && !VariableScopes.ofShell.contains(name)
            return isKnown ? ShellWord(text: "${env.\(name)}") : ShellWord(unknown: "$\(name)")
        }
        guard word.unknown == nil else {
            let isNamed = word.unknown == ShellWord.ownFolder || word.unknown == ShellWord.temporary
            return ShellWord(unknown: isNamed ? word.unknown ?? "" : "$\(name)")
        }
        if keepsNames { return ShellWord(text: "${\(name)}") }
        if replay.written.contains(name) || replay.locals.contains(name), !isSecret(name) {
            return ShellWord(text: word.text)
        }
        // A variable of the job knows no values of a loop, nor of an answer.
        if word.text.contains("${tasks.@")
            || loops.contains(where: { $0.map { word.uses($0.name) } == true })
        {
            return ShellWord(text: word.text)
        }
        // A variable of the job cannot be set twice.
        var own = name
        if let known = variables.first(where: { $0.name == name }), known.value != word.text {
            let isSecret = secretNames.contains(name) || SecretNames.isField(name)
            guard isSecret else { return ShellWord(text: word.text) }
            // Written in the place of the variable's name, the secret would stand in the job.
            var number = 2
            func isTaken(_ other: String) -> Bool {
                assigned[other] != nil || variables.contains { $0.name == other && $0.value != word.text }
            }
            while isTaken("\(name)_\(number)") { number += 1 }
            own = "\(name)_\(number)"
            secretNames.insert(own)
        }
        if !variables.contains(where: { $0.name == own }) { variables.append((own, word.text)) }
        return ShellWord(text: "${\(own)}")
    }
}

extension ShellWord {
    /// What a script finds its own folder with.
    static let ownFolder = "$(dirname …)"
    /// The name of a file that only the run knows.
    static let temporary = "$(mktemp)"
    /// The values of an array.
    static let array = "${…[…]}"

    /// Whether it has a value of a loop in it.
    func uses(_ loop: String) -> Bool {
        let name = ShellLoop.jobName(loop)
        return text.contains("${\(name)}") || text.contains("${\(name).")
    }

    init(unknown: String, hidden: [HiddenTransfer] = []) {
        self.init()
        self.unknown = unknown
        self.hidden = hidden
    }
}
