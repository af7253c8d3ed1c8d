package import TransferModel

/// Takes an engine's events; the owner of the log numbers and dates them.
package protocol EventSink: AnyObject {
    /// Appends an event of a task.
    func append(_ kind: Event.Kind, task: TaskIndex, session: SessionIndex)
    /// Appends an event of the run as a whole.
    func append(_ kind: Event.Kind)
    /// Adds secrets that became known during the run: later events are redacted of them.
    func learn(_ secrets: [KnownSecret])
    /// The redactor of the events: a text must be redacted before it is cut, because a cut may split a secret.
    var hiding: Redactor { get }
}
