import BackgroundService
import Glibc
import JobRunner
import Reporting
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Follows the background part of a job on a thread of its own, and passes ends that foreground tasks need to the run
/// here.
final class BackgroundWatch: Sendable {
    private enum Outcome: Sendable {
        case end(Follower.End)
        case failed(ServiceTrouble)
    }
    private let background: HandedPart
    private let failsFast: Bool
    private let wanted: Set<String>
    /// Ids of tasks there from which lists are read here.
    private let listed: Set<String>
    private let story: JoinedStory
    private let tellsProgress: Bool
    /// Whether the command does not wait (`--no-wait`).
    private let leavesWhatWaits: Bool
    /// Whether the part here has ended.
    private let isAlone = Atomic<Bool>(false)
    private let thread = WorkThread()
    private let heard = HeardSignal()
    private let wake = Mutex<(@Sendable () -> Void)?>(nil)
    private let outcome = Mutex<Outcome?>(nil)

    init(_ joined: JoinedRun, _ story: JoinedStory, tellsProgress: Bool) throws(SystemError) {
        background = joined.background
        failsFast = joined.failsFast
        wanted = Set(joined.foreground.outside.values.joined())
        let lists = joined.foreground.job.tasks.flatMap { $0.options.values.template?.lists ?? [] }
        listed = Set(lists.map(\.task))
        self.story = story
        self.tellsProgress = tellsProgress
        leavesWhatWaits = joined.carrier.options.noWait
    }

    func start(_ inbox: Mailbox<RunInput>) {
        do throws(SystemError) {
            try thread.start(named: "background") { [self] in work(inbox) }
        } catch {
            fail(ServiceTrouble(error.description), inbox)
        }
    }

    /// Stops following, as if signal `number` had come; `wait()` then returns that signal unless the part ended before.
    /// Callable from any thread.
    func end(_ number: Int32) {
        _ = heard.signalReceived(number)
        wake.withLock { $0 }?()
    }

    /// Stops following for a reason that is not reported. No event is told after this returns.
    func interrupt() {
        end(SIGTERM)
        thread.finish()
    }

    /// Waits for the end of the part there, after the part here has ended.
    func wait() throws(ServiceTrouble) -> Follower.End {
        isAlone.store(true, ordering: .releasing)
        wake.withLock { $0 }?()
        thread.finish()
        switch outcome.withLock({ $0 }) {
        case .end(let end): return end
        case .failed(let trouble): throw trouble
        case nil: throw ServiceTrouble("nobody followed the background tasks")
        }
    }

    private func fail(_ trouble: ServiceTrouble, _ inbox: Mailbox<RunInput>) {
        outcome.withLock { $0 = .failed(trouble) }
        story.hearsNoMore(of: .background)
        // The ends that tasks here need will never be known, so these tasks fail. Other tasks continue.
        for id in wanted { inbox.post(.outside(OutsideEnd(id: id, succeeded: false))) }
        tellTheRest()
    }

    private func work(_ inbox: Mailbox<RunInput>) {
        do throws(ServiceTrouble) {
            let follower = try Follower(background)
            if tellsProgress { follower.wantsProgress(of: background.job) }
            wake.withLock { $0 = follower.interrupt }
            var ids = background.job.tasks.map(\.id)
            var told: Set<String> = []
            var holdup = Holdup(background.identifier)
            var hasEnded = false
            let look = { [self] (held: HeldBack) -> Bool in
                putOff(held, &told, inbox)
                return held.isEverything && isAlone.load(ordering: .acquiring)
            }
            let end = try follower.follow(
                signal: { [self] in
                    story.tellWhatIsDue()
                    return heard.number
                },
                hear: {
                    let words = holdup.words($0, hasEnded: hasEnded)
                    if !words.isEmpty { LiveTerminal.standardError.print(words) }
                },
                due: { [self] in story.nextTick }, tick: { [self] now in story.tick(now) },
                look: leavesWhatWaits ? look : nil,
                take: { [self] events in
                    for event in events {
                        hasEnded = if case .runFinished = event.kind { true } else { false }
                        if case .expanded(let expansion) = event.kind { ids += expansion.tasks.map(\.id) }
                        release(event, ids, follower, inbox)
                    }
                    story.add(events, from: .background)
                })
            outcome.withLock { $0 = .end(end) }
            tellTheRest()
        } catch {
            fail(error, inbox)
        }
    }

    /// Puts off the tasks here that need a task which is held back there, each once.
    private func putOff(_ held: HeldBack, _ known: inout Set<String>, _ inbox: Mailbox<RunInput>) {
        let reason = held.tasks.lazy.compactMap { $0.waitingFor?.deferral }.first
        for task in held.tasks where wanted.contains(task.id) && known.insert(task.id).inserted {
            let deferral = task.waitingFor?.deferral ?? reason
            inbox.post(.outside(OutsideEnd(id: task.id, succeeded: false, deferral: deferral)))
        }
    }

    /// Tells the events still held back: the last ones may have to come after events here. No later call would tell
    /// them.
    private func tellTheRest() {
        while !thread.isEnding, story.tellWhatIsDue() { Polling.sleep(milliseconds: 20) }
    }

    /// Passes the end of a background task to the run here, if tasks here need it or it fails the run. `ids` are the
    /// ids of the background part's tasks.
    private func release(_ event: Event, _ ids: [String], _ follower: Follower, _ inbox: Mailbox<RunInput>) {
        guard case .taskFinished(let record) = event.kind, let number = event.task, Int(number.raw) < ids.count
        else { return }
        // A cancelled, skipped or postponed task is no failure.
        let hasFailed = failsFast && record.outcome == .failed && !record.tolerated
        let id = ids[Int(number.raw)]
        guard wanted.contains(id) || hasFailed else { return }
        inbox.post(
            .outside(
                OutsideEnd(
                    id: id, succeeded: record.outcome == .succeeded || record.tolerated, hasFailed: hasFailed,
                    deferral: record.deferral,
                    captures: record.captures.isEmpty && !listed.contains(id) ? [] : follower.captures(of: id))))
    }
}
