import TransferModel

/// A failed attempt, with all that decides how its task goes on.
struct FailedAttempt: Sendable {
    /// What the failure shows of the attempt's host.
    enum Evidence: Sendable {
        case none
        /// The host is to be left alone for a while.
        case wantsQuiet
        /// The host answered with a failure of its own (5xx).
        case serverError
        /// The host did not answer.
        case noAnswer
    }

    let task: TaskIndex
    var error: TransferError
    let verdict: Verdict
    /// What the task was told to end with while the attempt ran.
    let ending: Ending?
    /// Whether the run lets the task begin again.
    let nextTry: RunEnding.NextTry
    /// How the attempt lost its network; `nil` where its failure is the host's.
    var loss: NetworkLoss?
    /// For how long the server asks to be left alone, where the policy honours that.
    var retryAfter: TimeSpan?
    /// The policy's pause before the next attempt.
    var backoff = TimeSpan.zero

    /// Whether the task was told to end, not only to be interrupted.
    var isToldToEnd: Bool { if case .finish? = ending { true } else { false } }

    /// How the task ends where it was told to end, or where the run lets it not begin again; `nil` where another
    /// attempt may follow.
    func givenEnding(otherwise error: TransferError?) -> AfterFailure? {
        if case .finish(let outcome, let error, let deferral)? = ending {
            return .finish(outcome, error, deferral, status: verdict.status)
        }
        return switch nextTry {
        case .allowed: nil
        case .deferred(let reason): .finish(.deferred, nil, reason, status: verdict.status)
        case .none: .finish(.failed, error, nil, status: verdict.status)
        }
    }

    /// The task's error where the server asks for a longer wait than the job allows; `nil` where it does not.
    func errorOfLongWait(_ policy: RetryPolicy, _ deadline: RetryDeadline) -> TransferError? {
        guard let retryAfter else { return nil }
        if retryAfter > policy.maximumRetryAfter {
            return error.adding(retryAfter: retryAfter, beyond: "`retry.retryAfter.maximum`")
        }
        guard deadline.isExceeded(by: retryAfter) else { return nil }
        return error.adding(retryAfter: retryAfter, beyond: "`retry.for` leaves")
    }

    /// Returns how a task goes on that cannot go to another place.
    func next(_ policy: RetryPolicy, hasTriesLeft: Bool, _ deadline: RetryDeadline) -> AfterFailure {
        func fail(_ error: TransferError) -> AfterFailure { .finish(.failed, error, nil, status: verdict.status) }
        if loss == .noRoute { return fail(error.asRefusal) }
        guard hasTriesLeft, policy.mayRepeat(verdict), policy.canHeal(error, verdict), !deadline.isOver else {
            return fail(deadline.explained(error))
        }
        let given = givenEnding(otherwise: error)
        // A task that was told to end ends so; a run that lets nothing begin again comes after the server's wish.
        if isToldToEnd, let given { return given }
        if let error = errorOfLongWait(policy, deadline) { return fail(error) }
        return given ?? pause(error, deadline, isLast: policy.canHealOnce(error, verdict))
    }

    /// Returns the wait for the next attempt: the policy's pause, or what the server asks for.
    private func pause(_ error: TransferError, _ deadline: RetryDeadline, isLast: Bool) -> AfterFailure {
        let pause = deadline.shortened(backoff)
        let until = isLast ? nil : deadline.end
        if let retryAfter, retryAfter > pause { return .backOff(error, retryAfter, .retryAfter, until: until) }
        return .backOff(error, pause, .backoff, until: until)
    }

    /// Returns what the failure shows of its host. `isProbe`: others wait for what this attempt shows. `wasHeard`: the
    /// host sent a sign of life.
    func evidence(_ policy: RetryPolicy, isProbe: Bool, wasHeard: Bool) -> Evidence {
        if retryAfter != nil || verdict.status == 429 {
            // For a pause that is too long to wait for, no task is held back.
            return retryAfter ?? .zero <= policy.maximumRetryAfter ? .wantsQuiet : .none
        }
        if verdict.isServerError {
            // The probe met a host that still has more to do than it can: the next one comes after a pause.
            return verdict.saysBusy && isProbe ? .wantsQuiet : .serverError
        }
        return verdict.status == nil && !wasHeard && error.name.saysNobodyAnswered ? .noAnswer : .none
    }
}

/// What follows a failed attempt.
enum AfterFailure: Sendable {
    case finish(TaskOutcome, TransferError?, Deferral?, status: Int?)
    /// Another attempt follows after a wait. `until` is when the last one begins at the latest, as people are told;
    /// `nil` without a bound, and where the next attempt is the last.
    case backOff(TransferError, TimeSpan, WaitReason, until: Instant?)
    /// Another attempt follows at once, at the next place, or when a network is there.
    case tryAgain(TransferError)
    /// The task waits for a credential, until it is resumed.
    case awaitCredential(TransferError)
}
