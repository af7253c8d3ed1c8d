import TransferModel

/// A flag's long name, without its dashes.
package enum FlagName: String, CaseIterable, Sendable {
    case report, noReport = "no-report", events
    case junit, html, har, trace, otlp, prometheus, markdown, failedList = "failed-list"
    case set, variablesFile = "variables-file", secretsFile = "secrets-file", directory, only, except
    case output, maxConcurrent = "max-concurrent", bandwidth, noWait = "no-wait", detach, newRun = "new-run"
    case failFast = "fail-fast", exitUnchanged = "exit-unchanged", network, confine, allowEnv = "allow-env"
    case allowAddress = "allow-address", policy, stateDir = "state-dir", progress, color, verbose, quiet
    case plan, save, from, sweep, locked, update
    case format, explainAccess = "explain-access", online, json, model, seed, failed, changed, all, task, repair,
        calendar, user, dynamicUser = "dynamic-user", onFailure = "on-failure",
        randomizedDelay = "randomized-delay", install, watch,
        resumable, failOn = "fail-on"
    case help, version
}

/// One row of the table of flags, which parser, help, environment and docs/cli.md read.
package struct Flag: Sendable {
    /// The kinds of flags: a flag is a switch or takes exactly one value.
    package enum Shape: Hashable, Sendable {
        /// A switch.
        case toggle
        /// A value; the text is its placeholder in help.
        case value(String)
        /// A value that may be given several times.
        case list(String)
        /// One of these words.
        case choice([String])
    }

    /// Long name.
    package let name: FlagName
    /// Short name, without its dash; `nil` without one.
    package let short: Character?
    /// Whether it takes a value, and which.
    package let shape: Shape
    /// What the flag does: one sentence, without a full stop.
    package let help: String
    /// Commands that accept the flag.
    package let commands: [CommandName]
    /// Whether the flag is implemented.
    package let isBuilt: Bool
    /// Whether an environment variable can set the flag.
    package let hasVariable: Bool

    /// `--report`.
    package var long: String { "--\(name.rawValue)" }

    /// `TRANSFER_RUN_REPORT`; `nil` for a flag that can only be typed.
    package var variable: String? {
        hasVariable ? "TRANSFER_RUN_" + name.rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() : nil
    }

    /// `PATH`; `nil` for a switch.
    package var placeholder: String? {
        switch shape {
        case .toggle: nil
        case .value(let name), .list(let name): name
        case .choice(let words): words.joined(separator: "|")
        }
    }

    /// `-v, --verbose` or `--report PATH`.
    package var spelling: String {
        (short.map { "-\($0), " } ?? "") + long + (placeholder.map { " \($0)" } ?? "")
    }

    /// The flag's help, and whether it may be repeated.
    package var does: String {
        let repeats = isList ? "; can be given several times" : ""
        return help + repeats
    }

    /// Whether the flag may be given several times.
    package var isList: Bool { if case .list = shape { true } else { false } }
}

/// The table of flags.
package enum FlagTable {
    /// The flags under the headings of a command's help page.
    static let groups: [(title: String, flags: [Flag])] = [
        ("what is shown", people + outputs), ("the job", inputs), ("limits", limits), ("when and where", conditions),
        ("this command", otherCommands), ("everywhere", everywhere),
    ]

    /// All rows, in the order of docs/cli.md.
    package static let all: [Flag] =
        outputs + inputs + limits + conditions + people + otherCommands + everywhere

    /// The row of a flag.
    package static subscript(name: FlagName) -> Flag { byName[name] ?? all[0] }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Returns the flags that a command accepts.
    package static func flags(of command: CommandName) -> [Flag] { all.filter { $0.commands.contains(command) } }

    private static let controlling: [CommandName] = [.suspend, .resume, .cancel]
    private static let running: [CommandName] = [.run, .rerun]
    /// Commands that read a job which may not be trusted.
    private static let confining: [CommandName] = [.run, .rerun, .check, .plan]
    private static let following: [CommandName] = [.run, .rerun, .attach]
    private static let exporting: [CommandName] = [.run, .rerun, .attach, .report]
    private static let loading: [CommandName] = [.run, .rerun, .verify, .unit, .check, .plan, .simulate, .lock]
    /// Commands that run a job or say what a run would do.
    private static let foreseeing: [CommandName] = [.run, .rerun, .plan, .simulate, .lock]

    private static let outputs: [Flag] = [
        flag(.report, .value("PATH"), "write the JSON report there; `-` is standard output", following),
        flag(.noReport, .toggle, "write no JSON report", following),
        flag(
            .events, .value("PATH"), "write each event as a line of JSON there, as it happens; `-` is standard output",
            following),
        flag(.junit, "write a JUnit report there"),
        flag(.html, "write a page for people there; `simulate`: the plot of a sweep", also: [.simulate]),
        flag(.har, "write an HTTP archive there (HAR 1.2)"),
        flag(.trace, "write a trace for Perfetto there, packed if PATH ends in `.gz`"),
        flag(.otlp, "write OpenTelemetry's spans there, as JSON"),
        flag(.prometheus, "write metrics for Prometheus's textfile collector there"),
        flag(.markdown, "write a summary in Markdown there"),
        flag(.failed, "write a line of JSON there for each task that did not succeed"),
    ]

    private static let inputs: [Flag] = [
        flag(.set, .list("NAME=VALUE"), "give a variable another value", loading),
        flag(.variablesFile, .value("PATH"), "a YAML map of variables", loading),
        flag(.secretsFile, .value("PATH"), "lines of `NAME=value` with secrets", loading),
        flag(
            .directory, .value("DIR"), "the folder that relative paths start from, instead of the job file's", loading),
        flag(
            .only, .list("ID-PATTERN"), "run only tasks whose id matches, `*` for anything, and what they need",
            [.run, .plan, .simulate]),
        flag(
            .except, .list("ID-PATTERN"),
            "leave out tasks whose id matches; what needs them runs without them, unless it uses what they capture",
            [.run, .plan, .simulate]),
        flag(
            .plan, .value("FILE"),
            "hold the servers to what they said when `plan --online --save FILE` asked them: what moved since is refused before anything is fetched"
        ),
        flag(
            .locked, .toggle,
            "hold each download to the job's lock (`transfer-run lock JOB`): other bytes or another final URL are refused before they are in place"
        ),
    ]

    private static let limits: [Flag] = [
        flag(
            .maxConcurrent, .value("N"), "at most so many tasks at a time, over `limits.maximumConcurrentTasks`",
            foreseeing),
        flag(
            .bandwidth, .value("RATE"), "a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`",
            foreseeing),
        flag(.failFast, .toggle, "the first failure cancels the rest", [.run, .rerun, .simulate]),
        flag(.exitUnchanged, .toggle, "end with 9 when nothing changed"),
        flag(
            .stateDir, .value("DIR"), "keep state, cache and sockets under this folder",
            [.run, .rerun, .verify, .plan, .lock, .attach, .reset, .status, .daemon] + controlling),
    ]

    private static let conditions: [Flag] = [
        flag(
            .noWait, .toggle,
            "put off to the next run what a network, power, a window or `earliestBegin` holds back, and end with 75; what is in a background session goes on by itself"
        ),
        flag(.detach, .toggle, "hand background sessions over and return"),
        flag(.newRun, .toggle, "do not come back to an earlier run of a background session"),
        flag(
            .network, .value("CLASS"),
            "take this instead of what the system says: `wired`, `wifi`, `cellular` or `none`, then `,metered` and `,constrained` as it is",
            [.run, .rerun, .status]),
        flag(
            .confine, .list("DIR"),
            "for job files that are not trusted: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means",
            confining),
        flag(.allowEnv, .list("NAME"), "let a confined job read this variable", confining),
        flag(.allowAddress, .list("CIDR"), "let a confined job connect to these addresses", confining),
        flag(
            .policy, .value("FILE"), "an operator's rules, which win over the job's and the command line's", confining),
    ]

    private static let people: [Flag] = [
        flag(
            .progress, .choice(["auto", "bar", "plain", "none"]),
            "what to show while it runs: bars where standard error is a terminal, else lines", following),
        flag(
            .color, .choice(["auto", "always", "never"]), "colour on standard error",
            [.run, .rerun, .check, .plan, .simulate, .lock, .attach]),
        flag(
            .verbose, .toggle,
            "show each attempt, redirect and wait as well; `status`: networks and power, too, and of one run every task; `plan`: every task",
            following + [.status, .plan], short: "v"),
        flag(.quiet, .toggle, "show the summary only", following, short: "q"),
    ]

    private static let otherCommands: [Flag] = [
        flag(.format, .choice(["text", "json", "github"]), "how diagnostics are written", [.check]),
        flag(
            .explainAccess, .toggle,
            "list everything that the job may run, read, write, remove and ask, each with its place in the file",
            [.check]),
        flag(
            .online, .toggle,
            "ask the servers for sizes and changes, without fetching anything: bytes, disk space and least time are then known",
            [.plan]),
        flag(
            .save, .value("FILE"),
            "write what the servers say there (`--online`), for `run --plan FILE`", [.plan]),
        flag(
            .json, .toggle, "print JSON; `simulate`: the report that such a run would write",
            [.plan, .simulate, .status, .verify]),
        flag(
            .repair, .toggle, "fetch again what is missing or differs from a report, a lock or, with `--from`, a list",
            [.verify],
            hasVariable: false
        ),
        flag(.model, .value("FILE"), "a YAML file that says what each host is like", [.simulate]),
        flag(
            .from, .value("REPORT|URL"),
            "`simulate`: the report of an earlier run, in which the hosts are measured; `verify`: the URL below which the files of a list are, for `--repair`",
            [.simulate, .verify]),
        flag(
            .seed, .value("N"), "the seed of all chances, 1 by default: the same seed gives the same result",
            [.simulate]),
        flag(.update, .list("ID"), "lock only these tasks anew, ids or patterns; the others stay as they are", [.lock]),
        flag(
            .sweep, .list("KEY=VALUES"),
            "vary a setting, such as `sessions.default.maximumConnectionsPerHost=2,4,8` or `limits.bandwidth=1MiB/s,10MiB/s`",
            [.simulate]),
        flag(
            .failed, .toggle, "the tasks that did not succeed, as without any choice", [.rerun], hasVariable: false),
        flag(.changed, .toggle, "the tasks whose file changed in that run", [.rerun], hasVariable: false),
        flag(.all, .toggle, "every task of the report", [.rerun], hasVariable: false),
        flag(.task, .list("ID"), "this task of the report", [.rerun], hasVariable: false),
        flag(
            .calendar, .value("WHEN"),
            "when the timer starts the job, as systemd's `OnCalendar` takes it; otherwise daily",
            [.unit], hasVariable: false),
        flag(
            .randomizedDelay, .value("DURATION"),
            "spread the timer's start over this time, such as `15m`, so that many machines do not ask at once",
            [.unit], hasVariable: false),
        flag(
            .onFailure, .value("UNIT"),
            "the unit that systemd starts when the job fails, such as `alert@%n.service`",
            [.unit], hasVariable: false),
        flag(
            .user, .value("NAME"), "run the service as this user instead of root; for units that root writes",
            [.unit], hasVariable: false),
        flag(
            .dynamicUser, .toggle,
            "run the service as a user that exists only while it runs, instead of root: what the job writes is below /var/lib/transfer-run-JOB-files",
            [.unit], hasVariable: false),
        flag(
            .install, .toggle,
            "write the units into ~/.config/systemd/user, or as root into /etc/systemd/system, and say how to enable them",
            [.unit], hasVariable: false),
        flag(.watch, .toggle, "show it again whenever it has changed", [.status]),
        flag(
            .output, .value("PATH"),
            "where `init` writes the job, otherwise `transfer.yaml`, and `report merge` the report, otherwise standard output; `-` is standard output",
            [.initialize, .report], short: "o"),
        flag(
            .failOn, .list("CHANGE"),
            "end with 1 where `report diff` finds this: `failed`, `slower`, `larger`, `smaller`, `redirected`, `certificate`, `missing`, `added` or `any`",
            [.report]),
        flag(.resumable, .toggle, "keep half-done files", [.cancel]),
    ]

    private static let everywhere: [Flag] = [
        flag(.help, .toggle, "print help and end", CommandName.allCases, short: "h", hasVariable: false),
        flag(
            .version, .toggle, "print the versions of transfer-run and its libraries and end", CommandName.allCases,
            hasVariable: false),
    ]

    /// The row of the flag that exports a report's format.
    private static func flag(_ format: ReportFormat, _ help: String, also others: [CommandName] = []) -> Flag {
        flag(name(of: format), .value("PATH"), help, exporting + others)
    }

    private static func flag(
        _ name: FlagName, _ shape: Flag.Shape, _ help: String, _ commands: [CommandName] = running,
        short: Character? = nil, isBuilt: Bool = true, hasVariable: Bool = true
    ) -> Flag {
        Flag(
            name: name, short: short, shape: shape, help: help, commands: commands, isBuilt: isBuilt,
            hasVariable: hasVariable)
    }
}
