import Synchronization

/// What runs have to tell those who follow: the last word of each counts, so however fast they talk, nothing piles up
/// and the listener comes by at its own pace. Nothing is kept of what nobody follows but a number.
package final class NewsBoard: Sendable {
    /// What is new since the last look.
    package struct Content: Equatable {
        package var events: [String: UInt64] = [:]
        /// Of those among `events` that are in trouble.
        package var troubles: [String: String] = [:]
        package var progress: [TaskProgress] = []
        /// Something is still there: progress, before its time.
        package var hasMore = false
        package var isEmpty: Bool { events.isEmpty && progress.isEmpty }
    }

    /// A body that is sent and one that is received are two things of which the last word counts.
    private struct Subject: Hashable {
        let task: String
        let direction: TaskProgress.Direction
    }

    private struct State {
        /// By session: the last event in the journal.
        var last: [String: UInt64] = [:]
        /// By session: why its events wait to be written, or its run to be carried.
        var troubles: [String: String] = [:]
        /// How many follow a session, and how many of them report what became of it.
        var followers: [String: (all: Int, reporting: Int)] = [:]
        var news: Set<String> = []
        /// An end is among the news, which is told before the listener's pace allows.
        var isHurried = false
        /// Their runs are over, and their last news have not gone out.
        var over: Set<String> = []
        var progress: [String: [Subject: TaskProgress]] = [:]
        /// The listener does not come by of itself: whoever has something new wakes it. Once for each, for it takes
        /// progress at a slower pace.
        var mustWakeForNews = true
        var mustWakeForProgress = true

        mutating func forgetIfOver(_ identifier: String) {
            if over.remove(identifier) != nil { last[identifier] = nil }
        }
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

    /// The journal has the run's end: of that nobody else tells, for it is no event.
    package func ended(_ identifier: String) {
        let isFollowed = state.withLock { state in
            guard state.followers[identifier] != nil else { return false }
            state.news.insert(identifier)
            state.isHurried = true
            return true
        }
        if isFollowed { wake() }
    }

    /// Its events cannot be written, or its run not be carried, for this reason; `nil` when that is over. Kept while
    /// nobody carries the run: that may be just what it is about.
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

    package func trouble(of identifier: String) -> String? { state.withLock { $0.troubles[identifier] } }

    /// There is something for which those who follow wait.
    package var isHurried: Bool { state.withLock { $0.isHurried } }

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

    /// Whether anybody would hear of progress.
    package func isFollowed(_ identifier: String) -> Bool {
        state.withLock { $0.followers[identifier] != nil }
    }

    /// Whether somebody writes its report.
    package func isReported(_ identifier: String) -> Bool {
        state.withLock { ($0.followers[identifier]?.reporting ?? 0) > 0 }
    }

    /// The run is over and its last events were told: its number is forgotten once they went out.
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

    /// One more follows, and with `reports` writes what becomes of it; the session's last number, 0 when it is not known.
    package func follow(_ identifier: String, reports: Bool = true) -> UInt64 {
        state.withLock { state in
            var followers = state.followers[identifier] ?? (0, 0)
            followers.all += 1
            if reports { followers.reporting += 1 }
            state.followers[identifier] = followers
            return state.last[identifier] ?? 0
        }
    }

    /// As it followed.
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

    /// Takes what is new. When nothing is, whoever posts next wakes the listener.
    package func take(withProgress: Bool) -> Content {
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
