import FileDelivery
package import TransferModel

// Files that an earlier process put in place, whose tasks' ends it did not tell.

/// Since when a process that has ended may have put a task's file in place and told nobody.
package struct UntoldFiles: Sendable {
    /// What was done after that nobody knows; `nil`: nobody did anything.
    private let last: WallTime?
    private var others: [TaskIndex: WallTime?] = [:]

    package init(since last: WallTime? = nil) { self.last = last }

    /// More is known of it.
    package mutating func set(_ task: TaskIndex, since: WallTime?) { others.updateValue(since, forKey: task) }

    subscript(task: TaskIndex) -> WallTime? { others.isEmpty ? last : others[task] ?? last }
}

extension Engine {
    /// Tasks whose file was told of and stands as it was put there.
    package static func standing(_ job: Job, _ history: RunHistory) -> Set<TaskIndex> {
        var files = StandingFiles()
        var found: Set<TaskIndex> = []
        for (index, past) in history.tasks.enumerated() where past.ending == nil && past.open != nil {
            // Of a group it is enough that one of its files was told of: they were put there together.
            guard let file = past.file, job.tasks[index].group == nil else { continue }
            let session = job.sessions[Int(job.tasks[index].session.raw)]
            if files.hold(file, flush: session.durability == .flush) { found.insert(TaskIndex(raw: UInt32(index))) }
        }
        return found
    }

    /// Since when what `existing: fail` would protect may be the task's own: then what the server sends tells.
    func ownFileMayBeThere(_ attempt: Attempt) -> WallTime? {
        let specification = attempt.specification
        return specification.options.values.existing == .fail && specification.group == nil ? untold[attempt.task] : nil
    }

    /// What was put in place while the run was being left: whoever goes on with it must know.
    func tellPlaced(_ report: DeliveryReport) {
        switch report {
        case .published(let task, let record, isKept: false):
            if let attempt = attempt(of: task) { emit(.fileFinished(record), attempt) }
        case .groupPublished(let group, nil): for member in members(of: group) { tellFile(member) }
        default: break
        }
    }

    /// Those of a group that were put in place with it.
    func members(of group: GroupIndex) -> [Attempt] {
        groups[Int(group.raw)].members.compactMap { attempts[Int($0.raw)] }
    }

    func tellFile(_ attempt: Attempt) { if let file = attempt.download.file { emit(.fileFinished(file), attempt) } }
}
