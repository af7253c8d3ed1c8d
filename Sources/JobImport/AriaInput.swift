/// Reads an input file of aria2 (`--input-file`): a line of URIs for each file, with tabs between mirrors, and options in
/// the indented lines below. A plain list of URLs is one without options.
enum AriaInput {
    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        var entry: Entry?
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let place = ImportPlace(file: file, line: index + 1)
            let bare = line.afterBlanks
            if bare.isEmpty || bare.first == "#" { continue }
            if line.first == " " || line.first == "\t" {
                guard entry != nil else {
                    job.lose(place, "an option before the first URL belongs to no file")
                    continue
                }
                let halves = bare.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard halves.count == 2 else {
                    job.lose(place, "an option without `=` says nothing")
                    continue
                }
                entry?.options.append((place, String(halves[0]), halves[1].trimmed))
            } else {
                entry?.add(to: &job)
                entry = Entry(
                    place: place, urls: line.split(separator: "\t").map(\.trimmed).filter { !$0.isEmpty })
            }
        }
        entry?.add(to: &job)
    }

    /// The places of one file, and its options.
    struct Entry {
        let place: ImportPlace
        let urls: [String]
        /// Whether the texts may have references to variables in them, as those of a command line.
        var hasReferences = false
        var options: [(place: ImportPlace, name: String, value: String)] = []

        private func value(_ name: String) -> String? { options.last { $0.name == name }?.value }
        private func text(_ typed: String) -> String { hasReferences ? typed : JobText.literal(typed) }
        private func location(_ url: String, _ job: ImportedJob) -> URLText {
            hasReferences ? URLText(url, filled: job.filled(url)) : URLText(text(url))
        }

        /// Adds the task; `session` has keys of its session.
        func add(to job: inout ImportedJob, session: [YAMLField] = []) {
            let known = job
            let locations = urls.map { location($0, known) }.filter { location in
                if location.isKnown, location.isWellFormed, !location.text.hasPrefix("http://magnet:"),
                    !location.authority.isEmpty || hasReferences && location.text.hasPrefix("${")
                {
                    return true
                }
                job.lose(place, "a URI that is no http, https, ftp or file URL was left out")
                return false
            }
            guard let first = locations.first else { return }
            let out = value("out").map { text($0) } ?? first.storedName
            var task = ImportedTask(
                place: place,
                name: value("gid") ?? value("out").map { text($0) } ?? first.taskName() ?? "download",
                url: hasReferences ? job.raw(first.text) : first.text)
            task.mirrors = locations.dropFirst().map { hasReferences ? known.raw($0.text) : $0.text }
            for field in session { task.setSession(field.key, field.value) }
            setPlace(&task, out)
            if out == nil, let note = first.nameNote { task.comments.append(note) }
            if let user = first.user, value("http-user") == nil {
                let halves = CurlRequest.halves(Percent.decoded(user))
                setUser(&task, &job, first, halves.0, halves.1 ?? "")
            }
            if setOptions(&task, &job, first) { job.add(task) }
        }

        private func setPlace(_ task: inout ImportedTask, _ out: String?) {
            let folder = value("dir").map { text($0.hasSuffix("/") ? $0 : $0 + "/") } ?? ""
            task.set("to", .text(out.map { folder + $0 } ?? (folder.isEmpty ? "./" : folder)))
        }

        private func setUser(
            _ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText, _ user: String,
            _ password: String?
        ) {
            // The user in a URL is for that one of the places alone.
            var fields =
                location.user == nil || task.mirrors.isEmpty ? [] : [YAMLField("host", .text(location.authority))]
            let waits = value("http-auth-challenge") == "true" && location.user == nil
            if location.scheme != "ftp", !waits { fields += ForeignLogin.unasked }
            fields += job.login(text(user), password.map { text($0) }, for: location.host)
            task.set("credentials", .list([.map(fields)]))
        }

        /// Returns `false` where a header cannot be sent as it is written, after a warning.
        private func setOptions(_ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText) -> Bool {
            var headers = ForeignHeaders(for: location)
            for option in options {
                let value = text(option.value)
                switch option.name {
                case "out", "dir", "gid", "http-passwd", "ftp-passwd", "http-auth-challenge": break
                case "conditional-get" where value == "true":
                    job.lose(&task, ImportedTask.conditionNote("--conditional-get"))
                case "dry-run" where value == "true", "hash-check-only" where value == "true":
                    job.lose(place, "with `\(option.name)` aria2 fetches nothing: this transfer was left out")
                    return false
                case "header": guard headers.add(value, &task, &job) else { return false }
                case "user-agent": headers.add("User-Agent", unlessTyped: value)
                case "referer": if value != "*" { headers.add("Referer", unlessTyped: value) }
                case "http-user", "ftp-user":
                    let password = self.value(option.name == "http-user" ? "http-passwd" : "ftp-passwd")
                    setUser(&task, &job, location, option.value, password)
                default:
                    if JobText.hasReference(value) || !AriaOptions.set(option.name, option.value, &task) {
                        if option.name == "checksum" {
                            job.lose(
                                option.place, "`checksum` with this value has no equal: this transfer was left out")
                            return false
                        }
                        AriaOptions.lose(option.name, option.place, &task, &job)
                    }
                }
            }
            if !headers.fields.isEmpty { task.set("headers", .map(headers.fields)) }
            return true
        }
    }
}

/// The options of aria2 that a task or its session can say.
private enum AriaOptions {
    /// Options that ask for what happens anyway, or that change only how a file is laid out while it comes.
    private static let usual: Set<String> = [
        "continue", "file-allocation", "remote-time", "conditional-get", "auto-file-renaming", "check-integrity",
        "enable-http-keep-alive", "enable-http-pipelining", "http-accept-gzip", "use-head", "uri-selector",
        "allow-piece-length-change", "realtime-chunk-checksum", "always-resume", "no-file-allocation-limit",
        "reuse-uri", "stream-piece-selector", "ftp-pasv", "ftp-type", "hash-check-only", "parameterized-uri",
    ]

    /// Returns whether the option is said now.
    static func set(_ name: String, _ value: String, _ task: inout ImportedTask) -> Bool {
        switch name {
        case "checksum": return setChecksum(value, &task)
        case "split", "max-connection-per-server": return setSegments(value, &task)
        case "max-download-limit": return setSize(value, "bandwidth", "/s", &task)
        case "max-tries": return setTries(value, &task)
        case "retry-wait": return setWait(value, &task)
        case "timeout": return setTime(value) { task.set("timeoutForRequest", .plain($0)) }
        case "connect-timeout": return setTime(value) { task.setSession("connectTimeout", .plain($0)) }
        case "lowest-speed-limit": return setFloor(value, &task)
        case "pause": return setPause(value, &task)
        case "allow-overwrite": return value == "true" || value == "false"
        case "check-certificate": return setCheck(value, &task)
        case "all-proxy", "http-proxy", "https-proxy":
            task.setSession("proxy", value.isEmpty ? .text("none") : .text(JobText.literal(URLText(value).text)))
            return URLText(value).user == nil
        case "min-split-size", "piece-length": return ForeignSize.text(value) != nil
        case "no-netrc": return value == "true"
        default: return usual.contains(name)
        }
    }

    static func lose(_ name: String, _ place: ImportPlace, _ task: inout ImportedTask, _ job: inout ImportedJob) {
        let shown = String(name.prefix(40))
        let message =
            programWide[name].map { "`\(shown)` belongs to all of aria2 and not to one file: \($0)" }
            ?? "`\(shown)` of aria2 has no equal with this value"
        job.warnings.append(ImportWarning(place: place, message: message))
        task.comments.append(message)
    }

    /// Options that aria2 takes for the whole program, and where a job says the same.
    private static let programWide = [
        "ca-certificate": "write `tls: { trust: { ca: FILE } }` in the session",
        "load-cookies": "write `cookies: { file: FILE }` in the session",
        "save-cookies": "write `cookies: { file: FILE, save: true }` in the session",
        "max-concurrent-downloads": "write `limits: { maximumConcurrentTasks: N }`",
        "max-overall-download-limit": "write `limits: { bandwidth: RATE }`",
        "on-download-complete": "write `onFinish: [COMMAND]` in the task",
    ]

    private static func setChecksum(_ value: String, _ task: inout ImportedTask) -> Bool {
        let halves = value.split(separator: "=", maxSplits: 1).map { String($0) }
        guard halves.count == 2, let checksum = ForeignChecksum.text(halves[0], halves[1]) else { return false }
        task.set("checksum", .text(checksum))
        return true
    }

    private static func setSegments(_ value: String, _ task: inout ImportedTask) -> Bool {
        guard let number = Int(value), number > 0 else { return false }
        let known = task.fields.first { $0.key == "segments" }.flatMap { field -> Int? in
            if case .plain(let text) = field.value { Int(text) } else { nil }
        }
        let least = min(16, min(number, known ?? number))
        if least > 1 { task.set("segments", .plain("\(least)")) }
        return true
    }

    private static func setSize(_ value: String, _ key: String, _ end: String, _ task: inout ImportedTask) -> Bool {
        guard let size = ForeignSize.text(value) else { return false }
        if size != "0B" { task.set(key, .plain(size + end)) }
        return true
    }

    private static func setTries(_ value: String, _ task: inout ImportedTask) -> Bool {
        guard let number = Int(value), (0...1000).contains(number) else { return false }
        addRetry(YAMLField("attempts", .plain(number == 0 ? "unlimited" : "\(number)")), &task)
        return true
    }

    private static func setWait(_ value: String, _ task: inout ImportedTask) -> Bool {
        guard let time = ForeignSize.seconds(value) else { return false }
        if time != "0s" {
            addRetry(YAMLField("backoff", .map(["initial": .plain(time), "maximum": .plain(time)])), &task)
        }
        return true
    }

    private static func addRetry(_ field: YAMLField, _ task: inout ImportedTask) {
        var fields: [YAMLField] = []
        if case .map(let known)? = task.fields.first(where: { $0.key == "retry" })?.value { fields = known }
        task.set("retry", .map(fields.filter { $0.key != field.key } + [field]))
    }

    private static func setTime(_ value: String, _ body: (String) -> Void) -> Bool {
        guard let time = ForeignSize.seconds(value) else { return false }
        if time != "0s" { body(time) }
        return true
    }

    private static func setFloor(_ value: String, _ task: inout ImportedTask) -> Bool {
        guard let size = ForeignSize.text(value) else { return false }
        if size != "0B" { task.set("minimumRate", .map(["rate": .plain(size + "/s"), "over": .plain("30s")])) }
        return true
    }

    private static func setPause(_ value: String, _ task: inout ImportedTask) -> Bool {
        if value == "true" { task.set("suspended", .plain("true")) }
        return value == "true" || value == "false"
    }

    private static func setCheck(_ value: String, _ task: inout ImportedTask) -> Bool {
        if value == "false" { task.setSession("tls", .map(["trust": .map(["policy": .text("insecure")])])) }
        return value == "true" || value == "false"
    }
}

/// Checksums as aria2 and Metalink name them.
enum ForeignChecksum {
    private static let algorithms = [
        "sha-256": ("sha256", 64), "sha-512": ("sha512", 128), "sha-1": ("sha1", 40), "md5": ("md5", 32),
        "sha256": ("sha256", 64), "sha512": ("sha512", 128), "sha1": ("sha1", 40),
    ]

    /// `sha256:…`; `nil` for an algorithm that transfer-run does not compute, and for a digest of another length.
    static func text(_ algorithm: String, _ digest: String) -> String? {
        guard let (name, length) = algorithms[algorithm.lowercased()] else { return nil }
        let digest = digest.filter { $0 != " " && !$0.isNewline }.lowercased()
        let isHex = digest.utf8.allSatisfy { $0.isASCIIDigit || (0x61...0x66).contains($0) }
        return isHex && digest.utf8.count == length ? "\(name):\(digest)" : nil
    }

    /// How well an algorithm proves a file: more is better.
    static func strength(_ text: String) -> Int {
        ["md5:", "sha1:", "sha256:", "sha512:"].firstIndex { text.hasPrefix($0) } ?? -1
    }
}
