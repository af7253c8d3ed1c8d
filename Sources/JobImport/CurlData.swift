/// The body of curl's `--data` and its relatives.
struct CurlData {
    let place: ImportPlace
    let input: StandardInput

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

    /// The item with its variables filled in where they name a file, as after `F=@data.txt`: the shell puts them in first.
    static func opened(_ item: ParsedCommand.Item, _ job: inout ImportedJob) -> ParsedCommand.Item {
        let value = job.filled(item.value)
        let content = item.name == "form" ? value.drop { $0 != "=" }.dropFirst() : value[...]
        let isFile =
            item.name == "data-urlencode"
            ? isFile(encoding: value) : content.first == "@" || item.name == "form" && content.first == "<"
        guard isFile, value != item.value, !["data-raw", "form-string"].contains(item.name) else { return item }
        return ParsedCommand.Item(name: item.name, value: value)
    }

    /// The part's text; `nil` where it is read from a file.
    private static func literal(_ item: ParsedCommand.Item) -> String? {
        switch item.name {
        case "data-raw": item.value
        case "data-urlencode": isFile(encoding: item.value) ? nil : encoded(item.value)
        default: item.value.hasPrefix("@") ? nil : item.value
        }
    }

    /// What differs where a value is encoded in the run.
    static let blankNote = "`--data-urlencode` sends a blank as `+`, and the job as `%20`, which servers read alike"

    /// Whether `--data-urlencode` reads a file: `@file` or `name@file`.
    static func isFile(encoding text: String) -> Bool {
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
        JobText.plain(text).map { Percent.encoded($0).replacing("%20", with: "+") } ?? text
    }

    /// Whether an option that encodes holds a secret which encoding changes: its value is encoded in the run alone.
    static func encodesSecret(_ text: String, _ job: ImportedJob) -> Bool {
        guard !text.hasPrefix("+"), let equals = text.firstIndex(of: "=") else { return false }
        let content = String(text[text.index(after: equals)...])
        guard !content.utf8.allSatisfy(\.isUnreserved) else { return false }
        var job = job
        return SecretNames.isField(text[..<equals]) || job.hideSecrets(ofValue: content, for: nil) != content
    }

    /// The data as fields that a run encodes; `nil` where they are none, or would be encoded otherwise.
    private static func form(_ items: [ParsedCommand.Item], _ job: ImportedJob) -> [YAMLField]? {
        var fields: [YAMLField] = []
        for item in items {
            guard let equals = item.value.firstIndex(of: "="), item.name != "json" else { return nil }
            let name = String(item.value[..<equals])
            let content = String(item.value[item.value.index(after: equals)...])
            let isOwn = name.utf8.allSatisfy {
                $0.isASCIIDigit || $0.isASCIILetter || "_-.".utf8.contains($0)
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

    /// Returns `false` where the data cannot be said, after a warning.
    func fill(_ items: [ParsedCommand.Item], _ task: inout ImportedTask, _ job: inout ImportedJob) -> Bool {
        let isJSON = items.contains { $0.name == "json" }
        let type = isJSON ? "application/json" : "application/x-www-form-urlencoded"
        let parts = items.map { Self.literal($0) }
        if items.contains(where: { $0.name == "data-urlencode" && JobText.hasReference($0.value) }) {
            if let form = Self.form(items, job) {
                task.set("body", .map(["form": .map(form)]))
                job.lose(&task, Self.blankNote)
                return true
            }
            job.lose(
                place, "the value of a variable in `--data-urlencode` is not encoded here: this transfer was left out")
            return false
        }
        if items.contains(where: { $0.name == "data-urlencode" && Self.encodesSecret($0.value, job) }) {
            guard let form = Self.form(items, job) else {
                job.lose(place, "a secret in `--data-urlencode` is not encoded here: this transfer was left out")
                return false
            }
            task.set("body", .map(["form": .map(form)]))
            if form.contains(where: { YAMLText.flow($0.value).contains(" ") }) { job.lose(&task, Self.blankNote) }
            return true
        }
        if !parts.contains(nil) {
            let text = parts.compactMap(\.self).joined(separator: isJSON ? "" : "&")
            task.set("body", .map(["data": .text(text)]))
        } else if items.count == 1, items[0].name != "data-urlencode" {
            let isStripped = items[0].name == "data" || items[0].name == "data-ascii"
            guard
                let body = input.body(String(items[0].value.dropFirst()), isStripped: isStripped, place, &task, &job)
            else { return false }
            task.set("body", body)
        } else {
            job.lose(
                place,
                "data put together from a file and other parts, or encoded from a file, has no equal: this transfer was left out"
            )
            return false
        }
        task.set("contentType", .text(type))
        return true
    }
}

/// What a command is given on standard input.
enum StandardInput: Sendable {
    /// Whatever `transfer-run` is given.
    case own
    /// A text of the script.
    case text(String)
    /// A file.
    case file(String)
    /// What only a shell knows.
    case unknown

    /// Returns the body that a file is, `-` being standard input; `nil` where it is not known, after a warning.
    /// `isStripped`: the program leaves line breaks and NUL bytes out.
    func body(
        _ path: String, isStripped: Bool, _ place: ImportPlace, _ task: inout ImportedTask, _ job: inout ImportedJob
    ) -> YAMLNode? {
        guard path == "-" || path == "/dev/stdin" else {
            if let text = job.script.written[job.plainPath(path)] { return Self.data(text, isStripped: isStripped) }
            return Self.file(path, isStripped: isStripped, &task)
        }
        switch self {
        case .text(let text): return Self.data(text, isStripped: isStripped)
        case .file(let path): return Self.file(path, isStripped: isStripped, &task)
        case .own:
            guard let body = job.standardInput(place) else { return nil }
            task.comments.append(ImportedJob.standardInputNote)
            if isStripped {
                job.lose(&task, "give it a text without line breaks: curl leaves them out of what `--data @-` reads")
            }
            return body
        case .unknown:
            job.lose(
                place, "what is given to it on standard input is known to the shell alone: this transfer was left out")
            return nil
        }
    }

    private static func data(_ text: String, isStripped: Bool) -> YAMLNode {
        let scalars = text.unicodeScalars.filter { !isStripped || !"\r\n\0".unicodeScalars.contains($0) }
        return .map(["data": .text(String(String.UnicodeScalarView(scalars)))])
    }

    /// Marks the path of a file that is sent without the line breaks at its end: Unicode leaves it to such uses.
    static let endless = "\u{10FFF3}"

    private static func file(_ path: String, isStripped: Bool, _ task: inout ImportedTask) -> YAMLNode {
        if path.hasPrefix(endless) {
            task.comments.append(
                "a shell leaves out the line breaks at the end of what `$(cat FILE)` reads, as one does here")
            let words = ["sh", "-c", "printf %s \"$(cat -- \"$0\")\"", String(path.dropFirst())]
            return .map(["stream": .map(["command": .list(words.map { .text($0) })])])
        }
        guard isStripped else { return .map(["file": .text(path)]) }
        task.comments.append("curl leaves line breaks out of what `--data @FILE` reads, as `tr` does here")
        let words = ["sh", "-c", "tr -d '\\r\\n\\0' < \"$0\"", path]
        return .map(["stream": .map(["command": .list(words.map { .text($0) })])])
    }
}

/// A part of curl's `--form`, read as curl reads it.
struct CurlForm {
    private var rest: Substring
    /// What ends a word beside `;`: `,` between the names of files.
    private let end: Character?

    /// Returns the part; `nil` where it has no equal: a text from a file (`<`), standard input, several files, and headers
    /// and encoders of a part.
    static func part(_ item: ParsedCommand.Item, _ task: inout ImportedTask, _ job: inout ImportedJob) -> YAMLNode? {
        guard let equals = item.value.firstIndex(of: "=") else { return nil }
        let name = YAMLField("name", .text(String(item.value[..<equals])))
        let content = item.value[item.value.index(after: equals)...]
        if item.name == "form-string" { return .map([name, YAMLField("data", .text(String(content)))]) }
        let isFile = content.first == "@"
        guard content.first != "<" else { return nil }
        var form = CurlForm(rest: isFile ? content.dropFirst() : content, end: isFile ? "," : nil)
        let text = form.word()
        guard !isFile || text != "-", let attributes = form.attributes() else { return nil }
        var fields = [name, YAMLField(isFile ? "file" : "data", .text(text))]
        if let filename = attributes["filename"] { fields.append(YAMLField("filename", .text(filename))) }
        let known = attributes["filename"].flatMap { mediaType(of: job.filled($0)) }
        if let type = attributes["type"] ?? known {
            fields.append(YAMLField("contentType", .text(type)))
        } else if isFile {
            let path = job.filled(text)
            let tail = path.lastIndex(of: "}").map { path[$0...] } ?? path[...]
            if JobText.hasReference(path), !tail.contains(".") {
                job.lose(&task, "the type of a part whose file a variable names is that of its ending, not curl's")
            } else {
                fields.append(YAMLField("contentType", .text(mediaType(of: path) ?? "application/octet-stream")))
            }
        }
        return .map(fields)
    }

    /// The types that curl knows by the ending of a file's name.
    private static let types = [
        "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml",
        "txt": "text/plain", "htm": "text/html", "html": "text/html", "pdf": "application/pdf",
        "xml": "application/xml",
    ]

    private static func mediaType(of path: String) -> String? {
        path.contains(".") ? path.split(separator: ".").last.flatMap { types[$0.lowercased()] } : nil
    }

    /// Takes a word, in quotes or up to the next mark; blanks around it do not count.
    private mutating func word() -> String {
        rest = rest.afterBlanks
        var text = ""
        guard rest.first == "\"" else {
            text = String(rest.prefix { $0 != ";" && $0 != end })
            rest = rest.dropFirst(text.count)
            while text.last == " " || text.last == "\t" { text.removeLast() }
            return text
        }
        rest.removeFirst()
        while let character = rest.popFirst(), character != "\"" {
            let isEscape = character == "\\" && (rest.first == "\\" || rest.first == "\"")
            text.append(isEscape ? rest.removeFirst() : character)
        }
        rest = rest.drop { $0 != ";" && $0 != end }
        return text
    }

    /// Takes `;type=…;filename=…`; what is neither belongs to the type before it, or is nothing. `nil` for what has no
    /// equal.
    private mutating func attributes() -> [String: String]? {
        var found: [String: String] = [:]
        var isType = false
        while rest.first == ";" {
            let blanks = rest.dropFirst().prefix { $0 == " " || $0 == "\t" }
            rest = rest.dropFirst(1 + blanks.count)
            let key = ["type", "filename", "headers", "encoder"].first { rest.hasPrefix("\($0)=") }
            if key == "headers" || key == "encoder" { return nil }
            if let key { rest = rest.dropFirst(key.count + 1) }
            if key == "type" || key == nil && isType {
                let text = rest.prefix { $0 != ";" && $0 != end }
                rest = rest.dropFirst(text.count)
                found["type"] = isType ? "\(found["type"] ?? "");\(blanks)\(text)" : String(text)
                isType = true
            } else {
                let text = word()
                if let key { found[key] = text }
                isType = false
            }
        }
        return rest.isEmpty ? found : nil
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
}
