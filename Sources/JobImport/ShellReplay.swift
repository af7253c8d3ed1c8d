/// What a script's text is read again for: the calls of a function, and the turns of a loop that uses parts of its values.
struct ShellReplay: Sendable {
    /// The body of a function.
    struct Body: Sendable {
        /// What stands between its braces.
        let text: [Unicode.Scalar]
        /// The line that it begins in.
        let line: Int
        /// Number of its commands.
        let count: Int
    }

    /// The bodies of functions that are read in the place of each call.
    var bodies: [String: Body] = [:]
    /// Functions that were.
    var inlined: Set<String> = []
    /// The function whose definition is read.
    var defined: String?
    /// The arguments of the function that is read; `nil` outside of one.
    var arguments: [ShellWord]?
    /// Variables of that function alone.
    var locals: Set<String> = []
    /// Whether a turn of a loop is read.
    var isInTurn = false
    /// Variables that were set in such turns: their texts stand in the place of their names.
    var written: Set<String> = []
    /// Whether it is only looked what comes next.
    var isAhead = false
    /// How many calls it stands in.
    var depth = 0
}

extension ShellScript {
    /// The argument of the function that is read; `nil` outside of one.
    func argument(_ number: Int) -> ShellWord? {
        guard let arguments = replay.arguments, number > 0 else { return nil }
        return number <= arguments.count ? arguments[number - 1] : ShellWord()
    }

    // MARK: Functions

    /// Commands with which a function is not read in the place of its calls.
    private static let tooMuch: Set<String> = [
        "for", "while", "until", "select", "case", "return", "shift", "getopts", "read", "function", "trap", "eval",
    ]

    /// Notes the body of the function whose name was read, where each call of it may stand for its commands.
    mutating func define(_ command: ShellCommand) {
        guard !keepsNames, !replay.isAhead, replay.arguments == nil, nesting == 0, let name = command.words.last?.text,
            name.hasSuffix("()"), command.end == "("
        else { return }
        var ahead = self
        ahead.replay.isAhead = true
        ahead.commands = []
        ahead.skipLines()
        guard ahead.take("{") else { return }
        let (start, line) = (ahead.index, ahead.line)
        guard let end = ahead.readBody(to: "}"), let last = ahead.commands.popLast(), last.redirections.isEmpty,
            (1...12).contains(ahead.commands.count),
            ahead.commands.contains(where: { $0.transfer != nil || replay.bodies[$0.programName] != nil }),
            !ahead.commands.contains(where: {
                Self.tooMuch.contains($0.programName) || $0.words.last?.text.hasSuffix("()") == true
            })
        else { return }
        let function = String(name.dropLast(2))
        replay.bodies[function] = ShellReplay.Body(
            text: Array(scalars[start..<end]), line: line, count: ahead.commands.count)
        replay.defined = function
    }

    /// Reads the body of a function in the place of its call. Returns `false` where the command is none.
    mutating func call(_ command: ShellCommand) -> Bool {
        let steps = command.words.prefix { !$0.isQuoted && ShellCommand.grammar.contains($0.text) }
        let words = command.words.dropFirst(steps.count)
        guard let name = words.first?.literal, let body = replay.bodies[name], replay.defined == nil,
            !replay.isAhead,
            replay.depth < 5, command.redirections.allSatisfy({ $0.sign.contains(">") }), command.hidden.isEmpty
        else { return false }
        let (outer, variables, place, count) = (replay, assigned, (scalars, index, line), commands.count)
        let isGroup = body.count > 1
        if isGroup { _ = followScopes(ShellCommand(line: command.line, words: [ShellWord(text: "{")], end: ";")) }
        (replay.arguments, replay.locals, replay.depth) = (Array(words.dropFirst()), [], outer.depth + 1)
        (scalars, index, line) = (body.text, 0, body.line)
        while index < scalars.count { readCommand() }
        for name in replay.locals { assigned[name] = variables[name] }
        let inlined = replay.inlined.union([name])
        (replay, (scalars, index, line)) = (outer, place)
        replay.inlined = inlined
        commands[count...].removeAll { $0.words.isEmpty && $0.assigned.isEmpty && !$0.isAssignment }
        for index in commands.indices.dropFirst(count) { commands[index].line = command.line }
        if commands.count == count { commands.append(ShellCommand(line: command.line, words: [ShellWord(text: ":")])) }
        if commands.count == count + 1, !commands[count].isAssignment {
            commands[count].words = steps + commands[count].words
        } else {
            commands.insert(
                ShellCommand(line: command.line, words: steps + [ShellWord(text: "{")], end: ";"), at: count)
            commands.append(ShellCommand(line: command.line, words: [ShellWord(text: "}")]))
        }
        commands[commands.count - 1].redirections += command.redirections
        commands[commands.count - 1].end = command.end
        if isGroup {
            _ = followScopes(ShellCommand(line: command.line, words: [ShellWord(text: "}")], end: command.end))
        }
        scopes.end = command.end
        return true
    }

    // MARK: Loops

    private static let mostTurns = 100

    /// Reads the turns of a `for` one after the other, where it uses parts of its values and these are known. Returns `false`
    /// for another command.
    mutating func unroll(_ command: ShellCommand) -> Bool {
        let steps = Self.opening(command)
        let words = command.words.dropFirst(steps.count)
        guard !keepsNames, !replay.isAhead, words.first?.text == "for", let name = words.dropFirst().first?.literal,
            let values = values(of: words), !ShellLoop.hasSecrets(values), !SecretNames.isField(name),
            !secretNames.contains(name), [";", "\n"].contains(command.end)
        else { return false }
        var ahead = self
        ahead.replay.isAhead = true
        ahead.commands = []
        ahead.loops.append((name, "${\(ShellLoop.jobName(name))}"))
        ahead.skipLines()
        guard ahead.take("do") else { return false }
        let (start, first) = (ahead.index, ahead.line)
        guard let end = ahead.readBody(to: "done"), let last = ahead.commands.popLast(), last.redirections.isEmpty,
            [";", "\n"].contains(last.end), usesParts(of: name, in: start..<end),
            !ahead.commands.contains(where: { command in
                ["for", "while", "until", "select", "break", "continue"].contains(command.afterSteps.first?.text)
            })
        else { return false }
        if !steps.isEmpty {
            commands.append(ShellCommand(line: command.line, words: steps + [ShellWord(text: ":")], end: ";"))
        }
        replay.isInTurn = true
        scopes.loopCount += 1
        for value in values {
            set(name, to: ShellWord(text: JobText.literal(value), isQuoted: true))
            (index, line) = (start, first)
            while index < end { readCommand() }
        }
        replay.isInTurn = false
        (index, line) = (ahead.index, ahead.line)
        scopes.end = last.end
        return true
    }

    /// The values of `for NAME in WORDS`; `nil` where they are not known, or too many.
    private func values(of words: ArraySlice<ShellWord>) -> [String]? {
        guard words.count > 3, words.dropFirst(2).first?.text == "in" else { return nil }
        var values: [String] = []
        for word in words.dropFirst(3) {
            if let range = ShellLoop.range(word) {
                values += range.list
                continue
            }
            let name = word.reference.map { String($0) }
            guard word.unknown == nil, word.isQuoted || !word.text.contains(where: { "*?[".contains($0) }),
                let text = JobText.plain(word.text) ?? name.flatMap(plainValue)
            else { return nil }
            values += word.isQuoted || name == nil ? [text] : text.split { " \t\n".contains($0) }.map { String($0) }
        }
        return (1...Self.mostTurns).contains(values.count) ? values : nil
    }

    /// Whether a part of the text uses parts of a variable's text.
    private func usesParts(of name: String, in place: Range<Int>) -> Bool {
        let text = String(String.UnicodeScalarView(scalars[place]))
        return ["%", "#", "/"].contains { text.contains("${\(name)\($0)") }
            || ["$\(name)", "${\(name)}"].contains {
                text.contains("basename \($0) ") || text.contains("basename \"\($0)\" ")
            }
    }

    // MARK: Looking ahead

    /// Reads up to the command that ends a compound one, which is the last then. Returns where that begins.
    private mutating func readBody(to end: String) -> Int? {
        var depth = 1
        while index < scalars.count, commands.count < 200 {
            let (start, count) = (index, commands.count)
            readCommand()
            for command in commands[count...] {
                for word in command.words.prefix(while: {
                    !$0.isQuoted && ($0.text == "{" || ShellCommand.grammar.contains($0.text))
                })
                where end == "}" && word.text == "{" {
                    depth += 1
                }
                let first = command.afterSteps.first?.text ?? ""
                if end == "done", ["for", "while", "until", "select"].contains(first) { depth += 1 }
                if first == end { depth -= 1 }
            }
            if depth == 0 { return start }
        }
        return nil
    }

    /// Passes over blanks and line ends.
    private mutating func skipLines() {
        while index < scalars.count, " \t\r\n".unicodeScalars.contains(scalars[index]) {
            if scalars[index] == "\n" { line += 1 }
            index += 1
        }
    }

    /// Takes a word of the shell's grammar.
    private mutating func take(_ word: String) -> Bool {
        let count = word.unicodeScalars.count
        guard index + count < scalars.count, scalars[index..<(index + count)].elementsEqual(word.unicodeScalars),
            " \t\n".unicodeScalars.contains(scalars[index + count])
        else { return false }
        index += count
        return true
    }
}
