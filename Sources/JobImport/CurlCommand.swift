/// Translates one curl command line. Its words may have references to variables in them.
struct CurlCommand {
    private let place: ImportPlace
    private var job: ImportedJob
    private let input: StandardInput

    /// Adds the tasks of a command to a job. `words` come after the name `curl`; `output` is the file that the shell
    /// writes standard output to.
    static func add(
        _ words: [String], place: ImportPlace, to job: inout ImportedJob, input: StandardInput = .own,
        output: String? = nil
    ) {
        var command = CurlCommand(place: place, job: job, input: input)
        for part in split(words) where !part.isEmpty {
            command.add(ParsedCommand(part, CurlOptions.table, negates: true), output)
        }
        job = command.job
    }

    private init(place: ImportPlace, job: ImportedJob, input: StandardInput) {
        self.place = place
        self.job = job
        self.input = input
    }

    /// Splits at `--next`, after which all options begin anew.
    private static func split(_ words: [String]) -> [[String]] {
        var parts: [[String]] = [[]]
        for word in words {
            if word == "--next" || word == "-:" { parts.append([]) } else { parts[parts.count - 1].append(word) }
        }
        return parts
    }

    private mutating func add(_ command: ParsedCommand, _ output: String?) {
        guard job.tell(of: command, "curl", place) else { return }
        if let offset = command.value("continue-at"), offset != "-" || command.has("range") {
            return job.lose(place, "`--continue-at` from an offset has no equal: this curl was left out")
        }
        if let date = command.value("time-cond"), !command.values("output").contains(date) {
            return job.lose(place, "`--time-cond` of another file, or of a date, has no equal: this curl was left out")
        }
        addLimits(command)
        let urls = command.items.filter { $0.name.isEmpty || $0.name == "url" }.map(\.value)
        if urls.isEmpty { return job.lose(place, "curl without a URL was left out") }
        var targets = command.items.filter { $0.name == "output" || $0.name == "remote-name" }[...]
        let isOff = command.has("globoff")
        var uploads = command.values("upload-file")[...]
        for url in urls {
            let target = targets.popFirst()
            let files = uploads.popFirst().map { CurlGlob.expand($0, isOff: isOff, job: &job, place).map(\.text) }
            if let files, files.isEmpty { continue }
            let singles = CurlGlob.expand(url, isOff: isOff, job: &job, place)
            let choices: [String?] = files.map { $0.map { Optional($0) } } ?? [nil]
            for file in choices {
                for single in singles { addTask(single, target, command, output, upload: file) }
            }
        }
        if !uploads.isEmpty { job.lose(place, "an `--upload-file` without a URL of its own was left out") }
    }

    private mutating func addLimits(_ command: ParsedCommand) {
        if let most = command.value("parallel-max"), Int(most) != nil {
            job.limits = [YAMLField("maximumConcurrentTasks", .plain(most))]
        }
        if command.has("fail-early") { job.failFast = true }
    }

    // MARK: One URL

    private mutating func addTask(
        _ url: CurlGlob.URL, _ target: ParsedCommand.Item?, _ command: ParsedCommand, _ output: String?,
        upload: String?
    ) {
        guard let location = job.location(of: url.text, place) else { return }
        if job.filled(location.text).contains(" ") {
            return job.lose(place, "curl takes no URL with a blank in it: this transfer was left out")
        }
        var task = ImportedTask(place: place, name: "transfer", url: job.raw(location.text))
        let request = CurlRequest(place: place, location: location, command: command, input: input, upload: upload)
        guard request.fill(&task, &job) else { return }
        let sendsData = upload == nil && task.fields.contains { $0.key == "body" }
        task.name = location.taskName(sendsData: sendsData) ?? "transfer"
        task.ignoresStatus = !command.has("fail") && !command.has("fail-with-body")
        setTarget(&task, url, target, location, command, output)
        job.add(task)
    }

    private mutating func setTarget(
        _ task: inout ImportedTask, _ url: CurlGlob.URL, _ target: ParsedCommand.Item?, _ location: URLText,
        _ command: ParsedCommand, _ output: String?
    ) {
        let folder = command.value("output-dir").map { $0.hasSuffix("/") ? $0 : $0 + "/" } ?? ""
        var place = "-"
        if let target, target.name == "output" {
            place = url.filled(target.value)
        } else if target != nil || command.has("remote-name-all") {
            let named = command.has("remote-header-name") ? nil : location.typedName
            place = named ?? (folder.isEmpty ? "./" : folder)
            if let note = location.nameNote { task.comments.append(note) }
        }
        guard var to = ImportedTask.target(place, output) else {
            return task.comments.append("`-o /dev/null`: the answer is not kept; of a large one set `maximumSize`")
        }
        if task.text("method") == "HEAD" {
            return job.lose(&task, "the headers that `--head` prints are in the report, not in a file")
        }
        if to != "-", !to.hasPrefix("/"), !folder.isEmpty, to != folder { to = folder + to }
        if to.isEmpty { to = "-" }
        if command.has("continue-at") {
            task.comments.append("an interrupted download goes on by itself; `resume: adopt` takes up what curl left")
        }
        if command.has("compressed") { task.set("decompress", .plain("true")) }
        if let mode = command.value("create-file-mode"), to != "-" {
            task.set("mode", .text(mode.count < 4 ? "0\(mode)" : mode))
        }
        task.setTarget(to, &job)
    }
}

extension ImportedJob {
    /// Warns of the options of a command that are lost, and notes the ones that change only what the program prints.
    /// Returns `false` where an option is unknown, or changes what is sent or to whom: such a command is left out whole.
    mutating func tell(of command: ParsedCommand, _ program: String, _ place: ImportPlace) -> Bool {
        let reasons =
            command.refused.map { "`\($0.option)` of \(program) has no equal\($0.hint.isEmpty ? "" : " (\($0.hint))")" }
            + command.unknown.map { "`\(Self.shown($0))` is no option of \(program) that is known here" }
            + command.incomplete.map { "`\($0)` of \(program) lacks its value" }
        guard reasons.isEmpty else {
            lose(place, "\(reasons.joined(separator: "; ")): this \(program) was left out")
            return false
        }
        for lost in command.lost {
            lose(place, "`\(lost.option)` of \(program) has no equal\(lost.hint.isEmpty ? "" : ": \(lost.hint)")")
        }
        let what = "Options that change only what \(program) prints were left out, such as"
        if !command.shown.isEmpty, !notes.contains(where: { $0.hasPrefix(what) }) {
            note("\(what) `\(command.shown[0])`.")
        }
        return true
    }

    /// Returns where a typed URL leads; `nil` for what has no equal, after a warning.
    mutating func location(of url: String, _ place: ImportPlace) -> URLText? {
        let location = URLText(url, filled: filled(url))
        guard location.isWellFormed else {
            lose(place, "a word that is no URL was left out")
            return nil
        }
        guard location.isKnown else {
            lose(place, "`\(location.scheme):` URLs have no equal: this transfer was left out")
            return nil
        }
        return location
    }

    /// An unknown word without what may be a value in it.
    private static func shown(_ word: String) -> String {
        String(word.prefix { $0 != "=" && $0 != ":" && $0 != " " }.prefix(40))
    }
}
