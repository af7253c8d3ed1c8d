/// Whatever happened, once: a small header and one shared immutable payload.
///
/// Everything a person or a program ever sees (report, lines of JSON, progress, exit status) is a fold over these.
package struct Event: Sendable {
    package var time: WallTime
    /// Counts up by one from 1 over a run.
    package var sequence: UInt64
    package var session: SessionIndex?
    package var task: TaskIndex?
    package var kind: Kind

    package init(time: WallTime, sequence: UInt64, session: SessionIndex?, task: TaskIndex?, kind: Kind) {
        self.time = time
        self.sequence = sequence
        self.session = session
        self.task = task
        self.kind = kind
    }

    package enum Kind: Sendable {
        case sessionStarted
        case taskCreated
        /// The last word of a template: these tasks take its place, after all that the run has.
        case expanded(Expansion)
        case taskResumed
        /// `lacks` says more, where there is more to say: which networks are there, and why they do not do.
        case waiting(WaitReason, lacks: String? = nil)
        case attemptStarted(AttemptStart)
        case challenge(ChallengeRecord)
        case redirect(RedirectRecord)
        case resumedAtOffset(Progress)
        case response(ResponseRecord)
        case becameDownload
        case needNewBodyStream
        case sentBodyData(Progress)
        case receivedData(Progress)
        case cacheStored
        case fileFinished(FileRecord)
        case attemptFinished(AttemptRecord)
        case taskFinished(TaskRecord)
        case sessionFinishedEvents
        case sessionInvalidated(SessionRecord)
        case runFinished(RunRecord)
    }

    /// Bytes so far, and of how many; `expected` is `nil` when the server did not say.
    package struct Progress: Hashable, Sendable {
        package var bytes: Int64
        package var expected: Int64?
        package init(bytes: Int64, expected: Int64?) {
            self.bytes = bytes
            self.expected = expected
        }
    }
}

/// What held a task back before a byte moved. Their sum, and the attempts', is the task's duration.
package enum WaitReason: String, CaseIterable, Sendable {
    case dependency, hostLimit, sessionLimit, runLimit, requestRate, backoff, retryAfter, hostParked, network, power
    case window, bandwidth, earliestBegin, suspended, credential, flush
}

package enum TaskOutcome: String, CaseIterable, Sendable { case succeeded, failed, cancelled, skipped, deferred }
package enum RunOutcome: String, CaseIterable, Sendable { case succeeded, failed, cancelled, deferred }
package enum ResultSource: String, CaseIterable, Sendable {
    case network, cache, revalidated, unchanged, resumed, local
}

package final class AttemptStart: Sendable {
    /// From 1.
    package let number: Int
    package let url: String
    /// The files that the task sends, in their order; no event tells them to people.
    package let bodyFiles: [BodyFileMark]
    package init(number: Int, url: String, bodyFiles: [BodyFileMark] = []) {
        self.number = number
        self.url = url
        self.bodyFiles = bodyFiles
    }
}

/// Only what can be told: never a credential.
package final class ChallengeRecord: Sendable {
    package let method: String
    package let host: String
    package let realm: String?
    package let level: String
    package let disposition: String
    package let previousFailureCount: Int
    package init(
        method: String, host: String, realm: String?, level: String, disposition: String, previousFailureCount: Int
    ) {
        self.method = method
        self.host = host
        self.realm = realm
        self.level = level
        self.disposition = disposition
        self.previousFailureCount = previousFailureCount
    }
}

package final class RedirectRecord: Sendable {
    package enum Action: String, CaseIterable, Sendable { case followed, refused, accepted }
    package let status: Int
    package let from: String
    package let to: String
    /// Of the next request.
    package let method: String
    package let action: Action
    /// Headers taken off, spelled as they had been sent.
    package let stripped: [String]
    package init(status: Int, from: String, to: String, method: String, action: Action, stripped: [String]) {
        self.status = status
        self.from = from
        self.to = to
        self.method = method
        self.action = action
        self.stripped = stripped
    }

    /// The same where nothing goes: it turned out that nothing may.
    package var refused: RedirectRecord {
        RedirectRecord(status: status, from: from, to: to, method: method, action: .refused, stripped: stripped)
    }
}

/// The final response of an attempt, known at its headers.
package final class ResponseRecord: Sendable {
    /// `nil` for schemes without statuses.
    package let status: Int?
    package let url: String
    /// Of the request that was answered, after redirects.
    package let method: String
    package let mimeType: String?
    package let charset: String?
    package let expectedLength: Int64?
    package let suggestedFilename: String?
    package let contentEncoding: String?
    package let headers: HeaderBlock
    package init(
        status: Int?, url: String, method: String, mimeType: String?, charset: String?, expectedLength: Int64?,
        suggestedFilename: String?, contentEncoding: String?, headers: HeaderBlock
    ) {
        self.status = status
        self.url = url
        self.method = method
        self.mimeType = mimeType
        self.charset = charset
        self.expectedLength = expectedLength
        self.suggestedFilename = suggestedFilename
        self.contentEncoding = contentEncoding
        self.headers = headers
    }
}

/// A file that stands under its final name.
package final class FileRecord: Sendable {
    /// Absolute; the report shortens it to the job's folder.
    package let path: String
    package let bytes: Int64
    package let checksum: Checksum?
    /// Whether the destination's content is another than before.
    package let changed: Bool
    /// The end of the body was not proved by a length, a last chunk or a checksum.
    package let lengthUnverified: Bool
    /// Of the file as it was named, where somebody wants to know it again; no event tells it.
    package let stamp: FileStamp?
    /// Of its bytes, as `QuickSum` makes it, where that may be asked for later.
    package let sum: Int64?
    package init(
        path: String, bytes: Int64, checksum: Checksum?, changed: Bool, lengthUnverified: Bool,
        stamp: FileStamp? = nil, sum: Int64? = nil
    ) {
        self.sum = sum
        self.path = path
        self.bytes = bytes
        self.checksum = checksum
        self.changed = changed
        self.lengthUnverified = lengthUnverified
        self.stamp = stamp
    }
}

/// The end of one attempt, with its requests.
package final class AttemptRecord: Sendable {
    package let number: Int
    package let url: String
    package let outcome: TaskOutcome
    package let resumedFrom: Int64
    /// Why what an earlier attempt had left could not be continued.
    package let startedOver: String?
    package let startedAt: WallTime
    package let duration: TimeSpan
    package let error: TransferError?
    /// The wait before the next attempt; `nil` when there is none.
    package let backoff: TimeSpan?
    package let transactions: [TransactionMetrics]
    package init(
        number: Int, url: String, outcome: TaskOutcome, resumedFrom: Int64, startedOver: String? = nil,
        startedAt: WallTime, duration: TimeSpan,
        error: TransferError?, backoff: TimeSpan?, transactions: [TransactionMetrics]
    ) {
        self.number = number
        self.url = url
        self.outcome = outcome
        self.resumedFrom = resumedFrom
        self.startedOver = startedOver
        self.startedAt = startedAt
        self.duration = duration
        self.error = error
        self.backoff = backoff
        self.transactions = transactions
    }
}

/// What a session's cache made of an answer that came from the network.
package struct CacheRecord: Hashable, Sendable {
    /// Why it was not kept; `nil`: it was.
    package let refusal: String?
    package init(refusal: String?) { self.refusal = refusal }
}

/// One part of an answer that came in several, each in the place of the one before.
package struct AnswerPart: Sendable {
    package let headers: HeaderBlock
    /// What of it is shown.
    package let body: [UInt8]
    /// Of it as it came.
    package let size: Int64

    /// `size` where what is shown has another.
    package init(headers: HeaderBlock, body: [UInt8], size: Int64? = nil) {
        self.headers = headers
        self.body = body
        self.size = size ?? Int64(body.count)
    }
}

/// The end of a task: its last event.
package final class TaskRecord: Sendable {
    package struct Wait: Hashable, Sendable {
        package var reason: WaitReason
        package var duration: TimeSpan
        package init(reason: WaitReason, duration: TimeSpan) {
            self.reason = reason
            self.duration = duration
        }
    }
    package let outcome: TaskOutcome
    package let tolerated: Bool
    /// `nil` where there is no destination.
    package let changed: Bool?
    package let source: ResultSource?
    /// In the order they began, each reason once.
    package let waits: [Wait]
    package let error: TransferError?
    /// A data or upload task's answer, whole up to its `maximumSize`.
    package let body: [UInt8]?
    package let parts: [AnswerPart]
    package let lengthUnverified: Bool
    package let captures: [Job.Variable]
    package let duration: TimeSpan
    /// For a task that did not succeed: one plain sentence, and what would help.
    package let explanation: String?
    /// `nil` where there was nothing to keep.
    package let cache: CacheRecord?
    package init(
        outcome: TaskOutcome, tolerated: Bool, changed: Bool?, source: ResultSource?, waits: [Wait],
        error: TransferError?, body: [UInt8]?, lengthUnverified: Bool, captures: [Job.Variable], duration: TimeSpan,
        explanation: String?, cache: CacheRecord? = nil, parts: [AnswerPart] = []
    ) {
        self.parts = parts
        self.cache = cache
        self.outcome = outcome
        self.tolerated = tolerated
        self.changed = changed
        self.source = source
        self.waits = waits
        self.error = error
        self.body = body
        self.lengthUnverified = lengthUnverified
        self.captures = captures
        self.duration = duration
        self.explanation = explanation
    }
}

/// The end of a session: what its connections did.
package final class SessionRecord: Sendable {
    package struct Host: Hashable, Sendable {
        package var origin: Origin
        package var peakConnections: Int
        package var tasks: Int
        package init(origin: Origin, peakConnections: Int, tasks: Int) {
            self.origin = origin
            self.peakConnections = peakConnections
            self.tasks = tasks
        }
    }
    package let connectionsOpened: Int
    package let connectionsReused: Int
    package let hosts: [Host]
    package init(connectionsOpened: Int, connectionsReused: Int, hosts: [Host]) {
        self.connectionsOpened = connectionsOpened
        self.connectionsReused = connectionsReused
        self.hosts = hosts
    }
}

/// The end of the run.
package final class RunRecord: Sendable {
    package struct Group: Hashable, Sendable {
        package var name: String
        package var published: Bool
        package var error: TransferError?
        package init(name: String, published: Bool, error: TransferError?) {
            self.name = name
            self.published = published
            self.error = error
        }
    }
    package let outcome: RunOutcome
    package let exitStatus: Int
    package let duration: TimeSpan
    package let groups: [Group]
    package init(outcome: RunOutcome, exitStatus: Int, duration: TimeSpan, groups: [Group] = []) {
        self.outcome = outcome
        self.exitStatus = exitStatus
        self.duration = duration
        self.groups = groups
    }
}

/// Something that folds events: the report, lines of JSON, progress. It is given every event once and in order, in
/// batches, always on one thread.
package protocol EventConsumer: AnyObject {
    func consume(_ events: ArraySlice<Event>) throws
    /// When `tick` is to be called though no event came.
    var nextTick: WallTime? { get }
    func tick(_ now: WallTime) throws
}

extension EventConsumer {
    package var nextTick: WallTime? { nil }
    package func tick(_ now: WallTime) {}
}
