import Synchronization

/// What runs have to tell those who follow: the last word of each counts, so however fast they talk, nothing piles up
/// and the listener comes by at its own pace. Nothing is kept of what nobody follows but a number.
package final class NewsBoard: Sendable {
    /// What is new since the last look.
    package struct Content: Equatable {
        package var events: [String: UInt64] = [:]
        package var progress: [TaskProgress] = []
        /// Something is still there: progress, before its time.
        package var hasMore = false
        package var isEmpty: Bool { events.isEmpty && progress.isEmpty }
    }

    private struct State {
        /// By session: the last event in the journal.
        var last: [String: UInt64] = [:]
        /// How many follow a session.
        var followers: [String: Int] = [:]
        var news: Set<String> = []
        var progress: [String: [String: TaskProgress]] = [:]
        /// The listener does not come by of itself: whoever has something new wakes it. Once for each, for it takes
        /// progress at a slower pace.
        var mustWakeForNews = true
        var mustWakeForProgress = true
    }

    /// Of one session between two looks; a run has no more tasks under way at a time.
    private static let maximumTasks = 4096

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// `wake` is called outside the lock, when something is new and the listener sleeps.
    package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    // MARK: For those who run

    /// The journal holds the session's events up to this number.
    package func events(of identifier: String, upTo sequence: UInt64) {
        let mustWake = state.withLock { state in
            if sequence <= state.last[identifier] ?? 0 { return false }
            state.last[identifier] = sequence
            guard state.followers[identifier] != nil else { return false }
            state.news.insert(identifier)
            return Self.takeFlag(&state.mustWakeForNews)
        }
        if mustWake { wake() }
    }

    package func progress(_ progress: TaskProgress) {
        let mustWake = state.withLock { state in
            guard state.followers[progress.identifier] != nil else { return false }
            let isKnown = state.progress[progress.identifier]?[progress.task] != nil
            let count = state.progress[progress.identifier]?.count ?? 0
            guard isKnown || count < Self.maximumTasks else { return false }
            state.progress[progress.identifier, default: [:]][progress.task] = progress
            return Self.takeFlag(&state.mustWakeForProgress)
        }
        if mustWake { wake() }
    }

    /// Whether anybody would hear of progress.
    package func isFollowed(_ identifier: String) -> Bool {
        state.withLock { $0.followers[identifier] != nil }
    }

    /// The run is over and its last events were told: its number is forgotten once they went out.
    package func forget(_ identifier: String) {
        state.withLock { state in
            if !state.news.contains(identifier) { state.last[identifier] = nil }
            state.progress[identifier] = nil
        }
    }

    private static func takeFlag(_ flag: inout Bool) -> Bool {
        defer { flag = false }
        return flag
    }

    // MARK: For the listener

    /// One more follows; the session's last number, 0 when it is not known.
    package func follow(_ identifier: String) -> UInt64 {
        state.withLock { state in
            state.followers[identifier, default: 0] += 1
            return state.last[identifier] ?? 0
        }
    }

    package func unfollow(_ identifier: String) {
        state.withLock { state in
            let left = (state.followers[identifier] ?? 0) - 1
            state.followers[identifier] = left > 0 ? left : nil
            guard left <= 0 else { return }
            state.news.remove(identifier)
            state.progress[identifier] = nil
        }
    }

    /// Takes what is new. When nothing is, whoever posts next wakes the listener.
    package func take(withProgress: Bool) -> Content {
        state.withLock { state in
            var content = Content()
            for identifier in state.news { content.events[identifier] = state.last[identifier] ?? 0 }
            state.news = []
            if withProgress {
                for tasks in state.progress.values { content.progress += tasks.values }
                state.progress = [:]
            }
            content.hasMore = !state.progress.isEmpty
            state.mustWakeForNews = content.events.isEmpty
            state.mustWakeForProgress = content.progress.isEmpty && !content.hasMore
            return content
        }
    }
}
