import JobRunner
import Stores
import Synchronization
import TransferModel

/// Asks several runs for their status and gives all answers in one reply, each with its trouble. A run that ends
/// meanwhile has no status.
final class StatusGathering: Sendable {
    private struct State {
        var asked: [(run: CarriedRun, identifier: String, turn: String?)] = []
        var open = 0
        var found: [SessionStatus] = []
    }
    private let state = Mutex(State())
    private let board: NewsBoard
    private let reply: @Sendable ([SessionStatus]) -> Void

    init(_ board: NewsBoard, _ reply: @escaping @Sendable ([SessionStatus]) -> Void) {
        self.board = board
        self.reply = reply
    }

    /// Adds a run that no thread carries: it waits for its turn, as `turn` says, or to be tried again, with the trouble that
    /// the board has.
    func add(_ identifier: String, of run: AcceptedRun, turn: String? = nil) {
        guard let trouble = turn ?? board.trouble(of: identifier) else { return }
        let status = RunStatus(job: run.job, startedAt: run.createdAt)
        state.withLock { $0.found.append(SessionStatus(identifier, status, trouble: trouble)) }
    }

    /// Adds a run under way; `turn` says that it waits for its turn, `nil` if it does not.
    func ask(_ run: CarriedRun, _ identifier: String, turn: String?) {
        state.withLock { $0.asked.append((run, identifier, turn)) }
    }

    func askRuns() {
        let (asked, found) = state.withLock { state in
            state.open = state.asked.count
            return (state.asked, state.found)
        }
        if asked.isEmpty { return reply(found) }
        for (run, identifier, turn) in asked {
            run.ask(
                ControlRequest(action: .status, patterns: [], identifier: identifier) { [self] answer, _ in
                    replyReceived(answer, identifier, run, turn)
                })
        }
    }

    private func replyReceived(_ answer: ControlReply, _ identifier: String, _ run: CarriedRun, _ turn: String?) {
        // No task of it is under way any more, though its end may still wait to be written.
        if case .refused = answer { add(identifier, of: run.accepted) }
        let all: [SessionStatus]? = state.withLock { state in
            if case .status(let status) = answer {
                state.found.append(SessionStatus(identifier, status, trouble: board.trouble(of: identifier) ?? turn))
            }
            state.open -= 1
            return state.open == 0 ? state.found : nil
        }
        if let all { reply(all.sorted { $0.identifier < $1.identifier }) }
    }
}
