/// What the commands that are not translated may have done to the files that transfers read and write.
struct ScriptFiles: Sendable {
    /// Whether it is known in which folder the script is.
    var isFolderKnown = true
    /// Texts that the script certainly wrote, by the paths of their files.
    private(set) var texts: [String: String] = [:]
    /// Paths of files that may be others by now.
    private var changed: Set<String> = []

    /// A command that may have written any file: its name, its line, and the number of the tasks before it.
    private var writer: (program: String, line: Int, tasks: Int)?
    /// The script's functions, and the command in each that may write any file.
    private var functions: [String: String?] = [:]

    /// Programs that write no file but standard output.
    private static let readers: Set<String> = Set(
        """
        cat ls test [ [[ (( let md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum cksum wc head tail \
        grep egrep fgrep stat du df file echo printf mkdir rmdir cd pushd popd chmod chown curl wget jq export set unset \
        shopt local declare typeset readonly read mapfile readarray getopts shift true false : sleep wait date trap umask \
        exit return break continue which type hash command builtin id whoami hostname uname pwd basename dirname nproc ps \
        free uptime env printenv diff cmp cut tr uniq column less more base64 xxd od seq expr kill pgrep pidof ping ssh \
        logger clear tput alias source . apt apt-get apk yum dnf brew pacman nslookup dig host systemctl service \
        for case select in done fi esac { } ( ) exec ulimit mktemp realpath readlink
        """.split(separator: " ").map { String($0) })
    /// Programs that write the files in their words alone.
    private static let exact: Set<String> = ["tee", "sed", "sort", "dd", "truncate", "awk", "rm", "touch"]

    /// Notes the files that a command which is not translated may write; `function` is the one whose body it stands in.
    mutating func note(_ command: ShellCommand, _ folder: String?, _ job: ImportedJob, in function: String? = nil) {
        let program = command.programName
        var words = command.redirections.filter { $0.sign.contains(">") && !$0.sign.hasSuffix("&") }.map(\.word)
        if !Self.readers.contains(program) {
            for word in command.afterSteps.dropFirst() {
                words.append(word)
                // `of=FILE`, `--output=FILE`.
                if let equals = word.text.firstIndex(of: "=") {
                    words.append(ShellWord(text: String(word.text[equals...].dropFirst())))
                }
            }
        }
        if let name = wideWriter(command, program, words, job) {
            texts = [:]
            if let function {
                functions[function] = .some(name)
            } else {
                writer = (name, command.line, job.tasks.count)
            }
        }
        var paths = words.map(\.text)
        if let transfer = Self.parsed(command) {
            paths += (Self.sideFiles + ["output", "output-document", "cookie-jar", "save-cookies"]).flatMap(
                transfer.values)
            if !transfer.has("output"), !transfer.has("output-document") {
                paths += (transfer.values("") + transfer.values("url")).compactMap { URLText($0).storedName }
            }
        }
        note(paths, folder, job)
    }

    /// Notes the text that a command certainly writes to a file of the script's own folder.
    mutating func write(_ text: String, to word: ShellWord) {
        if let path = word.literal { texts[ImportedJob.withoutDots(path)] = text }
    }

    /// Notes that a transfer which is left out may write a file.
    mutating func mayHold(_ path: String, _ job: ImportedJob) { changed.insert(job.plainPath(path)) }

    /// Notes that the body of a function begins.
    mutating func define(_ function: String) { functions[function] = .some(nil) }

    /// The name of a command that may write files whose names are not known; `nil` for another one.
    private func wideWriter(
        _ command: ShellCommand, _ program: String, _ words: [ShellWord], _ job: ImportedJob
    ) -> String? {
        let shown = String(program.prefix { $0 != "=" }.prefix(40))
        if let function = functions[program] { return function == nil ? nil : shown }
        func isKnown(_ word: ShellWord) -> Bool {
            let text = job.filled(word.text)
            let isPattern = !word.isQuoted && text.contains { "*?[".contains($0) }
            return word.unknown == nil && !isPattern
                && (!text.contains("${") || text.hasPrefix("${env.HOME}/"))
        }
        if let transfer = command.ownTransfer {
            guard let parsed = Self.parsed(command) else { return transfer }
            let names = parsed.has("remote-name") || parsed.has("remote-name-all") || parsed.has("output")
            let isQuiet = transfer == "curl" ? !names : parsed.has("output-document")
            return isQuiet || command.words.allSatisfy(isKnown) && !parsed.has("input-file") ? nil : transfer
        }
        if program.isEmpty || command.isCheck || Self.readers.contains(program) || program.hasSuffix("()") {
            let files = command.redirections.filter { $0.sign.contains(">") && !$0.sign.hasSuffix("&") }
            return files.allSatisfy { isKnown($0.word) } ? nil : program.isEmpty ? ">" : shown
        }
        guard Self.exact.contains(program) else { return shown }
        let writes =
            switch program {
            case "sed": words.contains { $0.text.hasPrefix("-i") || $0.text.hasPrefix("--in-place") }
            case "sort": words.contains { $0.text.hasPrefix("-o") || $0.text.hasPrefix("--output") }
            case "rm", "touch": false
            case "awk": words.contains { $0.text.contains(">") }
            default: true
            }
        return !writes || program != "awk" && words.allSatisfy(isKnown) ? nil : shown
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
            let path = job.plainPath(ImportedTask.path(word, in: folder, job))
            changed.insert(path)
            texts[path] = nil
        }
    }

    /// Whether a task before the ones that are judged, but after the command that may write any file, wrote a file.
    private func isWritten(_ file: String, after count: Int, before end: Int, _ job: ImportedJob) -> Bool {
        let path = job.plainPath(file)
        return job.tasks[min(count, end)..<end].contains { task in
            (task.sharedFile ?? task.text("to")).map { job.plainPath($0) == path } == true
        } || job.tasks[..<end].contains { $0.savesCookies && $0.cookieJar.map(job.plainPath) == path }
    }

    /// Why the last tasks of a job cannot be the script's; `nil` where nothing stands against them.
    func reason(against tasks: [ImportedTask], _ job: ImportedJob) -> String? {
        for task in tasks {
            if let writer {
                let end = job.tasks.count - tasks.count
                let file = task.filesOnDisk.first { !isWritten($0, after: writer.tasks, before: end, job) }
                if let file {
                    return "`\(writer.program)` in line \(writer.line) may have written `\(file.prefix(40))`"
                }
            }
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
