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

    /// `[ -f F ] || curl …`, or `[ ! -f F ] && curl …` that ends the list. A group may stand there.
    private static func list(_ commands: [ShellCommand], _ start: Int) -> ([ShellCommand], next: Int)? {
        let steps = ShellScript.opening(commands[start])
        guard start + 1 < commands.count, let test = test(commands[start].words.dropFirst(steps.count)),
            commands[start].end == (test.isThere ? "||" : "&&")
        else { return nil }
        var next = commands[start + 1]
        if next.words.first?.text == "{" {
            guard let end = ScriptImport.end(ofCompound: next.words[...], commands[(start + 1)...]), ends(commands[end])
            else {
                return nil
            }
            next.words.removeFirst()
            let body = (next.words.isEmpty ? [] : [next]) + commands[(start + 2)..<end]
            return marked(body, test.file, steps).map { ($0, end + 1) }
        }
        guard isTransfer(next), [";", "\n"].contains(next.end) || test.isThere && ["||", "&&"].contains(next.end) else {
            return nil
        }
        next.words = steps + next.words
        next.unlessThere = test.file
        return ([next], start + 2)
    }

    /// `if [ ! -f F ]; then curl …; fi`, or the same behind `else`.
    private static func condition(_ commands: [ShellCommand], _ start: Int) -> ([ShellCommand], next: Int)? {
        let steps = ShellScript.opening(commands[start])
        let words = commands[start].words.dropFirst(steps.count)
        guard words.first?.text == "if", let test = test(words.dropFirst()), [";", "\n"].contains(commands[start].end),
            let end = ScriptImport.end(ofCompound: words, commands[start...]), ends(commands[end])
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
        guard branches.count == 1 else { return nil }
        return marked(branches[0], test.file, steps).map { ($0, end + 1) }
    }

    /// Whether a command ends a compound one, whose status and output nothing uses.
    private static func ends(_ command: ShellCommand) -> Bool {
        command.words.count == 1 && command.redirections.isEmpty && [";", "\n"].contains(command.end)
    }

    private static func isTransfer(_ command: ShellCommand) -> Bool {
        command.ownTransfer != nil && !command.words.contains { $0.text == "!" || $0.text == "{" }
    }

    /// The commands with a transfer that knows the file without which it runs; `nil` where they do more than fetch it. What stands
    /// behind its `||` runs where it fails, and not where it is passed over.
    private static func marked(_ commands: [ShellCommand], _ file: ShellWord, _ steps: [ShellWord]) -> [ShellCommand]? {
        var body = commands
        guard let place = body.firstIndex(where: { $0.ownTransfer != nil }), isTransfer(body[place]),
            body[..<place].allSatisfy(isQuiet)
        else { return nil }
        var rest = body[(place + 1)...]
        if body[place].end == "||" {
            guard let first = rest.first, [";", "\n"].contains(first.end) else { return nil }
            let isGroup = first.words.first?.text == "{"
            let failing = isGroup ? rest.prefix { $0.words.first?.text != "}" } : rest.prefix(1)
            guard failing.allSatisfy({ isQuiet($0) || ScriptImport.stops.contains($0.afterSteps.first?.text ?? "") })
            else {
                return nil
            }
            rest = rest.dropFirst(failing.count + (isGroup ? 1 : 0))
        } else if ![";", "\n"].contains(body[place].end) {
            return nil
        }
        guard rest.allSatisfy(isQuiet) else { return nil }
        body[place].unlessThere = file
        body[0].words = steps + body[0].words
        return body
    }

    private static func isQuiet(_ command: ShellCommand) -> Bool {
        (command.isAssignment || quiet.contains(command.afterSteps.first?.text ?? "")) && command.hidden.isEmpty
            && command.redirections.allSatisfy { $0.word.isNoFile }
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
