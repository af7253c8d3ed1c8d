import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// Publishes groups of files as one.
final class GroupPublication: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// Tells what a group removed that may remove files.
    func tellPublished(_ group: GroupIndex, _ removed: RemovedFiles?) {
        guard let removed else { return }
        core.events.append(.groupPublished(GroupRecord(name: core.job.groups[Int(group.raw)].name, removed: removed)))
    }

    /// The attempts of a group's members, which are published with it.
    func members(of group: GroupIndex) -> [Attempt] {
        core.groups[Int(group.raw)].members.compactMap { core.attempts[Int($0.raw)] }
    }

    /// Emits that the file is finished.
    func tellFile(_ attempt: Attempt) {
        if let file = attempt.download.file { core.emit(.fileFinished(file), attempt) }
    }

    /// The task as a member of its group; `nil` for one that has none.
    func member(_ specification: TaskSpecification) -> GroupMember? {
        specification.group.map { GroupMember(core.groups[Int($0.raw)].place, specification.options.values.existing) }
    }

    /// A member is verified: its part is done, its file is not there yet.
    func staged(_ task: TaskIndex, _ record: FileRecord) {
        guard let attempt = core.attempt(of: task) else { return }
        attempt.download.file = record
        participants.answers.takeFindings(attempt)
        attempt.noteUnpacked(record.bytes)
        if attempt.download.keepsExisting {
            // A file that an earlier run kept is another than the one that stands there.
            let source = record.changed ? ResultSource.resumed : .unchanged
            return engine.endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
        }
        if attempt.exchange.head == nil { participants.publication.announceFile(attempt, length: record.bytes) }
        // The next run knows the member by that if the group is not published.
        if attempt.download.destination?.group?.keeping != nil {
            participants.keptFiles.keepValidators(attempt, isFlushed: false)
        }
        engine.succeed(attempt)
    }

    /// A member that failed and may, or is not in this run, leaves the old file as it was.
    func publish(_ group: EngineGroup) {
        let missing = group.members.filter { core.attempts[Int($0.raw)]?.download.file == nil }
        let absent =
            core.job.groups[Int(group.place.index.raw)].absent + missing.map { core.job.tasks[Int($0.raw)].destination }
        core.outbox.add(.publishGroup(group.place, absent: absent))
    }

    /// What `cancel` ends leaves nothing.
    func discardGroup(_ group: EngineGroup) {
        core.outbox.add(
            .discardGroup(group.place, keepingMembers: !group.members.contains { core.unwanted.contains($0) }))
    }

    /// The group is in place, or is not.
    func published(_ group: GroupIndex, _ error: TransferError?, _ removed: RemovedFiles?) {
        if error == nil {
            for attempt in members(of: group) {
                tellFile(attempt)
                let isFlushed = attempt.session.configuration.durability == .flush
                if attempt.download.keepsExisting {
                    participants.keptFiles.noteCopy(attempt, isFlushed: isFlushed)
                } else {
                    let isKept = attempt.download.destination?.group?.keeping != nil
                    if isFlushed || !isKept { participants.keptFiles.keepValidators(attempt, isFlushed: isFlushed) }
                }
            }
        }
        if error == nil { tellPublished(group, removed) }
        core.reports.append(.published(group, error))
    }
}
