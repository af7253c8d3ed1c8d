package import TransferModel

/// Everything of a report but its tasks.
package struct ReportHead: Sendable {
    package struct Runner: Sendable {
        package var version = ""
        package var libcurl = ""
        package var pid: Int64 = 0
        package var host = ""
    }

    package struct Job: Sendable {
        package var name = ""
        /// As the user named it; `-` for standard input.
        package var file = ""
        package var sha256: String?
        /// Name and value; a value that is no text is its JSON.
        package var variables: [NamedValue] = []
    }

    package struct Totals: Sendable {
        package var tasks = 0
        package var succeeded = 0
        package var failed = 0
        package var cancelled = 0
        package var skipped = 0
        package var deferred = 0
        package var tolerated = 0
        package var attempts = 0
        package var retries = 0
        package var redirects = 0
        package var cacheHits = 0
        package var unchanged = 0
        package var bytesReceived: Int64 = 0
        package var bytesSent: Int64 = 0
        package var bytesSaved: Int64 = 0
    }

    package struct Session: Sendable {
        package var name = ""
        package var configuration = ""
        package var identifier: String?
        package var reassociated = false
        package var insecure = false
        package var connectionsOpened: Int?
        package var connectionsReused: Int?
        package var hosts: [Host] = []
    }

    package struct Host: Sendable {
        /// Origin with its port: `https://mirror.example.org:443`.
        package var host = ""
        package var peakConnections = 0
        package var tasks = 0
    }

    package struct Group: Sendable {
        package var name = ""
        package var published = false
        package var error: ReportedError?
    }

    package struct Hook: Sendable {
        package var command: [String] = []
        package var exitStatus: Int?
        package var duration = TimeSpan.zero
    }

    package var runner = Runner()
    package var job = Job()
    package var startedAt: WallTime?
    package var finishedAt: WallTime?
    package var duration: TimeSpan?
    package var outcome: RunOutcome?
    package var exitStatus: Int?
    package var totals = Totals()
    package var sessions: [Session] = []
    package var groups: [Group] = []
    package var hooks: [Hook] = []
}

package struct NamedValue: Hashable, Sendable {
    package var name: String
    /// The text of a string; the JSON of any other value.
    package var text: String

    package init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}

package struct ReportedError: Hashable, Sendable {
    package var domain = ""
    package var name = ""
    package var code: Int?
    package var message = ""
    package var curl: Int?
    package var errno: Int?
    package var reason: String?

    package init() {}
}
