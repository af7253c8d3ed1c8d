/// Reads a configuration file of curl (`--config`): one option a line, with or without dashes.
enum CurlConfig {
    /// Whether a line looks like one of such a file.
    static func isLine(_ line: String) -> Bool {
        guard let (name, _) = halves(line) else { return false }
        if name.hasPrefix("--") { return CurlOptions.table[String(name.dropFirst(2))] != nil }
        if name.hasPrefix("-") { return name.dropFirst().first.flatMap { CurlOptions.table[$0] } != nil }
        return CurlOptions.table[name] != nil && CurlOptions.table.names.contains(name)
    }

    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        var words: [String] = []
        var first = 1
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = String(line.afterBlanks)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if words.isEmpty { first = index + 1 }
            guard let (name, value) = halves(line) else { continue }
            if name == "next" || name == "--next" || name == "-:" {
                CurlCommand.add(words, place: ImportPlace(file: file, line: first), to: &job)
                words = []
                continue
            }
            let option = name.hasPrefix("-") ? name : "--\(name)"
            words.append(JobText.literal(option))
            let takesValue =
                option.hasPrefix("--")
                ? CurlOptions.table[String(option.dropFirst(2))]?.takesValue == true
                : option.count == 2 && option.last.flatMap { CurlOptions.table[$0]?.takesValue } == true
            if takesValue, let value {
                words.append(JobText.literal(value))
            } else if value != nil, !option.hasPrefix("--") || CurlOptions.table[String(option.dropFirst(2))] != nil {
                let place = ImportPlace(file: file, line: index + 1)
                job.lose(place, "what follows `\(name.prefix(40))` was left out: the option takes no value")
            }
        }
        if !words.isEmpty { CurlCommand.add(words, place: ImportPlace(file: file, line: first), to: &job) }
    }

    /// Splits a line into the option and its value, with quotes and escapes undone.
    private static func halves(_ line: String) -> (String, String?)? {
        let name = line.prefix { $0 != " " && $0 != "\t" && $0 != "=" && ($0 != ":" || line.hasPrefix("-:")) }
        guard !name.isEmpty else { return nil }
        var rest = line[name.endIndex...].afterBlanks
        if rest.first == "=" || rest.first == ":" { rest = rest.dropFirst().afterBlanks }
        guard !rest.isEmpty else { return (String(name), nil) }
        guard rest.first == "\"" else {
            return (String(name), String(rest.prefix { $0 != " " && $0 != "\t" && $0 != "\r" }))
        }
        return (String(name), unquoted(rest.dropFirst()))
    }

    private static func unquoted(_ text: Substring) -> String {
        var result = ""
        var rest = text
        while let character = rest.popFirst(), character != "\"" {
            guard character == "\\", let next = rest.popFirst() else {
                result.append(character)
                continue
            }
            switch next {
            case "n": result.append("\n")
            case "t": result.append("\t")
            case "r": result.append("\r")
            case "v": result.append("\u{B}")
            default: result.append(next)
            }
        }
        return result
    }
}
