internal import Reporting

/// Where the words of a command go and come from; tests have their own.
package struct Console {
    package var output: (String) -> Void
    package var errors: (String) -> Void

    package init(output: @escaping (String) -> Void, errors: @escaping (String) -> Void) {
        self.output = output
        self.errors = errors
    }

    /// Standard output and standard error. Nobody listening is no failure.
    package static var standard: Console {
        let output = DescriptorSink.standardOutput
        let errors = DescriptorSink.standardError
        return Console(
            output: { try? output.write(Array($0.utf8)) }, errors: { try? errors.write(Array($0.utf8)) })
    }
}

/// The program: words in, exit status out.
package enum CommandLineTool {
    package static let version = "0.1.0"

    /// `arguments` without the program's own name.
    package static func main(
        arguments: [String], environment: [String: String], console: Console = .standard
    ) -> Int32 {
        do {
            return try dispatch(TypedArguments.parse(arguments), environment, console)
        } catch {
            console.errors(error.text)
            return 2
        }
    }

    private static func dispatch(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        if typed.has(.help) { return help(typed.isImplicit ? nil : typed.command, console) }
        if typed.has(.version) { return printVersion(console) }
        switch typed.command {
        case .help: return help(try helpTopic(typed), console)
        case .run:
            let options = try RunOptions(typed, environment: environment)
            return RunningJob(options: options, environment: environment, console: console).perform()
        case .check: return check(try CheckOptions(typed, environment: environment), environment, console)
        case .schema: return schema(console)
        case .reset: return reset(try ResetOptions(typed, environment: environment), environment, console)
        case .suspend, .resume, .cancel:
            return control(try ControlOptions(typed, environment: environment), environment, console)
        case .status: return status(try StatusOptions(typed, environment: environment), environment, console)
        case .daemon: return daemon(try DaemonOptions(typed, environment: environment), environment, console)
        case .attach:
            let options = try RunOptions(typed, environment: environment)
            return AttachedRun(options: options, environment: environment, console: console).perform()
        case .plan, .simulate, .rerun, .explain, .completions:
            throw .notBuilt("`transfer-run \(typed.command.rawValue)`")
        }
    }
}

// MARK: - Commands that need nothing but the tables

extension CommandLineTool {
    private static func help(_ topic: CommandName?, _ console: Console) -> Int32 {
        console.output(topic.map { HelpText.command($0) } ?? HelpText.overview())
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
