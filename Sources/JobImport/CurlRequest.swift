/// Fills the keys of a task from a curl command: all but where the answer goes.
struct CurlRequest {
    let place: ImportPlace
    let location: URLText
    let command: ParsedCommand
    let input: StandardInput
    /// The file that `--upload-file` sends to this URL; `nil` without one.
    let upload: String?

    /// Returns `false` where the transfer cannot be said at all, after a warning.
    func fill(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        guard setBody(&task, &job) else { return false }
        guard setMethod(&task, &job), CurlSession(location: location, command: command).fill(&task, &job),
            setHeaders(&task, &job)
        else { return false }
        setTimes(&task, &job)
        setRedirects(&task, &job)
        return true
    }

    // MARK: Method and body

    private func setMethod(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        let hasBody = task.fields.contains { $0.key == "body" }
        guard let method = command.value("request") ?? (command.has("head") ? "HEAD" : nil) else { return true }
        if hasBody, method.uppercased() == "HEAD" {
            job.lose(place, "a HEAD with a body has no equal: this transfer was left out")
            return false
        }
        if method != (hasBody ? task.text("type") == "upload" ? "PUT" : "POST" : "GET") {
            task.set("method", .text(method))
        }
        return true
    }

    private func setBody(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        let data = command.items.filter { CurlData.names.contains($0.name) }.map { CurlData.opened($0, &job) }
        let forms = command.items.filter { $0.name == "form" || $0.name == "form-string" }
            .map { CurlData.opened($0, &job) }
        let typed = command.values("url-query")
        // `+` before a value says that it is encoded already.
        let queries = typed.map { $0.hasPrefix("+") ? job.raw(String($0.dropFirst())) : CurlData.encoded($0) }
        let encoding = typed + (command.has("get") ? data.filter { $0.name == "data-urlencode" }.map(\.value) : [])
        if typed.contains(where: { !$0.hasPrefix("+") && CurlData.isFile(encoding: $0) }) {
            job.lose(place, "`--url-query` with data from a file has no equal: this transfer was left out")
            return false
        }
        if encoding.contains(where: { CurlData.encodesSecret($0, job) }) {
            job.lose(place, "a secret that is encoded for a query has no equal: this transfer was left out")
            return false
        }
        if command.has("get") {
            guard let text = CurlData.query(data, job) else {
                job.lose(place, "`--get` with data from a file has no equal: this transfer was left out")
                return false
            }
            if data.contains(where: { $0.name == "data-urlencode" && JobText.hasReference($0.value) }) {
                job.lose(&task, CurlData.blankNote)
            }
            task.url = URLText(task.url).adding(query: ([text] + queries).filter { !$0.isEmpty }.joined(separator: "&"))
            return true
        }
        if !queries.isEmpty { task.url = URLText(task.url).adding(query: queries.joined(separator: "&")) }
        if let file = upload { return setUpload(file, &task, &job) }
        if !forms.isEmpty { return setForm(forms, &task, &job) }
        if !data.isEmpty { return CurlData(place: place, input: input).fill(data, &task, &job) }
        return true
    }

    private func setUpload(_ file: String, _ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        task.set("type", .text("upload"))
        task.set("method", .text(command.value("request") ?? "PUT"))
        let isInput = file == "-" || file == "."
        guard let body = input.body(isInput ? "-" : file, isStripped: false, place, &task, &job) else { return false }
        if !isInput {
            let url = URLText(task.url)
            guard
                let name = Self.encodedName(of: job.filled(file), job.loops)
                    ?? (url.adding(name: "x") == url.text ? "" : nil)
            else {
                job.lose(
                    place, "the name of the file that a variable holds ends the URL here: this transfer was left out")
                return false
            }
            task.url = url.adding(name: name)
        }
        task.set("body", body)
        if task.body.contains(where: { $0.key == "file" }) { task.set("contentType", .text("none")) }
        return true
    }

    /// The last part of a path; `nil` where a variable holds it, perhaps with folders.
    private static func encodedName(of path: String, _ loops: [ShellLoop]) -> String? {
        let name = path.split(separator: "/").last.map { String($0) } ?? path
        guard JobText.hasReference(name) else { return Percent.encoded(name) }
        // A file that a pattern found has its own name.
        if name.hasPrefix("${"), name.hasSuffix(".path}") { return name.dropLast(6) + ".name}" }
        if loops.contains(where: { $0.holdsNames && name == "${\($0.name)}" }) { return name }
        return name.hasPrefix("${") && name.hasSuffix("}") ? nil : name
    }

    private func setForm(_ forms: [ParsedCommand.Item], _ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        var parts: [YAMLNode] = []
        for form in forms {
            guard let part = CurlForm.part(form, &task, &job) else {
                job.lose(
                    place,
                    "a part of `--form` that is a text from a file (`<`), standard input or several files, or has headers or an "
                        + "encoder, has no equal: this transfer was left out")
                return false
            }
            parts.append(part)
        }
        task.set("body", .map(["multipart": .list(parts)]))
        return true
    }

    // MARK: Headers

    /// Sets headers and credentials. A header that is typed goes before what an option says of its name.
    private func setHeaders(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        var headers = ForeignHeaders(for: location)
        for header in command.values("header") {
            guard headers.add(header, &task, &job) else { return false }
        }
        if let agent = command.value("user-agent"), !agent.isEmpty || headers.has("User-Agent") {
            headers.add("User-Agent", unlessTyped: agent)
        } else if command.has("user-agent") {
            job.lose(&task, "leaving out the header `User-Agent` has no equal: a usual one is sent")
        }
        if let referer = command.value("referer"), !referer.hasPrefix(";auto") {
            headers.add(
                "Referer", unlessTyped: referer.hasSuffix(";auto") ? String(referer.dropLast(5)) : referer)
        }
        if let range = command.value("range") { headers.add("Range", unlessTyped: "bytes=\(range)") }
        if command.has("json") { headers.add("Accept", unlessTyped: "application/json") }
        let cookies = command.values("cookie")
        if cookies.contains(where: { !job.filled($0).contains("=") && $0.hasPrefix("${env.") && $0.hasSuffix("}") }) {
            job.lose(
                place,
                "only the shell knows whether `--cookie` names a file or cookies (write `-b \"name=$VALUE\"`): this transfer was left out"
            )
            return false
        }
        let pairs = cookies.filter { job.filled($0).contains("=") }
        if !pairs.isEmpty, !headers.has("Cookie") {
            let text = pairs.joined(separator: ";")
            headers.add("Cookie", unlessTyped: job.hide(text, "COOKIE", location.host))
        }
        // A credential takes no value of an answer.
        if let token = command.value("oauth2-bearer"), token.contains("tasks.@") {
            headers.add("Authorization", unlessTyped: "Bearer \(job.hide(token, "TOKEN", location.host))")
        }
        if !headers.has("Authorization"), let user = command.value("user"), user.hasPrefix("${env."),
            Self.halves(user).1 == nil
        {
            job.lose(
                place,
                "a user and a password in one variable have no equal (write `-u \"me:$PASSWORD\"`): this transfer was left out"
            )
            return false
        }
        setCredentials(&task, &job, isTyped: headers.has("Authorization"))
        if !headers.fields.isEmpty { task.set("headers", .map(headers.fields)) }
        return true
    }

    // MARK: Credentials

    /// `isTyped`: a header says what these would.
    private func setCredentials(_ task: inout ImportedTask, _ job: inout ImportedJob, isTyped: Bool) {
        var list: [YAMLNode] = []
        if isTyped {
            // curl sends the header alone.
        } else if let user = command.value("user") ?? userInURL {
            list.append(credential(user, &job))
        } else if let token = command.value("oauth2-bearer") {
            let secret = job.hide(token, "TOKEN", location.host)
            list.append(
                .map(["method": .text("bearer"), "preemptive": .plain("true"), "token": .text(secret)]))
        }
        if !isTyped, command.has("netrc") || command.has("netrc-optional") {
            // As curl does, unless another method is asked for.
            let isAsked = ["digest", "ntlm", "negotiate", "anyauth"].contains { command.has($0) }
            list.append(
                .map(isAsked ? ["netrc": .plain("true")] : ["netrc": .plain("true"), "preemptive": .plain("true")]))
        }
        if !CurlSession(location: location, command: command).hasUserInProxy(job), let proxy = proxyUser(&job) {
            list.append(proxy)
        }
        if !list.isEmpty { task.set("credentials", .list(list)) }
    }

    /// `USER:PASSWORD` of the URL. A user without a password has an empty one, unless `.netrc` may know it: then `nil`.
    private var userInURL: String? {
        guard let user = location.user.map({ Percent.decoded($0) }) else { return nil }
        if user.contains(":") { return user }
        return command.has("netrc") || command.has("netrc-optional") ? nil : user + ":"
    }

    /// A credential without `host` is for the server that the task names, and for no other port of it.
    private func credential(_ user: String, _ job: inout ImportedJob) -> YAMLNode {
        var (name, password) = Self.halves(user)
        let filled = job.filled(user)
        if password == nil, filled != user {
            // A variable of the script holds both.
            (name, password) = Self.halves(filled)
        }
        if let signing = command.value("aws-sigv4") {
            return signed(signing, name, job.hide(password ?? "", "PASSWORD", location.host))
        }
        var fields: [YAMLField] = []
        let method = ["digest", "ntlm", "negotiate"].first { command.has($0) }
        if let method {
            fields.append(YAMLField("method", .text(method)))
        } else if !command.has("anyauth") {
            fields = ForeignLogin.unasked
        }
        return .map(fields + job.login(name, password, for: location.host))
    }

    /// `--aws-sigv4 provider:provider2:region:service`.
    private func signed(_ signing: String, _ key: String, _ secret: String) -> YAMLNode {
        let parts = signing.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
        let labels = location.authority.split(separator: ".").map { String($0) }
        let service = parts.count > 3 ? parts[3] : labels.first ?? "s3"
        let region = parts.count > 2 ? parts[2] : labels.count > 1 ? labels[1] : "us-east-1"
        return .map([
            YAMLField("method", .text("awsSigV4")), YAMLField("accessKey", .text(key)),
            YAMLField("secretKey", .text(secret)), YAMLField("region", .text(region)),
            YAMLField("service", .text(service)),
        ])
    }

    private func proxyUser(_ job: inout ImportedJob) -> YAMLNode? {
        let proxy = command.value("proxy").map { job.filled($0) }
        let inURL = proxy.flatMap { URLText($0).user.map { Percent.decoded($0) } }
        guard let user = command.value("proxy-user") ?? inURL else { return nil }
        let (name, password) = Self.halves(user)
        let proxyHost = proxy.flatMap { URLText($0).host }
        var fields = [YAMLField("host", .text(proxyHost ?? "*")), YAMLField("proxy", .plain("true"))]
        if let method = ["digest", "ntlm", "negotiate"].first(where: { command.has("proxy-\($0)") }) {
            fields.append(YAMLField("method", .text(method)))
        }
        return .map(fields + job.login(name, password, "PROXY_PASSWORD", for: proxyHost))
    }

    /// User and password at the first colon that is not inside a reference.
    static func halves(_ text: String) -> (String, String?) {
        var depth = 0
        for index in text.indices {
            if text[index] == "{" { depth += 1 }
            if text[index] == "}" { depth = max(0, depth - 1) }
            if text[index] == ":", depth == 0 {
                return (String(text[..<index]), String(text[text.index(after: index)...]))
            }
        }
        return (text, nil)
    }

    // MARK: Times and limits

    private func setTimes(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        if let time = command.seconds("max-time", for: &task, &job) { task.set("timeoutForResource", .plain(time)) }
        setRetry(&task, &job)
        if let size = command.size("limit-rate", for: &task, &job) { task.set("bandwidth", .plain(size + "/s")) }
        if command.has("speed-limit") || command.has("speed-time") {
            let limit = command.value("speed-limit").flatMap { Int($0) } ?? 1
            let over = command.seconds("speed-time", for: &task, &job) ?? "30s"
            task.set("minimumRate", .map(["rate": .plain("\(max(1, limit))B/s"), "over": .plain(over)]))
        }
        if let size = command.size("max-filesize", for: &task, &job) { task.set("maximumSize", .plain(size)) }
        if command.has("time-cond") {
            job.lose(&task, ImportedTask.conditionNote("--time-cond"))
        }
    }

    private func setRetry(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        var retry: [YAMLField] = []
        if let number = command.number("retry", for: &task, &job) {
            retry.append(YAMLField("attempts", .plain("\(number + 1)")))
        }
        if let delay = command.seconds("retry-delay", for: &task, &job) {
            retry.append(
                YAMLField(
                    "backoff", .map(["initial": .plain(delay), "maximum": .plain(delay), "jitter": .text("none")])))
        }
        if let most = command.seconds("retry-max-time", for: &task, &job) {
            retry.append(YAMLField("for", .plain(most)))
        }
        if command.has("retry-all-errors"), !retry.isEmpty {
            retry.append(YAMLField("statuses", .list([.plain("4xx"), .plain("5xx")])))
        }
        if !retry.isEmpty { task.set("retry", .map(retry)) }
    }

    private func setRedirects(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        guard location.scheme.hasPrefix("http") || location.text.hasPrefix("${") else { return }
        for option in ["proto", "proto-redir"] {
            if let schemes = command.value(option), !allows(schemes) {
                job.lose(
                    &task,
                    "`--\(option)` has no equal: schemes are those of the URL, and redirects stay in http and https")
            }
        }
        guard command.has("location") || command.has("location-trusted") else {
            return task.set("redirects", .map(["follow": .text("never")]))
        }
        if command.has("location-trusted") {
            job.lose(&task, "`--location-trusted` has no equal: credentials stay with the origin they were written for")
        }
        let method = command.value("request") ?? "POST"
        let options = ["post301", "post302", "post303", "request"]
        if options.contains(where: { command.has($0) }),
            !task.body.isEmpty || !["GET", "HEAD", "POST"].contains(method)
                || command.has("request") && method == "POST"
        {
            job.lose(
                &task, "curl sends the \(method) again to where a redirect leads; here no redirect of it is followed")
            return task.set("redirects", .map(["follow": .text("never")]))
        }
        guard let most = command.value("max-redirs") else { return }
        if let number = Int(most), (0...1000).contains(number) {
            task.set("redirects", .map(["maximum": .plain("\(number)")]))
        } else {
            job.lose(&task, "`--max-redirs` without a limit has no equal: 20 are followed")
        }
    }

    /// Whether `=https` and its like allow what a task does anyway: the URL's scheme, and redirects that never leave https.
    private func allows(_ schemes: String) -> Bool {
        let names = Set(schemes.dropFirst().split(separator: ",").map { $0.lowercased() })
        return schemes.hasPrefix("=") && names.contains("https")
            && (location.scheme == "https" || names.contains("http"))
    }
}

/// Sizes and times as curl, wget and aria2 write them.
enum ForeignSize {
    /// `100K` is `100KiB`, as these programs mean it.
    static func text(_ text: String) -> String? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, digits.utf8.count <= 12 else { return nil }
        switch text[digits.endIndex...].lowercased() {
        case "", "b": return "\(digits)B"
        case "k", "kb", "kib": return "\(digits)KiB"
        case "m", "mb", "mib": return "\(digits)MiB"
        case "g", "gb", "gib": return "\(digits)GiB"
        default: return nil
        }
    }

    /// `thousandths` of a request in so many seconds, as requests a second; `nil` for less than one in 1,000 seconds.
    static func perSecond(_ thousandths: Int, in seconds: Int) -> String? {
        let rate = thousandths / seconds
        guard rate > 0 else { return nil }
        guard rate % 1000 != 0 else { return "\(rate / 1000)" }
        let fraction = String(rate % 1000 + 1000).dropFirst()
        return "\(rate / 1000).\(fraction)"
    }

    /// What `sleep` and `timeout` take, such as `2`, `0.5` or `1m`, as a duration.
    static func duration(_ text: String) -> String? {
        guard let unit = text.last, let factor = ["s": 1, "m": 60, "h": 3600][unit] else { return seconds(text) }
        return factor == 1 ? seconds(String(text.dropLast())) : Int(text.dropLast()).map { "\($0 * factor)s" }
    }

    /// Seconds with or without a fraction, as a duration.
    static func seconds(_ text: String) -> String? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = Int(parts[0].isEmpty ? "0" : parts[0]), whole >= 0, whole < 1_000_000_000
        else { return nil }
        guard parts.count == 2, !parts[1].isEmpty else { return "\(whole)s" }
        guard parts[1].utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        let thousandths = Int((parts[1] + "000").prefix(3)) ?? 0
        return thousandths == 0 ? "\(whole)s" : "\(whole * 1000 + thousandths)ms"
    }
}
