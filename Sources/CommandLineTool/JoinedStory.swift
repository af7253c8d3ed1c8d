import Synchronization
import SystemIO
package import TransferModel

/// Two runs of two parts of one job, told as one run of all of it.
package final class JoinedStory: Sendable {
    package enum Side: Hashable, Sendable { case here, background }

    /// What happens in the background is heard of through the journal, and later than what happens here.
    private static let lag = TimeSpan.milliseconds(250)

    private let state: Mutex<State>

    /// `background` is the part as it was accepted: in a changed job tasks, sessions and groups may have other places.
    package init(_ job: Job, here: Job, background: Job, _ consumers: [any EventConsumer]) {
        let places = Places(job)
        let background = Part(
            tasks: places.tasks(of: background), sessions: places.backgroundSessions(of: background),
            groups: places.groups(of: background))
        // Each part knows all sessions, and tells of its own.
        let others = Set(background.sessions.compactMap { $0 })
        let here = Part(
            tasks: places.tasks(of: here),
            sessions: places.sessions(of: here).map { $0.flatMap { others.contains($0) ? nil : $0 } },
            groups: places.groups(of: here))
        state = Mutex(State(job: job, consumers: Consumers(all: consumers), here: here, background: background))
    }

    package func take(_ events: ArraySlice<Event>, from side: Side, now: WallTime = Clocks.wall()) {
        state.withLock { $0.take(events, side, upTo: Self.due(now)) }
    }

    /// Time has passed. Whether something is held back still.
    @discardableResult
    package func tellWhatIsDue(now: WallTime = Clocks.wall()) -> Bool {
        state.withLock { state in
            state.tellWhatIsDue(upTo: Self.due(now))
            return state.holdsSomething
        }
    }

    /// When a consumer has something to say though nothing happened.
    package var nextTick: WallTime? { state.withLock { $0.consumers.all.compactMap(\.nextTick).min() } }

    package func tick(_ now: WallTime) {
        state.withLock { state in
            for consumer in state.consumers.all where consumer.nextTick.map({ $0 <= now }) == true {
                try? consumer.tick(now)
            }
        }
    }

    /// Nobody will hear of anything more from there.
    package func hearsNoMore(of side: Side) { state.withLock { $0[side].isSilent = true } }

    /// What is told of this run ends with what this process carried of it, if that is not told already. `end` is what the
    /// command comes to, where that is something else.
    package func endAlone(
        _ end: (outcome: RunOutcome, exitStatus: Int)? = nil, now: WallTime = Clocks.wall()
    ) {
        state.withLock { $0.endAlone(end, now) }
    }

    private static func due(_ now: WallTime) -> WallTime { now + (.zero - lag) }
}

/// Unchecked: they are called under the story's lock, and used by whoever made them when nobody tells any more.
private struct Consumers: @unchecked Sendable {
    let all: [any EventConsumer]
}

/// Where tasks and sessions of a part stand in the whole job, by their names.
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

    /// Of sessions that are the background's then and now.
    func backgroundSessions(of part: Job) -> [SessionIndex?] {
        part.sessions.map { session in
            sessions[session.name].flatMap { number in
                session.kind == .background && kinds[Int(number.raw)] == .background ? number : nil
            }
        }
    }
}

/// Of what one side tells.
private struct Part {
    /// By the part's numbers: the whole job's. What the job no longer has is told of by nobody.
    private var tasks: [TaskIndex?]
    let sessions: [SessionIndex?]
    private let groups: [GroupIndex?]
    var end: RunRecord?
    /// Nothing more comes.
    var isSilent = false
    /// The date of what was heard last.
    private(set) var last = WallTime(nanoseconds: .min)

    init(tasks: [TaskIndex?], sessions: [SessionIndex?], groups: [GroupIndex?]) {
        self.tasks = tasks
        self.sessions = sessions
        self.groups = groups
    }

    /// What comes from here is of no earlier date.
    var heard: WallTime { isSilent ? WallTime(nanoseconds: .max) : last }

    mutating func note(_ event: Event) {
        last = max(last, event.time)
        guard case .runFinished(let record) = event.kind else { return }
        end = record
        isSilent = true
    }

    /// Tasks that take a template's place get their places in `job`.
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
            // Of one whose session the job no longer has, nothing is told.
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

/// Under the story's lock.
private struct State {
    /// Grows when templates become tasks.
    private var job: Job
    let consumers: Consumers
    private var here: Part
    private var background: Part
    /// What may have to stand behind something that the other part has not told yet.
    private var held: [(order: Int, side: JoinedStory.Side, event: Event)] = []
    private var heldCount = 0
    private var finished: Set<TaskIndex> = []
    private var sequence: UInt64 = 0
    private var began: WallTime?
    /// The date of what was told last. What comes later than the lag is told with this date: a story never goes back.
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

    mutating func take(_ events: ArraySlice<Event>, _ side: JoinedStory.Side, upTo date: WallTime) {
        if isOver { return }
        for event in events {
            began = min(began ?? event.time, event.time)
            self[side].note(event)
            heldCount += 1
            held.append((heldCount, side, event))
        }
        if let record = joinedEnd() { return end(with: record, at: max(here.last, background.last)) }
        tellWhatIsDue(upTo: date)
    }

    var holdsSomething: Bool { !held.isEmpty }

    /// What was heard of that long ago, and what neither part can tell anything before any more.
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

    /// In the order of their dates, and of each part as it told them.
    private mutating func tell(until date: WallTime) {
        guard held.contains(where: { $0.event.time <= date }) else { return }
        held.sort { ($0.event.time, $0.order) < ($1.event.time, $1.order) }
        let due = held.prefix { $0.event.time <= date }
        held.removeFirst(due.count)
        // Tasks that either part adds are numbered in the order in which they are told, not in which they were heard of.
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

    /// Consumers keep what went wrong with them, for whoever puts the run's outputs together.
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

    /// A part says that it waits for a task of the other that has ended meanwhile: only the news of it was on its way.
    private func isStale(_ event: Event) -> Bool {
        guard case .waiting(.dependency, _) = event.kind, let task = event.task else { return false }
        let needs = job.tasks[Int(task.raw)].needs
        return !needs.isEmpty && needs.allSatisfy { finished.contains($0) }
    }

    // MARK: The end

    /// When both parts are over.
    private func joinedEnd() -> RunRecord? {
        guard let own = here.end, let other = background.end else { return nil }
        let status = ExitStatus.joined(own.exitStatus, other.exitStatus)
        return RunRecord(
            outcome: status == own.exitStatus ? own.outcome : other.outcome, exitStatus: status,
            duration: began.map { max(here.last, background.last) - $0 } ?? .zero, groups: groups())
    }

    /// Each part tells of all groups that it knows, and has put its own in place.
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
    /// Of two parts of one run: 2, 4, 5, then a signal, then 1, then 75; nothing has changed when nothing has in either.
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
