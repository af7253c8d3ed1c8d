import JobRunner
package import Stores
package import TransferModel

/// A run whose end was delivered, as far as the journal still has it: what was handed over is erased by then.
package struct EndedRun: Sendable {
    /// The run with its end.
    package let run: JournalRun
    /// A job that has only the ids of the run's tasks: no more is kept.
    package let job: Job
    /// The run's events; empty once they are forgotten.
    package let events: [Event]

    package init(_ run: JournalRun, _ folder: StateFolder) throws(StoreError) {
        let journal = try Journal.open(folder: folder.state)
        self.run = run
        events = try journal.events(of: run.id).map { event in
            // The tasks of an expansion are among the run's own.
            guard case .expanded(let expansion) = event.kind else { return event }
            var event = event
            event.kind = .expanded(Expansion(tasks: [], count: expansion.count))
            return event
        }
        var job = Job(name: run.accepted.job, file: run.accepted.file, baseDirectory: run.accepted.folder)
        let sent = Set(events.compactMap { Self.isUpload($0) ? $0.task : nil })
        let options = TaskOptions(TaskOptions.Values(policies: TransferPolicies()))
        let ids = try journal.tasks(of: run.id)
        job.tasks = ids.enumerated().map { number, id in
            TaskSpecification(
                id: id, type: sent.contains(TaskIndex(raw: UInt32(number))) ? .upload : .download,
                session: SessionIndex(raw: 0), location: .awaitingCapture(""), destination: nil, line: 0,
                options: options)
        }
        let numbers = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        for event in events {
            guard let task = event.task, Int(task.raw) < ids.count,
                let needed = Self.blamed(event).flatMap({ numbers[$0] })
            else { continue }
            job.tasks[Int(task.raw)].needs = [TaskIndex(raw: UInt32(needed))]
        }
        let sessions = events.compactMap { $0.session.map { Int($0.raw) } }.max() ?? 0
        job.sessions = (0...sessions).map { SessionConfiguration(name: "\($0)") }
        self.job = job
    }

    /// The id of the needed task that a skipped one names as the reason; `nil` for other events.
    private static func blamed(_ event: Event) -> String? {
        guard case .taskFinished(let record) = event.kind, record.outcome == .skipped, let error = record.error,
            error.message.first == "`"
        else { return nil }
        return error.message.dropFirst().firstRange(of: "`, which it needs, ").map {
            String(error.message.dropFirst()[..<$0.lowerBound])
        }
    }

    private static func isUpload(_ event: Event) -> Bool {
        guard case .attemptFinished(let record) = event.kind else { return false }
        return record.transactions.contains { $0.requestBodyBytesSent > $0.responseBodyBytesReceived }
    }

    /// Returns the last run of one of these identifiers that ended, and whose end was delivered, after `start`.
    package static func last(
        of identifiers: [String], after start: WallTime, _ folder: StateFolder
    ) -> JournalRun? {
        guard Journal.isThere(folder: folder.state), let journal = try? Journal.open(folder: folder.state) else {
            return nil
        }
        let runs = (try? journal.runs()) ?? []
        return runs.last { run in
            run.deliveredAt != nil && run.end.map { $0.at > start } == true
                && run.accepted.identifiers.contains(where: identifiers.contains)
        }
    }
}
