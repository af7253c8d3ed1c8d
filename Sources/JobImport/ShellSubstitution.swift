/// What stands in the place of `$(…)`, of backquotes, and of `<(…)`.
extension ShellScript {
    /// Reads the script of a substitution: an answer's value, the last part of a path, or what only a shell knows, with the
    /// transfers that it runs. `shown` is its name in messages.
    mutating func substitution(_ text: String, _ line: Int, shown: String) -> ShellWord {
        let programs = ["curl", "wget", "aria2c", "basename", "jq", "grep", "sed"] + replay.bodies.keys
        guard nesting < 20, programs.contains(where: { text.contains($0) })
        else {
            return ShellWord(unknown: shown)
        }
        var script = ShellScript(assigned, text, line: line, nesting: nesting + 1, answers: answerCount)
        script.follow(self)
        script.readCommands()
        if keepsNames { inner += script.commands + script.inner }
        replay.inlined.formUnion(script.replay.inlined)
        if shown != "(…)", let word = answer(of: script) ?? part(of: script) ?? basename(script.commands) {
            return word
        }
        // A secret that is used nowhere else is named all the same.
        variables += script.variables.filter { variable in
            secretNames.contains(variable.name) && !variables.contains { $0.name == variable.name }
        }
        let hidden = script.commands.flatMap { command in
            command.hidden.map { HiddenTransfer(line: $0.line, program: $0.program) }
                + (command.transfer.map { [HiddenTransfer(line: command.line, program: $0)] } ?? [])
        }
        return ShellWord(unknown: shown, hidden: hidden)
    }

    /// Returns a reference to what a substitution takes out of the answer of its transfer, which becomes a command before
    /// this one; `nil` where it does something else, or runs for each value of a loop.
    private mutating func answer(of script: ShellScript) -> ShellWord? {
        guard loops.isEmpty, answerCount < Self.most, script.brokenLines.isEmpty,
            let first = script.commands.firstIndex(where: { $0.answer == nil }),
            let (source, note) = AnswerFilter.source(script.commands[first...])
        else { return nil }
        (variables, secretNames) = (script.variables, script.secretNames)
        answerCount = script.answerCount + 1
        var transfer = script.commands[first]
        transfer.end = ";"
        let answer = AnswerValue(number: answerCount, source: source, note: note)
        transfer.answer = answer
        askedBefore += script.commands[..<first] + [transfer]
        return ShellWord(text: answer.reference)
    }

    /// Returns a reference to what `$(echo "$R" | jq -r .a)` takes out of a whole answer that a command before captures; `nil` for
    /// another substitution.
    private mutating func part(of script: ShellScript) -> ShellWord? {
        var commands = script.commands[...]
        guard loops.isEmpty, answerCount < Self.most, script.brokenLines.isEmpty, let first = commands.first else {
            return nil
        }
        var printed = first.input.map { String($0.text.dropLast()) }
        if printed == nil, ["echo", "printf"].contains(first.words.first?.text), first.redirections.isEmpty {
            printed = first.words.dropFirst().map(\.text).filter { !["%s", "%s\\n", "-n"].contains($0) }.joined(
                separator: " ")
        } else {
            commands.insert(ShellCommand(line: first.line, end: "|"), at: commands.startIndex)
        }
        guard commands.count > 1, let printed, let number = AnswerValue.references(in: printed).first?.number,
            let place = self.commands.lastIndex(where: { $0.answer?.number == number }),
            let answer = self.commands[place].answer, answer.source == AnswerValue.whole, printed == answer.reference,
            let (source, note) = AnswerFilter.source(of: commands)
        else { return nil }
        answerCount += 1
        let part = AnswerValue(number: answerCount, source: source, note: note)
        self.commands[place].answer?.parts.append(part)
        return ShellWord(text: part.reference)
    }

    /// Lets a value of an answer have the name of the variable that is set to it. Returns its reference.
    mutating func named(_ text: String, _ name: String) -> String {
        guard let number = AnswerValue.references(in: text).first?.number else { return text }
        for place in commands.indices {
            guard
                let part = commands[place].answer?.parts.firstIndex(where: {
                    $0.number == number && $0.reference == text
                }),
                commands[place].answer?.all.contains(where: { $0.name == name }) == false
            else { continue }
            commands[place].answer?.parts[part].name = name
            return commands[place].answer?.parts[part].reference ?? text
        }
        return text
    }

    /// Returns what `$(basename NAME)` or `$(basename NAME SUFFIX)` is, or the name where that is not known.
    private func basename(_ commands: [ShellCommand]) -> ShellWord? {
        guard commands.count == 1, let command = commands.first, command.redirections.isEmpty,
            command.words.first?.literal == "basename", (2...3).contains(command.words.count),
            command.words[1].unknown == nil, let suffix = command.words.count == 3 ? command.words[2].literal : ""
        else { return nil }
        let text = command.words[1].text
        // A file that a pattern found.
        if suffix.isEmpty, loops.contains(where: { $0?.reference == text }), text.hasSuffix(".path}") {
            return ShellWord(text: text.dropLast(6) + ".name}")
        }
        var filled = text
        for (name, word) in assigned where word.unknown == nil && JobText.plain(word.text) != nil {
            filled = filled.replacing("${\(name)}", with: word.text)
        }
        guard let plain = JobText.plain(filled), var name = plain.split(separator: "/").last else {
            var word = ShellWord(unknown: "$(…)")
            if suffix.isEmpty { word.basename = text }
            return word
        }
        if name.hasSuffix(suffix), name.count > suffix.count { name = name.dropLast(suffix.count) }
        return ShellWord(text: JobText.literal(String(name)))
    }

    /// The transfers in the substitutions of a text.
    func transfers(inText text: String, _ line: Int) -> [HiddenTransfer] {
        guard nesting < 20, ["curl", "wget", "aria2c"].contains(where: { text.contains($0) }) else { return [] }
        var reader = ShellScript([:], text, line: line, nesting: nesting + 1, answers: Self.most)
        return reader.readDoubleQuoted(endsAtQuote: false).hidden
    }
}
