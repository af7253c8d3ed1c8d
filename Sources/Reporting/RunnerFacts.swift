package import TransferModel

/// Who ran the job: what the report says under `runner`.
package struct RunnerFacts: Sendable {
    package var version: String
    /// Of a library that is there once the run is.
    package var libcurl: LateText
    package var pid: Int32
    package var host: String

    package init(version: String, libcurl: LateText, pid: Int32, host: String) {
        self.version = version
        self.libcurl = libcurl
        self.pid = pid
        self.host = host
    }
}

/// What became of an `onFinish` command. The report is written before it runs and once more after it.
package struct HookResult: Hashable, Sendable {
    package var command: [String]
    /// `nil` when it could not be started or was killed.
    package var exitStatus: Int?
    package var duration: TimeSpan

    package init(command: [String], exitStatus: Int?, duration: TimeSpan) {
        self.command = command
        self.exitStatus = exitStatus
        self.duration = duration
    }
}
