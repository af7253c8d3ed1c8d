import BackgroundService
import Glibc
import JobRunner
import Reporting
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Follows the background part on a thread of its own, and tells this process's part what it waits for.
final class BackgroundWatch: Sendable {
    private enum Outcome: Sendable {
        case end(Follower.End)
        case failed(ServiceTrouble)
    }
    private let background: HandedPart
    private let failsFast: Bool
    private let wanted: Set<String>
    private let story: JoinedStory
    private let tellsProgress: Bool
    private let thread = WorkThread()
    private let heard = HeardSignal()
    private let wake = Mutex<(@Sendable () -> Void)?>(nil)
    private let outcome = Mutex<Outcome?>(nil)

    init(_ joined: JoinedRun, _ story: JoinedStory, tellsProgress: Bool) throws(SystemError) {
        background = joined.background
        failsFast = joined.failsFast
        wanted = Set(joined.foreground.outside.values.joined())
        self.story = story
        self.tellsProgress = tellsProgress
    }

    func begin(_ inbox: Mailbox<RunInput>) {
        do throws(SystemError) {
            try thread.start(named: "background") { [self] in work(inbox) }
        } catch {
            fail(ServiceTrouble(error.description), inbox)
        }
    }

    /// It follows no longer, as if a signal had come; from any thread. Its end says which, if it had not come before.
    func end(_ number: Int32) {
        _ = heard.note(number)
        wake.withLock { $0 }?()
    }

    /// The same, and nobody asks which it was. When this returns nothing more is told.
    func interrupt() {
        end(SIGTERM)
        thread.finish()
    }

    func wait() throws(ServiceTrouble) -> Follower.End {
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
        // Nobody would ever tell what tasks here wait for. The others go on.
        for id in wanted { inbox.post(.outside(OutsideEnd(id: id, succeeded: false))) }
        tellTheRest()
    }

    private func work(_ inbox: Mailbox<RunInput>) {
        do throws(ServiceTrouble) {
            let follower = try Follower(background)
            if tellsProgress { follower.wantsProgress(of: background.job) }
            wake.withLock { $0 = follower.interrupt }
            var ids = background.job.tasks.map(\.id)
            let end = try follower.follow(
                signal: { [self] in
                    story.tellWhatIsDue()
                    return heard.number
                },
                hear: { [self] in
                    let words = FollowedRun.heldUp(background.identifier, $0)
                    LiveTerminal.standardError.print(words)
                },
                due: { [self] in story.nextTick }, tick: { [self] now in story.tick(now) },
                take: { [self] events in
                    for event in events {
                        if case .expanded(let expansion) = event.kind { ids += expansion.tasks.map(\.id) }
                        release(event, ids, follower, inbox)
                    }
                    story.take(events, from: .background)
                })
            outcome.withLock { $0 = .end(end) }
            tellTheRest()
        } catch {
            fail(error, inbox)
        }
    }

    /// What came last from there may have to stand behind something that happens here just now. Nobody looks after it later.
    private func tellTheRest() {
        while !thread.isEnding, story.tellWhatIsDue() { Polling.sleep(milliseconds: 20) }
    }

    /// `ids` are those of the background part's tasks.
    private func release(_ event: Event, _ ids: [String], _ follower: Follower, _ inbox: Mailbox<RunInput>) {
        guard case .taskFinished(let record) = event.kind, let number = event.task, Int(number.raw) < ids.count
        else { return }
        // What was cancelled, skipped or put off is no failure.
        let hasFailed = failsFast && record.outcome == .failed && !record.tolerated
        let id = ids[Int(number.raw)]
        guard wanted.contains(id) || hasFailed else { return }
        inbox.post(
            .outside(
                OutsideEnd(
                    id: id, succeeded: record.outcome == .succeeded || record.tolerated, hasFailed: hasFailed,
                    deferral: record.deferral,
                    captures: record.captures.isEmpty ? [] : follower.captures(of: id))))
    }
}
