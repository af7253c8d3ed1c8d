package import Scheduling
package import TransferModel

/// Somebody who watches a simulated run: every report, command and action, in order. Nothing it does changes the run.
package protocol SimulationObserver {
    mutating func sees(_ report: ExecutorReport, at now: Now)
    /// `affected` are the tasks on which the command had an effect.
    mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now)
    mutating func sees(_ action: SchedulerAction, at now: Now)
    /// All actions of a turn were performed.
    mutating func turnEnded(at now: Now)
}

/// Watches nothing and costs nothing.
package struct NoObserver: SimulationObserver {
    package init() {}
    package mutating func sees(_ report: ExecutorReport, at now: Now) {}
    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}
    package mutating func sees(_ action: SchedulerAction, at now: Now) {}
    package mutating func turnEnded(at now: Now) {}
}
