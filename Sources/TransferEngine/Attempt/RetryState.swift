import AttemptLife
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// What the ended attempts of a task left for its next attempt. Forgotten when the task ends.
struct RetryState {
    /// A half-done file that the next attempt at the same place of `urls` continues.
    struct PartialFile {
        let staging: StagingID
        let point: ResumePoint
        /// The place among the task's `urls` that the bytes came from.
        let mirror: Int
        /// What the ended attempt knew of the file that the task brought in an earlier run.
        var brought: KeptValidators?
    }

    /// How far a task with `next` is; `nil` before its second page.
    var pages: PageProgress?
    /// How many pages an earlier process fetched, which are asked for again.
    var lostPages = 0
    /// At most one for each place of `urls`.
    var partialFiles: [PartialFile] = []
    /// Whether the store has a half-done file of the task.
    var isPartRecorded = false
    /// Whether the half-done file of an earlier run was looked at. A task does so once.
    var hasTriedPart = false
    /// The half-done file of an earlier run, where it came from a place of `urls` whose turn has not come.
    var otherPart: ResumeRecord?
    /// Whether the file that another program left, completed, had the wrong checksum: it is not adopted again.
    var refutedForeignFile = false
    /// Whether the server ended the connection at the question about such a file: it is not asked again.
    var leftForeignFileUnanswered = false
    /// Whether a file that was put together of several streams' parts had the wrong checksum: the next comes in one stream.
    var takesOneStream = false
    /// The places of `urls` whose whole file had the wrong checksum, or whose body was damaged, and which of both it was:
    /// the next attempt there asks past all caches, and is the last for that.
    var placesWithWrongBody: [Int: ErrorName] = [:]
    /// Whether an attempt failed after a response: the next request goes past the caches.
    var hadFailedResponse = false
    /// Credentials that servers rejected: the next attempt does not show them again.
    var rejectedCredentials: ChallengeResponder?
    /// The host that rejected one in the task's last attempt.
    var rejectingHost: String?
    /// What a server holds of a body that was cut.
    var upload: UploadLeft?
    /// Whether the server ended the connection at the question before an upload: it is not asked again.
    var leftUploadUnasked = false

    /// Removes and returns the half-done file that came from a place of `urls`. Those of other places wait for their turn.
    mutating func takePartialFile(at mirror: Int) -> PartialFile? {
        guard let place = partialFiles.firstIndex(where: { $0.mirror == mirror }) else { return nil }
        return partialFiles.remove(at: place)
    }

    /// What was wrong with the whole body that came from a place of `urls`; `nil` where nothing was.
    func faultOfBody(at mirror: Int) -> String? {
        placesWithWrongBody[mirror].map {
            $0 == .checksumMismatch ? "the file had the wrong checksum" : "the body was damaged"
        }
    }

    /// Chooses which half-done file an ended task leaves for the next run: the longest that can be continued, if any is to be
    /// kept. Returns it and those that are discarded.
    func filesAtEnd(keeps: Bool, canContinue: (StagingID) -> Bool) -> (kept: PartialFile?, discarded: [PartialFile]) {
        var left = partialFiles.sorted { $0.point.offset > $1.point.offset }
        guard keeps, let place = left.firstIndex(where: { canContinue($0.staging) }) else { return (nil, left) }
        let kept = left.remove(at: place)
        return (kept, left)
    }
}

extension Engine {
    /// Whether no attempt has left anything that another process would not have: half-done files, credentials that were
    /// rejected, connections and their number.
    package var isUntouched: Bool {
        core.retryStates.isEmpty && core.sessions.allSatisfy { $0.connections == (0, 0) }
    }
}
