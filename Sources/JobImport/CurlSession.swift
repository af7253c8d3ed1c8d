/// Fills the keys of a task's session from a curl command.
struct CurlSession {
    let location: URLText
    let command: ParsedCommand

    /// Returns `false` where what a setting asks for cannot be said: the transfer would go elsewhere, or trust others.
    func fill(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        if let time = command.seconds("connect-timeout", for: &task, &job) {
            task.setSession("connectTimeout", .plain(time))
        }
        guard setTLS(&task, &job), setConnections(&task, &job) else { return false }
        setProxy(&task, &job)
        setVersion(&task)
        let file = command.values("cookie").last { !job.filled($0).contains("=") && !$0.isEmpty }
        if command.value("cookie-jar") == "-" {
            job.lose(&task, "`--cookie-jar -` has no equal: cookies are not printed")
        }
        return task.setCookies(from: file, to: command.values("cookie-jar").last { $0 != "-" }, &job)
    }

    private func setTLS(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        var versions: [YAMLField] = []
        if let minimum = ["1.0", "1.1", "1.2", "1.3"].last(where: { command.has("tlsv\($0)") }) {
            if minimum < "1.2" { job.lose(&task, "TLS below 1.2 is not offered: 1.2 is the least") }
            if minimum == "1.3" { versions.append(YAMLField("minimum", .text("1.3"))) }
        }
        if let most = command.value("tls-max"), most != "default" {
            if most == "1.2" || most == "1.3" {
                versions.append(YAMLField("maximum", .text(most)))
            } else {
                job.lose(&task, "TLS below 1.2 is not offered")
            }
        }
        let (file, password) = command.value("cert").map { CurlRequest.halves($0) } ?? ("", nil)
        let certificate = ForeignCertificate(
            host: location.host, file: file, key: command.value("key"),
            password: (command.value("pass") ?? password).map { job.hide($0, "KEY_PASSWORD", nil) })
        return task.setTLS(
            versions, ca: command.value("cacert"), pins: command.value("pinnedpubkey"),
            isInsecure: command.has("insecure"), file.isEmpty ? nil : certificate, &job)
    }

    private func setProxy(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        let socks = ["socks4": "socks4", "socks4a": "socks4a", "socks5": "socks5", "socks5-hostname": "socks5h"]
        var proxy: String?
        if let typed = command.value("proxy") {
            let filled = job.filled(typed)
            if filled.contains("://") {
                proxy = URLText(filled).text
            } else if filled.hasPrefix("${") {
                proxy = filled
                job.lose(&task, "the proxy's variable must hold a whole URL, such as `http://proxy.example.org:3128`")
            } else {
                proxy = URLText("http://\(filled)").text
            }
        }
        for (option, scheme) in socks { if let host = command.value(option) { proxy = "\(scheme)://\(host)" } }
        let bypass = (command.value("noproxy") ?? "").split { $0 == "," || $0 == " " }.map { String($0) }
        if bypass == ["*"] || command.value("proxy") == "" { return task.setSession("proxy", .text("none")) }
        guard var proxy else {
            if !bypass.isEmpty {
                job.lose(&task, "`--noproxy` without a proxy of the command has no equal: NO_PROXY says it")
            }
            return
        }
        if hasUserInProxy(job) { proxy = withUser(proxy, &job) }
        guard !bypass.isEmpty else { return task.setSession("proxy", .text(Self.trimmed(proxy))) }
        let hosts = bypass.flatMap { host -> [YAMLNode] in
            let bare = host.hasPrefix(".") ? String(host.dropFirst()) : host
            return [.text(bare), .text("*.\(bare)")]
        }
        task.setSession("proxy", .map(["all": .text(Self.trimmed(proxy)), "bypass": .list(hosts)]))
    }

    /// Whether curl sends a user of the proxy unasked, by the method `basic`.
    func hasUserInProxy(_ job: ImportedJob) -> Bool {
        guard let typed = command.value("proxy").map({ job.filled($0) }), !typed.isEmpty, !typed.hasPrefix("${") else {
            return false
        }
        let isOther = ["digest", "ntlm", "negotiate", "anyauth"].contains { command.has("proxy-\($0)") }
        return !isOther && (command.has("proxy-user") || URLText(typed).user != nil)
    }

    /// The proxy's URL with its user.
    private func withUser(_ proxy: String, _ job: inout ImportedJob) -> String {
        let typed = job.filled(command.value("proxy") ?? "")
        let user = command.value("proxy-user") ?? URLText(typed).user.map { Percent.decoded($0) } ?? ""
        let (name, password) = CurlRequest.halves(user)
        let secret = job.hide(password ?? "", "PROXY_PASSWORD", URLText(proxy).host)
        guard let mark = proxy.firstRange(of: "://") else { return proxy }
        let shown = JobText.hasReference(name) ? name : Percent.encoded(name)
        return proxy[..<mark.upperBound] + "\(shown):\(secret)@" + proxy[mark.upperBound...]
    }

    private static func trimmed(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }

    private func setConnections(_ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        if command.has("ipv4") { task.setSession("addressFamily", .text("ipv4")) }
        if command.has("ipv6") { task.setSession("addressFamily", .text("ipv6")) }
        if let path = command.value("unix-socket") { task.setSession("unixSocket", .text(path)) }
        var places: [YAMLField] = []
        for text in command.values("connect-to") {
            let parts = Self.parts(text)
            guard parts.count == 4, !parts[0].isEmpty, !parts[2].isEmpty else {
                job.lose(task.place, "`--connect-to` without both hosts has no equal: this transfer was left out")
                return false
            }
            places.append(YAMLField(Self.place(parts[0], parts[1]), .text(Self.place(parts[2], parts[3]))))
        }
        for text in command.values("resolve") {
            let parts = Self.parts(text.hasPrefix("+") ? String(text.dropFirst()) : text)
            guard parts.count == 3, !parts[0].hasPrefix("-"), parts[0] != "*", !parts[2].contains(",") else {
                job.lose(
                    task.place,
                    "`--resolve` with several addresses, or for every host, has no equal: this transfer was left out")
                return false
            }
            places.append(YAMLField(Self.place(parts[0], parts[1]), .text(Self.place(parts[2], parts[1]))))
        }
        if let text = command.value("rate") { setRate(text, &task, &job) }
        if !places.isEmpty { task.setSession("connectTo", .map(places)) }
        return true
    }

    private static func place(_ host: String, _ port: String) -> String {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.isEmpty ? host : "\(host):\(port)"
    }

    /// Splits at colons that are not in brackets.
    private static func parts(_ text: String) -> [String] {
        var parts = [""]
        var depth = 0
        for character in text {
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            if character == ":", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts
    }

    /// `--rate 2/s`, `120/m`.
    private func setRate(_ text: String, _ task: inout ImportedTask, _ job: inout ImportedJob) {
        let halves = text.split(separator: "/").map { String($0) }
        let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let count = halves.first.flatMap({ Int($0) }), (1...1_000_000).contains(count),
            let unit = units[halves.count > 1 ? halves[1] : "h"],
            let rate = ForeignSize.perSecond(count * 1000, in: unit)
        else { return job.lose(&task, "`--rate` is no rate that is known here") }
        task.setSession("requestsPerSecond", .plain(rate))
    }

    private func setVersion(_ task: inout ImportedTask) {
        let version = command.has("http1.1") || command.has("no-alpn") ? "1.1" : "2"
        guard
            command.has("http1.1") || command.has("no-alpn") || command.has("http2")
                || command.has("http2-prior-knowledge")
        else { return }
        task.setSession("http", .map(["version": .text(version)]))
    }
}
