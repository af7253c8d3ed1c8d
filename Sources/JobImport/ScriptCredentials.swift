/// Finds the variables of a script whose values are credentials by what its transfers do with them, also in those that are left
/// out.
struct ScriptCredentials {
    /// The texts that the script sets its variables to.
    private let texts: [String: [String]]
    private var names: Set<String> = []

    /// The names of the variables, for commands in whose words each variable of the script stands as `${NAME}`.
    static func names(in commands: [ShellCommand], _ texts: [(name: String, text: String)]) -> Set<String> {
        var finder = ScriptCredentials(texts: Dictionary(grouping: texts, by: \.name).mapValues { $0.map(\.text) })
        for command in commands { finder.read(command, depth: 0) }
        return finder.names
    }

    private init(texts: [String: [String]]) { self.texts = texts }

    private mutating func read(_ command: ShellCommand, depth: Int) {
        guard let program = command.ownTransfer else {
            // What `ssh`, `eval` or `sh -c` runs is a script of its own.
            guard depth < 3 else { return }
            for word in command.words + [command.input].compactMap(\.self)
            where ["curl", "wget", "aria2c"].contains(where: { word.text.contains($0) }) && word.text.contains(" ") {
                var script = ShellScript([:], word.text, line: 1, nesting: 20, answers: ShellScript.most)
                script.readCommands()
                for command in script.commands { read(command, depth: depth + 1) }
            }
            return
        }
        let words = command.words.drop { $0.text != program && !$0.text.hasSuffix("/\(program)") }.dropFirst()
        let texts = words.map { $0.text.replacing("${env.", with: "${") }
        if program == "aria2c" {
            for text in texts {
                let halves = text.split(separator: "=", maxSplits: 1).map { String($0) }
                read(halves.count > 1 ? String(halves[0].drop { $0 == "-" }) : "", halves.last ?? "", depth: 0)
            }
        } else {
            let table = program == "curl" ? CurlOptions.table : WgetOptions.table
            for item in ParsedCommand(texts, table, negates: true).items { read(item.name, item.value, depth: 0) }
        }
    }

    /// Reads the value of an option; an operand has no name.
    private mutating func read(_ option: String, _ value: String, depth: Int) {
        let found = Self.credentials(in: value, of: option)
        names.formUnion(found.script.concealed)
        names.formUnion(found.forgotten)
        guard depth < 5 else { return }
        for name in ImportedJob.references(in: value) {
            for text in texts[name] ?? [] {
                let filled = value.replacing("${\(name)}", with: text)
                // A header, or a user with a password, that the variable holds whole.
                let isWhole = ["header", "proxy-header", "user", "proxy-user", "cookie"].contains(option)
                if isWhole, Self.credentials(in: filled, of: option).labels.texts.count > found.labels.texts.count {
                    names.insert(name)
                }
                read(option, filled, depth: depth + 1)
            }
        }
    }

    /// A job that has hidden what is secret in the value of an option.
    private static func credentials(in value: String, of option: String) -> ImportedJob {
        var job = ImportedJob()
        switch option {
        case "user", "proxy-user", "cert":
            if let password = CurlRequest.halves(value).1 { _ = job.hide(password, option, nil) }
        case "header", "proxy-header":
            guard let mark = value.firstIndex(of: ":") else { break }
            let text = value[value.index(after: mark)...].trimmed
            if SecretNames.isHeader(String(value[..<mark])) || SecretNames.hasScheme(text) {
                let scheme = text.prefix { $0 != " " }
                _ = job.hide(text.dropFirst(scheme.count).trimmed, "TOKEN", nil)
                if scheme.contains("$") || scheme.count == text.count { _ = job.hide(String(scheme), "TOKEN", nil) }
            } else {
                _ = job.hideSecrets(ofValue: text, for: nil)
            }
        case "cookie": if value.contains("=") { _ = job.hide(value, "COOKIE", nil) }
        case _ where option.contains("pass") || option == "oauth2-bearer": _ = job.hide(value, option, nil)
        case "", "url": _ = job.hideSecrets(ofURL: value)
        case "data-urlencode", "url-query", "form", "form-string", "data", "data-raw", "data-binary", "json",
            "post-data", "body-data":
            _ = job.hideSecrets(ofBody: value, for: nil)
        default: _ = job.hideSecrets(ofValue: value, for: nil)
        }
        return job
    }
}
