/// Translates the curl, wget and aria2c commands of a shell script; its other commands become warnings.
struct ScriptImport {
    private let file: String
    /// The loops, conditions and groups that are open.
    private var blocks: [Block] = []
    /// The folder that `cd` of a subshell went to; `nil` for the one that the script began in.
    private var folder: String?
    /// Variables whose text is put in the place of their names.
    var inlined: [String: String] = [:]
    /// The command that is read, and those after it.
    private var rest: ArraySlice<ShellCommand> = []
    /// The time that `timeout` gives the command that is read.
    private var timeLimit: String?
    /// A variable that is set for the command that is read and changes what curl and wget do.
    private var isSet: String?
    /// Whether the next group is the body of a function.
    private var isFunction = false
    /// The list of commands that is read.
    private var list = ScriptList()
    /// What all commands depend on that come next in the group, the loop or the script that is read.
    private var scope = ScriptFlow()
    /// What the transfer in a substitution of the next command made of its status.
    private var answered: ScriptStatus?
    /// Name of the function that was read last, of those that may end the script, and that may go to another folder.
    private var function = ""
    private var (exits, movers): (Set<String>, Set<String>) = ([], [])
    /// What `set` has said so far.
    private var options = ShellOptions()
    /// The first command whose failure would have ended the script, and its line.
    private var doubtful: (program: String, line: Int)?
    private var isTold = false
    /// What the commands that are not translated may have done to files.
    private var files = ScriptFiles()
    private var proxies = ScriptProxies()
    /// The task that got the URL of the command that is read as a further one of its `urls`.
    private var merged: Int?

    /// A compound command that has begun.
    private struct Block {
        let word: String
        /// Whether its commands are left out.
        var isLeftOut: Bool
        /// Whether it is the body of a function.
        let isFunction: Bool
        /// The folder outside of it, and whether it is known.
        let folder: String?
        let isFolderKnown: Bool
        /// The proxies outside of it.
        let proxies: ScriptProxies
        /// Whether a failure outside of it ends the script, and the first command of which that is not known.
        let endsOnError: Bool
        let doubtful: (program: String, line: Int)?
        /// The list that it is a command of.
        let list: ScriptList
        /// What the commands around it depend on.
        var scope: ScriptFlow
        /// What its own commands depend on where they begin.
        let entry: ScriptFlow
        /// The loop that it is; `nil` for another command, and for one that is left out.
        var loop: ShellLoop?
        /// Whether its condition is read, whose failure ends no script.
        var isCondition = false
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
        if let first = text.split(whereSeparator: \.isNewline).first, first.hasPrefix("#!") {
            reader.set(first.split(separator: " ").dropFirst().map { String($0) })
        }
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
            job.number = index
            // A pipe leads past the transfers of a command's substitutions.
            let isSubstituted = command.answer != nil
            reader.list.begin(after: previous?.end)
            reader.add(command, after: isSubstituted ? nil : previous, to: &job)
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
        "export", "readonly", "unset", "local", "declare", "typeset", "false", "return", "break", "continue",
    ]
    /// Commands that end the script, a function or a turn of a loop.
    private static let stops: Set<String> = ["exit", "return", "break", "continue"]
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
        for (name, value, isExported) in command.assigned
        where !proxies.take(name, value, isExported: isExported, job) {
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
                if let block = blocks.last, block.word == "if" { scope = block.entry }
                if !blocks.isEmpty, first.text != "in" { blocks[blocks.count - 1].isCondition = first.text == "elif" }
                words.removeFirst()
            } else if first.text == "if", let condition = condition(words) {
                open("if")
                blocks[blocks.count - 1].condition = condition
                words = words.dropFirst(condition.isNegated ? 2 : 1)
            } else if let attempts = attempts(words, &job) {
                open(first.text)
                blocks[blocks.count - 1].attempts = attempts
                return
            } else if let loop = loop(words, previous, &job) {
                open(first.text)
                blocks[blocks.count - 1].loop = loop
                // What its body writes is there in the next turn.
                let body = rest[..<(Self.end(ofLoop: rest) ?? rest.startIndex)].dropFirst()
                for command in body
                where command.transfer == nil && !command.words.contains(where: { $0.text.contains("${\(loop.name)") })
                {
                    files.note(command, folder, job)
                }
                if !loop.isUnreserved { job.rawNames.append(loop.name) }
                return
            } else if Self.openers.contains(first.text) {
                begin(first.text, isLeftOut: true, place, &job)
                guard ["if", "while", "until"].contains(first.text) else { return }
                words.removeFirst()
            } else if first.text == "function" || first.text.hasSuffix("()") {
                let name = first.text == "function" ? words.dropFirst().first?.text ?? "" : first.text
                isFunction = true
                function = String(name.prefix { $0 != "(" })
                job.lose(place, "`\(name.prefix(40))` is not translated: the commands in it are left out")
                words = words.dropFirst(first.text == "function" ? 2 : 1)
            } else if first.text == "{" || first.text == "(" {
                begin(first.text, isLeftOut: previous?.end == "|", place, &job)
                words.removeFirst()
            } else if Self.ends[first.text] != nil {
                return end(first.text, command, place, &job)
            } else {
                break
            }
        }
        if command.isAssignment {
            list.end(answered ?? .succeeds)
            return answered = nil
        }
        guard !words.isEmpty else { return }
        guard let (program, arguments) = strip(words, place, &job) else {
            files.note(command, folder, job)
            return list.end(.unknown("a command before it decides whether it runs"))
        }
        let before = job.tasks.count
        merged = nil
        run(program, arguments, command, previous, place, &job)
        let made = merged.map { [$0] } ?? Array(before..<max(before, job.tasks.count))
        follow(program, arguments, command, made, words.first?.text == "!", job)
    }

    /// Translates a command that is no part of the shell's grammar.
    private mutating func run(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ previous: ShellCommand?,
        _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        if let block = blocks.first(where: \.isLeftOut) {
            if let transfer = command.transfer {
                let through = program == transfer ? "" : " of `\(program.prefix(40))`"
                let what = block.isFunction ? "a function" : "a loop or a condition"
                job.lose(place, "this \(transfer)\(through) is in \(what): it was left out")
            } else if program == "cd" || program == "pushd" || program == "popd" {
                files.isFolderKnown = false
                if blocks.contains(where: \.isFunction) { movers.insert(function) }
            }
        } else if ["curl", "wget", "aria2c"].contains(program) {
            transfer(program, arguments, command, previous, place, &job)
        } else if program == "cd", blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }) {
            changeFolder(arguments, place, &job)
        } else if program == "xargs", let xargs = XArgs(arguments, linesOf: command.inputFile ?? previous?.catFile),
            ["curl", "wget"].contains(xargs.program)
        {
            open("xargs")
            blocks[blocks.count - 1].loop = xargs.loop
            job.rawNames.append(xargs.loop.name)
            var command = command
            command.redirections = []
            transfer(xargs.program, xargs.words, command, nil, place, &job)
            job.rawNames.removeLast()
            close(blocks.count - 1)
        } else if let transfer = command.transfer {
            job.lose(place, "`\(program.prefix(40))` is not translated: the \(transfer) that it runs was left out")
        } else if program == "cat", isReadNext(command) {
            return
        } else if !Self.harmless.contains(program), !isNamed(command, program) {
            if ["cd", "pushd", "popd"].contains(program) { files.isFolderKnown = false }
            tellOf(program, previous, place, &job)
        }
    }

    /// Notes what a command means for those after it. `made` are the tasks that it became.
    private mutating func follow(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ made: [Int],
        _ isNegated: Bool, _ job: ImportedJob
    ) {
        var status = status(program, made)
        if isNegated { status = status.negated }
        if !made.isEmpty {
            files.note(besides: command, folder, job)
        } else if program != "cat" || !isReadNext(command) {
            files.note(command, folder, job)
        }
        if command.answer != nil { answered = status }
        if movers.contains(program) { files.isFolderKnown = false }
        if ["export", "unset", "declare", "typeset"].contains(program) {
            proxies.change(arguments.compactMap(\.literal))
        }
        if program == "set" { set(arguments.compactMap(\.literal)) }
        let isRetry = program == "break" && blocks.last?.attempts != nil && list.runs.reason == nil
        if Self.stops.contains(program) || exits.contains(program), !isRetry {
            stop(program, command.line)
            return list.end(nil)
        }
        list.end(status)
        // A loop that waits for something lets nothing after it run before that.
        let waits = blocks.contains { $0.isLeftOut && ["while", "until"].contains($0.word) }
        if program == "sleep", waits { stop(program, command.line) }
        if command.words.first?.text == "exec" { stop("exec", command.line) }
        let isLast = !["&&", "||", "&"].contains(command.end) && (command.end != "|" || options.failsInPipes)
        guard options.endsOnError, isLast, !isNegated, blocks.allSatisfy({ !$0.isCondition && !$0.isFunction }) else {
            return
        }
        if !made.isEmpty || CommandStatus.isTest(program, arguments) {
            stop("set -e", command.line, where: ScriptFlow(status.negated))
        } else if !Self.harmless.contains(program), !CommandStatus.safe.contains(program) {
            doubtful = doubtful ?? (program, command.line)
        }
    }

    private func status(_ program: String, _ made: [Int]) -> ScriptStatus {
        if !made.isEmpty { return .tasks(made) }
        if program == "false" { return .fails }
        if program == "cd" || program == "cat" || Self.harmless.contains(program) { return .succeeds }
        let isTransfer = ["curl", "wget", "aria2c"].contains(program)
        let what = isTransfer ? "a \(program) that was left out" : "`\(program.prefix { $0 != "=" }.prefix(40))`"
        return .unknown("\(what) decides whether it runs")
    }

    /// Follows `set -e` and its like.
    private mutating func set(_ words: [String]) {
        for word in words {
            let isOn = word.hasPrefix("-")
            if word == "errexit" { options.endsOnError = true }
            if word == "pipefail" { options.failsInPipes = true }
            guard isOn || word.hasPrefix("+"), !word.hasPrefix("--") else { continue }
            if word.contains("e") { options.endsOnError = isOn }
        }
    }

    /// Follows a command that ends what the next ones are in, where it runs; `condition` is what else must hold for that.
    private mutating func stop(_ name: String, _ line: Int, where condition: ScriptFlow = ScriptFlow()) {
        var runs = list.runs.and(condition)
        scope = scope.and(runs.past(name, line))
        for index in blocks.indices.reversed() {
            let block = blocks[index]
            if block.isFunction {
                if name != "return" { exits.insert(function) }
                return
            }
            let isLoop = Self.ends["done"]?.contains(block.word) == true
            if isLoop && ["break", "continue"].contains(name)
                || block.word == "(" && (name != "set -e" || !block.endsOnError)
            {
                return
            }
            if block.isLeftOut { runs.reason = runs.reason ?? "" }
            if let condition = block.condition, let task = condition.task {
                runs = runs.and(ScriptFlow(condition.when == "failed" ? .failureOf([task]) : .tasks([task])))
            }
            runs = runs.and(block.list.runs)
            blocks[index].scope = block.scope.and(runs.past(name, line))
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
        open(word, isLeftOut: isLeftOut || isFunction, isFunction: isFunction)
        isFunction = false
    }

    private mutating func open(_ word: String, isLeftOut: Bool = false, isFunction: Bool = false) {
        let entry = scope.and(list.runs)
        let isCondition = ["if", "while", "until"].contains(word)
        blocks.append(
            Block(
                word: word, isLeftOut: isLeftOut, isFunction: isFunction, folder: folder,
                isFolderKnown: files.isFolderKnown, proxies: proxies, endsOnError: options.endsOnError,
                doubtful: doubtful,
                list: list, scope: scope, entry: entry,
                isCondition: isCondition))
        scope = entry
        list = ScriptList()
    }

    /// Ends the compound command at a place and those in it.
    private mutating func close(_ index: Int) {
        let block = blocks[index]
        let isGroup = block.word == "{" || block.word == "("
        // After an `exit` in a subshell its status says nothing of the commands in it.
        let isWhole = isGroup && !block.isLeftOut && scope.reason == block.entry.reason
        let own =
            isWhole ? list.status : ScriptStatus.unknown("`\(block.word)` before it decides whether it runs")
        list = block.list
        scope = block.scope
        list.end(own)
        if block.word == "(" || block.isFunction { proxies = block.proxies }
        if block.word == "(" {
            options.endsOnError = block.endsOnError
            if !options.endsOnError { doubtful = block.doubtful }
        }
        if block.word == "(" || block.isFunction { (folder, files.isFolderKnown) = (block.folder, block.isFolderKnown) }
        blocks.removeSubrange(index...)
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
        files.note(command, folder, job)
        close(index)
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
                let trims = !command.words.contains { $0.text == "IFS=" }
                loop = file.flatMap { ShellLoop(name, linesOf: $0, trims: trims) }
            }
        }
        guard let loop, !job.knows(loop.name) else { return nil }
        // A loop whose transfers do not use its variable tries again, or waits.
        let body = rest[rest.startIndex + 1..<end].filter { $0.transfer != nil }
        let isUsed = body.contains { $0.words.contains { $0.text.contains("${\(loop.name)") } }
        // One that may end early does not do the same for each value.
        let mayEnd = rest[rest.startIndex + 1..<end].contains {
            guard let first = $0.afterSteps.first?.text else { return false }
            return first != "continue" && Self.stops.contains(first) || exits.contains(first)
        }
        return isUsed && !mayEnd && !blocks.contains { $0.loop?.name == loop.name } ? loop : nil
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
        var words = arguments.first?.text == "--" ? arguments.dropFirst() : arguments
        if words.isEmpty { words = [ShellWord(text: "${env.HOME}")] }
        if scope.and(list.runs).reason != nil || !list.runs.failed.isEmpty { files.isFolderKnown = false }
        let isHome = words.first?.text.hasPrefix("${env.HOME}") == true
        guard words.count == 1, let word = words.first, word.unknown == nil, !word.text.isEmpty,
            !word.text.hasPrefix("-"), isHome || !job.filled(word.text).hasPrefix("${")
        else {
            // The folder of the script is that of `--directory`.
            let isOwn = words.count == 1 && words.first?.unknown == ShellWord.ownFolder
            if folder != nil || !job.tasks.isEmpty || !isOwn { (folder, files.isFolderKnown) = (nil, false) }
            if options.endsOnError { doubtful = doubtful ?? ("cd", place.line) }
            return tellOf("cd", nil, place, &job)
        }
        let path = ImportedTask.path(word.text.hasSuffix("/") ? word.text : word.text + "/", in: folder, job)
        folder = path == "./" ? nil : path
    }

    private func tellOf(_ program: String, _ previous: ShellCommand?, _ place: ImportPlace, _ job: inout ImportedJob) {
        let shown = program.prefix { $0 != "=" }.prefix(40)
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
        let flow = scope.and(list.runs)
        if let name = proxies.lost {
            return job.lose(place, "the proxy of `\(name)` is known to the shell alone: this \(program) was left out")
        }
        if let reason = flow.reason { return job.lose(place, "\(reason): this \(program) was left out") }
        if command.redirections.contains(where: { $0.sign == ">>" || $0.sign == "1>>" }) {
            return job.lose(place, "`>>` has no equal: this \(program) was left out")
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
        job.setProxy(proxies.setting, tasksFrom: before)
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
        if let why = files.reason(against: Array(job.tasks[min(before, job.tasks.count)...]), job)
            ?? (options.endsOnError ? Self.reason(loops, Array(job.tasks[min(before, job.tasks.count)...])) : nil)
        {
            job.drop(tasksFrom: before)
            return job.lose(place, "\(why): this \(program) was left out")
        }
        if let (other, line) = doubtful, job.tasks.count > before {
            let shown = "`\(other.prefix { $0 != "=" }.prefix(40))` in line \(line)"
            if job.tasks[before...].contains(where: \.sends) {
                job.drop(tasksFrom: before)
                return job.lose(place, "`set -e`, and \(shown), may keep it from running: this \(program) was left out")
            }
            if !isTold {
                job.lose(
                    place,
                    "under `set -e` a failure of \(shown) keeps this from running, and what comes after it: the job does not know that"
                )
            }
            isTold = true
        }
        depend(tasksFrom: before, flow, program, place, &job)
    }

    /// Why the turns of a loop that ends at the first failure cannot be tasks.
    private static func reason(_ loops: [ShellLoop], _ tasks: [ImportedTask]) -> String? {
        let sends = tasks.contains(where: \.sends)
        return sends && loops.contains { $0.count != 1 } ? "`set -e` ends the loop where one turn fails" : nil
    }

    /// Lets the tasks from a number on depend on those that the script makes them depend on, or be the condition of the `if`
    /// that is read.
    private mutating func depend(
        tasksFrom first: Int, _ flow: ScriptFlow, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let index = blocks.firstIndex { $0.condition != nil }
        let condition = index.flatMap { blocks[$0].condition }
        var flow = flow
        if let task = condition?.task {
            flow = flow.and(ScriptFlow(condition?.when == "failed" ? .failureOf([task]) : .tasks([task])))
        }
        if condition == nil, flow.reason == nil, flow.failed.count == 1, let other = flow.failed.first,
            flow.needed == job.tasks[other].needed, job.merge(first, into: other)
        {
            merged = other
            return
        }
        if let other = flow.failed.first, job.tasks[other].ignoresStatus {
            job.lose(
                place, "without `-f` curl succeeds with an error page too: here a status of 400 and above is a failure")
        }
        // `when: failed` is of all that a task needs.
        if !flow.failed.isEmpty,
            flow.reason != nil || flow.failed.count > 1 || !flow.needed.isEmpty
                || flow.failed.contains(where: { !job.tasks[$0].needed.isEmpty })
        {
            job.drop(tasksFrom: first)
            return job.lose(place, "more than one transfer decides whether it runs: this \(program) was left out")
        }
        let when = flow.failed.isEmpty ? condition?.task == nil ? nil : "succeeded" : "failed"
        job.join(tasksFrom: first, after: flow.needed + flow.failed, when: when)
        guard let index, let condition, condition.task == nil else { return }
        if job.tasks.count == first + 1 {
            blocks[index].condition?.task = first
        } else {
            job.drop(tasksFrom: first)
            job.lose(place, "this \(program) is no single task: it was left out, with what depends on it")
            (blocks[index].condition, blocks[index].isLeftOut) = (nil, true)
        }
    }
}
