import Synchronization
import SystemIO
package import TransferModel

/// Watches networks and power. The kernel reports changes, and so do NetworkManager and UPower where they run. A thread
/// of its own waits for these reports; it uses almost no time while nothing changes.
package final class NetworkWatch: Sendable {
    /// The conditions when this watch was made.
    package let first: Conditions
    private let wake: PollWake
    /// Locked by the watching thread for as long as it lives.
    private let watcher: Mutex<NetworkWatcher>
    private let thread = Mutex<Thread?>(nil)
    private let isEnding = Atomic<Bool>(false)

    /// Reads the conditions at once. `root` is where sysfs is; `asksServices`: NetworkManager and UPower are asked,
    /// too; `watchesPower`: changes of power are reported as well.
    package init(
        map: NetworkMap = NetworkMap(), root: String = "/sys", asksServices: Bool = true, watchesPower: Bool = true
    ) throws(NetworkProblem) {
        let watcher = try NetworkWatcher(
            map: map, root: root, asksServices: asksServices, watchesPower: watchesPower)
        first = watcher.told
        wake = watcher.wake
        self.watcher = Mutex(watcher)
    }

    /// Starts the watching thread, which makes all calls. `onChange` gets changed conditions, and unchanged ones when
    /// only routes came or went, so that a task waiting for a way to its host may try again. `onWake` is called after
    /// the machine has slept, within 30 seconds, and at once when its networks came back with it.
    package func start(
        onChange: @escaping @Sendable (Conditions) -> Void, onWake: @escaping @Sendable () -> Void = {}
    ) throws(NetworkProblem) {
        do throws(SystemError) {
            let thread = try Thread(named: "networks") { [self] in
                watcher.withLock { watcher in
                    while !isEnding.load(ordering: .acquiring) { watcher.turn(onChange, onWake) }
                }
            }
            self.thread.withLock { $0 = thread }
        } catch {
            throw NetworkProblem("networks cannot be watched: \(error)")
        }
    }

    /// Ends the watching thread; no callback is running or made after it returns. Called after `start`, and not from
    /// its callbacks.
    package func stop() {
        isEnding.store(true, ordering: .releasing)
        wake.signal()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }
}
