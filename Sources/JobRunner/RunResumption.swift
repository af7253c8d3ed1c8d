package import TransferModel

/// What a process needs beside the job to go on with a run that another one began.
package struct RunResumption: Sendable {
    /// The fold over all events that the run told.
    package var history: RunHistory
    /// The process before this one died by its own fault. A kill, a reboot or a power cut is none.
    package var hasCrashed: Bool
    /// What tasks that succeeded captured, by their ids: no event tells a value that is a secret.
    package var captures: [String: [CapturedValue]]
    /// Templates that became tasks, in that order, with their tasks in the job; an event may not have told it yet.
    package var expanded: [ExpandedTemplate]
    /// What those went over, by the tasks that captured it: whatever such a task captures when it is done again.
    package var expandedOver: [String: [CapturedValue]]

    package init(
        history: RunHistory, hasCrashed: Bool = false, captures: [String: [CapturedValue]] = [:],
        expanded: [ExpandedTemplate] = [], over lists: [String: [CapturedValue]] = [:]
    ) {
        self.history = history
        self.hasCrashed = hasCrashed
        self.captures = captures
        self.expanded = expanded
        expandedOver = lists
    }

    /// As it stands, told or not.
    var knownHistory: RunHistory {
        var history = history
        for known in expanded { history.expand(known.template) }
        return history
    }
}

/// Of a job of which this process carries only a part: the ids of tasks, carried by somebody else, that each task needs.
package struct OutsideNeeds: Sendable {
    package private(set) var ids: [TaskIndex: [String]]

    package init(_ ids: [TaskIndex: [String]] = [:]) { self.ids = ids.filter { !$0.value.isEmpty } }
    package var isEmpty: Bool { ids.isEmpty }

    /// Whom each of the others keeps waiting, once for each time it is named.
    var waiting: [String: [TaskIndex]] {
        var waiting: [String: [TaskIndex]] = [:]
        for (task, needed) in ids { for id in needed { waiting[id, default: []].append(task) } }
        return waiting.mapValues { $0.sorted() }
    }
}

/// The end of a task that somebody else carries.
package struct OutsideEnd: Sendable {
    package var id: String
    /// Or its failure is tolerated: what needs it may begin.
    package var succeeded: Bool
    /// It failed, and nobody tolerates that: `failFast` ends the rest.
    package var hasFailed: Bool
    /// It was put off: so is what needs it.
    package var deferral: Deferral?
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
