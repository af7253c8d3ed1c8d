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

    mutating func finishPostponed() {
        var next = 0
        while next < postponed.count {
            let task = postponed[next].task
            let deferral = postponed[next].deferral
            next += 1
            guard isHeld(task, by: deferral) else { continue }
            end(task, .finish(.deferred, nil, deferral))
        }
        postponed.removeAll(keepingCapacity: true)
    }

    /// A command may have come in between.
    private func isHeld(_ task: TaskIndex, by deferral: Deferral) -> Bool {
        switch deferral {
        case .earliestBegin: run.tasks[task].phase == .held
        case .window: run.tasks[task].phase == .queued && attempts.isWindowClosed(for: task, run)
        case .finishBy, .maximumBytes, .suspended, .network, .power: false
        }
    }

    mutating func postpone(_ task: TaskIndex, _ deferral: Deferral) {
        guard run.plan.putsOffWhatWaits else { return }
        postponed.append(Postponement(task: task, deferral: deferral))
    }
}
