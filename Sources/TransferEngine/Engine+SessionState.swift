import HTTPRules
import Stores
import SystemIO
package import TransferModel

// What sessions learn and keep: cookies, and which hosts are to be asked over https only.

extension Engine {
    /// After `close`: waits until what was learned is kept, and says what went wrong with the store.
    package func storeProblems() -> [String] { memory?.problems() ?? [] }

    /// Waits until what the session learned in earlier runs was read.
    func loadSession(_ attempt: Attempt) -> StepOutcome {
        guard let memory, memory.mustAwaitSessionState(of: attempt.specification.session) else { return .done }
        attempt.phase = .awaitingSessionState
        awaitingSessions.append(attempt.task)
        return .pending
    }

    func recalled(_ kept: [SessionIndex: SessionState.Kept]) {
        for (session, state) in kept {
            sessions[Int(session.raw)].state.recall(state, at: now.wall)
            for credential in state.credentials { learn(credential.secret) }
        }
        let waiting = awaitingSessions
        awaitingSessions = []
        for task in waiting {
            guard let attempt = attempt(of: task), case .awaitingSessionState = attempt.phase else { continue }
            stepDone(.loadSession, attempt)
        }
    }

    /// Writes the cookies of sessions to the files that they name for it, and says which could not be written.
    package func saveCookies(of isMeant: (SessionIndex) -> Bool) -> [String] {
        var problems: [String] = []
        for (number, session) in sessions.enumerated() where session.configuration.cookies.save {
            guard isMeant(SessionIndex(raw: UInt16(number))), let path = session.configuration.cookies.file else {
                continue
            }
            do throws(SystemError) {
                let text = CookieFile.text(of: session.state.jar.cookies, at: now.wall)
                try WholeFile.replacePrivately(path, with: text)
            } catch {
                let name = session.configuration.name
                problems.append("the cookies of the session `\(name)` were not saved to \(path): \(error.reason)")
            }
        }
        return problems
    }

    /// What was learned since goes to the store.
    func keepSessionStates(_ memory: StoreClient) {
        for (number, session) in sessions.enumerated() where session.state.hasChanges {
            memory.learned(SessionIndex(raw: UInt16(number)), session.state.takeChanges(), at: now.instant)
        }
    }
}
