package import Reporting
package import SystemIO
import TransferModel

/// The output streams of a command; tests pass their own.
package struct Console {
    /// Writes to standard output.
    package var output: (String) -> Void
    /// Writes to standard error.
    package var errors: (String) -> Void
    /// Returns why output could not be written, or `nil`.
    package var problem: () -> OutputProblem? = { nil }

    package init(output: @escaping (String) -> Void, errors: @escaping (String) -> Void) {
        self.output = output
        self.errors = errors
    }

    /// Standard output and standard error, which a run may draw on. A closed pipe is no failure.
    package static var standard: Console {
        let output = Output()
        var console = Console(output: { output.write($0) }, errors: { LiveTerminal.standardError.print($0) })
        console.problem = { output.problem }
        return console
    }

    /// Prints why the command failed and returns its exit status.
    func failed(_ why: Any, _ status: ExitStatus = .runnerFailed) -> Int32 {
        errors("error: \(why)\n")
        return status.code
    }

    private final class Output {
        private let sink = DescriptorSink.standardOutput
        private(set) var problem: OutputProblem?

        func write(_ text: String) {
            do throws(OutputProblem) {
                try sink.write(Array(text.utf8))
            } catch {
                if !error.isBrokenPipe { problem = problem ?? error }
            }
        }
    }
}

/// The program: takes the command line, returns the exit status.
package enum CommandLineTool {
    /// Version of the program.
    package static let version = "0.1.0"

    /// Runs a command and returns its exit status; `arguments` without the program's own name.
    package static func main(
        arguments: [String], environment: [String: String], console: Console = .standard
    ) -> Int32 {
        do {
            return ended(try dispatch(TypedArguments.parse(arguments), environment, console), console)
        } catch {
            console.errors(error.text)
            return error.status.code
        }
    }

    /// Returns the exit status after the output is complete: output that could not be written fails the command,
    /// however well all else went.
    private static func ended(_ status: Int32, _ console: Console) -> Int32 {
        guard let problem = console.problem() else { return status }
        console.errors("error: \(problem)\n")
        return status == ExitStatus.invalidInput.code ? status : ExitStatus.runnerFailed.code
    }

    /// Runs a command whose arguments are given byte for byte, and rejects those that are no UTF-8.
    package static func main(words: [RawName], environment: [String: String], console: Console = .standard) -> Int32 {
        do throws(UsageError) {
            return main(arguments: try StrayBytes.texts(words), environment: environment, console: console)
        } catch {
            console.errors(error.text)
            return error.status.code
        }
    }

    private static func dispatch(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        if typed.has(.help) { return help(typed.isImplicit ? nil : typed.command, console) }
        if typed.has(.version) { return printVersion(console) }
        if typed.command != .help, typed.command != .schema { try StrayBytes.check() }
        switch typed.command {
        case .help: return help(try helpTopic(typed), console)
        case .run:
            let options = try RunOptions(typed, environment: environment)
            return RunningJob(options: options, environment: environment, console: console).perform()
        case .check: return try check(try CheckOptions(typed, environment: environment), environment, console)
        case .schema: return schema(console)
        case .initialize: return initialize(try InitOptions(typed, environment: environment), console)
        case .importJob: return try importFiles(typed, console)
        case .reset: return reset(try ResetOptions(typed, environment: environment), environment, console)
        case .suspend, .resume, .cancel:
            return control(try ControlOptions(typed, environment: environment), environment, console)
        case .status: return status(try StatusOptions(typed, environment: environment), environment, console)
        case .daemon: return daemon(try DaemonOptions(typed, environment: environment), environment, console)
        case .attach:
            let options = try RunOptions(typed, environment: environment)
            return AttachedRun(options: options, environment: environment, console: console).perform()
        case .report: return try report(typed, environment, console)
        case .explain: return try explain(typed, console)
        case .verify: return try verify(typed, environment, console)
        case .rerun: return try rerun(typed, environment, console)
        case .plan: return try plan(try PlanOptions(typed, environment: environment), environment, console)
        case .simulate: return try simulate(try SimulateOptions(typed, environment: environment), environment, console)
        case .lock: return try lock(try LockOptions(typed, environment: environment), environment, console)
        case .completions: return try completions(typed, environment, console)
        case .unit: return try unit(typed, environment, console)
        }
    }
}

// MARK: - Commands that need nothing but the tables

extension CommandLineTool {
    private static func help(_ topic: CommandName?, _ console: Console) -> Int32 {
        let width = Terminal.isTerminal(1) ? Terminal.width(1) : nil
        console.output(topic.map { HelpText.command($0, width: width) } ?? HelpText.overview(width: width))
        return 0
    }

    private static func helpTopic(_ typed: TypedArguments) throws(UsageError) -> CommandName? {
        guard let word = typed.operands.first else { return nil }
        if let name = CommandName(rawValue: word) { return name }
        throw .unknownCommand(word)
    }

    private static func printVersion(_ console: Console) -> Int32 {
        console.output(versionText())
        return 0
    }
}
