import TransferModel

/// Tracks the tasks that write to standard output: which may begin, and which have a verified body that waits for its
/// turn.
struct OutputTurns: Sendable {
    /// Tasks beyond it are blocked, as if they needed one task more. `nil` where no task writes to standard output.
    private var window: OutputWindow?
    private var awaiting: Set<TaskIndex> = []

    init(_ plan: SchedulingPlan) {
        guard !plan.outputTasks.isEmpty else { return }
        window = OutputWindow(plan.outputTasks, width: plan.maximumConcurrentTasks)
    }

    /// Tasks that may not begin when the run does.
    var heldBack: ArraySlice<TaskIndex> { window?.heldBack ?? [] }

    /// How many running tasks wait for their turn.
    var awaitingCount: Int { awaiting.count }

    func isAwaiting(_ task: TaskIndex) -> Bool { awaiting.contains(task) }

    /// The running task's body is verified and waits for its turn. Returns whether that is news.
    mutating func awaitsTurn(_ task: TaskIndex) -> Bool { awaiting.insert(task).inserted }

    mutating func attemptEnded(_ task: TaskIndex) { if !awaiting.isEmpty { awaiting.remove(task) } }

    /// The task has ended. Returns those that may begin now and might not before.
    mutating func taskEnded(_ task: TaskIndex) -> ArraySlice<TaskIndex> { window?.ended(task) ?? [] }
}
