import JobRunner
import Synchronization
import TransferModel

/// Asks several runs how they stand and tells all answers in one. A run that ends meanwhile has nothing to tell.
final class StatusGathering: Sendable {
    private struct State {
        var asked: [(CarriedRun, String)] = []
        var open = 0
        var found: [SessionStatus] = []
    }
    private let state = Mutex(State())
    private let reply: @Sendable ([SessionStatus]) -> Void

    init(_ reply: @escaping @Sendable ([SessionStatus]) -> Void) { self.reply = reply }

    func ask(_ run: CarriedRun, _ identifier: String) { state.withLock { $0.asked.append((run, identifier)) } }

    func begin() {
        let asked = state.withLock { state in
            state.open = state.asked.count
            return state.asked
        }
        if asked.isEmpty { return reply([]) }
        for (run, identifier) in asked {
            run.ask(
                ControlRequest(action: .status, patterns: [], identifier: identifier) { [self] answer, _ in
                    take(answer, identifier, run)
                })
        }
    }

    private func take(_ answer: ControlReply, _ identifier: String, _ run: CarriedRun) {
        let all: [SessionStatus]? = state.withLock { state in
            if case .status(let status) = answer { state.found.append(SessionStatus(identifier, status)) }
            state.open -= 1
            return state.open == 0 ? state.found : nil
        }
        if let all { reply(all.sorted { $0.identifier < $1.identifier }) }
    }
}
