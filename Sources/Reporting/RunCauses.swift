internal import TransferModel

/// Why tasks of a run did not succeed: each cause once, with its consequences counted under it.
///
/// A task that was skipped, or cancelled with its group or by `failFast`, has no cause of its own.
struct RunCauses {
    struct Cause {
        /// Tasks with this cause, in the order in which they ended.
        var tasks: [TaskIndex]
        /// Record of the first of these tasks.
        let record: TaskRecord
        /// That task's error, as its line says it.
        let message: String?
        /// Number of lines printed when the last of these tasks was.
        var shownAt: Int
        /// What ended the whole run, where that is the cause.
        let stop: RunStop?
        var skipped = 0
        var unpublished = 0
        var cancelled = 0

        var followers: Int { skipped + unpublished + cancelled }

        /// `3,011 other members of its group were not published`
        var consequences: [String] {
            func words(_ count: Int, _ one: String, _ many: String) -> String? {
                count == 0 ? nil : "\(HumanText.grouped(count)) \(count == 1 ? one : many)"
            }
            return [
                words(
                    unpublished, "other member of its group was not published",
                    "other members of its group were not published"),
                words(skipped, "task that needs it was skipped", "tasks that need it were skipped"),
                words(cancelled, "other task was cancelled (`failFast`)", "other tasks were cancelled (`failFast`)"),
            ].compactMap { $0 }
        }
    }

    private enum Following {
        case needs
        case group(GroupIndex)
        case failFast
    }

    private var job: Job
    private(set) var causes: [Cause] = []
    private var places: [Key: Int] = [:]
    private var causeOfTask: [TaskIndex: Int] = [:]
    private var followers: [(task: TaskIndex, kind: Following)] = []
    private var followerPlaces: [TaskIndex: Int] = [:]

    /// What tasks must have in common to have one cause.
    private struct Key: Hashable {
        let outcome: TaskOutcome
        let name: ErrorName?
        let text: String
    }

    init(job: Job) { self.job = job }

    /// Adds tasks after all others.
    mutating func grow(_ tasks: [TaskSpecification]) { job.tasks += tasks }

    var troubledTasks: [TaskIndex] { (causeOfTask.keys + followers.map(\.task)).sorted() }
    var followerCount: Int { followers.count }

    /// Whether the task needs no line of its own: it ended because another task or the whole run did, or because another
    /// task found its host down.
    static func isFolded(_ record: TaskRecord) -> Bool {
        follows(record) || RunStop(record) != nil || record.error?.wasFoundByAnotherTask == true
    }

    /// Whether the task only follows another task's end.
    static func follows(_ record: TaskRecord) -> Bool {
        switch record.outcome {
        case .skipped: !record.isPassedOver
        case .cancelled: record.error?.name == .runCancelled || isByFailFast(record)
        case .succeeded, .failed, .deferred: false
        }
    }

    private static func isByFailFast(_ record: TaskRecord) -> Bool {
        record.error?.saysTheSame(as: .cancelledByFailFast) == true
    }

    mutating func add(_ task: TaskIndex, _ record: TaskRecord, saying message: String?, shownAt lines: Int) {
        if Self.follows(record) {
            followerPlaces[task] = followers.count
            let group = record.error?.name == .runCancelled ? job.tasks[Int(task.raw)].group : nil
            let kind: Following =
                record.outcome == .skipped ? .needs : group.map { .group($0) } ?? .failFast
            followers.append((task, kind))
            return
        }
        let stop = RunStop(record)
        let words = TransferError.commonWords(
            record.error?.message ?? record.explanation ?? "", of: record.error?.name)
        let key = Key(outcome: record.outcome, name: record.error?.name, text: stop?.words ?? words)
        if let place = places[key] {
            causes[place].tasks.append(task)
            causes[place].shownAt = lines
            causeOfTask[task] = place
        } else {
            places[key] = causes.count
            causeOfTask[task] = causes.count
            causes.append(Cause(tasks: [task], record: record, message: message, shownAt: lines, stop: stop))
        }
    }

    /// Counts each follower under the cause it leads back to; how many lead back to none that is known.
    mutating func attribute() -> Int {
        var unknown = 0
        var firstOfGroup: [GroupIndex: Int] = [:]
        for (place, cause) in causes.enumerated() {
            for task in cause.tasks {
                if let group = job.tasks[Int(task.raw)].group, firstOfGroup[group] == nil {
                    firstOfGroup[group] = place
                }
            }
        }
        var known: [TaskIndex: Int?] = [:]
        for follower in followers {
            guard let place = root(of: follower.task, &known, firstOfGroup) else {
                unknown += 1
                continue
            }
            switch follower.kind {
            case .needs: causes[place].skipped += 1
            case .group: causes[place].unpublished += 1
            case .failFast: causes[place].cancelled += 1
            }
        }
        return unknown
    }

    /// Without recursion: chains of needs may be long.
    private func root(
        of task: TaskIndex, _ known: inout [TaskIndex: Int?], _ firstOfGroup: [GroupIndex: Int]
    ) -> Int? {
        var path: [TaskIndex] = []
        var next: TaskIndex? = task
        var found: Int?
        while let task = next, found == nil {
            if let place = causeOfTask[task] {
                found = place
            } else if let before = known[task] {
                found = before
                break
            } else {
                known[task] = .some(nil)
                path.append(task)
                (next, found) = step(from: task, firstOfGroup)
            }
        }
        for task in path { known[task] = .some(found) }
        return found
    }

    private func step(
        from task: TaskIndex, _ firstOfGroup: [GroupIndex: Int]
    ) -> (next: TaskIndex?, found: Int?) {
        guard let place = followerPlaces[task] else { return (nil, nil) }
        switch followers[place].kind {
        case .failFast: return (nil, causes.firstIndex { $0.record.outcome == .failed })
        case .group(let group): return (nil, firstOfGroup[group])
        case .needs:
            let specification = job.tasks[Int(task.raw)]
            let needed = specification.needs.first { causeOfTask[$0] != nil }
            if let needed = needed ?? specification.needs.first(where: { followerPlaces[$0] != nil }) {
                return (needed, nil)
            }
            let groups = specification.options.values.neededGroups
            let index = job.groups.indices.first {
                groups.contains(job.groups[$0].name) && firstOfGroup[Self.group($0)] != nil
            }
            return (nil, index.flatMap { firstOfGroup[Self.group($0)] })
        }
    }

    private static func group(_ number: Int) -> GroupIndex { GroupIndex(raw: UInt16(number)) }
}
