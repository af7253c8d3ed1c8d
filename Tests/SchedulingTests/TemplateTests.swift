import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks in whose place others come in mid-run.
struct TemplateTests {
    private let template = TaskIndex(raw: 1)
    private let failed = Verdict(.failed(TransferError(.unexpectedResponse, "404")), status: 404)

    /// 1 is a template that needs 0; 2 needs what it becomes, 3 needs nothing.
    private func stage(_ change: (inout SchedulingPlan) -> Void = { _ in }) -> Stage {
        Stage(
            plan(4) {
                for index in $0.policies.indices { $0.policies[index].retry.attempts = 1 }
                $0.templates = [template]
                $0.tasks[1].needs = needs(0)
                $0.tasks[2].needs = needs(1)
                change(&$0)
            })
    }

    /// So many tasks that need 0, and are needed by 2.
    private func added(_ count: Int, _ change: (inout AddedTasks) -> Void = { _ in }) -> AddedTasks {
        var added = AddedTasks()
        var policy = SchedulingPlan.TaskPolicy()
        policy.retry.attempts = 1
        added.policies = [policy]
        for number in 0..<count {
            added.tasks.append(
                SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: host, policy: 0, needs: needs(0)))
            added.needs[TaskIndex(raw: 2), default: []].append(TaskIndex(raw: UInt32(4 + number)))
        }
        change(&added)
        return added
    }

    private func expand(_ stage: inout Stage, _ tasks: AddedTasks) -> Bool {
        stage.scheduler.expanded(template, tasks, now: stage.clock.now)
    }

    @Test func aTemplateIsExpandedWhenWhatItNeedsIsThere_andNotBefore() {
        var stage = stage()
        #expect(stage.running == [0, 3] && stage.expanding.isEmpty)
        stage.end(0)
        #expect(stage.turn() == [] && stage.expanding == [1] && stage.ends[1] == nil)
    }

    @Test func whatNeedsATemplateWaitsForAllThatItBecame() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        #expect(expand(&stage, added(3)))
        #expect(stage.turn() == [4, 5, 6] && stage.ends[1] == nil && !stage.scheduler.isFinished)
        stage.end(4)
        stage.end(6)
        #expect(stage.turn() == [])
        stage.end(5)
        #expect(stage.turn() == [2])
        stage.end(2)
        stage.end(3)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func anEmptyListLetsGoWhatWaitedForIt() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        #expect(expand(&stage, added(0)))
        #expect(stage.turn() == [2])
    }

    @Test func aTemplateWhoseSourceFails_isSkippedAsOne() {
        var stage = stage()
        stage.end(0, failed)
        stage.turn()
        #expect(stage.expanding.isEmpty && stage.ends[1]?.outcome == .skipped && stage.ends[2]?.outcome == .skipped)
    }

    @Test func whatCannotBeExpandedFails_andNothingOfItIsAdded() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        stage.scheduler.notExpanded(template, TransferError(.expansionFailed, "two of one id"), now: stage.clock.now)
        stage.turn()
        #expect(stage.ends[1]?.outcome == .failed && stage.ends[2]?.outcome == .skipped)
        #expect(!expand(&stage, added(2)) && stage.turn() == [])
        stage.end(3)
        stage.turn()
        #expect(stage.scheduler.isFinished == true)
    }

    @Test func aRunThatStops_endsATemplateThatIsBeingExpanded() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        stage.command(.stop(signal: 2))
        stage.turn()
        #expect(stage.ends[1]?.outcome == .cancelled && !expand(&stage, added(2)))
    }

    @Test func addedTasksThatNeedWhatHasFailed_areSkipped() {
        var stage = stage()
        stage.end(0)
        stage.end(3, failed)
        stage.turn()
        #expect(expand(&stage, added(2) { $0.tasks[1].needs.append(TaskIndex(raw: 3)) }))
        #expect(stage.turn() == [4])
        #expect(stage.ends[5]?.outcome == .skipped && stage.ends[2]?.outcome == .skipped)
    }

    @Test func aTemplateThatIsSuspendedWhileItExpands_expandsAgainWhenItIsResumed() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        stage.command(.suspend([template]))
        #expect(!expand(&stage, added(1)))
        stage.command(.resume([template]))
        stage.turn()
        #expect(stage.expanding == [1, 1] && expand(&stage, added(1)) && stage.turn() == [4])
    }

    /// From then on the tasks are the run's, whatever else happens.
    private func heldStage() -> Stage {
        var stage = stage()
        stage.end(0)
        stage.turn()
        let isHeld = stage.scheduler.holdExpansion(of: template)
        #expect(isHeld)
        return stage
    }

    @Test func aRunThatStops_endsTheTasksThatAreBeingKept() {
        var stage = heldStage()
        stage.command(.stop(signal: 2))
        stage.turn()
        #expect(stage.ends[1] == nil && !stage.scheduler.isFinished)
        #expect(expand(&stage, added(2)) && stage.turn() == [])
        stage.end(3)
        stage.turn()
        #expect(stage.ends[4]?.outcome == .cancelled && stage.ends[5]?.outcome == .cancelled)
        #expect(stage.ends[1] == nil && stage.scheduler.isFinished)
    }

    @Test func aTemplateThatIsCancelledWhileItsTasksAreKept_cancelsThose() {
        var stage = heldStage()
        stage.command(.cancel([template], keepPartial: false))
        #expect(expand(&stage, added(2)) && stage.turn() == [])
        #expect(stage.ends[4]?.outcome == .cancelled && stage.ends[5]?.outcome == .cancelled)
        #expect(stage.ends[2]?.outcome == .skipped && stage.ends[3] == nil)
    }

    @Test func aTemplateThatIsSuspendedWhileItsTasksAreKept_suspendsThose() {
        var stage = heldStage()
        stage.command(.suspend([template]))
        #expect(expand(&stage, added(2)) && stage.turn() == [])
        stage.command(.resume([TaskIndex(raw: 4)]))
        #expect(stage.turn() == [4])
    }

    @Test func oneThatIsResumedInTime_isNot() {
        var stage = heldStage()
        stage.command(.suspend([template]))
        stage.command(.resume([template]))
        #expect(expand(&stage, added(2)) && stage.turn() == [4, 5])
    }

    @Test func whatIsSuspendedOrHasEnded_isNotKept() {
        var stage = stage()
        stage.end(0)
        stage.turn()
        stage.command(.suspend([template]))
        let ofSuspended = stage.scheduler.holdExpansion(of: template)
        stage.command(.cancel([template], keepPartial: false))
        let ofEnded = stage.scheduler.holdExpansion(of: template)
        #expect(!ofSuspended && !ofEnded)
    }

    @Test func aGroupWaitsForItsTemplates() {
        let group = GroupIndex(raw: 0)
        var stage = stage {
            $0.groupCount = 1
            $0.tasks[1].group = group
            $0.tasks[3].group = group
        }
        stage.end(3)
        stage.end(0)
        stage.turn()
        #expect(stage.published.isEmpty && expand(&stage, added(1) { $0.tasks[0].group = group }))
        #expect(stage.turn() == [4] && stage.published.isEmpty)
        stage.end(4)
        stage.turn()
        #expect(stage.published == [0])
        stage.receive(.published(group, nil))
        #expect(stage.turn() == [2])
    }

    @Test func anAddedTaskWaitsForANetworkBesideOthersThatDo() {
        let far = OriginID(raw: 7)
        var stage = stage {
            $0.conditions = Conditions(networks: [], power: PowerState(source: .mains))
            $0.localOrigins = [host]
            for index in $0.policies.indices { $0.policies[index].waitsForConnectivity = true }
            $0.tasks[3].origin = far
        }
        #expect(stage.running == [0])
        stage.end(0)
        stage.turn()
        #expect(
            expand(
                &stage,
                added(2) {
                    for index in $0.tasks.indices { $0.tasks[index].origin = far }
                    $0.policies[0].waitsForConnectivity = true
                }))
        #expect(stage.turn() == [])
        let wired = NetworkInterface(index: 1, name: "end0", networkClass: .wired, why: "by name")
        stage.command(.conditions(Conditions(networks: [wired], power: PowerState(source: .mains))))
        #expect(stage.turn().sorted() == [3, 4, 5])
    }

    /// What comes of a job does not depend on whether its tasks were written or made in mid-run.
    @Test func aJobWithATemplateComesToWhatOneWithoutComesTo() {
        var random = Seeded("aJobWithATemplateComesToWhatOneWithoutComesTo")
        for round in 0..<Rounds.scaled(600) {
            let job = TemplateJob(&random)
            let (written, made) = (job.run(asTemplate: false, &random), job.run(asTemplate: true, &random))
            #expect(written == made, "round \(round): \(job)")
        }
    }
}

/// A random job: tasks that need others before them, one of which stands for a template, and groups.
private struct TemplateJob {
    private struct Item {
        var needs: [Int] = []
        var group: Int?
        var fails = false
        var mayFail = false
    }
    private var items: [Item] = []
    private let template: Int
    /// The first of the tasks that the template becomes.
    private let first: Int
    private let groups: Int

    init(_ random: inout Seeded) {
        first = 2 + random.below(6)
        template = random.below(first)
        groups = random.below(3)
        let count = first + random.below(6)
        for number in 0..<count {
            var item = Item()
            // What is needed stands before it, so that there is no cycle: but for the template, on which some tasks
            // before it in number wait.
            for need in 0..<min(number, first) where random.oneIn(4) { item.needs.append(need) }
            item.fails = random.oneIn(6)
            if groups > 0, random.oneIn(3), item.needs.isEmpty || number == template {
                item.group = random.below(groups)
            } else {
                item.mayFail = random.oneIn(4)
            }
            items.append(item)
        }
        // Where a template becomes nothing, no member of its group is left that others could wait for.
        if count == first { items[template].group = nil }
        // A template always becomes something good here, and what it becomes needs what it needs.
        items[template].fails = false
        items[template].mayFail = false
        for number in first..<count {
            items[number].needs = (items[number].needs + items[template].needs + [template]).reduce(into: []) {
                if !$0.contains($1) { $0.append($1) }
            }
            // Members need nothing, but for what the template needs.
            items[number].group = items[template].group
            if items[number].group != nil { items[number].mayFail = false }
        }
        for number in 0..<first where items[number].needs.contains(template) {
            items[number].needs += Array(first..<count)
            items[number].group = nil
        }
        // A group's member that needs what waits for its group would wait for itself.
        if let group = items[template].group {
            for need in all(neededBy: items[template..<(template + 1)] + items[first...])
            where items[need].group == group {
                if need != template, need < first { items[need].group = nil }
            }
        }
    }

    /// What these need, and what that needs.
    private func all(neededBy start: ArraySlice<Item>) -> Set<Int> {
        var found: Set<Int> = []
        var open = start.flatMap(\.needs)
        while let need = open.popLast() {
            if found.insert(need).inserted { open += items[need].needs }
        }
        return found
    }

    /// Whether each task but the template came to a good end.
    func run(asTemplate: Bool, _ random: inout Seeded) -> [Bool] {
        var whole = plan(items.count) { plan in
            plan.groupCount = groups
            for (number, item) in items.enumerated() {
                plan.policies[number].retry.attempts = 1
                plan.policies[number].allowFailure = item.mayFail ? .any : .no
                plan.tasks[number].needs = item.needs.map { TaskIndex(raw: UInt32($0)) }
                plan.tasks[number].group = item.group.map { GroupIndex(raw: UInt16($0)) }
            }
        }
        var added = AddedTasks()
        if asTemplate {
            whole.templates = [TaskIndex(raw: UInt32(template))]
            added.policies = whole.policies
            added.tasks = whole.tasks[first...].map { task in
                var task = task
                task.needs.removeAll { Int($0.raw) == template }
                return task
            }
            whole.tasks.removeSubrange(first...)
            for number in 0..<first {
                let more = whole.tasks[number].needs.filter { Int($0.raw) >= first }
                if !more.isEmpty { added.needs[TaskIndex(raw: UInt32(number))] = more }
                whole.tasks[number].needs.removeAll { Int($0.raw) >= first }
            }
        }
        var stage = Stage(whole)
        var bounds = 0
        while !stage.scheduler.isFinished, bounds < 1_000 {
            bounds += 1
            step(&stage, added, &random)
            stage.turn()
        }
        return items.indices.filter { $0 != template }.map { number in
            stage.ends[number].map { $0.outcome == .succeeded || $0.tolerated } ?? false
        } + [stage.scheduler.isFinished]
    }

    private func step(_ stage: inout Stage, _ added: AddedTasks, _ random: inout Seeded) {
        if !stage.expanding.isEmpty, stage.running.isEmpty || random.oneIn(3) {
            stage.expanding = []
            #expect(
                stage.scheduler.expanded(TaskIndex(raw: UInt32(template)), added, now: stage.clock.now)
                    || stage.ends[template] != nil)
        } else if !stage.published.isEmpty {
            stage.receive(.published(GroupIndex(raw: UInt16(stage.published.removeFirst())), nil))
        } else if !stage.running.isEmpty {
            let task = random.pick(stage.running)
            let error = TransferError(.unexpectedResponse, "404")
            stage.end(
                task, items[task].fails ? Verdict(.failed(error), status: 404) : Verdict(.succeeded, status: 200))
        }
    }
}
