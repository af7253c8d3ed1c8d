import FileDelivery
package import HTTPRules
package import TransferModel

// What a run asks and tells of itself as a whole.

extension Engine {
    /// What tasks that succeeded captured so far.
    package var capturedValues: CapturedValues { core.captured }

    /// The secrets that may go to some hosts only: what a server repeats of them stays bound.
    package var boundSecrets: BoundSecrets { core.secrets.bound }

    /// Adds tasks; their numbers follow those of the present ones. `recordedFirst`: those among them whose attempts
    /// send nothing before the journal has their beginning.
    package func add(_ tasks: [TaskSpecification], for template: TaskIndex, recordedFirst: Set<TaskIndex> = []) {
        let first = core.job.tasks.count
        let tasks = tasks.map { participants.objects.transfers.placed($0) }
        core.job.tasks += tasks
        core.captured.ends.use(in: tasks)
        core.attempts += Array(repeating: nil, count: tasks.count)
        addedNames.add(tasks.map(\.id))
        removeTemplate(template)
        for (place, task) in tasks.enumerated() {
            if let group = task.group { core.groups[Int(group.raw)].add(TaskIndex(raw: UInt32(first + place))) }
        }
        participants.add(tasks, from: TaskIndex(raw: UInt32(first)), recordedFirst: recordedFirst)
    }

    /// Others took its place.
    package func removeTemplate(_ template: TaskIndex) {
        if let group = core.job.tasks[Int(template.raw)].group { core.groups[Int(group.raw)].remove(template) }
    }

    /// Counts bytes that earlier processes of the run moved.
    package func knowBytes(moved bytes: Int64) {
        guard let most = core.job.limits.maximumBytes else { return }
        core.ledger?.budget = ByteBudget(most: most, moved: bytes, by: core.job.byteRule)
    }

    /// The ids of the run's spans, for sessions that tell them to servers.
    package func trace(_ ids: TraceIDs) {
        for session in core.sessions where !session.configuration.propagatesTraceTo.isEmpty { session.traceIDs = ids }
    }

    /// Unfinished tasks whose file was recorded and is still there unchanged.
    package static func standing(_ job: Job, _ history: RunHistory) -> Set<TaskIndex> {
        var files = StandingFiles()
        var found: Set<TaskIndex> = []
        for (index, past) in history.tasks.enumerated() where past.ending == nil && past.open != nil {
            // Groups are left out: of one it is enough that a file was recorded, because all were published together.
            guard let file = past.file, job.tasks[index].group == nil else { continue }
            let session = job.sessions[Int(job.tasks[index].session.raw)]
            if files.hold(file, flush: session.durability == .flush) { found.insert(TaskIndex(raw: UInt32(index))) }
        }
        return found
    }
}
