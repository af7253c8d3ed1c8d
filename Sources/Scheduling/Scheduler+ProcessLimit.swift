import TransferModel

// Attempts that fail because the process has no descriptor or thread left for them: that is no fault of the task or its
// host, and passes when others have ended.

extension Scheduler {
    /// Lets the task wait for the limits of the process. The attempt counts as no try, and says nothing of its host.
    /// Returns `false` where the failure is to be judged like any other: it is of another kind, the request must not be
    /// sent again, the task is to end, or its `retry.for` is over.
    mutating func awaitsProcess(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?
    ) -> Bool {
        guard error.isOfProcessLimit, policy(of: task).retry.mayRepeat(verdict), nextTry(of: task) == .allowed else {
            return false
        }
        if case .finish = meant { return false }
        noteFailure(of: task, error, verdict)
        let deadline = processDeadline(of: task)
        guard hasPatience(deadline) else { return false }
        tellsNothing(task)
        let index = Int(task.raw)
        if isFreshRound(task), tasks[index].tries > 0 { tasks[index].tries -= 1 }
        tasks[index].networkFailures += 1
        backOff(
            task, error, shortened(processPause(after: tasks[index].networkFailures), deadline), .processLimit,
            until: deadline)
        return true
    }

    /// Until when the task is tried again; `nil` where only `timeoutForResource` bounds it.
    private func processDeadline(of task: TaskIndex) -> Instant? {
        let policy = plan.policies[policyNumber(of: task)].retry
        let isPatient = plan.sessions[Int(plan.tasks[Int(task.raw)].session.raw)].isPatient
        guard let patience = isPatient ? policy.writtenPatience : policy.patience,
            let since = retries.failingSince(task, slots.hosts)
        else { return nil }
        return since + patience
    }

    /// The pause after so many failures in a row: from a second to half a minute, half of it random, so that not all
    /// tasks ask at once. What a job says of its servers (`retry.backoff`) does not count here.
    private mutating func processPause(after failures: UInt32) -> TimeSpan {
        let longest = TimeSpan.seconds(min(30, Int64(1) << Int64(min(max(1, failures) - 1, 5))))
        let half = TimeSpan(nanoseconds: longest.nanoseconds / 2)
        return half + random.part(of: half)
    }
}
