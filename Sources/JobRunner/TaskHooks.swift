import SystemIO
import TransferEngine
package import TransferModel

/// One task's `onFinish` command that is to be run.
struct TaskHook: Sendable {
    let task: TaskIndex
    let id: String
    let command: [SecretText]
    /// What the command is told, as `NAME=value`.
    let variables: [String]
}

/// The order in which the tasks' `onFinish` commands are run: as their tasks ended, a few at a time.
struct HookQueue {
    /// Most commands that run at the same time.
    static let mostAtOnce = 4
    private(set) var waiting: [TaskHook] = []
    private(set) var running: Set<TaskIndex> = []
    var isEmpty: Bool { waiting.isEmpty && running.isEmpty }

    mutating func add(_ hook: TaskHook) { waiting.append(hook) }

    /// Returns the commands that start now.
    mutating func start() -> [TaskHook] {
        let begun = Array(waiting.prefix(max(0, Self.mostAtOnce - running.count)))
        waiting.removeFirst(begun.count)
        for hook in begun { running.insert(hook.task) }
        return begun
    }

    mutating func ended(_ task: TaskIndex) { running.remove(task) }

    /// Takes back a command that could not be started, to be started first.
    mutating func putBack(_ hook: TaskHook) {
        running.remove(hook.task)
        waiting.insert(hook, at: 0)
    }

    /// Removes and returns the commands that have not started.
    mutating func drop() -> [TaskHook] {
        defer { waiting = [] }
        return waiting
    }
}

/// The commands of a run's tasks, each on a thread of its own while it runs.
struct TaskHooks {
    var queue = HookQueue()
    var threads: [TaskIndex: Thread] = [:]
    /// The run is given to another process, which runs what has not started.
    var startsNoMore = false
    /// The run was stopped: no command starts any more.
    var isStopped = false
    /// Ends all running commands.
    let cancellation = try? Command.Cancellation()

    var isEmpty: Bool { queue.isEmpty }
    var isRunning: Bool { !queue.running.isEmpty }

    /// Ends what still runs, and waits for it.
    mutating func end() {
        if isRunning { cancellation?.cancel() }
        for thread in threads.values { thread.join() }
        threads = [:]
    }
}

extension TaskHook {
    private static let prefix = "TRANSFER_RUN_TASK_"

    /// Runs the command to its end on the calling thread.
    func run(
        in folder: String, timeout: TimeSpan, cancellation: Command.Cancellation?, redactor: Redactor
    ) -> HookRecord {
        var command = Command(self.command.map(\.revealed))
        command.environment =
            CurrentProcess.variables().filter { !$0.bytes.starts(with: Self.prefix.utf8) }
            + variables.map { RawName(Self.prefix + $0) }
        command.folder = folder
        command.timeout = timeout
        command.startPatience = timeout
        let began = Clocks.instant()
        var (status, trouble): (Int?, String?) = (nil, nil)
        do throws(SystemError) {
            let result = try unsafe command.run(cancellation: cancellation) { _ in true }
            let last = HookWords.last(of: result.errors, redactor)
            switch result.ending {
            case .exited(let code):
                status = Int(code)
                if code != 0 { trouble = "ended with status \(code)\(last)" }
            case .killed(let signal): trouble = "was ended by signal \(signal)\(last)"
            case .timedOut: trouble = "took longer than \(timeout) and was ended\(last)"
            case .cancelled: trouble = "was ended when the run was stopped\(last)"
            }
        } catch {
            trouble = "cannot be started: \(error)"
        }
        return record(status, Clocks.instant() - began, trouble)
    }

    func record(_ status: Int?, _ duration: TimeSpan, _ trouble: String?) -> HookRecord {
        HookRecord(
            task: id, command: command.map(\.redacted), exitStatus: status, duration: duration, trouble: trouble)
    }
}

/// What is told of the errors that a command wrote.
package enum HookWords {
    /// Returns the last line of a command's errors after a colon, without secrets; empty if it wrote none.
    package static func last(of errors: String, _ redactor: Redactor) -> String {
        let lines = redactor.redacted(errors).split(whereSeparator: \.isNewline)
        guard let last = lines.last(where: { line in line.contains { $0 != " " } }) else { return "" }
        let clean = last.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return ": \(ForeignText.shortened(String(clean)))"
    }
}

extension JobRun {
    /// Queues the command of a task that has ended, if it has one and succeeded; returns whether it does.
    func addHook(of task: TaskIndex, _ record: TaskRecord, url: String?, path: String?, checksum: Checksum?) -> Bool {
        guard record.outcome == .succeeded else { return false }
        return addHook(of: task, changed: record.changed, url: url, path: path, checksum: checksum)
    }

    /// Queues the command of a task that ended in an earlier process, which did not record the command's end.
    func addHook(of task: TaskIndex, _ ending: TaskPast.Ending, _ past: TaskPast) -> Bool {
        addHook(of: task, changed: ending.changed, url: nil, path: past.path, checksum: past.checksum)
    }

    private func addHook(
        of index: TaskIndex, changed: Bool?, url: String?, path: String?, checksum: Checksum?
    ) -> Bool {
        let task = job.tasks[Int(index.raw)]
        guard let command = task.options.values.onFinish else { return false }
        var checksum = checksum
        if checksum == nil, case .literal(let known)? = task.options.values.checksum { checksum = known }
        let place = path ?? task.destination.flatMap { $0.hasSuffix("/") ? nil : $0 }
        let didChange = changed ?? (task.type == .upload ? true : nil)
        // Of names that mean credentials the command gets the values: it may need a signed URL.
        let redactor = Redactor(job.secrets)
        hooks.queue.add(
            TaskHook(
                task: index, id: task.id, command: command,
                variables: [
                    "ID=\(task.id)", "URL=\(redactor.redacted(url ?? task.location.shown))", "PATH=\(place ?? "")",
                    "CHECKSUM=\(checksum?.description ?? "")", "CHANGED=\(didChange.map { "\($0)" } ?? "")",
                    "OUTCOME=\(TaskOutcome.succeeded.rawValue)",
                ]))
        return true
    }

    /// Starts the commands whose turn it is.
    func startHooks() {
        if hooks.startsNoMore { return }
        if hooks.isStopped { return dropHooks() }
        for hook in hooks.queue.start() {
            let (folder, timeout) = (job.baseDirectory, settings.hookTimeout)
            let (cancellation, redactor) = (hooks.cancellation, job.redactor)
            do throws(SystemError) {
                hooks.threads[hook.task] = try Thread(named: "hook") { [inbox] in
                    let record = hook.run(
                        in: folder, timeout: timeout, cancellation: cancellation, redactor: redactor)
                    inbox.post(.hookEnded(hook.task, record))
                }
            } catch {
                // At a later turn there may be a thread for it.
                if error.isOfProcessLimit {
                    hooks.queue.putBack(hook)
                } else {
                    hookEnded(hook.task, hook.record(nil, .zero, "cannot be started: no thread for it: \(error)"))
                }
            }
        }
    }

    /// Ends the running commands and drops the others: the run was stopped by a signal.
    func stopHooks() {
        hooks.isStopped = true
        hooks.cancellation?.cancel()
        dropHooks()
    }

    private func dropHooks() {
        for hook in hooks.queue.drop() {
            hookEnded(hook.task, hook.record(nil, .zero, "was not started: the run was stopped"))
        }
    }

    func hookEnded(_ task: TaskIndex, _ record: HookRecord) {
        hooks.threads.removeValue(forKey: task)?.join()
        hooks.queue.ended(task)
        if record.hasFailed { noteFailedHook() }
        log.append(.hookFinished(record), session: session(task))
        taskIsOver(session(task))
    }

    func noteFailedHook() {
        tally.facts.hasFailure = true
        engine.answers.countFailedHook()
    }
}
