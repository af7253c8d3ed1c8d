package import JobRunner
import Synchronization
import SystemIO
package import TransferModel

/// Receives the requests of other commands to this run: a socket in the runtime folder, and a thread of its own, so
/// that no connection ever delays a transfer.
package final class ControlListener: Sendable {
    /// Bounds for the connections to a run.
    package struct Limits: Sendable {
        /// Greatest number of connections; more wait in the socket's queue.
        package var connections = 16
        /// Time for a whole request, and for taking some of an answer.
        package var patience = TimeSpan.seconds(5)
        package init() {}
    }

    private let requests: ControlRequests
    private let thread: Thread
    private let leavesNothing: Bool
    private let isClosing = Atomic<Bool>(false)
    /// Folders that this listener made, to be removed at the end.
    private let made: [String]

    /// Listens when it returns. `leavesNothing`: the folder is removed at the end, with those above it that this made,
    /// as far as they are empty.
    package init(
        folder: String, process: Int32, limits: Limits = Limits(), leavesNothing: Bool,
        deliver: @escaping @Sendable (ControlRequest) -> Void
    ) throws(ControlProblem) {
        made = leavesNothing ? PrivateFolder.missing(folder) : []
        let requests = try ControlRequests(folder, ControlPlace.socketName(process), limits, deliver)
        self.requests = requests
        self.leavesNothing = leavesNothing
        do throws(SystemError) {
            thread = try Thread(named: "control") { requests.work() }
        } catch {
            requests.hide()
            throw ControlProblem(description: error.description)
        }
    }

    /// Removes the socket, so that the run is not found any more. May be called from any thread, and again.
    package func hide() { requests.hide() }

    /// Begins to close after the run: given answers are still sent, waiting connections are closed without one. Does
    /// not wait.
    package func beginToClose() {
        guard !isClosing.exchange(true, ordering: .relaxed) else { return }
        hide()
        requests.end()
    }

    /// Closes the listener and waits for its thread.
    package func close() {
        beginToClose()
        thread.join()
        if leavesNothing { PrivateFolder.removeIfEmpty([requests.path] + made) }
    }
}

/// Why a run cannot be controlled.
package struct ControlProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the user.
    package let description: String
    init(description: String) { self.description = description }
}
