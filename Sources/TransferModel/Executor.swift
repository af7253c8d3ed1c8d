// The seam between deciding and doing: the scheduler speaks to an executor in these values and in nothing else.
// There are three executors: the curl engine, the modelled world of a simulation, a background session seen from
// the command. A grant is per request: redirect hops and segments ask anew, and an attempt gives its slot back
// before it asks at another origin, so nothing can deadlock.

/// From the scheduler to the executor.
package enum ExecutorCommand: Hashable, Sendable {
    /// Begin attempt `number` of the task. A slot at the origin of its first request is granted with it.
    case start(TaskIndex, attempt: Int, mirror: Int)
    /// The slot that the task asked for with `needsGrant`.
    case grant(TaskIndex, OriginID)
    case pause(TaskIndex)
    case resume(TaskIndex)
    /// Ends the attempt; `ended` comes for it all the same. With `keepPartial`, what can be resumed is kept.
    case cancel(TaskIndex, keepPartial: Bool)
}

/// From the executor to the scheduler.
package enum ExecutorReport: Sendable {
    /// Bytes moved in either direction since the last such report.
    case moved(TaskIndex, bytes: Int64)
    /// The attempt goes on at another origin and waits for a slot there.
    case needsGrant(TaskIndex, OriginID)
    /// The attempt gave back its slot at this origin. Comes before `ended` for the last one held.
    case released(TaskIndex, OriginID)
    /// The last byte moved; only local work is left, which no limit on running tasks counts.
    case transferred(TaskIndex)
    case protocolIs(OriginID, HTTPProtocol)
    case ended(TaskIndex, Verdict)
}

package enum HTTPProtocol: Hashable, Sendable { case http1, http2 }

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
    /// What the server asked for with `Retry-After`.
    package var retryAfter: TimeSpan?
    /// Whether a byte of a request was sent: a POST of which nothing was sent can be sent again.
    package var sentSomething: Bool
    /// Of the last request: what a retry would repeat.
    package var isIdempotent: Bool

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

/// What the outside may ask of a run; signals, deadlines and conditions all post these to its one inbox.
package enum RunCommand: Hashable, Sendable {
    /// A first SIGINT or SIGTERM: end cleanly, keep what can be resumed.
    case stop(signal: Int32)
    /// The run's own time is over.
    case timeOut
    /// Nothing more is sent for these tasks until they are resumed; what they hold of the limits goes to others.
    case suspend([TaskIndex])
    case resume([TaskIndex])
    /// With `keepPartial`, what can be resumed is kept.
    case cancel([TaskIndex], keepPartial: Bool)
}
