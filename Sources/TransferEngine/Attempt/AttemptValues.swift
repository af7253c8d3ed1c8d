import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

// The parts of an attempt's state, one value for each thing that it deals with. An `Exchange` is the part that belongs
// to one request.

/// Where an attempt's file goes and what is known of the file so far.
struct DownloadTarget {
    /// The file under its temporary name.
    var staging: StagingID
    /// The final place; `nil` until it is planned, and for a task without a file.
    var destination: Destination?
    /// The checksum that the file must have, once that is known.
    var checksum: Checksum?
    /// The file in its final place.
    var file: FileRecord?
    /// Whether the file in the final place stays, since it is as it should be.
    var keepsExisting = false
    /// Whether the task was cancelled while its file was put in place: nothing more is sent for it.
    var wasCalledOff = false
    /// Whether what was written under the temporary name is lost.
    var isLost = false
    /// When the wait for the flush of a batch of files began.
    var flushStartedAt: Instant?
    /// Whether nothing proved where the body ended.
    var lengthUnverified = false
}

/// What earlier runs and other programs left of an attempt's file, and what this one leaves.
struct KnownFile {
    /// Whether nothing had the destination's name when the attempt began.
    var isFree = false
    /// Whether the store may know the file.
    var isEligible = false
    /// The file at the final place before the attempt began, or none; `nil` when it was not looked up.
    var seen: FileStamp??
    /// The validators under which the store knows the file in the final place.
    var validators: KeptValidators? { didSet { brought = validators ?? brought } }
    /// The record of the file that the task brought in an earlier run, even where it is of no use for a request.
    var brought: KeptValidators?
    /// Whether the answer's validators are kept for the next run.
    var isKept = false
    /// The file in the final place as it was when the server was asked about it.
    var asked: FileStamp?
    /// Whether the file was read already to compare its checksum with the kept one.
    var wasRead = false
    /// The partial file of an earlier run, until it was examined.
    var part: ResumeRecord?
    /// Whether a partial file is kept for the next run when the attempt breaks off.
    var leavesPart = false
    /// A file of another program that may be adopted (`resume: adopt`).
    var foreign = ForeignFileCandidate.none
    /// Whether a kill is to cost little of the present body: it is noted once enough of it came.
    var isNoted = false
    /// Ranges of the adopted partial file beyond its beginning.
    var beyond: [Range<Int64>] = []
    /// How the rest of the present answer could be requested later, and the length of the whole; `nil` when it could
    /// not.
    var continuation: ResumePoint?
}

/// The body that an attempt sends.
struct SendState {
    /// The task's body, as it was when the task began; `nil` for a task without a body.
    var planned: PlannedBody?
    /// The body of the present request.
    var body: BodySource?
    /// A stream whose request was answered before the server read any of it: the next request sends it.
    var untouchedStream: BodyStream?
    /// SHA-256 of the body, where all of it went out in one request.
    var digest: Checksum?
    /// The record of an earlier run that sent the same file to the same URL.
    var sentBefore: SentUpload?
    /// Bytes of the present request's body that were reported.
    var reported: Int64 = 0
    /// Whether anything of the attempt reached a server.
    var sentSomething = false
    /// Whether the last request that ended had been sent.
    var requestWasSent = false

    /// Returns the stream that no server has read from, once.
    mutating func takeUntouchedStream() -> BodyStream? {
        defer { untouchedStream = nil }
        return untouchedStream
    }
}

/// What was not yet reported of an attempt to the engine and the scheduler.
struct UnreportedProgress {
    /// Bytes moved since the scheduler was told last.
    var bytes: Int64 = 0
    /// When an event last told how far the body is.
    var lastEventAt: Instant
    /// Whether bytes moved since then.
    var owesEvent = false
    /// Whether a server told where an upload can be continued (status 104).
    var hasUploadPlace = false
    /// Whether the attempt is among those that the engine looks at after this turn.
    var isListed = false
}

/// The role of the session's cache in an attempt.
struct CachingState {
    /// The cache's part in the present request; `nil` when it has none.
    var turn: CacheTurn?
    /// Whether the present request is neither answered by the cache nor kept in it.
    var isBypassed = false
    /// Whether the last answer was kept; `nil` when there was none to keep.
    var note: CacheRecord?
    /// Whether the cache gave a redirect that no server was asked about.
    var gaveRedirect = false
    /// Whether the cache is no longer asked in this attempt.
    var isDisabled = false

    /// Begins the next request.
    mutating func restart() { (turn, isBypassed, note) = (nil, false, nil) }
}

/// What the task looks for in an answer (`expect`, `capture`), and what waits for it.
struct AnswerInspection {
    /// The answer that is or was examined.
    var answer: ExaminedAnswer?
    /// What its headers lack, while its body is examined too.
    var missedHead: TransferError?
    /// Events that wait until it is known which of their texts are secret; `nil`: none waits.
    var heldEvents: [Event.Kind]?
}

/// The several streams of one body.
struct StreamsState {
    /// The body while several streams bring it, or may.
    var segmented: SegmentedBody?
    /// Whether one stream brings all of it, since several did not help before.
    var isDisabled = false
    /// Whether several streams brought parts of the body.
    var wereSeveral = false
}

/// How an attempt stands to captured tokens that are renewed.
struct RenewalState {
    /// How many tokens were renewed in the run when the attempt got its captured values.
    var seen = 0
    /// Whether its request was tried again with a renewed token: that is done once.
    var hasTriedAgain = false
}

/// What carries an attempt's present request.
struct TransportState {
    /// The transfer in libcurl.
    var transfer: TransferID?
    /// The address that the present request was sent to: the server's, or a proxy's; `nil` where it was not sent.
    var address: String?
    /// In the transfer's place where a command answers.
    var command: CommandTransfer?
    /// How many of the session's commands were asked.
    var askedCommands = 0
    /// A pool of connections for this attempt alone.
    var ownPool: EngineSession.OwnPool?
    /// Whether the network of the connection went away.
    var lostNetwork = false
    /// Longest time in which nothing moves.
    var idleLimit: TimeSpan
    /// The attempt's index among those with a transfer (`Engine.transferring`).
    var index = 0
    /// Decides whether the request moves too few bytes.
    var rateFloor: RateFloor
}

/// The requests for a file of checksums, and for its signature, that an attempt makes before its own.
struct ChecksumLookup {
    /// The file that is being fetched.
    var key: ChecksumFiles.Key?
    /// Content of that file while its signature is fetched.
    var unproven: [UInt8]?
    /// The life of the task's own requests, which waits meanwhile.
    var waitingLife: AttemptLife?
}
