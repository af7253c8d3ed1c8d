import TransferModel

// `--no-wait`: tasks that a window or a date would hold back are put off to the next run. Those that wait for networks
// and power are put off where they would begin to wait.

extension Scheduler {
    /// A task that is to be put off. Noted first and done in the turn: `makeReady` may be called in the middle of
    /// another change.
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
