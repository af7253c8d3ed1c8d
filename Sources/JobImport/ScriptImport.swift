/// Translates the curl and wget commands of a shell script; what else the script does is told, not run.
struct ScriptImport {
    private let file: String
    private let firstLine: Int
    private var depth = 0
    private var afterPipe: ShellCommand?

    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        let script = ShellScript(text)
        var reader = ScriptImport(file: file, firstLine: 1)
        for line in script.brokenLines {
            job.lose(ImportPlace(file: file, line: line), "a quote or a here-document that begins here has no end")
        }
        for variable in script.variables { job.define(variable.name, variable.value) }
        var previous: ShellCommand?
        for command in script.commands {
            reader.add(command, after: previous, to: &job)
            previous = command
        }
        if script.commands.count > 1 {
            job.note(
                "A script runs its commands one after the other; a job runs its tasks beside each other, but for `needs`."
            )
        }
    }

    private init(file: String, firstLine: Int) {
        self.file = file
        self.firstLine = firstLine
    }

    private static let loops: Set<String> = ["for", "while", "until", "if", "case", "select", "function", "{", "("]
    private static let ends: Set<String> = ["done", "fi", "esac", "}", ")"]
    private static let steps: Set<String> = ["do", "then", "else", "elif", "in"]
    /// Commands whose absence changes nothing of the transfers.
    private static let harmless: Set<String> = [
        "set", "echo", "printf", ":", "true", "exit", "mkdir", "sleep", "wait", "shopt", "umask", "trap", "date",
    ]

    private mutating func add(_ command: ShellCommand, after previous: ShellCommand?, to job: inout ImportedJob) {
        let place = ImportPlace(file: file, line: command.line)
        var words = command.words[...]
        while let first = words.first?.text, Self.steps.contains(first) { words.removeFirst() }
        guard let first = words.first else { return }
        if Self.loops.contains(first.text) || first.text.hasSuffix("()") || words.dropFirst().first?.text == "(" {
            depth += 1
            job.lose(place, "`\(first.text)` is not translated: the commands in it are left out")
            return
        }
        if Self.ends.contains(first.text) {
            depth = max(0, depth - 1)
            return
        }
        guard let (program, arguments) = strip(words, place, &job) else { return }
        guard depth == 0 else {
            if program == "curl" || program == "wget" {
                job.lose(place, "this \(program) is in a loop or a condition: it was left out")
            }
            return
        }
        guard program == "curl" || program == "wget" else {
            if !Self.harmless.contains(program) || program == "cd" { tellOf(program, previous, place, &job) }
            return
        }
        transfer(program, arguments, command, previous, place, &job)
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
    private func strip(
        _ words: ArraySlice<ShellWord>, _ place: ImportPlace, _ job: inout ImportedJob
    ) -> (String, ArraySlice<ShellWord>)? {
        var words = words
        while let first = words.first {
            if let (name, _) = ShellScript.assignment(first), !first.isQuoted {
                job.lose(place, "the variable `\(name.prefix(40))` before a command is not set here")
                words.removeFirst()
            } else if ["sudo", "exec", "command", "time", "nohup", "env", "!"].contains(first.text) {
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

    private func transfer(
        _ program: String, _ arguments: ArraySlice<ShellWord>, _ command: ShellCommand, _ previous: ShellCommand?,
        _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        for what in Set(arguments.compactMap(\.unknown)).sorted() {
            return job.lose(place, "`\(what)` is known to the shell alone: this \(program) was left out")
        }
        if previous?.end == "||" {
            return job.lose(
                place,
                "this \(program) runs only where the one before failed: it was left out (`urls` names several places)")
        }
        var output: String?
        for redirection in command.redirections { take(redirection, &output, place, &job) }
        if previous?.end == "|" { job.lose(place, "the pipe into \(program) is not translated") }
        let words = arguments.map(\.text)
        let before = job.tasks.count
        if program == "curl" {
            let input = command.input?.unknown == nil ? command.input?.text : nil
            CurlCommand.add(words, place: place, to: &job, input: input, output: output)
        } else {
            WgetCommand.add(words, place: place, to: &job, output: output)
        }
        if output != nil, job.tasks.count > before + 1 {
            job.lose(place, "several answers in one file have no equal: each task has a file of its own")
        }
    }

    private func take(
        _ redirection: ShellCommand.Redirection, _ output: inout String?, _ place: ImportPlace, _ job: inout ImportedJob
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
        case "<": job.lose(place, "`<` is not translated: `body: { file: … }` reads a file")
        default: job.lose(place, "`\(redirection.sign)` is not translated")
        }
    }
}
