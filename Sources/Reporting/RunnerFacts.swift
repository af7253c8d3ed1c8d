package import TransferModel

/// Facts about the process that ran the job: the report's `runner`.
package struct RunnerFacts: Sendable {
    /// Version of transfer-run.
    package var version: String
    /// Version of libcurl, which is loaded by the time the run has ended.
    package var libcurl: LateText
    /// Id of the process that writes the report.
    package var pid: Int32
    /// Name of the machine.
    package var host: String
    /// The folder that the job was confined to, and what the system lacked for that; `nil` for a job that is trusted.
    package var confined: (folder: String, missing: [String])?

    package init(version: String, libcurl: LateText, pid: Int32, host: String) {
        self.version = version
        self.libcurl = libcurl
        self.pid = pid
        self.host = host
    }
}

/// Result of an `onFinish` command. The report is written before the command runs and once more after it.
package struct HookResult: Hashable, Sendable {
    /// The task whose command it was; `nil` for one of a session or of the job.
    package var task: String?
    /// The command's words.
    package var command: [String]
    /// Its exit status; `nil` when it could not be started or was killed.
    package var exitStatus: Int?
    /// Time that the command ran.
    package var duration: TimeSpan

    package init(task: String? = nil, command: [String], exitStatus: Int?, duration: TimeSpan) {
        self.task = task
        self.command = command
        self.exitStatus = exitStatus
        self.duration = duration
    }
}
