package import Scheduling
package import TransferModel

/// Watches a simulated run: receives every report, command and action, in order. An observer does not change the run.
package protocol SimulationObserver {
    /// Receives a report of the world, before the scheduler does.
    mutating func sees(_ report: ExecutorReport, at now: Now)
    /// Receives a command, after the scheduler. `affected` are the tasks on which it had an effect.
    mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now)
    /// Receives an action of the scheduler, before it is performed.
    mutating func sees(_ action: SchedulerAction, at now: Now)
    /// Called once all actions of a turn were performed.
    mutating func turnEnded(at now: Now)
}

/// Ignores everything: for runs in which only the result or the speed counts.
package struct NoObserver: SimulationObserver {
    package init() {}
    /// Ignores the report.
    package mutating func sees(_ report: ExecutorReport, at now: Now) {}
    /// Ignores the command.
    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}
    /// Ignores the action.
    package mutating func sees(_ action: SchedulerAction, at now: Now) {}
    /// Ignores the end of the turn.
    package mutating func turnEnded(at now: Now) {}
}
