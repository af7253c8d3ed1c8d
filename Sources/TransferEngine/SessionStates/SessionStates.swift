import HTTPRules
import Stores
import SystemIO
package import TransferModel

/// Reads what sessions learned in earlier runs, and keeps what they learn: cookies, and which hosts are asked over https
/// only.
package final class SessionStates: Participant {
    let core: EngineCore
    /// Attempts that wait until the stored state of their session was read.
    private var awaitingSessions: [TaskIndex] = []

    init(_ core: EngineCore) { self.core = core }

    /// After `close`: waits until what was learned is kept, and says what went wrong with the store.
    package func storeProblems() -> [String] { core.store?.problems() ?? [] }

    /// Waits until what the session learned in earlier runs was read.
    func loadSession(_ attempt: Attempt) -> StepOutcome {
        guard let store = core.store, store.mustAwaitSessionState(of: attempt.specification.session) else {
            return .done
        }
        attempt.phase = .awaitingSessionState
        awaitingSessions.append(attempt.task)
        return .pending
    }

    /// What sessions learned in earlier runs was read: attempts that waited for it go on.
    func recalled(_ kept: [SessionIndex: SessionState.Kept]) {
        for (session, state) in kept {
            core.sessions[Int(session.raw)].state.recall(state, at: core.now.wall)
            for credential in state.credentials { core.learnPassword(credential.secret) }
        }
        let waiting = awaitingSessions
        awaitingSessions = []
        for task in waiting {
            guard let attempt = core.attempt(of: task), case .awaitingSessionState = attempt.phase else { continue }
            engine.stepDone(.loadSession, attempt)
        }
    }

    /// Writes the cookies of sessions to the files that they name for it, and says which could not be written.
    package func saveCookies(of isMeant: (SessionIndex) -> Bool) -> [String] {
        var problems: [String] = []
        for (number, session) in core.sessions.enumerated() where session.configuration.cookies.save {
            guard isMeant(SessionIndex(raw: UInt16(number))), let path = session.configuration.cookies.file else {
                continue
            }
            do throws(SystemError) {
                let text = CookieFile.text(of: session.state.jar.cookies, at: core.now.wall)
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
        for (number, session) in core.sessions.enumerated() where session.state.hasChanges {
            memory.learned(SessionIndex(raw: UInt16(number)), session.state.takeChanges(), at: core.now.instant)
        }
    }
}
