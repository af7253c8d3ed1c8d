/// A command's name, as typed.
package enum CommandName: String, CaseIterable, Sendable {
    case run, check, initialize = "init", importJob = "import", unit, plan, simulate, lock, rerun, report, explain,
        verify
    case status, attach, suspend, resume, cancel, reset, daemon, schema
    case completions, help
}

/// One row of the table of commands, which parser, help and docs/cli.md read.
package struct CommandEntry: Sendable {
    /// Name of the command.
    package let name: CommandName
    /// Operands as in a usage line: `JOB…`.
    package let operands: String
    /// Number of operands that are accepted.
    package let count: ClosedRange<Int>
    /// What the command does: one sentence, without a full stop.
    package let does: String
    /// Whether the command is implemented.
    package let isBuilt: Bool
}

/// The table of commands.
package enum CommandTable {
    private static let many = 1...Int.max

    /// All rows, in the order of docs/cli.md.
    package static let all: [CommandEntry] = [
        entry(
            .run, "JOB…", many,
            "run a job, or several files together under one set of limits; `-` reads it from standard input"),
        entry(.check, "JOB…", many, "report every mistake of a job file, without the network"),
        entry(
            .initialize, "URL… | -- curl …", many,
            "write a first job file, `transfer.yaml`, that downloads these URLs or does what this command of curl, wget or aria2 does"
        ),
        entry(
            .importJob, "FILE…", many,
            "print a job file made of shell scripts with curl and wget, configuration files of curl, lists of URLs, input files of aria2 or Metalink 4; `-` is standard input"
        ),
        entry(
            .unit, "JOB", 1...1,
            "print a systemd service and timer that run the job, with access to what it writes alone"),
        entry(
            .plan, "JOB…", many,
            "what a run would do: its tasks in their order, hosts, limits, and what is there already; nothing is sent or written"
        ),
        entry(
            .simulate, "JOB…", many,
            "how long a run would take, which limit binds and what faults do: the real scheduler on a virtual clock, before a network that is modelled (`--model`) or measured (`--from`)"
        ),
        entry(
            .lock, "JOB", 1...1,
            "write `<stem>.lock` beside the job: final URL, size, validator, sha256, type and certificate of each download; `run --locked` holds a run to it"
        ),
        entry(
            .rerun, "REPORT", 1...1,
            "run the job of a report again for the tasks that did not succeed, or for those that are chosen"),
        entry(
            .report, "convert|diff|merge REPORT…", many,
            "`convert`: a run's report in other formats; `diff OLD NEW`: what changed between two; `merge`: the reports of several runs as one; `-` is standard input"
        ),
        entry(
            .explain, "REPORT [ID]", 1...2,
            "where the time of a run, or of one task, went, what held it back and what to change, in words"),
        entry(
            .verify, "REPORT|LOCK|SUMS", 1...1,
            "hold the files on the disk against what a report, a lock or a file of checksums says of them, on all cores; goes on where it was interrupted"
        ),
        entry(
            .status, "[IDENTIFIER|PID]", 0...1,
            "background sessions and runs under way: how far they are and what their tasks wait for"),
        entry(.attach, "IDENTIFIER", 1...1, "follow a background session as if it had never been left"),
        entry(
            .suspend, "IDENTIFIER|PID [TASK…]", many,
            "suspend a background session or a run under way, or its tasks of these ids or patterns of ids"),
        entry(.resume, "IDENTIFIER|PID [TASK…]", many, "let what was suspended go on"),
        entry(
            .cancel, "IDENTIFIER|PID [TASK…]", many,
            "cancel a background session, a run under way or some of its tasks, and remove half-done files"),
        entry(.reset, "SESSION", 1...1, "forget cache, cookies, credentials and resume data of a session"),
        entry(.daemon, "", 0...0, "the background process, in the foreground, for systemd"),
        entry(.schema, "", 0...0, "print the job language's JSON Schema"),
        entry(.completions, "bash|zsh|fish", many, "print a completion script for this shell"),
        entry(.help, "[COMMAND]", 0...1, "what a command does and its options"),
    ]

    /// The commands under the headings of the help page.
    static let groups: [(title: String, names: [CommandName])] = [
        ("run a job", [.run, .check, .plan, .simulate, .lock, .initialize, .importJob, .schema]),
        ("background sessions and runs under way", [.status, .attach, .suspend, .resume, .cancel]),
        ("after a run", [.rerun, .explain, .report, .verify]),
        ("housekeeping", [.unit, .completions, .reset, .daemon, .help]),
    ]

    /// The row of a command.
    package static subscript(name: CommandName) -> CommandEntry {
        all.first { $0.name == name } ?? all[0]
    }

    private static func entry(
        _ name: CommandName, _ operands: String, _ count: ClosedRange<Int>, _ does: String, isBuilt: Bool = true
    ) -> CommandEntry {
        CommandEntry(name: name, operands: operands, count: count, does: does, isBuilt: isBuilt)
    }
}
