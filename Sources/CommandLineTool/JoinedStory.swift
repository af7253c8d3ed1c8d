import Synchronization
import SystemIO
package import TransferModel

/// Merges the events of two runs of two parts of one job into the events of one run. Usable from any thread.
package final class JoinedStory: Sendable {
    /// Where a part runs: in this process or in the background process.
    package enum Side: Hashable, Sendable { case here, background }

    /// How long events are held back: those of the background part arrive through the journal, later than those of this
    /// process.
    private static let lag = TimeSpan.milliseconds(250)

    private let state: Mutex<State>

    /// `background` is the part as it was accepted: in a changed job tasks, sessions and groups may have other numbers.
    package init(_ job: Job, here: Job, background: Job, _ consumers: [any EventConsumer]) {
        let places = Places(job)
        let background = Part(
            tasks: places.tasks(of: background), sessions: places.backgroundSessions(of: background),
            groups: places.groups(of: background))
        // Each part knows all sessions, but reports only its own.
        let others = Set(background.sessions.compactMap { $0 })
        let here = Part(
            tasks: places.tasks(of: here),
            sessions: places.sessions(of: here).map { $0.flatMap { others.contains($0) ? nil : $0 } },
            groups: places.groups(of: here))
        state = Mutex(State(job: job, consumers: Consumers(all: consumers), here: here, background: background))
    }

    /// Adds events of one part, and passes those that are due to the consumers.
    package func add(_ events: ArraySlice<Event>, from side: Side, now: WallTime = Clocks.wall()) {
        state.withLock { $0.add(events, side, upTo: Self.due(now)) }
    }

    /// Passes the events that are due to the consumers. Returns whether events are still held back.
    @discardableResult
    package func tellWhatIsDue(now: WallTime = Clocks.wall()) -> Bool {
        state.withLock { state in
            state.tellWhatIsDue(upTo: Self.due(now))
            return state.holdsSomething
        }
    }

    /// When a consumer next wants `tick`; `nil` when none does.
    package var nextTick: WallTime? { state.withLock { $0.consumers.all.compactMap(\.nextTick).min() } }

    /// Calls `tick` of the consumers whose time has come.
    package func tick(_ now: WallTime) {
        state.withLock { state in
            for consumer in state.consumers.all where consumer.nextTick.map({ $0 <= now }) == true {
                try? consumer.tick(now)
            }
        }
    }

    /// Notes that no further events of one part will come.
    package func hearsNoMore(of side: Side) { state.withLock { $0[side].isSilent = true } }

    /// Ends the merged run with the end of this process's part, if it has not ended already. `end` replaces the part's
    /// outcome, where the command's is another.
    package func endAlone(
        _ end: (outcome: RunOutcome, exitStatus: Int)? = nil, now: WallTime = Clocks.wall()
    ) {
        state.withLock { $0.endAlone(end, now) }
    }

    private static func due(_ now: WallTime) -> WallTime { now + (.zero - lag) }
}

/// Unchecked: the consumers are called under the story's lock, and their owner uses them only after the last event.
private struct Consumers: @unchecked Sendable {
    let all: [any EventConsumer]
}

/// Maps tasks, sessions and groups of a part to their numbers in the whole job, by name.
private struct Places {
    private let tasks: [String: TaskIndex]
    private let sessions: [String: SessionIndex]
    private let groups: [String: GroupIndex]
    private let kinds: [SessionConfiguration.Kind]

    init(_ job: Job) {
        tasks = Dictionary(
            job.tasks.enumerated().map { ($1.id, TaskIndex(raw: UInt32($0))) }, uniquingKeysWith: { first, _ in first })
        sessions = Dictionary(
            job.sessions.enumerated().map { ($1.name, SessionIndex(raw: UInt16($0))) },
            uniquingKeysWith: { first, _ in first })
        groups = Dictionary(
            job.groups.enumerated().map { ($1.name, GroupIndex(raw: UInt16($0))) },
            uniquingKeysWith: { first, _ in first })
        kinds = job.sessions.map(\.kind)
    }

    func tasks(of part: Job) -> [TaskIndex?] { part.tasks.map { tasks[$0.id] } }

    func groups(of part: Job) -> [GroupIndex?] { part.groups.map { groups[$0.name] } }

    func sessions(of part: Job) -> [SessionIndex?] { part.sessions.map { sessions[$0.name] } }

    /// The numbers of sessions that were background sessions when accepted and still are.
    func backgroundSessions(of part: Job) -> [SessionIndex?] {
        part.sessions.map { session in
            sessions[session.name].flatMap { number in
                session.kind == .background && kinds[Int(number.raw)] == .background ? number : nil
            }
        }
    }
}

/// One part's numbers and progress.
private struct Part {
    /// Number in the whole job of each task of the part; `nil` for a task that the job no longer has, whose events are
    /// dropped.
    private var tasks: [TaskIndex?]
    let sessions: [SessionIndex?]
    private let groups: [GroupIndex?]
    var end: RunRecord?
    /// Whether no further event will come.
    var isSilent = false
    /// Time of the part's last event.
    private(set) var last = WallTime(nanoseconds: .min)

    init(tasks: [TaskIndex?], sessions: [SessionIndex?], groups: [GroupIndex?]) {
        self.tasks = tasks
        self.sessions = sessions
        self.groups = groups
    }

    /// Time before which no further event of the part will come.
    var heard: WallTime { isSilent ? WallTime(nanoseconds: .max) : last }

    mutating func update(with event: Event) {
        last = max(last, event.time)
        guard case .runFinished(let record) = event.kind else { return }
        end = record
        isSilent = true
    }

    /// The event with the whole job's numbers, or `nil`. Tasks expanded from a template are added to `job`.
    mutating func translated(_ event: Event, _ job: inout Job) -> Event? {
        var translated = event
        if case .expanded(let expansion) = event.kind {
            translated.kind = .expanded(Expansion(tasks: add(expansion.tasks, to: &job), count: expansion.count))
        }
        guard let number = event.task else {
            translated.session = event.session.flatMap { place(Int($0.raw), sessions) }
            return translated.session == nil ? nil : translated
        }
        guard let own = place(Int(number.raw), tasks) else { return nil }
        translated.task = own
        translated.session = job.tasks[Int(own.raw)].session
        return translated
    }

    private mutating func add(_ more: [TaskSpecification], to job: inout Job) -> [TaskSpecification] {
        let start = job.tasks.count
        for task in more {
            var task = task
            // Events of a task whose session the job no longer has are dropped.
            guard let session = place(Int(task.session.raw), sessions) else {
                tasks.append(nil)
                continue
            }
            tasks.append(TaskIndex(raw: UInt32(job.tasks.count)))
            task.session = session
            task.group = task.group.flatMap { place(Int($0.raw), groups) }
            task.needs = task.needs.compactMap { place(Int($0.raw), tasks) }
            job.tasks.append(task)
        }
        return Array(job.tasks[start...])
    }

    private func place<Index>(_ number: Int, _ places: [Index?]) -> Index? {
        number < places.count ? places[number] : nil
    }
}

/// The state under the story's lock.
private struct State {
    /// The whole job; it grows when templates become tasks.
    private var job: Job
    let consumers: Consumers
    private var here: Part
    private var background: Part
    /// Events held back, because earlier ones of the other part may still come.
    private var held: [(order: Int, side: JoinedStory.Side, event: Event)] = []
    private var heldCount = 0
    private var finished: Set<TaskIndex> = []
    private var sequence: UInt64 = 0
    private var began: WallTime?
    /// Time of the last event passed on. An event that arrives later than the lag gets this time, so that times never
    /// go back.
    private var told: WallTime?
    private var isOver = false

    init(job: Job, consumers: Consumers, here: Part, background: Part) {
        self.job = job
        self.consumers = consumers
        self.here = here
        self.background = background
    }

    subscript(side: JoinedStory.Side) -> Part {
        get { side == .here ? here : background }
        set { if side == .here { here = newValue } else { background = newValue } }
    }

    mutating func add(_ events: ArraySlice<Event>, _ side: JoinedStory.Side, upTo date: WallTime) {
        if isOver { return }
        for event in events {
            began = min(began ?? event.time, event.time)
            self[side].update(with: event)
            heldCount += 1
            held.append((heldCount, side, event))
        }
        if let record = joinedEnd() { return end(with: record, at: max(here.last, background.last)) }
        tellWhatIsDue(upTo: date)
    }

    var holdsSomething: Bool { !held.isEmpty }

    /// Passes on the events up to `date`, and those before which no further event can come.
    mutating func tellWhatIsDue(upTo date: WallTime) { tell(until: max(date, min(here.heard, background.heard))) }

    mutating func endAlone(_ end: (outcome: RunOutcome, exitStatus: Int)?, _ now: WallTime) {
        guard !isOver, let record = here.end else { return }
        let (outcome, status) = end ?? (record.outcome, record.exitStatus)
        self.end(
            with: RunRecord(
                outcome: outcome, exitStatus: status, duration: began.map { now - $0 } ?? .zero, groups: groups()),
            at: now)
    }

    // MARK: Telling

    /// Passes on events in the order of their times, and of each part in its own order.
    private mutating func tell(until date: WallTime) {
        guard held.contains(where: { $0.event.time <= date }) else { return }
        held.sort { ($0.event.time, $0.order) < ($1.event.time, $1.order) }
        let due = held.prefix { $0.event.time <= date }
        held.removeFirst(due.count)
        // Tasks added by either part are numbered in the order of the merged events, not of their arrival.
        tell(due.compactMap { translated($0.event, of: $0.side) })
    }

    private mutating func translated(_ event: Event, of side: JoinedStory.Side) -> Event? {
        var part = self[side]
        defer { self[side] = part }
        return part.translated(event, &job)
    }

    private mutating func end(with record: RunRecord, at time: WallTime) {
        tell(until: WallTime(nanoseconds: .max))
        tell([Event(time: time, sequence: 0, session: nil, task: nil, kind: .runFinished(record))])
        isOver = true
    }

    /// Passes events to the consumers, which record their own errors for `RunOutputs`.
    private mutating func tell(_ events: [Event]) {
        var numbered: [Event] = []
        for var event in events {
            if case .taskFinished = event.kind, let task = event.task { finished.insert(task) }
            if isStale(event) { continue }
            sequence += 1
            event.sequence = sequence
            event.time = max(event.time, told ?? event.time)
            told = event.time
            numbered.append(event)
        }
        for consumer in consumers.all { try? consumer.consume(numbered[...]) }
    }

    /// Whether a part reports waiting for a task of the other part that has ended meanwhile, because the end had not
    /// reached it yet.
    private func isStale(_ event: Event) -> Bool {
        guard case .waiting(.dependency, _) = event.kind, let task = event.task else { return false }
        let needs = job.tasks[Int(task.raw)].needs
        return !needs.isEmpty && needs.allSatisfy { finished.contains($0) }
    }

    // MARK: The end

    /// The end of the merged run, once both parts have ended.
    private func joinedEnd() -> RunRecord? {
        guard let own = here.end, let other = background.end else { return nil }
        let status = ExitStatus.joined(own.exitStatus, other.exitStatus)
        return RunRecord(
            outcome: status == own.exitStatus ? own.outcome : other.outcome, exitStatus: status,
            duration: began.map { max(here.last, background.last) - $0 } ?? .zero, groups: groups())
    }

    /// The groups of both parts: each part reports all groups that it knows, and has published its own.
    private func groups() -> [RunRecord.Group] {
        let (own, others) = (here.end?.groups ?? [], background.end?.groups ?? [])
        let known = Set(own.map(\.name))
        return own.map { group in
            if group.published || group.error != nil { return group }
            return others.first { $0.name == group.name } ?? group
        } + others.filter { !known.contains($0.name) }
    }
}

extension ExitStatus {
    /// Returns the exit status of two parts of one run: 2, 4, 5, then a signal, then 1, then 75; "nothing changed" only
    /// when both say so.
    static func joined(_ one: Int, _ other: Int) -> Int {
        func weight(_ status: Int) -> Int {
            switch status {
            case 2: 7
            case 4: 6
            case 5: 5
            case 128...: 4
            case 1: 3
            case 75: 2
            case 0: 1
            default: 0
            }
        }
        return weight(one) >= weight(other) ? one : other
    }
}
