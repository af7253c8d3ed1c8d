/// Fills the keys of a task's session from a curl command.
struct CurlSession {
    let location: URLText
    let command: ParsedCommand

    func fill(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        if let text = command.value("connect-timeout") {
            if let time = ForeignSize.seconds(text), time != "0s" {
                task.setSession("connectTimeout", .plain(time))
            } else {
                job.lose(&task, "`--connect-timeout` is no number of seconds that is known here")
            }
        }
        setTLS(&task, &job)
        setProxy(&task, &job)
        setConnections(&task, &job)
        setCookies(&task, &job)
        setVersion(&task)
    }

    private func setTLS(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        var tls: [YAMLField] = []
        let minimum = ["1.0", "1.1", "1.2", "1.3"].last { command.has("tlsv\($0)") }
        if let minimum {
            if minimum < "1.2" { job.lose(&task, "TLS below 1.2 is not offered: 1.2 is the least") }
            if minimum == "1.3" { tls.append(YAMLField("minimum", .text("1.3"))) }
        }
        if let most = command.value("tls-max"), most != "default" {
            if most == "1.2" || most == "1.3" {
                tls.append(YAMLField("maximum", .text(most)))
            } else {
                job.lose(&task, "TLS below 1.2 is not offered")
            }
        }
        let trust = trust(&task, &job)
        if !trust.isEmpty { tls.append(YAMLField("trust", .map(trust))) }
        if let certificate = clientCertificate(&job) {
            tls.append(YAMLField("clientCertificates", .list([certificate])))
        }
        if !tls.isEmpty { task.setSession("tls", .map(tls)) }
    }

    private func trust(_ task: inout ImportedTask, _ job: inout ImportedJob) -> [YAMLField] {
        var trust: [YAMLField] = []
        if let file = command.value("cacert") { trust.append(YAMLField("ca", .text(file))) }
        if let pins = command.value("pinnedpubkey") {
            let list = pins.split(separator: ";").map { String($0) }
            if list.allSatisfy({ $0.hasPrefix("sha256//") }) {
                trust.append(YAMLField("pin", .list(list.map { .text($0) })))
            } else {
                job.lose(&task, "`--pinnedpubkey FILE` has no equal: a pin is written as `sha256//…`")
            }
        }
        if command.has("insecure") { trust.append(YAMLField("policy", .text("insecure"))) }
        return trust
    }

    private func clientCertificate(_ job: inout ImportedJob) -> YAMLNode? {
        guard let text = command.value("cert") else { return nil }
        let (file, password) = CurlRequest.halves(text)
        var fields = [
            YAMLField("host", .text(location.host ?? "*")), YAMLField("certificate", .text(file)),
            YAMLField("key", .text(command.value("key") ?? file)),
        ]
        if let password = command.value("pass") ?? password {
            fields.append(YAMLField("password", .text(job.hide(password, "KEY_PASSWORD", nil))))
        }
        return .map(fields)
    }

    private func setProxy(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        let socks = ["socks4": "socks4", "socks4a": "socks4a", "socks5": "socks5", "socks5-hostname": "socks5h"]
        var proxy: String?
        if let typed = command.value("proxy") {
            let filled = job.filled(typed)
            if filled != typed { job.spread(variablesOf: typed) }
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
        guard let proxy else {
            if !bypass.isEmpty {
                job.lose(&task, "`--noproxy` without a proxy of the command has no equal: NO_PROXY says it")
            }
            return
        }
        guard !bypass.isEmpty else { return task.setSession("proxy", .text(Self.trimmed(proxy))) }
        let hosts = bypass.flatMap { host -> [YAMLNode] in
            let bare = host.hasPrefix(".") ? String(host.dropFirst()) : host
            return [.text(bare), .text("*.\(bare)")]
        }
        task.setSession("proxy", .map(["all": .text(Self.trimmed(proxy)), "bypass": .list(hosts)]))
    }

    private static func trimmed(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }

    private func setConnections(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        if command.has("ipv4") { task.setSession("addressFamily", .text("ipv4")) }
        if command.has("ipv6") { task.setSession("addressFamily", .text("ipv6")) }
        if let path = command.value("unix-socket") { task.setSession("unixSocket", .text(path)) }
        var places: [YAMLField] = []
        for text in command.values("connect-to") {
            let parts = Self.parts(text)
            guard parts.count == 4, !parts[0].isEmpty, !parts[2].isEmpty else {
                job.lose(&task, "`--connect-to` without both hosts has no equal")
                continue
            }
            places.append(YAMLField(Self.place(parts[0], parts[1]), .text(Self.place(parts[2], parts[3]))))
        }
        for text in command.values("resolve") {
            let parts = Self.parts(text.hasPrefix("+") ? String(text.dropFirst()) : text)
            guard parts.count == 3, !parts[0].hasPrefix("-"), parts[0] != "*", !parts[2].contains(",") else {
                job.lose(&task, "`--resolve` with several addresses, or for every host, has no equal")
                continue
            }
            places.append(YAMLField(Self.place(parts[0], parts[1]), .text(Self.place(parts[2], parts[1]))))
        }
        if let text = command.value("rate") { setRate(text, &task, &job) }
        if !places.isEmpty { task.setSession("connectTo", .map(places)) }
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

    private func setCookies(_ task: inout ImportedTask, _ job: inout ImportedJob) {
        let file = command.values("cookie").last { !$0.contains("=") && !$0.isEmpty }
        let jar = command.value("cookie-jar")
        guard let path = jar ?? file, path != "-" else {
            if jar == "-" { job.lose(&task, "`--cookie-jar -` has no equal: cookies are not printed") }
            return
        }
        if let file, let jar, file != jar {
            job.lose(&task, "cookies are read from and written to one file: `\(jar)` begins without those of `\(file)`")
        }
        var fields = [YAMLField("file", .text(path))]
        if jar != nil { fields.append(YAMLField("save", .plain("true"))) }
        task.setSession("cookies", .map(fields))
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
