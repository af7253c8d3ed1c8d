package import HTTPRules
package import TransferModel

/// Holds what the disk says of one task before a run: its files and what the store keeps of them.
package struct DiskFacts: Sendable {
    /// What stands at a task's destination.
    package enum Standing: Hashable, Sendable {
        case nothing
        case file(FileStamp)
        /// A folder, device, pipe or socket.
        case noFile
        /// A file stands where the destination has a folder.
        case belowFile
        /// The destination is not known before the run, or was not looked at.
        case unknown
    }
    /// Whether a file has the checksum that the job states.
    package enum ChecksumProof: Hashable, Sendable { case met, missed, notComputed }

    /// What stands at the destination.
    package var standing = Standing.unknown
    /// The validators recorded for the file at the destination.
    package var kept: KeptValidators?
    /// Bytes of the partial file that a run could continue; `nil` without one that fits the task.
    package var partial: Int64?
    /// Length of the whole file that the partial one belongs to, if the server said it.
    package var partialTotal: Int64?
    /// Whether the file at the destination meets the job's literal `checksum`.
    package var proof = ChecksumProof.notComputed
    /// Cached responses under the task's URL.
    package var cached: [StoredResponse] = []
    /// The session's `cache.guessLifetime`.
    package var guessesLifetime = false
    /// Length of the body that the task sends; `nil` if it is not known or there is none.
    package var bodyLength: Int64?
    /// Whether an earlier run sent this very file to the URL.
    package var wasSent = false
    /// Bytes of an unfinished upload that the server has.
    package var uploaded: Int64?

    package init() {}
}
