/// What the commands that are not translated may have done to the files that transfers read and write.
struct ScriptFiles: Sendable {
    /// Whether it is known in which folder the script is.
    var isFolderKnown = true
    /// Paths of files that may be others by now.
    private var changed: Set<String> = []

    /// Programs that read the files in their words.
    private static let readers: Set<String> = [
        "cat", "ls", "test", "[", "[[", "sha256sum", "md5sum", "wc", "head", "tail", "grep", "stat", "du", "echo",
        "printf", "mkdir", "chmod", "cd", "curl", "wget", "jq", "export", "set",
    ]

    /// Notes the files that a command which is not translated may write.
    mutating func note(_ command: ShellCommand, _ folder: String?, _ job: ImportedJob) {
        var words = command.redirections.filter { $0.sign.contains(">") && !$0.sign.hasSuffix("&") }.map(\.word.text)
        let program = command.afterSteps.first?.text ?? ""
        if !Self.readers.contains(program) {
            for word in command.afterSteps.dropFirst() {
                words.append(word.text)
                // `of=FILE`, `--output=FILE`.
                if let equals = word.text.firstIndex(of: "=") { words.append(String(word.text[equals...].dropFirst())) }
            }
        }
        if let transfer = Self.parsed(command) {
            words += (Self.sideFiles + ["output", "output-document", "cookie-jar", "save-cookies"]).flatMap(
                transfer.values)
            if !transfer.has("output"), !transfer.has("output-document") {
                words += (transfer.values("") + transfer.values("url")).compactMap { URLText($0).storedName }
            }
        }
        note(words, folder, job)
    }

    /// Notes the files that a transfer writes beside its answer.
    mutating func note(besides command: ShellCommand, _ folder: String?, _ job: ImportedJob) {
        let errors = command.redirections.filter { $0.sign.hasPrefix("2>") && $0.sign != "2>&" }.map(\.word.text)
        note(errors + Self.sideFiles.flatMap { Self.parsed(command)?.values($0) ?? [] }, folder, job)
    }

    /// Options whose files are written beside the answer.
    private static let sideFiles = [
        "dump-header", "stderr", "libcurl", "trace", "trace-ascii", "etag-save", "hsts", "alt-svc", "hsts-file",
        "warc-file",
    ]

    private static func parsed(_ command: ShellCommand) -> ParsedCommand? {
        guard let program = command.ownTransfer, program != "aria2c" else { return nil }
        let words = command.words.drop { $0.text != program && !$0.text.hasSuffix("/\(program)") }.dropFirst().map(
            \.text)
        return ParsedCommand(words, program == "curl" ? CurlOptions.table : WgetOptions.table, negates: true)
    }

    private mutating func note(_ words: [String], _ folder: String?, _ job: ImportedJob) {
        for word in words where !word.isEmpty && word != "/dev/null" {
            changed.insert(job.plainPath(ImportedTask.path(word, in: folder, job)))
        }
    }

    /// Why tasks cannot be the script's; `nil` where nothing stands against them.
    func reason(against tasks: [ImportedTask], _ job: ImportedJob) -> String? {
        for task in tasks {
            let read = task.readFiles + task.listFiles("lines") + (task.cookieJar.map { [$0] } ?? [])
            if let file = read.first(where: { changed.contains(job.plainPath($0)) }) {
                return "the script itself may write `\(file.prefix(40))` before it"
            }
            guard !isFolderKnown else { continue }
            let paths = read + (task.text("to").map { [$0] } ?? [])
            let isKnown = paths.allSatisfy {
                $0 == "-" || $0.hasPrefix("${env.HOME}") || job.filled($0).hasPrefix("/")
            }
            if !isKnown { return "only the script knows the folder of its files" }
        }
        return nil
    }
}
