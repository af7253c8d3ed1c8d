package import JobRunner
package import TransferModel

/// The tasks of a run under way that a command which does not wait (`--no-wait`) leaves to the background process.
package struct HeldBack: Hashable, Sendable {
    /// The unfinished tasks that are held back, in the job's order, each with what it waits for.
    package let tasks: [RunStatus.Task]
    /// Whether nothing of the run can go on now.
    package let isEverything: Bool
    /// What keeps the whole run from going on, such as a full disk; `nil` where only its tasks are held back.
    package let trouble: String?
}

/// Finds the tasks of a run that can go on only when a network, power, a date or a person lets them. Tries again after a
/// failure are none of these: any run waits for them.
package struct HeldTasks: Sendable {
    private var job: Job
    /// Tasks that have ended, and templates that other tasks have replaced.
    private var gone: Set<TaskIndex> = []

    package init(_ job: Job) { self.job = job }

    /// Notes the tasks that have ended, and those that templates became. What needed a template needs these, too.
    package mutating func passed(_ events: [Event]) {
        for event in events {
            switch event.kind {
            case .taskFinished, .expanded: if let task = event.task { gone.insert(task) }
            default: continue
            }
            guard case .expanded(let expansion) = event.kind, let template = event.task, !expansion.tasks.isEmpty
            else { continue }
            let first = job.tasks.count
            job.tasks += expansion.tasks
            let added = (first..<job.tasks.count).map { TaskIndex(raw: UInt32($0)) }
            for index in 0..<first where job.tasks[index].needs.contains(template) { job.tasks[index].needs += added }
        }
    }

    /// Judges the run by what the process says about each of its sessions.
    package func judge(_ sessions: [SessionStatus]) -> HeldBack {
        let told = Dictionary(
            sessions.flatMap { $0.run.tasks.map { ($0.id, $0) } }, uniquingKeysWith: { first, _ in first })
        let unfinished = job.tasks.indices.filter { told[job.tasks[$0].id] != nil }
        var held = Set(unfinished.filter { told[job.tasks[$0].id].map { Self.isHeld($0) } ?? false })
        let dependants = unfinished.filter { told[job.tasks[$0].id]?.waitingFor == .dependency }
        let members = dependants.isEmpty ? [:] : membersByGroup(unfinished)
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            for index in dependants where !held.contains(index) {
                guard awaits(index, members).contains(where: held.contains) else { continue }
                held.insert(index)
                hasGrown = true
            }
        }
        let trouble = sessions.compactMap(\.trouble).first
        let runs = sessions.contains { $0.run.counts[.running, default: 0] > 0 }
        // Nothing begins while nothing can be written down, and what runs comes to its end.
        if let trouble, !runs {
            return HeldBack(
                tasks: unfinished.compactMap { told[job.tasks[$0].id] }, isEverything: true, trouble: trouble)
        }
        let isEverything = !unfinished.isEmpty && held.count == unfinished.count && knowsAll(sessions)
        return HeldBack(
            tasks: unfinished.filter(held.contains).compactMap { told[job.tasks[$0].id] }, isEverything: isEverything,
            trouble: nil)
    }

    /// Whether the process counts every task that has not ended: it may not have taken in yet what this command added to
    /// the run. Of many tasks it lists only the first.
    private func knowsAll(_ sessions: [SessionStatus]) -> Bool {
        let known = sessions.reduce(0) { sum, session in
            sum + session.run.counts.reduce(0) { $0 + ($1.key == .finished ? 0 : $1.value) }
        }
        return job.tasks.count - gone.count <= known
    }

    private static func isHeld(_ task: RunStatus.Task) -> Bool { task.waitingFor?.deferral != nil }

    private func membersByGroup(_ unfinished: [Int]) -> [GroupIndex: [Int]] {
        var members: [GroupIndex: [Int]] = [:]
        for index in unfinished {
            if let group = job.tasks[index].group { members[group, default: []].append(index) }
        }
        return members
    }

    /// The unfinished tasks whose end this one waits for: those that it needs, and the members of groups that it needs
    /// or is published with.
    private func awaits(_ index: Int, _ members: [GroupIndex: [Int]]) -> [Int] {
        let task = job.tasks[index]
        let needed = task.options.values.neededGroups.compactMap { name in
            job.groups.firstIndex { $0.name == name }.map { GroupIndex(raw: UInt16($0)) }
        }
        let groups = needed + [task.group].compactMap(\.self)
        return task.needs.map { Int($0.raw) } + groups.flatMap { members[$0] ?? [] }
    }
}

extension WaitReason {
    /// Why a run that does not wait puts off a task that waits for this; `nil` for what every run waits for.
    package var deferral: Deferral? {
        switch self {
        case .network: .network
        case .power: .power
        case .window: .window
        case .earliestBegin: .earliestBegin
        case .suspended, .credential: .suspended
        case .dependency, .hostLimit, .sessionLimit, .runLimit, .requestRate, .backoff, .retryAfter, .hostParked,
            .bandwidth, .flush, .processLimit:
            nil
        }
    }
}
