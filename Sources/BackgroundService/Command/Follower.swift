import JobRunner
package import Stores
import SystemIO
package import TransferModel

/// Follows a run from its first event to its end, whichever processes carry it. The journal says what happened; the
/// process only says when there is something new.
package final class Follower {
    /// How following ended.
    package enum End: Sendable {
        /// The run has ended; `trouble` says why it came to nothing, if it did.
        case finished(RunEnd, trouble: String?)
        /// A signal asked this command to end. The run goes on.
        case interrupted(Int32)
        /// Nothing of the run can go on now, and this command does not wait. The run goes on.
        case heldBack(HeldBack)
    }

    private let starter: ServiceStarter
    private let run: RunID
    private let identifier: String
    private let journal: Journal
    /// Raised when there is something other than news to look at.
    private let wake: PollWake
    private var link: ServiceLink?
    private var last: UInt64 = 0
    /// What the process last said keeps the run's events back.
    private var holdup: String?
    private var toldHoldup: String?
    /// Set once progress is wanted.
    private var placing: ProgressPlacing?
    private var isOver = false
    /// The number of the run's tasks that the receiver of the events knows.
    private var taskCount: Int
    /// The number of processes in a row that went away without anything new.
    private var deaths = 0
    private var held: HeldTasks
    /// When the process is asked next what the tasks wait for, and how long after that again.
    private var nextLook = Instant(nanoseconds: 0)
    private var lookPause = TimeSpan.milliseconds(50)

    private static let maximumDeaths = 3
    private static let page = 4096
    /// Longest wait in milliseconds: a process that dies may take its news with it, so that the journal is read anyway.
    private static let patience: Int64 = 1000
    /// Longest wait in milliseconds after the last event: only the run's report and commands are left.
    private static let lastPatience: Int64 = 100
    /// Longest time between two questions what the tasks wait for: a run that was just handed over is asked sooner.
    private static let longestLookPause = TimeSpan.seconds(1)

    /// `job` is what the process carries, as far as the receiver of the events knows it.
    package init(
        _ run: RunID, _ identifier: String, of job: Job, folder: StateFolder, starter: ServiceStarter
    ) throws(ServiceTrouble) {
        taskCount = job.tasks.count
        held = HeldTasks(job)
        self.run = run
        self.identifier = identifier
        self.starter = starter
        do throws(StoreError) {
            journal = try Journal.open(folder: folder.state, mends: false)
        } catch {
            throw ServiceTrouble(error.description)
        }
        do throws(SystemError) { wake = try PollWake() } catch { throw ServiceTrouble(error.description) }
    }

    /// Asks for progress of bodies as well; `job` is what the process carries.
    package func wantsProgress(of job: Job) { placing = ProgressPlacing(job) }

    /// A function that ends a wait, callable from any thread.
    package var interrupt: @Sendable () -> Void {
        let wake = wake
        return { wake.signal() }
    }

    /// Reads events until the run's end or a signal. `take` gets every event once, in order, and between them progress
    /// where it is wanted. `signal` is asked in every turn, whether or not anything was new. `hear` gets what holds
    /// events back, and `nil` when they come again. `tick` is called when the time that `due` returns has come, even if
    /// nothing happened. `look` is for commands that do not wait: it gets the tasks that are held back, about once a
    /// second, and returns whether to end because of them.
    package func follow(
        signal: () -> Int32?, hear: (_ holdup: String?) -> Void, due: () -> WallTime? = { nil },
        tick: (WallTime) -> Void = { _ in }, look: ((HeldBack) -> Bool)? = nil, take: (ArraySlice<Event>) -> Void
    ) throws(ServiceTrouble) -> End {
        while true {
            if holdup != toldHoldup {
                hear(holdup)
                toldHoldup = holdup
            }
            if try read(take) { deaths = 0 }
            if let progress = placing?.placed(), !progress.isEmpty { take(progress[...]) }
            if let end = try end() {
                // Read the events that came between the last read and the look at the run's end.
                _ = try read(take)
                // All is written, though the process may be gone before it says so.
                if toldHoldup != nil { hear(nil) }
                return end
            }
            if let number = signal() { return .interrupted(number) }
            if let look, let found = try heldBack(), look(found) { return .heldBack(found) }
            let now = Clocks.wall()
            if due().map({ $0 <= now }) == true { tick(now) }
            try wait(until: due(), looks: look != nil)
        }
    }

    /// Marks the run's end as delivered to the user, so that its identifiers are free.
    package func deliver() throws(ServiceTrouble) {
        do throws(StoreError) {
            try journal.deliver(run, now: Clocks.wall(), leavesLog: link != nil)
        } catch {
            throw ServiceTrouble(error.description)
        }
        // A process that is gone cannot answer: wait only briefly.
        if let link { _ = try? link.ask(.ring(identifier), patience: .seconds(1)) }
    }

    /// Returns what a task captured, from the note that the process made in the journal.
    package func captures(of task: String) -> [CapturedValue] {
        guard let notes = try? journal.inputs(of: run, kind: InputKind.captures),
            let note = notes.first(where: { $0.name == task })
        else { return [] }
        return (try? TaskEndNote.end(note).captures) ?? []
    }

    // MARK: The journal

    /// Reads new events and passes them on; returns whether there were any.
    private func read(_ take: (ArraySlice<Event>) -> Void) throws(ServiceTrouble) -> Bool {
        var isNew = false
        do throws(StoreError) {
            try journal.checkPlace()
            while true {
                let events = withTasks(try journal.events(of: run, after: last, limit: Self.page))
                guard let newest = events.last else { return isNew }
                isNew = true
                last = newest.sequence
                if case .runFinished = newest.kind { isOver = true }
                take(events[...])
                placing?.passed(events[...])
                held.passed(events)
                if events.count < Self.page { return isNew }
            }
        } catch {
            throw ServiceTrouble(error.description)
        }
    }

    /// Completes the events that say only how many tasks a template became with the tasks themselves, as far as the
    /// receiver does not know them yet.
    private func withTasks(_ events: [Event]) -> [Event] {
        let isTold = events.contains { if case .expanded = $0.kind { true } else { false } }
        guard isTold, let handed = try? HandedJob(of: run, journal) else { return events }
        return events.map { event in
            guard case .expanded(let expansion) = event.kind,
                let found = handed.expanded.first(where: { $0.template == event.task }),
                found.tasks.upperBound > taskCount
            else { return event }
            var event = event
            let tasks = Array(handed.part.job.tasks[taskCount..<found.tasks.upperBound])
            taskCount = found.tasks.upperBound
            event.kind = .expanded(Expansion(tasks: tasks, count: expansion.count))
            return event
        }
    }

    /// Returns the run's end once the journal has it, else `nil`.
    private func end() throws(ServiceTrouble) -> End? {
        do throws(StoreError) {
            guard let found = try journal.run(run), found.state == .finished, let end = found.end else { return nil }
            return .finished(end, trouble: try trouble())
        } catch {
            throw ServiceTrouble(error.description)
        }
    }

    private func trouble() throws(StoreError) -> String? {
        do throws(StoreError) {
            let note = try journal.inputs(of: run, kind: InputKind.trouble).first
            return note.map { String(decoding: $0.bytes, as: UTF8.self) }
        } catch {
            // The sealed key is the trouble itself: the run was given up because it cannot be unsealed.
            if error.kind == .sealedForEver { return error.description }
            // Another command delivered the end in between: the run's inputs were removed, the key to them first.
            guard try journal.run(run)?.deliveredAt != nil else { throw error }
            return nil
        }
    }

    // MARK: The process

    /// Waits for news, for the time that a consumer or, with `looks`, the next question has, or for `interrupt`.
    private func wait(until due: WallTime?, looks: Bool) throws(ServiceTrouble) {
        let link = try connected()
        var entries = [link.entry, wake.entry]
        if !link.hasNews {
            var patience = isOver ? Self.lastPatience : Self.patience
            if looks, !isOver {
                patience = min(patience, max(0, (nextLook - Clocks.instant()).nanoseconds / 1_000_000 + 1))
            }
            let left = due.map { ($0 - Clocks.wall()).nanoseconds / 1_000_000 + 1 } ?? patience
            Polling.wait(&entries, milliseconds: min(patience, max(0, left)))
        }
        if entries[1].isReady { wake.clear() }
        do throws(ServiceFailure) {
            while let news = try link.nextNews(within: .zero) {
                switch news {
                case .leaving: return drop()
                case .progress(let progress): placing?.receive(progress)
                case .events(identifier, _, let trouble): holdup = trouble
                case .events: break
                }
            }
        } catch {
            drop()
        }
    }

    /// Returns the tasks that are held back, as the process sees them now; `nil` if it was asked just before or does not
    /// answer, and after the last event.
    private func heldBack() throws(ServiceTrouble) -> HeldBack? {
        guard !isOver, Clocks.instant() >= nextLook else { return nil }
        nextLook = Clocks.instant() + lookPause
        lookPause = min(lookPause + lookPause, Self.longestLookPause)
        let link = try connected()
        guard let all = try? journal.run(run)?.accepted.identifiers else { return nil }
        var sessions: [SessionStatus] = []
        do throws(ServiceFailure) {
            for name in all {
                if case .status(let found) = try link.ask(.status(name)) { sessions += found }
            }
        } catch {
            if case .gone = error { drop() }
            return nil
        }
        return held.judge(sessions)
    }

    /// The sessions to follow: progress is announced per session, new events by every session of the run.
    private var followed: [String] {
        guard placing != nil, let all = try? journal.run(run)?.accepted.identifiers else { return [identifier] }
        return all
    }

    private func drop() {
        link = nil
        deaths += 1
    }

    /// Returns the connection to the process that carries the run, started if there is none. The process learns how far
    /// this follower has read.
    private func connected() throws(ServiceTrouble) -> ServiceLink {
        if let link { return link }
        while true {
            guard deaths < Self.maximumDeaths else {
                throw ServiceTrouble(
                    "the background process went away \(deaths) times in a row: see \(starter.place.log)")
            }
            let made = try starter.connect()
            do throws(ServiceFailure) {
                for name in followed { _ = try made.ask(.follow(name, after: last)) }
                // After that: a report that could not be written is the follower's by now.
                _ = try made.ask(.ring(identifier))
                link = made
                return made
            } catch {
                guard case .gone = error else {
                    throw ServiceTrouble("the background process does not answer: \(error)")
                }
                deaths += 1
            }
        }
    }
}

@available(*, unavailable)
extension Follower: Sendable {}
