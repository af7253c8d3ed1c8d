/// A file to import: its name in messages and its text.
package struct ImportInput: Sendable {
    /// Name of the file in messages: its path, or `standard input`.
    package let name: String
    /// The text.
    package let text: String
    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// The formats that are told apart.
package enum ImportFormat: String, CaseIterable, Sendable {
    /// A shell script, or command lines, with curl and wget in them.
    case script
    /// A configuration file of curl.
    case curlConfig
    /// An input file of aria2, or a plain list of URLs.
    case list
    /// Metalink 4.
    case metalink

    /// Tells the format of a text; `nil` where it is none of these.
    package init?(of text: String) {
        var lines = text.split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty }
        guard let first = lines.first else { return nil }
        let head = first.hasPrefix("\u{FEFF}") ? String(first.dropFirst()) : first
        if head.hasPrefix("<") {
            self = .metalink
            return
        }
        if head.hasPrefix("#!") {
            self = .script
            return
        }
        lines.removeAll { $0.hasPrefix("#") }
        guard let start = lines.first else { return nil }
        if lines.contains(where: { Self.isCommand($0) }) {
            self = .script
        } else if CurlConfig.isLine(start) {
            self = .curlConfig
        } else if lines.contains(where: { Self.isPlace($0) }) {
            self = .list
        } else {
            return nil
        }
    }

    /// Whether a line runs curl, wget or aria2c, or begins with rclone, which is named and left out.
    private static func isCommand(_ line: String) -> Bool {
        let words = line.split {
            $0 == " " || $0 == "\t" || $0 == "|" || $0 == ";" || $0 == "&" || $0 == "(" || $0 == "`"
        }
        return words.contains { word in
            ["curl", "wget", "aria2c"].contains { word == $0 || word.hasSuffix("/\($0)") && !word.contains(":") }
        } && !line.contains("\t")
            || words.first.map { ["curl", "wget", "aria2c", "rclone"].contains($0) } == true
    }

    private static func isPlace(_ line: String) -> Bool {
        let first = line.prefix { $0 != "\t" && $0 != " " }
        if let mark = first.firstRange(of: "://") { return mark.lowerBound > first.startIndex }
        return first.contains(".") && !first.contains("=") && first.first?.isLetter == true && !line.contains(" ")
    }
}

/// Translates what other programs are told into a job file.
package enum JobImport {
    /// The job file and what was lost on the way.
    package struct Result: Sendable {
        /// Text of the job file.
        package let text: String
        /// What has no equal, in the order of the files.
        package let warnings: [ImportWarning]
        /// The command of each task, and the line of the text that the task begins in.
        package let tasks: [(line: Int, command: ImportedCommand)]
        /// Number of tasks.
        package var taskCount: Int { tasks.count }
        /// Number of transfers that were left out.
        package var lostCount: Int { warnings.count(where: \.leavesOut) }
    }

    /// An option of curl or wget and what becomes of it.
    package struct Option: Sendable {
        /// What becomes of an option.
        package enum Fate: Sendable {
            /// Translated, and warned of where its value has no equal.
            case translated
            /// Changes only what the program prints.
            case shown
            /// Asks for what happens here anyway.
            case usual
            /// Has no equal: a warning says so.
            case lost
        }
        /// Long name, without its dashes.
        package let name: String
        /// Whether a value follows.
        package let takesValue: Bool
        /// What becomes of it.
        package let fate: Fate
    }

    /// The options of `curl` or `wget`, by name.
    package static func options(of program: String) -> [Option] {
        let table = program == "curl" ? CurlOptions.table : WgetOptions.table
        return table.names.compactMap { name in
            table[name].map { option in
                let fate: Option.Fate =
                    switch option.effect {
                    case .translated: .translated
                    case .shown: .shown
                    case .usual: .usual
                    case .lost, .refused: .lost
                    }
                return Option(name: name, takesValue: option.takesValue, fate: fate)
            }
        }
    }

    /// Translates files. `origin` is what the first comment names; `leftOut` are commands that are no part of the job, and
    /// why.
    package static func translate(
        _ inputs: [ImportInput], origin: String, leavingOut leftOut: [ImportedCommand: String] = [:]
    ) -> Result {
        finished(leftOut, origin) { job in
            for input in inputs { add(input, to: &job) }
        }
    }

    /// Translates the words of one command, the program's name first.
    package static func translate(command words: [String], place: ImportPlace) -> Result {
        let program = words.first?.split(separator: "/").last.map { String($0) } ?? ""
        let arguments = words.dropFirst().map { JobText.literal($0) }
        return finished([:], "a \(program.isEmpty ? "command" : program) command line") { job in
            switch program {
            case "curl": CurlCommand.add(arguments, place: place, to: &job)
            case "wget": WgetCommand.add(arguments, place: place, to: &job)
            case "aria2c": AriaCommand.add(arguments, place: place, to: &job)
            default: job.lose(place, "`\(program.prefix(40))` is not translated: `curl`, `wget` and `aria2c` are")
            }
        }
    }

    /// Reads again without the commands that turn out to have no equal, until all that is left has one.
    private static func finished(
        _ leftOut: [ImportedCommand: String], _ origin: String, _ read: (inout ImportedJob) -> Void
    ) -> Result {
        var leftOut = leftOut
        while true {
            var job = ImportedJob()
            job.leftOut = leftOut
            read(&job)
            job.hideVariables()
            let lost = job.connect()
            if lost.isEmpty {
                job.settle()
                job.tellOfHalf()
                let text = job.text(origin: origin)
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
                    $1.hasPrefix("  - id: ") ? $0 + 1 : nil
                }
                return Result(text: text, warnings: job.warnings, tasks: Array(zip(lines, job.tasks.map(\.command))))
            }
            leftOut.merge(lost) { first, _ in first }
        }
    }

    private static func add(_ input: ImportInput, to job: inout ImportedJob) {
        if let (what, line) = WrappedCommands.kind(of: input.text) {
            return job.lose(ImportPlace(file: input.name, line: line), "looks like \(what): give the commands alone")
        }
        switch ImportFormat(of: input.text) {
        case .script:
            ScriptImport.add(ShellHistory.commands(of: input.text) ?? input.text, file: input.name, to: &job)
        case .curlConfig: CurlConfig.add(input.text, file: input.name, to: &job)
        case .list: AriaInput.add(input.text, file: input.name, to: &job)
        case .metalink: Metalink.add(input.text, file: input.name, to: &job)
        case nil:
            job.lose(
                ImportPlace(file: input.name, line: 1),
                "this is none of: curl and wget command lines, a configuration file of curl, a list of URLs, an input file "
                    + "of aria2, Metalink 4")
        }
    }
}
