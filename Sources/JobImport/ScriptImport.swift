/// Translates the curl, wget and aria2c commands of a shell script; its other commands become warnings.
struct ScriptImport {
    private let file: String
    /// The loops, conditions and groups that are open.
    private var blocks: [Block] = []
    /// The folder that `cd` of a subshell went to; `nil` for the one that the script began in.
    private var folder: String?
    /// Variables whose text is put in the place of their names.
    private var inlined: [String: String] = [:]
    /// The command that is read, and those after it.
    private var rest: ArraySlice<ShellCommand> = []
    /// The time that `timeout` gives the command that is read.
    private var timeLimit: String?
    /// A variable that is set for the command that is read and changes what curl and wget do.
    private var isSet: String?
    /// Whether the next group is the body of a function.
    private var isFunction = false

    /// A compound command that has begun.
    private struct Block {
        let word: String
        /// Whether its commands are left out.
        let isLeftOut: Bool
        /// Whether it is the body of a function.
        let isFunction: Bool
        /// The folder outside of it.
        let folder: String?
        /// The loop that it is; `nil` for another command, and for one that is left out.
        var loop: ShellLoop?
        /// How often it tries what it runs, where it does nothing else.
        var attempts: Int?
        /// The transfer of `if curl …; then`.
        var condition: Condition?
    }

    /// A transfer on whose success others depend.
    private struct Condition {
        /// Its place in the job's list; `nil` before it was translated.
        var task: Int?
        /// What must become of it for the commands that are read to run.
        var when: String
        let isNegated: Bool
        /// Whether the script may end where it is not met.
        let mayExit: Bool
    }

    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        let script = ShellScript(text, answers: job.answerCount)
        job.answerCount = script.answerCount
        var reader = ScriptImport(file: file)
        for line in script.brokenLines {
            job.lose(ImportPlace(file: file, line: line), "a quote or a here-document that begins here has no end")
        }
        for variable in script.variables {
            // A user in it is taken out of the URL where it is used.
            if variable.value.contains("://"), URLText(variable.value).user != nil {
                reader.inlined[variable.name] = variable.value
            } else {
                job.define(variable.name, variable.value)
            }
        }
        var previous: ShellCommand?
        for (index, command) in script.commands.enumerated() {
            reader.tellOfHidden(command, &job)
            if reader.blocks.last?.word == "case", Self.isPattern(index, script.commands) { continue }
            reader.rest = script.commands[index...]
            // A pipe leads past the transfers of a command's substitutions.
            let isSubstituted = command.answer != nil
            reader.add(command, after: isSubstituted && previous?.end != "||" ? nil : previous, to: &job)
            if !isSubstituted { previous = command }
        }
        if script.commands.count > 1 {
            job.note(
                "A script runs its commands one after the other; a job runs its tasks beside each other, but for `needs`."
            )
        }
    }

    private init(file: String) { self.file = file }

    private static let openers: Set<String> = ["for", "while", "until", "if", "case", "select"]
    private static let ends: [String: Set<String>] = [
        "done": ["for", "while", "until", "select"], "fi": ["if"], "esac": ["case"], "}": ["{"], ")": ["("],
    ]
    /// Commands whose absence changes nothing of the transfers.
    private static let harmless: Set<String> = [
        "set", "echo", "printf", ":", "true", "exit", "mkdir", "sleep", "wait", "shopt", "umask", "trap", "date",
    ]

    /// Whether a command is one of the patterns before a `)` of `case`.
    private static func isPattern(_ index: Int, _ commands: [ShellCommand]) -> Bool {
        var index = index
        while index < commands.count, commands[index].end == "|" { index += 1 }
        return index + 1 < commands.count && commands[index + 1].words.first?.text == ")"
            && commands[index].words.count == 1
    }

    /// Names the transfers of command substitutions.
    private func tellOfHidden(_ command: ShellCommand, _ job: inout ImportedJob) {
        for hidden in command.hidden {
            let place = ImportPlace(file: file, line: hidden.line)
            let hint =
                hidden.variable.map {
                    ": `capture` of a task takes a value out of an answer, here `\($0.prefix(40))`, as `jq -r .a.b`, `grep -o` "
                        + "and `sed -n 's/.*\\(…\\).*/\\1/p'` do"
                }
            job.lose(place, "the \(hidden.program) in a command substitution was left out\(hint ?? "")")
        }
    }

    private mutating func add(_ command: ShellCommand, after previous: ShellCommand?, to job: inout ImportedJob) {
        let place = ImportPlace(file: file, line: command.line)
        for name in command.assigned {
            let key =
                name.lowercased().hasSuffix("proxy") ? "`proxy`" : name.hasSuffix("RC") ? "`credentials`" : "`tls`"
            job.lose(
                place, "`\(name)` is not set for the job: write \(key) in the session, or set it for `transfer-run`")
        }
        var words = command.words[...]
        while let first = words.first, !first.isQuoted {
            if ShellCommand.steps.contains(first.text) {
                if let condition = blocks.last?.condition, first.text == "then" || first.text == "else" {
                    let isMet = (first.text == "then") != condition.isNegated
                    blocks[blocks.count - 1].condition?.when = isMet ? "succeeded" : "failed"
                }
                words.removeFirst()
            } else if first.text == "if", let condition = condition(words) {
                blocks.append(
                    Block(word: "if", isLeftOut: false, isFunction: false, folder: folder, condition: condition))
                words = words.dropFirst(condition.isNegated ? 2 : 1)
            } else if let attempts = attempts(words, &job) {
                blocks.append(
                    Block(word: first.text, isLeftOut: false, isFunction: false, folder: folder, attempts: attempts))
                return
            } else if let loop = loop(words, previous, &job) {
                blocks.append(Block(word: first.text, isLeftOut: false, isFunction: false, folder: folder, loop: loop))
                if !loop.isUnreserved { job.rawNames.append(loop.name) }
                return
            } else if Self.openers.contains(first.text) {
                begin(first.text, isLeftOut: true, place, &job)
                guard ["if", "while", "until"].contains(first.text) else { return }
                words.removeFirst()
            } else if first.text == "function" || first.text.hasSuffix("()") {
                let name = first.text == "function" ? words.dropFirst().first?.text ?? "" : first.text
                isFunction = true
                job.lose(place, "`\(name.prefix(40))` is not translated: the commands in it are left out")
                words = words.dropFirst(first.text == "function" ? 2 : 1)
            } else if first.text == "{" || first.text == "(" {
                begin(first.text, isLeftOut: previous?.end == "||" || previous?.end == "|", place, &job)
                words.removeFirst()
            } else if Self.ends[first.text] != nil {
                return end(first.text, command, place, &job)
            } else {
                break
            }
        }
        guard !words.isEmpty, let (program, arguments) = strip(words, place, &job) else { return }
        if let block = blocks.first(where: \.isLeftOut) {
            if let transfer = command.transfer {
                let through = program == transfer ? "" : " of `\(program.prefix(40))`"
                let what = block.isFunction ? "a function" : "a loop or a condition"
                job.lose(place, "this \(transfer)\(through) is in \(what): it was left out")
            }
        } else if ["curl", "wget", "aria2c"].contains(program) {
            transfer(program, arguments, command, previous, place, &job)
        } else if program == "cd", blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }) {
            changeFolder(arguments, place, &job)
        } else if program == "xargs", let xargs = XArgs(arguments, linesOf: command.inputFile ?? previous?.catFile),
            ["curl", "wget"].contains(xargs.program)
        {
            blocks.append(Block(word: "xargs", isLeftOut: false, isFunction: false, folder: folder, loop: xargs.loop))
            job.rawNames.append(xargs.loop.name)
            var command = command
            command.redirections = []
            transfer(xargs.program, xargs.words, command, nil, place, &job)
            job.rawNames.removeLast()
            blocks.removeLast()
        } else if let transfer = command.transfer {
            job.lose(place, "`\(program.prefix(40))` is not translated: the \(transfer) that it runs was left out")
        } else if program == "cat", isReadNext(command) {
            return
        } else if program == "break", blocks.last?.attempts != nil {
            return
        } else if !Self.harmless.contains(program), !isNamed(command, program) {
            tellOf(program, previous, place, &job)
        }
    }

    /// Whether a shell runs what a transfer of the command prints, as in `source <(curl …)`: that transfer was named.
    private func isNamed(_ command: ShellCommand, _ program: String) -> Bool {
        !command.hidden.isEmpty && ["source", ".", "eval", "sh", "bash", "zsh"].contains(program)
    }

    // MARK: Compound commands

    /// Begins a compound command. Groups and subshells run as they stand, unless a function or a condition holds them.
    private mutating func begin(_ word: String, isLeftOut: Bool, _ place: ImportPlace, _ job: inout ImportedJob) {
        if isLeftOut { job.lose(place, "`\(word)` is not translated: the commands in it are left out") }
        blocks.append(
            Block(word: word, isLeftOut: isLeftOut || isFunction, isFunction: isFunction, folder: folder))
        isFunction = false
    }

    private mutating func end(
        _ word: String, _ command: ShellCommand, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        // A bracket inside `case` ends a pattern.
        if word == ")", blocks.last?.word == "case" { return }
        guard let index = blocks.lastIndex(where: { Self.ends[word]?.contains($0.word) == true }) else { return }
        let isLeftOut = blocks.contains(where: \.isLeftOut)
        let isLoop = blocks[index].loop != nil
        if let loop = blocks[index].loop, !loop.isUnreserved { job.rawNames.removeLast() }
        if let condition = blocks[index].condition, let task = condition.task, job.tasks.count == task + 1,
            !condition.mayExit
        {
            job.tolerate(task)
        }
        if word == ")" { folder = blocks[index].folder }
        blocks.removeSubrange(index...)
        guard !isLeftOut else { return }
        for redirection in command.redirections where !redirection.sign.hasPrefix("2") {
            // The list that the loop reads.
            if isLoop, redirection.sign.hasPrefix("<") { continue }
            job.lose(place, "`\(redirection.sign)` of a group is not translated")
        }
    }

    /// How often a loop that tries its transfer again tries it; `nil` for another loop.
    private func attempts(_ words: ArraySlice<ShellWord>, _ job: inout ImportedJob) -> Int? {
        guard words.first?.text == "for", !blocks.contains(where: \.isLeftOut), !isFunction,
            let end = Self.end(ofLoop: rest), let loop = ShellLoop.over(words, &job)
        else { return nil }
        let body = rest[rest.startIndex + 1..<end]
        guard body.count(where: { $0.transfer != nil }) == 1,
            body.contains(where: { $0.afterSteps.first?.text == "break" }),
            !body.contains(where: { $0.words.contains { $0.text.contains("${\(loop.name)") } && $0.transfer != nil })
        else { return nil }
        return loop.count
    }

    /// The loop that begins here, where its values and what it does for each can be said in a job.
    private func loop(
        _ words: ArraySlice<ShellWord>, _ previous: ShellCommand?, _ job: inout ImportedJob
    ) -> ShellLoop? {
        guard let command = rest.first, !blocks.contains(where: \.isLeftOut), !isFunction,
            let end = Self.end(ofLoop: rest)
        else { return nil }
        var loop: ShellLoop?
        if words.first?.text == "for" {
            loop = ShellLoop.over(words, &job)
        } else if let name = command.readName {
            if let document = rest[end].input {
                loop = ShellLoop(name, linesIn: document)
            } else {
                let file = rest[end].inputFile ?? previous?.catFile
                loop = file.flatMap { ShellLoop(name, linesOf: $0) }
            }
        }
        guard let loop, !job.knows(loop.name) else { return nil }
        // A loop whose transfers do not use its variable tries again, or waits.
        let body = rest[rest.startIndex + 1..<end].filter { $0.transfer != nil }
        let isUsed = body.contains { $0.words.contains { $0.text.contains("${\(loop.name)") } }
        return isUsed && !blocks.contains { $0.loop?.name == loop.name } ? loop : nil
    }

    /// The place of the `done` that ends the loop with which the commands begin. A loop of more commands is left out.
    private static func end(ofLoop commands: ArraySlice<ShellCommand>) -> Int? {
        var depth = 0
        for (index, command) in zip(commands.indices, commands.prefix(1000)) {
            guard let first = command.afterSteps.first, !first.isQuoted else { continue }
            if ["for", "while", "until", "select"].contains(first.text) { depth += 1 }
            if first.text == "done" { depth -= 1 }
            if depth == 0 { return index > commands.startIndex ? index : nil }
        }
        return nil
    }

    /// The transfer of `if curl …; then`, where nothing else decides and no value of a loop is in it. An `elif` would depend on
    /// two.
    private func condition(_ words: ArraySlice<ShellWord>) -> Condition? {
        guard !isFunction, blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }), let command = rest.first,
            command.ownTransfer != nil, rest.dropFirst().first?.words.first?.text == "then", command.end != "|"
        else { return nil }
        var depth = 0
        var mayExit = false
        for command in rest.prefix(1000) {
            let words = command.words.drop { !$0.isQuoted && ["then", "else", "do"].contains($0.text) }
            guard let first = words.first, !first.isQuoted else { continue }
            if first.text == "if" { depth += 1 }
            if first.text == "fi" { depth -= 1 }
            if first.text == "elif", depth == 1 { return nil }
            if ["exit", "return", "false"].contains(first.text) { mayExit = true }
            if depth == 0 { break }
        }
        return Condition(when: "succeeded", isNegated: words.dropFirst().first?.text == "!", mayExit: mayExit)
    }

    /// Whether `cat FILE |` gives its lines to a loop that was translated, or the file to a transfer.
    private func isReadNext(_ command: ShellCommand) -> Bool {
        guard command.catFile != nil, let next = rest.dropFirst().first else { return false }
        return next.readName != nil || next.words.first?.text == "xargs" || next.ownTransfer == "curl"
    }

    /// Follows `cd FOLDER`.
    private mutating func changeFolder(
        _ arguments: ArraySlice<ShellWord>, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let words = arguments.first?.text == "--" ? arguments.dropFirst() : arguments
        guard words.count == 1, let word = words.first, word.unknown == nil, !word.text.isEmpty,
            !word.text.hasPrefix("-")
        else { return tellOf("cd", nil, place, &job) }
        let path = word.text.hasSuffix("/") ? word.text : word.text + "/"
        folder = ImportedTask.path(path, in: folder, job)
    }

    private func tellOf(_ program: String, _ previous: ShellCommand?, _ place: ImportPlace, _ job: inout ImportedJob) {
        let shown = program.prefix(40)
        if program == "cd" {
            return job.lose(place, "`cd` is not translated: give the job's folder with `--directory`")
        }
        if previous?.end == "|" { return job.lose(place, "the pipe into `\(shown)` is not translated") }
        job.lose(place, "`\(shown)` is not translated")
    }

    /// Removes what stands before the program's name; `nil` where that is not known.
    private mutating func strip(
        _ words: ArraySlice<ShellWord>, _ place: ImportPlace, _ job: inout ImportedJob
    ) -> (String, ArraySlice<ShellWord>)? {
        var words = words
        timeLimit = nil
        isSet = nil
        while let first = words.first {
            if let time = Self.timeLimit(words) {
                timeLimit = time
                words.removeFirst(2)
            } else if let (name, _) = ShellScript.assignment(first), !first.isQuoted {
                if ShellScript.isObeyed(name) {
                    isSet = name
                } else {
                    job.lose(place, "the variable `\(name.prefix(40))` before a command is not set here")
                }
                words.removeFirst()
            } else if ShellCommand.prefixes.contains(first.text) {
                if first.text == "sudo" { job.lose(place, "`sudo` is not translated: run the job as that user") }
                words.removeFirst()
            } else {
                guard let program = first.literal else {
                    job.lose(place, "a command whose name only the shell knows was left out")
                    return nil
                }
                return (program.split(separator: "/").last.map { String($0) } ?? program, words.dropFirst())
            }
        }
        return nil
    }

    /// The time of `timeout 30s COMMAND`.
    private static func timeLimit(_ words: ArraySlice<ShellWord>) -> String? {
        guard words.count > 2, words.first?.literal == "timeout", let time = words.dropFirst().first?.literal else {
            return nil
        }
        let number = time.last.map { "smhd".contains($0) } == true ? time.dropLast() : time[...]
        return !number.isEmpty && number.allSatisfy { ("0"..."9").contains($0) } && Int(number) != 0 ? time : nil
    }

    private mutating func transfer(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ previous: ShellCommand?,
        _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let arguments = Self.named(arguments, program)
        for what in Set(arguments.compactMap(\.unknown)).sorted() {
            return job.lose(place, "`\(what)` is known to the shell alone: this \(program) was left out")
        }
        if previous?.end == "||" {
            return job.lose(
                place,
                "this \(program) runs only where the one before failed: it was left out (`urls` names several places)")
        }
        if let name = isSet {
            return job.lose(place, "`\(name)` before the command is not set here: this \(program) was left out")
        }
        var output: String?
        for redirection in command.redirections { take(redirection, &output, program, place, &job) }
        let words = self.words(arguments, program, place, &job)
        let before = job.tasks.count
        if program == "curl" {
            CurlCommand.add(words, place: place, to: &job, input: Self.input(of: command, previous), output: output)
        } else {
            if previous?.end == "|" { job.lose(place, "the pipe into \(program) is not translated") }
            if program == "aria2c" {
                AriaCommand.add(words, place: place, to: &job)
            } else {
                WgetCommand.add(words, place: place, to: &job, output: output)
            }
        }
        if let timeLimit { job.limit(tasksFrom: before, to: timeLimit) }
        if let attempts = blocks.last?.attempts { job.retry(tasksFrom: before, attempts: attempts) }
        let loops = blocks.reversed().compactMap(\.loop)
        if loops.contains(where: { job.dropSecretLoop($0, tasksFrom: before) }) {
            return job.lose(place, "this \(program) goes over a list of secrets: it was left out")
        }
        for loop in loops { job.loop(tasksFrom: before, over: loop) }
        if let folder { job.move(tasksFrom: before, to: folder) }
        if output != nil, job.tasks.count > before + 1 {
            job.lose(place, "several answers in one file have no equal: each task has a file of its own")
        }
        if let answer = command.answer, job.tasks.count > before {
            let printed = ParsedCommand(words, program == "curl" ? CurlOptions.table : WgetOptions.table, negates: true)
                .lost
            let more = [
                "-w", "--write-out", "-i", "--include", "--show-headers", "-D", "--dump-header", "-S", "--save-headers",
            ]
            let isAnswerAlone = !printed.contains { more.contains($0.option) } && blocks.allSatisfy { $0.word == "{" }
            if !isAnswerAlone || !job.take(answer, ofTasksFrom: before) {
                job.drop(tasksFrom: before)
                job.lose(place, "`\(answer.name)` is not set to a part of one answer: this \(program) was left out")
            }
        }
        depend(tasksFrom: before, program, place, &job)
    }

    /// Lets the tasks from a number on be the condition of the `if` that is read, or depend on it.
    private mutating func depend(
        tasksFrom first: Int, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        guard let index = blocks.firstIndex(where: { $0.condition != nil }), let condition = blocks[index].condition
        else {
            return
        }
        if let task = condition.task { return job.join(tasksFrom: first, after: task, when: condition.when) }
        if job.tasks.count == first + 1 {
            blocks[index].condition?.task = first
        } else {
            job.drop(tasksFrom: first)
            job.lose(place, "this \(program) is no single task: it was left out, with what depends on it")
            blocks[index] = Block(word: "if", isLeftOut: true, isFunction: false, folder: blocks[index].folder)
        }
    }

    /// Words in which `-o $(basename URL)`, of the transfer's own URL, is the option that says the same.
    private static func named(_ arguments: ArraySlice<ShellWord>, _ program: String) -> ArraySlice<ShellWord> {
        guard let place = arguments.firstIndex(where: { $0.basename != nil }), place > arguments.startIndex,
            arguments.contains(where: { $0.unknown == nil && $0.text == arguments[place].basename }),
            ["-o", "--output", "-O", "--output-document"].contains(arguments[place - 1].text)
        else { return arguments }
        let option = program == "curl" ? [ShellWord(text: "-O")] : []
        return ArraySlice(arguments[..<(place - 1)] + option + arguments[(place + 1)...])
    }

    /// What a command is given on standard input.
    private static func input(of command: ShellCommand, _ previous: ShellCommand?) -> StandardInput {
        if let document = command.input { return document.unknown == nil ? .text(document.text) : .unknown }
        if let file = command.redirections.last(where: { $0.sign == "<" })?.word {
            return file.unknown == nil ? .file(file.text) : .unknown
        }
        guard let previous, previous.end == "|" else { return .own }
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
    private func words(
        _ arguments: ArraySlice<ShellWord>, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) -> [String] {
        var words: [String] = []
        for var word in arguments {
            for (name, text) in inlined { word.text = word.text.replacing("${\(name)}", with: text) }
            if !word.isQuoted, let (name, fallback) = Self.fallback(of: word), Self.namesOptions(name) {
                job.lose(
                    place,
                    "`$\(name)` is known to the shell alone: what it adds to this \(program) was left out")
                words += fallback.split(separator: " ").map { String($0) }
                continue
            }
            guard !word.isQuoted, let name = word.reference else {
                words.append(word.text)
                continue
            }
            let value = job.filled(word.text)
            if value.isEmpty {
                // The shell makes no word of it.
                job.spread(name)
            } else if value != word.text, value.hasPrefix("-") || value.contains(" ") {
                let parts = value.split { $0 == " " || $0 == "\t" || $0 == "\n" }.map { String($0) }
                // Quotes in a value are no quotes for the shell, which is hardly what the script means.
                if value.contains("\"") || value.contains("'") {
                    job.lose(place, "the quotes in `$\(name)` are not read as quotes, as in a shell")
                }
                job.spread(name)
                words += parts
            } else if value == word.text, name.hasPrefix("env."), Self.namesOptions(String(name)) {
                job.lose(
                    place,
                    "`$\(name.dropFirst(4))` is known to the shell alone: what it adds to this \(program) was left out")
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

    private func take(
        _ redirection: ShellCommand.Redirection, _ output: inout String?, _ program: String, _ place: ImportPlace,
        _ job: inout ImportedJob
    ) {
        switch redirection.sign {
        case ">", "1>", ">|", "&>":
            guard redirection.word.unknown == nil else {
                return job.lose(place, "the file of `>` is known to the shell alone")
            }
            output = redirection.word.text
        case ">>", "1>>":
            guard redirection.word.unknown == nil else {
                return job.lose(place, "the file of `>>` is known to the shell alone")
            }
            job.lose(place, "`>>` has no equal: the file is replaced")
            output = redirection.word.text
        case "2>", "2>>", "2>&", ">&", "<<", "<<-", "<<<": break
        case "<" where program == "curl": break
        case "<": job.lose(place, "`<` is not translated: `body: { file: … }` reads a file")
        default: job.lose(place, "`\(redirection.sign)` is not translated")
        }
    }
}
