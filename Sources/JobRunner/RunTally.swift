import TransferEngine
import TransferModel

/// What a run has counted so far, for its end and that of its sessions.
struct RunTally {
    /// What decides on the exit status.
    var facts = ExitFacts()
    /// How many tasks of each session have not ended.
    var tasksLeft: [Int]
    /// The groups, and whether they were published.
    var groups: [RunRecord.Group]
    /// Waits within a task's attempts, as the engine measured them.
    var waitsInAttempts: [TaskIndex: [TaskRecord.Wait]] = [:]

    init(_ job: Job, reportsUnchanged: Bool) {
        facts.reportsUnchanged = reportsUnchanged
        groups = job.groups.map { RunRecord.Group(name: $0.name, published: false, error: nil) }
        tasksLeft = Array(repeating: 0, count: job.sessions.count)
        for index in job.tasks.indices { tasksLeft[Int(job.tasks[index].session.raw)] += 1 }
    }
}

/// Tasks of other processes that carry another part of the job.
struct OutsideTasks {
    /// Tasks that wait for one of them, by its id.
    var waiting: [String: [TaskIndex]]
    /// Ids of those that have ended, by the numbers that the scheduler uses for them.
    var ended: [String] = []
}

/// Values that earlier processes of the run left.
struct InheritedValues {
    /// What tasks captured that ended there, by task id.
    var captures: [String: [CapturedValue]] = [:]
    /// Tasks whose captured lists were expanded there: the lists stay as they were then.
    var expandedOver: Set<String> = []
    /// Templates that became tasks in a process which did not record that, with the number of their tasks.
    var untoldExpansions: [TaskIndex: Int] = [:]
}
