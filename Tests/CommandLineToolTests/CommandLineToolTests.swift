import CommandLineTool
import JobLoader
import JobRunner
import Stores
import TestSupport
import Testing
import TransferModel

/// Runs the tool with what it prints kept.
private func run(_ words: [String], _ environment: [String: String] = [:]) -> (Int32, String, String) {
    var output = ""
    var errors = ""
    let console = Console(output: { output += $0 }, errors: { errors += $0 })
    let status = CommandLineTool.main(arguments: words, environment: environment, console: console)
    return (status, output, errors)
}

private func options(_ words: [String], _ environment: [String: String] = [:]) throws -> RunOptions {
    try RunOptions(TypedArguments.parse(words), environment: environment)
}

private func problem(_ words: [String], _ environment: [String: String] = [:]) -> UsageError? {
    do {
        let typed = try TypedArguments.parse(words)
        switch typed.command {
        case .run: _ = try RunOptions(typed, environment: environment)
        case .check: _ = try CheckOptions(typed, environment: environment)
        case .suspend, .resume, .cancel: _ = try ControlOptions(typed, environment: environment)
        default: break
        }
        return nil
    } catch { return error }
}

@Suite struct ParserTests {
    @Test func aFileAloneIsARun() throws {
        let typed = try TypedArguments.parse(["jobs.yaml"])
        #expect(typed.command == .run && typed.isImplicit)
        #expect(typed.operands == ["jobs.yaml"])
        #expect(try TypedArguments.parse(["run", "jobs.yaml"]).operands == ["jobs.yaml"])
        #expect(try TypedArguments.parse(["-"]).operands == ["-"])
        #expect(try TypedArguments.parse(["./check"]).command == .run)
    }

    @Test func optionsStandAnywhere() throws {
        let typed = try TypedArguments.parse(["--report", "r.json", "run", "a.yaml", "--only=x", "b.yaml", "-q"])
        #expect(typed.operands == ["a.yaml", "b.yaml"])
        #expect(typed.values[.report] == ["r.json"])
        #expect(typed.values[.only] == ["x"])
        #expect(typed.has(.quiet))
    }

    @Test func afterTwoDashesAllIsAFile() throws {
        #expect(try TypedArguments.parse(["run", "--", "--report", "-x"]).operands == ["--report", "-x"])
    }

    @Test func listsGatherAndValuesReplace() throws {
        let typed = try TypedArguments.parse(["a", "--set", "x=1", "--set=y=2", "--report", "1", "--report", "2"])
        #expect(typed.values[.set] == ["x=1", "y=2"])
        #expect(typed.values[.report] == ["2"])
    }

    @Test(arguments: [
        (["--reprot", "x", "a"], "unknown option `--reprot`", "did you mean `--report`?"),
        (["a", "--zzzzzzzzz"], "unknown option `--zzzzzzzzz`", "`transfer-run help` lists"),
        (["a", "-x"], "unknown option `-x`", "lists"),
        (["a", "--report"], "`--report` needs a value", "write `--report PATH`"),
        (["a", "--report", "--quiet"], "`--report` needs a value, but `--quiet` follows", "`--report=--quiet`"),
        (["a", "--report="], "`--report` has an empty value", "write `--report PATH`"),
        (["a", "--directory", ""], "`--directory` has an empty value", "write `--directory "),
        (["a", "--quiet=1"], "`--quiet` is a switch and takes no value", ""),
        ([], "no job file is named", "usage: transfer-run JOB…"),
        (["run"], "`transfer-run run` needs JOB…", "usage"),
        (["schema", "x"], "`transfer-run schema` does not take `x`", "usage"),
        (["check", "a", "--report", "x"], "`--report` is an option of `run`, `rerun`, `attach`, not of `check`", ""),
        (["a", "--policy", "x"], "cannot read the policy `x`: no such file", ""),
        (["a", "--failed-list", "-", "--events", "-"], "events and the list of failed tasks cannot both go to", ""),
        (["report"], "`transfer-run report` needs convert|diff|merge REPORT…", "usage"),
        (["a", "--progress", "loud"], "`--progress` cannot be `loud`", "one of `auto`, `bar`, `plain`, `none`"),
        (["a", "--max-concurrent", "0"], "must be a whole number from 1 to 1000000, not `0`", ""),
        (["a", "--max-concurrent", "\(Int.max)"], "must be a whole number from 1 to 1000000", ""),
        (["a", "--set", "x"], "gives no variable a value", "NAME=VALUE"),
        (["a", "--set", "=x"], "gives no variable a value", "NAME=VALUE"),
        (["a", "--report", "-", "--events", "-"], "cannot both go to standard output", ""),
        (["-", "-"], "standard input can be read once only", ""),
        (["rerun"], "`transfer-run rerun` needs REPORT", "usage"),
        (["rerun", "a", "--only", "x"], "`--only` is an option of `run`", ""),
        (["suspend"], "`transfer-run suspend` needs IDENTIFIER|PID", "usage"),
        (["cancel", "0"], "`0` is no process's number", "`runner.pid`"),
        (["cancel", "3000000000"], "is no process's number", ""),
        (["resume", "1", ""], "never empty", ""),
        (["resume", "1"] + (0...256).map { "t\($0)" }, "more than 256 tasks", "a pattern"),
        (["resume", "1", "--resumable"], "`--resumable` is an option of `cancel`, not of `resume`", ""),
    ])
    func errorsSayWhatAndWhatElse(_ words: [String], _ message: String, _ hint: String) throws {
        let found = problem(words)
        let problem = try #require(found)
        #expect(problem.message.contains(message))
        #expect(problem.text.contains(hint))
        #expect(run(words).0 == 2)
        #expect(run(words).1.isEmpty)
        #expect(run(words).2.hasPrefix("error: "))
    }

    @Test(arguments: [
        (["completions", "tcsh"], "there is no completion for `tcsh`"), (["unit", "-"], "a unit needs a job file"),
        (["unit", "a", "--calendar", "x\ny"], "`--calendar` is one line"),
    ])
    func commandsRefuseWhatTheyCannotDo(_ words: [String], _ message: String) {
        let (status, output, errors) = run(words)
        #expect(status == 2 && output.isEmpty && errors.hasPrefix("error: ") && errors.contains(message))
    }

    @Test func allowedAddressesAreRead() throws {
        let variable = ["TRANSFER_RUN_ALLOW_ADDRESS": "10.1.0.0/16\n::1"]
        #expect(try options(["a.yaml"], variable).allowedAddresses.map(\.description) == ["10.1.0.0/16", "::1"])
        #expect(try options(["a.yaml"]).allowedAddresses.isEmpty)
        let wrong = problem(["a.yaml"], ["TRANSFER_RUN_ALLOW_ADDRESS": "10.1.2.3/16"])
        #expect(wrong?.message.hasPrefix("`--allow-address 10.1.2.3/16` has bits set after its prefix") == true)
        #expect(wrong?.message.hasSuffix("(from the environment variable TRANSFER_RUN_ALLOW_ADDRESS)") == true)
        #expect(wrong?.hint?.contains("10.1.0.0/16") == true)
    }

    /// Alone it would do nothing, and whoever types it means a confined run.
    @Test func allowAddressNeedsConfine() {
        let alone = problem(["a.yaml", "--allow-address", "10.1.0.0/16"])
        #expect(alone?.message.contains("the run is not confined") == true)
        #expect(alone?.hint?.contains("--confine DIR") == true)
    }

    @Test func everyUnbuiltThingEndsWithTwo() {
        for entry in CommandTable.all where !entry.isBuilt {
            #expect(run([entry.name.rawValue, "x"]).0 == 2)
            #expect(run([entry.name.rawValue, "x"]).2.contains("not built yet"))
        }
        for flag in FlagTable.all where !flag.isBuilt && flag.commands.contains(.run) {
            let words = ["a.yaml", flag.long] + (flag.placeholder == nil ? [] : ["x"])
            #expect(run(words).2.contains("`\(flag.long)` is not built yet"))
        }
    }

    /// No words whatever end in a trap, and what is no error names a command that is built.
    @Test func anyWordsAreAnswered() {
        var random = Seeded("anyWordsAreAnswered")
        let vocabulary =
            FlagTable.all.map { $0.long } + CommandName.allCases.map { $0.rawValue }
            + ["-", "--", "-v", "-vq", "-", "", "=", "--=", "a.yaml", "--set=a=b", "x=y", "--report=", "ä", "9"]
        for _ in 0..<Rounds.scaled(2000) {
            let words = (0..<random.below(6)).map { _ in random.pick(vocabulary) }
            guard let typed = try? TypedArguments.parse(words) else { continue }
            #expect(typed.has(.help) || typed.has(.version) || CommandTable[typed.command].isBuilt)
        }
    }
}

@Suite struct MeaningTests {
    @Test func defaults() throws {
        let options = try options(["a.yaml"])
        #expect(options.arguments.jobs == ["a.yaml"])
        #expect(options.report == .asJobSays && options.events == .asJobSays)
        #expect(options.progress == .auto && options.color == .auto && options.amount == .normal)
        #expect(options.maximumConcurrentTasks == nil && !options.failFast && !options.exitUnchanged)
    }

    @Test func typedWinsOverEnvironment() throws {
        let environment = [
            "TRANSFER_RUN_REPORT": "env.json", "TRANSFER_RUN_EVENTS": "-", "TRANSFER_RUN_MAX_CONCURRENT": "3",
            "TRANSFER_RUN_FAIL_FAST": "true", "TRANSFER_RUN_ONLY": "a\nb-*", "TRANSFER_RUN_QUIET": "1",
        ]
        let fromOutside = try options(["a.yaml"], environment)
        #expect(fromOutside.report == .path("env.json"))
        #expect(fromOutside.events == .standardOutput)
        #expect(fromOutside.maximumConcurrentTasks == 3)
        #expect(fromOutside.failFast && fromOutside.amount == .quiet)
        #expect(fromOutside.selection.only == ["a", "b-*"])
        let typed = try options(["a.yaml", "--no-report", "-v", "--max-concurrent", "7", "--only", "c"], environment)
        #expect(typed.report == .none)
        #expect(typed.amount == .verbose && typed.maximumConcurrentTasks == 7 && typed.selection.only == ["c"])
    }

    @Test func theLaterOfTwoContradictingFlagsIsMeant() throws {
        #expect(try options(["a", "--no-report", "--report", "r"]).report == .path("r"))
        #expect(try options(["a", "--report", "r", "--no-report"]).report == .none)
        #expect(try options(["a", "-vq"]).amount == .quiet)
        #expect(try options(["a", "-q", "-v"]).amount == .verbose)
    }

    @Test func environmentIsCheckedLikeFlags() {
        #expect(problem(["a"], ["TRANSFER_RUN_POLICY": "x"])?.message.contains("TRANSFER_RUN_POLICY") == true)
        #expect(problem(["a"], ["TRANSFER_RUN_QUIET": "yes"])?.message.contains("`1` or `0`") == true)
        #expect(
            problem(["a"], ["TRANSFER_RUN_QUIET": "0", "TRANSFER_RUN_DETACH": "0", "TRANSFER_RUN_HTML": ""]) == nil)
        #expect(problem(["check", "a"], ["TRANSFER_RUN_REPORT": "x"]) == nil)
        for (variable, value) in [("TRANSFER_RUN_MAX_CONCURRENT", "0"), ("TRANSFER_RUN_BANDWIDTH", "0")] {
            let message = problem(["a"], [variable: value])?.message
            #expect(message?.hasSuffix("not `0` (from the environment variable \(variable))") == true)
        }
        #expect(problem(["a", "--max-concurrent", "0"])?.message.hasSuffix("not `0`") == true)
    }

    @Test func controlsKnowWhomTheyAsk() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/u", "HOME": "/h", "TRANSFER_RUN_RESUMABLE": "1"]
        let cancel = try ControlOptions(TypedArguments.parse(["cancel", "12", "a", "b-*"]), environment: environment)
        #expect(cancel.action == .cancel && cancel.target == .process(12) && cancel.tasks == ["a", "b-*"])
        #expect(cancel.keepPartial && cancel.folder.runtime == "/run/u/transfer-run")
        let typed = try TypedArguments.parse(["suspend", "--state-dir", "/s", "12"])
        let suspend = try ControlOptions(typed, environment: environment)
        #expect(suspend.tasks.isEmpty && !suspend.keepPartial && suspend.folder.runtime == "/s/runtime")
        #expect(suspend.folder.isNamed && !cancel.folder.isNamed)
        let session = try ControlOptions(TypedArguments.parse(["resume", "org.example.1"]), environment: environment)
        #expect(session.target == .session("org.example.1"))
        #expect(throws: UsageError.self) { _ = try ControlOptions.Target("99999999999") }
        #expect(try options(["a", "--state-dir", "s"]).stateDirectory == "s")
        #expect(try options(["a"], ["TRANSFER_RUN_STATE_DIR": "t"]).stateDirectory == "t")
    }

    @Test func variablesKeepWhatFollowsTheFirstEqualsSign() throws {
        let variables = try options(["a", "--set", "x=1=2", "--set", "y="]).arguments.variables
        #expect(variables.map { $0.name } == ["x", "y"])
        #expect(variables.map { $0.value } == ["1=2", ""])
    }

    @Test func colour() {
        #expect(ColorChoice.auto.isOn(isTerminal: true, environment: [:]))
        #expect(!ColorChoice.auto.isOn(isTerminal: false, environment: [:]))
        #expect(!ColorChoice.auto.isOn(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(ColorChoice.auto.isOn(isTerminal: true, environment: ["NO_COLOR": ""]))
        #expect(!ColorChoice.auto.isOn(isTerminal: true, environment: ["TERM": "dumb"]))
        #expect(ColorChoice.always.isOn(isTerminal: false, environment: ["NO_COLOR": "1"]))
        #expect(!ColorChoice.never.isOn(isTerminal: true, environment: [:]))
    }
}

@Suite struct HelpTests {
    @Test func helpIsThereForEveryCommand() {
        #expect(run(["--help"]).1 == run(["help"]).1)
        #expect(run(["-h"]).0 == 0)
        for name in CommandName.allCases {
            let (status, output, errors) = run(["help", name.rawValue])
            #expect(status == 0 && errors.isEmpty)
            #expect(output.contains("usage: transfer-run \(name.rawValue)"))
            #expect(run([name.rawValue, "--help"]).1 == output)
        }
        #expect(run(["help", "chekc"]).0 == 2)
        #expect(run(["help", "chekc"]).2.contains("did you mean `check`?"))
        #expect(run(["--version"]).1.hasPrefix("transfer-run 0.1.0\nlibcurl "))
    }

    @Test func tablesAreWhole() {
        #expect(Set(FlagTable.all.map { $0.name }).count == FlagName.allCases.count)
        #expect(CommandTable.all.map { $0.name } == CommandName.allCases)
        for flag in FlagTable.all {
            #expect(!flag.commands.isEmpty && !flag.help.isEmpty && !flag.help.hasSuffix("."))
        }
    }

    @Test func linesFitATerminal() {
        for name in CommandName.allCases {
            for width in [60, 80, 200] {
                let pages = [HelpText.command(name, width: width), HelpText.overview(width: width)]
                for line in pages.flatMap({ $0.split(separator: "\n") }) {
                    #expect(line.count <= width || !line.drop(while: { $0 == " " }).contains(" "), "\(width): \(line)")
                }
            }
        }
    }

    @Test func theReferenceIsUpToDate() throws {
        try Snapshot.check(CommandLineReference.markdown(), "../../docs/cli.md")
    }
}
