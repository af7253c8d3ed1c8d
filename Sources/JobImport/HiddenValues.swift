/// The names of secrets that are told apart by what they are and by their hosts.
struct SecretLabels: Sendable {
    /// Names by kind and text, so that one secret has one name. It is never written.
    var texts: [String: String] = [:]
    /// What secrets are in whose names is the address of a host.
    var kinds: [String: String] = [:]
    /// The shorter names of those that need no address to be told apart.
    private(set) var short: [String: String] = [:]

    /// Shortens names where no other secret has the shorter one.
    mutating func shorten(among names: Set<String>) {
        short = kinds.filter { name, kind in
            names.contains(name) && !names.contains(kind) && kinds.values.count { $0 == kind } == 1
        }
    }
}

/// Puts references to secrets in the place of values in URLs and bodies.
extension ImportedJob {
    mutating func hideSecrets(of task: inout ImportedTask) {
        let host = URLText(task.url, filled: filled(task.url)).host
        task.url = hideSecrets(ofURL: task.url)
        task.mirrors = task.mirrors.map { hideSecrets(ofURL: $0) }
        if let index = task.fields.firstIndex(where: { $0.key == "headers" }),
            case .map(let headers) = task.fields[index].value
        {
            let hidden = headers.map { YAMLField($0.key, hiddenURLs($0.value, host)) }
            task.fields[index] = YAMLField("headers", .map(hidden))
        }
        if let index = task.fields.firstIndex(where: { $0.key == "body" }) {
            let body = task.body.map { YAMLField($0.key, hidden($0, host)) }
            task.fields[index] = YAMLField("body", .map(body))
        }
        for index in task.fields.indices where ["headers", "body"].contains(task.fields[index].key) {
            task.fields[index] = YAMLField(task.fields[index].key, hideLogins(in: task.fields[index].value, for: host))
        }
    }

    private mutating func hidden(_ field: YAMLField, _ host: String?) -> YAMLNode {
        switch (field.key, field.value) {
        case ("data", .text(let text)): .text(hideSecrets(ofBody: text, for: host))
        case ("form", .map(let fields)):
            .map(fields.map { YAMLField($0.key, hidden($0.value, named: $0.key, host)) })
        case ("multipart", .list(let parts)): .list(parts.map { hidden(part: $0, host) })
        default: field.value
        }
    }

    private mutating func hidden(_ value: YAMLNode, named name: String, _ host: String?) -> YAMLNode {
        guard case .text(let text) = value, !text.isEmpty else { return value }
        return .text(SecretNames.isField(name) ? hide(text, name, host) : hideSecrets(ofValue: text, for: host))
    }

    /// The URLs in a header, such as `Referer`.
    private mutating func hiddenURLs(_ value: YAMLNode, _ host: String?) -> YAMLNode {
        switch value {
        case .text(let text) where text.contains("://"): .text(hideSecrets(ofURL: text, sentTo: host))
        case .list(let values): .list(values.map { hiddenURLs($0, host) })
        default: value
        }
    }

    /// The text of a field or of a part: JSON or a URL may have secrets in it.
    mutating func hideSecrets(ofValue text: String, for host: String?) -> String {
        let text = hideLogins(in: text, for: host)
        let first = text.first { !$0.isWhitespace }
        if first == "{" || first == "[" { return hideSecrets(inJSON: text, for: host) }
        if first == "<" { return hideSecrets(inXML: text, for: host) }
        return text.contains("://") ? hideSecrets(ofURL: text, sentTo: host) : text
    }

    private mutating func hidden(part: YAMLNode, _ host: String?) -> YAMLNode {
        guard case .map(let fields) = part, case .text(let name)? = fields.first(where: { $0.key == "name" })?.value
        else { return part }
        return .map(fields.map { $0.key == "data" ? YAMLField($0.key, hidden($0.value, named: name, host)) : $0 })
    }

    /// The text of a body: JSON, XML or a form.
    mutating func hideSecrets(ofBody text: String, for host: String?) -> String {
        let first = text.first { !$0.isWhitespace }
        if first == "<" { return hideSecrets(inXML: text, for: host) }
        return first == "{" || first == "["
            ? hideSecrets(inJSON: text, for: host) : hideSecrets(in: text, for: host, isURL: false)
    }

    /// The URL with references to secrets in its path and its query.
    mutating func hideSecrets(ofURL url: String) -> String {
        hideSecrets(ofURL: url, for: URLText(url, filled: filled(url)).host, isSent: false)
    }

    /// Returns a URL that is part of a request to `host`, such as its own or a referrer's, without its secrets.
    private mutating func hideSecrets(ofURL url: String, sentTo host: String?) -> String {
        hideSecrets(ofURL: url, for: host, isSent: true)
    }

    private mutating func hideSecrets(ofURL url: String, for host: String?, isSent: Bool) -> String {
        // A `?` in a reference, `${name:?message}`, begins no query.
        let mark = url.firstIndex(of: "?").flatMap { url[..<$0].hasSuffix(":") ? nil : $0 } ?? url.endIndex
        var parts = url[..<mark].split(separator: "/", omittingEmptySubsequences: false).map {
            hidden(botIn: $0, host, isSent: isSent)
        }
        // A login of its own is no part of it any more.
        let own = url.hasPrefix("${") ? 1 : 3
        if parts.count > own {
            let tail = parts.dropFirst(own).joined(separator: "/")
            parts = parts.prefix(own) + [hideLogins(in: tail, for: host, isURL: !isSent)]
        }
        let path = parts.joined(separator: "/")
        guard mark < url.endIndex else { return path }
        let end = url[mark...].firstIndex(of: "#") ?? url.endIndex
        let typed = hideLogins(in: String(url[url.index(after: mark)..<end]), for: host, isURL: !isSent)
        let query = hideSecrets(in: typed, for: host, isURL: !isSent)
        return path + "?" + query + url[end...]
    }

    /// Whether the query of a URL, or of a file that is named as one, has a secret in it.
    func hidesSecrets(inQueryOf url: String) -> Bool {
        var job = self
        return job.hideSecrets(ofURL: url) != url
    }

    /// Telegram's bots have their token in the path: `/bot123456:ABC…/sendMessage`.
    private mutating func hidden(botIn component: Substring, _ host: String?, isSent: Bool) -> String {
        let token = String(component.dropFirst(3))
        let number = token.prefix { $0.isASCII && $0.isNumber }
        let isToken = number.count >= 5 && token.dropFirst(number.count).hasPrefix(":") && token.count >= 20
        let isReference = token.hasPrefix("${") && token.firstIndex(of: "}") == token.indices.last
        guard component.hasPrefix("bot"), isToken || isReference else { return String(component) }
        let secret = hide(token, "BOT_TOKEN", host)
        return "bot" + (isSent ? secret : raw(secret: secret))
    }

    private mutating func hideSecrets(in text: String, for host: String?, isURL: Bool) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard let equals = part.firstIndex(of: "=") else { return String(part) }
            let value = String(part[part.index(after: equals)...])
            guard !value.isEmpty else { return String(part) }
            guard SecretNames.isField(part[..<equals]) else {
                return isURL ? String(part) : part[...equals] + hideSecrets(ofValue: value, for: host)
            }
            let shown = hide(value, Percent.decoded(String(part[..<equals])), host)
            let isEncoded = isURL && !value.utf8.allSatisfy(\.isUnreserved)
            return "\(part[...equals])\(isEncoded ? raw(secret: shown) : shown)"
        }.joined(separator: "&")
    }

    /// A text whose references a URL takes as they are.
    func raw(secret: String) -> String {
        ["secret.", "tasks.@"].reduce(secret) { $0.replacing("${\($1)", with: "${raw:\($1)") }
    }

    private mutating func hideSecrets(inJSON text: String, for host: String?) -> String {
        var result = ""
        var rest = text[...]
        while let quote = rest.firstIndex(of: "\""), let name = Self.string(rest[quote...]) {
            result += rest[..<quote] + "\"\(name)\""
            rest = rest[name.endIndex...].dropFirst()
            let colon = rest.prefix { $0 == ":" || $0.isWhitespace }
            guard colon.contains(":"), let value = Self.string(rest[colon.endIndex...]), !value.isEmpty else {
                continue
            }
            let isSecret = SecretNames.isField(name)
            let inner = isSecret ? nil : JSONInJSON.text(of: value)
            guard isSecret || inner != nil || value.contains("://") else { continue }
            let shown =
                if isSecret {
                    hide(String(value), String(name), host)
                } else if let inner {
                    hidden(inner, in: String(value), String(name), host)
                } else {
                    hideSecrets(ofURL: String(value), sentTo: host)
                }
            result += colon + "\"" + shown + "\""
            rest = rest[value.endIndex...].dropFirst()
        }
        return result + rest
    }

    /// The value of a member that holds JSON itself; one that cannot be put together again is a secret whole.
    private mutating func hidden(_ inner: String, in value: String, _ name: String, _ host: String?) -> String {
        let hidden = hideSecrets(inJSON: inner, for: host)
        if hidden == inner { return value }
        return JSONInJSON.value(of: inner) == value ? JSONInJSON.value(of: hidden) : hide(value, name, host)
    }

    /// What stands between the quotes with which a text begins.
    private static func string(_ text: Substring) -> Substring? {
        guard text.first == "\"" else { return nil }
        var end = text.index(after: text.startIndex)
        while end < text.endIndex, text[end] != "\"" {
            end = text.index(end, offsetBy: text[end] == "\\" ? 2 : 1, limitedBy: text.endIndex) ?? text.endIndex
        }
        return end < text.endIndex ? text[text.index(after: text.startIndex)..<end] : nil
    }

    /// The text without the contents of elements, and the values of attributes, whose names mean credentials.
    private mutating func hideSecrets(inXML text: String, for host: String?) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            let name = rest[open...].dropFirst().prefix { !$0.isWhitespace && $0 != "/" && $0 != ">" }
            let local = String(name.split(separator: ":").last ?? "")
            result += rest[..<open] + hideSecrets(inTag: rest[open...close], for: host)
            rest = rest[close...].dropFirst()
            let mark = rest.hasPrefix("<![CDATA[") ? "<![CDATA[" : ""
            let content = rest.dropFirst(mark.count)
            let value = content[..<(content.firstRange(of: mark.isEmpty ? "<" : "]]>")?.lowerBound ?? content.endIndex)]
            guard SecretNames.isField(local), !value.trimmed.isEmpty else { continue }
            result += mark + hide(String(value), local, host)
            rest = rest[value.endIndex...]
        }
        return result + rest
    }

    private mutating func hideSecrets(inTag tag: Substring, for host: String?) -> String {
        var result = ""
        var rest = tag
        while let equals = rest.firstIndex(of: "="), let quote = rest[equals...].dropFirst().first,
            "\"'".contains(quote)
        {
            let name = rest[..<equals].split { $0.isWhitespace || $0 == ":" }.last.map { String($0) } ?? ""
            let value = rest[equals...].dropFirst(2).prefix { $0 != quote }
            result += rest[...equals] + String(quote)
            result += SecretNames.isField(name) && !value.isEmpty ? hide(String(value), name, host) : String(value)
            rest = rest[value.endIndex...]
            if rest.first == quote { result.append(rest.removeFirst()) }
        }
        return result + rest
    }

    /// The hosts of the requests that use a variable of the script, by itself or in another one; `nil` is a host that only the
    /// run knows.
    var users: [String: [String?]] {
        var users: [String: [String?]] = [:]
        func add(_ text: String, _ hosts: [String?]) {
            for name in Self.references(in: text) {
                users[name, default: []] += hosts.filter { users[name]?.contains($0) != true }
            }
        }
        for task in tasks {
            add(task.text, ([task.url] + task.mirrors).map { URLText($0, filled: filled($0)).host })
        }
        for case (let name, .text(let text)) in variables.reversed().map({ ($0.key, $0.value) }) {
            if let hosts = users[name] { add(text, hosts) }
        }
        return users
    }

    /// The names of the variables that a text refers to.
    static func references(in text: String) -> Set<String> { Set(names(in: text).filter { ShellScript.isName($0) }) }

    /// What stands in the references of a text.
    static func names(in text: String) -> [String] {
        let parts = text.split(separator: "${", omittingEmptySubsequences: false).dropFirst()
        return parts.compactMap { part in
            guard let end = part.firstIndex(of: "}") else { return nil }
            let name = part[..<end]
            return String(name.hasPrefix("raw:") ? name.dropFirst(4) : name)
        }
    }

    /// Makes secrets of the script's variables that hold credentials, by their names or by what a transfer does with them, and
    /// of the values in those that hold JSON, a form or a URL. Each goes to the hosts of the requests that use it.
    mutating func hideVariables() {
        let users = users
        for name in forgotten.sorted() { bind(name, to: users[name] ?? []) }
        var withheld: [String] = []
        for case (let name, .text(let text)) in variables.map({ ($0.key, $0.value) }) where !text.isEmpty {
            let isCredential = script.concealed.contains(name) || SecretNames.isField(name) && !Self.isPlace(text)
            guard let hosts = users[name] else {
                if isCredential { withheld.append("`\(name)`") }
                continue
            }
            if isCredential, !text.hasPrefix("${env.") {
                forget(name)
                bind(name, to: hosts)
            } else if let index = variables.firstIndex(where: { $0.key == name }) {
                variables[index] = YAMLField(name, .text(hiddenParts(of: text, name, hosts, isCredential)))
            }
        }
        if !withheld.isEmpty {
            let names = withheld.joined(separator: ", ")
            note("Secrets were taken out: the values of \(names) are not written.")
        }
    }

    /// Whether a text is a path or a URL, which may have the name of a credential: `KEY=/etc/me.pem`.
    private static func isPlace(_ text: String) -> Bool {
        text.contains("://") || ["/", "./", "../", "${env.HOME}"].contains { text.hasPrefix($0) }
    }

    /// Lets a secret go to some hosts; where only the run knows one of them, to all.
    private mutating func bind(_ name: String, to hosts: [String?]) {
        for host in hosts.contains(nil) ? [nil] : hosts { _ = secret(name, for: host) }
    }

    /// The value of a variable without what is secret in it.
    private mutating func hiddenParts(
        of text: String, _ name: String, _ hosts: [String?], _ isCredential: Bool
    ) -> String {
        let host = hosts.contains(nil) ? nil : hosts.first ?? nil
        let isURL = tasks.contains { ([$0.url] + $0.mirrors).contains { $0.hasPrefix("${\(name)}") } }
        let known = Set(secrets.map(\.name))
        let hidden =
            if isCredential {
                hide(text, name, host)
            } else if text.prefix(while: { $0 != ":" }).allSatisfy(\.isLetter), text.contains("://") {
                hideSecrets(ofURL: text, for: host, isSent: !isURL)
            } else {
                hideLogins(in: hideSecrets(ofBody: text, for: host), for: host)
            }
        for secret in secrets.map(\.name) where hidden.contains("secret.\(secret)}") && !known.contains(secret) {
            bind(secret, to: hosts)
        }
        return hidden
    }

    /// Returns a text that shows no secret: a reference to the secret of that kind for the host. Where the text is a
    /// variable of the environment, that variable is the secret; a value of an answer becomes one there.
    mutating func hide(_ text: String, _ kind: String, _ host: String?) -> String {
        if text.contains("${tasks.@") || text.contains("${raw:tasks.@") {
            bindAnswers(in: text)
            return text
        }
        let text = text.hasPrefix("${raw:") ? "${" + text.dropFirst(6) : text
        if text.hasPrefix("${"), text.hasSuffix("}") {
            let name = text.dropFirst(2).dropLast()
            if name.hasPrefix("env."), ShellScript.isName(name.dropFirst(4)) {
                return secret(String(name.dropFirst(4)), for: host)
            }
            if name.hasPrefix("env."), let mark = name.firstRange(of: ":-"), !name.contains("}") {
                let name = String(name[..<mark.lowerBound].dropFirst(4))
                note("What `$\(name)` is without the environment was taken out, as a secret: set `\(name)`.")
                return secret(name, for: host)
            }
            if ShellScript.isName(name) {
                forget(String(name))
                return secret(String(name), for: host)
            }
        }
        if let composed = composed(text, host) { return composed }
        script.concealed.formUnion(Self.references(in: text))
        let kind = Identifier.variable(kind.uppercased())
        let base = host.map { Identifier.variable($0.uppercased()) + "_" + kind } ?? kind
        let name = distinct(base, text)
        if base.hasPrefix("_") { labels.kinds[name] = kind }
        let parts = Self.names(in: text).map { name in
            "`$\(name.dropFirst(name.hasPrefix("env.") ? 4 : 0).prefix { $0 != ":" })`"
        }
        if !parts.isEmpty {
            note(
                "The secret `\(name)` must hold all that the script puts together with \(parts.joined(separator: ", "))."
            )
        }
        return secret(name, for: host)
    }

    /// Names different secrets of one kind differently, without keeping them.
    private mutating func distinct(_ base: String, _ text: String) -> String {
        if let known = labels.texts[base + "\n" + text] { return known }
        var name = base
        var number = 2
        while labels.texts.values.contains(name) {
            name = "\(base)_\(number)"
            number += 1
        }
        labels.texts[base + "\n" + text] = name
        return name
    }

    /// The keys of a credential for a user and a password. One without the other, `KEY:`, is a secret itself, and so is what
    /// looks like a key.
    mutating func login(_ user: String, _ password: String?, _ kind: String = "PASSWORD", for host: String?)
        -> [YAMLField]
    {
        let isKey = !user.isEmpty && (password == "" || URLText.looksRandom(user))
        let name = isKey ? hide(user, "KEY", host) : user
        let shown = password == "" ? "" : hide(password ?? "", kind, host)
        return [YAMLField("user", .text(name)), YAMLField("password", .text(shown))]
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
    static func looksRandom(_ name: String) -> Bool {
        guard name.utf8.count >= 16, !name.contains("."), !name.contains("$") else { return false }
        return name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.contains { run in
            let isMixed = run.contains { $0.isLetter } && run.contains { $0.isNumber }
            let hasCases = run.dropFirst().contains { $0.isUppercase } && run.contains { $0.isLowercase }
            return run.utf8.count >= 12 && isMixed || run.utf8.count >= 16 && hasCases
        }
    }
}
