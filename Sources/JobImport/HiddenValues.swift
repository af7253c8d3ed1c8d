/// Finds the values of queries and form data whose names say that they are secrets.
extension ImportedJob {
    private static let secretNames: Set<String> = [
        "password", "passwd", "passphrase", "pass", "pwd", "pw", "token", "api_key", "apikey", "access_token",
        "auth_token", "refresh_token", "private_token", "id_token", "secret", "client_secret",
    ]

    private static func isSecretName(_ name: some StringProtocol) -> Bool {
        let name = Percent.decoded(String(name)).lowercased()
        return secretNames.contains(String(name.map { $0 == "-" ? "_" : $0 }))
    }

    /// Puts references to secrets in the place of values in the URLs and the body of a task.
    mutating func hideSecrets(of task: inout ImportedTask) {
        let host = URLText(task.url, filled: filled(task.url)).host
        task.url = hideSecrets(ofURL: task.url)
        task.mirrors = task.mirrors.map { hideSecrets(ofURL: $0) }
        guard let index = task.fields.firstIndex(where: { $0.key == "body" }),
            case .map(let body) = task.fields[index].value
        else { return }
        let isForm = task.text("contentType").map { $0.hasPrefix("application/x-www-form-urlencoded") } ?? true
        task.fields[index] = YAMLField(
            "body", .map(body.map { YAMLField($0.key, hidden($0, isForm: isForm, host)) }))
    }

    private mutating func hidden(_ field: YAMLField, isForm: Bool, _ host: String?) -> YAMLNode {
        switch (field.key, field.value) {
        case ("data", .text(let text)): isForm ? .text(hideSecrets(in: text, for: host)) : field.value
        case ("form", .map(let fields)): .map(fields.map { YAMLField($0.key, hidden(value: $0, host)) })
        case ("multipart", .list(let parts)): .list(parts.map { hidden(part: $0, host) })
        default: field.value
        }
    }

    private mutating func hidden(value field: YAMLField, _ host: String?) -> YAMLNode {
        guard Self.isSecretName(field.key), case .text(let value) = field.value, !value.isEmpty else {
            return field.value
        }
        return .text(hide(value, Identifier.variable(field.key.uppercased()), host))
    }

    private mutating func hidden(part: YAMLNode, _ host: String?) -> YAMLNode {
        guard case .map(var fields) = part, case .text(let name)? = fields.first(where: { $0.key == "name" })?.value,
            Self.isSecretName(name), let index = fields.firstIndex(where: { $0.key == "data" }),
            case .text(let value) = fields[index].value, !value.isEmpty
        else { return part }
        fields[index] = YAMLField("data", .text(hide(value, Identifier.variable(name.uppercased()), host)))
        return .map(fields)
    }

    /// The URL with references to secrets in its query.
    mutating func hideSecrets(ofURL url: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return url }
        let end = url[mark...].firstIndex(of: "#") ?? url.endIndex
        let query = String(url[url.index(after: mark)..<end])
        // A `?` in a reference, `${name:?message}`, begins no query.
        guard query.contains("="), !url[..<mark].hasSuffix(":") else { return url }
        let host = URLText(url, filled: filled(url)).host
        return String(url[...mark]) + hideSecrets(in: query, for: host) + String(url[end...])
    }

    private mutating func hideSecrets(in text: String, for host: String?) -> String {
        var parts: [String] = []
        for part in text.split(separator: "&", omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: "="), Self.isSecretName(part[..<equals]),
                part.index(after: equals) < part.endIndex
            else {
                parts.append(String(part))
                continue
            }
            let name = Identifier.variable(Percent.decoded(String(part[..<equals])).uppercased())
            let shown = hide(String(part[part.index(after: equals)...]), name, host)
            parts.append("\(part[...equals])\(shown)")
        }
        return parts.joined(separator: "&")
    }
}

extension URLText {
    /// The base of a task's id: the last component of the path, or the host where that component may be a secret, as in
    /// the URL of a webhook. `sendsData`: the request is a POST.
    func taskName(sendsData: Bool = false) -> String? {
        guard !sendsData, let fileName, !Self.looksRandom(fileName) else { return host }
        return fileName
    }

    /// Whether a name is long and mixed, as keys are.
    private static func looksRandom(_ name: String) -> Bool {
        guard name.utf8.count >= 16, !name.contains("."), !name.contains("$") else { return false }
        return name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.contains { run in
            let isMixed = run.contains { $0.isLetter } && run.contains { $0.isNumber }
            let hasCases = run.dropFirst().contains { $0.isUppercase } && run.contains { $0.isLowercase }
            return run.utf8.count >= 12 && isMixed || run.utf8.count >= 16 && hasCases
        }
    }
}
