import Stores
import Synchronization
import SystemIO

/// Whether a run's events can be written just now, and whether the run may end. What is done and not written is only in
/// memory: a process that resumed without it would do it twice.
final class WritingTrouble: Sendable {
    private struct State {
        var error: StoreError?
        var isAllWritten = false
        var isLeaving = false
    }
    private let state = Mutex(State())
    private let change = WakeSignal()

    /// Why nothing can be written; `nil` if it can.
    var why: String? { state.withLock { $0.error?.description } }

    func failed(_ error: StoreError) { set { $0.error = error } }
    func allWritten() { set { $0.isAllWritten = true } }
    /// Notes that the process is about to end.
    func leave() { set { $0.isLeaving = true } }

    /// Notes that something was written; returns whether writing had failed before.
    func passed() -> Bool {
        state.withLock { state in
            defer { state.error = nil }
            return state.error != nil
        }
    }

    /// Waits until all is written, the process ends, or the failure cannot pass.
    func waitForEnd() { while !isOver { change.wait() } }

    private var isOver: Bool {
        state.withLock { $0.isAllWritten || $0.isLeaving || $0.error?.kind.mayPass == false }
    }

    private func set(_ set: (inout State) -> Void) {
        state.withLock { set(&$0) }
        change.signal()
    }
}
