import TransferModel

/// Tracks the groups of a run: downloads that are published together or not at all.
///
/// Tells the scheduler when a group may be published and which members a publication leaves; the members' own phases
/// are the scheduler's.
struct PublicationGroups: Sendable {
    /// The step that follows when a member of a group is verified or ends.
    enum Step: Hashable, Sendable {
        /// Other members are still open.
        case wait
        /// All members are there: their files can be put in place.
        case publish
        /// A member is missing: the verified files are of no use.
        case discard
        /// No member has a file to publish.
        case nothingToPublish
    }

    /// The members that waited for a publication which is over.
    struct Publication: Sendable {
        let members: [TaskIndex]
        /// The member for whose end the publication was given up, and that end.
        let givenUp: (member: TaskIndex, ending: Ending)?
    }

    private struct State: Sendable {
        /// Members that are neither verified nor ended.
        var open = 0
        /// Verified members that wait for the others.
        var verified: [TaskIndex] = []
        var isPublishing = false
        var givenUp: (member: TaskIndex, ending: Ending)?
        /// Published by an earlier process.
        var isPublished = false
        var isBroken = false
        var deferral: Deferral?
        var isGood: Bool?
    }
    private var states: [State]
    private var members: Dependants
    private var dependants: Dependants

    init(_ plan: SchedulingPlan) {
        states = Array(repeating: State(), count: plan.groupCount)
        members = Dependants(plan.tasks, count: plan.groupCount) { $0.group.map { [Int($0.raw)] } ?? [] }
        dependants = Dependants(plan.tasks, count: plan.groupCount) { $0.neededGroups.map { Int($0.raw) } }
        for group in states.indices { states[group].open = members.of(group).count }
    }

    private subscript(group: GroupIndex) -> State {
        get { states[Int(group.raw)] }
        _modify { yield &states[Int(group.raw)] }
    }

    var all: [GroupIndex] { states.indices.map { GroupIndex(raw: UInt16($0)) } }
    func members(of group: GroupIndex) -> ArraySlice<TaskIndex> { members.of(Int(group.raw)) }
    /// Tasks that begin once the group is published.
    func dependants(of group: GroupIndex) -> ArraySlice<TaskIndex> { dependants.of(Int(group.raw)) }
    func isPublishing(_ group: GroupIndex) -> Bool { self[group].isPublishing }
    var areAnyPublishing: Bool { states.contains { $0.isPublishing } }
    /// Whether an earlier process published the group.
    func isPublished(_ group: GroupIndex) -> Bool { self[group].isPublished }
    /// Whether a member is missing for good, so that nothing is published.
    func isBroken(_ group: GroupIndex) -> Bool { self[group].isBroken }
    /// Why the group is not published in this run, where its missing member was put off: then so are the others.
    func deferral(of group: GroupIndex) -> Deferral? { self[group].deferral }
    /// Whether the group ended well; `nil` until it has ended.
    func isGood(_ group: GroupIndex) -> Bool? { self[group].isGood }
    func isBrokenAndOpen(_ group: GroupIndex) -> Bool { self[group].isBroken && self[group].open > 0 }

    // MARK: Added tasks

    mutating func add(member: TaskIndex, to group: GroupIndex) {
        members.add(member, to: Int(group.raw))
        self[group].open += 1
    }

    mutating func add(dependant: TaskIndex, to group: GroupIndex) { dependants.add(dependant, to: Int(group.raw)) }

    // MARK: Members

    /// A member's file is verified. Returns whether other members are still open.
    mutating func verified(_ task: TaskIndex, of group: GroupIndex) -> Bool {
        self[group].verified.append(task)
        return self[group].open > 1
    }

    /// A member was verified, or ended without a file.
    mutating func memberClosed(_ group: GroupIndex) -> Step {
        self[group].open -= 1
        guard self[group].open == 0 else { return .wait }
        // Not before: until then members are still added to those that are verified.
        guard !self[group].isBroken else { return .discard }
        guard !self[group].verified.isEmpty else { return .nothingToPublish }
        self[group].isPublishing = true
        return .publish
    }

    /// A member is missing for good. Returns whether that is news.
    mutating func breakUp(_ group: GroupIndex, _ deferral: Deferral?) -> Bool {
        guard !self[group].isBroken else { return false }
        self[group].isBroken = true
        self[group].deferral = deferral
        return true
    }

    // MARK: Publication

    /// Asks to end the wait of a publication for the sake of a member's end. Returns whether the executor is to be
    /// told: once, and only while one is under way.
    mutating func giveUp(_ group: GroupIndex, for member: TaskIndex, _ ending: Ending) -> Bool {
        guard self[group].isPublishing, self[group].givenUp == nil else { return false }
        self[group].givenUp = (member, ending)
        return true
    }

    /// The publication is over; `nil` if none was under way. Giving it up may have come too late.
    mutating func published(_ group: GroupIndex, wasCancelled: Bool) -> Publication? {
        guard self[group].isPublishing else { return nil }
        self[group].isPublishing = false
        let verified = self[group].verified
        self[group].verified = []
        return Publication(members: verified, givenUp: wasCancelled ? self[group].givenUp : nil)
    }

    mutating func ended(_ group: GroupIndex, isGood: Bool) { self[group].isGood = isGood }

    // MARK: Ends of members

    /// How the members end that another member of theirs left alone.
    func endingWithoutMember(_ group: GroupIndex) -> Ending {
        guard let deferral = self[group].deferral else {
            let error = TransferError(.runCancelled, "another member of its group did not succeed")
            return .finish(.cancelled, error, nil)
        }
        return .finish(.deferred, nil, deferral)
    }

    /// How a member ends whose group is not published.
    func endingUnpublished(_ group: GroupIndex, _ stop: Stop?) -> Ending {
        switch stop {
        // All were told to end. One that was verified all the same waits for what does not come.
        case .cancelling(let error): .finish(.cancelled, error, nil)
        case .deferring(let reason): .finish(.deferred, nil, reason)
        case .failing, nil: endingWithoutMember(group)
        }
    }

    // MARK: Earlier processes

    /// Restores what is known of the group. `missing` is the deferral of a member that ended badly, if one did.
    mutating func restore(_ group: GroupIndex, open: Int, hasPublished: Bool, missing: Deferral??) {
        self[group].open = open
        self[group].isPublished = hasPublished || missing == nil && open == 0
        guard !self[group].isPublished, let missing else { return }
        self[group].isBroken = true
        self[group].deferral = missing
    }

    /// Restores a group from its members' past: only their ends, or their files, show that it was published. Returns
    /// the group's end, if it has ended.
    mutating func restore(_ group: GroupIndex, _ history: RunHistory) -> (published: Bool, error: TransferError?)? {
        let known = members(of: group).map { history.tasks[Int($0.raw)] }
        guard !known.isEmpty else { return nil }
        let members = known.filter { !$0.isExpanded }
        let missing = members.first { $0.ending.map { !$0.isGood } ?? false }
        restore(
            group, open: members.count { $0.ending == nil },
            hasPublished: members.contains { $0.ending?.outcome == .succeeded || $0.file != nil },
            missing: missing.map { $0.ending?.deferral })
        if isPublished(group) { return (true, nil) }
        guard missing != nil else { return nil }
        // A member that was verified and failed all the same failed with its group.
        let telling = members.first {
            $0.ending?.outcome == .failed && ($0.lastEnd == .succeeded || $0.ending?.error?.isOfGroup == true)
        }
        let error = telling?.ending?.error
        return (telling != nil && error.leavesGroupInPlace, error)
    }
}

extension TransferError {
    /// Whether the group failed, and no single member.
    var isOfGroup: Bool { name == .groupNotPublished || name == .groupChanged }
}

extension TransferError? {
    /// Whether the group stands in spite of the error. Once it stands only its flush can fail: then its members have
    /// failed, and it stands all the same.
    var leavesGroupInPlace: Bool { self == nil || self?.name == .cannotWriteToFile }
}
