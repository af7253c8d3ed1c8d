/// What `limits.maximumBytes` leaves for bodies that are all or nothing. If one cannot be continued where it was cut,
/// not even in the next run, its bytes moved in vain: so it begins only where all of it fits beside those that began
/// before.
package struct ByteBudget: Hashable, Sendable {
    /// Whether a body may begin.
    package enum Answer: Hashable, Sendable {
        /// The body fits, and its bytes are reserved.
        case fits
        /// A whole run has room for it, but not what is left of this one.
        case forNextRun
        /// No run has room for it.
        case never
    }

    /// Body bytes that the run may move: `limits.maximumBytes`.
    package let most: Int64
    /// What sets the bound, as messages name it.
    private let words: String
    /// Body bytes moved so far, in both directions.
    package private(set) var moved: Int64
    /// Bytes still to come of each body that began.
    private var claims: [TaskIndex: Int64] = [:]
    private var claimed: Int64 = 0

    /// Takes the rule of the policy that sets the bound, where one does.
    package init(most: Int64, moved: Int64 = 0, by rule: Policy.Rule<Int64>? = nil) {
        self.most = most
        words = rule.map { "\(Policy.words)\($0.place)" } ?? "`limits.maximumBytes`"
        self.moved = moved
    }

    /// Whether all of it has moved: other transfers stand still until they are put off.
    package var isSpent: Bool { moved >= most }

    /// Bytes that are neither moved nor reserved.
    package var left: Int64 { max(0, most - moved - claimed) }

    /// Decides whether a body of that length may begin. If it fits, its bytes stay reserved until its task has ended or
    /// asks again.
    package mutating func ask(_ task: TaskIndex, length: Int64) -> Answer {
        release(task)
        if length > most { return .never }
        guard length <= left else { return .forNextRun }
        claims[task] = length
        claimed += length
        return .fits
    }

    /// Counts body bytes that a task moved.
    package mutating func moved(_ task: TaskIndex, _ bytes: Int64) {
        moved += bytes
        guard let claim = claims[task] else { return }
        claims[task] = max(0, claim - bytes)
        claimed -= min(claim, bytes)
    }

    /// Drops what is reserved for a task.
    package mutating func release(_ task: TaskIndex) {
        if claims.isEmpty { return }
        claimed -= claims.removeValue(forKey: task) ?? 0
    }
}

extension ByteBudget {
    /// Returns why a body of that length does not begin, or `nil` if it may; `what` is `the body` or `the answer`.
    package func refusal(_ answer: Answer, of what: String, length: Int64) -> TransferError? {
        switch answer {
        case .fits: nil
        case .forNextRun:
            TransferError(
                .cancelled,
                "\(what) has \(length) bytes and cannot go on where it is cut, and \(words) leaves \(left) for "
                    + "it in this run")
        case .never:
            TransferError(
                .dataLengthExceedsMaximum,
                "\(what) has \(length) bytes and cannot go on where it is cut, and \(words) lets a run move "
                    + "\(most)")
        }
    }
}
