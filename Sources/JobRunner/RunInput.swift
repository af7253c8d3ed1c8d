package import TransferEngine
package import TransferModel

/// Input of a run from other threads.
package enum RunInput: Sendable {
    case command(RunCommand)
    case control(ControlRequest)
    /// A task that another process runs has ended.
    case outside(OutsideEnd)
    /// The journal has recorded that these attempts begin.
    case kept([AttemptBeginning])
    /// Another process is to continue the run, with more tasks: leave it as soon as that ends no attempt that cannot be
    /// repeated.
    case makeWay
    /// The files from which a template's lists are read were opened, or cannot be.
    case listsOpened(TaskIndex, [Result<ListFile, TransferError>])
    /// The tasks of a template were made, or cannot be; `rows` are the lists that were read for that, by
    /// `RowList.key`.
    case expanded(TaskIndex, Result<ExpandedJob, TransferError>, rows: [String: CapturedValue])
    /// The tasks of this template are recorded.
    case expansionKept(TaskIndex)
    /// The `onFinish` command of a task has ended.
    case hookEnded(TaskIndex, HookRecord)
    /// The machine has slept.
    case woke
    /// The run may start tasks: it is its turn (`TurnSettings`).
    case turnGiven
    /// The run is to leave its process if it still has nothing to do, and to be begun anew when it has.
    case rest
}

/// What a request does with tasks of a running job.
package enum ControlAction: String, CaseIterable, Hashable, Sendable {
    case suspend, resume, cancel
    /// Return their status; changes nothing.
    case status
}

/// A request from outside to a running job.
package struct ControlRequest: Sendable {
    /// What to do with the chosen tasks.
    package let action: ControlAction
    /// Whether the partial file of a cancelled download stays.
    package let keepPartial: Bool
    /// Patterns of task ids; empty for every task.
    package let patterns: [TaskPattern]
    /// Identifier of the background session whose tasks can be chosen; `nil` for those of the whole run.
    package let identifier: String?
    /// Called on the loop, at most once: not at all when the run ends first. The number is that of the last event so
    /// far, which includes the events of the request's effects.
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

    /// The command for the chosen tasks; `nil` for an action that changes nothing.
    func command(_ tasks: [TaskIndex]) -> RunCommand? {
        switch action {
        case .suspend: .suspend(tasks)
        case .resume: .resume(tasks)
        case .cancel: .cancel(tasks, keepPartial: keepPartial)
        case .status: nil
        }
    }
}

/// Result of a request.
package enum ControlReply: Hashable, Sendable {
    /// Ids of the tasks that changed, in the job's order.
    case changed([String])
    /// The tasks' status.
    case status(RunStatus)
    /// Nothing was done: a sentence that says why, and what would work.
    case refused(String)
}
