/// What `--help` and `help COMMAND` print, from the tables.
package enum HelpText {
    /// The whole tool on one page.
    package static func overview() -> String {
        var lines = [
            "transfer-run: runs the transfers that a YAML job file declares.", "",
            "usage: transfer-run JOB…", "       transfer-run COMMAND [OPTION…] …", "", "commands:",
        ]
        lines += columns(
            CommandTable.all.filter { $0.isBuilt }.map { ("\($0.name.rawValue) \($0.operands)", $0.does) })
        lines += ["", "`transfer-run help run` lists the options of a run."]
        lines += [
            "Not built yet: "
                + CommandTable.all.filter { !$0.isBuilt }.map { $0.name.rawValue }
                .joined(separator: ", ") + "."
        ]
        return page(lines)
    }

    package static func command(_ name: CommandName) -> String {
        let entry = CommandTable[name]
        var lines = [
            "usage: transfer-run \(name.rawValue) [OPTION…] \(entry.operands)".trimmingEnd(), "",
            "\(name.rawValue): \(entry.does).",
        ]
        if !entry.isBuilt { lines += ["It is not built yet."] }
        let flags = FlagTable.flags(of: name)
        lines += ["", "options:"]
        lines += columns(flags.filter { $0.isBuilt }.map { ($0.spelling, $0.does) })
        let missing = flags.filter { !$0.isBuilt }.map { $0.long }
        if !missing.isEmpty { lines += ["", "Not built yet: \(missing.joined(separator: ", "))."] }
        if let (flag, variable) = flags.lazy.compactMap({ flag in flag.variable.map { (flag, $0) } }).first {
            lines += ["", "Options have environment variables: `\(flag.long)` is \(variable). The command line wins."]
        }
        return page(lines)
    }

    private static let width = 34

    /// Two columns; what is too long for the first stands on a line of its own.
    private static func columns(_ rows: [(String, String)]) -> [String] {
        rows.flatMap { left, right in
            let length = left.count
            if length + 4 > width { return ["  \(left)", String(repeating: " ", count: width) + right] }
            return ["  " + left + String(repeating: " ", count: width - 2 - length) + right]
        }
    }

    private static func page(_ lines: [String]) -> String {
        lines.map { wrapped($0) + "\n" }.joined()
    }

    /// Breaks a long line between words; what follows stands under the second column, if there is one.
    private static func wrapped(_ line: String) -> String {
        guard line.count > longest else { return line }
        let indent = line.hasPrefix("  ") ? String(repeating: " ", count: width) : ""
        var lines: [Substring] = []
        var rest = line[...]
        var limit = longest
        while rest.count > limit, let space = rest.prefix(limit).lastIndex(of: " ") {
            lines.append(rest[..<space])
            rest = rest[rest.index(after: space)...]
            limit = longest - indent.count
        }
        return (lines + [rest]).joined(separator: "\n" + indent)
    }

    private static let longest = 100
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
