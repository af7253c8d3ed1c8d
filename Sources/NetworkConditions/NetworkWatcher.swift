import SystemIO
package import TransferModel

/// The state of the watching thread.
final class NetworkWatcher {
    let wake: PollWake
    /// The conditions that were last reported.
    private(set) var told: Conditions
    private let reader: ConditionsReader
    private let socket: RouteSocket
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private var settling = Settling()
    private var sleep = SleepClock()
    private var areRoutesNew = false
    /// When to look even if no change was reported.
    private var nextLook: Instant

    private static let patience = TimeSpan.seconds(30)

    init(map: NetworkMap, root: String, asksServices: Bool, watchesPower: Bool) throws(NetworkProblem) {
        do throws(SystemError) {
            wake = try PollWake()
            // Opened before the first reading, so that no change in between is missed.
            socket = try RouteSocket(listens: true)
        } catch {
            throw NetworkProblem(error)
        }
        reader = try ConditionsReader(
            map: map, root: root, asksServices: asksServices, watchesPower: watchesPower)
        let now = Clocks.now()
        told = try reader.read(now.instant)
        nextLook = now.instant + Self.patience
        _ = sleep.hasSlept(now)
    }

    func turn(_ onChange: (Conditions) -> Void, _ onWake: () -> Void) {
        wait()
        let now = Clocks.now()
        if sleep.hasSlept(now) {
            onWake()
            settling.noteChange(now.instant)
        }
        if now.instant >= nextLook {
            reader.services?.reopen()
            nextLook = now.instant
        }
        guard now.instant >= dueLook else { return }
        nextLook = now.instant + Self.patience
        settling.hasLooked()
        look(now.instant, onChange)
    }

    private var dueLook: Instant { min(settling.due ?? nextLook, reader.due ?? nextLook, nextLook) }

    private func wait() {
        var entries = [wake.entry, socket.entry]
        var due = dueLook
        if let services = reader.services, let entry = services.entry {
            entries.append(entry)
            due = min(due, services.due)
        }
        // Rounded up: otherwise the last millisecond would be spent in a busy loop.
        let left = (due - Clocks.instant()).nanoseconds
        Polling.wait(&entries, milliseconds: max(0, (left + 999_999) / 1_000_000))
        wake.clear()
        hear()
    }

    private func hear() {
        if drain() { settling.noteChange(Clocks.instant()) }
        if let services = reader.services, services.process() { settling.noteChange(Clocks.instant()) }
    }

    /// Reads all waiting messages and returns whether there were any. Only their kind counts, since the tables are read
    /// anew.
    private func drain() -> Bool {
        var hasCome = false
        // Bounded: a flood of messages must not keep this thread from looking.
        for _ in 0..<256 {
            switch (try? socket.receive(into: &buffer)) ?? .nothing {
            case .nothing: return hasCome
            case .lost: (hasCome, areRoutesNew) = (true, true)
            case .message(let count):
                hasCome = true
                areRoutesNew = areRoutesNew || NetlinkParser.items(in: buffer[..<count]).contains { $0.isRoute }
            }
        }
        return hasCome
    }

    private func look(_ now: Instant, _ onChange: (Conditions) -> Void) {
        // A kernel that gives no answer now has answered before: the last conditions stand until it does.
        guard let found = try? reader.read(now) else { return }
        if found != told || areRoutesNew { onChange(found) }
        (told, areRoutesNew) = (found, false)
    }
}

/// Notices that the machine slept, by two clocks: the boot time goes on meanwhile, the monotonic time does not.
package struct SleepClock {
    /// The shortest sleep that counts.
    package static let shortest = TimeSpan.seconds(10)
    private var difference: TimeSpan?

    package init() {}

    /// Returns whether the machine slept since the last call; the first call returns `false`.
    package mutating func hasSlept(_ now: Now) -> Bool {
        let found = TimeSpan(nanoseconds: now.boot.nanoseconds - now.instant.nanoseconds)
        defer { difference = found }
        guard let difference else { return false }
        return found - difference > Self.shortest
    }
}

extension NetlinkParser.Item {
    /// Whether the message is about a route that leads to other machines.
    var isRoute: Bool {
        if case .route(let route) = message { route.kind != .local } else { false }
    }
}
