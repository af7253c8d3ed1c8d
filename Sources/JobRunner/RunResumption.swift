package import TransferModel

/// What a process needs in addition to the job to continue a run that another process began.
package struct RunResumption: Sendable {
    /// The fold of all events that the run recorded.
    package var history: RunHistory
    /// Whether the previous process crashed. A kill, a reboot or a power cut is no crash.
    package var hasCrashed: Bool
    /// Values captured by tasks that succeeded, by task id: no event has a value that is a secret.
    package var captures: [String: [CapturedValue]]
    /// Templates that became tasks, in that order, with their tasks in the job; an event may not say so yet.
    package var expanded: [ExpandedTemplate]
    /// Captured values over which these templates were expanded, by the id of the capturing task: they stay, whatever
    /// that task captures when it is repeated.
    package var expandedOver: [String: [CapturedValue]]
    /// Tasks that had begun a request which must not be sent twice, and of whose attempt the events do not know any more.
    package var lost: Set<TaskIndex>

    package init(
        history: RunHistory, hasCrashed: Bool = false, captures: [String: [CapturedValue]] = [:],
        expanded: [ExpandedTemplate] = [], over lists: [String: [CapturedValue]] = [:], lost: Set<TaskIndex> = []
    ) {
        self.history = history
        self.hasCrashed = hasCrashed
        self.captures = captures
        self.expanded = expanded
        expandedOver = lists
        self.lost = lost
    }

    /// The history with all expansions, recorded by an event or not.
    var knownHistory: RunHistory {
        var history = history
        for known in expanded { history.expand(known.template) }
        return history
    }
}

/// The dependencies of a part of a job on tasks that another process runs.
package struct OutsideNeeds: Sendable {
    /// Ids of the tasks that each task of this part needs from other parts.
    package private(set) var ids: [TaskIndex: [String]]

    package init(_ ids: [TaskIndex: [String]] = [:]) { self.ids = ids.filter { !$0.value.isEmpty } }
    /// Whether no task of this part needs one of another part.
    package var isEmpty: Bool { ids.isEmpty }

    /// The tasks that wait for each outside task, once for each time they name it.
    var waiting: [String: [TaskIndex]] {
        var waiting: [String: [TaskIndex]] = [:]
        for (task, needed) in ids { for id in needed { waiting[id, default: []].append(task) } }
        return waiting.mapValues { $0.sorted() }
    }
}

/// The end of a task that another process runs.
package struct OutsideEnd: Sendable {
    /// Id of the task that ended.
    package var id: String
    /// Whether tasks that need it may begin: it succeeded, or its failure is tolerated.
    package var succeeded: Bool
    /// Whether it failed and the failure is not tolerated: `failFast` then ends the other tasks.
    package var hasFailed: Bool
    /// Why it was deferred; tasks that need it are deferred too. `nil` if it was not.
    package var deferral: Deferral?
    /// Values that it captured.
    package var captures: [CapturedValue]

    package init(
        id: String, succeeded: Bool, hasFailed: Bool = false, deferral: Deferral? = nil, captures: [CapturedValue] = []
    ) {
        self.id = id
        self.succeeded = succeeded
        self.hasFailed = hasFailed
        self.deferral = deferral
        self.captures = captures
    }
}
