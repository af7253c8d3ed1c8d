/// What a script's groups and conditions mean for its variables.
struct VariableScopes: Sendable {
    /// A compound command that is open.
    struct Frame: Sendable {
        let word: String
        /// Whether only the script knows if its commands run, and how often.
        let isConditional: Bool
        /// Name of the function whose body it is.
        let function: String?
        /// The variables outside of it.
        let outer: [String: ShellWord]
        let isAnyUnknown: Bool
        /// The variables that its commands set; `*` for whatever there is.
        var names: Set<String> = []
        /// Number of the loop, from 0.
        var loop: Int?
    }

    var frames: [Frame] = []
    /// What each function sets.
    var functions: [String: Set<String>] = [:]
    /// Whether a variable that the script has not set since may have any value, as after `source FILE`.
    var isAnyUnknown = false
    /// What each loop sets in its turns, from a first reading.
    var namesOfLoops: [Set<String>] = []
    var loopCount = 0
    /// The function whose body comes next.
    var function: String?
    /// What ended the command before, whether it runs at all, and whether it nearly always succeeds.
    var end = ";"
    var wasConditional = false
    var wasSafe = true

    /// Variables that a shell itself sets, and does not export.
    static let ofShell: Set<String> = [
        "RANDOM", "SRANDOM", "SECONDS", "LINENO", "PPID", "BASHPID", "UID", "EUID", "EPOCHSECONDS", "EPOCHREALTIME",
        "HOSTNAME", "OSTYPE", "HOSTTYPE", "MACHTYPE", "OPTARG", "OPTIND", "REPLY", "PIPESTATUS", "FUNCNAME",
        "BASH_SOURCE", "BASH_VERSION", "BASH_LINENO",
    ]
    static let safe: Set<String> = [
        "mkdir", "cd", "echo", "printf", "true", ":", "export", "set", "readonly", "local", "declare", "typeset",
    ]
    static let ends: [String: Set<String>] = [
        "done": ["for", "while", "until", "select"], "fi": ["if"], "esac": ["case"], "}": ["{"], ")": ["("],
    ]
}

/// The variables of a script.
extension ShellScript {
    /// Follows the compound commands that begin and end with a command, and what it does to variables beside assignments.
    /// Returns whether only the script knows if the command runs.
    mutating func followScopes(_ command: ShellCommand) -> Bool {
        guard let program = command.words.first else { return false }
        let isJoined = ["&&", "||", "|"].contains(scopes.end)
        let isConditional = isJoined && (scopes.wasConditional || scopes.end != "&&" || !scopes.wasSafe)
        var words = command.words[...]
        while let first = words.first, !first.isQuoted {
            switch first.text {
            case "then", "do", "in", "!", "time", "sudo": words.removeFirst()
            case "else", "elif":
                if let frame = scopes.frames.last { for name in frame.names { forget(name) } }
                words.removeFirst()
            case "if", "while", "until":
                open(first.text, isConditional: true)
                words.removeFirst()
            case "for", "select", "case":
                open(first.text, isConditional: true)
                words = []
            case "{", "(":
                open(first.text, isConditional: isConditional)
                words.removeFirst()
            case "function":
                scopes.function = words.dropFirst().first?.text ?? ""
                words = words.dropFirst(2)
            case _ where first.text.hasSuffix("()"):
                scopes.function = String(first.text.dropLast(2))
                words.removeFirst()
            case "}", ")", "fi", "done", "esac":
                close(first.text)
                words = []
            default:
                change(words)
                words = []
            }
        }
        scopes.end = command.end
        scopes.wasConditional = isConditional
        scopes.wasSafe = VariableScopes.safe.contains(program.text) || Self.assignment(program) != nil
        return isConditional
    }

    /// Sets a variable.
    mutating func set(_ name: String, to word: ShellWord) {
        assigned[name] = word
        if replay.isInTurn { replay.written.insert(name) }
        variableWasSet(name, word)
        if !scopes.frames.isEmpty { scopes.frames[scopes.frames.count - 1].names.insert(name) }
    }

    /// Makes a variable unknown; `*` stands for all.
    private mutating func forget(_ name: String) {
        if name == "*" {
            assigned = [:]
            scopes.isAnyUnknown = true
        } else {
            assigned[name] = ShellWord(unknown: "$\(name)")
        }
        if !scopes.frames.isEmpty { scopes.frames[scopes.frames.count - 1].names.insert(name) }
    }

    private mutating func open(_ word: String, isConditional: Bool) {
        var frame = VariableScopes.Frame(
            word: word, isConditional: isConditional, function: scopes.function, outer: assigned,
            isAnyUnknown: scopes.isAnyUnknown)
        scopes.function = nil
        if VariableScopes.ends["done"]?.contains(word) == true {
            frame.loop = scopes.loopCount
            scopes.loopCount += 1
        }
        scopes.frames.append(frame)
        // A later turn has the values of the one before.
        guard let loop = frame.loop, loop < scopes.namesOfLoops.count else { return }
        for name in scopes.namesOfLoops[loop].sorted() { forget(name) }
    }

    private mutating func close(_ word: String) {
        // A bracket inside `case` ends a pattern.
        if word == ")", scopes.frames.last?.word == "case" { return }
        guard let index = scopes.frames.lastIndex(where: { VariableScopes.ends[word]?.contains($0.word) == true })
        else { return }
        let frame = scopes.frames[index]
        let names = scopes.frames[index...].reduce(into: Set<String>()) { $0.formUnion($1.names) }
        scopes.frames.removeSubrange(index...)
        if let loop = frame.loop {
            while scopes.namesOfLoops.count <= loop { scopes.namesOfLoops.append([]) }
            scopes.namesOfLoops[loop].formUnion(names)
        }
        if frame.function != nil || frame.word == "(" {
            assigned = frame.outer
            scopes.isAnyUnknown = frame.isAnyUnknown
            if let function = frame.function { scopes.functions[function] = names }
        } else if frame.isConditional {
            for name in names.sorted() { forget(name) }
        } else if !scopes.frames.isEmpty {
            scopes.frames[scopes.frames.count - 1].names.formUnion(names)
        }
    }

    /// Notes the variables that a command other than an assignment changes.
    private mutating func change(_ words: ArraySlice<ShellWord>) {
        let words = words.drop { Self.assignment($0) != nil || ["builtin", "command"].contains($0.text) }
        guard let program = words.first?.literal ?? words.first.map({ _ in "((" }) else { return }
        let names = words.dropFirst().map(\.text).filter { Self.isName($0) }
        switch program {
        case "source", ".", "eval": forget("*")
        case "cd", "pushd", "popd": for name in ["OLDPWD", "PWD"] { forget(name) }
        case "unset": for name in names { set(name, to: ShellWord()) }
        case "read", "mapfile", "readarray", "getopts": for name in names { forget(name) }
        case "printf" where words.dropFirst().first?.text == "-v": for name in names.prefix(1) { forget(name) }
        case "local", "declare", "typeset": for name in names { forget(name) }
        case "let", "((":
            for word in words {
                let text = word.substitution ?? (program == "let" ? word.text : "")
                for name in text.split(whereSeparator: { !Self.isName("a\($0)") }).map({ String($0) })
                where Self.isName(name) {
                    forget(name)
                }
            }
        default:
            if let names = scopes.functions[program] { for name in names.sorted() { forget(name) } }
        }
    }

    /// Notes the variable of a loop that begins, and forgets it at the loop's end.
    mutating func followLoop(_ command: ShellCommand) {
        let words = command.afterSteps
        guard let first = words.first, !first.isQuoted else { return }
        switch first.text {
        case "for" where words.dropFirst().first?.literal.map(Self.isName) == true:
            let name = words.dropFirst().first?.text ?? ""
            for value in words.dropFirst(3) { variableWasSet(name, value) }
            loops.append((name, ShellLoop.reference(to: name, in: words)))
        case "while" where command.readName != nil:
            let name = command.readName ?? ""
            loops.append((name, "${\(ShellLoop.jobName(name))}"))
        case "for", "while", "until", "select": loops.append(nil)
        case "done":
            guard let ended = loops.popLast(), let ended else { return }
            // What only the shell knows from here on.
            assigned[ended.name] = ShellWord(unknown: "$\(ended.name)")
            for (name, word) in assigned where word.uses(ended.name) {
                assigned[name] = ShellWord(unknown: "$\(name)")
            }
        default: return
        }
    }

    /// The words of `$CURL`, a variable that holds a program and its options; `nil` for another word.
    func programWords(_ word: ShellWord, after words: [ShellWord]) -> [ShellWord]? {
        guard let name = word.reference.map({ String($0) }),
            words.allSatisfy({ !$0.isQuoted && ShellCommand.grammar.contains($0.text) }),
            let text = assigned[name].flatMap({ $0.unknown == nil ? $0.text : nil }),
            let first = text.split(separator: " ").first,
            ["curl", "wget", "aria2c"].contains(first.split(separator: "/").last)
        else { return nil }
        if word.isQuoted { return [ShellWord(text: text)] }
        return text.split { " \t\n".contains($0) }.map { ShellWord(text: String($0)) }
    }

    /// Lets the script of a substitution, or a here-document, know what this script does.
    mutating func follow(_ script: ShellScript) {
        (variables, loops, expandsBraces) = (script.variables, script.loops, script.expandsBraces)
        (secretNames, keepsNames) = (script.secretNames, script.keepsNames)
        scopes.isAnyUnknown = script.scopes.isAnyUnknown
        replay = script.replay
    }

    /// Notes a text that a variable is set to.
    mutating func variableWasSet(_ name: String, _ word: ShellWord) {
        if keepsNames, word.unknown == nil { texts.append((name, word.text)) }
    }

    /// Words of a compound command before the command in it.
    static func opening(_ command: ShellCommand) -> [ShellWord] {
        Array(command.words.prefix { !$0.isQuoted && ["do", "then", "else", "{"].contains($0.text) })
    }

    /// Takes assignments that stand alone, which define variables of the script. Returns whether the command is no more.
    mutating func assign(_ command: inout ShellCommand, isConditional: Bool) -> Bool {
        let opening = Self.opening(command)
        var words = command.words.dropFirst(opening.count)
        let isExported = words.first?.text == "export"
        let isLocal = ["local", "declare", "typeset"].contains(words.first?.text)
        if let first = words.first?.text, ["export", "readonly", "local", "declare", "typeset"].contains(first) {
            words = words.dropFirst().drop { $0.literal?.hasPrefix("-") == true }
        }
        guard !words.isEmpty, words.allSatisfy({ Self.assignment($0) != nil }) else { return false }
        for word in words {
            guard case (let name, var value)? = Self.assignment(word) else { continue }
            if let last = askedBefore.indices.last, let answer = askedBefore[last].answer,
                value.text == answer.reference
            {
                askedBefore[last].answer?.name = name
                value.text = askedBefore[last].answer?.reference ?? value.text
            }
            if value.text.hasPrefix("${tasks.@"), value.text.hasSuffix(".value}") {
                value.text = named(value.text, name)
            }
            if word.text.dropFirst(name.count).hasPrefix("+") {
                let known = assigned[name] ?? ShellWord(unknown: "$\(name)")
                value.text = known.text + value.text
                value.unknown = known.unknown ?? value.unknown
                value.elements = known.elements.flatMap { first in value.elements.map { first + $0 } }
            }
            if isConditional || ["&", "|"].contains(command.end) { value = ShellWord(unknown: "$\(name)") }
            set(name, to: value)
            if isLocal { replay.locals.insert(name) }
            if Self.isObeyed(name) { command.assigned.append((name, value, isExported)) }
        }
        command.words = opening
        command.isAssignment = true
        return true
    }

    /// Whether curl, wget and aria2c do as a variable of the environment says.
    static func isObeyed(_ name: String) -> Bool {
        ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"].contains(name.lowercased())
            || ["CURL_HOME", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC", "WGETRC"].contains(name)
    }

    /// Returns name and value of `NAME=value` and `NAME+=value`.
    static func assignment(_ word: ShellWord) -> (String, ShellWord)? {
        guard let equals = word.text.firstIndex(of: "="), equals != word.text.startIndex else { return nil }
        var name = word.text[..<equals]
        if name.last == "+" { name.removeLast() }
        guard isName(name) else { return nil }
        var value = word
        value.text = String(word.text[word.text.index(after: equals)...])
        return (String(name), value)
    }

    static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !first.isASCIIDigit else { return false }
        return text.utf8.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter || $0 == UInt8(ascii: "_") }
    }
}
