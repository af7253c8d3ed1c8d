package import JobRunner
import Synchronization
import SystemIO
package import TransferModel

/// Hears what people ask of this run while it goes on: a socket in the runtime folder, and a thread of its own, so
/// that no caller is ever waited for by a transfer.
package final class ControlListener: Sendable {
    package struct Limits: Sendable {
        /// Whoever comes when so many are there waits outside.
        package var connections = 16
        /// For a whole request, and for an answer to be taken.
        package var patience = TimeSpan.seconds(5)
        package init() {}
    }

    private let desk: ControlDesk
    private let thread: Thread
    private let leavesNothing: Bool
    private let isClosing = Atomic<Bool>(false)
    /// Folders that were not there before.
    private let made: [String]

    /// Listens when it returns. `leavesNothing`: the folder goes too, and those above it that this made, when
    /// nothing else is in them.
    package init(
        folder: String, process: Int32, limits: Limits = Limits(), leavesNothing: Bool,
        deliver: @escaping @Sendable (ControlRequest) -> Void
    ) throws(ControlProblem) {
        made = leavesNothing ? PrivateFolder.missing(folder) : []
        let desk = try ControlDesk(folder, ControlPlace.socketName(process), limits, deliver)
        self.desk = desk
        self.leavesNothing = leavesNothing
        do throws(SystemError) {
            thread = try Thread(named: "control") { desk.work() }
        } catch {
            desk.hide()
            throw ControlProblem(description: error.description)
        }
    }

    /// Nobody finds the run any more. May be called from any thread, and again.
    package func hide() { desk.hide() }

    /// After the run: what was answered still goes out, whoever waits on is left without a word. Nobody waits for that yet.
    package func beginToClose() {
        guard !isClosing.exchange(true, ordering: .relaxed) else { return }
        hide()
        desk.end()
    }

    /// The same, and it is over.
    package func close() {
        beginToClose()
        thread.join()
        if leavesNothing { PrivateFolder.removeIfEmpty([desk.path] + made) }
    }
}

/// Why a run cannot be controlled.
package struct ControlProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    init(description: String) { self.description = description }
}
