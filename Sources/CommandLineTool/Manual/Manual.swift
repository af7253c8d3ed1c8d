import JobLoader

/// Generates the manual pages, man/*.1 and man/*.5, from the tables that docs/cli.md and docs/job-file.md are written from,
/// and from docs/report.md.
package enum Manual {
    /// The day of the version, which stands at the foot of each page.
    private static let date = "2026-11-28"

    /// Returns `transfer-run(1)`. `report` is docs/report.md, which says what exit statuses mean.
    package static func commands(report: String) -> String {
        var page = page("transfer-run", 1, "run the transfers that a YAML job file declares")
        page.heading("SYNOPSIS")
        page.code(
            ["transfer-run [OPTION…] JOB…"]
                + CommandTable.all.filter(\.isBuilt).map { usage($0) })
        page.heading("EXAMPLES")
        for (_, examples) in HelpText.examplesInOrder {
            for (line, does) in examples { page.entry("`\(line)`", does) }
        }
        let reference = MarkdownBlock.parse(CommandLineReference.markdown())
        page.heading("DESCRIPTION")
        page.add(reference.opening)
        page.paragraph(
            "Keys of a job file are in **transfer-run-job**(5), fields of a report in **transfer-run-report**(5).")
        page.heading("COMMANDS")
        for entry in CommandTable.all where entry.isBuilt {
            page.entry("**\(entry.name.rawValue)** \(entry.operands)", entry.does)
        }
        addOptions(to: &page)
        page.add(
            reference.without { $0 == "Commands" || $0.hasPrefix("Options of") || $0 == "Not built yet" }.sections)
        page.heading("EXIT STATUS")
        page.add(MarkdownBlock.parse(report).section("Exit status"))
        addEnd(to: &page, others: ["transfer-run-job(5)", "transfer-run-report(5)", "curl(1)"])
        return page.text
    }

    /// Returns `transfer-run-job(5)`.
    package static func job() -> String {
        var page = page("transfer-run-job", 5, "what a job file of transfer-run may say")
        let blocks = MarkdownBlock.parse(JobReference.markdown(isLinked: false))
        let examples = blocks.opening.filter { block in if case .code = block { true } else { false } }
        page.heading("EXAMPLES")
        page.add(examples)
        page.heading("DESCRIPTION")
        page.add(blocks.opening.filter { !examples.contains($0) })
        page.add(blocks.sections)
        addEnd(to: &page, others: ["transfer-run(1)", "transfer-run-report(5)"])
        return page.text
    }

    /// Returns `transfer-run-report(5)`. `report` is docs/report.md.
    package static func report(_ report: String) -> String {
        var page = page("transfer-run-report", 5, "what transfer-run tells of a run: report, events, exit status")
        page.heading("EXAMPLES")
        for (line, does) in reportExamples { page.entry("`\(line)`", does) }
        let blocks = MarkdownBlock.parse(report)
        page.heading("DESCRIPTION")
        page.add(blocks)
        addEnd(to: &page, others: ["transfer-run(1)", "transfer-run-job(5)", "jq(1)"])
        return page.text
    }

    private static let reportExamples = [
        ("jq .exitStatus jobs.report.json", "how the run ended"),
        (
            "jq -r '.tasks[] | select(.outcome == \"failed\") | .explanation' jobs.report.json",
            "what failed, and what would help, a sentence each"
        ),
        (
            "jq -r '.tasks[] | select(.changed) | .file.path' jobs.report.json", "the files that are new"
        ),
        ("transfer-run report convert jobs.report.json --html jobs.html", "the report as a page for people"),
    ]

    /// `transfer-run attach [OPTION…] IDENTIFIER`
    private static func usage(_ entry: CommandEntry) -> String {
        let hasOptions = FlagTable.flags(of: entry.name).contains {
            $0.isBuilt && $0.name != .help && $0.name != .version
        }
        let words = ["transfer-run", entry.name.rawValue, hasOptions ? "[OPTION…]" : "", entry.operands]
        return words.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func page(_ name: String, _ section: Int, _ does: String) -> RoffPage {
        RoffPage(name, section: section, date: date, version: CommandLineTool.version, does: does)
    }

    private static func addOptions(to page: inout RoffPage) {
        page.heading("OPTIONS")
        page.paragraph("An option can be given by a variable of the environment, too. The command line wins.")
        for group in FlagTable.groups {
            let flags = group.flags.filter(\.isBuilt)
            if flags.isEmpty { continue }
            page.heading(group.title, isSmall: true)
            for flag in flags {
                let commands = flag.commands.filter { CommandTable[$0].isBuilt }.map(\.rawValue)
                let isEverywhere = commands.count == CommandName.allCases.filter { CommandTable[$0].isBuilt }.count
                page.entry(
                    "`\(flag.spelling)`", flag.does,
                    details: (isEverywhere ? [] : ["Of \(commands.joined(separator: ", "))."])
                        + (flag.variable.map { ["Environment: `\($0)`."] } ?? []))
            }
        }
    }

    private static func addEnd(to page: inout RoffPage, others: [String]) {
        page.heading("SEE ALSO")
        page.paragraph(others.map { "**\($0.prefix { $0 != "(" })**\($0.drop { $0 != "(" })" }.joined(separator: ", "))
        page.paragraph(
            "Guides by task and the pages that are named here are in *docs/* of the project, and in *doc/transfer-run/* where it is installed."
        )
    }
}
