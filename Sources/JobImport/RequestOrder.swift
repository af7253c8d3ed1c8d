/// The order of a script's requests, as far as a server or a reader may notice it. A request that may change something at its
/// server waits for the end of all before it, and all after it wait for its end. Requests that only read keep no order, unless
/// the script waits between them.
struct RequestOrder: Sendable {
    /// What a script does between two of its transfers, each as the number of tasks before it.
    struct Marks: Sendable {
        /// Places where the script waits, as with `sleep`.
        var pauses: [Int] = []
        /// Places where it waits for what runs in the background.
        var joins: [Int] = []
    }

    /// The needs of a task.
    struct Needs: Sendable {
        /// Tasks that must succeed.
        var hard: [Int]
        /// Tasks whose success it uses, and without which it may be sent all the same, or fails by itself.
        var soft: [Int] = []
    }

    /// What becomes of a task.
    enum Place: Sendable {
        /// Tasks that it needs, its `when`, and one of them whose end alone the script waits for and that must succeed here.
        case needs([Int], when: String?, strict: Int?)
        /// Why the job cannot say it.
        case lost(String)
    }

    /// Tasks that may still run when the next one begins.
    private struct Front: Sendable {
        /// Tasks that all wait for.
        var awaited: [Int] = []
        /// Tasks that only what may change something waits for.
        var readers: [Int] = []
    }

    /// A task that has its place.
    private struct Node: Sendable {
        /// All tasks that it needs, and those of them that must succeed.
        var needs: [Int]
        let hard: [Int]
        var when: String?
        /// Whether all that it needs has ended when it has.
        var joins = false
        /// Tasks on whose failure it depends, and those without whose success it is passed over.
        let failures: Set<Int>
        let successes: Set<Int>

        var needsSuccess: Bool { when == nil || when == "succeeded" }
    }

    /// What may still run, by the number of the background command; 0 is the script itself.
    private var fronts: [Int: Front] = [:]
    private var nodes: [Node] = []
    private var marks: Marks
    /// Tasks whose success or failure decides whether something is sent.
    private let deciders: Set<Int>

    init(_ tasks: [ImportedTask], _ marks: Marks) {
        self.marks = marks
        deciders = Set(tasks.filter { $0.sends && $0.text("when") != nil }.flatMap(\.needed))
    }

    /// Gives the next task its place. `known` is what it needs for other reasons than the order.
    mutating func place(_ task: ImportedTask, _ known: Needs) -> Place {
        let index = nodes.count
        advance(to: index)
        var node = node(task, known)
        var front = fronts[task.lane] ?? fronts[0] ?? Front()
        let isBarrier = task.sends || task.isAwaited || deciders.contains(index)
        let excluded = Set((front.awaited + front.readers).filter { excludes($0, node) })
        var needed = (front.awaited + (isBarrier ? front.readers : [])).filter {
            !excluded.contains($0) && !node.needs.contains($0)
        }
        needed.removeAll { other in node.needs.contains { ends(other, with: $0, succeeded: node.needsSuccess) } }
        var strict: Int?
        var lost: String?
        if needed.isEmpty {
            // What it needs anyway says the order.
        } else if node.when == "failed" {
            if !needed.allSatisfy({ !nodes[$0].failures.isDisjoint(with: node.failures) }) { lost = Self.mixed }
        } else if known.hard.isEmpty {
            node.when = "finished"
            needed = withoutImplied(needed, node)
        } else if needed.allSatisfy({ isSentWhereverSent(node, $0) }) {
            strict = needed.first
            needed = withoutImplied(needed, node)
        } else {
            lost = Self.mixed
        }
        node.needs += needed
        node.joins = !node.needsSuccess || node.needs.isEmpty || node.needs.count == 1 && nodes[node.needs[0]].joins
        if isBarrier {
            if node.joins {
                front.awaited.removeAll { !excluded.contains($0) }
                front.readers.removeAll { !excluded.contains($0) }
            }
            front.awaited.append(index)
        } else {
            front.readers.append(index)
        }
        fronts[task.lane] = front
        nodes.append(node)
        if let lost { return .lost(lost) }
        return .needs(node.needs, when: node.when, strict: strict)
    }

    /// Why an order cannot be said.
    static let mixed = "a job cannot wait for how one transfer ends and for the end of another"

    private mutating func advance(to index: Int) {
        while let pause = marks.pauses.first, pause <= index {
            marks.pauses.removeFirst()
            if let front = fronts[0] { fronts[0] = Front(awaited: front.awaited + front.readers) }
        }
        while let join = marks.joins.first, join <= index {
            marks.joins.removeFirst()
            var all = Front()
            for (_, front) in fronts.sorted(by: { $0.key < $1.key }) {
                all.awaited += (front.awaited + front.readers).filter { !all.awaited.contains($0) }
            }
            fronts = [0: all]
        }
    }

    /// Returns the tasks that have not ended for certain when the others, and what the task needs anyway, have ended.
    private func withoutImplied(_ needed: [Int], _ node: Node) -> [Int] {
        let all = needed + node.needs
        return needed.filter { other in
            !all.contains { $0 != other && ends(other, with: $0, succeeded: node.needsSuccess) }
        }
    }

    private func node(_ task: ImportedTask, _ known: Needs) -> Node {
        let when = task.text("when")
        let inherited = known.hard.map { nodes[$0] }
        return Node(
            needs: known.hard + known.soft.filter { !known.hard.contains($0) }, hard: known.hard, when: when,
            failures: inherited.reduce(into: when == "failed" ? Set(known.hard) : []) { $0.formUnion($1.failures) },
            successes: inherited.reduce(into: when == "succeeded" ? Set(known.hard) : []) { $0.formUnion($1.successes) }
        )
    }

    /// Whether at most one of both is sent: one where a transfer succeeds, the other where it fails.
    private func excludes(_ other: Int, _ node: Node) -> Bool {
        nodes[other].failures.contains { requires(node, $0) } || node.failures.contains { requires(nodes[other], $0) }
    }

    /// Whether a task is sent only where another one succeeded.
    private func requires(_ node: Node, _ other: Int) -> Bool {
        node.needsSuccess && node.hard.contains { $0 == other || $0 > other && requires(nodes[$0], other) }
    }

    /// Whether a script sends `other`, unless a transfer before it fails, wherever it sends the task.
    private func isSentWhereverSent(_ node: Node, _ other: Int) -> Bool {
        nodes[other].failures.isSubset(of: node.failures)
            && nodes[other].successes.allSatisfy { node.successes.contains($0) || requires(node, $0) }
    }

    /// Whether `other` has ended for certain when a task has ended, or has succeeded.
    private func ends(_ other: Int, with task: Int, succeeded: Bool) -> Bool {
        var seen: Set<Int> = []
        func reaches(_ task: Int, _ succeeded: Bool) -> Bool {
            guard task > other else { return task == other }
            let node = nodes[task]
            guard succeeded || node.joins, seen.insert(task).inserted else { return false }
            return node.needs.contains { reaches($0, succeeded && node.needsSuccess) }
        }
        return reaches(task, succeeded)
    }
}
