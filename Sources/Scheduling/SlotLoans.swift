import TransferModel

/// Tracks the slots that running attempts hold beside their own, for the further requests of a download in segments.
///
/// Slots are lent when no task could use them at that moment, and recalled as soon as one could: the first request of a
/// task goes before the second of another.
struct SlotLoans: Sendable {
    private struct Loan: Sendable {
        let task: TaskIndex
        let lane: Int
        let origin: OriginID
        var wanted: Int
        var held = 0
        /// How many of the held slots were recalled and not given back yet.
        var recalled = 0
        /// How many of the held slots have a request that was not answered yet.
        var unanswered = 0
    }

    /// A lent slot that was given back.
    struct Return: Hashable, Sendable {
        let lane: Int
        /// A request that is over was answered.
        let wasAnswered: Bool
        /// That request was the attempt's own: the attempt goes on with an unanswered one under its own slot.
        let ownAwaitsAnswer: Bool
    }

    /// The loans, ordered by task.
    private var loans: [Loan] = []

    var isEmpty: Bool { loans.isEmpty }

    /// The origins where slots are wanted or lent, by the first task that does.
    var origins: [OriginID] {
        var origins: [OriginID] = []
        for loan in loans where !origins.contains(loan.origin) { origins.append(loan.origin) }
        return origins
    }

    private func place(of task: TaskIndex) -> Int? { loans.isEmpty ? nil : loans.firstIndex { $0.task == task } }

    // MARK: What the executor reports

    /// A task could use so many slots, none any more with 0. Returns `false` for one that is not known here: `add`
    /// makes it so.
    mutating func want(_ slots: Int, by task: TaskIndex) -> Bool {
        guard let place = place(of: task) else { return false }
        loans[place].wanted = slots
        removeIfIdle(place)
        return true
    }

    mutating func add(_ task: TaskIndex, in lane: Int, at origin: OriginID, wanted: Int) {
        let place = loans.firstIndex { $0.task > task } ?? loans.count
        loans.insert(Loan(task: task, lane: lane, origin: origin, wanted: wanted), at: place)
    }

    /// The task gives back one lent slot; `nil` if it holds none.
    mutating func giveBack(_ task: TaskIndex, wasAnswered: Bool) -> Return? {
        guard let place = place(of: task), loans[place].held > 0 else { return nil }
        defer { removeIfIdle(place) }
        return giveBackOne(place, wasAnswered: wasAnswered)
    }

    /// A request was answered. Returns whether one under a lent slot waited for that.
    mutating func answered(_ task: TaskIndex) -> Bool {
        guard let place = place(of: task), loans[place].unanswered > 0 else { return false }
        loans[place].unanswered -= 1
        return true
    }

    /// The attempt gives up its own slot, and with it all that it was lent.
    mutating func end(_ task: TaskIndex) -> [Return] {
        guard let place = place(of: task) else { return [] }
        var returns: [Return] = []
        while loans[place].held > 0 { returns.append(giveBackOne(place, wasAnswered: loans[place].unanswered == 0)) }
        loans.remove(at: place)
        return returns
    }

    private mutating func giveBackOne(_ place: Int, wasAnswered: Bool) -> Return {
        loans[place].held -= 1
        loans[place].recalled = max(0, loans[place].recalled - 1)
        let ownAwaitsAnswer = wasAnswered && loans[place].unanswered > loans[place].held
        if !wasAnswered || ownAwaitsAnswer { loans[place].unanswered -= 1 }
        return Return(lane: loans[place].lane, wasAnswered: wasAnswered, ownAwaitsAnswer: ownAwaitsAnswer)
    }

    private mutating func removeIfIdle(_ place: Int) {
        if loans[place].held == 0, loans[place].wanted == 0 { loans.remove(at: place) }
    }

    // MARK: Giving out and recalling

    /// Recalls slots at the origin until `count` are on their way back that help the lane: of those that hold most, one
    /// at a time. Returns the tasks that are to give one back, in order. Attempts that end give back theirs anyway.
    mutating func recall(
        _ count: Int, for lane: Int, at origin: OriginID, in table: SlotTable, _ ending: RunEnding
    ) -> [TaskIndex] {
        let wanting = table.lanes[lane]
        let useful = loans.indices.filter { place in
            guard loans[place].origin == origin else { return false }
            let isOwn = loans[place].lane == lane
            // A stream less on a shared connection is no connection less.
            if table.lanes[loans[place].lane].isShared { return isOwn && !wanting.wantsAlone }
            return isOwn || !wanting.isFull
        }
        let lasting = useful.filter { !ending.isEnding(loans[$0].task) }
        var coming = useful.reduce(0) { $0 + (ending.isEnding(loans[$1].task) ? loans[$1].held : loans[$1].recalled) }
        var recalled: [TaskIndex] = []
        while coming < count {
            let most = lasting.max {
                let (left, right) = (loans[$0].held - loans[$0].recalled, loans[$1].held - loans[$1].recalled)
                return left < right
            }
            guard let most, loans[most].held > loans[most].recalled else { break }
            loans[most].recalled += 1
            coming += 1
            recalled.append(loans[most].task)
        }
        return recalled
    }

    /// Lends one slot that is free at the origin, to the task that was lent least. Returns the task and its lane; `nil`
    /// when no slot is free or wanted.
    mutating func lend(at origin: OriginID, in table: SlotTable, _ ending: RunEnding) -> (task: TaskIndex, lane: Int)? {
        var best: Int?
        for (place, loan) in loans.enumerated() where loan.origin == origin && loan.held < loan.wanted {
            guard loan.recalled == 0, table.lanes[loan.lane].closure == nil, !ending.isEnding(loan.task) else {
                continue
            }
            if let best, loans[best].held <= loan.held { continue }
            best = place
        }
        guard let best else { return nil }
        loans[best].held += 1
        loans[best].unanswered += 1
        return (loans[best].task, loans[best].lane)
    }
}
