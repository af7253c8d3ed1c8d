package import TransferModel

/// Groups the tasks of a report that did not succeed by cause: each cause once, with its tasks and the number of others
/// that followed from it.
///
/// Tasks share a cause if outcome, error and message are the same, but for URLs and who found it. A task that was
/// skipped, or cancelled with its group or by `failFast`, follows from another task's end.
package struct FailureCauses {
    /// One cause, the tasks that met it, and counts of the tasks that followed from them.
    package struct Cause {
        /// How the cause's tasks ended.
        package let outcome: TaskOutcome
        /// Name of the tasks' error; `nil` if the report has none.
        package let error: String?
        /// Message of the first task's error, or else its explanation.
        package let message: String
        /// What would help; empty where the report does not say.
        package let help: String
        /// Number of tasks that met the cause themselves.
        package fileprivate(set) var count = 0
        /// The first tasks that met the cause, at most 12: id, and place in the report. Empty for a failed
        /// `onFinish` command of the job.
        package fileprivate(set) var tasks: [(id: String, number: Int)] = []
        /// Tasks skipped because they need one of the cause's tasks.
        package fileprivate(set) var skipped = 0
        /// Tasks whose file was not published because their group has a task of this cause.
        package fileprivate(set) var unpublished = 0
        /// Tasks that `failFast` cancelled.
        package fileprivate(set) var cancelled = 0

        /// Number of the cause's tasks and of all that follow from them.
        package var affected: Int { count + skipped + unpublished + cancelled }
    }

    private struct Key: Hashable {
        let outcome: TaskOutcome
        let error: String?
        let message: String
    }

    private static let mostTasks = 12

    /// `hooks` are the run's `onFinish` commands; each that failed is a cause.
    package init(_ hooks: [ReportHead.Hook] = []) {
        for hook in hooks where hook.hasFailed {
            if let task = hook.task {
                failedHooks[ExactText(task), default: []].append(hook)
            } else {
                failedAtEnd.append(hook)
            }
        }
    }

    /// Failed `onFinish` commands of tasks.
    private var failedHooks: [ExactText: [ReportHead.Hook]] = [:]
    /// Failed `onFinish` commands of sessions and of the job.
    private var failedAtEnd: [ReportHead.Hook] = []
    private var causes: [Cause] = []
    private var places: [Key: Int] = [:]
    private var causeOfTask: [ExactText: Int] = [:]
    private var causeOfGroup: [ExactText: Int] = [:]
    private var skipped: [ExactText: (task: ReportedTask, number: Int, count: Int)] = [:]
    private var unpublished: [ExactText: (task: ReportedTask, number: Int, count: Int)] = [:]
    private var stopped: (task: ReportedTask, number: Int, count: Int)?

    /// Counts a task that did not succeed and is neither tolerated nor skipped without harm; ignores others. `number` is the task's place in the
    /// report.
    package mutating func add(_ task: ReportedTask, number: Int) {
        if !failedHooks.isEmpty {
            for hook in failedHooks[ExactText(task.id)] ?? [] { add(hook, of: (task.id, number)) }
        }
        guard task.outcome != .succeeded, !task.tolerated, !task.isPassedOver else { return }
        if task.outcome == .skipped, let root = Self.lastName(in: task.error?.message ?? "") {
            skipped[ExactText(root), default: (task, number, 0)].count += 1
        } else if let group = task.group, task.outcome == .cancelled, Self.followsItsGroup(task) {
            unpublished[ExactText(group), default: (task, number, 0)].count += 1
        } else if task.outcome == .cancelled, task.error?.message == TransferError.cancelledByFailFast.message {
            stopped = (stopped?.task ?? task, stopped?.number ?? number, (stopped?.count ?? 0) + 1)
        } else {
            add(task, number, count: 1)
        }
    }

    private static func followsItsGroup(_ task: ReportedTask) -> Bool {
        task.error?.name == ErrorName.runCancelled.rawValue
    }

    private mutating func add(_ hook: ReportHead.Hook, of task: (id: String, number: Int)?) {
        let command = hook.command.joined(separator: " ")
        let message = "the `onFinish` command `\(command)` \(hook.end)"
        let key = Key(outcome: .failed, error: nil, message: message)
        let place = places[key] ?? causes.count
        if place == causes.count {
            places[key] = place
            causes.append(Cause(outcome: .failed, error: nil, message: message, help: ""))
        }
        guard let task else { return }
        causes[place].count += 1
        if causes[place].tasks.count < Self.mostTasks { causes[place].tasks.append(task) }
    }

    private mutating func add(_ task: ReportedTask, _ number: Int, count: Int) {
        let message = task.error?.message ?? task.explanation ?? ""
        let name = task.error.flatMap { ErrorName(rawValue: $0.name) }
        let key = Key(
            outcome: task.outcome, error: task.error?.name, message: TransferError.commonWords(message, of: name))
        let place = places[key] ?? causes.count
        if place == causes.count {
            places[key] = place
            let help = Self.help(task.explanation ?? "", after: message)
            causes.append(Cause(outcome: task.outcome, error: task.error?.name, message: message, help: help))
        }
        causes[place].count += count
        if causes[place].tasks.count < Self.mostTasks { causes[place].tasks.append((task.id, number)) }
        causeOfTask[ExactText(task.id)] = place
        if let group = task.group, causeOfGroup[ExactText(group)] == nil { causeOfGroup[ExactText(group)] = place }
    }

    /// Returns the causes, failures first, then by the number of affected tasks. Tasks that follow from no known cause
    /// are a cause of their own.
    package func list() -> [Cause] {
        var all = self
        for hook in failedAtEnd { all.add(hook, of: nil) }
        for (root, follower) in all.skipped.sorted(by: { $0.value.number < $1.value.number }) {
            if let place = all.causeOfTask[root] {
                all.causes[place].skipped += follower.count
            } else {
                all.add(follower.task, follower.number, count: follower.count)
            }
        }
        for (group, follower) in all.unpublished.sorted(by: { $0.value.number < $1.value.number }) {
            if let place = all.causeOfGroup[group] {
                all.causes[place].unpublished += follower.count
            } else {
                all.add(follower.task, follower.number, count: follower.count)
            }
        }
        if let stopped = all.stopped {
            if let place = all.causes.firstIndex(where: { $0.outcome == .failed }) {
                all.causes[place].cancelled += stopped.count
            } else {
                all.add(stopped.task, stopped.number, count: stopped.count)
            }
        }
        let ranked = all.causes.enumerated().sorted { left, right in
            let isFailure = (left.element.outcome == .failed, right.element.outcome == .failed)
            if isFailure.0 != isFailure.1 { return isFailure.0 }
            if left.element.affected != right.element.affected { return left.element.affected > right.element.affected }
            return left.offset < right.offset
        }
        return ranked.map(\.element)
    }

    /// Returns the last name in backticks; in the message of a chain of skipped tasks this is the task with which the
    /// chain began.
    static func lastName(in message: String) -> String? {
        let parts = message.split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        return String(parts[(parts.count - 1) / 2 * 2 - 1])
    }

    /// Returns the part of an explanation that follows the error's message: what would help.
    static func help(_ explanation: String, after message: String) -> String {
        guard !message.isEmpty, let found = explanation.firstRange(of: message) else { return explanation }
        var rest = explanation[found.upperBound...]
        while let first = rest.first, first == "." || first == " " { rest.removeFirst() }
        return String(rest)
    }
}
