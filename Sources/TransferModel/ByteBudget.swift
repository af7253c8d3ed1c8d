/// What `limits.maximumBytes` leaves for bodies that are all or nothing: where one cannot go on where it was cut, not even in
/// the next run, what moved of it moved in vain. So one begins only where all of it fits beside those that began before.
package struct ByteBudget: Hashable, Sendable {
    package enum Answer: Hashable, Sendable {
        case fits
        /// A whole run has room for it, and what is left of this one has not.
        case forNextRun
        /// No run has room for it.
        case never
    }

    package let most: Int64
    /// Of all bodies, either way.
    package private(set) var moved: Int64
    /// What is to come of those that began.
    private var claims: [TaskIndex: Int64] = [:]
    private var claimed: Int64 = 0

    package init(most: Int64, moved: Int64 = 0) {
        self.most = most
        self.moved = moved
    }

    /// All of it has moved: what else is under way stands still until it is put off.
    package var isSpent: Bool { moved >= most }

    /// Neither moved nor promised.
    package var left: Int64 { max(0, most - moved - claimed) }

    /// Whether a body of that length may begin. If it fits, it has its place until its task has ended or asks anew.
    package mutating func ask(_ task: TaskIndex, length: Int64) -> Answer {
        release(task)
        if length > most { return .never }
        guard length <= left else { return .forNextRun }
        claims[task] = length
        claimed += length
        return .fits
    }

    /// Bytes of any task.
    package mutating func moved(_ task: TaskIndex, _ bytes: Int64) {
        moved += bytes
        guard let claim = claims[task] else { return }
        claims[task] = max(0, claim - bytes)
        claimed -= min(claim, bytes)
    }

    package mutating func release(_ task: TaskIndex) {
        if claims.isEmpty { return }
        claimed -= claims.removeValue(forKey: task) ?? 0
    }
}

extension ByteBudget {
    /// Why a body of that length does not begin; `what` is `the body` or `the answer`.
    package func refusal(_ answer: Answer, of what: String, length: Int64) -> TransferError? {
        switch answer {
        case .fits: nil
        case .forNextRun:
            TransferError(
                .cancelled,
                "\(what) has \(length) bytes and cannot go on where it is cut, and `limits.maximumBytes` leaves \(left) for "
                    + "it in this run")
        case .never:
            TransferError(
                .dataLengthExceedsMaximum,
                "\(what) has \(length) bytes and cannot go on where it is cut, and `limits.maximumBytes` lets a run move "
                    + "\(most)")
        }
    }
}
