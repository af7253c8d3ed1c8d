import TransferModel

/// The graph of `needs`. Nothing in it recurses: chains may be as long as a job.
enum TaskGraph {
    /// Returns `false` if every task needs only tasks before it, so that there is no cycle.
    static func mayHaveCycle(_ tasks: [TaskSpecification]) -> Bool {
        for (number, task) in tasks.enumerated() where !task.needs.isEmpty {
            if task.needs.contains(where: { $0.raw >= UInt32(number) }) { return true }
        }
        return false
    }

    /// Returns the tasks of one cycle, in the order in which they need each other; `nil` if there is none.
    static func cycle(_ tasks: [TaskSpecification]) -> [UInt32]? {
        cycle(tasks.count) { tasks[Int($0)].needs.map(\.raw) }
    }

    /// Returns the nodes of one cycle among `count` nodes; `nil` if there is none. Calls `needs` once for each node.
    static func cycle(_ count: Int, _ needs: (UInt32) -> [UInt32]) -> [UInt32]? {
        enum Mark: UInt8 { case new, open, done }
        var marks = [Mark](repeating: .new, count: count)
        var path: [(node: UInt32, needs: [UInt32], next: Int)] = []
        for start in marks.indices where marks[start] == .new {
            path = [(UInt32(start), needs(UInt32(start)), 0)]
            marks[start] = .open
            while let (node, needed, next) = path.last {
                guard next < needed.count else {
                    marks[Int(node)] = .done
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                let need = needed[next]
                if marks[Int(need)] == .open, let from = path.firstIndex(where: { $0.node == need }) {
                    return path[from...].map(\.node)
                }
                if marks[Int(need)] == .new {
                    marks[Int(need)] = .open
                    path.append((need, needs(need), 0))
                }
            }
        }
        return nil
    }

    /// Returns whether a task needs another, directly or over others. `members` are those of each group: a task that
    /// needs a group needs all of them.
    static func reaches(
        from task: UInt32, _ wanted: UInt32, _ tasks: [TaskSpecification], _ members: [String: [UInt32]] = [:]
    ) -> Bool {
        if tasks[Int(task)].needs.contains(TaskIndex(raw: wanted)) { return true }
        var closed = members
        var seen: Set<UInt32> = []
        var rest = [task]
        while let next = rest.popLast() {
            guard seen.insert(next).inserted else { continue }
            var needed = tasks[Int(next)].needs.map(\.raw)
            for group in tasks[Int(next)].options.values.neededGroups {
                needed += closed.removeValue(forKey: group) ?? []
            }
            if needed.contains(wanted) { return true }
            rest += needed
        }
        return false
    }
}

/// The graph of tasks and groups, with edges as the scheduler waits: a group until all its members are verified, a task
/// until its needs are met. A need of another group's member is met when that group is published, a need of the own
/// group's member when that member is verified.
struct GroupGraph {
    private let tasks: [TaskSpecification]
    private let names: [String]
    private let numbers: [String: UInt32]
    private var members: [[UInt32]]

    init(_ tasks: [TaskSpecification], _ names: [String]) {
        self.tasks = tasks
        self.names = names
        numbers = Dictionary(
            names.enumerated().map { ($1, UInt32(tasks.count + $0)) }, uniquingKeysWith: { first, _ in first })
        members = Array(repeating: [], count: names.count)
        for (number, task) in tasks.enumerated() {
            if let group = task.group { members[Int(group.raw)].append(UInt32(number)) }
        }
    }

    /// Returns one cycle and the first task in it; `nil` if there is none.
    func cycle() -> (names: [String], task: UInt32)? {
        guard var cycle = TaskGraph.cycle(tasks.count + names.count, needs) else { return nil }
        // A group needs tasks only.
        if cycle[0] >= tasks.count { cycle.append(cycle.removeFirst()) }
        let shown = cycle.map { node in
            let node = Int(node)
            return node < tasks.count ? tasks[node].id : "group.\(names[node - tasks.count])"
        }
        return (shown, cycle[0])
    }

    private func needs(_ node: UInt32) -> [UInt32] {
        guard Int(node) < tasks.count else { return members[Int(node) - tasks.count] }
        let task = tasks[Int(node)]
        var groups: Set<UInt32> = Set(task.options.values.neededGroups.compactMap { numbers[$0] })
        var needed: [UInt32] = []
        for need in task.needs {
            if let group = tasks[Int(need.raw)].group, group != task.group {
                groups.insert(UInt32(tasks.count + Int(group.raw)))
            } else {
                needed.append(need.raw)
            }
        }
        return needed + groups.sorted()
    }
}
