import HTTPRules
import TransferModel

/// Decides which of several downloads of the same file fetches it, which wait for it, and which copy a file that is in its
/// place already.
///
/// Only an attempt that is under way is waited for: a task that waits for its next attempt holds nobody up, and the next
/// that waited fetches. By that no wait can go in a circle.
///
/// Where the response decides whether anything can be copied, its headers are waited for a moment only.
struct EqualFiles {
    /// What makes files the same.
    enum Key: Hashable {
        /// They must have the same checksum.
        case checksum(Checksum)
        /// They are asked for at the same URL, in the same session and with the same headers. What the server says decides.
        case answer(url: String, SessionIndex, headers: [HeaderField])
    }
    /// A file in its final place. It had the checksum when it was put there; whoever copies it verifies it again.
    struct Source: Hashable {
        let task: TaskIndex
        let path: String
        let checksum: Checksum
        /// The question whether the server still has that file; `nil` where the checksum alone decides.
        var condition: RequestCondition?
    }
    enum Answer: Equatable {
        /// The task is to fetch the file.
        case fetch
        /// Another task fetches it; this one asks again when it is told to.
        case wait
        /// The file is there.
        case copy(Source)
    }
    private struct Entry {
        /// The task whose attempt fetches the file and is waited for.
        var fetching: TaskIndex?
        /// What that attempt's response says of the file, where it decides.
        var promise = Promise.awaited(until: nil)
        /// In the order in which they asked.
        var waiting: [TaskIndex] = []
        var source: Source?
        /// Whether each is to fetch, since nothing would tell that the file is still the same.
        var isUseless = false
    }
    private enum Promise: Equatable {
        /// Its headers are not there yet. The moment is the one until which others wait for them, if some do.
        case awaited(until: Instant?)
        /// They take too long: the others fetch beside it.
        case late
        /// They say how the file can be recognized: the others wait until it is there.
        case given
    }
    /// The time for which headers are waited for: most servers answer within it, and of one that does not, several
    /// requests at a time are worth more than a file fetched once.
    static let patience = TimeSpan.milliseconds(250)

    /// URLs for which responses may be compared.
    var repeated = RepeatedURLs()
    private var entries: [Key: Entry] = [:]
    /// What a task fetches or waits for.
    private var wanted: [TaskIndex: Key] = [:]
    /// What tasks wait for until the headers of a response are there.
    private var hurried: Set<Key> = []
    /// When `overdue` is to be asked.
    private(set) var nextDeadline = Instant.distantFuture

    /// Says what a task does that needs the file. One that others must not wait for (`isWaitedFor`) may
    /// fetch beside another.
    mutating func ask(_ key: Key, for task: TaskIndex, isWaitedFor: Bool = true, at now: Instant) -> Answer {
        var entry = entries[key] ?? Entry()
        if entry.isUseless { return .fetch }
        defer { entries[key] = entry }
        if let source = entry.source, source.task != task { return .copy(source) }
        if entry.fetching != nil, entry.fetching != task {
            if entry.promise == .late { return .fetch }
            if case .answer = key, entry.promise == .awaited(until: nil) {
                entry.promise = .awaited(until: now + Self.patience)
                hurried.insert(key)
                nextDeadline = min(nextDeadline, now + Self.patience)
            }
            entry.waiting.append(task)
            wanted[task] = key
            return .wait
        }
        guard isWaitedFor else { return .fetch }
        entry.fetching = task
        entry.promise = .awaited(until: nil)
        wanted[task] = key
        return .fetch
    }

    /// Notes that the headers of a task's response say how its file can be recognized.
    mutating func promised(_ key: Key, by task: TaskIndex) {
        guard entries[key]?.fetching == task else { return }
        entries[key]?.promise = .given
    }

    /// Returns the tasks that have waited too long for the headers of another's response: they ask again, and fetch.
    mutating func overdue(at now: Instant) -> [TaskIndex] {
        guard nextDeadline <= now else { return [] }
        nextDeadline = .distantFuture
        var released: [TaskIndex] = []
        for key in hurried {
            guard var entry = entries[key], entry.fetching != nil, case .awaited(let end?) = entry.promise else {
                hurried.remove(key)
                continue
            }
            guard end <= now else {
                nextDeadline = min(nextDeadline, end)
                continue
            }
            hurried.remove(key)
            entry.promise = .late
            released += Self.release(&entry, &wanted)
            entries[key] = entry
        }
        return released.sorted()
    }

    /// Notes a file that was put, or stands, in its final place. Returns the tasks that waited for one: they ask again.
    mutating func placed(_ key: Key, _ source: Source) -> [TaskIndex] {
        var entry = entries[key] ?? Entry()
        entry.source = source
        defer { entries[key] = entry }
        return Self.release(&entry, &wanted)
    }

    /// Notes that nothing tells whether the server still has the file: each task fetches. Returns those that waited.
    mutating func mustEachFetch(_ key: Key) -> [TaskIndex] {
        guard var entry = entries[key] else { return [] }
        entry.isUseless = true
        entry.source = nil
        defer { entries[key] = entry }
        return Self.release(&entry, &wanted)
    }

    /// Forgets a source whose copy failed: the file was changed or removed, or could not be read.
    mutating func lost(_ source: Source, _ key: Key) {
        if entries[key]?.source == source { entries[key]?.source = nil }
    }

    /// Notes that an attempt of the task ended, however it did. Returns the tasks that waited for it: they ask again, and
    /// the first of them fetches.
    mutating func ended(_ task: TaskIndex) -> [TaskIndex] {
        guard !wanted.isEmpty, let key = wanted.removeValue(forKey: task), var entry = entries[key] else {
            return []
        }
        defer { entries[key] = entry }
        guard entry.fetching == task else {
            entry.waiting.removeAll { $0 == task }
            return []
        }
        entry.fetching = nil
        return Self.release(&entry, &wanted)
    }

    private static func release(_ entry: inout Entry, _ wanted: inout [TaskIndex: Key]) -> [TaskIndex] {
        let waiting = entry.waiting
        for task in waiting { wanted[task] = nil }
        entry.waiting = []
        return waiting
    }
}

/// The URLs that several downloads of a job ask for: only those are compared by what the server says.
struct RepeatedURLs {
    private var seen: Set<Int> = []
    private var repeated: Set<Int> = []

    mutating func add(_ tasks: [TaskSpecification]) {
        // Not each task as a whole: copying it costs more than what is done here.
        for index in tasks.indices {
            guard tasks[index].type == .download, tasks[index].options.values.checksum == nil,
                let url = tasks[index].location.url
            else { continue }
            let hash = Self.hash(url, tasks[index].session)
            if !seen.insert(hash).inserted { repeated.insert(hash) }
        }
    }

    func contains(_ url: ResourceURL, _ session: SessionIndex) -> Bool {
        !repeated.isEmpty && repeated.contains(Self.hash(url, session))
    }

    private static func hash(_ url: ResourceURL, _ session: SessionIndex) -> Int {
        var hasher = Hasher()
        hasher.combine(url.text)
        hasher.combine(session)
        return hasher.finalize()
    }
}
