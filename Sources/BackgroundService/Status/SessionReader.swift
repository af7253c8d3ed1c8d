import JobRunner
package import Stores
import TransferModel

/// Reads the state of background sessions from the journal's events and from the process's status. A second call reads
/// only new events.
package final class SessionReader {
    private let folder: StateFolder
    private var folds: [RunID: RunFold] = [:]
    /// A damaged journal that was put aside when this reader opened it, if any.
    package private(set) var quarantined: Quarantine?

    package init(_ folder: StateFolder) { self.folder = folder }

    /// Returns the sessions of one identifier or of all, the oldest run first: those whose end was not told yet. Where one
    /// identifier has no such run, its last run that ended. `live` is what the process has just answered; `nil` if no process
    /// answered.
    package func sessions(
        _ identifier: String? = nil, live: [SessionStatus]?
    ) throws(StoreError) -> [BackgroundSession] {
        guard Journal.isThere(folder: folder.state) else { return [] }
        let journal = try Journal.open(folder: folder.state)
        quarantined = journal.quarantined ?? quarantined
        let all = try journal.runs()
        var runs = all.filter { $0.deliveredAt == nil }
        if let identifier, !runs.contains(where: { $0.accepted.identifiers.contains(identifier) }) {
            runs += [all.last { $0.accepted.identifiers.contains(identifier) }].compactMap(\.self)
        }
        folds = folds.filter { id, _ in runs.contains { $0.id == id } }
        var sessions: [BackgroundSession] = []
        for run in runs where identifier.map({ run.accepted.identifiers.contains($0) }) ?? true {
            var fold = try fold(of: run, journal)
            try fold.read(journal)
            folds[run.id] = fold
            for name in run.accepted.identifiers where identifier ?? name == name {
                sessions.append(fold.session(name, run, live.map { $0.first { $0.identifier == name } }))
            }
        }
        return sessions
    }

    /// Returns the fold of the run read so far, or a new one if tasks were added since.
    private func fold(of run: JournalRun, _ journal: Journal) throws(StoreError) -> RunFold {
        if let known = folds[run.id], known.taskCount == run.taskCount { return known }
        return try RunFold(run, journal)
    }
}

@available(*, unavailable)
extension SessionReader: Sendable {}

/// A run's tasks in the state that its events so far leave them in.
private struct RunFold {
    let taskCount: Int
    private let id: RunID
    private var tasks: [SessionTask]
    /// The identifier of each task's session; `nil` where the job can no longer be read.
    private let identifiers: [String?]
    /// Why no process can ever go on with the run; `nil` if one can.
    private let loss: String?
    private var last: UInt64 = 0
    /// When the run's tasks had ended; `nil` while it goes on, as with tasks that were added after that.
    private var over: WallTime?

    init(_ run: JournalRun, _ journal: Journal) throws(StoreError) {
        id = run.id
        taskCount = run.taskCount
        loss = run.deliveredAt == nil ? Self.loss(of: run.id, journal) : nil
        if let job = try? HandedJob(of: run.id, journal).part.job, job.tasks.count == run.taskCount {
            tasks = job.tasks.map { SessionTask(id: $0.id, type: $0.type) }
            identifiers = job.tasks.map { job.sessions[Int($0.session.raw)].identifier }
        } else {
            tasks = try journal.tasks(of: run.id).map { SessionTask(id: $0, type: nil) }
            identifiers = tasks.map { _ in nil }
        }
    }

    private static func loss(of id: RunID, _ journal: Journal) -> String? {
        do throws(StoreError) {
            _ = try journal.inputs(of: id, kind: InputKind.recipe)
            return nil
        } catch {
            guard error.kind == .sealedForEver else { return nil }
            return "it cannot be gone on with, and its job begins anew when it is run again: \(error)"
        }
    }

    mutating func read(_ journal: Journal) throws(StoreError) {
        let page = 4096
        while true {
            let events = try journal.events(of: id, after: last, limit: page)
            for event in events {
                if case .runFinished = event.kind { over = event.time } else { over = nil }
                if let task = event.task, Int(task.raw) < tasks.count { tasks[Int(task.raw)].apply(event) }
            }
            last = events.last?.sequence ?? last
            if events.count < page { return }
        }
    }

    /// Returns the session with what the process says about its tasks. `live` has no tasks when the process carries
    /// only another part of the run, or none of it any more.
    func session(_ identifier: String, _ run: JournalRun, _ live: SessionStatus??) -> BackgroundSession {
        let live = live.flatMap { $0 }
        let told = Dictionary(
            (live?.run.tasks ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var own = zip(tasks, identifiers).filter { ($1 ?? identifier) == identifier && !$0.isGone }.map(\.0)
        let count = live?.run.counts.values.reduce(0, +) ?? 0
        let isCarried = !told.isEmpty || count > 0
        // A task that the process does not list has ended there, where it counts them all and lists all that have not.
        let left = count - (live?.run.counts[.finished] ?? 0)
        let listsAll = count == own.count && told.count == left
        for index in own.indices {
            if let known = told[own[index].id] {
                own[index].update(from: known)
            } else if !isCarried {
                own[index].isAlone()
            } else if listsAll {
                own[index].hasEndedUnwritten()
            }
        }
        let counts = own.reduce(into: [:]) { $0[$1.state, default: 0] += 1 } as [RunStatus.State: Int]
        // All tasks have ended, and the run waits until that is written down.
        let isUnwritten = left == 0 && own.contains { $0.state == .finished && $0.outcome == nil }
        return BackgroundSession(
            identifier: identifier, job: run.accepted.job, report: run.accepted.report,
            state: run.state == .finished ? .finished : isUnwritten ? .waiting : .of(counts), tasks: own,
            trouble: loss ?? (run.state == .finished ? nil : live?.trouble), isLost: loss != nil,
            endingSince: run.state == .finished ? nil : over, over: run.deliveredAt == nil ? nil : run)
    }
}
