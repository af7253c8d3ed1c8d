/// What a script does after the command that is read, as far as it decides what becomes of that command.
extension ScriptImport {
    /// Where all goes that the commands of a group or a loop print.
    enum Sink: Hashable, Sendable {
        /// A file that one transfer alone writes.
        case file(String)
        /// Nowhere.
        case nowhere
        /// A place that no task writes as the script does, as it is shown.
        case lost(String)

        /// Whether tasks write there.
        var isTaken: Bool { if case .lost = self { false } else { true } }
    }

    /// The commands behind the `||` that ends the command which is read: one, or those of a group.
    private var alternative: ArraySlice<ShellCommand> {
        let next = rest.dropFirst()
        guard rest.first?.end == "||", let first = next.first else { return [] }
        let opener = first.words.first?.text ?? ""
        guard opener == "{" || opener == "(" else { return next.prefix(1) }
        return Self.end(ofCompound: first.words[...], next).map { next[...$0] } ?? []
    }

    /// Whether the script goes on after a failure of the present command, because nothing behind its `||` ends it.
    var isOptional: Bool {
        rest.first?.end == "||"
            && !alternative.contains { command in
                let program = command.afterSteps.first?.text ?? ""
                return Self.stops.contains(program) || functions.exits.contains(program)
            }
    }

    /// Whether the script only says that the command which is read failed, as in `|| echo failed`.
    var isFailureFine: Bool {
        let commands = alternative
        return !commands.isEmpty
            && commands.allSatisfy { command in
                let program = command.afterSteps.first?.text ?? ""
                let isQuiet = Self.harmless.contains(program) || CommandStatus.safe.contains(program)
                return program.isEmpty || Self.ends[program] != nil || program == "("
                    || isQuiet && !Self.stops.contains(program) && !["false", "cd"].contains(program)
                        && command.hidden.isEmpty
            }
    }

    /// The place of the command that ends the compound one with whose first word `words` begin; the commands after its own
    /// follow in `commands`, behind the first.
    static func end(ofCompound words: ArraySlice<ShellWord>, _ commands: ArraySlice<ShellCommand>) -> Int? {
        var open: [String] = []
        for (index, command) in zip(commands.indices, commands.prefix(1000)) {
            var words = index == commands.startIndex ? words : command.words[...]
            while let first = words.popFirst(), !first.isQuoted {
                if openers.contains(first.text) || ["{", "("].contains(first.text) {
                    open.append(first.text)
                    if ["for", "select", "case"].contains(first.text) { break }
                } else if let begun = ends[first.text] {
                    // A bracket inside `case` ends a pattern.
                    if let last = open.last, begun.contains(last) { open.removeLast() }
                    if open.isEmpty { return index }
                } else if !ShellCommand.steps.contains(first.text), first.text != "!" {
                    break
                }
            }
        }
        return nil
    }

    /// Where all goes that a compound command prints, with whose first word `words` begin.
    func sink(ofCompound words: ArraySlice<ShellWord>) -> Sink? {
        guard let word = words.first?.text, let end = Self.end(ofCompound: words, rest) else { return nil }
        let sink = sink(of: rest[end], before: rest[end...].dropFirst())
        guard case .file(let file)? = sink else { return sink }
        let body = rest[..<end].filter { !$0.afterSteps.isEmpty && !["{", "("].contains($0.afterSteps.first?.text) }
        return ["{", "("].contains(word) && body.count == 1 ? sink : .lost("`> \(file.prefix(40))` of a group")
    }

    /// Where the command sends what is printed, by a redirection or a pipe to the commands after it.
    func sink(of command: ShellCommand, before next: ArraySlice<ShellCommand>) -> Sink? {
        if let target = command.redirections.last(where: { $0.sign.contains(">") && !$0.sign.hasPrefix("2") }) {
            if target.word.isNoFile { return target.word.text == "/dev/null" ? .nowhere : nil }
            guard [">", "1>", ">|", "&>"].contains(target.sign), target.word.unknown == nil else {
                return .lost("`\(target.sign)` of a group")
            }
            return .file(target.word.text)
        }
        guard command.end == "|", !isOnlyTransfer, !Self.isShown(next) else { return nil }
        return .lost("the pipe into `\(next.first?.afterSteps.first?.text.prefix(40) ?? "")`")
    }

    /// What to write in the place of what only the shell knows.
    static func hint(for unknown: String) -> String {
        let name = unknown.dropFirst()
        if unknown == ShellWord.temporary { return " (write the path of a file)" }
        if unknown == ShellWord.array { return " (write its values)" }
        if ShellScript.isName(name) {
            return " (set it before the run, by `export \(name)=…`, and not in the script, for `${env.\(name)}`)"
        }
        return " (an exported variable in its place becomes `${env.NAME}`)"
    }
}

extension ShellLoop {
    /// The commands without the `|| [ -n "$x" ]` of `while read -r x || [ -n "$x" ]`: a job reads a last line without an end,
    /// too.
    static func withoutLastLines(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        for command in commands {
            if let last = result.last, last.end == "||", let name = last.readName, let test = command.words.first?.text,
                ["[", "[[", "test"].contains(test),
                command.words.dropFirst().map(\.text).filter({ !["]", "]]"].contains($0) })
                    == ["-n", "${\(jobName(name))}"]
            {
                result[result.count - 1].end = command.end
            } else {
                result.append(command)
            }
        }
        return result
    }
}
