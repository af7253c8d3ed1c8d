import TransferModel

// A run is to be left in good order: another, that knows more of it, goes on where its events end.

/// How far a run is with that.
struct WayMaking: Sendable {
    /// What cannot be sent again: it is not begun any more, and what of it is under way comes to its end.
    let awaited: Set<TaskIndex>
    /// The rest was interrupted, and nothing begins.
    var isClear = false
}

extension Scheduler {
    mutating func makeWay(awaiting tasks: Set<TaskIndex>) {
        guard way == nil else { return }
        way = WayMaking(awaited: tasks)
    }

    package var isMakingWay: Bool { way != nil }

    /// Whoever carries it may leave: no attempt is under way, and no group is being put in place.
    package var hasMadeWay: Bool {
        way?.isClear == true && !tasks.contains { $0.phase == .running } && !groups.areAnyPublishing
    }

    /// Who goes on with it starts the task, if anybody does.
    func isLeftToTheNext(_ task: TaskIndex) -> Bool {
        guard let way else { return false }
        return way.isClear || way.awaited.contains(task)
    }

    /// Until the last of those that are awaited has ended the others go on as ever.
    mutating func clearTheWay() {
        guard let way, !way.isClear, !way.awaited.contains(where: { tasks[Int($0.raw)].phase == .running }) else {
            return
        }
        self.way?.isClear = true
        for index in tasks.indices where tasks[index].phase == .running {
            let task = TaskIndex(raw: UInt32(index))
            if endings[task] == nil { interrupt(task) }
        }
    }
}
