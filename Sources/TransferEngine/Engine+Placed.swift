import FileDelivery
package import TransferModel

// Files that an earlier process published without recording the end of their tasks.

extension Engine {
    /// Unfinished tasks whose file was recorded and is still there unchanged.
    package static func standing(_ job: Job, _ history: RunHistory) -> Set<TaskIndex> {
        var files = StandingFiles()
        var found: Set<TaskIndex> = []
        for (index, past) in history.tasks.enumerated() where past.ending == nil && past.open != nil {
            // Groups are left out: of one it is enough that a file was recorded, because all were published together.
            guard let file = past.file, job.tasks[index].group == nil else { continue }
            let session = job.sessions[Int(job.tasks[index].session.raw)]
            if files.hold(file, flush: session.durability == .flush) { found.insert(TaskIndex(raw: UInt32(index))) }
        }
        return found
    }

    /// Since when the file that `existing: fail` would protect may be the task's own: the server's answer then decides;
    /// `nil` where it cannot be.
    func ownFileMayBeThere(_ attempt: Attempt) -> WallTime? {
        let specification = attempt.specification
        return specification.options.values.existing == .fail && specification.group == nil
            ? unrecordedFiles[attempt.task] : nil
    }

    /// Emits files that were published while the run was being left: the next process must know of them.
    func tellPlaced(_ report: DeliveryReport) {
        switch report {
        case .published(let task, let record, isKept: false):
            if let attempt = attempt(of: task) { emit(.fileFinished(record), attempt) }
        case .groupPublished(let group, nil, let removed):
            for member in members(of: group) { tellFile(member) }
            tellPublished(group, removed)
        default: break
        }
    }

    /// Tells what a group removed that may remove files.
    func tellPublished(_ group: GroupIndex, _ removed: RemovedFiles?) {
        guard let removed else { return }
        events.append(.groupPublished(GroupRecord(name: job.groups[Int(group.raw)].name, removed: removed)))
    }

    /// The attempts of a group's members, which are published with it.
    func members(of group: GroupIndex) -> [Attempt] {
        groups[Int(group.raw)].members.compactMap { attempts[Int($0.raw)] }
    }

    func tellFile(_ attempt: Attempt) { if let file = attempt.download.file { emit(.fileFinished(file), attempt) } }
}
