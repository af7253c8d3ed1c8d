package import TransferModel

/// Inserts progress, which comes from the process, among the events, which come from the journal: after the events that
/// preceded it, and only within an attempt that can have made it. Progress that fits nowhere is dropped, since later
/// progress says more.
package struct ProgressPlacing {
    private struct Subject: Hashable {
        let task: TaskIndex
        let direction: TaskProgress.Direction
    }
    private enum Phase { case sending, receiving }

    private var tasks: [String: TaskIndex]
    private var sessions: [SessionIndex]
    /// The phase of each task with an attempt under way.
    private var phases: [TaskIndex: Phase] = [:]
    /// The latest progress of each subject, in order of arrival.
    private var pending: [(subject: Subject, progress: TaskProgress)] = []
    private var last: UInt64 = 0
    private var time = WallTime(nanoseconds: .min)

    package init(_ job: Job) {
        sessions = job.tasks.map(\.session)
        tasks = Dictionary(
            job.tasks.enumerated().map { ($1.id, TaskIndex(raw: UInt32($0))) }, uniquingKeysWith: { first, _ in first })
    }

    /// Notes that these events were passed on.
    package mutating func passed(_ events: ArraySlice<Event>) {
        for event in events {
            last = event.sequence
            time = max(time, event.time)
            guard let task = event.task else { continue }
            switch event.kind {
            case .attemptStarted: phases[task] = .sending
            case .response: phases[task] = .receiving
            case .attemptFinished, .taskFinished: phases[task] = nil
            case .expanded(let expansion): add(expansion.tasks)
            default: break
            }
        }
    }

    private mutating func add(_ more: [TaskSpecification]) {
        for task in more {
            tasks[task.id] = tasks[task.id] ?? TaskIndex(raw: UInt32(sessions.count))
            sessions.append(task.session)
        }
    }

    /// Takes progress from the process; it replaces earlier progress of the same body.
    package mutating func receive(_ progress: TaskProgress) {
        guard let task = tasks[progress.task] else { return }
        let subject = Subject(task: task, direction: progress.direction)
        pending.removeAll { $0.subject == subject }
        pending.append((subject, progress))
    }

    /// Returns and removes the progress that can be passed on now.
    package mutating func placed() -> [Event] {
        guard !pending.isEmpty else { return [] }
        var events: [Event] = []
        for (subject, progress) in pending where progress.after <= last && isAllowed(subject) {
            time = max(time, progress.at)
            events.append(event(subject, progress))
        }
        pending.removeAll { $0.progress.after <= last }
        return events
    }

    private func isAllowed(_ subject: Subject) -> Bool {
        switch (subject.direction, phases[subject.task]) {
        case (.sent, .sending), (.received, .receiving): true
        default: false
        }
    }

    private func event(_ subject: Subject, _ progress: TaskProgress) -> Event {
        let told = Event.Progress(bytes: progress.bytes, expected: progress.expected)
        return Event(
            time: time, sequence: last, session: sessions[Int(subject.task.raw)], task: subject.task,
            kind: subject.direction == .sent ? .sentBodyData(told) : .receivedData(told))
    }
}
