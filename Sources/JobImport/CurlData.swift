/// The body of curl's `--data` and its relatives.
struct CurlData {
    let place: ImportPlace
    let input: String?

    static let names: Set<String> = ["data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"]

    /// Returns the data as a query; `nil` where a part is read from a file.
    static func query(_ items: [ParsedCommand.Item], _ job: ImportedJob) -> String? {
        var parts: [String] = []
        for item in items {
            guard let part = literal(item) else { return nil }
            parts.append(item.name == "data-urlencode" ? part : job.raw(part))
        }
        return parts.joined(separator: "&")
    }

    /// The part's text; `nil` where it is read from a file.
    private static func literal(_ item: ParsedCommand.Item) -> String? {
        switch item.name {
        case "data-raw": item.value
        case "data-urlencode": isFile(encoding: item.value) ? nil : encoded(item.value)
        default: item.value.hasPrefix("@") ? nil : item.value
        }
    }

    /// Whether `--data-urlencode` reads a file: `@file` or `name@file`.
    private static func isFile(encoding text: String) -> Bool {
        guard let at = text.firstIndex(of: "@") else { return false }
        return !text[..<at].contains("=")
    }

    /// `content`, `=content` or `name=content`, encoded for a form.
    static func encoded(_ text: String) -> String {
        guard let equals = text.firstIndex(of: "=") else { return value(text) }
        let name = text[..<equals]
        let content = value(String(text[text.index(after: equals)...]))
        return name.isEmpty ? content : "\(name)=\(content)"
    }

    /// A reference cannot be encoded before its value is known.
    private static func value(_ text: String) -> String {
        JobText.plain(text).map { Percent.encoded($0) } ?? text
    }

    /// The data as fields that a run encodes; `nil` where they are none, or would be encoded otherwise.
    private static func form(_ items: [ParsedCommand.Item], _ job: ImportedJob) -> [YAMLField]? {
        var fields: [YAMLField] = []
        for item in items {
            guard let equals = item.value.firstIndex(of: "="), item.name != "json" else { return nil }
            let name = String(item.value[..<equals])
            let content = String(item.value[item.value.index(after: equals)...])
            let isOwn = name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || "_-.".utf8.contains($0)
            }
            // Fields of these names would be taken for paths.
            guard isOwn, !name.isEmpty, !ImportedTask.pathKeys.contains(name),
                !fields.contains(where: { $0.key == name })
            else { return nil }
            // What curl sends as it is may be encoded already, or be several fields.
            if item.name != "data-urlencode", job.filled(content).contains(where: { "&+%".contains($0) }) { return nil }
            fields.append(YAMLField(name, .text(content)))
        }
        return fields
    }

    func fill(_ items: [ParsedCommand.Item], _ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        let isJSON = items.contains { $0.name == "json" }
        let type = isJSON ? "application/json" : "application/x-www-form-urlencoded"
        let parts = items.map { Self.literal($0) }
        if items.contains(where: { $0.name == "data-urlencode" && JobText.hasReference($0.value) }) {
            if let form = Self.form(items, job) {
                task.set("body", .map(["form": .map(form)]))
                return true
            }
            job.lose(&task, "the value of a variable in `--data-urlencode` is not encoded here")
        }
        if !parts.contains(nil) {
            let text = parts.compactMap(\.self).joined(separator: isJSON ? "" : "&")
            task.set("body", .map(["data": .text(text)]))
        } else if items.count == 1 {
            guard let body = file(items[0], &task, &job) else { return false }
            task.set("body", body)
        } else {
            job.lose(place, "data put together from a file and other parts has no equal: this transfer was left out")
            return false
        }
        task.set("contentType", .text(type))
        return true
    }

    private func file(_ item: ParsedCommand.Item, _ task: inout ImportedTask, _ job: inout ImportedJob) -> YAMLNode? {
        guard item.name != "data-urlencode" else {
            job.lose(place, "`--data-urlencode` of a file has no equal: this transfer was left out")
            return nil
        }
        let path = String(item.value.dropFirst())
        if path == "-" || path == "/dev/stdin" {
            if let input {
                let stripped = item.name == "data" || item.name == "data-ascii"
                return .map(["data": .text(stripped ? input.filter { $0 != "\n" } : input)])
            }
            guard let body = job.standardInput(place) else { return nil }
            task.comments.append(ImportedJob.standardInputNote)
            if item.name == "data" || item.name == "data-ascii" {
                task.comments.append("`--data @-` leaves line breaks out; here standard input is sent as it is")
            }
            return body
        }
        if item.name == "data" || item.name == "data-ascii" {
            task.comments.append("`--data @FILE` leaves line breaks out; here the file is sent as it is")
        }
        return .map(["file": .text(path)])
    }
}

/// A part of curl's `--form`.
enum CurlForm {
    /// Splits `name=@a,b` into a part for each file.
    static func single(_ item: ParsedCommand.Item) -> [ParsedCommand.Item] {
        guard item.name == "form", let mark = item.value.firstRange(of: "=@"), item.value.contains(","),
            item.value.firstIndex(of: "=") == mark.lowerBound, !item.value.contains("\"") && !item.value.contains(";")
        else { return [item] }
        let name = item.value[..<mark.upperBound]
        return item.value[mark.upperBound...].split(separator: ",").map {
            ParsedCommand.Item(name: item.name, value: "\(name)\($0)")
        }
    }

    /// Returns the part; `nil` where it has no equal.
    static func part(_ item: ParsedCommand.Item) -> YAMLNode? {
        guard let equals = item.value.firstIndex(of: "=") else { return nil }
        let name = String(item.value[..<equals])
        var content = String(item.value[item.value.index(after: equals)...])
        var fields = [YAMLField("name", .text(name))]
        if item.name == "form-string" { return .map(fields + [YAMLField("data", .text(content))]) }
        if content.hasPrefix("<") || content == "@-" || content.hasPrefix("@-;") { return nil }
        var attributes: [(String, String)] = []
        let isFile = content.hasPrefix("@")
        if isFile { content.removeFirst() }
        let isQuoted = content.hasPrefix("\"")
        (content, attributes) = split(content)
        // Several files with attributes, and headers and encodings of a part, cannot be said.
        if isFile, content.contains(","), !isQuoted { return nil }
        if attributes.contains(where: { $0.0 == "headers" || $0.0 == "encoder" }) { return nil }
        fields.append(YAMLField(isFile ? "file" : "data", .text(content)))
        for (key, value) in attributes {
            if key == "type" { fields.append(YAMLField("contentType", .text(value))) }
            if key == "filename" { fields.append(YAMLField("filename", .text(value))) }
        }
        return .map(fields)
    }

    /// Splits `content;type=x;filename="y"`.
    private static func split(_ text: String) -> (String, [(String, String)]) {
        var parts: [String] = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == ";", !isQuoted { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        var content = parts[0]
        var attributes: [(String, String)] = []
        for part in parts.dropFirst() {
            let bare = part.drop { $0 == " " }
            if let equals = bare.firstIndex(of: "="),
                ["type", "filename", "headers", "encoder"].contains(bare[..<equals])
            {
                attributes.append((String(bare[..<equals]), unquoted(String(bare[bare.index(after: equals)...]))))
            } else if !attributes.isEmpty, attributes[attributes.count - 1].0 == "type" {
                attributes[attributes.count - 1].1 += ";" + part
            } else {
                content += ";" + part
            }
        }
        return (unquoted(content), attributes)
    }

    private static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}

/// A header line of a foreign command.
struct ImportedHeader {
    private let text: String
    private let host: String?

    init(_ text: String, host: String?) {
        self.text = text
        self.host = host
    }

    private static let reserved: Set<String> = [
        "host", "connection", "content-length", "transfer-encoding", "proxy-authorization", "proxy-authenticate",
        "proxy-connection", "www-authenticate", "te", "trailer", "upgrade", "keep-alive", "expect",
    ]

    func add(to headers: inout [YAMLField], _ task: inout ImportedTask, _ job: inout ImportedJob) {
        if text.hasPrefix("@") { return job.lose(&task, "headers from a file have no equal") }
        let mark = text.firstIndex { $0 == ":" || $0 == ";" }
        guard let mark else { return job.lose(&task, "a header without a colon was left out") }
        let name = String(text[..<mark])
        guard Self.isName(name) else { return job.lose(&task, "a header whose name is no name was left out") }
        var value = String(text[text.index(after: mark)...].drop { $0 == " " || $0 == "\t" })
        while value.last == " " || value.last == "\t" || value.last == "\r" || value.last == "\n" { value.removeLast() }
        if value.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\n" || $0 == "\0" }) {
            return job.lose(&task, "the header `\(name)` with a line break was left out")
        }
        if text[mark] == ":", value.isEmpty { return job.lose(&task, "leaving out the header `\(name)` has no equal") }
        if Self.reserved.contains(name.lowercased()) {
            let hint = name.lowercased() == "host" ? "; `connectTo` of a session connects a host elsewhere" : ""
            return job.lose(&task, "the header `\(name)` is set by transfer-run itself\(hint)")
        }
        if name.lowercased() == "content-type", task.fields.contains(where: { $0.key == "body" }) {
            return task.set("contentType", .text(value))
        }
        let shown = Self.isSecret(name) ? hidden(value, name, &job) : value
        let field = YAMLField(name, .text(shown))
        if let index = headers.firstIndex(where: { $0.key.lowercased() == name.lowercased() }) {
            headers[index] = YAMLField(headers[index].key, Self.joined(headers[index].value, shown))
        } else {
            headers.append(field)
        }
    }

    private static func joined(_ first: YAMLNode, _ next: String) -> YAMLNode {
        if case .list(let nodes) = first { return .list(nodes + [.text(next)]) }
        return .list([first, .text(next)])
    }

    /// Keeps the scheme's name before the secret: `Bearer ${secret.TOKEN}`.
    private func hidden(_ value: String, _ name: String, _ job: inout ImportedJob) -> String {
        let lower = name.lowercased()
        guard lower == "authorization", let space = value.firstIndex(of: " ") else {
            return job.hide(value, Identifier.variable(name.uppercased()), host)
        }
        let scheme = value[..<space]
        let secret = String(value[value.index(after: space)...].drop { $0 == " " })
        guard scheme.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) || $0 == UInt8(ascii: "-") }) else {
            return job.hide(value, "AUTHORIZATION", host)
        }
        return "\(scheme) " + job.hide(secret, scheme.lowercased() == "basic" ? "BASIC" : "TOKEN", host)
    }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["authorization", "cookie"].contains(name)
            || ["token", "secret", "api-key", "apikey", "password", "x-auth", "access-key", "credential", "session"]
                .contains { name.contains($0) }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || "!#%&'*+-.^_`|~".utf8.contains($0)
            }
    }
}

extension ImportedJob {
    /// A comment for what sends standard input.
    static let standardInputNote = "what `transfer-run` is given on standard input is sent, once"

    /// Returns a body of standard input; `nil` for a second one, after a warning.
    mutating func standardInput(_ place: ImportPlace) -> YAMLNode? {
        guard !sendsStandardInput else {
            lose(place, "standard input can be sent once, and a task before sends it: this transfer was left out")
            return nil
        }
        sendsStandardInput = true
        return .map(["stream": .map(["command": .list([.text("-")])])])
    }

    /// Returns a text that shows no secret: a reference to the secret of that kind for the host. Where the text is a
    /// variable of the environment, that variable is the secret.
    mutating func hide(_ text: String, _ kind: String, _ host: String?) -> String {
        let text = text.hasPrefix("${raw:") ? "${" + text.dropFirst(6) : text
        if text.hasPrefix("${env."), text.hasSuffix("}") {
            let name = String(text.dropFirst(6).dropLast())
            if ShellScript.isName(name) { return secret(name, for: host) }
        }
        if text.hasPrefix("${"), text.hasSuffix("}"), ShellScript.isName(text.dropFirst(2).dropLast()) {
            let name = String(text.dropFirst(2).dropLast())
            forget(name)
            return secret(name, for: host)
        }
        let base = host.map { Identifier.variable($0.uppercased()) + "_" + kind } ?? kind
        return secret(distinct(base, text), for: host)
    }

    /// Names different secrets of one kind differently, without keeping them.
    private mutating func distinct(_ base: String, _ text: String) -> String {
        if let known = hiddenTexts[base + "\n" + text] { return known }
        var name = base
        var number = 2
        while hiddenTexts.values.contains(name) {
            name = "\(base)_\(number)"
            number += 1
        }
        hiddenTexts[base + "\n" + text] = name
        return name
    }
}
