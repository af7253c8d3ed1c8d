import TransferModel

/// Downloads that are published together or not at all.
struct GroupState: Sendable {
    /// Members that are neither verified nor done for good.
    var open = 0
    /// Verified; they wait for the others.
    var staged: [TaskIndex] = []
    var isPublishing = false
    /// For whose end's sake the executor was told not to wait; that may have come too late.
    var givenUp: (member: TaskIndex, ending: Ending)?
    /// In an earlier process.
    var isPublished = false
    /// A member is missing for good: nothing is published.
    var isBroken = false
    /// It is missing because it was put off: then so are the others.
    var deferral: Deferral?
    /// What tasks that need it were told; `nil` until it has ended.
    var isGood: Bool?
}

extension Scheduler {
    mutating func formGroups() {
        for group in groups.indices { groups[group].open = groupMembers.of(group).count }
    }

    /// A member's file is verified: it waits for the others.
    mutating func stage(_ task: TaskIndex, _ group: GroupIndex) {
        let index = Int(task.raw)
        tasks[index].phase = .staged
        tasks[index].since = now.instant
        idleCount += 1
        groups[Int(group.raw)].staged.append(task)
        if plan.tellsLimitWaits, groups[Int(group.raw)].open > 1 { actions.append(.waiting(task, .dependency)) }
        // One that needs another member's file needs it verified, not published: that waits for both.
        let members = needs.dependants(of: task).filter { plan.tasks[Int($0.raw)].group == group }
        if stopping == nil { release(members[...], true, nil, blame: nil) }
        closeMember(group)
    }

    mutating func leaveStaged(_ index: Int) -> TimeSpan {
        idleCount -= 1
        let waited = now.instant - tasks[index].since
        tasks[index].addWait(.dependency, waited)
        return waited
    }

    /// A member ended without a file. One that may be missing leaves the old file where it is.
    mutating func memberEnded(
        _ group: GroupIndex, isMissing: Bool, _ deferral: Deferral?, _ error: TransferError? = nil
    ) {
        if isMissing { breakUp(group, deferral, error) }
        closeMember(group)
    }

    mutating func closeMember(_ group: GroupIndex) {
        let number = Int(group.raw)
        groups[number].open -= 1
        guard groups[number].open == 0 else { return }
        // Only now does nobody add to what is staged.
        guard !groups[number].isBroken else { return actions.append(.perform(.discard(group))) }
        guard !groups[number].staged.isEmpty else { return ended(group, published: true, nil) }
        groups[number].isPublishing = true
        actions.append(.perform(.publish(group)))
    }

    static let isIncomplete = TransferError(.runCancelled, "another member of its group did not succeed")

    /// What the others have is of no use without the member that is missing. What keeps the group's folder from being
    /// exchanged is the group's own error, whichever member met it.
    mutating func breakUp(_ group: GroupIndex, _ deferral: Deferral?, _ error: TransferError? = nil) {
        let number = Int(group.raw)
        guard !groups[number].isBroken else { return }
        groups[number].isBroken = true
        groups[number].deferral = deferral
        for member in groupMembers.of(number) { end(member, lost(in: group)) }
        ended(group, published: false, Self.isOfGroup(error) ? error : nil)
    }

    static func isOfGroup(_ error: TransferError?) -> Bool {
        error?.name == .groupNotPublished || error?.name == .groupChanged
    }

    /// Once a group stands there only its flush can fail: then its members have failed, and it stands all the same.
    static func stands(_ error: TransferError?) -> Bool { error == nil || error?.name == .cannotWriteToFile }

    /// How a member ends whose group is not published.
    private func lost(in group: GroupIndex) -> Ending {
        switch stopping {
        // All were told to end. One that was verified all the same waits for what does not come.
        case .cancelling(let error): .finish(.cancelled, error, nil)
        case .deferring(let reason): .finish(.deferred, nil, reason)
        case .failing, nil: missing(in: group)
        }
    }

    /// How those end that another member of theirs left alone.
    func missing(in group: GroupIndex) -> Ending {
        guard let deferral = groups[Int(group.raw)].deferral else { return .finish(.cancelled, Self.isIncomplete, nil) }
        return .finish(.deferred, nil, deferral)
    }

    /// Too late to be stopped, and of no use without the others.
    mutating func breakOff(_ task: TaskIndex, _ group: GroupIndex, _ status: Int?) {
        guard case .finish(let outcome, let error, let deferral) = missing(in: group) else { return }
        finish(task, outcome, error, status, deferral)
    }

    /// A step that is being made cannot be stopped; waiting for somebody else's can.
    mutating func giveUp(_ group: GroupIndex, for member: TaskIndex, _ ending: Ending) -> Bool {
        let number = Int(group.raw)
        guard groups[number].isPublishing, groups[number].givenUp == nil else { return false }
        groups[number].givenUp = (member, ending)
        actions.append(.perform(.giveUp(group)))
        return true
    }

    mutating func published(_ group: GroupIndex, _ error: TransferError?) {
        let number = Int(group.raw)
        guard groups[number].isPublishing else { return }
        groups[number].isPublishing = false
        let staged = groups[number].staged
        groups[number].staged = []
        guard let givenUp = groups[number].givenUp, error?.name == .cancelled else {
            for task in staged { finish(task, error == nil ? .succeeded : .failed, error, nil) }
            return ended(group, published: Self.stands(error), error)
        }
        // It first: the others end because of it.
        for task in [givenUp.member] + staged.filter({ $0 != givenUp.member }) {
            let ending = task == givenUp.member ? givenUp.ending : lost(in: group)
            guard case .finish(let outcome, let error, let deferral) = ending else { continue }
            finish(task, outcome, error, nil, deferral)
        }
        ended(group, published: false, nil)
    }

    private mutating func ended(_ group: GroupIndex, published: Bool, _ error: TransferError?) {
        actions.append(.groupFinished(group, published: published, error))
        groups[Int(group.raw)].isGood = published && error == nil
        if stopping == nil {
            let isGood = published && error == nil
            release(
                groupDependants.of(Int(group.raw)), isGood, groups[Int(group.raw)].deferral,
                blame: isGood ? nil : Blame(.group(group)))
        }
    }
}
