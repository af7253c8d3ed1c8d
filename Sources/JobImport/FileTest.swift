/// A test whether a file is there, before the transfer that makes it: `[ -f F ] || curl -o F …`. It becomes `existing: skip`.
enum FileTest {
    /// Commands that may stand beside the transfer.
    private static let quiet: Set<String> = ["echo", "printf", ":", "true", "mkdir"]

    /// The commands with the transfer alone in the place of each such test, which it then knows.
    static func simplified(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        var index = 0
        while index < commands.count {
            let isFirst = result.last.map { [";", "\n", "&", "("].contains($0.end) } != false
            if isFirst, let (body, next) = list(commands, index) ?? condition(commands, index) {
                result += body
                index = next
            } else {
                result.append(commands[index])
                index += 1
            }
        }
        return result
    }

    /// `[ -f F ] || curl …`, or `[ ! -f F ] && curl …` that ends the list.
    private static func list(_ commands: [ShellCommand], _ start: Int) -> ([ShellCommand], next: Int)? {
        let steps = ShellScript.opening(commands[start])
        guard start + 1 < commands.count, let test = test(commands[start].words.dropFirst(steps.count)),
            commands[start].end == (test.isThere ? "||" : "&&")
        else { return nil }
        var transfer = commands[start + 1]
        guard transfer.ownTransfer != nil, !transfer.words.contains(where: { $0.text == "!" || $0.text == "{" }),
            [";", "\n"].contains(transfer.end) || test.isThere && ["||", "&&"].contains(transfer.end)
        else { return nil }
        transfer.words = steps + transfer.words
        transfer.unlessThere = test.file
        return ([transfer], start + 2)
    }

    /// `if [ ! -f F ]; then curl …; fi`, or the same behind `else`, with commands that change nothing of it.
    private static func condition(_ commands: [ShellCommand], _ start: Int) -> ([ShellCommand], next: Int)? {
        let steps = ShellScript.opening(commands[start])
        let words = commands[start].words.dropFirst(steps.count)
        guard words.first?.text == "if", let test = test(words.dropFirst()), [";", "\n"].contains(commands[start].end),
            let end = ScriptImport.end(ofCompound: words, commands[start...]), commands[end].words.count == 1,
            commands[end].redirections.isEmpty, [";", "\n"].contains(commands[end].end)
        else { return nil }
        var branches: [[ShellCommand]] = []
        for var command in commands[(start + 1)..<end] {
            let first = command.words.first
            if first?.isQuoted == false, first?.text == "then" || first?.text == "else" {
                branches.append([])
                command.words.removeFirst()
            } else if first?.text == "elif" || branches.isEmpty {
                return nil
            }
            if !command.words.isEmpty { branches[branches.count - 1].append(command) }
        }
        if test.isThere {
            guard branches.count == 2, branches[0].allSatisfy(isQuiet) else { return nil }
            branches.removeFirst()
        }
        guard branches.count == 1, var body = branches.first,
            let place = body.firstIndex(where: { $0.ownTransfer != nil }), body[..<place].allSatisfy(isQuiet),
            body.last.map({ [";", "\n"].contains($0.end) }) == true,
            !body[place].words.contains(where: { $0.text == "!" })
        else { return nil }
        // What comes behind `||` runs where the transfer fails, and not where it is passed over.
        let chain = body[place...].prefix { $0.end == "||" }
        let rest = body[place...].dropFirst(chain.count)
        let isFailing = chain.isEmpty || chain.count == 1 && body[place].end == "||"
        guard isFailing, rest.dropFirst().allSatisfy({ isQuiet($0) || $0.words.first?.text == "}" || stops($0) }),
            chain.isEmpty
                || rest.first.map({ $0.ownTransfer == nil && (stops($0) || isQuiet($0) || $0.words.first?.text == "{") }
                )
                    == true
        else { return nil }
        if chain.isEmpty, rest.dropFirst().contains(where: stops) || ["&&", "|", "&"].contains(body[place].end) {
            return nil
        }
        body[place].unlessThere = test.file
        body[0].words = steps + body[0].words
        return (body, end + 1)
    }

    private static func isQuiet(_ command: ShellCommand) -> Bool {
        quiet.contains(command.afterSteps.first?.text ?? "") && command.hidden.isEmpty
            && command.redirections.allSatisfy { $0.word.isNoFile }
    }

    private static func stops(_ command: ShellCommand) -> Bool {
        ScriptImport.stops.contains(command.afterSteps.first?.text ?? "")
    }

    /// The file of `[ -f F ]` or `[ ! -e F ]`, and whether the test succeeds where it is there; `nil` for another command.
    private static func test(_ words: ArraySlice<ShellWord>) -> (file: ShellWord, isThere: Bool)? {
        var words = words
        var isThere = true
        if words.first?.text == "!", words.first?.isQuoted == false {
            isThere = false
            words.removeFirst()
        }
        guard let first = words.popFirst()?.text, ["[", "[[", "test"].contains(first) else { return nil }
        if first != "test" {
            guard words.popLast()?.text == (first == "[" ? "]" : "]]") else { return nil }
        }
        if words.first?.text == "!" {
            isThere.toggle()
            words.removeFirst()
        }
        guard words.count == 2, let option = words.first?.text, ["-f", "-e"].contains(option), let file = words.last
        else {
            return nil
        }
        return (file, isThere)
    }
}

extension ScriptImport {
    /// Lets the one task from a number on keep the file that is there, as its script does. Where it writes another file, or one
    /// that a task before it writes, it is left out.
    func keep(
        _ file: ShellWord, tasksFrom first: Int, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        let path = job.plainPath(ImportedTask.path(file.text, in: folder, job))
        guard job.tasks.count > first else { return }
        if job.tasks.count == first + 1, file.unknown == nil, job.tasks[first].writesFile,
            job.tasks[first].sharedFile == nil, job.tasks[first].text("to").map(job.plainPath) == path,
            !job.tasks[..<first].contains(where: { $0.text("to").map(job.plainPath) == path })
        {
            return job.tasks[first].set("existing", .text("skip"))
        }
        job.drop(tasksFrom: first)
        let shown = (file.unknown ?? file.text).prefix(40)
        job.lose(
            place,
            "whether `\(shown)` is there decides whether it runs, and it writes another file: this \(program) was left out"
        )
    }
}
