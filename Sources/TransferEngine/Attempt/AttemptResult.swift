package import TransferModel

/// Result of an attempt that ended: the runner makes the attempt's event and the end of the task from it.
package struct AttemptResult: Sendable {
    /// Number of the attempt within its task, from 1.
    package var number: Int
    /// URL of the last request, after redirects.
    package var url: String
    /// Beginning of the attempt.
    package var startedAt: Now
    /// End of the attempt.
    package var endedAt: Instant
    /// Metrics of its requests, in order.
    package var transactions: [TransactionMetrics]
    /// Body of the answer as the report shows it; `nil` where it has none.
    package var body: [UInt8]?
    /// The published file; `nil` without one.
    package var file: FileRecord?
    /// Whether a page of a task with `next` changed its file.
    package var changedPage = false
    /// Where the result came from.
    package var source: ResultSource
    /// Whether the body's length could not be verified.
    package var lengthUnverified: Bool
    /// Why it failed or was cancelled; `nil` on success.
    package var error: TransferError?
    /// Time within it in which nothing of its own was done: for bandwidth, for a credential to be looked up, for another
    /// task that fetched the same file, at its end for the batch flush.
    package var waits: [TaskRecord.Wait]
    /// Offset in bytes at which its body began; 0 where nothing was resumed.
    package var resumedFrom: Int64
    /// Why an earlier partial file was not resumed; `nil` where that did not happen.
    package var startedOver: String?
    /// Whether the answer was cached for later requests, or why not; `nil` where that was not decided.
    package var cache: CacheRecord?
    /// Values captured from the answer.
    package var captures: [CapturedValue]
    /// What lists of `forEach` are read from, in the form of captured values.
    package var rows: [CapturedValue] = []
    /// Parts of a multipart answer as the report shows them.
    package var parts: [AnswerPart]
}

/// What an engine is told at its beginning beside its job.
package struct EngineStart {
    /// `User-Agent` of requests that set none.
    package var userAgent: String
    /// Name of the run, a part of the names of its temporary files.
    package var run: String
    /// Tasks whose attempts send nothing before the journal has their beginning: their requests must not be sent twice.
    package var recordedFirst: Set<TaskIndex> = []
    /// Files that an earlier process of this run may have published.
    package var unrecordedFiles = UnrecordedFiles()

    package init(userAgent: String, run: String) {
        self.userAgent = userAgent
        self.run = run
    }
}
