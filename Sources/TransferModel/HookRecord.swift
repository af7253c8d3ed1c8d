/// The end of a task's `onFinish` command.
package final class HookRecord: Sendable {
    /// Id of the task, which other runs of the job know too: its number may differ there.
    package let task: String
    /// The command's words, without secrets.
    package let command: [String]
    /// Its exit status; `nil` when it did not end by itself, or did not start.
    package let exitStatus: Int?
    /// Time that the command ran.
    package let duration: TimeSpan
    /// Why it counts as failed, as the end of a sentence that begins with the command; `nil` if it succeeded.
    package let trouble: String?
    /// Whether the command did not succeed, which fails the run.
    package var hasFailed: Bool { exitStatus != 0 }

    package init(task: String, command: [String], exitStatus: Int?, duration: TimeSpan, trouble: String?) {
        self.task = task
        self.command = command
        self.exitStatus = exitStatus
        self.duration = duration
        self.trouble = trouble
    }

    func redacted(by redactor: Redactor) -> HookRecord {
        HookRecord(
            task: redactor.redacted(name: task), command: command.map { redactor.redacted($0) },
            exitStatus: exitStatus, duration: duration, trouble: redactor.redacted(trouble))
    }
}
