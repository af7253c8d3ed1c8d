import Stores
import Synchronization
import SystemIO

/// Whether a run's events can be written just now, and whether its end may come: what was done and is not written lies in
/// memory alone, and whoever began again without it would do it twice.
final class WritingTrouble: Sendable {
    private struct State {
        var error: StoreError?
        var isAllWritten = false
        var isLeaving = false
    }
    private let state = Mutex(State())
    private let change = WakeSignal()

    /// Why nothing can be written.
    var why: String? { state.withLock { $0.error?.description } }

    func failed(_ error: StoreError) { set { $0.error = error } }
    func allWritten() { set { $0.isAllWritten = true } }
    /// The process is about to end.
    func leave() { set { $0.isLeaving = true } }

    /// Something was written; whether that could not be until now.
    func passed() -> Bool {
        state.withLock { state in
            defer { state.error = nil }
            return state.error != nil
        }
    }

    /// Until all is written, or nobody can wait for that.
    func waitForEnd() { while !isOver { change.wait() } }

    private var isOver: Bool {
        state.withLock { $0.isAllWritten || $0.isLeaving || $0.error?.kind.mayPass == false }
    }

    private func set(_ set: (inout State) -> Void) {
        state.withLock { set(&$0) }
        change.signal()
    }
}
