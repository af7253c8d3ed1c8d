import Synchronization
import SystemIO
package import TransferModel

/// Two runs of two parts of one job, told as one run of all of it.
///
/// Unchecked: everything is done under one lock, from two threads.
package final class JoinedStory: @unchecked Sendable {
    package enum Side: Hashable { case here, background }

    private struct Part {
        /// By the part's numbers: the whole job's. A task that the job no longer has is told of by nobody.
        let numbers: [TaskIndex?]
        var end: RunRecord?
    }
    private let lock = Mutex(())
    private let job: Job
    private let consumers: [any EventConsumer]
    private var parts: [Side: Part]
    /// What may have to stand behind something that the other part has not told yet.
    private var held: [(order: Int, event: Event)] = []
    private var heldCount = 0
    private var finished: Set<TaskIndex> = []
    private var sequence: UInt64 = 0
    private var began: WallTime?
    /// The date of what was told last. What comes later than the lag is told with this date: a story never goes back.
    private var told: WallTime?

    /// What happens in the background is heard of through the journal, and later than what happens here.
    private static let lag = TimeSpan.milliseconds(250)

    package init(_ job: Job, here: [TaskIndex?], background: [TaskIndex?], _ consumers: [any EventConsumer]) {
        self.job = job
        self.consumers = consumers
        parts = [.here: Part(numbers: here), .background: Part(numbers: background)]
    }

    package func take(_ events: ArraySlice<Event>, from side: Side, now: WallTime = Clocks.wall()) {
        lock.withLock { _ in
            for event in events { take(event, side) }
            tell(until: now + (.zero - Self.lag))
        }
    }

    /// Time has passed.
    func tellWhatIsDue() { lock.withLock { _ in tell(until: Clocks.wall() + (.zero - Self.lag)) } }

    /// The background part was left to itself: what is told of this run ends with its own.
    package func endAlone() {
        lock.withLock { _ in
            guard let here = parts[.here]?.end else { return }
            end(with: .runFinished(here), at: began.map { $0 + here.duration } ?? Clocks.wall())
        }
    }

    // MARK: Under the lock

    private func take(_ event: Event, _ side: Side) {
        began = min(began ?? event.time, event.time)
        if case .runFinished(let record) = event.kind {
            parts[side]?.end = record
            if let last = joinedEnd(at: event.time) { end(with: last, at: event.time) }
            return
        }
        guard let translated = translated(event, side) else { return }
        heldCount += 1
        held.append((heldCount, translated))
    }

    private func translated(_ event: Event, _ side: Side) -> Event? {
        var translated = event
        guard let number = event.task else {
            // Each part knows all sessions and tells of its own.
            return event.session.map { (isBackground($0) ? .background : .here) == side } == true ? event : nil
        }
        guard let numbers = parts[side]?.numbers, Int(number.raw) < numbers.count, let own = numbers[Int(number.raw)]
        else { return nil }
        translated.task = own
        return translated
    }

    /// In the order of their dates, and of each part as it told them.
    private func tell(until date: WallTime) {
        guard held.contains(where: { $0.event.time <= date }) else { return }
        held.sort { ($0.event.time, $0.order) < ($1.event.time, $1.order) }
        let due = held.prefix { $0.event.time <= date }.map(\.event)
        held.removeFirst(due.count)
        tell(due)
    }

    private func end(with kind: Event.Kind, at time: WallTime) {
        tell(until: held.map(\.event.time).max() ?? time)
        tell([Event(time: max(time, began ?? time), sequence: 0, session: nil, task: nil, kind: kind)])
    }

    /// Consumers keep what went wrong with them, for whoever puts the run's outputs together.
    private func tell(_ events: [Event]) {
        let numbered = events.compactMap { event -> Event? in
            if case .taskFinished = event.kind, let task = event.task { finished.insert(task) }
            if isStale(event) { return nil }
            sequence += 1
            var event = event
            event.sequence = sequence
            event.time = max(event.time, told ?? event.time)
            told = event.time
            return event
        }
        for consumer in consumers { try? consumer.consume(numbered[...]) }
    }

    /// A part says that it waits for a task of the other that has ended meanwhile: only the news of it was on its way.
    private func isStale(_ event: Event) -> Bool {
        guard case .waiting(.dependency, _) = event.kind, let task = event.task else { return false }
        let needs = job.tasks[Int(task.raw)].needs
        return !needs.isEmpty && needs.allSatisfy { finished.contains($0) }
    }

    private func isBackground(_ session: SessionIndex) -> Bool {
        Int(session.raw) < job.sessions.count && job.sessions[Int(session.raw)].kind == .background
    }

    /// When both parts are over.
    private func joinedEnd(at time: WallTime) -> Event.Kind? {
        guard let here = parts[.here]?.end, let background = parts[.background]?.end else { return nil }
        let status = ExitStatus.joined(here.exitStatus, background.exitStatus)
        let worse = status == here.exitStatus ? here : background
        let groups = zip(here.groups, background.groups).map { own, other in
            own.published || own.error != nil ? own : other
        }
        return .runFinished(
            RunRecord(
                outcome: worse.outcome, exitStatus: status, duration: began.map { time - $0 } ?? .zero, groups: groups))
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
