/// The words, the input and the output of a transfer in a script.
extension ScriptImport {
    /// Words in which `-o $(basename URL)`, of the transfer's own URL, is the option that says the same.
    static func named(_ arguments: ArraySlice<ShellWord>, _ program: String) -> ArraySlice<ShellWord> {
        guard let place = arguments.firstIndex(where: { $0.basename != nil }), place > arguments.startIndex,
            arguments.contains(where: { $0.unknown == nil && $0.text == arguments[place].basename }),
            ["-o", "--output", "-O", "--output-document"].contains(arguments[place - 1].text)
        else { return arguments }
        let option = program == "curl" ? [ShellWord(text: "-O")] : []
        return ArraySlice(arguments[..<(place - 1)] + option + arguments[(place + 1)...])
    }

    /// Words in which `-d "$(cat FILE)"` names the file: the shell leaves out the line breaks at its end, and curl sends the
    /// rest as it is.
    static func withFiles(_ arguments: ArraySlice<ShellWord>, _ program: String) -> ArraySlice<ShellWord> {
        var words = Array(arguments)
        let options = [
            "-d": "--data-binary", "--data": "--data-binary", "--data-raw": "--data-binary",
            "--data-binary": "--data-binary", "--json": "--json",
        ]
        for index in words.indices.dropFirst()
        where program == "curl" && words[index].isQuoted && words[index].text.isEmpty {
            guard let option = options[words[index - 1].text], let script = words[index].substitution,
                let file = ShellLoop.fileOfCat(script), file.unknown == nil, !file.text.hasPrefix("-")
            else { continue }
            words[index - 1] = ShellWord(text: option)
            words[index] = ShellWord(text: "@\(StandardInput.endless)\(file.text)", isQuoted: true)
        }
        return words[...]
    }

    /// What a command is given on standard input.
    static func input(of command: ShellCommand, _ previous: ShellCommand?) -> StandardInput {
        if let document = command.input { return document.unknown == nil ? .text(document.text) : .unknown }
        if let file = command.redirections.last(where: { $0.sign == "<" })?.word {
            return file.unknown == nil ? .file(file.text) : .unknown
        }
        guard let previous, previous.end == "|" else { return .own }
        if let text = previous.catText { return text.unknown == nil ? .text(text.text) : .unknown }
        if let file = previous.catFile { return file.unknown == nil ? .file(file.text) : .unknown }
        var words = previous.words[...]
        let program = words.popFirst()?.text
        // What these print of a backslash or a `%` is another thing in each shell.
        let isPlain = previous.redirections.isEmpty && words.allSatisfy { $0.unknown == nil && !$0.text.contains("\\") }
        if program == "echo", isPlain {
            let endsLine = words.first?.text != "-n"
            if !endsLine { words.removeFirst() }
            return .text(words.map(\.text).joined(separator: " ") + (endsLine ? "\n" : ""))
        }
        if program == "printf", isPlain, words.first?.text == "%s" { words.removeFirst() }
        guard program == "printf", isPlain, words.count == 1, let text = words.first?.text, !text.contains("%") else {
            return .unknown
        }
        return .text(text)
    }

    /// The words of a command, with the options that a variable holds: the shell splits what is not quoted.
    func words(
        _ arguments: ArraySlice<ShellWord>, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) -> [String] {
        var words: [String] = []
        for var word in arguments {
            for (name, text) in inlined { word.text = word.text.replacing("${\(name)}", with: text) }
            if !word.isQuoted, let (name, fallback) = Self.fallback(of: word), Self.namesOptions(name) {
                job.lose(
                    place,
                    "`$\(name)` is known to the shell alone: this \(program) goes without what it adds")
                words += fallback.split(separator: " ").map { String($0) }
                continue
            }
            guard !word.isQuoted, let name = word.reference else {
                words.append(word.text)
                continue
            }
            let value = job.filled(word.text)
            if value.isEmpty {
                continue  // The shell makes no word of it.
            } else if value != word.text, value.hasPrefix("-") || value.contains(" ") {
                let parts = value.split { $0 == " " || $0 == "\t" || $0 == "\n" }.map { String($0) }
                // Quotes in a value are no quotes for the shell, which is hardly what the script means.
                if value.contains("\"") || value.contains("'") {
                    job.lose(place, "the quotes in `$\(name)` are not read as quotes, as in a shell")
                }
                words += parts
            } else if value == word.text, name.hasPrefix("env."), Self.namesOptions(String(name)) {
                job.lose(
                    place,
                    "`$\(name.dropFirst(4))` is known to the shell alone: this \(program) goes without what it adds")
            } else {
                words.append(word.text)
            }
        }
        return words
    }

    /// Whether a variable is named as those that hold options, such as `CURL_OPTS`.
    private static func namesOptions(_ name: String) -> Bool {
        name.lowercased().split { $0 == "_" || $0 == "." }.contains { part in
            ["opt", "flag"].contains(part)
                || ["opts", "options", "args", "flags", "params"].contains { part.hasSuffix($0) }
        }
    }

    /// Name and default of a word that is `${NAME:-default}` of the environment and nothing else.
    private static func fallback(of word: ShellWord) -> (name: String, fallback: String)? {
        guard word.text.hasPrefix("${env."), word.text.hasSuffix("}"), let mark = word.text.firstRange(of: ":-") else {
            return nil
        }
        let name = word.text[..<mark.lowerBound].dropFirst(6)
        return ShellScript.isName(name) ? (String(name), String(word.text[mark.upperBound...].dropLast())) : nil
    }

    func take(
        _ redirection: ShellCommand.Redirection, _ output: inout String?, _ program: String, _ place: ImportPlace,
        _ job: inout ImportedJob
    ) {
        switch redirection.sign {
        case ">", "1>", ">|", "&>":
            guard redirection.word.unknown == nil else {
                return job.lose(place, "the file of `>` is known to the shell alone")
            }
            output = redirection.word.text
        case "2>", "2>>", "2>&", ">&", "<<", "<<-", "<<<": break
        case "<" where program == "curl": break
        case "<": job.lose(place, "`<` is not translated: `body: { file: … }` reads a file")
        default: job.lose(place, "`\(redirection.sign)` is not translated")
        }
    }
}
