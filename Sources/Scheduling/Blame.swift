package import TransferModel

/// Why a task was skipped: which of those that it needs did not succeed, of several the first.
package struct Blame: Hashable, Sendable {
    /// Something that a task may need.
    package enum Need: Hashable, Sendable {
        case task(TaskIndex)
        case group(GroupIndex)
        /// A task of another run, as `outsideEnded` numbered it.
        case outside(Int)
    }

    /// A need that was not met, and how it ended.
    package struct Culprit: Hashable, Sendable {
        /// The task or group that was needed.
        package var need: Need
        /// How it ended; `nil` where only that it did not succeed is known.
        package var outcome: TaskOutcome?
    }

    /// The unmet need that the task names itself.
    package var culprit: Culprit
    /// Where the culprit was skipped itself: the unmet need with which that began.
    package var root: Culprit?

    init(_ need: Need, _ outcome: TaskOutcome? = nil, for own: Blame? = nil) {
        culprit = Culprit(need: need, outcome: outcome)
        root = own.map { $0.root ?? $0.culprit }
    }
}

extension Blame {
    /// Why a task was skipped without harm: its own `when` was not met, or that of a task it needs. `name` gives the
    /// names.
    package static func unmet(_ when: NeedsCondition?, _ blame: Blame?, _ name: (Need) -> String?) -> String {
        guard let when else {
            return "\(blame?.sentence(name) ?? "a task it needs was skipped"), without harm"
        }
        let why = blame?.sentence(name) ?? "nothing that it needs failed"
        return "its `when: \(when.rawValue)` is not met: \(why)"
    }

    /// `a`, which it needs, was skipped because `b` failed. `name` gives the names.
    package func sentence(_ name: (Need) -> String?) -> String {
        let begun = "\(name(culprit.need) ?? "a task"), which it needs, \(culprit.end)"
        guard let root else { return begun }
        return "\(begun) because \(name(root.need) ?? "a task") \(root.end)"
    }
}

extension Blame.Culprit {
    fileprivate var end: String {
        if case .group = need { return "was not published" }
        return switch outcome {
        case .failed: "failed"
        case .cancelled: "was cancelled"
        case .skipped: "was skipped"
        case .deferred: "was put off"
        case .succeeded, nil: "did not succeed"
        }
    }
}
