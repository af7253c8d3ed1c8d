package import Stores
package import SystemIO
import TransferModel

/// What `status` asks: the process, as long as there is something unfinished, and the journal. Who asks again and again
/// is told when there is something new.
package final class SessionSource {
    private let folder: StateFolder
    private let starter: ServiceStarter
    private let reader: SessionReader
    private let identifier: String?
    private let isFollowing: Bool
    private var link: ServiceLink?
    private var followed: Set<String> = []
    /// Why the process told nothing, the last time.
    package private(set) var trouble: String?

    /// A journal that was put aside when it was looked at.
    package var quarantined: Quarantine? { reader.quarantined }

    /// For an answer that people wait for.
    private static let patience = TimeSpan.seconds(5)

    package init(_ folder: StateFolder, _ starter: ServiceStarter, _ identifier: String?, isFollowing: Bool) {
        self.folder = folder
        self.starter = starter
        self.identifier = identifier
        self.isFollowing = isFollowing
        reader = SessionReader(folder)
    }

    package func sessions() throws(StoreError) -> [BackgroundSession] {
        let live = live()
        let sessions = try reader.sessions(identifier, live: live)
        if isFollowing, link != nil { follow(sessions.map(\.identifier)) }
        return sessions
    }

    /// Where nobody is asked.
    package func goOn() { starter.goOn() }

    /// Ready when something new may have happened; `nil` while nobody would tell.
    package var entry: PollEntry? { link?.entry }

    /// Takes what was told: that there is something is all that counts.
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
            // Who stays connected keeps it from ending.
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
            // One that was there before may not know of what was handed over last.
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
