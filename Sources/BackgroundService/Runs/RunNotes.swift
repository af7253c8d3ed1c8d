import JobRunner
import Stores
import Synchronization
import TransferModel

/// What a run under way has already read of the notes that other processes write for it into the journal.
final class RunNotes: Sendable {
    private struct State {
        var known: Set<String> = []
        var handed = Int.max
    }
    private let state = Mutex(State())

    /// The number of notes that the run was given, with those that it began with.
    var count: Int { state.withLock { ($0.handed == .max ? 0 : $0.handed) + $0.known.count } }

    func took(_ handed: HandedJob) { state.withLock { $0.handed = handed.count } }

    /// Whether a changed job brought tasks or credentials that this run does not know.
    func isOutgrown(by run: JournalRun, _ journal: Journal) throws(StoreError) -> Bool {
        let handed = try journal.inputCount(of: run.id, kind: InputKind.recipe)
        return state.withLock { handed > $0.handed }
    }

    /// Returns the ends of tasks that another process carries, those only that were not returned before.
    func new(_ journal: Journal, _ id: RunID) throws(StoreError) -> [OutsideEnd] {
        let notes = try journal.inputs(of: id, kind: InputKind.outside)
        return state.withLock { state in
            notes.filter { state.known.insert($0.name).inserted }.compactMap { try? TaskEndNote.end($0) }
        }
    }
}
