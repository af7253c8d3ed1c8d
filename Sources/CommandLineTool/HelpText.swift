import Reporting

/// Generates the text of `--help` and `help COMMAND` from the tables.
package enum HelpText {
    /// Width in columns of a page where the terminal does not give one, and the largest that is used: longer lines read
    /// badly.
    private static let usualWidth = 100

    /// Returns the help page of the whole program.
    package static func overview(width: Int? = nil) -> String {
        var page = Page(width: width ?? usualWidth)
        page.add("transfer-run: runs the transfers that a YAML job file declares.")
        page.add("")
        page.add("usage: transfer-run JOB…")
        page.add("       transfer-run COMMAND [OPTION…] …")
        for (title, names) in CommandTable.groups {
            page.add("")
            page.add("\(title):")
            page.add(
                rows: names.map { CommandTable[$0] }.map { ("\($0.name.rawValue) \($0.operands)".trimmed, $0.does) })
        }
        page.add("")
        page.add("examples:")
        page.add(rows: [
            ("transfer-run init https://example.org/file.iso", "write a first job file"),
            ("transfer-run transfer.yaml", "run it"),
            ("transfer-run check transfer.yaml", "look for mistakes without the network"),
        ])
        page.add("")
        page.add("`transfer-run help run` lists the options of a run.")
        let missing = CommandTable.all.filter { !$0.isBuilt }.map(\.name.rawValue)
        if !missing.isEmpty { page.add("Not built yet: \(missing.joined(separator: ", ")).") }
        return page.text
    }

    /// Returns the help page of one command.
    package static func command(_ name: CommandName, width: Int? = nil) -> String {
        let entry = CommandTable[name]
        var page = Page(width: width ?? usualWidth)
        page.add("usage: transfer-run \(name.rawValue) [OPTION…] \(entry.operands)".trimmed)
        page.add("")
        page.add("\(name.rawValue): \(entry.does).")
        if !entry.isBuilt { page.add("It is not built yet.") }
        let flags = FlagTable.flags(of: name)
        for group in FlagTable.groups {
            let members = group.flags.filter { $0.isBuilt && $0.commands.contains(name) }
            if members.isEmpty { continue }
            page.add("")
            page.add("\(group.title):")
            page.add(rows: members.map { ($0.spelling, $0.does) })
        }
        let examples = examples[name] ?? []
        if !examples.isEmpty {
            page.add("")
            page.add("examples:")
            page.add(rows: examples)
        }
        let missing = flags.filter { !$0.isBuilt }.map { $0.long }
        if !missing.isEmpty {
            page.add("")
            page.add("Not built yet: \(missing.joined(separator: ", ")).")
        }
        if let (flag, variable) = flags.lazy.compactMap({ flag in flag.variable.map { (flag, $0) } }).first {
            page.add("")
            page.add("Options have environment variables: `\(flag.long)` is \(variable). The command line wins.")
        }
        return page.text
    }

    /// The examples of all commands, in the order of the table.
    static var examplesInOrder: [(command: CommandName, examples: [(String, String)])] {
        CommandTable.all.filter(\.isBuilt).compactMap { entry in examples[entry.name].map { (entry.name, $0) } }
    }

    private static let examples: [CommandName: [(String, String)]] = [
        .run: [
            ("transfer-run nightly.transfer.yaml", "run a job"),
            ("transfer-run nightly.transfer.yaml --set release=12.8", "with another value of a variable"),
            ("transfer-run nightly.transfer.yaml --only 'debs-*'", "only some tasks, and what they need"),
            ("transfer-run - --report - -q < job.yaml", "job from a pipe, report to standard output"),
        ],
        .check: [("transfer-run check *.transfer.yaml --format github", "annotations in a workflow")],
        .plan: [
            ("transfer-run plan mirror.transfer.yaml", "from the job file and the disk alone"),
            ("transfer-run plan mirror.transfer.yaml --online --save plan.yaml", "ask the servers, keep what they say"),
            ("transfer-run mirror.transfer.yaml --plan plan.yaml", "run, unless something moved since"),
        ],
        .simulate: [
            ("transfer-run simulate mirror.transfer.yaml --from mirror.report.json", "as the network was in that run"),
            (
                "transfer-run simulate mirror.transfer.yaml --model net.yaml --sweep sessions.default.maximumConnectionsPerHost=2,4,8",
                "which setting is best"
            ),
        ],
        .initialize: [
            ("transfer-run init https://example.org/a https://example.org/b", "one task for each URL"),
            ("transfer-run init -o - https://example.org/a", "to standard output"),
            ("transfer-run init -- curl -LO https://example.org/a", "what a command does"),
        ],
        .importJob: [
            ("transfer-run import fetch.sh > jobs.transfer.yaml", "the curl and wget lines of a script"),
            ("transfer-run import urls.txt > jobs.transfer.yaml", "a list of URLs, or an input file of aria2"),
        ],
        .rerun: [
            ("transfer-run rerun nightly.report.json", "what did not succeed"),
            ("transfer-run rerun nightly.report.json --task release", "one task"),
        ],
        .verify: [
            ("transfer-run verify nightly.report.json", "the files of a run"),
            ("transfer-run verify SHA256SUMS", "the files that lie beside a list"),
        ],
        .cancel: [("transfer-run cancel my-photos 'photo-3*'", "some tasks of a session")],
        .status: [("transfer-run status my-photos --watch", "follow a session")],
    ]

    /// Wraps lines to the terminal's width, between words.
    private struct Page {
        private let width: Int
        private var lines: [String] = []

        init(width: Int) { self.width = max(20, width) }

        var text: String { lines.map { $0 + "\n" }.joined() }

        mutating func add(_ line: String) { lines += TextLayout.wrapped(line, width: width, indent: "  ") }

        /// Adds rows of two columns. A left text that is too long gets a line of its own; on a narrow terminal all do.
        mutating func add(rows: [(String, String)]) {
            let column = min(34, width / 3)
            for (left, right) in rows {
                let used = TextLayout.width(of: left) + 4
                let indent = String(repeating: " ", count: column)
                if used <= column {
                    let gap = String(repeating: " ", count: column - used + 2)
                    lines += TextLayout.wrapped("  \(left)\(gap)\(right)", width: width, indent: indent)
                } else {
                    lines += TextLayout.wrapped("  " + left, width: width, indent: "    ")
                    lines += TextLayout.wrapped(indent + right, width: width, indent: indent)
                }
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
