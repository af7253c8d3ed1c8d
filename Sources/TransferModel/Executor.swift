// The interface between deciding and doing: the scheduler and an executor exchange these values and nothing else. There
// are two executors: the engine on libcurl and the simulated world. A slot is granted per request: redirect hops and
// segments ask for another, and an attempt releases its slot before it asks at another origin, so no deadlock is
// possible. Lent slots cannot cause one either, since no attempt waits for them.

/// A command from the scheduler to the executor.
package enum ExecutorCommand: Hashable, Sendable {
    /// Begin attempt `number` of the task, resuming an earlier one if that is possible. The slot for its first
    /// request's origin is granted with it.
    case start(TaskIndex, attempt: Int, mirror: Int)
    /// The attempt gets the slot that it asked for with `needsGrant`.
    case grant(TaskIndex, OriginID)
    /// The attempt gets a further slot at the origin where it holds its own, for a request beside its first.
    case lend(TaskIndex, OriginID)
    /// Another task waits for a slot like those lent to the attempt: the attempt stops a request that uses one, and
    /// gives the slot back.
    case recall(TaskIndex, OriginID)
    /// The body may move that many bytes more, in either direction. Only tasks under a `bandwidth` need credit; a read
    /// may exceed it, and later reads make up for that.
    case credit(TaskIndex, bytes: Int64)
    /// End the attempt; `ended` is reported all the same. With `keepPartial` what can be resumed is kept. A transfer is
    /// suspended by cancelling it and starting it again later, since a server closes a connection on which nothing
    /// moves.
    case cancel(TaskIndex, keepPartial: Bool)
    /// Keep nothing of the task's partial file, however the task ends.
    case discardPartial(TaskIndex)
    /// All members of the group are verified: put them in place in one step.
    case publish(GroupIndex)
    /// Stop waiting for another run that is publishing at the group's place. A publication that has begun is finished.
    case giveUp(GroupIndex)
    /// The group will not be published.
    case discard(GroupIndex)
}

/// A report from the executor to the scheduler.
package enum ExecutorReport: Sendable {
    /// Bytes moved in either direction since the last report of this kind.
    case moved(TaskIndex, bytes: Int64)
    /// The attempt continues with another request, at this or another origin, holds no slot now and waits for one.
    /// `isAlone`: on a connection that it shares with no other stream.
    case needsGrant(TaskIndex, OriginID, isAlone: Bool = false)
    /// The attempt released its slot at this origin; reported before `ended` for the last one.
    case released(TaskIndex, OriginID)
    /// The attempt released its slot without having sent anything under it, and asks for another when it knows more.
    case unused(TaskIndex, OriginID)
    /// The attempt could use that many slots there beside its own, lent ones included. It does not wait for them: they
    /// are lent when they are free, and all are given back before its own.
    case couldUse(TaskIndex, OriginID, slots: Int)
    /// One of the lent slots is free; `wasAnswered` tells whether the request that ended was answered, whichever slot
    /// it began under.
    case gaveBack(TaskIndex, OriginID, wasAnswered: Bool)
    /// A request under a lent slot was answered with 429 or 503. The attempt goes on without that request.
    case turnedAway(TaskIndex, OriginID, status: Int, retryAfter: TimeSpan?)
    /// The attempt waits until the journal has its beginning, and has sent nothing: it may still be interrupted.
    case awaitsRecord(TaskIndex)
    /// The journal has the attempt's beginning, and its request may be sent.
    case isRecorded(TaskIndex)
    /// A page of the task is whole. What fails from now on is the next page's, with all of its attempts.
    case turnedPage(TaskIndex)
    /// The whole body of the attempt's request was sent; its answer is still to come.
    case sentBody(TaskIndex)
    /// The last byte moved. Only local work is left, which no limit on running tasks counts.
    case transferred(TaskIndex)
    /// The body is whole and verified, and waits until earlier tasks have written theirs to standard output. It is
    /// written even if the task is suspended now; only the end of the task prevents that.
    case awaitsOutput(TaskIndex)
    /// The origin was found to speak this version of HTTP.
    case protocolIs(OriginID, HTTPProtocol)
    /// The head of an answer was read, while the request's slot is held.
    case answered(TaskIndex, Answer)
    /// The host sent something that is no answer: that it keeps what comes of a body, or why it refuses to. From now on
    /// the attempt cannot fail for want of an answer.
    case heard(TaskIndex)
    /// The attempt is over.
    case ended(TaskIndex, Verdict)
    /// The command `publish` is done; the error tells why it failed.
    case published(GroupIndex, TransferError?)
}

/// The version of HTTP that an origin speaks: it decides how requests share connections.
package enum HTTPProtocol: Hashable, Sendable { case http1, http2 }

/// What the head of an answer says about its host.
package struct Answer: Hashable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The host's own limit on requests; `nil` if it stated none.
    package var quota: RequestQuota?
    /// Whether the request ran under a lent slot.
    package var isFurther: Bool
    package init(status: Int, quota: RequestQuota? = nil, isFurther: Bool = false) {
        self.status = status
        self.quota = quota
        self.isFurther = isFurther
    }
}

/// A server's own limit on requests, from its `RateLimit` headers.
package struct RequestQuota: Hashable, Sendable {
    /// Requests that may still be sent before `resetsAfter` is over.
    package var remaining: Int
    /// Time until the server counts anew.
    package var resetsAfter: TimeSpan
    /// Requests that may be sent in each `window`; `nil` if the server did not state its policy.
    package var limit: Int?
    /// Length of the time in which requests are counted; `nil` if the server did not state its policy.
    package var window: TimeSpan?
    package init(remaining: Int, resetsAfter: TimeSpan, limit: Int? = nil, window: TimeSpan? = nil) {
        self.remaining = remaining
        self.resetsAfter = resetsAfter
        self.limit = limit
        self.window = window
    }
}

/// How an attempt ended, as far as the scheduler must know to decide what follows.
package struct Verdict: Sendable {
    /// Whether the attempt succeeded, and if not why.
    package enum Outcome: Sendable {
        case succeeded
        case failed(TransferError)
        case cancelled(TransferError)
    }
    /// How the attempt ended.
    package var outcome: Outcome
    /// The status of the last answer; `nil` without one.
    package var status: Int?
    /// The time that the server, or a proxy that refused a tunnel, asked for with `Retry-After`; `nil` for none.
    package var retryAfter: TimeSpan?
    /// Whether a byte of a request was sent: a POST of which nothing was sent can be sent again.
    package var sentSomething: Bool
    /// Whether the last request, the one that a retry would repeat, may be repeated.
    package var isIdempotent: Bool
    /// Whether a request before the last one was answered and must not be sent again, even if the server says now that
    /// it is busy.
    package var tookEffect = false
    /// Whether the server holds a body that may be sent only once: another attempt continues there, not at another of
    /// the task's `urls`.
    package var mayOnlyGoOn = false
    /// Whether the fault is the store's that the file is to go to: no other of the task's `urls` would help.
    package var isOfStore = false
    /// Whether the attempt was ended because its network went away or may no longer be used: its host is not to blame.
    package var lostNetwork = false
    /// Whether the attempt failed at a server that is not its own, which another attempt asked for it: its host is not
    /// to blame.
    package var isOfOtherHost = false
    /// Whether the server asked for authentication and no credential was known.
    package var lacksCredential = false
    /// Whether the body did not come from the server in full now: a part was there from an earlier attempt, it came
    /// from the cache, or a cut body would look the same. The next attempt asks for all of it.
    package var mayBeIncomplete = false

    /// Whether a cache on the way may have sent the wrong file, and the next attempt asks past all of them: once for each
    /// place of `urls`.
    package var mayBeOfACache = false
    /// Whether more of the body is there than before the attempt, and the next one goes on from it.
    package var wentFurther = false

    /// Whether `limits.maximumBytes` leaves too little of this run for a body that is all or nothing: the task is put
    /// off.
    package var isForNextRun = false

    package init(
        _ outcome: Outcome, status: Int? = nil, retryAfter: TimeSpan? = nil, sentSomething: Bool = false,
        isIdempotent: Bool = true
    ) {
        self.outcome = outcome
        self.status = status
        self.retryAfter = retryAfter
        self.sentSomething = sentSomething
        self.isIdempotent = isIdempotent
    }
}

extension Verdict {
    /// Why the attempt failed or was cancelled; `nil` if it succeeded.
    package var error: TransferError? {
        switch outcome {
        case .succeeded: nil
        case .failed(let error), .cancelled(let error): error
        }
    }
}

/// A command to a run from outside: signals, the control socket and changed conditions post these to the run's inbox.
package enum RunCommand: Hashable, Sendable {
    /// A first SIGINT, SIGTERM or SIGHUP: end cleanly and keep what can be resumed.
    case stop(signal: Int32)
    /// Pause these tasks until they are resumed.
    case suspend([TaskIndex])
    /// Start nothing from now on for this reason, or start again where no other is left. What runs goes on.
    case pauseStarts(StartPause, Bool)
    /// Let these tasks run, whether the job file or a command suspended them.
    case resume([TaskIndex])
    /// End these tasks; with `keepPartial` what can be resumed is kept.
    case cancel([TaskIndex], keepPartial: Bool)
    /// The networks or the power have changed.
    case conditions(Conditions)
    /// Stop carrying the run at once, without end events: another process continues it.
    case leave
    /// Hand the run to another process, which knows more tasks of it. Attempts of `awaiting` cannot be repeated: they
    /// run to their end first, then the others are interrupted.
    case makeWay(awaiting: Set<TaskIndex>)
}

/// Why a run starts no task for now.
package enum StartPause: Hashable, Sendable {
    /// Its events cannot be recorded.
    case unrecorded
    /// Its process carries other runs first.
    case awaitsTurn
}

/// Why a task was put off to the next run.
package enum Deferral: String, CaseIterable, Hashable, Sendable {
    case finishBy, maximumBytes, suspended
    // Under `--no-wait`.
    case network, power, window, earliestBegin
}
