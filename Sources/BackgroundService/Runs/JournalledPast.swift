import JobRunner
import Scheduling
import Stores
import TransferModel

/// What has happened in a run until now, folded from its events.
struct JournalledPast {
    let history: RunHistory
    private let expanded: [ExpandedTemplate]
    private let expandedOver: [String: [CapturedValue]]
    private var captures: [String: [CapturedValue]] = [:]
    /// Tasks whose request must not be sent twice and was begun, although the journal has no event of it: the end of the
    /// journal's log was lost.
    let lost: Set<TaskIndex>

    /// The number of events in memory at a time.
    private static let page = 4096

    init(of id: RunID, _ handed: HandedJob, _ journal: Journal) throws(StoreError) {
        let job = handed.part.job
        var history = RunHistory(taskCount: job.tasks.count, sessionCount: job.sessions.count)
        try Self.read(id, journal) { history.apply($0) }
        self.history = history
        lost = Self.lost(try journal.begun(of: id), history, job)
        expanded = handed.expanded
        expandedOver = handed.expandedOver
        if history.lastSequence == 0 { return }
        for note in try journal.inputs(of: id, kind: InputKind.captures) {
            guard let end = try? TaskEndNote.end(note) else { continue }
            captures[end.id] = end.captures
        }
    }

    private static func lost(_ begun: [BegunRequest], _ history: RunHistory, _ job: Job) -> Set<TaskIndex> {
        if begun.isEmpty { return [] }
        let attempts = Dictionary(begun.map { ($0.task, $0.attempt) }, uniquingKeysWith: { max($0, $1) })
        let lost = job.tasks.indices.filter { index in
            guard let attempt = attempts[job.tasks[index].id] else { return false }
            return history.tasks[index].ending == nil && history.tasks[index].attempts < attempt
        }
        return Set(lost.map { TaskIndex(raw: UInt32($0)) })
    }

    /// Passes all events to `take`, in order.
    static func read(_ id: RunID, _ journal: Journal, _ take: (Event) -> Void) throws(StoreError) {
        var last: UInt64 = 0
        while true {
            let events = try journal.events(of: id, after: last, limit: page)
            events.forEach(take)
            guard let end = events.last, events.count == page else { return }
            last = end.sequence
        }
    }

    /// Whether the journal has the run's last event.
    var isOver: Bool { history.isFinished }

    /// Returns what the run resumes from; `nil` if it has not begun.
    func resumption(hasCrashed: Bool) -> RunResumption? {
        if history.lastSequence == 0, expanded.isEmpty, lost.isEmpty { return nil }
        return RunResumption(
            history: history, hasCrashed: hasCrashed, captures: captures, expanded: expanded, over: expandedOver,
            lost: lost)
    }
}
