/// Translates one curl command line. Its words may have references to variables in them.
struct CurlCommand {
    private let place: ImportPlace
    private var job: ImportedJob
    /// Text of standard input, where the script gives it.
    private let input: String?

    /// Adds the tasks of a command to a job. `words` come after the name `curl`; `output` is the file that the shell
    /// writes standard output to.
    static func add(
        _ words: [String], place: ImportPlace, to job: inout ImportedJob, input: String? = nil, output: String? = nil
    ) {
        var command = CurlCommand(place: place, job: job, input: input)
        for part in split(words) where !part.isEmpty {
            command.add(ParsedCommand(part, CurlOptions.table, negates: true), output)
        }
        job = command.job
    }

    private init(place: ImportPlace, job: ImportedJob, input: String?) {
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
        job.tell(of: command, "curl", place)
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
        if command.has("range"), command.has("continue-at") {
            job.lose(place, "`--continue-at` with `--range` was left out")
        }
    }

    // MARK: One URL

    private mutating func addTask(
        _ url: CurlGlob.URL, _ target: ParsedCommand.Item?, _ command: ParsedCommand, _ output: String?,
        upload: String?
    ) {
        let location = URLText(url.text, filled: job.filled(url.text))
        guard location.isWellFormed else { return job.lose(place, "a word that is no URL was left out") }
        guard location.isKnown else {
            return job.lose(place, "`\(location.scheme):` URLs have no equal: this transfer was left out")
        }
        var task = ImportedTask(place: place, name: "transfer", url: job.raw(location.text))
        let request = CurlRequest(place: place, location: location, command: command, input: input, upload: upload)
        guard request.fill(&task, &job) else { return }
        let sendsData = upload == nil && task.fields.contains { $0.key == "body" }
        task.name = location.taskName(sendsData: sendsData) ?? "transfer"
        setTarget(&task, url, target, location, command, output)
        job.add(task)
    }

    private mutating func setTarget(
        _ task: inout ImportedTask, _ url: CurlGlob.URL, _ target: ParsedCommand.Item?, _ location: URLText,
        _ command: ParsedCommand, _ output: String?
    ) {
        let folder = command.value("output-dir").map { $0.hasSuffix("/") ? $0 : $0 + "/" } ?? ""
        var to: String
        if let target, target.name == "output" {
            to = url.filled(target.value)
        } else if target != nil || command.has("remote-name-all") {
            let isNamed = location.fileName != nil && !command.has("remote-header-name")
            to = isNamed ? location.typedName ?? "" : folder.isEmpty ? "./" : folder
            if let note = location.nameNote { task.comments.append(note) }
        } else {
            to = output ?? "-"
        }
        if task.fields.contains(where: { $0 == YAMLField("method", .text("HEAD")) }) {
            if to != "-" { job.lose(&task, "the headers that `--head` prints are in the report, not in a file") }
            return
        }
        if to == "/dev/null" { return noteDiscarded(&task) }
        if task.fields.contains(where: { $0 == YAMLField("type", .text("upload")) }) {
            if to != "-" { job.lose(&task, "the answer to an upload is in the report, not in a file") }
            return
        }
        if to != "-", !to.hasPrefix("/"), !folder.isEmpty, to != folder { to = folder + to }
        if to.isEmpty { to = "-" }
        if command.has("no-clobber"), to != "-" { task.set("existing", .text("skip")) }
        setResume(&task, command)
        if command.has("compressed") { task.set("decompress", .plain("true")) }
        if let mode = command.value("create-file-mode"), to != "-" {
            task.set("mode", .text(mode.count < 4 ? "0\(mode)" : mode))
        }
        task.setTarget(to, &job)
    }

    private mutating func noteDiscarded(_ task: inout ImportedTask) {
        task.comments.append("`-o /dev/null`: the answer is not kept; of a large one set `maximumSize`")
    }

    private mutating func setResume(_ task: inout ImportedTask, _ command: ParsedCommand) {
        guard let offset = command.value("continue-at") else { return }
        guard offset == "-" else {
            return job.lose(&task, "`--continue-at \(offset)` has no equal but `headers: { Range: … }`")
        }
        task.comments.append("an interrupted download goes on by itself; `resume: adopt` takes up what curl left")
    }
}

extension ImportedJob {
    /// Warns of the options of a command that are lost, and notes the ones that change only what is printed.
    mutating func tell(of command: ParsedCommand, _ program: String, _ place: ImportPlace) {
        for lost in command.lost {
            lose(place, "`\(lost.option)` of \(program) has no equal\(lost.hint.isEmpty ? "" : ": \(lost.hint)")")
        }
        for word in command.unknown {
            lose(place, "`\(Self.shown(word))` is no option of \(program) that is known here")
        }
        for word in command.incomplete { lose(place, "`\(word)` of \(program) lacks its value") }
        let what = "Options that change only what \(program) prints were left out, such as"
        if !command.shown.isEmpty, !notes.contains(where: { $0.hasPrefix(what) }) {
            note("\(what) `\(command.shown[0])`.")
        }
    }

    /// An unknown word without what may be a value in it.
    private static func shown(_ word: String) -> String {
        String(word.prefix { $0 != "=" && $0 != ":" && $0 != " " }.prefix(40))
    }
}
