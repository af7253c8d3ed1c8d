internal import TransferModel

/// How a task came to its end, as far as its line and the summary speak of it.
struct TaskCourse {
    /// What is kept of a half-done download for the next run is no less.
    static let leastKept: Int64 = 64 << 10

    private(set) var attempts = 0
    /// Bytes of bodies, either way, over all attempts.
    private(set) var moved: Int64 = 0
    /// The length of the attempts in which some moved.
    private(set) var movedTime = TimeSpan.zero
    /// Of the attempt that is under way: bytes of the body so far, and where it began.
    private var progress: Int64 = 0
    private var offset: Int64 = 0
    private(set) var resumedFrom: Int64 = 0
    /// Of the body that an upload did not have to send, if it turns out so.
    private(set) var unsent: Int64 = 0
    /// Of the file, or of what was sent.
    private(set) var bytes: Int64 = 0
    /// An answer says by what its rest could be asked for.
    private(set) var isResumable = false
    /// What is there of a body that did not come to its end.
    private(set) var kept: Int64 = 0
    /// The last attempt's file was verified, whatever then became of its group.
    private(set) var isVerified = false
    /// The place of `urls` that the first attempt asked, while another is asked.
    private(set) var firstURL: String?
    private(set) var firstFailure: TransferError?

    /// Bytes that moved up to now.
    var movedSoFar: Int64 { moved + max(0, progress - offset) }

    mutating func begin(_ record: AttemptStart, of task: TaskSpecification) {
        if task.type == .upload { unsent = record.bodySize(of: task) }
        attempts = max(attempts, record.number)
        (progress, offset, isResumable) = (0, 0, false)
        if firstURL == nil { firstURL = record.url }
    }

    mutating func resume(at offset: Int64) { (self.offset, progress) = (offset, offset) }
    mutating func advance(to bytes: Int64) { progress = bytes }
    mutating func name(_ record: FileRecord) { bytes = record.bytes }

    mutating func answer(_ record: ResponseRecord) {
        guard let status = record.status, status == 200 || status == 206 else { return }
        let tag = record.headers.first("etag")
        isResumable = tag.map { !$0.hasPrefix("W/") } ?? record.headers.has("last-modified")
    }

    mutating func end(_ record: AttemptRecord, isUpload: Bool) {
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
        kept = isUpload ? 0 : record.resumedFrom + wire.received
        if firstFailure == nil { firstFailure = record.error }
        (progress, offset) = (0, 0)
    }

    /// Bytes a second while they moved. An attempt's own time is without what its `bandwidth` held it up; where several
    /// attempts moved some, it is not known whose wait that was.
    func rate(_ record: TaskRecord) -> Int64? {
        guard record.source == .network || record.source == .resumed else { return nil }
        let held = record.waits.first { $0.reason == .bandwidth }?.duration ?? .zero
        if held > .zero, attempts > 1 { return nil }
        return HumanText.rate(moved, in: movedTime + held)
    }
}
