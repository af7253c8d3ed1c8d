import TransferModel

// What the members of a group do when one of them is verified or ends, and when the group is published.

extension Scheduler {
    /// A member's file is verified: it waits for the others.
    mutating func stage(_ task: TaskIndex, _ group: GroupIndex) {
        tasks.enter(.staged, Int(task.raw), at: now.instant)
        let areOthersOpen = groups.verified(task, of: group)
        if plan.tellsLimitWaits, areOthersOpen { actions.append(.waiting(task, .dependency)) }
        // One that needs another member's file needs it verified, not published: that waits for both.
        let members = needs.dependants(of: task).filter { plan.tasks[Int($0.raw)].group == group }
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
        case .discard: actions.append(.perform(.discard(group)))
        case .publish: actions.append(.perform(.publish(group)))
        case .nothingToPublish: ended(group, published: true, nil)
        }
    }

    static let isIncomplete = TransferError(.runCancelled, "another member of its group did not succeed")

    /// What the others have is of no use without the member that is missing. What keeps the group's folder from being
    /// exchanged is the group's own error, whichever member met it.
    mutating func breakUp(_ group: GroupIndex, _ deferral: Deferral?, _ error: TransferError? = nil) {
        guard groups.breakUp(group, deferral) else { return }
        for member in groups.members(of: group) { end(member, lost(in: group)) }
        ended(group, published: false, Self.isOfGroup(error) ? error : nil)
    }

    static func isOfGroup(_ error: TransferError?) -> Bool {
        error?.name == .groupNotPublished || error?.name == .groupChanged
    }

    /// Once a group stands there only its flush can fail: then its members have failed, and it stands all the same.
    static func stands(_ error: TransferError?) -> Bool { error == nil || error?.name == .cannotWriteToFile }

    /// How a member ends whose group is not published.
    private func lost(in group: GroupIndex) -> Ending {
        switch runEnding.stop {
        // All were told to end. One that was verified all the same waits for what does not come.
        case .cancelling(let error): .finish(.cancelled, error, nil)
        case .deferring(let reason): .finish(.deferred, nil, reason)
        case .failing, nil: missing(in: group)
        }
    }

    /// How those end that another member of theirs left alone.
    func missing(in group: GroupIndex) -> Ending {
        guard let deferral = groups.deferral(of: group) else { return .finish(.cancelled, Self.isIncomplete, nil) }
        return .finish(.deferred, nil, deferral)
    }

    /// Too late to be stopped, and of no use without the others.
    mutating func breakOff(_ task: TaskIndex, _ group: GroupIndex, _ status: Int?) {
        guard case .finish(let outcome, let error, let deferral) = missing(in: group) else { return }
        finish(task, outcome, error, status, deferral)
    }

    /// A publication that moves files cannot be stopped; one that waits for another run's can.
    mutating func giveUp(_ group: GroupIndex, for member: TaskIndex, _ ending: Ending) -> Bool {
        guard groups.giveUp(group, for: member, ending) else { return false }
        actions.append(.perform(.giveUp(group)))
        return true
    }

    mutating func published(_ group: GroupIndex, _ error: TransferError?) {
        guard let publication = groups.published(group, wasCancelled: error?.name == .cancelled) else { return }
        guard let givenUp = publication.givenUp else {
            for task in publication.members { finish(task, error == nil ? .succeeded : .failed, error, nil) }
            return ended(group, published: Self.stands(error), error)
        }
        // It first: the others end because of it.
        for task in [givenUp.member] + publication.members.filter({ $0 != givenUp.member }) {
            let ending = task == givenUp.member ? givenUp.ending : lost(in: group)
            guard case .finish(let outcome, let error, let deferral) = ending else { continue }
            finish(task, outcome, error, nil, deferral)
        }
        ended(group, published: false, nil)
    }

    private mutating func ended(_ group: GroupIndex, published: Bool, _ error: TransferError?) {
        let isGood = published && error == nil
        actions.append(.groupFinished(group, published: published, error))
        groups.ended(group, isGood: isGood)
        release(
            groups.dependants(of: group), isGood ? .good : .bad(groups.deferral(of: group), Blame(.group(group))))
    }
}
