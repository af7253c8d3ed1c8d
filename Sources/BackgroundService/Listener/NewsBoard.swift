import Synchronization

/// Collects what runs report to followers. Only the latest number and progress of each session is kept, so that nothing
/// piles up however fast runs report, and the listener reads the board at its own pace. Of a session without followers
/// only a number is kept.
package final class NewsBoard: Sendable {
    /// What is new since the last look.
    package struct Content: Equatable {
        /// The number of the last event in the journal, for each session with news.
        package var events: [String: UInt64] = [:]
        /// The trouble of those sessions in `events` that have one.
        package var troubles: [String: String] = [:]
        /// The latest progress of each body under way.
        package var progress: [TaskProgress] = []
        /// Whether progress is left on the board, whose time has not come yet.
        package var hasMore = false
        /// Whether there is neither a new event nor progress.
        package var isEmpty: Bool { events.isEmpty && progress.isEmpty }
    }

    /// The body that progress is about; the request's and the response's body of a task are two subjects.
    private struct Subject: Hashable {
        let task: String
        let direction: TaskProgress.Direction
    }

    private struct State {
        /// Number of the last event in the journal, by session.
        var last: [String: UInt64] = [:]
        /// Why a session's events cannot be written or its run not be carried, by session.
        var troubles: [String: String] = [:]
        /// Number of followers, and how many of them write the run's report, by session.
        var followers: [String: (all: Int, reporting: Int)] = [:]
        var news: Set<String> = []
        /// A run's end is among the news, which is passed on before the listener's pace allows.
        var isHurried = false
        /// Sessions whose runs are over and whose last news have not gone out.
        var over: Set<String> = []
        var progress: [String: [Subject: TaskProgress]] = [:]
        /// Whether a report must wake the listener, which sleeps otherwise. One flag for each kind, since the listener
        /// takes progress at a slower pace.
        var mustWakeForNews = true
        var mustWakeForProgress = true

        mutating func forgetIfOver(_ identifier: String) {
            if over.remove(identifier) != nil { last[identifier] = nil }
        }
    }

    /// Greatest number of subjects of one session between two looks; a run has no more tasks under way at a time.
    private static let maximumTasks = 4096

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// `wake` is called outside the lock, when something is new and the listener sleeps.
    package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    // MARK: For those who run

    /// Reports that the journal holds the session's events up to this number.
    package func events(of identifier: String, upTo sequence: UInt64) {
        let mustWake = state.withLock { state in
            // The next run of an identifier counts from the beginning.
            if state.over.remove(identifier) != nil { state.last[identifier] = nil }
            if sequence <= state.last[identifier] ?? 0 { return false }
            state.last[identifier] = sequence
            guard state.followers[identifier] != nil else { return false }
            state.news.insert(identifier)
            return Self.takeFlag(&state.mustWakeForNews)
        }
        if mustWake { wake() }
    }

    /// Reports that the journal has the run's end, which is not an event and would otherwise go unnoticed.
    package func ended(_ identifier: String) {
        let isFollowed = state.withLock { state in
            guard state.followers[identifier] != nil else { return false }
            state.news.insert(identifier)
            state.isHurried = true
            return true
        }
        if isFollowed { wake() }
    }

    /// Reports why the session's events cannot be written or its run not be carried; `nil` when that is over. Kept even
    /// while no process carries the run, since that may be the trouble.
    package func trouble(of identifier: String, _ trouble: String?) {
        let mustWake = state.withLock { state in
            guard state.troubles[identifier] != trouble else { return false }
            state.troubles[identifier] = trouble
            guard state.followers[identifier] != nil else { return false }
            state.news.insert(identifier)
            return Self.takeFlag(&state.mustWakeForNews)
        }
        if mustWake { wake() }
    }

    /// Returns what was last reported as the session's trouble; `nil` for none.
    package func trouble(of identifier: String) -> String? { state.withLock { $0.troubles[identifier] } }

    /// Whether a run's end is among the news, which is to go out at once.
    package var isHurried: Bool { state.withLock { $0.isHurried } }

    /// Reports progress; dropped if the session has no follower or too many subjects.
    package func progress(_ progress: TaskProgress) {
        let mustWake = state.withLock { state in
            guard state.followers[progress.identifier] != nil else { return false }
            let subject = Subject(task: progress.task, direction: progress.direction)
            let isKnown = state.progress[progress.identifier]?[subject] != nil
            let count = state.progress[progress.identifier]?.count ?? 0
            guard isKnown || count < Self.maximumTasks else { return false }
            state.progress[progress.identifier, default: [:]][subject] = progress
            return Self.takeFlag(&state.mustWakeForProgress)
        }
        if mustWake { wake() }
    }

    /// Whether the session has followers, which would receive progress.
    package func isFollowed(_ identifier: String) -> Bool {
        state.withLock { $0.followers[identifier] != nil }
    }

    /// Whether a follower writes the run's report.
    package func isReported(_ identifier: String) -> Bool {
        state.withLock { ($0.followers[identifier]?.reporting ?? 0) > 0 }
    }

    /// Forgets the number of a run that is over, once its last news have gone out.
    package func forget(_ identifier: String) {
        state.withLock { state in
            if state.news.contains(identifier) {
                state.over.insert(identifier)
            } else {
                state.last[identifier] = nil
            }
            state.progress[identifier] = nil
        }
    }

    private static func takeFlag(_ flag: inout Bool) -> Bool {
        defer { flag = false }
        return flag
    }

    // MARK: For the listener

    /// Adds a follower, which with `reports` writes the run's report. Returns the number of the session's last event, 0
    /// when it is not known.
    package func follow(_ identifier: String, reports: Bool = true) -> UInt64 {
        state.withLock { state in
            var followers = state.followers[identifier] ?? (0, 0)
            followers.all += 1
            if reports { followers.reporting += 1 }
            state.followers[identifier] = followers
            return state.last[identifier] ?? 0
        }
    }

    /// Removes a follower, with the same `reports` as when it was added.
    package func unfollow(_ identifier: String, reports: Bool = true) {
        state.withLock { state in
            var left = state.followers[identifier] ?? (0, 0)
            left.all -= 1
            if reports { left.reporting -= 1 }
            state.followers[identifier] = left.all > 0 ? left : nil
            guard left.all <= 0 else { return }
            state.news.remove(identifier)
            state.forgetIfOver(identifier)
            state.progress[identifier] = nil
        }
    }

    /// Takes what is new. When nothing is, the next report wakes the listener.
    package func takeNews(withProgress: Bool) -> Content {
        state.withLock { state in
            var content = Content()
            for identifier in state.news {
                content.events[identifier] = state.last[identifier] ?? 0
                content.troubles[identifier] = state.troubles[identifier]
                state.forgetIfOver(identifier)
            }
            (state.news, state.isHurried) = ([], false)
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
