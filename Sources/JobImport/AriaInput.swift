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
        /// Whether they are those of a command line, whose texts may have references to variables in them.
        var isCommand = false
        var options: [(place: ImportPlace, name: String, value: String)] = []

        private func value(_ name: String) -> String? { options.last { $0.name == name }?.value }
        private func text(_ typed: String) -> String { isCommand ? typed : JobText.literal(typed) }
        private func location(_ url: String, _ job: ImportedJob) -> URLText {
            isCommand ? URLText(url, filled: job.filled(url)) : URLText(text(url))
        }

        /// Adds the task.
        func add(to job: inout ImportedJob) {
            let known = job
            let locations = urls.map { location($0, known) }.filter { location in
                if location.isKnown, location.isWellFormed, !location.text.hasPrefix("http://magnet:"),
                    !location.authority.isEmpty || isCommand && location.text.hasPrefix("${")
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
                url: isCommand ? job.raw(first.text) : first.text)
            task.mirrors = locations.dropFirst().map { isCommand ? known.raw($0.text) : $0.text }
            setPlace(&task, out)
            if out == nil, let note = first.nameNote { task.comments.append(note) }
            if let user = first.user, value("http-user") == nil {
                let halves = CurlRequest.halves(Percent.decoded(user))
                setUser(&task, &job, first, halves.0, halves.1 ?? "")
            }
            if setOptions(&task, &job, first), setSession(&task, &job, first) { job.add(task) }
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

        /// Returns `false` where what an option asks for cannot be said, after a warning.
        private func setOptions(_ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText) -> Bool {
            var headers = ForeignHeaders(for: location)
            for option in options {
                let value = text(option.value)
                switch option.name {
                case _ where AriaOptions.ofSession.contains(option.name) && isCommand: break
                case "out", "dir", "gid", "http-passwd", "ftp-passwd", "http-auth-challenge": break
                case "conditional-get" where value == "true":
                    job.lose(&task, ImportedTask.conditionNote("--conditional-get"))
                case "dry-run" where value == "true", "hash-check-only" where value == "true":
                    job.lose(place, "with `\(option.name)` aria2 fetches nothing: this transfer was left out")
                    return false
                case "header": guard headers.add(value, &task, &job) else { return false }
                case "user-agent": headers.add("User-Agent", unlessTyped: value)
                case "referer" where value != "*" || task.mirrors.isEmpty:
                    headers.add(
                        "Referer", unlessTyped: value == "*" ? String(location.text.prefix { $0 != "#" }) : value)
                case "http-no-cache" where value == "true":
                    for name in ["Cache-Control", "Pragma"] { headers.add(name, unlessTyped: "no-cache") }
                case "http-user" where location.scheme == "ftp" && task.mirrors.isEmpty: break
                case "ftp-user" where location.scheme != "ftp" && task.mirrors.isEmpty: break
                case "http-user", "ftp-user":
                    let password = self.value(option.name == "http-user" ? "http-passwd" : "ftp-passwd")
                    setUser(&task, &job, location, option.value, password)
                default:
                    if !JobText.hasReference(value), AriaOptions.set(option.name, option.value, &task) { continue }
                    guard AriaOptions.lose(option, isCommand, &task, &job) else { return false }
                }
            }
            if !headers.fields.isEmpty { task.set("headers", .map(headers.fields)) }
            return true
        }

        /// Sets proxies, trust and cookies. Returns `false` where they cannot be said, after a warning.
        private func setSession(_ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText) -> Bool {
            guard setProxy(&task, &job) else { return false }
            // An input file says none of these.
            guard isCommand else { return true }
            guard ["true", "false", nil].contains(value("check-certificate")) else {
                job.lose(place, "`check-certificate` with this value has no equal: this transfer was left out")
                return false
            }
            let certificate = value("certificate").map {
                ForeignCertificate(
                    host: task.mirrors.isEmpty ? location.host : nil, file: $0, key: value("private-key"), password: nil
                )
            }
            if let certificate, certificate.key == nil {
                job.lose(
                    place, "`certificate` of aria2 without `private-key` has no equal: this transfer was left out")
                return false
            }
            return task.setTLS(
                ca: value("ca-certificate"), pins: nil, isInsecure: value("check-certificate") == "false", certificate,
                &job) && task.setCookies(from: value("load-cookies"), to: value("save-cookies"), &job)
        }

        private func setProxy(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
            func refuse(_ reason: String) -> Bool {
                job.lose(place, "\(reason): this transfer was left out")
                return false
            }
            var fields: [YAMLField] = []
            for scheme in ["all", "http", "https", "ftp"] {
                let (user, password) = (value("\(scheme)-proxy-user"), value("\(scheme)-proxy-passwd"))
                guard let typed = value("\(scheme)-proxy").map({ job.filled(text($0)) }) else {
                    if user == nil, password == nil { continue }
                    return refuse("a user of a proxy that is not named has no equal")
                }
                if typed.isEmpty {
                    fields.append(YAMLField(scheme, .text("none")))
                    continue
                }
                let url = URLText(typed)
                guard !typed.hasPrefix("${"), var mark = url.text.firstRange(of: "://")?.upperBound else {
                    return refuse("the proxy is known to the shell alone")
                }
                var shown = url.text
                if shown.hasSuffix("/") { shown.removeLast() }
                let inURL = CurlRequest.halves(Percent.decoded(url.user ?? ""))
                if let name = user.map({ text($0) }) ?? (url.user == nil ? nil : inURL.0) {
                    let secret = job.hide(password.map { text($0) } ?? inURL.1 ?? "", "PROXY_PASSWORD", url.host)
                    mark = shown.index(
                        shown.startIndex, offsetBy: url.text.distance(from: url.text.startIndex, to: mark))
                    shown.insert(
                        contentsOf: "\(JobText.hasReference(name) ? name : Percent.encoded(name)):\(secret)@", at: mark)
                }
                fields.append(YAMLField(scheme, .text(shown)))
            }
            let bypass = (value("no-proxy") ?? "").split(separator: ",").flatMap { host -> [YAMLNode] in
                let bare = host.hasPrefix(".") ? host.dropFirst() : host
                return host.contains("/") ? [.text(String(host))] : [.text(String(bare)), .text("*.\(bare)")]
            }
            let isNone = fields.allSatisfy { $0.value == .text("none") }
            if fields.contains(where: { $0.value == .text("none") }), !isNone {
                return refuse("a proxy for some schemes alone, with none for others, has no equal")
            }
            if fields.isEmpty {
                if !bypass.isEmpty {
                    job.lose(&task, "`no-proxy` without a proxy of the command has no equal: NO_PROXY says it")
                }
            } else if isNone {
                task.setSession("proxy", .text("none"))
            } else if fields.map(\.key) == ["all"], bypass.isEmpty {
                task.setSession("proxy", fields[0].value)
            } else {
                task.setSession(
                    "proxy", .map(bypass.isEmpty ? fields : fields + [YAMLField("bypass", .list(bypass))]))
            }
            return true
        }
    }
}

/// The options of aria2 that a task or its session can say.
private enum AriaOptions {
    /// Options of proxies, trust and cookies, which are said together.
    static let ofSession: Set<String> = [
        "certificate", "private-key", "ca-certificate", "check-certificate", "load-cookies", "save-cookies",
    ]
    private static let ofProxies: Set<String> = Set(
        ["all", "http", "https", "ftp"].flatMap { ["\($0)-proxy", "\($0)-proxy-user", "\($0)-proxy-passwd"] } + [
            "no-proxy"
        ])
    /// Options that have no equal and change nothing of the request.
    private static let harmless: Set<String> = [
        "auto-save-interval", "async-dns", "async-dns-server", "conf-path", "content-disposition-default-utf8",
        "daemon",
        "deferred-input", "disk-cache", "dscp", "enable-mmap", "enable-rpc", "event-poll", "force-save",
        "follow-torrent",
        "follow-metalink", "interface", "keep-unfinished-download-result", "max-download-result",
        "max-file-not-found", "max-mmap-limit", "max-overall-upload-limit", "max-resume-failure-tries",
        "max-upload-limit", "min-tls-version", "multiple-interface", "no-want-digest-header",
        "on-download-complete", "on-download-error", "on-download-pause", "on-download-start", "on-download-stop",
        "optimize-concurrent-downloads", "remove-control-file", "rlimit-nofile", "save-not-found", "save-session",
        "save-session-interval", "select-least-used-host", "server-stat-if", "server-stat-of", "server-stat-timeout",
        "show-files", "socket-recv-buffer-size", "stop", "stop-with-process", "hash-check-only", "dry-run",
        // Those with values that are not understood.
        "max-concurrent-downloads", "max-overall-download-limit", "split", "max-connection-per-server",
        "max-download-limit", "max-tries", "retry-wait", "timeout", "connect-timeout", "lowest-speed-limit", "pause",
        "allow-overwrite", "min-split-size", "piece-length",
    ]

    /// Options that ask for what happens anyway, or that change only how a file is laid out while it comes.
    private static let usual: Set<String> = [
        "continue", "file-allocation", "remote-time", "conditional-get", "auto-file-renaming", "check-integrity",
        "enable-http-keep-alive", "enable-http-pipelining", "use-head", "uri-selector",
        "allow-piece-length-change", "realtime-chunk-checksum", "always-resume", "no-file-allocation-limit",
        "reuse-uri", "stream-piece-selector", "ftp-pasv", "hash-check-only", "dry-run",
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
        case "parameterized-uri": return value == "false"
        case "min-split-size", "piece-length": return ForeignSize.text(value) != nil
        case "http-accept-gzip":
            if value == "true" { task.set("decompress", .plain("true")) }
            return true
        case "http-no-cache": return value == "false"
        case "disable-ipv6":
            if value == "true" { task.setSession("addressFamily", .text("ipv4")) }
            return true
        case "ftp-type": return value == "binary"
        case "proxy-method": return value == "get"
        case "no-netrc": return true
        default: return usual.contains(name)
        }
    }

    /// Names an option that is not said. Returns `false` where the request would be another one without it: such a transfer is
    /// left out.
    static func lose(
        _ option: (place: ImportPlace, name: String, value: String), _ isCommand: Bool, _ task: inout ImportedTask,
        _ job: inout ImportedJob
    ) -> Bool {
        if ofProxies.contains(option.name) { return true }
        let shown = String(option.name.prefix(40))
        let hint = hints[option.name].map { ": write \($0)" } ?? ""
        let isIgnored = !isCommand && (hints[option.name] != nil || ofSession.contains(option.name))
        let isTorrent = [
            "bt-", "dht-", "enable-dht", "enable-peer", "peer-", "seed-", "listen-port", "rpc-", "metalink-",
        ]
        .contains { option.name.hasPrefix($0) }
        guard isIgnored || isTorrent || harmless.contains(option.name) else {
            let isKnown = ["checksum", "referer", "check-certificate", "http-no-cache", "ftp-type", "proxy-method"]
                .contains(option.name)
            let what = isKnown ? "`\(shown)` with this value" : "`\(shown)` of aria2"
            job.lose(option.place, "\(what) has no equal: this transfer was left out")
            return false
        }
        let message =
            isIgnored
            ? "`\(shown)` belongs to all of aria2 and not to one file\(hint)"
            : "`\(shown)` of aria2 is not translated\(hint)"
        job.warnings.append(ImportWarning(place: option.place, message: message))
        task.comments.append(message)
        return true
    }

    /// What says in a job what an option does that aria2 takes for the whole program.
    private static let hints = [
        "check-certificate": "`tls: { trust: { policy: insecure } }` in the session",
        "ca-certificate": "`tls: { trust: { ca: FILE } }` in the session",
        "certificate": "`tls: { clientCertificates: […] }` in the session",
        "private-key": "`tls: { clientCertificates: […] }` in the session",
        "load-cookies": "`cookies: { file: FILE }` in the session",
        "save-cookies": "`cookies: { file: FILE, save: true }` in the session",
        "max-concurrent-downloads": "`limits: { maximumConcurrentTasks: N }`",
        "max-overall-download-limit": "`limits: { bandwidth: RATE }`",
        "on-download-complete": "`onFinish: [COMMAND]` in the task",
        "on-download-error": "a task with `when: failed`",
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
