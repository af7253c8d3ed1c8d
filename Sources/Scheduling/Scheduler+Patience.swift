import TransferModel

// How long a failing task is tried: `retry.for`.

extension Scheduler {
    /// Until when the task is tried that fails at these origins; `nil` where no time bounds it. At hosts none of which
    /// answered in this run it is tried for a minute at most.
    ///
    /// A background session is bounded by its `timeoutForResource`, and by a `for` only where that is written.
    func retryDeadline(of task: TaskIndex, at origins: [OriginID?]) -> Instant? {
        let policy = plan.policies[policyNumber(of: task)].retry
        let isPatient = plan.sessions[Int(plan.tasks[Int(task.raw)].session.raw)].isPatient
        guard var patience = isPatient ? policy.writtenPatience : policy.patience,
            let since = retries.failingSince(task, slots.hosts)
        else { return nil }
        if !isPatient, isUnanswered(origins) { patience = min(patience, RetryPolicy.unansweredPatience) }
        return since + patience
    }

    /// Whether none of the hosts answered in this run.
    func isUnanswered(_ origins: [OriginID?]) -> Bool {
        origins.allSatisfy { origin in
            guard let origin, Int(origin.raw) < slots.hosts.count else { return false }
            return !slots[origin].health.hasAnswered
        }
    }

    /// Notes that an attempt of the task failed, which begins the clock of `retry.for` or lets it run on.
    mutating func noteFailure(of task: TaskIndex, _ error: TransferError, _ verdict: Verdict) {
        if verdict.wentFurther { retries.forget(task) }
        retries.attemptFailed(
            of: task, by: error, begunAt: tasks[task].attemptBeganAt, at: now.instant, slots.hosts)
    }

    /// The error of a task that a time limit ends. A limit is no cause: what the task's attempts failed by comes first.
    func timedOut(_ task: TaskIndex, otherwise error: TransferError) -> TransferError {
        retries.cause(of: task).map { error.following($0.error, times: $0.count) } ?? error
    }

    /// The error of a task whose `timeoutForResource` is over.
    func resourceTimedOut(_ task: TaskIndex) -> TransferError {
        let limit = plan.policies[policyNumber(of: task)].timeoutForResource
        if case .awaitingConditions = tasks[task].phase {
            return .resourceTimedOut(limit, "it waited for a network that it may use")
        }
        return timedOut(task, otherwise: .resourceTimedOut(limit))
    }

    /// Whether the task may begin another attempt as far as time goes.
    func hasPatience(_ deadline: Instant?) -> Bool { deadline.map { now.instant < $0 } ?? true }

    /// The pause, shortened where it would end after the deadline: the last attempt begins then.
    func shortened(_ pause: TimeSpan, _ deadline: Instant?) -> TimeSpan {
        deadline.map { min(pause, max(.zero, $0 - now.instant)) } ?? pause
    }

    /// The same for a host's park, which a deadline that is over does not shorten: other tasks wait on.
    func shortened(_ park: TimeSpan, inTime deadline: Instant?) -> TimeSpan {
        hasPatience(deadline) ? shortened(park, deadline) : park
    }

    /// Whether a wait that a server asks for ends after the deadline.
    func isTooLong(_ asked: TimeSpan, _ deadline: Instant?) -> Bool {
        deadline.map { now.instant + asked > $0 } ?? false
    }

    /// The error of a task that is given up, with the reason where that is the host's silence.
    func givenUp(
        _ task: TaskIndex, _ error: TransferError, at origins: [OriginID?], _ deadline: Instant?
    ) -> TransferError {
        guard !hasPatience(deadline), isUnanswered(origins),
            !plan.sessions[Int(plan.tasks[Int(task.raw)].session.raw)].isPatient,
            let patience = plan.policies[policyNumber(of: task)].retry.patience,
            patience > RetryPolicy.unansweredPatience
        else { return error }
        return error.ofSilentHost
    }
}
