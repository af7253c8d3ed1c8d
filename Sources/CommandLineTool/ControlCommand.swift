import BackgroundService
package import JobRunner
import RunControl
package import Stores
import SystemIO
import TransferModel

/// The options of `suspend`, `resume` and `cancel`.
package struct ControlOptions: Sendable {
    /// What the command acts on.
    package enum Target: Hashable, Sendable {
        /// A run in the foreground, by its process id.
        case process(Int32)
        /// A background session, by its identifier.
        case session(String)

        /// Reads a word: digits are a process id, any other word is an identifier.
        package init(_ word: String) throws(UsageError) {
            guard !word.isEmpty else { throw UsageError("a background session's identifier is never empty") }
            guard word.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                self = .session(word)
                return
            }
            guard let number = Int32(word), number > 0 else {
                throw UsageError("`\(word)` is no process's number", hint: "`runner.pid` in a run's report is one")
            }
            self = .process(number)
        }
    }

    /// What to do with the tasks.
    package var action: ControlAction
    /// The run or session to control.
    package var target: Target
    /// Ids and patterns of ids; none means every task.
    package var tasks: [String]
    /// Whether `cancel` keeps partial files.
    package var keepPartial: Bool
    /// Folder of the runs' state and sockets.
    package var folder: StateFolder

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        guard let action = ControlAction(rawValue: typed.command.rawValue), let word = typed.operands.first else {
            throw UsageError("`transfer-run \(typed.command.rawValue)` needs IDENTIFIER or PID")
        }
        self.action = action
        target = try Target(word)
        tasks = Array(typed.operands.dropFirst())
        keepPartial = action == .cancel && meant.isSet(.resumable)
        guard tasks.count <= ControlMessage.maximumPatterns else {
            throw UsageError(
                "more than \(ControlMessage.maximumPatterns) tasks are named",
                hint: "a pattern such as `debs-*` stands for many; none at all for every task")
        }
        if tasks.contains("") { throw UsageError("a task's id is never empty") }
        folder = try StateFolder.needed(meant.value(.stateDir), environment)
    }
}

extension StateFolder {
    /// Makes the folder for this process's environment.
    init(_ directory: String?, _ environment: [String: String]) throws(Problem) {
        let working: String?
        do throws(NotText) {
            working = try Folders.working()
        } catch {
            throw Problem(description: StrayBytes.folder(error).message)
        }
        try self.init(directory: directory, workingDirectory: working) { environment[$0] }
    }

    /// Returns the folder for a command that can do nothing without one.
    static func needed(_ directory: String?, _ environment: [String: String]) throws(UsageError) -> StateFolder {
        do throws(Problem) {
            return try StateFolder(directory, environment)
        } catch {
            // The command line is right, but where it names an empty folder.
            throw UsageError(error.description, status: directory == "" ? .invalidInput : .runnerFailed)
        }
    }
}

extension CommandLineTool {
    static func control(_ options: ControlOptions, _ environment: [String: String], _ console: Console) -> Int32 {
        tellOfDamage(options.folder, console)
        let starter = ServiceStarter.here(options.folder, environment)
        starter.goOn()
        do throws(CommandTrouble) {
            let reply: ControlReply
            switch options.target {
            case .process(let process): reply = try ask(process, options)
            case .session(let identifier): reply = try ask(identifier, options, starter)
            }
            switch reply {
            case .changed(let ids):
                console.output(words(options.action, ids) + "\n")
                return ExitStatus.succeeded.code
            // A reply to another request.
            case .status: throw .broken("it answered another question")
            case .refused(let reason): throw .wrong(UsageError(reason))
            }
        } catch {
            console.errors(error.text)
            return error.status.code
        }
    }

    private static func ask(_ process: Int32, _ options: ControlOptions) throws(CommandTrouble) -> ControlReply {
        let message = ControlMessage(options.action, patterns: options.tasks, keepPartial: options.keepPartial)
        do throws(ControlFailure) {
            return try ControlClient(folder: options.folder.runtime).ask(message, of: process)
        } catch {
            throw .broken(words(error, process))
        }
    }

    private static func ask(
        _ identifier: String, _ options: ControlOptions, _ starter: ServiceStarter
    ) throws(CommandTrouble) -> ControlReply {
        let run = try SessionAbsence.run(identifier, options.folder)
        if run.state == .finished { throw .wrong(SessionAbsence.ended(identifier, run, options.folder)) }
        let control = ServiceControl(
            options.action, of: identifier, patterns: options.tasks, keepPartial: options.keepPartial)
        do throws(ServiceTrouble) {
            return try SessionControl(starter).perform(control)
        } catch {
            throw .broken(error.description)
        }
    }

    /// `suspended 3 tasks: a, b-1, b-2`; of many the first ten.
    private static func words(_ action: ControlAction, _ ids: [String]) -> String {
        let verb =
            switch action {
            case .suspend: "suspended"
            case .resume: "resumed"
            case .cancel: "cancelled"
            case .status: "saw"
            }
        let count = "\(verb) \(ids.count) \(ids.count == 1 ? "task" : "tasks")"
        let more = ids.count > 10 ? " and \(ids.count - 10) more" : ""
        return ids.isEmpty ? count : "\(count): \(ids.prefix(10).joined(separator: ", "))\(more)"
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
