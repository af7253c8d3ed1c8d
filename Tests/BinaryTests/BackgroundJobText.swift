/// A job's text with its sessions in the background, each under an identifier of its own.
enum BackgroundJobText {
    static func identifier(_ session: String) -> String { "org.example.\(session)" }

    /// `except` are names of sessions that stay as they are. Sessions begin two columns in, as in all examples.
    static func of(_ text: String, except: Set<String> = []) -> String {
        var lines: [Substring] = []
        var isInSessions = false
        var stays = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if !line.isEmpty, !line.hasPrefix(" ") { isInSessions = line == "sessions:" }
            guard isInSessions, line != "sessions:" else {
                lines.append(line)
                continue
            }
            if let name = session(line) {
                stays = except.contains(String(name))
                lines.append(contentsOf: stays ? [line] : begun(name, line))
            } else if stays || !line.hasPrefix("    configuration:") {
                lines.append(line)
            }
        }
        let joined = lines.joined(separator: "\n")
        return text.contains("\nsessions:\n")
            ? joined : joined + "\nsessions: { default: { \(keys("default")) } }\n"
    }

    private static func keys(_ name: some StringProtocol) -> String {
        "configuration: background, identifier: \(identifier(String(name)))"
    }

    /// `  name:` and what may follow.
    private static func session(_ line: Substring) -> Substring? {
        guard line.hasPrefix("  "), let first = line.dropFirst(2).first, first.isLetter else { return nil }
        return line.dropFirst(2).prefix { $0 != ":" }
    }

    private static func begun(_ name: Substring, _ line: Substring) -> [Substring] {
        let rest = line.dropFirst(2 + name.count + 1).drop { $0 == " " }
        guard rest.first == "{" else {
            return [line, "    configuration: background", "    identifier: \(identifier(String(name)))"]
        }
        let inner = rest.dropFirst().replacing("configuration: default, ", with: "")
        let isEmpty = inner.drop { $0 == " " }.first == "}"
        return ["  \(name): { \(keys(name))\(isEmpty ? " " : ",")\(inner)"]
    }
}
