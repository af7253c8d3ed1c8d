/// Translates one command line of aria2c: its options are those of an input file, and those of the whole program.
struct AriaCommand {
    private let place: ImportPlace
    private var options: [(name: String, value: String)] = []
    private var uris: [String] = []

    /// Adds the task of a command to a job; `words` come after the name `aria2c`, and may have references in them.
    static func add(_ words: [String], place: ImportPlace, to job: inout ImportedJob) {
        var command = AriaCommand(place: place)
        command.read(words, &job)
        command.add(to: &job)
    }

    private init(place: ImportPlace) { self.place = place }

    private static let shorts: [Character: String] = [
        "d": "dir", "o": "out", "x": "max-connection-per-server", "s": "split", "j": "max-concurrent-downloads",
        "i": "input-file", "c": "continue", "k": "min-split-size", "m": "max-tries", "t": "timeout", "U": "user-agent",
        "Z": "force-sequential", "l": "log", "q": "quiet", "D": "daemon", "V": "check-integrity", "R": "remote-time",
        "n": "no-netrc", "p": "ftp-pasv", "a": "file-allocation", "P": "parameterized-uri", "T": "torrent-file",
        "M": "metalink-file", "u": "max-upload-limit", "S": "show-files", "v": "version", "h": "help",
    ]
    /// Options whose value may be left out, for `true`.
    private static let flags: Set<String> = [
        "continue", "force-sequential", "quiet", "daemon", "check-integrity", "remote-time", "no-netrc", "ftp-pasv",
        "parameterized-uri", "show-files", "version", "help", "allow-overwrite", "auto-file-renaming",
        "conditional-get", "always-resume", "http-no-cache", "check-certificate", "pause", "use-head", "dry-run",
        "enable-http-keep-alive", "enable-http-pipelining", "http-accept-gzip", "hash-check-only",
        "allow-piece-length-change", "realtime-chunk-checksum", "reuse-uri", "http-auth-challenge", "no-conf",
        "enable-color", "human-readable", "show-console-readout", "truncate-console-readout", "async-dns",
        "enable-rpc", "optimize-concurrent-downloads", "force-save", "select-least-used-host",
        "disable-ipv6", "stderr", "enable-mmap", "save-not-found", "follow-torrent", "follow-metalink",
    ]
    /// Options that change only what is printed.
    private static let shown: Set<String> = [
        "quiet", "log", "log-level", "console-log-level", "summary-interval", "enable-color", "human-readable",
        "show-console-readout", "truncate-console-readout", "download-result", "stderr", "version", "help", "no-conf",
    ]

    private mutating func read(_ words: [String], _ job: inout ImportedJob) {
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" {
                uris += words
                return
            }
            guard word.hasPrefix("-"), word != "-" else {
                uris.append(word)
                continue
            }
            if word.hasPrefix("--") {
                let equals = word.firstIndex(of: "=")
                let name = String(word[..<(equals ?? word.endIndex)].dropFirst(2))
                take(name, equals.map { String(word[word.index(after: $0)...]) }, &words, &job)
            } else {
                var letters = word.dropFirst()
                while let letter = letters.popFirst() {
                    guard let name = Self.shorts[letter] else {
                        job.lose(place, "`-\(letter)` is no option of aria2c that is known here")
                        break
                    }
                    let takesRest = !Self.flags.contains(name) || letters.first == "="
                    let rest =
                        takesRest && !letters.isEmpty
                        ? String(letters.first == "=" ? letters.dropFirst() : letters) : nil
                    take(name, rest, &words, &job)
                    if rest != nil { break }
                }
            }
        }
    }

    private mutating func take(
        _ name: String, _ value: String?, _ words: inout ArraySlice<String>, _ job: inout ImportedJob
    ) {
        guard let value = value ?? (Self.flags.contains(name) ? "true" : words.popFirst()) else {
            return job.lose(place, "`--\(name.prefix(40))` of aria2c lacks its value")
        }
        options.append((name, value))
    }

    private func value(_ name: String) -> String? { options.last { $0.name == name }?.value }

    private func add(to job: inout ImportedJob) {
        var own: [(place: ImportPlace, name: String, value: String)] = []
        var isSequential = false
        var isParameterized = false
        for (name, value) in options {
            switch name {
            case _ where Self.shown.contains(name): break
            case "force-sequential": isSequential = value == "true"
            case "parameterized-uri": isParameterized = value == "true"
            case "max-concurrent-downloads" where Int(value).map { $0 > 0 } == true:
                job.limits = job.limits.filter { $0.key != "maximumConcurrentTasks" }
                job.limits.append(YAMLField("maximumConcurrentTasks", .plain(value)))
            case "max-overall-download-limit" where ForeignSize.text(value) != nil:
                guard let rate = ForeignSize.text(value), rate != "0B" else { break }
                job.limits = job.limits.filter { $0.key != "bandwidth" } + [YAMLField("bandwidth", .plain(rate + "/s"))]
            case "input-file": break
            default: own.append((place, name, value))
            }
        }
        if let list = value("input-file") { return addList(list, own, &job) }
        if uris.isEmpty { return job.lose(place, "aria2c without a URL was left out") }
        var uris = uris
        if isParameterized {
            uris = uris.flatMap { CurlGlob.expand($0, isOff: false, job: &job, place).map(\.text) }
            // What holds a variable is not expanded.
            let isWhole = uris.allSatisfy { !$0.replacing("${", with: "").contains { "{[".contains($0) } }
            guard isWhole, !uris.isEmpty else {
                return job.lose(
                    place, "what `--parameterized-uri` makes of the URL is not known: this aria2c was left out")
            }
        }
        if value("out") == nil {
            job.note(
                "aria2 gives a file the name that its server suggests; the job that of its URL: `to: ./` takes the server's."
            )
        }
        // Without `-Z` all URIs are places of one file.
        for group in isSequential ? uris.map({ [$0] }) : [uris] {
            let entry = AriaInput.Entry(place: place, urls: group, isCommand: true, options: own)
            entry.add(to: &job)
        }
    }

    /// Adds the task of `--input-file FILE`, whose lines are read in the run.
    private func addList(
        _ list: String, _ own: [(place: ImportPlace, name: String, value: String)], _ job: inout ImportedJob
    ) {
        let name = job.knows("url") ? "url_of_list" : "url"
        guard uris.isEmpty, list != "-", let lines = ShellLoop(name, linesOf: ShellWord(text: list)),
            !own.contains(where: { ["out", "gid"].contains($0.name) })
        else {
            return job.lose(
                place,
                "`--input-file` of standard input, or with a URL or the name of one file, has no equal: this aria2c was left out"
            )
        }
        let first = job.tasks.count
        AriaInput.Entry(place: place, urls: ["${\(name)}"], isCommand: true, options: own).add(to: &job)
        job.loop(tasksFrom: first, over: lines)
        for index in job.tasks.indices.dropFirst(first) {
            job.tasks[index].name = "from-list"
            job.tasks[index].comments = job.tasks[index].comments.filter { !$0.hasPrefix("the variable must hold") }
            job.tell(
                index,
                "each line of the list is taken for a URL: where it has options or mirrors, import `\(list.prefix(40))` itself"
            )
        }
    }
}
