/// Generates docs/cli.md from the tables of commands and flags.
package enum CommandLineReference {
    /// Returns the whole page.
    package static func markdown() -> String {
        """
        # The command line

        `transfer-run jobs.yaml` runs a job and ends with an exit status that says how it went ([report.md](report.md)).

        ## Commands

        | command | does |
        | --- | --- |
        \(rows(CommandTable.all.filter { $0.isBuilt }.map { [usage($0), $0.does] }))

        `transfer-run JOB…` is `transfer-run run JOB…`. A job file with the name of a command is `./check`.

        \(CommandName.allCases.filter { CommandTable[$0].isBuilt && $0 != .help && $0 != .schema }.map { options($0) }
            .joined(separator: "\n\n"))

        ## Environment

        The command line wins over the environment, the environment over the job file. A switch is on with `1` or `true`
        and off with `0` or `false`. For an option that can be given several times it has one value a line. An empty variable counts as
        unset.

        Arguments, variables that are used, and the path of the working folder must be UTF-8 text: anything else is refused (2)
        before anything is done, since the nearest text would be another file or value. Commands of a job get every variable unchanged.

        `NO_COLOR` and `TERM=dumb` turn colour off. With `GITHUB_ACTIONS=true` failures are annotations on the line where
        the task begins in the job file.

        \(inputFiles)

        ## What `check` tells

        `check` reads a job and sends nothing, writes nothing and runs nothing. It ends with 2 where a run would refuse the
        job. A secret or a variable of the environment without a value is a warning (`missing-value`): an editor, a hook before
        a commit and the build of a fork need not have it. A run needs it, and refuses the job without it (2). A `to` that cannot
        become a file is a warning, too (`place-taken`): a folder has its name, or a file is where it needs a folder. In a run
        that task fails before its request. `$TOKEN`, `{{token}}` and `<token>` are plain text, and warned of; `$$` is a `$`.

        A job file is a program: run only what you trust. After the diagnostics `check` says what the job may do:
        which commands it runs, which files outside its folder it reads and writes, in which folders it removes files, which variables
        of the environment and secrets it uses, which signing keys it trusts, which Unix sockets and which hosts it asks. `--explain-access` lists all of it on standard output, each with its
        place ([security.md](security.md)). `--format json` prints one line:

        ```
        {"diagnostics":[{"severity","code","message","hint","file","line","column","endLine","endColumn"}],
         "access":[{"file","commands","reads","writes","removes","environment","secrets","keys","sockets","hosts","unlisted","mayBeRedirected"}]}
        ```

        `access` has an entry for each job without errors. Its lists hold `what`, `line` and `owner` (the task or session), at most
        10,000 of a kind; `unlisted` says how many there are beyond that, `mayBeRedirected` whether servers may send a task to
        hosts that are not listed.

        ## A run under way

        `suspend`, `resume` and `cancel` take a run by its process number, which its report has as `runner.pid`, and a
        background session by its identifier. TASK is an id or a pattern of ids such as `debs-*`; without one, every task is
        meant. `--detach`, `--new-run` and `attach` are explained in [background.md](background.md).

        `onOverlap` says what a second run of the same job does. A run that waits uses the job as it read it at its start.
        SIGINT, SIGTERM or SIGHUP ends a run with its report, and a wait at once; a second SIGINT or SIGTERM ends the process
        there and then (the two that `timeout` sends at once are one). Under `nohup` a run ignores SIGHUP.

        ## Networks and power

        `status` shows the networks that can be used now first, then the others, with the power there is, the background
        sessions and the runs under way; an identifier or a PID after it shows that one alone. `--json` prints one line:

        ```
        {"sessions":[{"identifier","job","state","report","trouble","tasks"}],
         "runs":[{"pid","job","startedAt","counts","tasks"}],
         "networks":[{"interface","class","metered","constrained","why","usable"}],"power":{"source","battery"}}
        ```

        `sessions` are those of background runs whose end was not shown yet; `trouble` says why the journal of one cannot be
        written, or why it cannot run just now, else `null`. The first 1,000 tasks of a run that have not finished are listed,
        each with `id`, `state`, `waitingFor`, `lacks` (in words, what networks or power are like; else `null`) and how far it
        is: `bytesReceived`, `bytesSent`, `expected`, the `attempts` that have begun, the `error` of the last one that ended,
        `nextAttemptAt` (when the next one begins at the earliest; else `null`) and `startedOver` (why it does not go on with
        what earlier ones left). `counts` says how many are in each state. Without a place for state nobody can know what is there: that is status 4. How classes are determined, and how to correct them, is in [networks.md](networks.md).

        ## State

        `--state-dir DIR` puts all that a run keeps under one folder. Otherwise locks lie below
        `$XDG_STATE_HOME/transfer-run` (`~/.local/state/transfer-run`), sockets in `$XDG_RUNTIME_DIR/transfer-run` (else
        beside the state). Folders are 0700, files 0600; a folder that somebody else can write is refused with exit
        status 4, and so is an `XDG_RUNTIME_DIR` that belongs to another user or that others may write. A job with none but `ephemeral` sessions needs no state and leaves none: its own file is locked.

        \(missing())This page is generated from the program's own tables.

        """
    }

    private static func options(_ name: CommandName) -> String {
        let flags = FlagTable.flags(of: name).filter { $0.isBuilt }
        return """
            ## Options of `\(name.rawValue)`

            | option | environment | does |
            | --- | --- | --- |
            \(rows(flags.map { [code($0.spelling), $0.variable.map { code($0) } ?? "", $0.does] }))
            """
    }

    /// The chapter about what is known and not built; empty where nothing is.
    private static func missing() -> String {
        let missing =
            CommandTable.all.filter { !$0.isBuilt }.map { [usage($0), $0.does] }
            + FlagTable.all.filter { !$0.isBuilt }.map { [code($0.spelling), $0.help] }
        guard !missing.isEmpty else { return "" }
        return """
            ## Not built yet

            These are known, and answered with exit status 2.

            | what | does |
            | --- | --- |
            \(rows(missing))


            """
    }

    private static func usage(_ entry: CommandEntry) -> String {
        code("transfer-run \(entry.name.rawValue)\(entry.operands.isEmpty ? "" : " \(entry.operands)")")
    }

    /// The text as code in a table cell, which an unescaped bar would end.
    private static func code(_ text: String) -> String {
        "`" + text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|") + "`"
    }

    private static func rows(_ rows: [[String]]) -> String {
        rows.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    /// The chapter about the files that hold secrets and variables.
    private static let inputFiles = """
        ## Secrets and variables in files

        `--secrets-file` reads lines of `NAME=value` in UTF-8:

        | line | read as |
        | --- | --- |
        | `NAME=value` | all after the first `=`, as it is written: `$`, `\\`, `"` and `#` stand for themselves |
        | `NAME=` | an empty secret, with a warning where it is used |
        | `export NAME=value` | the same as without `export` |
        | `NAME='value'`, `NAME="value"` | what stands between the quotes, as it is; `$VARIABLE` and `\\n` mean nothing |
        | `# text`, an empty line | left out |

        Programs that read such files differ in some lines, and nobody sees a wrong secret. These lines are errors: blanks before or
        after the value, a blank with `#` after it in a value without quotes, a quote that begins the value and does not end it, in
        double quotes a `\\`, `$`, `"` or backtick, in single quotes another, and a name that stands twice. Messages name
        the line and quote none of it. A secret of several lines comes from a `file` under `secrets`.

        `--variables-file` reads a YAML map of names and texts, numbers or booleans.
        """
}
