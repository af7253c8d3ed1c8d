import TransferModel

// Slots beside an attempt's own, for the further requests of a download in segments. They are lent when nobody else could
// use them at that moment, and asked back as soon as somebody could: the first request of a task always goes before the
// second of another.

/// What a running attempt could use beside its own slot, and has.
struct Loan: Sendable {
    let task: TaskIndex
    let lane: Int
    let origin: Int
    var wanted: Int
    var held = 0
    /// Of those, asked back and not yet there.
    var recalled = 0
    /// Of those, with a request that was not answered yet.
    var unanswered = 0
}

extension Scheduler {
    private func loanPlace(of task: TaskIndex) -> Int? {
        loans.isEmpty ? nil : loans.firstIndex { $0.task == task }
    }

    // MARK: What the executor says

    mutating func couldUse(_ task: TaskIndex, _ origin: OriginID, slots: Int) {
        let index = Int(task.raw)
        if let place = loanPlace(of: task) {
            loans[place].wanted = slots
            if slots == 0, loans[place].held == 0 { loans.remove(at: place) }
            return
        }
        // What must be alone on its connection gains nothing by company.
        guard slots > 0, tasks[index].phase == .running, tasks[index].holdsSlot, !tasks[index].isAlone else { return }
        let lane = Int(tasks[index].lane)
        guard lanes[lane].origin == origin else { return }
        let place = loans.firstIndex { $0.task > task } ?? loans.count
        loans.insert(Loan(task: task, lane: lane, origin: Int(origin.raw), wanted: slots), at: place)
    }

    mutating func giveBackLent(_ task: TaskIndex, wasAnswered: Bool) {
        guard let place = loanPlace(of: task), loans[place].held > 0 else { return }
        giveBackOne(place, wasAnswered: wasAnswered)
        if loans[place].held == 0, loans[place].wanted == 0 { loans.remove(at: place) }
    }

    private mutating func giveBackOne(_ place: Int, wasAnswered: Bool) {
        let (lane, origin) = (loans[place].lane, loans[place].origin)
        loans[place].held -= 1
        loans[place].recalled = max(0, loans[place].recalled - 1)
        if !wasAnswered {
            loans[place].unanswered -= 1
            origins[origin].unanswered -= 1
        } else if loans[place].unanswered > loans[place].held {
            // The attempt's first request is over, and the one that goes on does so under its own slot.
            loans[place].unanswered -= 1
            tasks[Int(loans[place].task.raw)].awaitsAnswer = true
        }
        let before = lanes[lane].connections
        lanes[lane].give(isAlone: false)
        origins[origin].connections += lanes[lane].connections - before
        note(changed: lane)
    }

    /// `false`: no request under a lent slot waits for an answer.
    mutating func answeredLent(_ task: TaskIndex) -> Bool {
        guard let place = loanPlace(of: task), loans[place].unanswered > 0 else { return false }
        loans[place].unanswered -= 1
        origins[loans[place].origin].unanswered -= 1
        return true
    }

    /// The attempt gives up its own slot, and with it all that it was lent.
    mutating func endLoan(_ task: TaskIndex) {
        guard let place = loanPlace(of: task) else { return }
        while loans[place].held > 0 { giveBackOne(place, wasAnswered: loans[place].unanswered == 0) }
        loans.remove(at: place)
    }

    // MARK: Each turn, when all has started that may

    mutating func settleLoans() {
        guard !loans.isEmpty else { return }
        var places: [Int] = []
        for loan in loans where !places.contains(loan.origin) { places.append(loan.origin) }
        for origin in places {
            var isAwaited = false
            for lane in origins[origin].lanes {
                let waiting = waitingForSlot(lane)
                guard waiting > 0 else { continue }
                isAwaited = true
                recall(waiting, for: lane, at: origin)
            }
            if !isAwaited { lend(at: origin) }
        }
    }

    /// How many would begin or go on in the lane at once if they had a slot.
    private mutating func waitingForSlot(_ lane: Int) -> Int {
        guard lanes[lane].closure == .hostLimit else { return 0 }
        let granted = lanes[lane].grantsAwaited.count
        let room = min(plan.maximumConcurrentTasks - running, sessions[Int(lanes[lane].session.raw)].room)
        guard runEnding.stop == nil, room > 0 else { return granted }
        while let head = lanes[lane].head, !isQueued(head.task, in: lane) { lanes[lane].removeHead() }
        return granted + min(room, lanes[lane].queuedCount)
    }

    private mutating func recall(_ count: Int, for lane: Int, at origin: Int) {
        let isFull = lanes[lane].isFull(forAlone: wantsAlone(lane))
        let useful = loans.indices.filter { place in
            guard loans[place].origin == origin else { return false }
            let isOwn = loans[place].lane == lane
            // A stream less on a shared connection is no connection less.
            if lanes[loans[place].lane].isShared { return isOwn && !wantsAlone(lane) }
            return isOwn || !isFull
        }
        var coming = useful.reduce(0) { $0 + (runEnding.isEnding(loans[$1].task) ? loans[$1].held : loans[$1].recalled) }
        while coming < count {
            let most = useful.filter { !runEnding.isEnding(loans[$0].task) }.max {
                let (left, right) = (loans[$0].held - loans[$0].recalled, loans[$1].held - loans[$1].recalled)
                return left < right
            }
            guard let most, loans[most].held > loans[most].recalled else { return }
            loans[most].recalled += 1
            coming += 1
            actions.append(.perform(.recall(loans[most].task, OriginID(raw: UInt32(origin)))))
        }
    }

    /// Gives out what is free at the origin, first to who has been lent least.
    private mutating func lend(at origin: Int) {
        // A further request is no probe: it would tell little of a host that is not well.
        guard runEnding.stop == nil, case .no = origins[origin].quiet else { return }
        while let place = nextBorrower(at: origin) {
            loans[place].held += 1
            loans[place].unanswered += 1
            actions.append(.perform(.lend(loans[place].task, OriginID(raw: UInt32(origin)))))
            spendSlot(loans[place].lane, origin, isAlone: false)
        }
    }

    private func nextBorrower(at origin: Int) -> Int? {
        var best: Int?
        for (place, loan) in loans.enumerated() where loan.origin == origin && loan.held < loan.wanted {
            guard loan.recalled == 0, lanes[loan.lane].closure == nil, !runEnding.isEnding(loan.task) else { continue }
            if let best, loans[best].held <= loan.held { continue }
            best = place
        }
        return best
    }
}
