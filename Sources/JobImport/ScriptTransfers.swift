/// Translates a transfer of a script, with all that the script says about it around its own words.
extension ScriptImport {
    /// Translates a command of curl, wget or aria2c.
    mutating func transfer(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ previous: ShellCommand?,
        _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let arguments = Self.withFiles(Self.named(arguments, program), program)
        for what in Set(arguments.compactMap(\.unknown)).sorted() {
            return job.lose(
                place, "`\(what)` is known to the shell alone\(Self.hint(for: what)): this \(program) was left out")
        }
        for word in arguments where !word.isQuoted && word.reference != nil {
            let value = job.filled(word.text)
            if job.script.concealed.contains(String(word.reference ?? "")), value.contains(" "), !value.hasPrefix("-") {
                let shown = "`$\(word.reference ?? "")` without quotes is several words"
                return job.lose(place, "\(shown), and a secret: this \(program) was left out")
            }
        }
        let flow = scope.and(list.runs)
        if let name = settings.proxies.lost {
            return job.lose(place, "the proxy of `\(name)` is known to the shell alone: this \(program) was left out")
        }
        if flow.reason?.hasSuffix(ScriptFlow.running) == true {
            job.note(
                "Transfers that the script may not reach were left out: take what may end it before out and import again."
            )
        }
        if let reason = flow.reason { return job.lose(place, "\(reason): this \(program) was left out") }
        if command.redirections.contains(where: { $0.sign == ">>" || $0.sign == "1>>" }) {
            return job.lose(place, "`>>` has no equal: this \(program) was left out")
        }
        if let name = isSet {
            return job.lose(place, "`\(name)` before the command is not set here: this \(program) was left out")
        }
        list.pipe = pipe(after: command)
        if list.pipe == .lost, let next = rest.dropFirst().first?.afterSteps.first?.text.prefix(40) {
            let hint = "a job with this one transfer may stand there, `transfer-run JOB | \(next) …`"
            return job.lose(place, "the pipe into `\(next)` is not translated (\(hint)): this \(program) was left out")
        }
        if let pause = job.pause {
            job.pause = nil
            job.lose(pause.place, pause.message)
        }
        var output: String?
        for redirection in command.redirections { take(redirection, &output, program, place, &job) }
        let sink = command.answer == nil && output == nil ? blocks.reversed().lazy.compactMap(\.sink).first : nil
        if case .file(let file)? = sink { output = file }
        if sink == .nowhere { output = "/dev/null" }
        let words = self.words(arguments, program, place, &job)
        let before = job.tasks.count
        let own = folder == nil && files.isFolderKnown ? files.texts : [:]
        job.script.written = own.filter { path, _ in
            !job.tasks.contains { task in task.text("to").map { job.plainPath($0) == path } == true }
        }
        add(words, program, command, previous, output, place, &job)
        if case .lost(let shown)? = sink, job.tasks.dropFirst(before).contains(where: { $0.text("to") == "-" }) {
            job.drop(tasksFrom: before)
            return job.lose(place, "\(shown) has no equal: this \(program) was left out")
        }
        let loops = blocks.reversed().compactMap(\.loop)
        if loops.contains(where: { job.dropSecretLoop($0, tasksFrom: before) }) {
            return job.lose(place, "this \(program) goes over a list of secrets: it was left out")
        }
        arrange(tasksFrom: before, loops, &job)
        if let file = command.unlessThere { keep(file, tasksFrom: before, program, place, &job) }
        if output != nil, job.tasks.count > before + 1 {
            job.lose(place, "several answers in one file have no equal: each task has a file of its own")
        }
        if let answer = command.answer, job.tasks.count > before {
            take(
                answer,
                of: ParsedCommand(words, program == "curl" ? CurlOptions.table : WgetOptions.table, negates: true),
                program, tasksFrom: before, place, &job)
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

    private func add(
        _ words: [String], _ program: String, _ command: ShellCommand, _ previous: ShellCommand?, _ output: String?,
        _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        if program == "curl" {
            CurlCommand.add(words, place: place, to: &job, input: Self.input(of: command, previous), output: output)
            return
        }
        if previous?.end == "|" { job.lose(place, "the pipe into \(program) is not translated") }
        if program == "aria2c" {
            AriaCommand.add(words, place: place, to: &job)
        } else {
            WgetCommand.add(words, place: place, to: &job, output: output)
        }
    }

    /// Lets others take a value out of the answer of the one task from a number on; where there is none, it is left out.
    private func take(
        _ answer: AnswerValue, of parsed: ParsedCommand, _ program: String, tasksFrom before: Int, _ place: ImportPlace,
        _ job: inout ImportedJob
    ) {
        let more = [
            "-w", "--write-out", "-i", "--include", "--show-headers", "-D", "--dump-header", "-S", "--save-headers",
        ]
        let isAnswerAlone = !parsed.lost.contains { more.contains($0.option) } && blocks.allSatisfy { $0.word == "{" }
        if isAnswerAlone, job.take(answer, ofTasksFrom: before) { return }
        let format = parsed.value("write-out") ?? ""
        job.drop(tasksFrom: before)
        guard program == "curl", format.contains("http_code") || format.contains("response_code") else {
            return job.lose(place, "`\(answer.name)` is not set to a part of one answer: this \(program) was left out")
        }
        job.lose(
            place,
            "`\(answer.name)` is the status (`expect: { status: 200 }` of a task says which one is right): this curl was left out"
        )
    }

    /// Gives the tasks from a number on what the script around their command says: loops, folder, proxies, the mode of files.
    private mutating func arrange(tasksFrom first: Int, _ loops: [ShellLoop], _ job: inout ImportedJob) {
        if let timeLimit { job.limit(tasksFrom: first, to: timeLimit) }
        if let retry = blocks.last?.retry { job.retry(tasksFrom: first, as: retry) }
        for loop in loops { job.loop(tasksFrom: first, over: loop) }
        if let folder { job.move(tasksFrom: first, to: folder) }
        job.setProxy(settings.proxies.setting, tasksFrom: first)
        job.setMode(settings.mode, tasksFrom: first)
        guard !loops.isEmpty, job.tasks.count > first, job.tasks[first...].contains(where: \.sends) else { return }
        let isAlone = job.tasks.count == first + 1 && blocks.allSatisfy { $0.loop == nil || $0.transfers == 1 }
        if isAlone, job.tasks[first].cookieJar == nil {
            job.serialize(tasksFrom: first)
        } else {
            job.tell(first, "a job keeps the order of its commands in each turn of the loop, but not of the turns")
        }
    }

    /// What becomes of what a transfer prints into a pipe.
    enum Pipe: Sendable {
        /// Printed: the pipe only shows a part of it.
        case shown
        /// Printed by a job that prints nothing else, which may stand in such a pipe.
        case alone
        /// Used by a program in a way that a job does not know.
        case lost
    }

    /// Programs that show a part of what they read.
    private static let filters: Set<String> = [
        "jq", "grep", "egrep", "fgrep", "head", "tail", "wc", "less", "more", "cat", "sort", "uniq", "column", "tr",
        "cut", "sed", "awk",
    ]

    /// What becomes of what the transfer prints that is read; `nil` where nothing is piped.
    private func pipe(after command: ShellCommand) -> Pipe? {
        guard command.end == "|", command.answer == nil else { return nil }
        let isAlone = isOnlyTransfer && blocks.allSatisfy { $0.loop == nil && $0.retry == nil }
        return Self.isShown(rest.dropFirst()) ? .shown : isAlone ? .alone : .lost
    }

    /// Whether the commands behind a pipe only show a part of what they read.
    static func isShown(_ next: ArraySlice<ShellCommand>) -> Bool {
        let programs = next.prefix { $0.end == "|" } + next.drop { $0.end == "|" }.prefix(1)
        return programs.allSatisfy { part in
            filters.contains(part.afterSteps.first?.text ?? "") && part.redirections.allSatisfy { $0.word.isNoFile }
        }
    }

    /// Why the turns of a loop that ends at the first failure cannot be tasks.
    private static func reason(_ loops: [ShellLoop], _ tasks: [ImportedTask]) -> String? {
        let sends = tasks.contains(where: \.sends)
        return sends && loops.contains { $0.count != 1 } ? "`set -e` ends the loop where one turn fails" : nil
    }

    /// Lets the tasks from a number on depend on those that the script makes them depend on, or be the condition of the `if`
    /// that is read.
    mutating func depend(
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
            merged = [other]
            return
        }
        if let other = flow.failed.first(where: { job.writeOneFile(first, $0) }) {
            let file = job.tasks[other].text("to") ?? ""
            job.drop(tasksFrom: first)
            files.mayHold(file, job)
            return job.lose(
                place,
                "it writes `\(file.prefix(40))` where line \(job.tasks[other].place.line) fails, and asks otherwise "
                    + "(the same options, with `-f` and `-L` of curl, make one task with `urls: [A, B]`): this \(program) was left out"
            )
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
        for other in flow.failed { job.tasks[other].asksOnce = true }
        let when = flow.failed.isEmpty ? condition?.task == nil ? nil : "succeeded" : "failed"
        job.join(tasksFrom: first, after: flow.needed + flow.failed, when: when)
        guard let index, let condition, condition.task == nil else { return }
        if job.tasks.count == first + 1 {
            blocks[index].condition?.task = first
            job.tasks[first].asksOnce = true
        } else {
            job.drop(tasksFrom: first)
            job.lose(place, "this \(program) is no single task: it was left out, with what depends on it")
            (blocks[index].condition, blocks[index].isLeftOut) = (nil, true)
        }
    }
}
