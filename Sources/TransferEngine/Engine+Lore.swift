import HTTPRules
import Stores
import SystemIO
package import TransferModel

// What sessions learn and keep: cookies, and which hosts are to be asked over https only.

extension Engine {
    /// After `close`: waits until what was learned is kept, and says what went wrong with the store.
    package func storeProblems() -> [String] { memory?.problems() ?? [] }

    /// Whether the attempt has to wait until its session's lore was read: a request without its cookies would be
    /// another request.
    func mustAwaitLore(_ attempt: Attempt, _ url: ResourceURL) -> Bool {
        guard let memory, memory.mustAwaitLore(of: attempt.specification.session) else { return false }
        attempt.phase = .awaitingLore(url)
        awaitingLore.append(attempt.task)
        return true
    }

    func recalled(_ kept: [SessionIndex: SessionLore.Kept]) {
        for (session, lore) in kept {
            sessions[Int(session.raw)].lore.recall(lore, at: now.wall)
            for credential in lore.credentials { learn(credential.secret) }
        }
        let waiting = awaitingLore
        awaitingLore = []
        for task in waiting {
            guard let attempt = attempt(of: task), case .awaitingLore(let url) = attempt.phase else { continue }
            begin(attempt, url)
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
                let text = CookieFile.text(of: session.lore.jar.cookies, at: now.wall)
                try WholeFile.replacePrivately(path, with: text)
            } catch {
                let name = session.configuration.name
                problems.append("the cookies of the session `\(name)` were not saved to \(path): \(error.reason)")
            }
        }
        return problems
    }

    /// What was learned since goes to the store.
    func keepLore(_ memory: StoreClient) {
        for (number, session) in sessions.enumerated() where session.lore.hasChanges {
            memory.learned(SessionIndex(raw: UInt16(number)), session.lore.takeChanges(), at: now.instant)
        }
    }
}
