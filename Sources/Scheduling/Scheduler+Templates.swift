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
    func isTemplate(_ task: TaskIndex) -> Bool { !run.plan.templates.isEmpty && run.plan.templates.contains(task) }

    mutating func beginToExpand(_ task: TaskIndex) {
        run.tasks.enter(.expanding, Int(task.raw), at: run.now.instant)
        run.actions.append(.expand(task))
    }

    /// The tasks that take the template's place are about to be recorded. From then on they belong to the run: an end
    /// of the template becomes theirs. Returns `false` when it has ended or was suspended: then no task is to be added.
    package mutating func holdExpansion(of template: TaskIndex) -> Bool {
        guard run.tasks[template].phase == .expanding else { return false }
        expansions.hold(template)
        return true
    }

    /// Whether it is a template that others took the place of.
    package func hasVanished(_ task: TaskIndex) -> Bool {
        isTemplate(task) && run.tasks[task].outcome == .succeeded
    }

    /// No task takes the template's place.
    package mutating func notExpanded(_ template: TaskIndex, _ error: TransferError, now: Now) {
        run.clock.set(now)
        guard run.tasks[template].phase == .expanding else { return }
        finish(template, .failed, error, nil)
    }

    /// Lets these tasks take the template's place. Returns `false` when that has ended meanwhile: then none is added.
    package mutating func expanded(_ template: TaskIndex, _ added: AddedTasks, now: Now) -> Bool {
        run.clock.set(now)
        guard run.tasks[template].phase == .expanding else { return false }
        let first = run.tasks.count
        add(added)
        for (task, further) in added.needs where run.tasks[task].phase == .blocked {
            run.plan.tasks[Int(task.raw)].needs += further
            needs.add(further, to: task)
        }
        let numbers = (first..<run.tasks.count).map { TaskIndex(raw: UInt32($0)) }
        var unmet: [DependencyGraph.Skip] = []
        for task in numbers {
            let (open, skip) = openNeeds(of: task)
            // One need more, so that it can be skipped as those are that waited.
            needs.setOpenNeeds(of: task, to: skip == nil ? open : open + 1)
            if let skip { unmet.append(skip) }
        }
        for task in numbers { create(task) }
        for skip in unmet { needs.skip(skip) }
        let isSuspended = run.tasks[template].suspension != nil
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
        let policies = run.plan.policies.count
        run.plan.policies += added.policies
        needs.add(added.policies)
        run.plan.mirrors.merge(added.mirrors) { $1 }
        run.plan.unrepeatable.formUnion(added.unrepeatable)
        for (task, origins) in added.mirrors { attempts.mirrors[task] = MirrorRound(origins) }
        for var task in added.tasks {
            task.policy += policies
            let number = TaskIndex(raw: UInt32(run.plan.tasks.count))
            run.plan.tasks.append(task)
            run.tasks.append(at: run.now.instant)
            expansions.created(number, at: run.now.instant)
            needs.append(number, needs: task.needs)
            for group in task.neededGroups { groups.add(dependant: number, to: group) }
            if let group = task.group { groups.add(member: number, to: group) }
        }
    }

    /// Returns how many needs of the task have not ended, and how it is skipped if one ended as it must not.
    private mutating func openNeeds(of task: TaskIndex) -> (open: UInt32, skip: DependencyGraph.Skip?) {
        var open: UInt32 = 0
        var found: DependencyGraph.Skip?
        let when = run.plan[policyOf: task].when
        for need in run.plan.tasks[Int(task.raw)].needs {
            if run.tasks[need].isFinished {
                let skip = needs.needEnded(of: task, expansions.end(of: need), when: when)
                found = found ?? skip
            } else if !isVerified(need, for: task) {
                open += 1
            }
        }
        for group in run.plan.tasks[Int(task.raw)].neededGroups {
            switch groups.isGood(group) {
            case true?: break
            case false?:
                let skip = needs.needEnded(
                    of: task, .bad(groups.deferral(of: group), Blame(.group(group))), when: when)
                found = found ?? skip
            // A group without members has nothing to wait for.
            case nil: open += groups.members(of: group).isEmpty ? 0 : 1
            }
        }
        return (open, found)
    }

    /// Whether both are members of one group and the need's file is verified: a member waits for no more than that.
    private func isVerified(_ need: TaskIndex, for task: TaskIndex) -> Bool {
        run.tasks[need].phase == .staged && run.plan.tasks[Int(need.raw)].group == run.plan.tasks[Int(task.raw)].group
    }

    /// Ends the template without telling: tasks that waited for it wait for the tasks in its place.
    private mutating func vanish(_ template: TaskIndex) {
        let index = Int(template.raw)
        run.tasks.enter(.finished(.succeeded), index, at: run.now.instant)
        run.tasks[index].waits = []
        if let group = run.plan.tasks[index].group { closeMember(group) }
        release(needs.dependants(of: template), .good)
    }
}
