/// A command that verifies files by their checksums, `echo "HASH  FILE" | sha256sum -c`. It becomes `checksum` of the transfers
/// that make them.
struct ChecksumTest: Sendable {
    /// What holds the checksums.
    enum Source: Sendable {
        /// Lines of hashes and names.
        case lines([(hash: String, file: String)])
        /// A file.
        case list(ShellWord)
        /// The lines of a file in which `grep` finds a text.
        case found(String, in: ShellWord)
    }

    /// `sha256` and its like.
    let algorithm: String
    let source: Source

    private static let programs = [
        "sha256sum": "sha256", "sha512sum": "sha512", "sha1sum": "sha1", "md5sum": "md5", "shasum": "sha1",
    ]
    private static let quietOptions: Set<String> = ["-s", "--status", "-q", "--quiet", "--strict", "-w", "--warn", "-"]

    /// The commands with one in the place of each such test and what it reads.
    static func simplified(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        for command in commands {
            guard case (let algorithm, var operands)? = checked(command) else {
                result.append(command)
                continue
            }
            operands.removeAll { $0.text == "-" }
            let previous = result.last?.end == "|" ? result.last : nil
            guard let source = source(of: command, operands, previous) else {
                result.append(command)
                continue
            }
            var test = command
            if let previous {
                let steps = previous.words.count - previous.afterSteps.count
                let grammar =
                    previous.words.prefix(steps) + previous.afterSteps.prefix { ["if", "!"].contains($0.text) }
                test.words = grammar + test.words
                result.removeLast()
            }
            test.input = nil
            test.check = ChecksumTest(algorithm: algorithm, source: source)
            result.append(test)
        }
        return withEnds(result)
    }

    /// The algorithm of `sha256sum -c`, and its operands; `nil` for another command.
    private static func checked(_ command: ShellCommand) -> (String, [ShellWord])? {
        var words = command.afterSteps.drop { ["if", "!"].contains($0.text) }
        guard let program = words.popFirst()?.literal, var algorithm = programs[program],
            command.redirections.allSatisfy({ $0.sign.hasPrefix("<") || $0.word.isNoFile }), command.hidden.isEmpty
        else { return nil }
        var operands: [ShellWord] = []
        var checks = false
        while let word = words.popFirst() {
            let text = word.text
            if ["-c", "--check"].contains(text) {
                checks = true
            } else if program == "shasum", ["-a", "--algorithm"].contains(text), let bits = words.popFirst()?.literal {
                algorithm = "sha\(bits)"
            } else if program == "shasum", text.hasPrefix("-a") {
                algorithm = "sha\(text.dropFirst(2))"
            } else if !text.hasPrefix("-") || text == "-" {
                operands.append(word)
            } else if !quietOptions.contains(text) {
                return nil
            }
        }
        return checks && programs.values.contains(algorithm) ? (algorithm, operands) : nil
    }

    private static func source(_ text: String) -> Source? {
        var lines: [(hash: String, file: String)] = []
        for line in text.split(separator: "\n") {
            let hash = line.prefix { $0 != " " }
            let file = line.dropFirst(hash.count + 1)
            guard file.first == " " || file.first == "*", file.count > 1 else { return nil }
            lines.append((String(hash), String(file.dropFirst())))
        }
        return lines.isEmpty ? nil : .lines(lines)
    }

    private static func source(
        of command: ShellCommand, _ operands: [ShellWord], _ previous: ShellCommand?
    ) -> Source? {
        if let file = operands.first {
            return operands.count == 1 && file.unknown == nil && previous == nil ? .list(file) : nil
        }
        guard var printing = previous else {
            guard case .text(let text) = ScriptImport.input(of: command, nil) else { return nil }
            return source(text)
        }
        printing.words = Array(printing.afterSteps.drop { ["if", "!"].contains($0.text) })
        if printing.words.first?.text == "grep" { return found(printing) }
        // The format with which a script prints one line.
        let formats = ["%s  %s\\n", "%s *%s\\n"].map { JobText.literal($0) }
        if printing.words.count == 4, printing.words[0].text == "printf", formats.contains(printing.words[1].text),
            printing.words.allSatisfy({ $0.unknown == nil })
        {
            return .lines([(printing.words[2].text, printing.words[3].text)])
        }
        guard case .text(let text) = ScriptImport.input(of: command, printing) else { return nil }
        return source(text)
    }

    private static func found(_ grep: ShellCommand) -> Source? {
        let words = grep.words.dropFirst().filter { !$0.text.hasPrefix("-") }
        let options = grep.words.dropFirst().filter { $0.text.hasPrefix("-") }.map(\.text)
        guard words.count == 2, words.allSatisfy({ $0.unknown == nil }), grep.redirections.isEmpty,
            options.allSatisfy({ $0.dropFirst().allSatisfy { "FEwxe".contains($0) } })
        else { return nil }
        // ` FILE$` with its dots as they are, or escaped.
        var text = words[0].text.replacing("\\.", with: ".")[...]
        text = text.drop { " *".contains($0) }
        if text.hasSuffix("$$") { text = text.dropLast(2) }
        return text.isEmpty ? nil : .found(String(text), in: words[1])
    }

    /// The commands with `CHECK || exit` in the place of `if ! CHECK; then …; exit; fi`.
    private static func withEnds(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        var index = 0
        while index < commands.count {
            var command = commands[index]
            let steps = ShellScript.opening(command)
            let words = command.words.dropFirst(steps.count)
            guard command.check != nil, words.first?.text == "if", words.dropFirst().first?.text == "!",
                [";", "\n"].contains(command.end), index + 1 < commands.count,
                commands[index + 1].words.first?.text == "then",
                let (end, next) = ScriptGuard.ending(commands, index + 1, closing: "fi", [])
            else {
                result.append(command)
                index += 1
                continue
            }
            command.words = steps + words.dropFirst(2)
            command.end = "||"
            result += [
                command,
                ShellCommand(line: commands[next - 1].line, words: [ShellWord(text: end)], end: commands[next - 1].end),
            ]
            index = next
        }
        return result
    }
}

extension ScriptImport {
    /// Lets the transfers that made the files of a test verify them. Returns their numbers; `nil` where one of them is none of
    /// the job's, or cannot say it.
    func verify(_ check: ChecksumTest, _ job: inout ImportedJob) -> [Int]? {
        let flow = scope.and(list.runs)
        guard flow.reason == nil, flow.failed.isEmpty, files.isFolderKnown,
            blocks.allSatisfy({ $0.loop == nil && $0.retry == nil && $0.condition == nil })
        else { return nil }
        switch check.source {
        case .lines(let lines):
            let found = lines.map { writer(of: $0.file, job) }
            let tasks = found.compactMap(\.self)
            guard tasks.count == lines.count, Set(tasks).count == tasks.count,
                lines.allSatisfy({ isHash(job.filled($0.hash), check.algorithm) })
            else { return nil }
            for (task, line) in zip(tasks, lines) {
                job.tasks[task].set("checksum", .text("\(check.algorithm):\(line.hash)"))
            }
            return tasks
        case .list(let list):
            guard let known = writer(of: list.text, job), let task = subject(of: list.text, known, job) else {
                return nil
            }
            return verify(task, by: known, check.algorithm, &job)
        case .found(let text, let list):
            guard let known = writer(of: list.text, job), let task = writer(of: job.filled(text), job) else {
                return nil
            }
            return verify(task, by: known, check.algorithm, &job)
        }
    }

    /// The task that wrote a file last, where it has none of the turns of a loop and no checksum yet.
    private func writer(of file: String, _ job: ImportedJob) -> Int? {
        let path = job.plainPath(ImportedTask.path(file, in: folder, job))
        return job.tasks.lastIndex { task in
            (task.sharedFile ?? task.text("to")).map(job.plainPath) == path
        }.flatMap { index in
            let task = job.tasks[index]
            let isFree = task.checksumList == nil && !task.fields.contains { $0.key == "checksum" }
            return task.writesFile && task.forEach.isEmpty && isFree ? index : nil
        }
    }

    /// The file that a list is of: the one whose name it has, with another ending, or the only one that was fetched.
    private func subject(of list: String, _ known: Int, _ job: ImportedJob) -> Int? {
        let endings = [
            ".sha256", ".sha256sum", ".sha512", ".sha512sum", ".sha1", ".sha1sum", ".md5", ".md5sum", ".sum",
        ]
        let bare = list.hasSuffix(".txt") || list.hasSuffix(".asc") ? String(list.dropLast(4)) : list
        if let ending = endings.first(where: { bare.hasSuffix($0) }),
            let task = writer(of: String(bare.dropLast(ending.count)), job)
        {
            return task
        }
        let others = job.tasks.indices.filter { $0 != known && job.tasks[$0].writesFile }
        return others.count == 1 ? job.tasks[others[0]].text("to").flatMap { writer(of: $0, job) } : nil
    }

    private func isHash(_ text: String, _ algorithm: String) -> Bool {
        ForeignChecksum.text(algorithm, text) != nil || ShellWord(text: text).reference != nil
    }

    private func verify(_ task: Int, by list: Int, _ algorithm: String, _ job: inout ImportedJob) -> [Int]? {
        // The list is fetched first, whatever the script does: nothing must be sent between.
        guard task != list, !job.tasks[min(task, list)...max(task, list)].contains(where: \.sends),
            let name = job.tasks[task].text("to")?.split(separator: "/").last
        else { return nil }
        let own = URLText(job.tasks[task].url, filled: job.filled(job.tasks[task].url)).fileName
        job.tasks[task].checksumList = list
        let entry = own == String(name) ? [] : [YAMLField("entry", .text(String(name)))]
        job.tasks[task].set("checksum", .map([YAMLField("algorithm", .text(algorithm))] + entry))
        return [task, list]
    }
}

extension ImportedJob {
    /// Puts each list of checksums before the file that it is of: the task of the file needs it.
    mutating func putListsFirst() {
        while let file = tasks.indices.first(where: { index in tasks[index].checksumList.map { $0 > index } == true }),
            let list = tasks[file].checksumList
        {
            tasks[list].needed = tasks[list].needed.filter { $0 < file }
            tasks[list].needed += tasks[file].needed.filter { !tasks[list].needed.contains($0) }
            move(list, before: file)
        }
    }

    /// Lets a task read the checksum in the list that another one fetches.
    mutating func nameList(of index: Int, _ needs: inout [Int]) {
        guard let list = tasks[index].checksumList,
            case .map(let fields)? = tasks[index].fields.first(where: { $0.key == "checksum" })?.value
        else { return }
        tasks[index].set("checksum", .map([YAMLField("from", .text(tasks[list].id))] + fields))
        if !needs.contains(list) { needs.append(list) }
    }
}
