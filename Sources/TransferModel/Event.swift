/// One thing that happened in a run: a small header and a shared, immutable payload.
///
/// Everything that people and programs see (report, lines of JSON, progress, exit status) is computed from these.
package struct Event: Sendable {
    /// When it happened.
    package var time: WallTime
    /// The event's number in the run, counted by one from 1.
    package var sequence: UInt64
    /// The session that it belongs to; `nil` for the run's own events.
    package var session: SessionIndex?
    /// The task that it belongs to; `nil` for events of a session or of the run.
    package var task: TaskIndex?
    /// What happened.
    package var kind: Kind

    package init(time: WallTime, sequence: UInt64, session: SessionIndex?, task: TaskIndex?, kind: Kind) {
        self.time = time
        self.sequence = sequence
        self.session = session
        self.task = task
        self.kind = kind
    }

    /// What happened, with its payload.
    package enum Kind: Sendable {
        case sessionStarted
        case taskCreated
        /// A template became tasks, which follow after all others of the run: the template's last event.
        case expanded(Expansion)
        case taskResumed
        /// The task waits; `lacks` says in words which networks or what power there is and why these do not serve, if
        /// there is more to say.
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
        /// A page of a task with `next` was fetched.
        case pageFinished(PageRecord)
        case attemptFinished(AttemptRecord)
        case taskFinished(TaskRecord)
        /// The `onFinish` command of a task has ended. An event of the task's session: the task itself has ended before.
        case hookFinished(HookRecord)
        /// A group was published. An event of the run.
        case groupPublished(GroupRecord)
        /// The session's number of connections to a host changes, where it is found by what the host bears.
        case connectionsChanged(ConnectionStep)
        case sessionFinishedEvents
        case sessionInvalidated(SessionRecord)
        case runFinished(RunRecord)
    }

    /// How many bytes of a body have moved.
    package struct Progress: Hashable, Sendable {
        /// Bytes so far.
        package var bytes: Int64
        /// Bytes of the whole body; `nil` when the server did not say.
        package var expected: Int64?
        package init(bytes: Int64, expected: Int64?) {
            self.bytes = bytes
            self.expected = expected
        }
    }
}

/// What held a task back before a byte moved. The waits and the attempts together are the task's duration.
package enum WaitReason: String, CaseIterable, Sendable {
    case dependency, hostLimit, sessionLimit, runLimit, requestRate, backoff, retryAfter, hostParked, network, power
    case window, bandwidth, earliestBegin, suspended, credential, flush, processLimit
}

/// How a task or an attempt ended; `skipped`: a task it needs did not succeed, `deferred`: put off to another run.
package enum TaskOutcome: String, CaseIterable, Sendable { case succeeded, failed, cancelled, skipped, deferred }
/// How the run ended; `cancelled`: by a signal, `deferred`: tasks are left for another run.
package enum RunOutcome: String, CaseIterable, Sendable { case succeeded, failed, cancelled, deferred }
/// Where a task's result came from: the network, the cache with or without asking the server, the file that was right
/// already, a partial file that was continued, or no network at all (`file:`, `data:`, another task's file).
package enum ResultSource: String, CaseIterable, Sendable {
    case network, cache, revalidated, unchanged, resumed, local
}

/// The begin of an attempt.
package final class AttemptStart: Sendable {
    /// The attempt's number, from 1.
    package let number: Int
    /// The URL of the attempt's first request.
    package let url: String
    /// The files that the task sends, in the order of its body; written to the journal and not shown to people.
    package let bodyFiles: [BodyFileMark]
    package init(number: Int, url: String, bodyFiles: [BodyFileMark] = []) {
        self.number = number
        self.url = url
        self.bodyFiles = bodyFiles
    }
}

/// A server's or proxy's request for authentication and what was done about it; it never holds a credential.
package final class ChallengeRecord: Sendable {
    /// The kind of challenge: a raw value of `ChallengeRule.Method` or the name of an HTTP authentication method.
    package let method: String
    /// The host that asked, as `host:port`.
    package let host: String
    /// The realm that it named; `nil` if it named none.
    package let realm: String?
    /// Whether a rule of the `session` or of the `task` level decided.
    package let level: String
    /// What was done: a raw value of `ChallengeRule.Disposition`.
    package let disposition: String
    /// How often credentials were rejected there before.
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

/// A redirect and what was done about it.
package final class RedirectRecord: Sendable {
    /// What was done: followed, refused, or taken as the result (`onRefuse: accept`).
    package enum Action: String, CaseIterable, Sendable { case followed, refused, accepted }
    /// The status of the response.
    package let status: Int
    /// The URL that was redirected.
    package let from: String
    /// The URL that it leads to.
    package let to: String
    /// The method of the next request.
    package let method: String
    /// What was done about it.
    package let action: Action
    /// Headers that the next request leaves out, spelled as they had been sent.
    package let stripped: [String]
    package init(status: Int, from: String, to: String, method: String, action: Action, stripped: [String]) {
        self.status = status
        self.from = from
        self.to = to
        self.method = method
        self.action = action
        self.stripped = stripped
    }

    /// This redirect, refused after all.
    package var refused: RedirectRecord {
        RedirectRecord(status: status, from: from, to: to, method: method, action: .refused, stripped: stripped)
    }
}

/// The final response of an attempt, known at its headers.
package final class ResponseRecord: Sendable {
    /// The HTTP status; `nil` for schemes without statuses.
    package let status: Int?
    /// The URL that answered, after redirects.
    package let url: String
    /// Method of the request that was answered, after redirects.
    package let method: String
    /// The type without parameters; `nil` if it is unknown.
    package let mimeType: String?
    /// The type's `charset` parameter; `nil` if there is none.
    package let charset: String?
    /// Bytes of the body as it is sent, packed if it is; `nil` if the server did not say.
    package let expectedLength: Int64?
    /// File name from `Content-Disposition` or the URL, made safe; `nil` if there is none.
    package let suggestedFilename: String?
    /// `Content-Encoding` as it was sent; `nil` if there is none.
    package let contentEncoding: String?
    /// The header lines as they were sent.
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
    /// Absolute path, which the report shortens to the job's folder; or `s3://bucket/key`, or `-` for standard output.
    package let path: String
    /// Length of the file in bytes.
    package let bytes: Int64
    /// Checksum of the file: of the kind that the job or the server named, else `xxh3`; `nil` for a file that stayed as it
    /// was and of which none is known.
    package let checksum: Checksum?
    /// Whether the destination has other content than before.
    package let changed: Bool
    /// Whether no length, last chunk or checksum proved where the body ended.
    package let lengthUnverified: Bool
    /// Size, time and identity of the file, where it is to be recognised later; not shown to people.
    package let stamp: FileStamp?
    package init(
        path: String, bytes: Int64, checksum: Checksum?, changed: Bool, lengthUnverified: Bool,
        stamp: FileStamp? = nil
    ) {
        self.path = path
        self.bytes = bytes
        self.checksum = checksum
        self.changed = changed
        self.lengthUnverified = lengthUnverified
        self.stamp = stamp
    }

    /// Whether it is a file of this machine, and not an object of a store or what went to standard output.
    package var isLocal: Bool { path != "-" && !ObjectPlace.isMeant(by: path) }

    /// Returns the record of the file as the object that was put.
    package func put(at object: String) -> FileRecord {
        FileRecord(path: object, bytes: bytes, checksum: checksum, changed: true, lengthUnverified: lengthUnverified)
    }
}

/// The end of an attempt, with its requests.
package final class AttemptRecord: Sendable {
    /// The attempt's number, from 1.
    package let number: Int
    /// The URL of the attempt's first request.
    package let url: String
    /// How the attempt ended.
    package let outcome: TaskOutcome
    /// Offset in bytes at which the body of a download or upload was continued; 0 for a new beginning.
    package let resumedFrom: Int64
    /// Why the partial file of an earlier attempt could not be continued; `nil` where it was, or where there was none.
    package let startedOver: String?
    /// When the attempt began.
    package let startedAt: WallTime
    /// Time from the attempt's begin to its end.
    package let duration: TimeSpan
    /// Why it failed or was cancelled; `nil` if it succeeded.
    package let error: TransferError?
    /// Pause before the next attempt; `nil` when there is none.
    package let backoff: TimeSpan?
    /// The attempt's requests, by the time they began.
    package let transactions: [TransactionMetrics]
    /// When the task's last attempt begins at the latest; `nil` when none follows, or no time bounds them.
    package let retriesUntil: WallTime?
    package init(
        number: Int, url: String, outcome: TaskOutcome, resumedFrom: Int64, startedOver: String? = nil,
        startedAt: WallTime, duration: TimeSpan,
        error: TransferError?, backoff: TimeSpan?, transactions: [TransactionMetrics], retriesUntil: WallTime? = nil
    ) {
        self.retriesUntil = retriesUntil
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

/// Whether a session's cache kept an answer that came from the network.
package struct CacheRecord: Hashable, Sendable {
    /// Why the answer was not kept, as a sentence; `nil`: it was kept.
    package let refusal: String?
    package init(refusal: String?) { self.refusal = refusal }
}

/// One part of a `multipart/x-mixed-replace` answer, where each part replaces the one before.
package struct AnswerPart: Sendable {
    /// The part's header lines.
    package let headers: HeaderBlock
    /// The bytes of the part that reports show, at most.
    package let body: [UInt8]
    /// Length of the part in bytes, as it was received.
    package let size: Int64

    /// `size` is given where `body` is not the whole part.
    package init(headers: HeaderBlock, body: [UInt8], size: Int64? = nil) {
        self.headers = headers
        self.body = body
        self.size = size ?? Int64(body.count)
    }
}

/// The end of a task: its last event.
package final class TaskRecord: Sendable {
    /// Time that a task spent waiting for one reason.
    package struct Wait: Hashable, Sendable {
        /// What the task waited for.
        package var reason: WaitReason
        /// The time that it waited in all.
        package var duration: TimeSpan
        package init(reason: WaitReason, duration: TimeSpan) {
            self.reason = reason
            self.duration = duration
        }
    }
    /// How the task ended.
    package let outcome: TaskOutcome
    /// Whether the task failed and `allowFailure` lets that pass.
    package let tolerated: Bool
    /// Whether the destination has other content than before; `nil` where there is no destination.
    package let changed: Bool?
    /// Where the result came from; `nil` where there is none.
    package let source: ResultSource?
    /// What the task waited for, in the order in which the waits began, each reason once.
    package let waits: [Wait]
    /// Why the task did not succeed; `nil` if it did.
    package let error: TransferError?
    /// The answer of a data or upload task, whole up to its `maximumSize`; `nil` where there is none.
    package let body: [UInt8]?
    /// The parts of an answer that came in several; else empty.
    package let parts: [AnswerPart]
    /// Whether no length, last chunk or checksum proved where the body ended.
    package let lengthUnverified: Bool
    /// The values that the task captured; secret ones are masked.
    package let captures: [Job.Variable]
    /// Time from the task's creation to its end.
    package let duration: TimeSpan
    /// One plain sentence about a task that did not succeed, and what would help; `nil` for one that did.
    package let explanation: String?
    /// Whether the cache kept the answer; `nil` where there was none to keep.
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

/// The end of a session, with numbers of its connections.
package final class SessionRecord: Sendable {
    /// What the session did at one origin.
    package struct Host: Hashable, Sendable {
        /// The origin.
        package var origin: Origin
        /// Most requests at a time: the number that `maximumConnectionsPerHost` bounds.
        package var peakConnections: Int
        /// Tasks that held a slot there.
        package var tasks: Int
        package init(origin: Origin, peakConnections: Int, tasks: Int) {
            self.origin = origin
            self.peakConnections = peakConnections
            self.tasks = tasks
        }
    }
    /// Connections that were made.
    package let connectionsOpened: Int
    /// Requests that used a connection of an earlier one.
    package let connectionsReused: Int
    /// The origins that the session had requests at.
    package let hosts: [Host]
    package init(connectionsOpened: Int, connectionsReused: Int, hosts: [Host]) {
        self.connectionsOpened = connectionsOpened
        self.connectionsReused = connectionsReused
        self.hosts = hosts
    }
}

/// The end of the run: its last event.
package final class RunRecord: Sendable {
    /// How a group ended.
    package struct Group: Hashable, Sendable {
        /// The group's name in the job file.
        package var name: String
        /// Whether its members are in place.
        package var published: Bool
        /// Why its folder could not be exchanged, or why the published one may not survive a power cut; `nil`
        /// otherwise, and where only a member is missing.
        package var error: TransferError?
        package init(name: String, published: Bool, error: TransferError?) {
            self.name = name
            self.published = published
            self.error = error
        }
    }
    /// How the run ended.
    package let outcome: RunOutcome
    /// The exit status that the run leads to.
    package let exitStatus: Int
    /// Time from the run's begin to its end.
    package let duration: TimeSpan
    /// The run's groups, in the order of the job.
    package let groups: [Group]
    package init(outcome: RunOutcome, exitStatus: Int, duration: TimeSpan, groups: [Group] = []) {
        self.outcome = outcome
        self.exitStatus = exitStatus
        self.duration = duration
        self.groups = groups
    }
}

/// Computes something from events: the report, lines of JSON, the progress. It gets every event once and in order, in
/// batches, always on one thread.
package protocol EventConsumer: AnyObject {
    /// Takes the next events of the run.
    func consume(_ events: ArraySlice<Event>) throws
    /// When `tick` is to be called even if no event comes; `nil` for never.
    var nextTick: WallTime? { get }
    /// Does what is due at this time without an event.
    func tick(_ now: WallTime) throws
}

extension EventConsumer {
    /// No time: this consumer waits for events alone.
    package var nextTick: WallTime? { nil }
    /// Does nothing.
    package func tick(_ now: WallTime) {}
}
