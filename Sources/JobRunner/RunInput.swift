package import TransferEngine
package import TransferModel

/// What comes to a run from other threads.
package enum RunInput: Sendable {
    case command(RunCommand)
    case control(ControlRequest)
    /// A task that somebody else carries has ended.
    case outside(OutsideEnd)
    /// It is kept that these attempts began.
    case kept([AttemptBeginning])
    /// What happens cannot be kept just now, or can be again: until then no attempt begins.
    case beginNothing(Bool)
    /// The run is to be gone on with anew, with more tasks: as soon as that costs no attempt that cannot be made again.
    case makeWay
    /// What a template becomes was worked out, or cannot be.
    case expanded(TaskIndex, Result<ExpandedJob, TransferError>)
    /// What this template becomes is written down.
    case expansionKept(TaskIndex)
    /// The machine has slept.
    case woke
}

/// What can be asked of a run under way, about some of its tasks.
package enum ControlAction: String, CaseIterable, Hashable, Sendable {
    case suspend, resume, cancel
    /// How they stand; changes nothing.
    case status
}

/// Somebody outside asks something of a run.
package struct ControlRequest: Sendable {
    package let action: ControlAction
    /// Of a cancelled download, whether its half-done file stays.
    package let keepPartial: Bool
    /// None means every task.
    package let patterns: [TaskPattern]
    /// Of a background session: the request is about its tasks only.
    package let identifier: String?
    /// Called on the loop, at most once: not at all when the run ends first. The number is that of the last event so far:
    /// what came of a request is told by it and those before it.
    package let reply: @Sendable (ControlReply, UInt64) -> Void

    package init(
        action: ControlAction, keepPartial: Bool = false, patterns: [TaskPattern], identifier: String? = nil,
        reply: @escaping @Sendable (ControlReply, UInt64) -> Void
    ) {
        self.identifier = identifier
        self.action = action
        self.keepPartial = keepPartial
        self.patterns = patterns
        self.reply = reply
    }

    /// `nil` for what changes nothing.
    func command(_ tasks: [TaskIndex]) -> RunCommand? {
        switch action {
        case .suspend: .suspend(tasks)
        case .resume: .resume(tasks)
        case .cancel: .cancel(tasks, keepPartial: keepPartial)
        case .status: nil
        }
    }
}

/// What became of it.
package enum ControlReply: Hashable, Sendable {
    /// The ids of the tasks that are not as they were, in the job's order.
    case changed([String])
    case status(RunStatus)
    /// Nothing was done: a sentence that says why, and what would be right.
    case refused(String)
}
