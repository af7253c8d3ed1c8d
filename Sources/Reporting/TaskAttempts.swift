internal import TransferModel

/// Keeps what a task's line and the summary need to know of its attempts. A class, so that each event changes it in
/// place.
final class TaskAttempts {
    /// Smallest partial download that the session keeps for the next run, in bytes.
    static let leastKept: Int64 = 64 << 10

    private(set) var attempts = 0
    /// Body bytes sent or received over all attempts.
    private(set) var moved: Int64 = 0
    /// Duration of the attempts in which body bytes moved.
    private(set) var movedTime = TimeSpan.zero
    /// Bytes of the running attempt's body so far, and the offset at which it began.
    private var progress: Int64 = 0
    private var offset: Int64 = 0
    private(set) var resumedFrom: Int64 = 0
    /// Bytes of the body that were there when the last attempt ended, and how many it has; `nil` where nobody said.
    private(set) var reached: Int64 = 0
    private(set) var expected: Int64?
    /// Bytes of an upload's body, which were not sent if the task turns out unchanged.
    private(set) var unsent: Int64 = 0
    /// Bytes of the file, of the files of all pages, or of what was sent.
    private(set) var bytes: Int64 = 0
    /// Number of pages that a task with `next` has fetched.
    private(set) var pages = 0
    /// Bytes of the files of those pages.
    private var pageBytes: Int64 = 0
    /// Whether the last answer had a validator with which its rest could be requested.
    private(set) var isResumable = false
    /// Whether the last answer had a validator with which the next run can ask for changes only.
    private(set) var hasValidator = false
    /// `Content-Encoding` of the last answer with a body; `nil` for a body that is sent as it is.
    private(set) var coding: String?
    /// Path of the file that the task wrote.
    private(set) var path: String?
    /// Whether the present attempt had an answer. One without any leaves what an earlier one brought.
    private var isAnswered = false
    /// Whether a redirect was followed in the present attempt.
    private var isRedirected = false
    /// URL of the web page that redirects of the last attempt led to; `nil` where they led to no page.
    private(set) var pageReached: String?
    /// Bytes that have arrived of a body that did not end.
    private(set) var kept: Int64 = 0
    /// Whether the last attempt's file was verified, whatever then happened to its group.
    private(set) var isVerified = false
    /// URL of the first attempt, which tells the first of the task's `urls`.
    private(set) var firstURL: String?
    private(set) var firstFailure: TransferError?
    /// Offset at which an attempt began whose process died before it could tell how much it had received; `nil` where
    /// the last attempt told.
    private var lostFrom: Int64?
    /// How the last attempt failed, and what it asked last: `GET https://a.test/f`.
    private var lastFailure: (name: ErrorName, request: String)?

    /// Bytes moved up to now, the running attempt included.
    var movedSoFar: Int64 { moved + max(0, progress - offset) }

    func begin(_ record: AttemptStart, of task: TaskSpecification) {
        if task.type == .upload { unsent = record.bodySize(of: task) }
        attempts = max(attempts, record.number)
        (progress, offset) = (0, 0)
        (isAnswered, isRedirected, pageReached) = (false, false, nil)
        if firstURL == nil { firstURL = record.url }
    }

    /// Returns the bytes that a lost attempt had moved: the place at which this one goes on tells.
    func resume(at point: Event.Progress) -> Int64 {
        (offset, progress) = (point.bytes, point.bytes)
        expected = point.expected ?? expected
        defer { lostFrom = nil }
        return lostFrom.map { max(0, point.bytes - $0) } ?? 0
    }

    func advance(to point: Event.Progress) {
        progress = point.bytes
        expected = point.expected ?? expected
    }

    func name(_ record: FileRecord) { (bytes, path) = (record.bytes, record.path) }
    func turn(_ page: PageRecord) {
        pageBytes = (page.number == 1 ? 0 : pageBytes) + (page.file?.bytes ?? 0)
        (pages, bytes) = (page.number, pageBytes)
    }

    func follow(_ record: RedirectRecord) {
        if record.action == .followed { isRedirected = true }
    }

    func answer(_ record: ResponseRecord) {
        (isAnswered, isResumable) = (true, false)
        guard let status = record.status, status == 200 || status == 206 else { return }
        pageReached = isRedirected && record.mimeType == "text/html" ? record.url : nil
        let tag = record.headers.first("etag")
        isResumable = tag.map { !$0.hasPrefix("W/") } ?? record.headers.has("last-modified")
        hasValidator = tag != nil || record.headers.has("last-modified")
        coding = record.contentEncoding.flatMap { codings in
            codings.lowercased().split(separator: ",")
                .map { String($0.drop { $0 == " " }.prefix { $0 != " " }) }
                .first { $0 == "x-gzip" || ContentCoding(named: $0) != nil }
        }
    }

    func end(_ record: AttemptRecord, isUpload: Bool) {
        attempts = max(attempts, record.number)
        let wire = record.transactions.reduce(into: (received: Int64(0), sent: Int64(0))) { sum, transaction in
            guard transaction.fetchType == .networkLoad, (200..<300).contains(transaction.status ?? 0) else { return }
            sum.received += transaction.responseBodyBytesReceived
            sum.sent += transaction.requestBodyBytesBeforeEncoding
        }
        let count = isUpload ? wire.sent : wire.received
        if isUpload, wire.sent > 0 { bytes = wire.sent }
        moved += count
        if count > 0 { movedTime = movedTime + record.duration }
        isVerified = record.outcome == .succeeded
        resumedFrom = record.resumedFrom
        if isAnswered { kept = isUpload ? 0 : record.resumedFrom + wire.received }
        reached = max(progress, count > 0 ? record.resumedFrom + count : 0)
        if firstFailure == nil { firstFailure = record.error }
        let request = record.transactions.last.map { "\($0.method) \($0.url)" } ?? record.url
        lastFailure = record.error.map { ($0.name, request) }
        let isLost = record.error == .processEnded || record.error == .processCrashed
        lostFrom = isLost && record.transactions.isEmpty ? record.resumedFrom : nil
        (progress, offset) = (0, 0)
    }

    /// The message of the error with which the task ended. Where a server is the cause and the message names no URL, it
    /// begins with the request.
    func message(of error: TransferError) -> String {
        guard let lastFailure, lastFailure.name == error.name, error.name.isOfServer, !error.message.contains("://")
        else { return error.message }
        return "\(lastFailure.request): \(error.message)"
    }

    /// Bytes per second while body bytes moved. An attempt's own time excludes its wait for `bandwidth`; where several
    /// attempts moved bytes, it is unknown which of them waited.
    func rate(_ record: TaskRecord) -> Int64? {
        guard record.source == .network || record.source == .resumed else { return nil }
        let held = record.waits.first { $0.reason == .bandwidth }?.duration ?? .zero
        if held > .zero, attempts > 1 { return nil }
        return HumanText.rate(moved, in: movedTime + held)
    }
}
