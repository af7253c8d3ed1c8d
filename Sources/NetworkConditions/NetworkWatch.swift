import Synchronization
import SystemIO
package import TransferModel

/// What networks and what power there are, and that they change: told by the kernel, and by NetworkManager and UPower
/// where they run, not asked for again and again. A thread of its own waits; it uses no time while nothing changes.
package final class NetworkWatch: Sendable {
    /// As it was when this was made.
    package let first: Conditions
    private let wake: PollWake
    /// Locked by the thread for as long as that lives.
    private let watcher: Mutex<NetworkWatcher>
    private let thread = Mutex<Thread?>(nil)
    private let isEnding = Atomic<Bool>(false)

    /// Reads at once. `root` is where sysfs is; `asksServices`: NetworkManager and UPower are heard, too;
    /// `watchesPower`: changes of power are told as well.
    package init(
        map: NetworkMap = NetworkMap(), root: String = "/sys", asksServices: Bool = true, watchesPower: Bool = true
    ) throws(NetworkProblem) {
        let watcher = try NetworkWatcher(
            map: map, root: root, asksServices: asksServices, watchesPower: watchesPower)
        first = watcher.told
        wake = watcher.wake
        self.watcher = Mutex(watcher)
    }

    /// From the watching thread: `onChange` with what has changed, and with what is as it was when only routes came or
    /// went: who waits for a way to some host may try again. `onWake` after the machine has slept, within 30 seconds at
    /// most, and at once when its networks came back with it.
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

    /// Nothing is told any more when it returns. Must be called after `start`, and not from its callbacks.
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
