/// What `history` prints: commands with numbers before them, and times where the shell keeps them.
enum ShellHistory {
    /// Returns the transfers of a history and the variables set in it, each on its own line; `nil` for another text. Other
    /// commands of a history belong to no script.
    static func commands(of text: String) -> String? {
        var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { String($0) }
        guard let first = lines.first(where: { $0.contains { !$0.isWhitespace } }), var last = split(first)?.number
        else { return nil }
        last -= 1
        var isKept = false
        for index in lines.indices {
            // A line that continues a command has no number.
            if let (number, command) = split(lines[index]), number > last, number - last < 1000 {
                last = number
                isKept = ImportFormat(of: command) == .script || isAssignment(command)
                lines[index] = command
            }
            if !isKept { lines[index] = "" }
        }
        return lines.joined(separator: "\n")
    }

    /// Whether the entry sets a variable and does nothing else.
    private static func isAssignment(_ command: String) -> Bool {
        let script = ShellScript(command)
        return command.contains("=") && script.brokenLines.isEmpty && script.commands.allSatisfy(\.isAssignment)
    }

    /// The number and the command of an entry.
    private static func split(_ line: String) -> (number: Int, command: String)? {
        var rest = line.afterBlanks
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(digits.count)
        // A star marks an entry that was changed.
        if rest.first == "*" { rest.removeFirst() }
        guard let number = Int(digits), let blank = rest.first, blank == " " || blank == "\t" else { return nil }
        while let word = rest.split(separator: " ", maxSplits: 1).first, isOfTime(word) {
            rest = rest.afterBlanks.dropFirst(word.count)
        }
        let command = rest.afterBlanks
        return command.isEmpty ? nil : (number, String(command))
    }

    /// Whether a word is a part of a time, such as `2026-11-29`, `[14:02:33]` or `Sun`.
    private static func isOfTime(_ word: Substring) -> Bool {
        let names = "Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec AM PM UTC".split(
            separator: " ")
        let bare = word.filter { !"[],".contains($0) }
        let isNumber = bare.contains { $0.isNumber } && bare.allSatisfy { $0.isNumber || "-/:.+TZ".contains($0) }
        return isNumber || names.contains { $0 == bare }
    }
}
