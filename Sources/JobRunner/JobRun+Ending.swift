import Scheduling
import TransferEngine
import TransferModel

extension JobRun {
    /// Appends the event of an attempt's end, from the engine's result; `nil` when no attempt had begun.
    ///
    /// It lasted until `now`, when the scheduler heard of its end: what follows is a wait, and nothing lies between.
    ///
    /// `held` was waiting within it, and `staged` waiting after it. `error` replaces its own error in the event. `until`
    /// is when the task's last attempt begins at the latest.
    func endAttempt(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ backoff: TimeSpan?, error: TransferError? = nil, held: TimeSpan,
        staged: TimeSpan = .zero, until: Instant? = nil, _ now: Now
    ) -> AttemptResult? {
        guard let result = engine.takeResult(of: task) else {
            if past != nil { endEarlierAttempt(task, outcome, error, now) }
            return nil
        }
        let waited = result.waits.reduce(held + staged) { $0 + $1.duration }
        let duration = now.instant - result.startedAt.instant - waited
        // An attempt without an error succeeded, whatever happened to its group.
        let outcome = result.error == nil ? .succeeded : outcome
        log.append(
            .attemptFinished(
                AttemptRecord(
                    number: result.number, url: result.url, outcome: outcome, resumedFrom: result.resumedFrom,
                    startedOver: result.startedOver,
                    startedAt: result.startedAt.wall, duration: duration,
                    error: result.error.map { error ?? $0 }, backoff: backoff,
                    transactions: result.transactions, retriesUntil: until.map { now.wall + ($0 - now.instant) })),
            task: task, session: session(task))
        for wait in result.waits { Self.add(wait.reason, wait.duration, to: &tally.waitsInAttempts[task, default: []]) }
        return result
    }

    /// Adds a wait; each reason has one entry, whether the scheduler or the engine measured it.
    private static func add(_ reason: WaitReason, _ duration: TimeSpan, to waits: inout [TaskRecord.Wait]) {
        if let place = waits.firstIndex(where: { $0.reason == reason }) {
            waits[place].duration += duration
        } else {
            waits.append(TaskRecord.Wait(reason: reason, duration: duration))
        }
    }

    func taskFinished(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let specification = job.tasks[Int(task.raw)]
        let error = conclusion.error.map {
            named($0, conclusion.blame).namingTokenSource(of: specification, in: job)
        }
        let result = endAttempt(
            task, conclusion.outcome, nil, held: conclusion.held, staged: conclusion.staged, now)
        let file = result == nil ? past?.takeFile(task) : result?.file
        // Other tasks may look for a checksum in it.
        if result == nil, conclusion.outcome == .succeeded, let file {
            engine.checksums.knowFile(of: task, at: file.path)
        }
        let rows =
            result?.rows ?? (conclusion.outcome == .succeeded ? engine.rows.keepRows(of: task, at: file?.path) : [])
        var waits = conclusion.waits
        for wait in tally.waitsInAttempts.removeValue(forKey: task) ?? [] {
            Self.add(wait.reason, wait.duration, to: &waits)
        }
        let record = TaskRecord(
            outcome: conclusion.outcome, tolerated: conclusion.tolerated,
            changed: specification.type == .download
                ? changed(file, specification, conclusion) || result?.changedPage == true
                // An upload that was not needed has changed nothing.
                : file?.changed ?? (result?.source == .unchanged ? false : nil),
            source: conclusion.outcome == .succeeded ? result?.source ?? .network : nil, waits: waits,
            error: error,
            body: result?.body, lengthUnverified: result?.lengthUnverified ?? false,
            captures: conclusion.outcome == .succeeded
                ? shownCaptures(result?.captures ?? inherited.captures[specification.id], of: specification) : [],
            duration: conclusion.duration,
            explanation: Explanation.sentence(
                outcome: conclusion.outcome, error: error, waits: waits, attempts: conclusion.attempts,
                triedFor: conclusion.triedFor,
                deferral: conclusion.deferral, lacks: lack(of: task, conclusion.deferral),
                type: specification.type, retry: specification.options.values.policies.retry,
                unmet: unmet(conclusion, specification)), cache: result?.cache,
            parts: result?.parts ?? [])
        engine.taskEnded(task, conclusion.outcome)
        settings.heard?(
            OutsideEnd(
                id: specification.id, succeeded: conclusion.outcome == .succeeded || conclusion.tolerated,
                hasFailed: conclusion.outcome == .failed && !conclusion.tolerated, deferral: conclusion.deferral,
                captures: conclusion.outcome == .succeeded
                    ? (result?.captures ?? inherited.captures[specification.id] ?? []) + rows : []))
        tally.facts.count(record, type: specification.type)
        engine.answers.count(record, of: specification.id)
        log.append(.taskFinished(record), task: task, session: specification.session)
        if addHook(of: task, record, url: result?.url, path: file?.path, checksum: file?.checksum) { return }
        taskIsOver(specification.session)
    }

    /// Counts a task of the session as over: it has ended, and so has its `onFinish` command.
    func taskIsOver(_ session: SessionIndex) {
        tally.tasksLeft[Int(session.raw)] -= 1
        // More tasks may have been added: the process that takes the run over decides.
        if tally.tasksLeft[Int(session.raw)] == 0, !scheduler.isMakingWay { invalidate(session) }
    }

    /// Fills in the names of the tasks and groups that caused the error.
    private func named(_ error: TransferError, _ blame: Blame?) -> TransferError {
        guard let blame else { return error }
        var error = error
        error.message = blame.sentence(name)
        return error
    }

    private func name(_ need: Blame.Need) -> String? {
        switch need {
        case .task(let task): "`\(job.tasks[Int(task.raw)].id)`"
        case .group(let group): "the group `\(job.groups[Int(group.raw)].name)`"
        case .outside(let number): outside.ended.indices.contains(number) ? "`\(outside.ended[number])`" : nil
        }
    }

    /// Why the task was skipped without harm; `nil` where it was not.
    private func unmet(_ conclusion: Conclusion, _ task: TaskSpecification) -> String? {
        guard conclusion.outcome == .skipped, conclusion.error == nil else { return nil }
        return Blame.unmet(task.options.values.when, conclusion.blame, name)
    }

    /// Whether the task changed its destination. A group's file is in place once the group is published: then all of it
    /// succeeds, or its flush failed.
    private func changed(_ file: FileRecord?, _ task: TaskSpecification, _ conclusion: Conclusion) -> Bool {
        if task.group != nil, conclusion.outcome != .succeeded, conclusion.error?.name != .cannotWriteToFile {
            return false
        }
        return file?.changed ?? false
    }

    /// The captured values as they are shown: one of a header whose name means credentials is masked.
    private func shownCaptures(_ captures: [CapturedValue]?, of task: TaskSpecification) -> [Job.Variable] {
        captures?.filter { !$0.isHidden }.map { value in
            let capture = task.options.values.captures.first { $0.name == value.name }
            guard case .header(let header, _)? = capture?.source, job.credentialNames.isHeader(header) else {
                return value.told
            }
            return Job.Variable(name: value.name, value: .string("***"))
        } ?? []
    }

    /// Appends a session's last events: all its tasks have ended.
    func invalidate(_ session: SessionIndex) {
        let told = past?.session(Int(session.raw))
        if told?.isInvalidated == true { return }
        let isBackground = job.sessions[Int(session.raw)].kind == .background
        if isBackground, hasTasks(Int(session.raw)), told?.hasFinishedEvents != true {
            log.append(.sessionFinishedEvents, session: session)
        }
        let connections = engine.connections.opened(of: session)
        // Answers from the cache and unchanged files held a slot and used no connection; a command counts as one.
        let hasSent = connections.opened + connections.reused > 0
        let own = Set(job.sessions[Int(session.raw)].protocols.map(\.scheme))
        let hosts = scheduler.hosts(of: session).map { host in
            let origin = engine.origins[host.origin]
            return SessionRecord.Host(
                origin: origin, peakConnections: hasSent || own.contains(origin.scheme) ? host.peak : 0,
                tasks: host.tasks)
        }
        log.append(
            .sessionInvalidated(
                SessionRecord(
                    connectionsOpened: connections.opened, connectionsReused: connections.reused, hosts: hosts)),
            session: session)
    }

    func conclude(_ now: Now) -> ExitStatus {
        for (index, left) in tally.tasksLeft.enumerated() where left == 0 {
            let session = SessionIndex(raw: UInt16(index))
            // A session without tasks ends with the run.
            if !hasTasks(index) { invalidate(session) }
        }
        let status = tally.facts.status
        if past?.isFinished == true { return status }
        log.append(
            .runFinished(
                RunRecord(
                    outcome: status.outcome, exitStatus: Int(status.code), duration: now.instant - beganAt.instant,
                    groups: tally.groups)))
        return status
    }
}
