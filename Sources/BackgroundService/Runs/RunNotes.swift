import JobRunner
import Stores
import Synchronization
import TransferModel

/// What a run under way has taken in of what others write for it into the journal.
final class RunNotes: Sendable {
    private struct State {
        var known: Set<String> = []
        var handed = Int.max
    }
    private let state = Mutex(State())

    func took(_ handed: HandedJob) { state.withLock { $0.handed = handed.count } }

    /// A changed job brought tasks or credentials of which this run does not know.
    func isOutgrown(by run: JournalRun, _ journal: Journal) throws(StoreError) -> Bool {
        let handed = try journal.inputCount(of: run.id, kind: InputKind.recipe)
        return state.withLock { handed > $0.handed }
    }

    /// Ends of tasks that somebody else carries, which were not told yet.
    func new(_ journal: Journal, _ id: RunID) throws(StoreError) -> [OutsideEnd] {
        let notes = try journal.inputs(of: id, kind: InputKind.outside)
        return state.withLock { state in
            notes.filter { state.known.insert($0.name).inserted }.compactMap { try? TaskEndNote.end($0) }
        }
    }
}
