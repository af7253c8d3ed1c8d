/// A guard that ends a script where a variable or an argument is empty: `[ -z "$X" ] && exit 1`, `if [ -z "$X" ]; then …; exit; fi`.
struct ScriptGuard: Sendable {
    /// The variables and arguments.
    let operands: [ShellWord]
    /// `exit` or `return`.
    let end: String

    /// Commands that a guard may run before it ends the script.
    private static let quiet: Set<String> = [
        ":", "echo", "printf", "cat", "usage", "help", "log", "error", "err", "warn",
    ]

    /// The commands with a single one in the place of each guard.
    static func simplified(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        var index = 0
        // Functions that print and end the script, such as `die`.
        var ends: Set<String> = []
        for (index, command) in commands.enumerated() {
            guard let name = command.words.last?.text, name.hasSuffix("()"), index + 1 < commands.count,
                ending(commands, index + 1, closing: "}", ends)?.0 == "exit"
            else { continue }
            ends.insert(String(name.dropLast(2)))
        }
        while index < commands.count {
            let isFirst = index == 0 || [";", "\n"].contains(commands[index - 1].end)
            guard isFirst, let (found, next) = read(commands, index, ends),
                [";", "\n"].contains(commands[next - 1].end)
            else {
                result.append(commands[index])
                index += 1
                continue
            }
            var command = ShellCommand(line: commands[index].line, words: [ShellWord(text: ":")])
            command.guarded = found
            result.append(command)
            index = next
        }
        return result
    }

    /// The commands without functions that only print, such as `log`, and with `:` in the place of each call of one.
    static func withoutPrinters(_ commands: [ShellCommand]) -> [ShellCommand] {
        var printers: Set<String> = []
        var result: [ShellCommand] = []
        var index = 0
        while index < commands.count {
            var command = commands[index]
            let name = command.words.last?.text ?? ""
            if name.hasSuffix("()"), command.end == "(", let end = endOfPrinter(commands, index + 1) {
                printers.insert(String(name.dropLast(2)))
                index = end + 1
                continue
            }
            let steps = command.words.count - command.afterSteps.count
            if let program = command.afterSteps.first, printers.contains(program.text) {
                command.words = command.words.prefix(steps) + [ShellWord(text: ":")]
            }
            result.append(command)
            index += 1
        }
        return result
    }

    /// The place of the `}` that ends the body of a function that only prints; `nil` for another one.
    private static func endOfPrinter(_ commands: [ShellCommand], _ start: Int) -> Int? {
        guard start < commands.count, commands[start].words.first?.text == "{" else { return nil }
        for index in start..<min(start + 20, commands.count) {
            let command = commands[index]
            guard let program = command.afterSteps.first?.text else { continue }
            let isSimple = [";", "\n"].contains(command.end) && command.hidden.isEmpty
            if program == "}" { return isSimple && command.redirections.isEmpty ? index : nil }
            guard isSimple, ["echo", "printf", "date"].contains(program),
                command.redirections.allSatisfy({ $0.word.isNoFile })
            else { return nil }
        }
        return nil
    }

    /// Returns the guard that begins at a place, and the place after it.
    private static func read(_ commands: [ShellCommand], _ start: Int, _ ends: Set<String>) -> (ScriptGuard, next: Int)?
    {
        var words = commands[start].words[...]
        var operands: [ShellWord] = []
        if words.first?.text == "if", words.first?.isQuoted == false {
            words.removeFirst()
            var index = start
            while let tested = test(words), tested.isEmptiness {
                operands += tested.operands
                index += 1
                guard index < commands.count, commands[index - 1].end == "||" else { break }
                words = commands[index].words[...]
            }
            guard !operands.isEmpty, index < commands.count, [";", "\n"].contains(commands[index - 1].end),
                commands[index].words.first?.text == "then",
                let (end, next) = ending(commands, index, closing: "fi", ends)
            else { return nil }
            return (ScriptGuard(operands: operands, end: end), next)
        }
        guard let tested = test(words), start + 1 < commands.count,
            commands[start].end == (tested.isEmptiness ? "&&" : "||") || commands[start].end == "||" && tested.isCount
        else { return nil }
        let isGroup = commands[start + 1].words.first?.text == "{"
        guard let (end, next) = ending(commands, start + 1, closing: isGroup ? "}" : nil, ends) else { return nil }
        return (ScriptGuard(operands: tested.operands, end: end), next)
    }

    /// Reads commands that only print, and the `exit` after them, up to the word that closes them.
    static func ending(_ commands: [ShellCommand], _ start: Int, closing: String?, _ ends: Set<String>) -> (
        String, next: Int
    )? {
        for index in start..<min(start + 20, commands.count) {
            let words = commands[index].afterSteps
            guard let program = words.first?.text else { continue }
            if program == "exit" || program == "return" || ends.contains(program) {
                let program = program == "return" ? program : "exit"
                guard let closing else { return (program, index + 1) }
                let isClosed = index + 1 < commands.count && commands[index + 1].words.map(\.text) == [closing]
                return isClosed ? (program, index + 2) : nil
            }
            guard quiet.contains(program),
                commands[index].redirections.allSatisfy({ $0.word.isNoFile || $0.sign.hasPrefix("<") }),
                closing == nil ? commands[index].end == "&&" : [";", "\n", "&&"].contains(commands[index].end)
            else { return nil }
        }
        return nil
    }

    /// What `[ -z "$X" ]` and its like test; `nil` for another command. `isEmptiness`: it succeeds where that is empty.
    private static func test(_ words: ArraySlice<ShellWord>) -> (
        operands: [ShellWord], isEmptiness: Bool, isCount: Bool
    )? {
        guard let first = words.first?.text, ["[", "[[", "test"].contains(first) else { return nil }
        let inner = first == "test" ? words.dropFirst() : words.dropFirst().dropLast()
        let parts = inner.split { $0.text == "|" && !$0.isQuoted }.map { part(Array($0)) }
        guard !parts.isEmpty, !parts.contains(where: { $0 == nil }) else { return nil }
        let known = parts.compactMap(\.self)
        guard known.count == 1 || known.allSatisfy(\.isEmptiness) else { return nil }
        return (known.map(\.operand), known[0].isEmptiness, known[0].operand.unknown == "$#")
    }

    private static func part(_ words: [ShellWord]) -> (operand: ShellWord, isEmptiness: Bool)? {
        let texts = words.map(\.text)
        if words.count == 3, words[0].unknown == "$#" { return (words[0], true) }
        if words.count == 2, ["-z", "-n"].contains(texts[0]), isOperand(words[1]) {
            return (words[1], texts[0] == "-z")
        }
        if words.count == 3, ["=", "=="].contains(texts[1]), texts[2].isEmpty, words[2].unknown == nil,
            isOperand(words[0])
        {
            return (words[0], true)
        }
        return nil
    }

    /// Whether a word is one variable whose value is known in a run, or an argument of the script.
    private static func isOperand(_ word: ShellWord) -> Bool {
        if let unknown = word.unknown {
            return unknown.count == 2 && unknown.last.map { "123456789@*".contains($0) } == true
        }
        let text = word.text.hasSuffix(":-}") ? word.text.dropLast(3) + "}" : word.text
        return ShellWord(text: text).reference != nil
    }
}
