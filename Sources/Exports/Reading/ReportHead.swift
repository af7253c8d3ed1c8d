package import TransferModel

/// Every member of a report but `tasks`. A member that the file lacks keeps its default value.
package struct ReportHead: Sendable {
    /// The program that wrote the report.
    package struct Runner: Sendable {
        /// Version of transfer-run.
        package var version = ""
        /// Version of libcurl that the run used.
        package var libcurl = ""
        /// Process id of the run.
        package var pid: Int64 = 0
        /// Name of the machine on which the run took place.
        package var host = ""
    }

    /// The job that was run.
    package struct Job: Sendable {
        /// Name of the job.
        package var name = ""
        /// Path of the job file as the user wrote it; `-` for standard input.
        package var file = ""
        /// SHA-256 of the job file; `nil` where the report has none.
        package var sha256: String?
        /// The job's variables after `--set`, by name.
        package var variables: [NamedValue] = []
    }

    /// Counts over all tasks of the run. The outcomes and `tolerated` add up to `tasks`.
    package struct Totals: Sendable {
        /// Number of all tasks.
        package var tasks = 0
        /// Tasks that succeeded.
        package var succeeded = 0
        /// Tasks that failed, without those that `allowFailure` lets pass.
        package var failed = 0
        /// Tasks that were cancelled.
        package var cancelled = 0
        /// Tasks skipped because a task they need did not succeed.
        package var skipped = 0
        /// Tasks left for another run.
        package var deferred = 0
        /// Tasks that failed and that `allowFailure` lets pass.
        package var tolerated = 0
        /// Attempts that began, over all tasks.
        package var attempts = 0
        /// Attempts after the first one of their task.
        package var retries = 0
        /// Redirects that were followed.
        package var redirects = 0
        /// Tasks answered from the cache, with or without revalidation.
        package var cacheHits = 0
        /// Tasks that moved no body because the file, or for an upload the server's copy, was right already.
        package var unchanged = 0
        /// Bytes of response bodies that arrived, over all attempts.
        package var bytesReceived: Int64 = 0
        /// Bytes of request bodies that were sent, over all attempts.
        package var bytesSent: Int64 = 0
        /// Bytes of bodies that did not have to be moved: cached, unchanged and resumed ones.
        package var bytesSaved: Int64 = 0
    }

    /// One session of the job and the connections that it used.
    package struct Session: Sendable {
        /// Key of the session in the job.
        package var name = ""
        /// Kind of the session: `default`, `ephemeral` or `background`.
        package var configuration = ""
        /// The session's `identifier`; `nil` if it has none.
        package var identifier: String?
        /// Whether the run took over a session that an earlier run had left running.
        package var reassociated = false
        /// Whether the session checked no certificate (`tls.trust.policy: insecure`).
        package var insecure = false
        /// Connections that the session opened; `nil` if it did not report them.
        package var connectionsOpened: Int?
        /// Requests that went over an open connection; `nil` if the session did not report them.
        package var connectionsReused: Int?
        /// The origins that the session sent requests to.
        package var hosts: [Host] = []
    }

    /// What a session's requests to one origin came to.
    package struct Host: Sendable {
        /// Origin with its port, such as `https://mirror.example.org:443`.
        package var host = ""
        /// Largest number of requests to the origin at one time, which `maximumConnectionsPerHost` bounds.
        package var peakConnections = 0
        /// Number of the session's tasks for the origin.
        package var tasks = 0
        /// How many connections were allowed, where that number was found; `nil` where it was fixed.
        package var connectionLimit: ConnectionLimit?
    }

    /// How many connections a session was allowed to a host, where that number was found by what the host bears.
    package struct ConnectionLimit: Sendable {
        /// A change of the number.
        package struct Step: Sendable {
            /// When it changed.
            package var time = WallTime(nanoseconds: 0)
            /// The number before.
            package var from = 0
            /// The number from then on.
            package var to = 0
            /// Why it changed: a raw value of `ConnectionStep.Reason`.
            package var reason = ""
        }
        /// Never fewer.
        package var minimum = 0
        /// Never more.
        package var maximum = 0
        /// The number at the beginning.
        package var first = 0
        /// The number at the end.
        package var last = 0
        /// The changes, in order.
        package var steps: [Step] = []
    }

    /// One group of the job: files that are published together.
    package struct Group: Sendable {
        /// Name of the group.
        package var name = ""
        /// Whether the group's files were published.
        package var published = false
        /// Number of files that the publication removed; `nil` where none can be, or it is not known.
        package var removedCount: Int?
        /// Why the group's folder could not be exchanged, or, if it was published, why it may not outlast a power cut;
        /// else `nil`.
        package var error: ReportedError?
    }

    /// One `onFinish` command that was run after the tasks.
    package struct Hook: Sendable {
        /// The task whose command it was; `nil` for one of a session or of the job.
        package var task: String?
        /// The command and its arguments.
        package var command: [String] = []
        /// Exit status of the command; `nil` if it could not be started or did not end by itself.
        package var exitStatus: Int?
        /// Time that the command took.
        package var duration = TimeSpan.zero
        /// Whether the command did not succeed.
        package var hasFailed: Bool { exitStatus != 0 }

        package init() {}

        /// How it ended, as the end of a sentence that begins with the command.
        var end: String {
            exitStatus.map { "ended with exit status \($0)" } ?? "could not be started, or did not end by itself"
        }
    }

    /// The program that wrote the report.
    package var runner = Runner()
    /// The job that was run.
    package var job = Job()
    /// When the run began; `nil` where the report does not say.
    package var startedAt: WallTime?
    /// When the run ended; `nil` if the report was written before.
    package var finishedAt: WallTime?
    /// Time that the run took; `nil` if the report was written before its end.
    package var duration: TimeSpan?
    /// How the run ended; `nil` if the report was written before.
    package var outcome: RunOutcome?
    /// Exit status of the run; `nil` if the report was written before its end.
    package var exitStatus: Int?
    /// In words what ended the run before its tasks were done; `nil` where nothing did.
    package var stopped: String?
    /// Counts over all tasks.
    package var totals = Totals()
    /// The job's sessions, in its order.
    package var sessions: [Session] = []
    /// The job's groups, in its order.
    package var groups: [Group] = []
    /// The `onFinish` commands that have run.
    package var hooks: [Hook] = []
}

/// A variable, label or captured value of the report.
package struct NamedValue: Hashable, Sendable {
    /// Name of the variable, label or capture.
    package var name: String
    /// The text of a string; the JSON of any other value.
    package var text: String

    package init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}

/// Why a task, an attempt or the publishing of a group failed.
package struct ReportedError: Hashable, Sendable {
    /// Domain of `name`: `NSURLErrorDomain` for Apple's names, else `transfer-run`.
    package var domain = ""
    /// Name of the error, by which programs know it.
    package var name = ""
    /// Apple's number for the error; `nil` for names of transfer-run's own.
    package var code: Int?
    /// One plain sentence for people, without a secret's value.
    package var message = ""
    /// libcurl's error number; `nil` if libcurl did not report the error.
    package var curl: Int?
    /// The system's error number; `nil` if the system was not the cause.
    package var errno: Int?
    /// Which rule the network did not meet; `nil` unless the error is about that.
    package var reason: String?

    package init() {}
}
