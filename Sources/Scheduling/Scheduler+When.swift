import TransferModel

// `when`: tasks that run on what became of those they need, also after a failure that ends the run early.

extension Scheduler {
    // MARK: After a failure

    /// Whether the run was ended by a failure and goes on for the tasks whose `when` runs after one.
    var goesOnAfterFailure: Bool { runEnding.stop == .failing && conditionsOnNeeds.areThere }

    /// Whether any task may still start.
    var mayStart: Bool { runEnding.stop == nil || goesOnAfterFailure }

    /// Whether the task may still start, or begin again.
    func mayBegin(_ task: TaskIndex) -> Bool {
        runEnding.stop == nil
            || goesOnAfterFailure && plan.policies[policyNumber(of: task)].when?.runsAfterFailure == true
    }

    /// What becomes of a task that would begin again.
    func nextTry(of task: TaskIndex) -> RunEnding.NextTry { mayBegin(task) ? .allowed : runEnding.nextTry }

    // MARK: What became of its needs

    /// Takes in the end of something that the task needs. Returns how that skips the task; `nil` where the need is met.
    mutating func skip(_ task: TaskIndex, for end: NeedEnd) -> DependencyGraph.Skip? {
        let when = plan.policies[policyNumber(of: task)].when
        if when?.runsAfterFailure == true {
            conditionsOnNeeds.note(end, for: task)
            return nil
        }
        switch end {
        case .good: return nil
        case .passedOver(let blame): return DependencyGraph.Skip(task: task, blame: blame, isHarmless: true)
        case .bad(let deferral, let blame):
            return DependencyGraph.Skip(task: task, deferral: deferral, blame: blame, isHarmless: when != nil)
        }
    }

    /// All that the task needs has ended. Returns how it is skipped, by its `when`; `nil` where it may begin.
    func skip(for task: TaskIndex) -> DependencyGraph.Skip? {
        switch conditionsOnNeeds.judgement(of: task, plan.policies[policyNumber(of: task)].when) {
        case .begins: nil
        case .passedOver: DependencyGraph.Skip(task: task, isHarmless: true)
        case .putOff(let deferral): DependencyGraph.Skip(task: task, deferral: deferral)
        }
    }
}
