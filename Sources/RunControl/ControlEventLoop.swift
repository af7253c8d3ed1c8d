import SystemIO
import TransferModel

/// The event loop over all connections to the run. Belongs to the listener's thread.
final class ControlEventLoop {
    private let requests: ControlRequests
    private var callers: [ControlConnection] = []
    private var lastNumber: UInt64 = 0
    /// When connections are accepted again after the process had no descriptor to spare.
    private var closedUntil = Instant(nanoseconds: 0)

    init(_ requests: ControlRequests) { self.requests = requests }

    func turn() {
        var now = Clocks.instant()
        let isOpen = callers.count < requests.limits.connections && now >= closedUntil
        var entries = callers.map { $0.entry } + [requests.wake.entry]
        if isOpen { entries.append(PollEntry(requests.listening.socket.raw)) }
        Polling.wait(&entries, milliseconds: patience(from: now, isOpen: isOpen))
        now = Clocks.instant()
        hear(entries, now)
        if isOpen, entries.last?.isReady == true { letIn(now) }
    }

    /// Sends the answers that were given when the run is over, for a second at most.
    func empty() {
        let last = Clocks.instant() + .seconds(1)
        hear([], Clocks.instant())
        callers.removeAll { !$0.isAnswering }
        while !callers.isEmpty, Clocks.instant() < last {
            var entries = callers.map { $0.entry }
            Polling.wait(&entries, milliseconds: 100)
            hear(entries, Clocks.instant())
        }
        callers = []
    }

    private func patience(from now: Instant, isOpen: Bool) -> Int64 {
        var due = callers.map { $0.deadline }.min() ?? .distantFuture
        if !isOpen, now < closedUntil { due = min(due, closedUntil) }
        return due == .distantFuture ? -1 : max(0, (due - now).nanoseconds / 1_000_000 + 1)
    }

    /// Handles ready and overdue connections; `entries` begin with the connections', in the order of `callers`.
    private func hear(_ entries: [PollEntry], _ now: Instant) {
        requests.wake.clear()
        var left: Set<UInt64> = []
        let perform = { (step: ControlConnection.Step, caller: ControlConnection) in
            switch step {
            case .nothing: break
            case .ask(let message): self.requests.ask(message, for: caller.number)
            case .close: left.insert(caller.number)
            }
        }
        for answer in requests.answers.takeAll() {
            guard let caller = callers.first(where: { $0.number == answer.caller }) else { continue }
            perform(caller.answer(answer.reply, now), caller)
        }
        for (entry, caller) in zip(entries, callers) where !left.contains(caller.number) {
            if entry.isReady {
                perform(caller.ready(now), caller)
            } else if caller.deadline <= now {
                perform(caller.timeOut(now), caller)
            }
        }
        callers.removeAll { left.contains($0.number) }
    }

    private func letIn(_ now: Instant) {
        do throws(SystemError) {
            guard let caller = try LocalSocket.accept(requests.listening.socket), caller.isAdmitted else { return }
            lastNumber += 1
            callers.append(
                ControlConnection(caller, number: lastNumber, patience: requests.limits.patience, now: now))
        } catch {
            closedUntil = now + .milliseconds(100)
        }
    }
}
