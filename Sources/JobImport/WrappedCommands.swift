/// Files that hold commands between other things, which are no scripts: lines of a crontab, a Dockerfile, a Makefile, and what a
/// terminal shows.
enum WrappedCommands {
    /// What a text looks like, and the line that says so; `nil` for another text.
    static func kind(of text: String) -> (what: String, line: Int)? {
        guard !text.hasPrefix("#!") else { return nil }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let isImage = lines.first { !$0.trimmed.isEmpty && !$0.hasPrefix("#") }.map { line in
            ["FROM ", "ARG "].contains { line.hasPrefix($0) }
        }
        for (index, line) in lines.enumerated() where runsTransfer(line) {
            if isCron(line) { return ("a crontab", index + 1) }
            if line.hasPrefix("$ ") || line.hasPrefix("% ") {
                return ("what a terminal shows, with its prompt", index + 1)
            }
            if isImage == true, ["RUN ", "    ", "\t", "  "].contains(where: { line.hasPrefix($0) }) {
                return ("a Dockerfile", index + 1)
            }
            if line.hasPrefix("\t"), isTarget(lines[..<index].last { !$0.hasPrefix("\t") && !$0.isEmpty }) {
                return ("a Makefile", index + 1)
            }
        }
        return nil
    }

    private static func runsTransfer(_ line: Substring) -> Bool {
        line.split { " \t@-;&|(".contains($0) }.contains { word in
            ["curl", "wget", "aria2c"].contains { word == $0 || word.hasSuffix("/\($0)") && !word.contains(":") }
        }
    }

    /// `0 5 * * 1 curl …`, `@daily curl …`.
    private static func isCron(_ line: Substring) -> Bool {
        let words = line.split { $0 == " " || $0 == "\t" }
        let names = ["@reboot", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"]
        if names.contains(where: { words[0] == $0 }) { return true }
        let isTime =
            words.count > 5
            && words.prefix(5).allSatisfy { word in
                word.allSatisfy { $0.isASCII && ($0.isNumber || "*/,-".contains($0)) }
                    || word.count == 3 && word.allSatisfy { $0.isLetter }
            }
        return isTime && words[0].contains { $0.isNumber || $0 == "*" }
    }

    /// `name: what it is made of`.
    private static func isTarget(_ line: Substring?) -> Bool {
        guard let line, let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return false }
        let next = line[colon...].dropFirst().first
        return next == nil || next == " "
            ? line[..<colon].allSatisfy { $0.isLetter || $0.isNumber || "._-/%$(){} ".contains($0) } : false
    }
}
