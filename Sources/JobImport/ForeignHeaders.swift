/// The header lines of a foreign command, as those of a task.
struct ForeignHeaders {
    private let location: URLText?
    /// Whether a line takes the place of an earlier one of its name, as in wget.
    private let replaces: Bool
    private(set) var fields: [YAMLField] = []
    /// Names in lower case whose headers the command leaves out.
    private var removed: Set<String> = []

    init(for location: URLText?, replaces: Bool = false) {
        self.location = location
        self.replaces = replaces
    }

    /// Headers of a connection, which transfer-run writes for its own.
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "te", "content-length", "transfer-encoding", "expect", "proxy-connection",
    ]
    /// Headers that a job cannot say.
    private static let reserved: Set<String> = [
        "host", "upgrade", "trailer", "proxy-authorization", "proxy-authenticate", "www-authenticate",
    ]

    /// Adds a line. Returns `false` where it cannot be sent as it is written, after a warning: the transfer is left out.
    mutating func add(_ line: String, _ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        func refuse(_ reason: String) -> Bool {
            job.lose(task.place, "\(reason): this transfer was left out")
            return false
        }
        let line = job.opened(line)
        if line.hasPrefix("@") { return refuse("headers from a file have no equal") }
        guard let mark = line.firstIndex(of: ":") ?? line.firstIndex(of: ";") else {
            if JobText.hasReference(line) {
                return refuse("a header that a variable holds whole has no equal (write `-H \"Name: $VALUE\"`)")
            }
            job.lose(&task, "a header without a colon is not sent")
            return true
        }
        let name = String(line[..<mark])
        let key = name.lowercased()
        guard Self.isName(name) else { return refuse("a header whose name is no name has no equal") }
        let value = line[line.index(after: mark)...].trimmed
        if value.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\n" || $0 == "\0" }) {
            return refuse("the header `\(name)` with a line break has no equal")
        }
        if line[mark] == ";", !value.isEmpty {
            job.lose(&task, "a header without a colon is not sent")
            return true
        }
        if key == "host", value == location?.authority { return true }
        if Self.reserved.contains(key) {
            let hint = key == "host" ? " (`connectTo` of a session connects a host elsewhere)" : ""
            return refuse("the header `\(name)` is set by transfer-run itself\(hint)")
        }
        if Self.ofConnection.contains(key) {
            if key != "expect" || !value.isEmpty {
                job.lose(&task, "the header `\(name)` is of the connection: transfer-run writes its own")
            }
            return true
        }
        let hasBody = task.fields.contains { $0.key == "body" }
        if line[mark] == ":", value.isEmpty {
            removed.insert(key)
            if key == "content-type", hasBody { task.set("contentType", .text("none")) }
            if key == "accept" || key == "user-agent" {
                job.lose(&task, "leaving out the header `\(name)` has no equal: a usual one is sent")
            }
            return true
        }
        if key == "content-type", hasBody {
            let isForm = task.body.contains { $0.key == "multipart" }
            if isForm, value.contains(";") { return refuse("a boundary of one's own has no equal") }
            task.set("contentType", .text(value))
            return true
        }
        add(name, SecretNames.isHeader(name) || SecretNames.hasScheme(value) ? hidden(value, name, &job) : value)
        return true
    }

    /// Adds what an option of the program says, unless a line has that name.
    mutating func add(_ name: String, unlessTyped value: String) {
        guard !has(name) else { return }
        fields.append(YAMLField(name, .text(value)))
    }

    /// Whether a line has that name, or leaves it out.
    func has(_ name: String) -> Bool {
        removed.contains(name.lowercased()) || fields.contains { $0.key.lowercased() == name.lowercased() }
    }

    private mutating func add(_ name: String, _ value: String) {
        guard let index = fields.firstIndex(where: { $0.key.lowercased() == name.lowercased() }) else {
            return fields.append(YAMLField(name, .text(value)))
        }
        let known = fields[index]
        var values = [known.value]
        if case .list(let nodes) = known.value { values = nodes }
        fields[index] = YAMLField(known.key, replaces ? .text(value) : .list(values + [.text(value)]))
    }

    /// Keeps the scheme's name before the secret: `Bearer ${secret.TOKEN}`.
    private func hidden(_ value: String, _ name: String, _ job: inout ImportedJob) -> String {
        let host = location?.host
        guard name.lowercased() == "authorization" || SecretNames.hasScheme(value),
            let space = value.firstIndex(of: " ")
        else {
            return job.hide(value, name, host)
        }
        let scheme = value[..<space]
        let secret = String(value[value.index(after: space)...].drop { $0 == " " })
        guard scheme.utf8.allSatisfy({ $0.isASCIILetter || $0 == UInt8(ascii: "-") }) else {
            return job.hide(value, name, host)
        }
        return "\(scheme) " + job.hide(secret, scheme.lowercased() == "basic" ? "BASIC" : "TOKEN", host)
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                $0.isASCIIDigit || $0.isASCIILetter || "!#%&'*+-.^_`|~".utf8.contains($0)
            }
    }
}
