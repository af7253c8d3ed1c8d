// The seam between deciding and doing: the scheduler speaks to an executor in these values and in nothing else.
// There are three executors: the curl engine, the modelled world of a simulation, a background session seen from
// the command. A grant is per request: redirect hops and segments ask anew, and an attempt gives its slot back
// before it asks at another origin, so nothing can deadlock. Nor can what is lent: nobody waits for it.

/// From the scheduler to the executor.
package enum ExecutorCommand: Hashable, Sendable {
    /// Begin attempt `number` of the task, where an earlier one stopped if that can be resumed. A slot at the origin of
    /// its first request is granted with it.
    case start(TaskIndex, attempt: Int, mirror: Int)
    /// The slot that the task asked for with `needsGrant`.
    case grant(TaskIndex, OriginID)
    /// A slot more at the origin where the attempt holds its own, for a further request beside it.
    case lend(TaskIndex, OriginID)
    /// Somebody waits for a slot like the ones that the attempt was lent: it stops what it uses one for, and gives that
    /// back.
    case recall(TaskIndex, OriginID)
    /// The body may move so many bytes more, in either direction. Only tasks under a `bandwidth` need credit; what was
    /// read at once may exceed it, and is made up for later.
    case credit(TaskIndex, bytes: Int64)
    /// Ends the attempt; `ended` comes for it all the same. With `keepPartial`, what can be resumed is kept. A suspended
    /// transfer is ended so and started again later: a server closes a connection on which nothing moves.
    case cancel(TaskIndex, keepPartial: Bool)
    /// All members of the group are verified: put them in place in one step.
    case publish(GroupIndex)
    /// Where that waits for somebody else who is at the same place, it need not wait any longer. What is being done is done.
    case giveUp(GroupIndex)
    /// The group will not be published.
    case discard(GroupIndex)
}

/// From the executor to the scheduler.
package enum ExecutorReport: Sendable {
    /// Bytes moved in either direction since the last such report.
    case moved(TaskIndex, bytes: Int64)
    /// The attempt goes on with another request, here or elsewhere, and waits for a slot there. It holds none now.
    /// `isAlone`: on a connection that it shares with no other stream.
    case needsGrant(TaskIndex, OriginID, isAlone: Bool = false)
    /// The attempt gave back its slot at this origin. Comes before `ended` for the last one held.
    case released(TaskIndex, OriginID)
    /// The same, and nothing was sent under it. The attempt will ask for another when it knows more.
    case unused(TaskIndex, OriginID)
    /// So many slots beside its own the attempt could use there, those it has been lent among them. Nobody waits for
    /// them: they are lent when they are free, and all given back before its own is.
    case couldUse(TaskIndex, OriginID, slots: Int)
    /// One of the lent slots is free; `wasAnswered` tells of the request that is over, under whichever slot it began.
    case gaveBack(TaskIndex, OriginID, wasAnswered: Bool)
    /// A request under a lent slot was answered 429 or 503. The attempt goes on without it.
    case turnedAway(TaskIndex, OriginID, retryAfter: TimeSpan?)
    /// All of the body was sent that the attempt's request has: what is left is its answer.
    case sentBody(TaskIndex)
    /// The last byte moved; only local work is left, which no limit on running tasks counts.
    case transferred(TaskIndex)
    /// The body is whole and verified, and waits until the tasks before it have written theirs to standard output. It is
    /// written even if the task is suspended now; only the end of the task stops it.
    case awaitsOutput(TaskIndex)
    case protocolIs(OriginID, HTTPProtocol)
    /// The head of an answer was read, while its slot is held.
    case answered(TaskIndex, Answer)
    /// The request's host said something that is no answer to it: that it keeps what comes of a body, or why it does not. No
    /// later end of the attempt is for want of an answer.
    case heard(TaskIndex)
    case ended(TaskIndex, Verdict)
    /// The end of `publish`.
    case published(GroupIndex, TransferError?)
}

package enum HTTPProtocol: Hashable, Sendable { case http1, http2 }

/// What the head of an answer tells of its host.
package struct Answer: Hashable, Sendable {
    package var status: Int
    package var quota: RequestQuota?
    /// To a request under a lent slot.
    package var isFurther: Bool
    package init(status: Int, quota: RequestQuota? = nil, isFurther: Bool = false) {
        self.status = status
        self.quota = quota
        self.isFurther = isFurther
    }
}

/// A server's own limit on requests, as its `RateLimit` headers tell it.
package struct RequestQuota: Hashable, Sendable {
    /// Requests that may still come before `resetsAfter` is over.
    package var remaining: Int
    package var resetsAfter: TimeSpan
    /// How many may come in each `window`, when the server told its policy.
    package var limit: Int?
    package var window: TimeSpan?
    package init(remaining: Int, resetsAfter: TimeSpan, limit: Int? = nil, window: TimeSpan? = nil) {
        self.remaining = remaining
        self.resetsAfter = resetsAfter
        self.limit = limit
        self.window = window
    }
}

/// How an attempt ended, as far as the scheduler must know to go on.
package struct Verdict: Sendable {
    package enum Outcome: Sendable {
        case succeeded
        case failed(TransferError)
        case cancelled(TransferError)
    }
    package var outcome: Outcome
    /// The last answer's status, when there was one.
    package var status: Int?
    /// What the server, or a proxy that opened no tunnel to it, asked for with `Retry-After`.
    package var retryAfter: TimeSpan?
    /// Whether a byte of a request was sent: a POST of which nothing was sent can be sent again.
    package var sentSomething: Bool
    /// Of the last request: what a retry would repeat.
    package var isIdempotent: Bool
    /// A request before the last one was answered, and must not be sent again, however busy the server says it is now.
    package var tookEffect = false
    /// The server holds what may be sent only once: another attempt goes on with it there, not at another of its `urls`.
    package var mayOnlyGoOn = false
    /// The attempt was ended because the network it used went away, or is none that its task may use any more: no fault
    /// of its host's.
    package var lostNetwork = false
    /// The server asked who it is that asks, and nobody knew.
    package var lacksCredential = false
    /// Not all of it was sent now: something was there of an earlier attempt, or kept in a cache; or a cut would look the
    /// same. If it was wrong, the next attempt asks for all of it.
    package var mayBeIncomplete = false

    /// What `limits.maximumBytes` leaves of the run is too little for a body that is all or nothing: it is put off.
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
    package var error: TransferError? {
        switch outcome {
        case .succeeded: nil
        case .failed(let error), .cancelled(let error): error
        }
    }
}

/// What the outside may ask of a run; signals, the control socket and conditions all post these to its one inbox.
package enum RunCommand: Hashable, Sendable {
    /// A first SIGINT, SIGTERM or SIGHUP: end cleanly, keep what can be resumed.
    case stop(signal: Int32)
    case suspend([TaskIndex])
    case resume([TaskIndex])
    case cancel([TaskIndex], keepPartial: Bool)
    /// Networks or power are not as they were.
    case conditions(Conditions)
    /// Stop carrying the run at once and tell no end: another process goes on with it.
    case leave
    /// Another is to go on with the run, and knows more of it. Attempts of `awaiting` cannot be made again: they come to
    /// their end first, the others are interrupted then.
    case makeWay(awaiting: Set<TaskIndex>)
}

/// Why a task was put off to the next run.
package enum Deferral: String, CaseIterable, Hashable, Sendable {
    case finishBy, maximumBytes, suspended
    // Under `--no-wait`.
    case network, power, window, earliestBegin
}
