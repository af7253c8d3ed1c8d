package import Stores
package import SystemIO
import TransferModel

/// What `status` reads: the background process, while the journal has something unfinished, and the journal itself.
/// With `isFollowing` the process also sends a message when there is something new.
package final class SessionSource {
    private let folder: StateFolder
    private let starter: ServiceStarter
    private let reader: SessionReader
    private let identifier: String?
    private let isFollowing: Bool
    private var link: ServiceLink?
    private var followed: Set<String> = []
    /// Why the process gave no status the last time, if it did not.
    package private(set) var trouble: String?

    /// A damaged journal that was put aside when the reader opened it, if any.
    package var quarantined: Quarantine? { reader.quarantined }

    /// How long an answer may take that a person waits for.
    private static let patience = TimeSpan.seconds(5)

    package init(_ folder: StateFolder, _ starter: ServiceStarter, _ identifier: String?, isFollowing: Bool) {
        self.folder = folder
        self.starter = starter
        self.identifier = identifier
        self.isFollowing = isFollowing
        reader = SessionReader(folder)
    }

    /// Returns the sessions as they stand now, with the process's status where one answers.
    package func sessions() throws(StoreError) -> [BackgroundSession] {
        let live = live()
        let sessions = try reader.sessions(identifier, live: live)
        if isFollowing, link != nil { follow(sessions.map(\.identifier)) }
        return sessions
    }

    /// Sees to it that a process carries the journal's runs, for commands that do not ask it anything.
    package func goOn() { starter.goOn() }

    /// What to poll for: ready when something new may have happened; `nil` without a connection.
    package var entry: PollEntry? { link?.entry }

    /// Reads and discards the news that has come; the caller looks at `sessions()` again.
    package func drain() {
        guard let link else { return }
        do throws(ServiceFailure) {
            while let news = try link.nextNews(within: .zero) { if case .leaving = news { return drop() } }
        } catch {
            drop()
        }
    }

    private func live() -> [SessionStatus]? {
        trouble = nil
        guard UnfinishedMark(ServicePlace(folder)).isThere else {
            // An open connection would keep the process from ending.
            drop()
            return nil
        }
        do throws(ServiceTrouble) {
            let link: ServiceLink
            if let known = self.link { link = known } else { link = try starter.connect() }
            self.link = link
            return try ask(link)
        } catch {
            drop()
            trouble = error.description
            return nil
        }
    }

    private func ask(_ link: ServiceLink) throws(ServiceTrouble) -> [SessionStatus] {
        do throws(ServiceFailure) {
            // A process that was already running may not know of the run that was handed over last.
            _ = try link.ask(.ring(identifier), patience: Self.patience)
            guard case .status(let all) = try link.ask(.status(identifier), patience: Self.patience) else { return [] }
            return all
        } catch {
            throw ServiceTrouble("the background process does not tell how its tasks stand: \(error)")
        }
    }

    private func follow(_ identifiers: [String]) {
        for name in identifiers where followed.insert(name).inserted {
            _ = try? link?.ask(.follow(name, after: 0, watches: true), patience: Self.patience)
        }
    }

    private func drop() {
        link = nil
        followed = []
    }
}

@available(*, unavailable)
extension SessionSource: Sendable {}
