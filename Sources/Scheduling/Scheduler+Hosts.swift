import TransferModel

// What answers and failures say of a host.

extension Scheduler {
    /// The origin where the task's attempt is or was; `nil` for what needs no connection.
    func origin(of task: TaskIndex) -> OriginID? { slots.lanes[Int(tasks[task].lane)].origin }

    /// The head of an answer: whatever it says, the host is there.
    mutating func answered(_ task: TaskIndex, _ answer: Answer) {
        let index = Int(task.raw)
        guard tasks[index].holdsSlot, let origin = origin(of: task) else { return }
        if answer.isFurther, loans.answered(task) {
            slots.requestAnswered(origin)
        } else if tasks[index].awaitsAnswer {
            tasks[index].awaitsAnswer = false
            slots.requestAnswered(origin)
        }
        if let quota = answer.quota, plan.policies[policyNumber(of: task)].retry.honorsRetryAfter {
            slots.learn(origin, quota, at: now.instant)
        }
        slots.hostAnswered(origin)
        tasks[index].chargedProbes = 0
        // What a failure means for its host shows with the attempt's end: it may say for how long to wait.
        if answer.status != 429, !answer.isServerError { slots.hostIsWell(origin, at: now.instant) }
        if answer.status != 429, answer.status != 503, !answer.isFurther { measureAnswer(task) }
    }

    /// No answer yet, but it shows that the host is there.
    mutating func heard(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].holdsSlot, let origin = origin(of: task) else { return }
        tasks[index].wasHeard = true
        tasks[index].chargedProbes = 0
        slots.hostAnswered(origin)
        slots.hostIsWell(origin, at: now.instant)
    }

    /// Bytes of a body moved. Those of one that is sent before its answer show that others need not wait for the host.
    mutating func bytesMoved(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].awaitsAnswer, tasks[index].holdsSlot, let origin = origin(of: task) else { return }
        slots.hostTookBytes(origin, of: task)
    }

    /// A whole answer shows that the host is well, whether or not its head was told.
    mutating func wholeAnswer(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, let origin = origin(of: task) else { return }
        // Or it came out of a cache.
        if tasks[index].holdsSlot { slots.hostAnswered(origin) }
        slots.probeSucceeded(origin, by: task)
    }

    /// Parks the host if the failure of an attempt says so. `asked` is a `Retry-After` that the policy honours. Returns
    /// whether the failure counts as one of each task that waits for the host.
    mutating func judgeHost(
        of task: TaskIndex, _ error: TransferError, _ verdict: Verdict, asked: TimeSpan?, backoff: TimeSpan
    ) -> Bool {
        let index = Int(task.raw)
        guard let origin = origin(of: task) else { return false }
        let policy = policy(of: task).retry
        if verdict.saysBusy { measureRefusal(task, verdict.status == 429 ? .tooManyRequests : .unavailable) }
        if asked != nil || verdict.status == 429 {
            // For a pause that is too long to wait for, no task is held back.
            if asked ?? .zero <= policy.maximumRetryAfter {
                park(origin, for: asked, orBackoff: backoff, of: task)
            } else {
                slots.endProbe(origin, of: task)
            }
            return false
        }
        if verdict.isServerError {
            // The probe met a host that still has more to do than it can: the next one comes after a pause.
            if verdict.saysBusy, slots[origin].health.isProbed(by: task) {
                park(origin, for: nil, orBackoff: backoff, of: task)
            } else {
                slots.hostAnsweredBadly(origin, task)
            }
            return false
        }
        guard verdict.status == nil, !tasks[index].wasHeard, error.name.saysNobodyAnswered else {
            slots.endProbe(origin, of: task)
            return false
        }
        // One that never answered is down, however many connections it would bear.
        if slots[origin].health.hasAnswered { measureRefusal(task, .noAnswer) }
        let consequence = slots.requestFailed(
            origin, of: task, begunAt: tasks[index].attemptBeganAt, at: now.instant, hungUp: error.name.saysHungUp,
            isStream: slots.lanes[Int(tasks[index].lane)].isShared)
        if consequence == .park || consequence == .parkAndCharge {
            parkUnanswered(origin, policy, by: retryDeadline(of: task, at: [origin]))
        }
        return consequence == .parkAndCharge
    }

    private mutating func park(
        _ origin: OriginID, for asked: TimeSpan?, orBackoff backoff: TimeSpan, of task: TaskIndex
    ) {
        let pause = asked ?? shortened(backoff, inTime: retryDeadline(of: task, at: [origin]))
        slots.park(origin, for: pause, at: now.instant, &timers)
    }

    /// A further request of an attempt that goes on was one too many: that is judged like any other answer of its host.
    mutating func turnedAway(_ task: TaskIndex, _ origin: OriginID, status: Int, _ retryAfter: TimeSpan?) {
        let policy = policy(of: task).retry
        let asked = policy.honorsRetryAfter ? retryAfter : nil
        guard tasks[task].holdsSlot, asked ?? .zero <= policy.maximumRetryAfter else { return }
        measureRefusal(task, .tooManyRequests)
        guard asked != nil || status == 429 else { return slots.hostAnsweredBadly(origin, task) }
        let delay = asked ?? policy.pause(after: tasks[task].tries, &random)
        slots.park(origin, for: delay, at: now.instant, &timers)
    }

    /// Releases the probe when the attempt's outcome says nothing about the health of its last host.
    mutating func tellsNothing(_ task: TaskIndex) {
        if let origin = origin(of: task) { slots.endProbe(origin, of: task) }
    }

    /// `deadline` is that of the task that found it: so that the last attempt is not late, the host is probed by then.
    private mutating func parkUnanswered(_ origin: OriginID, _ policy: RetryPolicy, by deadline: Instant?) {
        let delay = policy.park(after: UInt32(slots[origin].health.parks + 1), &random)
        slots.park(origin, for: shortened(delay, inTime: deadline), at: now.instant, &timers)
    }
}
