/// A client certificate as a foreign command names it.
struct ForeignCertificate {
    let host: String?
    let file: String
    /// File of its key; `nil` where `file` holds both.
    let key: String?
    /// A reference to the secret that opens the key.
    let password: String?
}

enum ForeignLogin {
    /// Keys of a credential that is sent before the server asks.
    static let unasked = [YAMLField("method", .text("basic")), YAMLField("preemptive", .plain("true"))]
}

/// Settings that curl, wget and aria2 have in words of their own.
extension ImportedTask {
    /// What becomes of an option that asks for a file by its time.
    static func conditionNote(_ option: String) -> String {
        "`\(option)` asks by the file's time; here the file is asked about by what is known of its last transfer, or by its time"
    }

    /// Sets the file of cookies. Returns `false` where cookies come from one file and go to another, after a warning.
    mutating func setCookies(from source: String?, to jar: String?, _ job: inout ImportedJob) -> Bool {
        guard let file = jar ?? source else { return true }
        guard source == nil || source == file else {
            job.lose(place, "cookies are read from and written to one file: with two this transfer was left out")
            return false
        }
        var fields = [YAMLField("file", .text(file))]
        if jar != nil { fields.append(YAMLField("save", .plain("true"))) }
        setSession("cookies", .map(fields))
        return true
    }

    /// Sets `tls` of its session. Returns `false` where the server's key is in a file, after a warning.
    mutating func setTLS(
        _ versions: [YAMLField] = [], ca: String?, pins: String?, isInsecure: Bool, _ certificate: ForeignCertificate?,
        _ job: inout ImportedJob
    ) -> Bool {
        var trust: [YAMLField] = []
        if let ca { trust.append(YAMLField("ca", .text(ca))) }
        if let pins {
            let list = pins.split(separator: ";").map { String($0) }
            guard list.allSatisfy({ $0.hasPrefix("sha256//") }) else {
                job.lose(place, "`--pinnedpubkey FILE` has no equal (a pin is `sha256//…`): this transfer was left out")
                return false
            }
            trust.append(YAMLField("pin", .list(list.map { .text($0) })))
        }
        if isInsecure { trust.append(YAMLField("policy", .text("insecure"))) }
        var tls = versions
        if !trust.isEmpty { tls.append(YAMLField("trust", .map(trust))) }
        if let certificate {
            var fields = [
                YAMLField("host", .text(certificate.host ?? "*")), YAMLField("certificate", .text(certificate.file)),
                YAMLField("key", .text(certificate.key ?? certificate.file)),
            ]
            if let password = certificate.password { fields.append(YAMLField("password", .text(password))) }
            tls.append(YAMLField("clientCertificates", .list([.map(fields)])))
        }
        if !tls.isEmpty { setSession("tls", .map(tls)) }
        return true
    }

    /// Keys of its body.
    var body: [YAMLField] {
        if case .map(let fields)? = fields.first(where: { $0.key == "body" })?.value { fields } else { [] }
    }
}

extension ParsedCommand {
    /// The value of the first of some options that is given, as a duration; `nil` for 0, by which these programs mean none,
    /// and for what is no time, after a warning.
    func seconds(_ names: String..., for task: inout ImportedTask, _ job: inout ImportedJob) -> String? {
        guard let name = names.first(where: { has($0) }), let text = value(name) else { return nil }
        guard let time = ForeignSize.seconds(text) else {
            job.lose(&task, "`--\(name)` is no number of seconds that is known here")
            return nil
        }
        return time == "0s" ? nil : time
    }

    /// The value of an option as a size; `nil` without it, and for what is none, after a warning.
    func size(_ name: String, for task: inout ImportedTask, _ job: inout ImportedJob) -> String? {
        guard let text = value(name) else { return nil }
        guard let size = ForeignSize.text(text) else {
            job.lose(&task, "`--\(name)` is no size or rate that is known here")
            return nil
        }
        return size
    }

    /// The value of an option as a number below 1,000; `nil` without it, and for what is none, after a warning.
    func number(_ name: String, for task: inout ImportedTask, _ job: inout ImportedJob) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), (0..<1000).contains(number) else {
            job.lose(&task, "`--\(name)` is no number that is known here")
            return nil
        }
        return number
    }
}
