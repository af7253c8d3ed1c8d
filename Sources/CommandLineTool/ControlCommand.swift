package import JobRunner
import RunControl
import Stores
import SystemIO
import TransferModel

/// `suspend`, `resume` and `cancel` as they are meant.
package struct ControlOptions: Sendable {
    package var action: ControlAction
    package var process: Int32
    /// Ids and patterns of ids; none means every task.
    package var tasks: [String]
    package var keepPartial: Bool
    /// Where runs listen.
    package var folder: String

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        guard let action = ControlAction(rawValue: typed.command.rawValue), let target = typed.operands.first else {
            throw UsageError("`transfer-run \(typed.command.rawValue)` needs PID")
        }
        self.action = action
        process = try Self.process(target, typed.command)
        tasks = Array(typed.operands.dropFirst())
        keepPartial = action == .cancel && meant.isSet(.resumable)
        guard tasks.count <= ControlMessage.maximumPatterns else {
            throw UsageError(
                "more than \(ControlMessage.maximumPatterns) tasks are named",
                hint: "a pattern such as `debs-*` stands for many; none at all for every task")
        }
        if tasks.contains("") { throw UsageError("a task's id is never empty") }
        do throws(StateFolder.Problem) {
            folder = try StateFolder(meant.value(.stateDir), environment).runtime
        } catch {
            throw UsageError(error.description)
        }
    }

    /// A word that is no number is the identifier of a background session.
    private static func process(_ word: String, _ command: CommandName) throws(UsageError) -> Int32 {
        guard isNumber(word) else {
            throw .notBuilt("`transfer-run \(command.rawValue)` for background sessions such as `\(word)`")
        }
        return try process(word)
    }

    static func isNumber(_ word: String) -> Bool {
        !word.isEmpty && word.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    static func process(_ word: String) throws(UsageError) -> Int32 {
        guard let number = Int32(word), number > 0 else {
            throw UsageError("`\(word)` is no process's number", hint: "`runner.pid` in a run's report is one")
        }
        return number
    }
}

extension StateFolder {
    /// Of this process.
    init(_ directory: String?, _ environment: [String: String]) throws(Problem) {
        try self.init(directory: directory, workingDirectory: Folders.working()) { environment[$0] }
    }
}

extension CommandLineTool {
    static func control(_ options: ControlOptions, _ console: Console) -> Int32 {
        let message = ControlMessage(options.action, patterns: options.tasks, keepPartial: options.keepPartial)
        do throws(ControlFailure) {
            switch try ControlClient(folder: options.folder).ask(message, of: options.process) {
            case .changed(let ids):
                console.output(words(options.action, ids) + "\n")
                return ExitStatus.succeeded.code
            // The answer to another question.
            case .status:
                console.errors("error: \(words(.ended, options.process))\n")
                return ExitStatus.runnerFailed.code
            case .refused(let reason):
                console.errors(UsageError(reason).text)
                return ExitStatus.invalidInput.code
            }
        } catch {
            console.errors("error: \(words(error, options.process))\n")
            return ExitStatus.runnerFailed.code
        }
    }

    /// `suspended 3 tasks: a, b-1, b-2`
    private static func words(_ action: ControlAction, _ ids: [String]) -> String {
        let verb =
            switch action {
            case .suspend: "suspended"
            case .resume: "resumed"
            case .cancel: "cancelled"
            case .status: "saw"
            }
        let count = "\(verb) \(ids.count) \(ids.count == 1 ? "task" : "tasks")"
        return ids.isEmpty ? count : "\(count): \(ids.joined(separator: ", "))"
    }

    static func words(_ failure: ControlFailure, _ process: Int32) -> String {
        switch failure {
        case .noRun(let why): "no run with pid \(process) listens (\(why))"
        case .ended: "the run with pid \(process) ended before it answered"
        case .silent(let time):
            "the run with pid \(process) has not answered for \(time.nanoseconds / 1_000_000_000) seconds"
        }
    }
}
