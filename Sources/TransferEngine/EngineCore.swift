import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// What an engine and the participants of its attempts share. Owned by the loop thread.
final class EngineCore {
    /// Performs the requests. The first property, since it goes first: the connections in the sessions' pools can be closed
    /// once no handle of the loop shares them.
    let loop: any TransferLoop
    /// The job; destinations that are symlinks are replaced by their targets as their tasks begin.
    var job: Job
    /// Numbers of the origins; it grows when redirects and templates bring new ones.
    var origins: OriginTable
    /// The groups with their members, by number.
    var groups: [EngineGroup]
    /// The sessions by number.
    let sessions: [EngineSession]
    /// The secrets that the run knows.
    var secrets: RunSecrets
    /// Values captured by tasks that succeeded.
    var captured = CapturedValues()
    /// The threads that write files.
    let delivery: any FileDeliverer
    /// The orders that they get after this turn.
    let outbox: Outbox
    /// The store's client; `nil` when no session of this run is stored.
    let store: StoreClient?
    /// Where events go.
    let events: any EventSink
    /// What the scheduler is told after this turn.
    var reports: [ExecutorReport] = []
    /// The clocks as read after the last wait: one reading for a whole turn.
    var now: Now
    /// The run's `limits.maximumBytes`; `nil` without one.
    let ledger: ByteLedger?

    /// Attempts by task; one that ended stays until its result was taken.
    var attempts: [Attempt?]
    /// The attempts whose request is under way.
    var active = ActiveTransfers()
    /// What ended attempts leave to the next ones of their tasks.
    var retryStates: [TaskIndex: RetryState] = [:]
    /// Tasks that were cancelled without keeping their partial files.
    var unwanted: Set<TaskIndex> = []

    /// Brings about the moments of an attempt.
    private(set) unowned var engine: (any AttemptMoments)!
    /// Who takes part in them. They hold this object, so the engine parts it from them at its end.
    private(set) var participants: Participants!

    init(
        job: Job, origins: OriginTable, groups: [EngineGroup], sessions: [EngineSession], secrets: RunSecrets,
        loop: any TransferLoop, delivery: any FileDeliverer, store: StoreClient?, events: any EventSink, now: Now
    ) {
        self.job = job
        self.origins = origins
        self.groups = groups
        self.sessions = sessions
        self.secrets = secrets
        self.loop = loop
        self.delivery = delivery
        outbox = Outbox(delivery)
        self.store = store
        self.events = events
        self.now = now
        ledger = job.limits.maximumBytes.map { ByteLedger(ByteBudget(most: $0, by: job.byteRule)) }
        attempts = Array(repeating: nil, count: job.tasks.count)
        captured.ends = RunEnds(of: job.tasks)
    }

    /// Joins the engine with its participants, before the first attempt.
    func join(_ engine: any AttemptMoments, _ participants: Participants) {
        self.engine = engine
        self.participants = participants
    }

    /// Parts them again: nobody holds them any more.
    func part() { (participants, attempts) = (nil, []) }

    /// Ends the engine's wait, from any thread.
    var wake: @Sendable () -> Void {
        let waker = loop.waker
        return { waker.wake() }
    }

    /// The task's attempt while it is under way.
    func attempt(of task: TaskIndex) -> Attempt? {
        guard let attempt = attempts[Int(task.raw)], attempt.result == nil else { return nil }
        return attempt
    }

    /// Counts the connections that a request opened and used again.
    func countConnections(_ metrics: CurlMetrics, _ attempt: Attempt) {
        attempt.session.connections.opened += metrics.openedConnections
        attempt.session.connections.reused += metrics.lostRequests.count + (metrics.isReused ? 1 : 0)
    }

    /// Gives the slot back that the attempt holds.
    func releaseSlot(_ attempt: Attempt) {
        guard let origin = attempt.origin else { return }
        attempt.origin = nil
        reports.append(.released(attempt.task, origin))
    }

    /// What the job calls a secret is one, however short.
    func learnSecrets(_ found: [KnownSecret]) {
        let news = secrets.learnCaptured(found)
        guard !news.isEmpty else { return }
        events.learn(news)
        for session in sessions { session.state.bound = secrets.bound }
        store?.captured(news)
    }

    /// Emits an event of the attempt; holds it back where a secret may still come to light.
    func emit(_ kind: Event.Kind, _ attempt: Attempt) {
        // The task has ended, and is run again for others.
        if participants.renewals.underWay.isRenewing(attempt.task) { return }
        guard var held = attempt.inspection.heldEvents else {
            return events.append(kind, task: attempt.task, session: attempt.specification.session)
        }
        // Of several progress events in a row the last one is enough.
        if case .receivedData = kind, case .receivedData? = held.last { held.removeLast() }
        attempt.inspection.heldEvents = held + [kind]
    }

    /// Returns the text without secrets, also where a cut quotes only a part of one.
    func redacted(_ text: String) -> String { ForeignText.told(text) { events.hiding.redacted($0) } }

    /// Returns the verdict with secrets taken out of its error's message.
    func redacted(_ verdict: Verdict) -> Verdict {
        var verdict = verdict
        switch verdict.outcome {
        case .succeeded: break
        case .failed(var error):
            error.message = redacted(error.message)
            verdict.outcome = .failed(error)
        case .cancelled(var error):
            error.message = redacted(error.message)
            verdict.outcome = .cancelled(error)
        }
        return verdict
    }

    // MARK: Secrets that came up in the run

    /// Adds a password to what is redacted.
    func learnPassword(_ password: String) {
        if let secret = secrets.learnPassword(password) { events.learn([secret]) }
    }

    /// When a transfer will have stood still for too long. What libcurl has not told of yet counts, and is looked up only
    /// where it would be too late.
    func dueWhenIdle(_ transfer: TransferID?, since told: Instant, _ limit: TimeSpan) -> Instant {
        guard told + limit <= now.instant, let transfer, let arrival = loop.lastArrival(of: transfer) else {
            return told + limit
        }
        return RateFloor.silenceDue(activity: told, arrival: arrival, timeout: limit)
    }

    /// What the job says of a file that is held against an earlier run (`--locked`); `nil` where it says nothing.
    func heldTask(_ attempt: Attempt, _ url: ResourceURL) -> HeldTask? {
        guard let held = job.held else { return nil }
        let specification = attempt.specification
        return HeldTask(
            held, id: specification.id, url: url, isOneOfSeveral: specification.options.values.mirrors.count > 1,
            redactor: secrets.ofTheLog())
    }
}
