package import TransferModel

/// Tasks that are added to a run. Their numbers follow those that the scheduler has.
package struct AddedTasks: Sendable {
    /// The added tasks, in the order of their numbers.
    package var tasks: [SchedulingPlan.Task] = []
    /// The tasks' `policy` counts from the first of these.
    package var policies: [SchedulingPlan.TaskPolicy] = []
    /// As in `SchedulingPlan`, of the added tasks.
    package var mirrors: [TaskIndex: [OriginID?]] = [:]
    /// As in `SchedulingPlan`, of the added tasks.
    package var unrepeatable: Set<TaskIndex> = []
    /// Added tasks that tasks of the run need, too. All of those wait for the template.
    package var needs: [TaskIndex: [TaskIndex]] = [:]
    package init() {}
}

// Templates: tasks that transfer nothing, and in whose place others come when it is known which.

extension Scheduler {
    func isTemplate(_ task: TaskIndex) -> Bool { !plan.templates.isEmpty && plan.templates.contains(task) }

    mutating func beginToExpand(_ task: TaskIndex) {
        tasks.enter(.expanding, Int(task.raw), at: now.instant)
        actions.append(.expand(task))
    }

    /// The tasks that take the template's place are about to be recorded. From then on they belong to the run: an end
    /// of the template becomes theirs. Returns `false` when it has ended or was suspended: then no task is to be added.
    package mutating func holdExpansion(of template: TaskIndex) -> Bool {
        guard tasks[template].phase == .expanding else { return false }
        expansions.hold(template)
        return true
    }

    /// Whether it is a template that others took the place of.
    package func hasVanished(_ task: TaskIndex) -> Bool {
        isTemplate(task) && tasks[task].outcome == .succeeded
    }

    /// No task takes the template's place.
    package mutating func notExpanded(_ template: TaskIndex, _ error: TransferError, now: Now) {
        clock.set(now)
        guard tasks[template].phase == .expanding else { return }
        finish(template, .failed, error, nil)
    }

    /// Lets these tasks take the template's place. Returns `false` when that has ended meanwhile: then none is added.
    package mutating func expanded(_ template: TaskIndex, _ added: AddedTasks, now: Now) -> Bool {
        clock.set(now)
        guard tasks[template].phase == .expanding else { return false }
        let first = tasks.count
        add(added)
        for (task, further) in added.needs where tasks[task].phase == .blocked {
            plan.tasks[Int(task.raw)].needs += further
            needs.add(further, to: task)
        }
        let numbers = (first..<tasks.count).map { TaskIndex(raw: UInt32($0)) }
        var unmet: [DependencyGraph.Skip] = []
        for task in numbers {
            let (open, skip) = openNeeds(of: task)
            // One need more, so that it can be skipped as those are that waited.
            needs.setOpenNeeds(of: task, to: skip == nil ? open : open + 1)
            if let skip { unmet.append(skip) }
        }
        for task in numbers { create(task) }
        for skip in unmet { needs.skip(skip) }
        let isSuspended = tasks[template].suspension != nil
        vanish(template)
        skipAll()
        let ending = expansions.release(template)
        for task in numbers {
            if isSuspended { _ = suspend(task) }
            if let ending { end(task, ending) }
        }
        return true
    }

    private mutating func add(_ added: AddedTasks) {
        let policies = plan.policies.count
        plan.policies += added.policies
        conditionsOnNeeds.add(added.policies)
        plan.mirrors.merge(added.mirrors) { $1 }
        plan.unrepeatable.formUnion(added.unrepeatable)
        for (task, origins) in added.mirrors { mirrors[task] = MirrorRound(origins) }
        for var task in added.tasks {
            task.policy += policies
            let number = TaskIndex(raw: UInt32(plan.tasks.count))
            plan.tasks.append(task)
            tasks.append(at: now.instant)
            expansions.created(number, at: now.instant)
            needs.append(number, needs: task.needs)
            for group in task.neededGroups { groups.add(dependant: number, to: group) }
            if let group = task.group { groups.add(member: number, to: group) }
        }
    }

    /// Returns how many needs of the task have not ended, and how it is skipped if one ended as it must not.
    private mutating func openNeeds(of task: TaskIndex) -> (open: UInt32, skip: DependencyGraph.Skip?) {
        var open: UInt32 = 0
        var found: DependencyGraph.Skip?
        for need in plan.tasks[Int(task.raw)].needs {
            if tasks[need].isFinished {
                let skip = skip(task, for: expansions.end(of: need))
                found = found ?? skip
            } else if !isVerified(need, for: task) {
                open += 1
            }
        }
        for group in plan.tasks[Int(task.raw)].neededGroups {
            switch groups.isGood(group) {
            case true?: break
            case false?:
                let skip = skip(task, for: .bad(groups.deferral(of: group), Blame(.group(group))))
                found = found ?? skip
            // Of a group without members there is nothing to wait for.
            case nil: open += groups.members(of: group).isEmpty ? 0 : 1
            }
        }
        return (open, found)
    }

    /// Whether both are members of one group and the need's file is verified: a member waits for no more than that.
    private func isVerified(_ need: TaskIndex, for task: TaskIndex) -> Bool {
        tasks[need].phase == .staged && plan.tasks[Int(need.raw)].group == plan.tasks[Int(task.raw)].group
    }

    /// Ends the template without telling: tasks that waited for it wait for the tasks in its place.
    private mutating func vanish(_ template: TaskIndex) {
        let index = Int(template.raw)
        tasks.enter(.finished(.succeeded), index, at: now.instant)
        tasks[index].waits = []
        if let group = plan.tasks[index].group { closeMember(group) }
        release(needs.dependants(of: template), .good)
    }
}
