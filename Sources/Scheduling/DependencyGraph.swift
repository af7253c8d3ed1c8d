import TransferModel

/// Tracks which tasks wait for which, how many needs of each are open, and which tasks are to be skipped because a need
/// of theirs was not met.
///
/// The graph knows no phases: the scheduler decides which tasks are blocked and asks only about those.
struct DependencyGraph: Sendable {
    /// A task that does not begin because of how a task or group that it needs ended.
    struct Skip: Sendable {
        let task: TaskIndex
        /// Set where the need was put off: the task is put off as well.
        var deferral: Deferral?
        var blame: Blame?
        /// Whether a `when` was not met, so that it is no failure.
        var isHarmless = false
    }

    private var dependants: Dependants
    private var openNeeds: [UInt32]
    /// Needs that other runs carry and that have not ended, by the task that waits for them.
    private var outsideNeeds: [TaskIndex: Int]
    /// What became of the needs of tasks with a `when`.
    private var conditions: NeedsConditions
    private var skips: [Skip] = []
    private var nextSkip = 0
    private var isSkipping = false

    /// `openGroups` returns how many of the groups that a task needs have yet to be published.
    init(_ plan: SchedulingPlan, openGroups: (SchedulingPlan.Task) -> Int) {
        dependants = Dependants(plan.tasks, count: plan.tasks.count) { $0.needs.map { Int($0.raw) } }
        openNeeds = plan.tasks.map { UInt32($0.needs.count + openGroups($0)) }
        outsideNeeds = plan.outsideNeeds
        conditions = NeedsConditions(plan.policies)
        for (task, count) in plan.outsideNeeds { openNeeds[Int(task.raw)] += UInt32(count) }
    }

    /// Tasks that need the task, in file order and then in the order in which they were added.
    func dependants(of task: TaskIndex) -> ArraySlice<TaskIndex> { dependants.of(Int(task.raw)) }

    func hasOpenNeeds(_ task: TaskIndex) -> Bool { openNeeds[Int(task.raw)] > 0 }

    /// Whether a task waits for one that another run carries.
    var waitsForOtherRuns: Bool { !outsideNeeds.isEmpty }

    /// Closes one need of the task and returns whether that was its last open one.
    @discardableResult
    mutating func meetNeed(of task: TaskIndex) -> Bool {
        openNeeds[Int(task.raw)] -= 1
        return openNeeds[Int(task.raw)] == 0
    }

    /// Adds a need that no task and no group stands for: the caller meets it.
    mutating func addNeed(to task: TaskIndex) { openNeeds[Int(task.raw)] += 1 }

    // MARK: `when`

    /// Whether a task of the run has a `when` that runs after a failure.
    var haveTasksAfterFailure: Bool { conditions.areThere }

    /// Something that the task needs has ended. Returns how that skips the task; `nil` where the need is met.
    mutating func needEnded(of task: TaskIndex, _ end: NeedEnd, when: NeedsCondition?) -> Skip? {
        if when?.runsAfterFailure == true {
            conditions.needEnded(end, for: task)
            return nil
        }
        return switch end {
        case .good: nil
        case .passedOver(let blame): Skip(task: task, blame: blame, isHarmless: true)
        case .bad(let deferral, let blame):
            Skip(task: task, deferral: deferral, blame: blame, isHarmless: when != nil)
        }
    }

    /// All that the task needs has ended. Returns how its `when` skips it; `nil` where it may begin.
    func allNeedsEnded(of task: TaskIndex, when: NeedsCondition?) -> Skip? {
        switch conditions.judgement(of: task, when) {
        case .begins: nil
        case .passedOver: Skip(task: task, isHarmless: true)
        case .putOff(let deferral): Skip(task: task, deferral: deferral)
        }
    }

    // MARK: Added tasks

    mutating func add(_ policies: [SchedulingPlan.TaskPolicy]) { conditions.add(policies) }

    /// A task of the run needs `needs`, too.
    mutating func add(_ needs: [TaskIndex], to task: TaskIndex) {
        openNeeds[Int(task.raw)] += UInt32(needs.count)
        for need in needs { dependants.add(task, to: Int(need.raw)) }
    }

    /// Appends the next task. What is open of its needs is set by `setOpenNeeds`, once all added tasks are known.
    mutating func append(_ task: TaskIndex, needs: [TaskIndex]) {
        openNeeds.append(0)
        for need in needs { dependants.add(task, to: Int(need.raw)) }
    }

    mutating func setOpenNeeds(of task: TaskIndex, to count: UInt32) { openNeeds[Int(task.raw)] = count }

    // MARK: Ends

    /// A task has ended: it needs nothing of other runs any more.
    mutating func ended(_ task: TaskIndex) {
        if !outsideNeeds.isEmpty { outsideNeeds[task] = nil }
    }

    /// A task of another run has ended; `waiting` names each task that needs it once for each such need. Returns those
    /// that still waited.
    mutating func outsideEnded(_ waiting: [TaskIndex]) -> [TaskIndex] {
        let open = waiting.filter { outsideNeeds[$0] != nil }
        for task in open { outsideNeeds[task, default: 0] -= 1 }
        outsideNeeds = outsideNeeds.filter { $0.value > 0 }
        return open
    }

    // MARK: Skipping

    mutating func skip(_ skip: Skip) { skips.append(skip) }

    /// Returns `false` while an outer call is at it: that one reaches what was added meanwhile. So a chain of a million
    /// dependants is no recursion of a million calls.
    mutating func beginSkipping() -> Bool {
        guard !isSkipping else { return false }
        isSkipping = true
        return true
    }

    /// Returns the next task to skip, in the order in which they came; `nil` ends the skipping.
    mutating func popSkip() -> Skip? {
        guard nextSkip < skips.count else {
            skips = []
            nextSkip = 0
            isSkipping = false
            return nil
        }
        defer { nextSkip += 1 }
        return skips[nextSkip]
    }
}

/// Lists the dependants of each task or group, as one array with a range for each.
struct Dependants: Sendable {
    private var starts: [UInt32] = []
    private var items: [TaskIndex] = []
    /// Dependants that were added later, by the number of what they need.
    private var added: [Int: [TaskIndex]] = [:]

    /// `needs` gives what each task waits for.
    init(_ tasks: [SchedulingPlan.Task], count: Int, needs: (SchedulingPlan.Task) -> [Int]) {
        var isEmpty = true
        for task in tasks where !needs(task).isEmpty {
            isEmpty = false
            break
        }
        guard !isEmpty else { return }
        starts = Array(repeating: 0, count: count + 1)
        for task in tasks { for need in needs(task) { starts[need + 1] += 1 } }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        items = Array(repeating: TaskIndex(raw: 0), count: Int(starts.last ?? 0))
        var next = starts
        for (index, task) in tasks.enumerated() {
            for need in needs(task) {
                items[Int(next[need])] = TaskIndex(raw: UInt32(index))
                next[need] += 1
            }
        }
    }

    func of(_ number: Int) -> ArraySlice<TaskIndex> {
        let first = number + 1 < starts.count ? items[Int(starts[number])..<Int(starts[number + 1])] : []
        guard !added.isEmpty, let more = added[number] else { return first }
        return first + more
    }

    mutating func add(_ task: TaskIndex, to number: Int) { added[number, default: []].append(task) }
}
