import TransferModel

// `--no-wait`: what a window or a date would hold back is for the next run. Networks and power do so where they would
// make a task wait.

extension Scheduler {
    /// Noted first and done in the turn: whoever makes a task ready is in the middle of something.
    struct Postponement: Sendable {
        let task: TaskIndex
        let deferral: Deferral
    }

    mutating func putOffWhatWaits() {
        var next = 0
        while next < postponed.count {
            let task = postponed[next].task
            let deferral = postponed[next].deferral
            next += 1
            guard isHeld(Int(task.raw), by: deferral) else { continue }
            end(task, .finish(.deferred, nil, deferral))
        }
        postponed.removeAll(keepingCapacity: true)
    }

    /// A command may have come in between.
    private func isHeld(_ index: Int, by deferral: Deferral) -> Bool {
        switch deferral {
        case .earliestBegin: tasks[index].phase == .held
        case .window: tasks[index].phase == .queued && isClosed(index)
        case .finishBy, .maximumBytes, .suspended, .network, .power: false
        }
    }

    mutating func postpone(_ task: TaskIndex, _ deferral: Deferral) {
        guard plan.putsOffWhatWaits else { return }
        postponed.append(Postponement(task: task, deferral: deferral))
    }
}
