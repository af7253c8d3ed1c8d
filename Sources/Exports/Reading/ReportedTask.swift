package import TransferModel

/// The parts of a report's task that take time to decode; a reader decodes only the parts that it is created with.
package struct ReportParts: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// `labels` and `captures`.
    package static let values = ReportParts(rawValue: 1)
    /// The header fields of `response`; its other members are always decoded.
    package static let headers = ReportParts(rawValue: 1 << 1)
    /// `body` and `parts`.
    package static let bodies = ReportParts(rawValue: 1 << 2)
    /// The times that the task waited, by reason.
    package static let waits = ReportParts(rawValue: 1 << 3)
    /// `attempts`, without their transactions.
    package static let attempts = ReportParts(rawValue: 1 << 4)
    /// `attempts` with their transactions.
    package static let transactions: ReportParts = [.attempts, ReportParts(rawValue: 1 << 5)]
    /// `redirects` and `challenges`.
    package static let detours = ReportParts(rawValue: 1 << 6)

    /// Every part of a task.
    package static let all = ReportParts(rawValue: 1 << 7 - 1)
}

/// One element of the report's `tasks`. Members outside the decoded `ReportParts` keep their default values.
package struct ReportedTask: Sendable {
    /// Method and URL of a request.
    package struct Request: Hashable, Sendable {
        /// HTTP method.
        package var method = ""
        /// URL as the report shows it, with secrets masked.
        package var url = ""
    }

    /// One header field, as the server sent it.
    package struct Header: Hashable, Sendable {
        /// Field name in the server's spelling.
        package var name: String
        /// Field value, with secrets masked.
        package var value: String
    }

    /// The final response of the task's last attempt.
    package struct Response: Sendable {
        /// HTTP status; `nil` for schemes without statuses.
        package var status: Int?
        /// The URL that answered, after redirects.
        package var url = ""
        /// Content type without its parameters; `nil` if it is unknown.
        package var mimeType: String?
        /// `charset` parameter of the content type; `nil` if there is none.
        package var charset: String?
        /// Length in bytes of the body as it was sent, compressed if it was; `nil` if the server did not say.
        package var expectedLength: Int64?
        /// File name from `Content-Disposition` or the URL, made safe; `nil` if there is none.
        package var suggestedFilename: String?
        /// `Content-Encoding` as it was sent; `nil` if there is none.
        package var contentEncoding: String?
        /// Header fields in the order sent; only decoded with `ReportParts.headers`.
        package var headers: [Header] = []
    }

    /// The file that the task put at its destination.
    package struct File: Sendable {
        /// Path of the file, relative to the job's folder when it lies inside; `-` for standard output.
        package var path = ""
        /// Length of the file in bytes.
        package var bytes: Int64 = 0
        /// Checksum of the file as `algorithm:digest`; `nil` if none was computed.
        package var checksum: String?

        package init() {}
    }

    /// Whether the session's cache stored the response that came from the network.
    package struct Cache: Sendable {
        /// Whether the cache stored the response.
        package var stored = false
        /// Why the cache did not store the response, as a sentence; `nil` if it did.
        package var reason: String?
    }

    /// The first 64 KiB of a response body, as the report holds them.
    package struct Body: Sendable {
        /// The body as text, or its bytes in base64 if `isBase64`.
        package var text = ""
        /// Whether `text` is base64, because the body is not UTF-8.
        package var isBase64 = false
        /// Whether the body was longer than the report shows.
        package var isTruncated = false
    }

    /// One part of a `multipart/x-mixed-replace` response.
    package struct Part: Sendable {
        /// The part's header fields in the order sent.
        package var headers: [Header] = []
        /// Length of the part in bytes, as it was received.
        package var bytes: Int64 = 0
        /// Beginning of the part's content; `nil` if the report has neither `text` nor `base64` for it.
        package var body: Body?
        /// The part's member `file`, which the schema allows; reports of this version do not write it.
        package var file: String?
    }

    /// A redirect that the task met, in any of its attempts, and what was done about it.
    package struct Redirect: Sendable {
        /// HTTP status of the redirecting response.
        package var status = 0
        /// URL that was redirected.
        package var from = ""
        /// URL that the redirect leads to.
        package var to = ""
        /// Method of the request that follows the redirect.
        package var method = ""
        /// What was done: `followed`, `refused`, or `accepted` when the redirecting response is the result.
        package var action = ""
        /// Names of the header fields that the next request leaves out, spelled as they had been sent.
        package var stripped: [String] = []
    }

    /// A server's or proxy's request for authentication and what was done about it.
    package struct Challenge: Sendable {
        /// Kind of challenge, such as the name of an HTTP authentication method.
        package var method = ""
        /// The host that sent the challenge, as `host:port`.
        package var host = ""
        /// Realm that the challenge names; `nil` if it names none.
        package var realm: String?
        /// Level of the rule that decided: `session` or `task`.
        package var level = ""
        /// What was done, in the words of the job file's challenge rules.
        package var disposition = ""
        /// How often credentials had been rejected for this challenge before.
        package var previousFailureCount = 0
    }

    /// The task's id in the job.
    package var id = ""
    /// Name of the task's session; `nil` where the report has `null`.
    package var session: String?
    /// Line of the job file at which the task begins, from 1; `nil` where the report does not say.
    package var line: Int?
    /// The job file that the task is written in; `nil` where the run had one alone.
    package var jobFile: String?
    /// Kind of the task: data, download or upload.
    package var type = TaskType.download
    /// Name of the group that the task's file is published with; `nil` without a group.
    package var group: String?
    /// The job's `description` of the task; `nil` if it has none.
    package var description: String?
    /// The job's `labels` of the task; only decoded with `ReportParts.values`.
    package var labels: [NamedValue] = []
    /// Whether a rule of `onResponse` turned the data task into a download.
    package var becameDownload = false
    /// How the task ended.
    package var outcome = TaskOutcome.deferred
    /// Whether the task failed and `allowFailure` lets that pass.
    package var tolerated = false
    /// Whether the destination has other content than before; `nil` without a destination.
    package var changed: Bool?
    /// Where the result came from; `nil` if there is no result.
    package var source: ResultSource?
    /// What the cache did with the response; `nil` unless a data or upload task got its response over the network.
    package var cache: Cache?
    /// The task's first request.
    package var original = Request()
    /// The task's last request, after redirects.
    package var current = Request()
    /// The last attempt's response; `nil` if there was none.
    package var response: Response?
    /// The file at the task's destination; `nil` if the task wrote none.
    package var file: File?
    /// The file of each page of a task with `next` that has one, in the order of the pages; empty for any other task.
    package var pageFiles: [File] = []
    /// Bytes of the file, or of the files of all pages together; `nil` if the task wrote none.
    package var fileBytes: Int64? { pageFiles.isEmpty ? file?.bytes : pageFiles.reduce(0) { $0 + $1.bytes } }
    /// Whether something proved where the body ended: `verified` or `unverified`; `nil` if no body was taken.
    package var length: String?
    /// Beginning of the response body; only decoded with `ReportParts.bodies`, `nil` if there is none.
    package var body: Body?
    /// Parts of a multipart response; only decoded with `ReportParts.bodies`.
    package var parts: [Part] = []
    /// The values that `capture` took, with secret ones masked; only decoded with `ReportParts.values`.
    package var captures: [NamedValue] = []
    /// When the task was created.
    package var createdAt: WallTime?
    /// When the task's first attempt began; `nil` if there was none.
    package var startedAt: WallTime?
    /// When the task ended; `nil` if the run ended before it.
    package var finishedAt: WallTime?
    /// Time from the task's creation to its end; `nil` if the run ended before it.
    package var duration: TimeSpan?
    /// Times that the task waited, one element for each reason; only decoded with `ReportParts.waits`.
    package var waits: [TaskRecord.Wait] = []
    /// The task's attempts in their order; only decoded with `ReportParts.attempts`.
    package var attempts: [ReportedAttempt] = []
    /// The redirects of all attempts; only decoded with `ReportParts.detours`.
    package var redirects: [Redirect] = []
    /// The authentication challenges of all attempts; only decoded with `ReportParts.detours`.
    package var challenges: [Challenge] = []
    /// Why the task did not succeed; `nil` if it did.
    package var error: ReportedError?
    /// Whether the task was skipped without harm, by a `when`. Needs no part of the report.
    package var isPassedOver: Bool { outcome == .skipped && error == nil }
    /// One plain sentence about a task that did not succeed, and what would help; `nil` for a task that did.
    package var explanation: String?

    package init() {}
}

/// One attempt of a task, as an element of the report's `attempts`.
package struct ReportedAttempt: Sendable {
    /// Number of the attempt within its task, from 1.
    package var number = 1
    /// URL of the attempt's first request.
    package var url = ""
    /// How the attempt ended.
    package var outcome = TaskOutcome.failed
    /// Offset in bytes at which a download or upload body was resumed; 0 if it began anew.
    package var resumedFrom: Int64 = 0
    /// Why a partial file could not be resumed; `nil` if it was, or if there was none.
    package var startedOver: String?
    /// When the attempt began.
    package var startedAt = WallTime(nanoseconds: 0)
    /// Time from the attempt's begin to its end.
    package var duration = TimeSpan.zero
    /// Why the attempt failed or was cancelled; `nil` if it succeeded.
    package var error: ReportedError?
    /// Pause after the attempt; `nil` if none followed.
    package var backoff: TimeSpan?
    /// When the task's last attempt begins at the latest; `nil` when none follows, or no time bounds them.
    package var retriesUntil: WallTime?
    /// The attempt's requests in the order in which they began; only decoded with `ReportParts.transactions`.
    package var transactions: [TransactionMetrics] = []

    package init() {}
}
