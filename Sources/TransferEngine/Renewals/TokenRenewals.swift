import TransferModel

/// Tasks that are run again because a server refused with 401 what they had captured: a token that has expired.
///
/// Each is run once for all attempts that wait for it. It is run once more for a request that was not tried again yet,
/// unless what it captured last was refused as well and no server has accepted it since; where it failed, only for an
/// attempt that follows a failed one. To the scheduler its requests are those of the first attempt that waits, the
/// leader.
struct TokenRenewals {
    /// A task that is being run again, and the attempts that wait for it.
    struct Renewal {
        /// The waiting attempt's task under which the scheduler knows the requests.
        fileprivate(set) var leader: TaskIndex
        /// The tasks whose attempts wait, the leader first, each with the error of its 401.
        fileprivate(set) var waiting: [(task: TaskIndex, error: TransferError)]
    }

    /// What becomes of an attempt that was answered 401.
    enum Decision: Equatable {
        /// The attempt fails: what a server refused was new.
        case refused
        /// The attempt is tried again: its token was renewed since it began.
        case again
        /// The attempt waits for a renewal that is under way.
        case wait
        /// The attempt waits, and the renewal is to begin.
        case begin
    }

    /// What is known of the last run of a task that was run again.
    private enum Standing {
        /// No server has said anything of what it captured.
        case unproven
        /// A request that was tried again with what it captured was answered 401.
        case refused
        /// The renewal failed, with this verdict.
        case failed(Verdict)
    }

    private var underWay: [TaskIndex: Renewal] = [:]
    /// The renewal, counted over the run, that gave each task's captures their present values.
    private var renewed: [TaskIndex: Int] = [:]
    /// What is known of the last run of each task that was run again; nothing once a server has accepted what it
    /// captured.
    private var standings: [TaskIndex: Standing] = [:]
    /// How many renewals have succeeded: an attempt notes it when it begins.
    private(set) var count = 0

    /// Places of tasks that were looked for by their ids; `nil` of what is no task.
    private var places: [String: Int?] = [:]

    /// The task whose captured value a request of the task holds: in a header, or a secret one anywhere.
    mutating func source(of task: TaskIndex, in job: Job) -> TaskIndex? {
        job.tasks[Int(task.raw)].tokenSource(in: job) { place(of: $0, in: job) }.map { TaskIndex(raw: UInt32($0)) }
    }

    private mutating func place(of id: String, in job: Job) -> Int? {
        if let known = places[id] { return known }
        let found = job.tasks.firstIndex { $0.id == id }
        places[id] = .some(found)
        return found
    }

    /// Whether no task was run again so far.
    var isUnused: Bool { underWay.isEmpty && renewed.isEmpty }
    /// Whether none is being run again.
    var isIdle: Bool { underWay.isEmpty }

    /// Whether the task is being run again.
    func isRenewing(_ task: TaskIndex) -> Bool { !underWay.isEmpty && underWay[task] != nil }

    /// Returns the task whose attempt a command of the scheduler is about: of a leader the one that it waits for.
    func performer(of task: TaskIndex) -> TaskIndex {
        underWay.isEmpty ? task : underWay.first { $0.value.leader == task }?.key ?? task
    }

    /// Returns the task under which the scheduler knows a task that is being run again; any other task is its own.
    func leader(of task: TaskIndex) -> TaskIndex { underWay[task]?.leader ?? task }

    /// Decides about an attempt of `task` that was answered 401 and began after `seen` renewals. `hasTried`: its request
    /// was tried again for that reason before. `isRetry`: an attempt of the task failed before it.
    mutating func refuse(
        _ task: TaskIndex, _ error: TransferError, token source: TaskIndex, seen: Int, hasTried: Bool, isRetry: Bool
    ) -> Decision {
        let isPresent = renewed[source].map { $0 <= seen } ?? true
        if hasTried {
            if isPresent, case .unproven? = standings[source] { standings[source] = .refused }
            return .refused
        }
        if underWay[source] != nil {
            underWay[source]?.waiting.append((task, error))
            return .wait
        }
        if !isPresent { return .again }
        switch standings[source] {
        case .refused: return .refused
        case .failed where !isRetry: return .refused
        case .failed, .unproven, nil: break
        }
        underWay[source] = Renewal(leader: task, waiting: [(task, error)])
        return .begin
    }

    /// How the last renewal failed, if it did.
    func failure(of source: TaskIndex) -> Verdict? {
        if case .failed(let verdict)? = standings[source] { verdict } else { nil }
    }

    /// Notes that a server accepted a request with what `source` captured.
    mutating func accept(token source: TaskIndex, seen: Int) {
        if let last = renewed[source], last <= seen, failure(of: source) == nil { standings[source] = nil }
    }

    /// Ends the renewal; returns the attempts that waited.
    mutating func end(_ source: TaskIndex, failure: Verdict?) -> Renewal? {
        guard let renewal = underWay.removeValue(forKey: source) else { return nil }
        if failure == nil {
            count += 1
            renewed[source] = count
        }
        standings[source] = failure.map { .failed($0) } ?? .unproven
        return renewal
    }

    /// Takes an attempt out that waits no longer. If it was a leader, returns the task that is being run again for it; the
    /// next attempt that waits is the leader then, if there is one.
    mutating func leave(_ task: TaskIndex) -> TaskIndex? {
        for (source, renewal) in underWay {
            guard let place = renewal.waiting.firstIndex(where: { $0.task == task }) else { continue }
            underWay[source]?.waiting.remove(at: place)
            guard renewal.leader == task else { return nil }
            if let next = underWay[source]?.waiting.first {
                underWay[source]?.leader = next.task
            } else {
                underWay[source] = nil
            }
            return source
        }
        return nil
    }
}
