import TransferModel

// What the members of a group do when one of them is verified or ends, and when the group is published.

extension Scheduler {
    /// A member's file is verified: it waits for the others.
    mutating func stage(_ task: TaskIndex, _ group: GroupIndex) {
        run.tasks.enter(.staged, Int(task.raw), at: run.now.instant)
        let areOthersOpen = groups.verified(task, of: group)
        if run.plan.tellsLimitWaits, areOthersOpen { run.actions.append(.waiting(task, .dependency)) }
        // One that needs another member's file needs it verified, not published: that waits for both.
        let members = needs.dependants(of: task).filter { run.plan.tasks[Int($0.raw)].group == group }
        release(members[...], .good)
        closeMember(group)
    }

    /// A member ended without a file. One that may be missing leaves the old file where it is.
    mutating func memberEnded(
        _ group: GroupIndex, isMissing: Bool, _ deferral: Deferral?, _ error: TransferError? = nil
    ) {
        if isMissing { breakUp(group, deferral, error) }
        closeMember(group)
    }

    mutating func closeMember(_ group: GroupIndex) {
        switch groups.memberClosed(group) {
        case .wait: break
        case .discard: run.actions.append(.perform(.discard(group)))
        case .publish: run.actions.append(.perform(.publish(group)))
        case .nothingToPublish: ended(group, published: true, nil)
        }
    }

    /// What the others have is of no use without the member that is missing. What keeps the group's folder from being
    /// exchanged is the group's own error, whichever member met it.
    mutating func breakUp(_ group: GroupIndex, _ deferral: Deferral?, _ error: TransferError? = nil) {
        guard groups.breakUp(group, deferral) else { return }
        for member in groups.members(of: group) { end(member, groups.endingUnpublished(group, runEnding.stop)) }
        ended(group, published: false, error?.isOfGroup == true ? error : nil)
    }

    /// A publication that moves files cannot be stopped; one that waits for another run's can.
    mutating func giveUp(_ group: GroupIndex, for member: TaskIndex, _ ending: Ending) -> Bool {
        guard groups.giveUp(group, for: member, ending) else { return false }
        run.actions.append(.perform(.giveUp(group)))
        return true
    }

    mutating func published(_ group: GroupIndex, _ error: TransferError?) {
        guard let publication = groups.published(group, wasCancelled: error?.name == .cancelled) else { return }
        guard let givenUp = publication.givenUp else {
            for task in publication.members { finish(task, error == nil ? .succeeded : .failed, error, nil) }
            return ended(group, published: error.leavesGroupInPlace, error)
        }
        // The member for which it was given up first: the others end because of it.
        finish(givenUp.member, givenUp.ending, nil)
        for task in publication.members where task != givenUp.member {
            finish(task, groups.endingUnpublished(group, runEnding.stop), nil)
        }
        ended(group, published: false, nil)
    }

    private mutating func ended(_ group: GroupIndex, published: Bool, _ error: TransferError?) {
        let isGood = published && error == nil
        run.actions.append(.groupFinished(group, published: published, error))
        groups.ended(group, isGood: isGood)
        release(
            groups.dependants(of: group), isGood ? .good : .bad(groups.deferral(of: group), Blame(.group(group))))
    }
}
