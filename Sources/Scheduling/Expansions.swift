import TransferModel

/// Tracks the template whose tasks are being recorded, when tasks were added, and how tasks ended that did not succeed:
/// tasks that are added later may need those.
struct Expansions: Sendable {
    private struct Held: Sendable {
        let template: TaskIndex
        /// How the tasks in the template's place are to end.
        var ending: Ending?
    }

    private var held: Held?
    /// Ends that were not good.
    private var ends: [TaskIndex: NeedEnd] = [:]
    /// When tasks were added that did not exist when the run began.
    private var creations: [TaskIndex: Instant] = [:]

    // MARK: The template whose tasks are being recorded

    /// Begins to record the tasks of a template. From here on the tasks in the template's place belong to the run: an
    /// end of the template becomes theirs.
    mutating func hold(_ template: TaskIndex) { held = Held(template: template) }

    func isHeld(_ task: TaskIndex) -> Bool { held?.template == task }

    /// Notes how the tasks in the place of the held template are to end. The first ending counts.
    mutating func endHeld(_ ending: Ending) { if held?.ending == nil { held?.ending = ending } }

    /// The template's tasks were added. Returns how they are to end at once, if they are.
    mutating func release(_ template: TaskIndex) -> Ending? {
        guard isHeld(template) else { return nil }
        defer { held = nil }
        return held?.ending
    }

    // MARK: Tasks that were added

    mutating func created(_ task: TaskIndex, at time: Instant) { creations[task] = time }

    /// When the task was added; `nil` if it existed when the run began.
    func creation(of task: TaskIndex) -> Instant? { creations.isEmpty ? nil : creations[task] }

    // MARK: Tasks that did not end well

    mutating func ended(_ task: TaskIndex, _ end: NeedEnd) {
        if case .good = end { return }
        ends[task] = end
    }

    /// Returns what the end of a finished task means for tasks that are added and need it.
    func end(of task: TaskIndex) -> NeedEnd { ends[task] ?? .good }
}
