/// The options of wget.
enum WgetOptions {
    static let table = OptionTable(rows)

    private static let rows = """
        output-document O V translated
        directory-prefix P V translated
        input-file i V translated
        base B V translated
        continue c F translated
        start-pos - V refused
        no-clobber - F translated
        timestamping N F translated
        no-if-modified-since - F lost
        no-use-server-timestamps - F translated
        content-disposition - F translated
        content-on-error - F lost an error page never becomes the file
        trust-server-names - F lost the name is that of the URL
        tries t V translated
        retry-connrefused - F usual
        retry-on-host-error - F usual
        retry-on-http-error - V translated
        waitretry - V translated
        wait w V translated
        random-wait - F lost
        timeout T V translated
        dns-timeout - V lost
        connect-timeout - V translated
        read-timeout - V translated
        limit-rate - V translated
        quota Q V translated
        header - V translated
        user-agent U V translated
        referer - V translated
        user - V translated
        password - V translated
        http-user - V translated
        http-password - V translated
        ftp-user - V translated
        ftp-password - V translated
        ask-password - F translated
        use-askpass - V refused
        auth-no-challenge - F translated
        proxy-user - V refused `credentials: [{ proxy: true, … }]` of a session
        proxy-password - V refused `credentials: [{ proxy: true, … }]` of a session
        no-proxy - F translated
        post-data - V translated
        post-file - V translated
        method - V translated
        body-data - V translated
        body-file - V translated
        no-check-certificate - F translated
        ca-certificate - V translated
        ca-directory - V refused
        certificate - V translated
        private-key - V translated
        certificate-type - V refused
        private-key-type - V refused
        crl-file - V refused
        pinnedpubkey - V translated
        secure-protocol - V lost `tls: { minimum: … }` of a session
        ciphers - V lost
        https-only - F lost
        no-hsts - F lost
        hsts-file - V lost sessions keep HSTS by themselves
        inet4-only 4 F translated
        inet6-only 6 F translated
        prefer-family - V lost
        bind-address - V lost
        no-dns-cache - F lost
        max-redirect - V translated
        no-cookies - F translated
        load-cookies - V translated
        save-cookies - V translated
        keep-session-cookies - F translated
        no-cache - F translated
        compression - V translated
        no-http-keep-alive - F lost
        ignore-length - F lost
        save-headers - F lost the report has the headers of each task
        server-response S F lost the report has the headers of each task
        spider - F translated
        delete-after - F lost
        no-directories - F usual
        force-directories x F lost
        no-host-directories - F usual
        cut-dirs - V lost
        protocol-directories - F lost
        default-page - V lost
        adjust-extension E F lost
        restrict-file-names - V lost
        unlink - F usual
        xattr - F lost
        recursive r F refused
        level l V lost
        mirror m F refused
        page-requisites p F refused
        convert-links k F refused
        backup-converted K F lost
        accept A V lost
        reject R V lost
        accept-regex - V lost
        reject-regex - V lost
        regex-type - V lost
        domains D V lost
        exclude-domains - V lost
        include-directories I V lost
        exclude-directories X V lost
        no-parent - F lost
        span-hosts H F lost
        relative L F lost
        follow-ftp - F lost
        follow-tags - V lost
        ignore-tags - V lost
        ignore-case - F lost
        strict-comments - F lost
        force-html F F refused
        no-passive-ftp - F lost
        no-remove-listing - F lost
        no-glob - F usual
        retr-symlinks - F lost
        preserve-permissions - F lost
        ftps-implicit - F refused
        metalink-over-http - F lost
        input-metalink - V refused import that file, too
        warc-file - V lost
        execute e V refused
        config - V refused
        no-config - F usual
        background b F lost `--detach` with a background session
        output-file o V shown
        append-output a V shown
        debug d F shown
        quiet q F shown
        verbose v F shown
        no-verbose - F shown
        show-progress - F shown
        progress - V shown
        report-speed - V shown
        no-netrc - F usual
        no-iri - F usual
        local-encoding - V lost
        remote-encoding - V lost
        version V F shown
        help h F shown
        """
}

/// Translates one wget command line.
struct WgetCommand {
    private let place: ImportPlace
    private let command: ParsedCommand

    /// Adds the tasks of a command to a job; `output` is the file that the shell writes standard output to.
    static func add(_ words: [String], place: ImportPlace, to job: inout ImportedJob, output: String? = nil) {
        // `-nc`, `-nd`, `-nv`, `-nH` and `-np` are options of two letters.
        let pairs = [
            "-nc": "--no-clobber", "-nd": "--no-directories", "-nv": "--no-verbose", "-nH": "--no-host-directories",
            "-np": "--no-parent",
        ]
        let words = words.map { pairs[$0] ?? $0 }
        let command = ParsedCommand(words, WgetOptions.table, negates: false)
        guard job.tell(of: command, "wget", place) else { return }
        job.note(
            "wget sends back the cookies of one command; the job takes none (`cookies` of a session)."
        )
        if !command.has("no-netrc") {
            job.note(
                "wget takes users from `~/.netrc` by itself; a session does with `credentials: [{ netrc: true }]`.")
        }
        WgetCommand(place: place, command: command).add(to: &job, output)
    }

    private func add(to job: inout ImportedJob, _ output: String?) {
        if let quota = command.value("quota") {
            if let size = ForeignSize.text(quota) {
                if size != "0B" { job.limits = [YAMLField("maximumBytes", .plain(size))] }
            } else {
                job.lose(place, "`--quota` is no size that is known here")
            }
        }
        if let list = command.value("input-file") { addList(list, &job) }
        let urls = command.values("")
        for url in urls { addTask(url, &job, output, urls.count) }
        if urls.isEmpty, command.value("input-file") == nil { job.lose(place, "wget without a URL was left out") }
    }

    private func addList(_ list: String, _ job: inout ImportedJob) {
        guard list != "-" else { return job.lose(place, "`--input-file -` has no equal: it was left out") }
        let name = "url"
        var task = ImportedTask(place: place, name: "list", url: "${\(name)}")
        task.comments.append("each line of the list is taken for a URL: leave comments out of it")
        if command.has("base") {
            return job.lose(
                place, "`--base` has no equal, as a line of the list may be a whole URL: this wget was left out")
        }
        task.name = "from-list"
        task.set("forEach", .map([name: .map(["lines": .text(list)])]))
        guard fill(&task, &job, location: nil) else { return }
        task.set("to", .text(folder))
        task.idSuffix = "-${\(name).index}"
        job.add(task)
    }

    private var folder: String {
        let prefix = command.value("directory-prefix") ?? "."
        return prefix.hasSuffix("/") ? prefix : prefix + "/"
    }

    private func addTask(_ url: String, _ job: inout ImportedJob, _ output: String?, _ count: Int) {
        guard let location = job.location(of: url, place) else { return }
        var task = ImportedTask(
            place: place, name: location.taskName(sendsData: sendsData) ?? "transfer", url: job.raw(location.text))
        guard fill(&task, &job, location: location) else { return }
        if command.has("spider") {
            task.set("method", .text("HEAD"))
        } else if let file = command.value("output-document") {
            if count > 1, file != "-" { job.lose(&task, "several URLs in one file have no equal: each has its own") }
            if let to = ImportedTask.target(file, output) { task.set("to", .text(to)) }
        } else if let name = location.storedName, !command.has("content-disposition") {
            let folder = folder == "./" ? "" : folder
            let query = location.query.isEmpty ? "" : "?" + Percent.decoded(location.query).replacing("/", with: "%2F")
            let isSecret = job.hidesSecrets(inQueryOf: "?" + location.query)
            task.set("to", .text(folder + name + (isSecret ? "" : query)))
            if isSecret { job.lose(&task, "wget writes the query into the file's name: not here, as it has a secret") }
        } else {
            task.set("to", .text(folder))
            if let note = location.nameNote { task.comments.append(note) }
        }
        if let to = task.text("to") { task.setTarget(to, &job) }
        job.add(task)
    }

    private var sendsData: Bool { command.has("post-data") || command.has("body-data") }

    /// Returns `false` where the transfer cannot be said as it is, after a warning.
    private func fill(_ task: inout ImportedTask, _ job: inout ImportedJob, location: URLText?) -> Bool {
        setBody(&task)
        if !task.body.isEmpty, task.text("method") == "HEAD" {
            job.lose(place, "a HEAD with a body has no equal: this transfer was left out")
            return false
        }
        var headers = ForeignHeaders(for: location, replaces: true)
        for header in command.values("header") {
            guard headers.add(header, &task, &job) else { return false }
        }
        if let agent = command.value("user-agent") { headers.add("User-Agent", unlessTyped: agent) }
        if let referer = command.value("referer") { headers.add("Referer", unlessTyped: referer) }
        if !headers.fields.isEmpty { task.set("headers", .map(headers.fields)) }
        setCredentials(&task, &job, location)
        setRules(&task, &job)
        return setSession(&task, &job, location)
    }

    private func setBody(_ task: inout ImportedTask) {
        if let method = command.value("method") { task.set("method", .text(method.uppercased())) }
        if let data = command.value("post-data") ?? command.value("body-data") {
            task.set("body", .map(["data": .text(data)]))
        } else if let file = command.value("post-file") ?? command.value("body-file") {
            task.set("body", .map(["file": .text(file)]))
        } else {
            return
        }
        task.set("contentType", .text("application/x-www-form-urlencoded"))
    }

    private func setCredentials(_ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText?) {
        let inURL = location?.user.map { CurlRequest.halves(Percent.decoded($0)) }
        let user = ["http-user", "ftp-user", "user"].lazy.compactMap { command.value($0) }.first ?? inURL?.0
        let password =
            ["http-password", "ftp-password", "password"].lazy.compactMap { command.value($0) }.first ?? inURL?.1
        guard let user else { return }
        let typed = password ?? (command.has("ask-password") ? nil : "")
        var fields: [YAMLField] = []
        if command.has("auth-no-challenge") { fields = ForeignLogin.unasked }
        task.set("credentials", .list([.map(fields + job.login(user, typed, for: location?.host))]))
    }

    private func setRules(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        if command.has("timestamping") { job.lose(&task, ImportedTask.conditionNote("--timestamping")) }
        if command.has("no-clobber") { task.set("existing", .text("skip")) }
        if command.has("continue") {
            task.comments.append("an interrupted download goes on by itself; `resume: adopt` takes up what wget left")
        }
        if command.has("no-use-server-timestamps") { task.set("preserveTime", .plain("false")) }
        if command.has("no-cookies") { task.set("cookies", .plain("false")) }
        if command.has("no-cache") { task.set("cachePolicy", .text("reloadIgnoringCacheData")) }
        if let compression = command.value("compression"), compression != "none" {
            task.set("decompress", .plain("true"))
        }
        if let number = command.number("max-redirect", for: &task, &job) {
            task.set("redirects", .map(number == 0 ? ["follow": .text("never")] : ["maximum": .plain("\(number)")]))
        }
        if let size = command.size("limit-rate", for: &task, &job) { task.set("bandwidth", .plain(size + "/s")) }
        setRetry(&task, &job)
        if let time = command.seconds("read-timeout", "timeout", for: &task, &job) {
            task.set("timeoutForRequest", .plain(time))
        }
    }

    private func setRetry(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        var retry: [YAMLField] = []
        if command.value("tries") == "inf" || command.value("tries") == "0" {
            retry.append(YAMLField("attempts", .plain("unlimited")))
        } else if let number = command.number("tries", for: &task, &job) {
            retry.append(YAMLField("attempts", .plain("\(number)")))
        }
        if let most = command.seconds("waitretry", for: &task, &job) {
            let first = most.hasSuffix("ms") && most.count < 6 ? most : "1s"
            retry.append(YAMLField("backoff", .map(["initial": .plain(first), "maximum": .plain(most)])))
        }
        if let statuses = command.value("retry-on-http-error") {
            let list = statuses.split(separator: ",").compactMap { Int($0) }.filter { (100...599).contains($0) }
            if !list.isEmpty { retry.append(YAMLField("statuses", .list(list.map { .plain("\($0)") }))) }
        }
        if !retry.isEmpty { task.set("retry", .map(retry)) }
    }

    private func setSession(_ task: inout ImportedTask, _ job: inout ImportedJob, _ location: URLText?) -> Bool {
        if let time = command.seconds("connect-timeout", "timeout", for: &task, &job) {
            task.setSession("connectTimeout", .plain(time))
        }
        if let wait = command.seconds("wait", for: &task, &job) {
            let milliseconds = wait.hasSuffix("ms") ? Int(wait.dropLast(2)) : Int(wait.dropLast()).map { $0 * 1000 }
            if let milliseconds, let rate = ForeignSize.perSecond(1_000_000, in: milliseconds) {
                task.setSession("requestsPerSecond", .plain(rate))
            } else {
                job.lose(&task, "`--wait` of more than 1,000 seconds has no equal")
            }
        }
        if command.has("inet4-only") { task.setSession("addressFamily", .text("ipv4")) }
        if command.has("inet6-only") { task.setSession("addressFamily", .text("ipv6")) }
        if command.has("no-proxy") { task.setSession("proxy", .text("none")) }
        let certificate = command.value("certificate").map {
            ForeignCertificate(host: location?.host, file: $0, key: command.value("private-key"), password: nil)
        }
        task.forgetsCookies = command.has("save-cookies") && !command.has("keep-session-cookies")
        return task.setTLS(
            ca: command.value("ca-certificate"), pins: command.value("pinnedpubkey"),
            isInsecure: command.has("no-check-certificate"), certificate, &job)
            && task.setCookies(from: command.value("load-cookies"), to: command.value("save-cookies"), &job)
    }
}
