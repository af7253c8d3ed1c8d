import Diagnostics

/// What the values of one task mean while they are read: the names that only it has, and what it used so far. The task
/// loader makes a scope for each map of tasks; the values of the rest of the job are read in an empty one.
struct TaskScope {
    /// Whether the task has a misspelled `forEach`, whose names are unknown for that reason alone.
    var lacksForEach = false
    /// Whether the task has `next`, so that `${page}` stands in its `to`.
    var hasPages = false
    /// Whether the task's own values are read, rather than its `forEach`: only there can values of other tasks be used.
    var isInTask = false
    /// Whether values of `defaults` are read.
    var isInDefaults = false
    /// Names in a map of `defaults` that the task writes itself, so that their default is not used.
    var replacedNames: Set<String> = []
    /// The names of `forEach` and their present values.
    var bindings: [Binding] = []
    /// The value of names that nothing else binds, while a faulty `forEach` hides its names; else `nil`.
    var unreadName: Value?
    /// Uses of captured values found since the task loader last read the list.
    var captureUses: [CaptureUse] = []
    /// Files that the `forEach` names.
    var fileReads: [FileRead] = []
    /// Lists of tasks that the `forEach` names.
    var capturedLists: [CapturedList] = []

    /// Whether the task stands for tasks that are not known yet.
    var isDeferred: Bool { unreadName != nil || bindings.contains { $0.index == 0 } }

    /// Whether the values are read for a stand-in of every possible task, in patterns of ids.
    var isWild: Bool {
        if case .wild? = unreadName { return true }
        return bindings.contains { if case .wild = $0.value { true } else { false } }
    }

    func binding(_ name: String) -> Binding? { bindings.first { $0.name == name } }
}

/// A use of `${tasks.ID.NAME}` in a task.
struct CaptureUse {
    let task: String
    let name: String
    let span: SourceSpan
    let isInPath: Bool
    /// Whether it stands in `defaults` and counts only for tasks that use the default.
    let isDefault: Bool
    /// Whether it is a value of the list `name`, which `forEach` reads.
    var isOfList = false
}
