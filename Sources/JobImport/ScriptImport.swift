/// Translates the curl, wget and aria2c commands of a shell script; its other commands become warnings.
struct ScriptImport {
    /// Name of the file.
    let file: String
    /// The loops, conditions and groups that are open.
    var blocks: [Block] = []
    /// The folder that `cd` of a subshell went to; `nil` for the one that the script began in.
    var folder: String?
    /// Variables whose text is put in the place of their names.
    var inlined: [String: String] = [:]
    /// The command that is read, and those after it.
    var rest: ArraySlice<ShellCommand> = []
    /// The time that `timeout` gives the command that is read.
    var timeLimit: String?
    /// A variable that is set for the command that is read and changes what curl and wget do.
    var isSet: String?
    /// Whether the next group is the body of a function.
    var isFunction = false
    /// The list of commands that is read.
    var list = ScriptList()
    /// What all commands depend on that come next in the group, the loop or the script that is read.
    var scope = ScriptFlow()
    /// What the transfer in a substitution of the next command made of its status.
    var answered: ScriptStatus?
    /// What is known of the script's functions.
    var functions = Functions()
    /// What `set` has said so far.
    var options = ShellOptions()
    /// The first command whose failure would have ended the script, and its line.
    var doubtful: (program: String, line: Int)?
    /// Whether that was warned of.
    var isTold = false
    /// What the commands that are not translated may have done to files.
    var files = ScriptFiles()
    /// What the script sets for the programs that it runs.
    var settings = Settings()
    /// Whether the script has one transfer and no more.
    let isOnlyTransfer: Bool
    /// The tasks that say what the command does which is read, where it has none of its own.
    var merged: [Int]?

    /// What is known of a script's functions.
    struct Functions {
        /// Name of the one that was read last.
        var last = ""
        /// Functions that may end the script.
        var exits: Set<String> = []
        /// Functions that may go to another folder.
        var movers: Set<String> = []
    }

    /// What a script sets for the programs that it runs.
    struct Settings {
        /// The proxies of its transfers.
        var proxies = ScriptProxies()
        /// Mode of the files that they make; `nil` where the script says none.
        var mode: String?
    }

    /// A compound command that has begun.
    struct Block {
        /// Its first word.
        let word: String
        /// Whether its commands are left out.
        var isLeftOut: Bool
        /// Whether it is the body of a function.
        let isFunction: Bool
        /// The folder before it began; `nil` for the script's own.
        let folder: String?
        /// Whether that folder is known.
        let isFolderKnown: Bool
        /// The settings outside of it.
        let settings: Settings
        /// Number of the tasks before it.
        let first: Int
        /// The line that it begins in.
        let line: Int
        /// Where all goes that its commands print; `nil` where they print it themselves.
        let sink: Sink?
        /// Whether a failure outside of it ends the script.
        let endsOnError: Bool
        /// The first command before it of which it is not known whether its failure ends the script.
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
        /// How many transfers stand in it, where it is a loop.
        var transfers = 0
        /// How it tries what it runs, where it does nothing else.
        var retry: RetryLoop?
        /// Whether it is left out, and what comes after it waits for what it waits for.
        var waits = false
        /// The transfer of `if curl …; then`.
        var condition: Condition?
    }

    /// A transfer on whose success others depend.
    struct Condition {
        /// Its place in the job's list; `nil` before it was translated.
        var task: Int?
        /// What must become of it for the commands that are read to run.
        var when: String
        /// Whether a `!` stands before it.
        let isNegated: Bool
        /// Whether the script may end where it is not met.
        let mayExit: Bool
    }

    /// Adds the transfers of a script to a job.
    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        let script = ShellScript(text, answers: job.answerCount, variables: job.script.texts)
        job.answerCount = script.answerCount
        let known = ShellLoop.withoutLastLines(ScriptGuard.withoutPrinters(script.commands))
        let commands = ScriptGuard.simplified(
            RetryLoop.simplified(ChecksumTest.simplified(FileTest.simplified(known))))
        var reader = ScriptImport(file: file, isOnlyTransfer: commands.count { $0.transfer != nil } == 1)
        if let first = text.split(whereSeparator: \.isNewline).first, first.hasPrefix("#!") {
            reader.set(first.split(separator: " ").dropFirst().map { String($0) })
        }
        for line in script.brokenLines {
            job.lose(ImportPlace(file: file, line: line), "a quote or a here-document that begins here has no end")
        }
        job.script.concealed.formUnion(script.secretNames)
        for variable in script.variables.dropFirst(job.script.texts.count) {
            // A user in it is taken out of the URL where it is used.
            if variable.value.contains("://"), URLText(variable.value).user != nil {
                reader.inlined[variable.name] = variable.value
            } else {
                job.define(variable.name, variable.value)
            }
        }
        var previous: ShellCommand?
        for (index, command) in commands.enumerated() {
            reader.tellOfHidden(command, &job)
            if reader.blocks.last?.word == "case", Self.isPattern(index, commands) { continue }
            reader.rest = commands[index...]
            job.number = index
            // A pipe leads past the transfers of a command's substitutions.
            let isSubstituted = command.answer != nil
            reader.list.begin(after: previous?.end)
            reader.add(command, after: isSubstituted ? nil : previous, to: &job)
            if !isSubstituted { previous = command }
        }
        if commands.count > 1 {
            job.note(
                "A script runs its commands one after the other; a job runs its tasks beside each other, but for `needs`."
            )
        }
    }

    private init(file: String, isOnlyTransfer: Bool) {
        self.file = file
        self.isOnlyTransfer = isOnlyTransfer
    }

    static let openers: Set<String> = ["for", "while", "until", "if", "case", "select"]
    /// Words that end a compound command, by the words with which it begins.
    static let ends: [String: Set<String>] = [
        "done": ["for", "while", "until", "select"], "fi": ["if"], "esac": ["case"], "}": ["{"], ")": ["("],
    ]
    /// Commands whose absence changes nothing of the transfers.
    static let harmless: Set<String> = [
        "set", "echo", "printf", ":", "true", "exit", "mkdir", "sleep", "wait", "shopt", "umask", "trap", "date",
        "export", "readonly", "unset", "local", "declare", "typeset", "false", "return", "break", "continue",
    ]
    /// Commands that end the script, a function or a turn of a loop.
    static let stops: Set<String> = ["exit", "return", "break", "continue"]
    /// Whether a command is one of the patterns before a `)` of `case`.
    private static func isPattern(_ index: Int, _ commands: [ShellCommand]) -> Bool {
        var index = index
        while index < commands.count, commands[index].end == "|" { index += 1 }
        return index + 1 < commands.count && commands[index + 1].words.first?.text == ")"
            && commands[index].words.count == 1
    }

    private mutating func add(_ command: ShellCommand, after previous: ShellCommand?, to job: inout ImportedJob) {
        let place = ImportPlace(file: file, line: command.line)
        if let guarded = command.guarded { return pass(guarded, place, &job) }
        for (name, value, isExported) in command.assigned
        where !settings.proxies.take(name, value, isExported: isExported, job) {
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
                open("if", words, job)
                blocks[blocks.count - 1].condition = condition
                words = words.dropFirst(condition.isNegated ? 2 : 1)
            } else if let retry = retryLoop(words, &job) {
                open(first.text, words, job)
                blocks[blocks.count - 1].retry = retry
                if first.text == "for" { return }
                // Its condition is the transfer.
                words = words.dropFirst(first.text == "while" ? 2 : 1)
            } else if let loop = loop(words, previous, &job) {
                open(first.text, words, job)
                blocks[blocks.count - 1].loop = loop
                // What its body writes is there in the next turn.
                let body = rest[..<(Self.end(ofLoop: rest) ?? rest.startIndex)].dropFirst()
                blocks[blocks.count - 1].transfers = body.count { $0.transfer != nil }
                for command in body
                where command.transfer == nil && !command.words.contains(where: { $0.text.contains("${\(loop.name)") })
                {
                    noteFiles(command, job)
                }
                job.loops.append(loop)
                return
            } else if Self.openers.contains(first.text) {
                openCompound(words, isLeftOut: true, place, &job)
                guard ["if", "while", "until"].contains(first.text) else { return }
                words.removeFirst()
            } else if first.text == "function" || first.text.hasSuffix("()") {
                let name = first.text == "function" ? words.dropFirst().first?.text ?? "" : first.text
                isFunction = true
                functions.last = String(name.prefix { $0 != "(" })
                files.define(functions.last)
                job.lose(place, "`\(name.prefix(40))` is not translated: the commands in it are left out")
                words = words.dropFirst(first.text == "function" ? 2 : 1)
            } else if first.text == "{" || first.text == "(" {
                openCompound(words, isLeftOut: previous?.end == "|", place, &job)
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
        guard !words.isEmpty else {
            if !blocks.contains(where: \.isLeftOut) { tellOfWriting(command, ">", place, &job) }
            return noteFiles(command, job)
        }
        if words.count == 1, words.first?.text == "exec" {
            for redirection in command.redirections where !redirection.sign.hasPrefix("2") && !redirection.word.isNoFile
            {
                let file = (redirection.word.unknown ?? redirection.word.text).prefix(40)
                job.lose(
                    place, "`exec \(redirection.sign) \(file)` is not translated: the job neither reads nor writes it")
            }
            noteFiles(command, job)
            return list.end(.succeeds)
        }
        guard let (program, arguments) = strip(words, place, &job) else {
            noteFiles(command, job)
            return list.end(.unknown("a command before it decides whether it runs"))
        }
        let before = job.tasks.count
        merged = nil
        run(program, arguments, command, previous, place, &job)
        let made = merged ?? Array(before..<max(before, job.tasks.count))
        if command.end == "&" { job.runBeside(tasksFrom: before) }
        follow(program, arguments, command, made, words.first?.text == "!", &job)
    }

    /// Notes the files that a command which is not translated may write.
    private mutating func noteFiles(_ command: ShellCommand, _ job: ImportedJob) {
        files.note(command, folder, job, in: blocks.contains(where: \.isFunction) ? functions.last : nil)
        guard blocks.isEmpty, folder == nil, files.isFolderKnown, scope.reason == nil, list.runs == ScriptFlow(),
            [";", "\n"].contains(command.end), list.isAlone
        else { return }
        // `cat > FILE <<X`, `echo TEXT > FILE`.
        let target = command.redirections.first { !$0.sign.hasPrefix("<") }
        let others = command.redirections.filter { !$0.sign.hasPrefix("<<") }
        guard let target, target.sign == ">", others.count == 1 else { return }
        var printing = command
        (printing.redirections, printing.end) = ([], "|")
        let isCat = command.words.map(\.text) == ["cat"]
        let reader = isCat ? command : ShellCommand(line: command.line)
        if isCat ? command.input != nil : command.input == nil, case .text(let text) = Self.input(of: reader, printing)
        {
            files.write(text, to: target.word)
        }
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
                if blocks.contains(where: \.isFunction) { functions.movers.insert(functions.last) }
            }
        } else if let check = command.check, let verified = verify(check, &job) {
            merged = verified
        } else if ["curl", "wget", "aria2c"].contains(program) {
            transfer(program, arguments, command, previous, place, &job)
        } else if program == "cd", blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }) {
            changeFolder(arguments, place, &job)
        } else if program == "xargs", let xargs = XArgs(arguments, linesOf: command.inputFile ?? previous?.catFile),
            ["curl", "wget"].contains(xargs.program)
        {
            open("xargs", [], job, sink: sink(of: command, before: rest.dropFirst()))
            blocks[blocks.count - 1].loop = xargs.loop
            blocks[blocks.count - 1].transfers = 1
            job.loops.append(xargs.loop)
            var command = command
            command.redirections = []
            transfer(xargs.program, xargs.words, command, nil, place, &job)
            job.loops.removeLast()
            close(blocks.count - 1)
        } else if let transfer = command.transfer {
            job.lose(place, "`\(program.prefix(40))` is not translated: the \(transfer) that it runs was left out")
        } else if program == "cat", isReadNext(command) {
            return
        } else if program == "cat", command.redirections.contains(where: { $0.sign.hasSuffix(">") }) {
            tellOfWriting(command, program, place, &job)
        } else if program == "umask", setMode(arguments) || arguments.isEmpty {
            return
        } else if program == "sleep" {
            pause(arguments, place, &job)
        } else if program == "wait" {
            job.marks.joins.append(job.tasks.count)
        } else if Self.harmless.contains(program), !["umask", "trap"].contains(program) {
            tellOfWriting(command, program, place, &job)
        } else if !isNamed(command, program) {
            if ["cd", "pushd", "popd"].contains(program) { files.isFolderKnown = false }
            tellOf(program, previous, place, &job)
        }
    }

    /// Notes what a command means for those after it. `made` are the tasks that it became.
    private mutating func follow(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ made: [Int],
        _ isNegated: Bool, _ job: inout ImportedJob
    ) {
        if !isNegated, command.check == nil, isFailureFine { for index in made { job.tolerate(index) } }
        var status = status(program, made)
        if isNegated { status = status.negated }
        if !made.isEmpty {
            files.note(besides: command, folder, job)
        } else if program != "cat" || !isReadNext(command) {
            noteFiles(command, job)
        }
        if command.answer != nil { answered = status }
        if functions.movers.contains(program) { files.isFolderKnown = false }
        if ["export", "unset", "declare", "typeset"].contains(program) {
            settings.proxies.change(arguments.compactMap(\.literal))
        }
        if program == "set" { set(arguments.compactMap(\.literal)) }
        let isRetry = program == "break" && blocks.last?.retry != nil && list.runs.reason == nil
        if Self.stops.contains(program) || functions.exits.contains(program), !isRetry {
            stop(program, command.line, isCertain: Self.stops.contains(program))
            return list.end(nil)
        }
        list.end(status)
        // A loop that waits for something lets nothing after it run before that.
        if let loop = blocks.first(where: \.waits), program == "sleep" || command.transfer != nil {
            stop(program, loop.line, as: "the loop", isCertain: false)
        }
        if command.words.first?.text == "exec" { stop("exec", command.line) }
        let isLast = !["&&", "||", "&"].contains(command.end) && (command.end != "|" || options.failsInPipes)
        guard options.endsOnError, isLast, !isNegated, blocks.allSatisfy({ !$0.isCondition && !$0.isFunction }) else {
            return
        }
        if !made.isEmpty || CommandStatus.isTest(program, arguments) {
            stop("set -e", command.line, where: ScriptFlow(status.negated), as: "under `set -e` `\(program)`")
        } else if !Self.harmless.contains(program), !CommandStatus.safe.contains(program) {
            doubtful = doubtful ?? (program, command.line)
        }
    }

    /// Follows a guard. What comes after it needs the transfer whose answer it asks for; of another variable the run knows
    /// whether it is there.
    private mutating func pass(_ guarded: ScriptGuard, _ place: ImportPlace, _ job: inout ImportedJob) {
        defer { list.end(.succeeds) }
        guard !blocks.contains(where: \.isFunction) else {
            if guarded.end == "exit" { functions.exits.insert(functions.last) }
            return
        }
        for operand in guarded.operands {
            if let (number, _) = AnswerValue.references(in: operand.text).first {
                let task = job.tasks.firstIndex { $0.gives(number) }
                stop(guarded.end, place.line, where: task.map { ScriptFlow(.failureOf([$0])) } ?? ScriptFlow())
            } else if operand.unknown == nil, let text = JobText.plain(job.filled(operand.text)) {
                if text.isEmpty { stop(guarded.end, place.line) }
            } else {
                let name = operand.unknown ?? "$" + operand.text.dropFirst(6).prefix { $0 != ":" && $0 != "}" }
                let hint = operand.unknown == nil ? ": a job does not begin without a variable that it uses" : ""
                job.lose(place, "the guard of `\(name.prefix(40))` is not translated\(hint)")
                if operand.unknown == nil { job.script.guarded.insert(String(name.dropFirst())) }
            }
        }
    }

    private func status(_ program: String, _ made: [Int]) -> ScriptStatus {
        if !made.isEmpty { return .tasks(made) }
        if program == "false" { return .fails }
        if program == "cd", isOptional { return .unknown("`cd` decides whether it runs") }
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
    private mutating func stop(
        _ name: String, _ line: Int, where condition: ScriptFlow = ScriptFlow(), as typed: String? = nil,
        isCertain: Bool = true
    ) {
        let shown = (typed ?? "`\(name)`") + " in line \(line)"
        var runs = list.runs.and(condition)
        scope = scope.and(runs.past(shown, isCertain: isCertain))
        for index in blocks.indices.reversed() {
            let block = blocks[index]
            if block.isFunction {
                if name != "return" { functions.exits.insert(functions.last) }
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
            blocks[index].scope = block.scope.and(runs.past(shown, isCertain: isCertain))
        }
    }

    /// Follows `umask`, whose mode all files have that are made from then on. Returns `false` where only the shell knows it.
    private mutating func setMode(_ arguments: ArraySlice<ShellWord>) -> Bool {
        guard arguments.count == 1, let mask = arguments.first?.literal.flatMap({ Int($0, radix: 8) }),
            (0...0o777).contains(mask), blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }),
            scope.and(list.runs) == ScriptFlow()
        else { return false }
        let digits = String(0o666 & ~mask, radix: 8)
        settings.mode = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return true
    }

    /// Follows `sleep`: what comes after it waits for what is before it.
    private func pause(_ arguments: ArraySlice<ShellWord>, _ place: ImportPlace, _ job: inout ImportedJob) {
        guard blocks.last?.retry == nil else { return }
        let isInLoop = blocks.contains { $0.loop != nil }
        let rest =
            isInLoop
            ? "`requestsPerSecond` of a session spaces requests" : "what follows waits for the end of what is before it"
        let message = "`sleep\(arguments.first?.literal.map { " \($0.prefix(10))" } ?? "")` is not translated: \(rest)"
        if isInLoop { job.lose(place, message) } else if !job.tasks.isEmpty { job.pause = (place, message) }
        job.marks.pauses.append(job.tasks.count)
    }

    /// Whether a shell runs what a transfer of the command prints, as in `source <(curl …)`: that transfer was named.
    private func isNamed(_ command: ShellCommand, _ program: String) -> Bool {
        !command.hidden.isEmpty && ["source", ".", "eval", "sh", "bash", "zsh"].contains(program)
    }

    // MARK: Compound commands

    /// Opens a compound command. Groups and subshells run as they stand, unless a function or a condition holds them.
    private mutating func openCompound(
        _ words: ArraySlice<ShellWord>, isLeftOut: Bool, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let word = words.first?.text ?? ""
        if isLeftOut {
            let why = reason(leavingOut: words, job)
            job.lose(place, "`\(word)` is not translated, as \(why): the commands in it are left out")
        }
        open(word, words, job, isLeftOut: isLeftOut || isFunction, isFunction: isFunction)
        blocks[blocks.count - 1].waits = isLeftOut && waits(words)
        isFunction = false
    }

    private mutating func open(
        _ word: String, _ words: ArraySlice<ShellWord>, _ job: ImportedJob, isLeftOut: Bool = false,
        isFunction: Bool = false, sink: Sink? = nil
    ) {
        let entry = scope.and(list.runs)
        let isCondition = ["if", "while", "until"].contains(word)
        blocks.append(
            Block(
                word: word, isLeftOut: isLeftOut, isFunction: isFunction, folder: folder,
                isFolderKnown: files.isFolderKnown, settings: settings, first: job.tasks.count,
                line: rest.first?.line ?? 0, sink: sink ?? self.sink(ofCompound: words),
                endsOnError: options.endsOnError,
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
        if block.word == "(" || block.isFunction { settings = block.settings }
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
        if isLoop { job.loops.removeLast() }
        if let condition = blocks[index].condition, let task = condition.task, job.tasks.count == task + 1,
            !condition.mayExit
        {
            job.tolerate(task)
        }
        noteFiles(command, job)
        if command.end == "&" { job.runBeside(tasksFrom: blocks[index].first) }
        let (block, line) = (blocks[index], command.line)
        close(index)
        if let retry = block.retry, retry.attempts == nil {
            // Nothing comes after it before the transfer succeeds.
            let made = job.tasks.count > block.first ? ScriptFlow(.failureOf([block.first])) : ScriptFlow()
            stop(block.word, line, where: made)
        }
        guard !isLeftOut else { return }
        for redirection in command.redirections where !redirection.sign.hasPrefix("2") {
            // The list that the loop reads.
            if isLoop, redirection.sign.hasPrefix("<") { continue }
            if block.sink?.isTaken == true, redirection.sign.contains(">") { continue }
            job.lose(place, "`\(redirection.sign)` of a group is not translated")
        }
    }

    /// Whether `cat FILE |` gives its lines to a loop that was translated, or the file to a transfer.
    private func isReadNext(_ command: ShellCommand) -> Bool {
        guard let next = rest.dropFirst().first else { return false }
        if command.catText != nil { return next.ownTransfer == "curl" }
        return command.catFile != nil
            && (next.readName != nil || next.words.first?.text == "xargs" || next.ownTransfer == "curl")
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
        if isOptional { files.isFolderKnown = false }
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
}
