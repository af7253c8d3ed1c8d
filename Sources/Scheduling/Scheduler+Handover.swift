import TransferModel

// Leaving a run in good order to another process: one that knows more of it goes on where this run's events end.

extension Scheduler {
    /// Whether another process is about to take the run over.
    package var isMakingWay: Bool { runEnding.isHandingOver }

    /// Whether this process may leave the run: no attempt is under way, and no group is being published.
    package var hasMadeWay: Bool {
        runEnding.isHandoverClear && !run.tasks.areAnyRunning && !groups.areAnyPublishing
    }

    /// Interrupts what runs once the last awaited task has ended. Until then the others go on as ever.
    mutating func interruptForHandover() {
        guard runEnding.clearHandover(isRunning: { run.tasks[$0].phase == .running }) else { return }
        for index in run.tasks.indices where run.tasks[index].phase == .running {
            let task = TaskIndex(raw: UInt32(index))
            if !runEnding.isEnding(task) { interrupt(task) }
        }
    }
}
