import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
package import Stores
import SystemIO
package import TransferModel

/// The executor on libcurl. It takes the scheduler's commands, turns the loop, carries each attempt from moment to
/// moment, and hands reports up. What is decided lies in `AttemptLife`; whatever concerns one feature alone is a
/// participant's, and `Participants` lists those. Owned by the loop thread.
package final class Engine: AttemptMoments {
    let core: EngineCore
    let participants: Participants
    private let deliveries: Mailbox<DeliveryReport>
    let addedNames = AddedNames()

    package init(
        job: Job, origins: OriginTable, events: any EventSink, networks: NetworkState, _ start: EngineStart,
        memory place: MemoryPlace? = nil, now: Now, transport: EngineTransport? = nil
    ) throws(TransferError) {
        var objects = ObjectTransfers(place, run: start.run)
        let job = objects.placed(job)
        let groups = EngineGroup.all(of: job, memory: place)
        let transport = transport ?? .network(job, groups, addedNames, run: start.run, state: place?.folder)
        let loop = transport.loop
        let waker = loop.waker
        let deliveries = Mailbox<DeliveryReport>(wake: { waker.wake() })
        let output: OutputQueue?
        let delivery: any FileDeliverer
        do throws(SystemError) {
            output = try OutputQueue(job, deliveries)
            delivery = try transport.makeDelivery(deliveries)
        } catch {
            throw TransferError(.unknown, "a thread for files could not be started: \(error)")
        }
        let secrets = RunSecrets(job.secrets, unwritten: place?.secrets)
        let store = StoreClient(place, job, keeping: groups.map { $0.place.keeping != nil }, wake: { waker.wake() })
        let sessions = job.sessions.enumerated().map { number, configuration in
            let session = EngineSession(
                configuration, proxies: job.proxies, userAgent: start.userAgent, networks: networks, now: now.wall)
            session.state.bound = secrets.bound
            session.credentialNames = job.credentialNames
            session.cache = SessionCache(configuration.cache, on: store?.cachePlace(number))
            if store?.isEmpty == true { session.cache?.open(nil) }
            return session
        }
        core = EngineCore(
            job: job, origins: origins, groups: groups, sessions: sessions, secrets: secrets, loop: loop,
            delivery: delivery, store: store, events: events, now: now)
        participants = Participants(core, start, networks: networks, output: output, objects: objects)
        self.deliveries = deliveries
        core.join(self, participants)
        // Otherwise the store decides what stays. Without its answer, only files that are surely useless are deleted.
        if store?.isEmpty != false { core.outbox.add(.sweep(keeping: store == nil ? nil : [])) }
    }

    deinit { core.part() }

    // MARK: What the runner asks and tells of one concern

    /// Examines answers, and keeps what tasks captured.
    package var answers: AnswerExamination { participants.answers }
    /// Tells how far attempts are.
    package var announcements: Announcements { participants.announcements }
    /// Holds attempts back until the journal has recorded that they begin.
    package var beginnings: RecordedBeginnings { participants.beginnings }
    /// Plans and opens the bodies that are sent.
    package var bodies: RequestBodies { participants.bodies }
    /// Looks up checksums in lists.
    package var checksums: ChecksumLookups { participants.checksums }
    /// Chooses how requests connect, and hears of networks.
    package var connections: Connections { participants.connections }
    /// Asks files and helpers for credentials.
    package var credentials: Credentials { participants.credentials }
    /// Fetches the pages of tasks with `next`.
    package var pages: PageTurning { participants.pages }
    /// Keeps what lists of `forEach` are read from.
    package var rows: RowResults { participants.rows }
    /// Reads and keeps what sessions learn.
    package var sessionStates: SessionStates { participants.sessionStates }

    /// The clocks as read after the last wait.
    package var now: Now { core.now }
    /// Numbers of the origins; it grows when redirects and templates bring new ones.
    package var origins: OriginTable {
        get { core.origins }
        _modify { yield &core.origins }
    }
    /// Ends the engine's wait, from any thread.
    package var wake: @Sendable () -> Void { core.wake }
    /// Problems with credential files and helpers, as sentences for people; known after `close()`.
    package private(set) var credentialProblems: [String] = []

    /// Prepares the loop and libraries; to be called before the first attempt.
    package func open() throws(TransferError) {
        try core.loop.open()
        if core.origins.origins.contains(where: { $0.scheme == "https" }) { try CurlLibrary.prepare(for: .handshake) }
    }

    /// Ends the file threads and begins to end the store's; no attempt may be under way.
    package func close() {
        participants.runEnds()
        core.outbox.handOver()
        core.delivery.finish()
        for report in deliveries.takeAll() { participants.handleAfterEnd(report) }
        if let store = core.store { participants.handOver(to: store) }
        core.store?.close()
        credentialProblems = participants.filesClosed()
    }

    /// Returns the result of the task's ended attempt and forgets the attempt; `nil` where none has ended.
    package func takeResult(of task: TaskIndex) -> AttemptResult? {
        if let result = participants.filling.takeUnfilled(task) { return result }
        guard let result = core.attempts[Int(task.raw)]?.result else { return nil }
        core.attempts[Int(task.raw)] = nil
        return result
    }

    /// Latest time of the next turn, even if nothing arrives.
    package var nextDeadline: Instant {
        min(core.active.nextCheck, participants.nextDeadline, core.store?.due ?? .distantFuture)
    }

    /// Whether reports or orders are waiting, so that the next turn must not wait.
    package var isPending: Bool { !core.reports.isEmpty || !core.outbox.isEmpty }

    // MARK: From the scheduler

    /// Carries out a command of the scheduler.
    package func perform(_ command: ExecutorCommand, now: Now) {
        core.now = now
        switch command {
        case .start(let task, let number, let mirror): start(task, number, mirror)
        case .grant(let task, let origin): granted(task, origin)
        case .cancel(let task, _): cancel(task)
        case .discardPartial(let task): core.unwanted.insert(task)
        case .lend(let task, _): participants.segments.lent(task)
        case .recall(let task, _): participants.segments.slotIsWanted(task)
        case .credit(let task, let bytes): participants.connections.credit(task, bytes)
        case .publish(let group): participants.groupFiles.publish(core.groups[Int(group.raw)])
        case .giveUp(let group): core.outbox.add(.giveUpGroup(core.groups[Int(group.raw)].place))
        case .discard(let group): participants.groupFiles.discardGroup(core.groups[Int(group.raw)])
        }
    }

    private func start(_ task: TaskIndex, _ number: Int, _ mirror: Int) {
        guard let begun = participants.taskBegins(task, number, mirror) else { return }
        let partial = core.retryStates[task]?.takePartialFile(at: mirror)
        let attempt = makeAttempt(
            task, number, mirror, begun.specification, begun.url, partial: partial, startedAt: core.now)
        attempt.known.isFree = begun.isFree
        core.attempts[Int(task.raw)] = attempt
        let unready = participants.attemptBegins(attempt, begun.url)
        let problem = begun.problem ?? unready
        core.emit(
            .attemptStarted(AttemptStart(number: number, url: begun.url.text, bodyFiles: attempt.bodyFiles)), attempt)
        attempt.origin = slotOrigin(of: begun.url, attempt)
        if let problem { return fail(attempt, problem) }
        participants.lead(attempt)
    }

    /// Makes an attempt of the task, or the part of it that is about one page.
    func makeAttempt(
        _ task: TaskIndex, _ number: Int, _ mirror: Int, _ specification: TaskSpecification, _ url: ResourceURL,
        partial: RetryState.PartialFile?, startedAt: Now
    ) -> Attempt {
        let attempt = Attempt(
            task: task, number: number, mirror: mirror, specification: specification,
            session: core.sessions[Int(specification.session.raw)], url: url,
            staging: partial?.staging ?? participants.partials.newStaging(specification, task), resume: partial?.point,
            pages: participants.pages.present(of: task), rate: participants.connections.rate(specification),
            core: core, now: startedAt)
        attempt.known.brought = partial?.brought
        attempt.renewal.seen = participants.renewals.count
        attempt.preparation = participants.preparation(of: attempt)
        return attempt
    }

    /// Where the scheduler gave a slot with the start. It could not where the URL's host was not known yet: then what
    /// holds the place of a task without an origin gives that back, and asks like any further request.
    private func slotOrigin(of url: ResourceURL, _ attempt: Attempt) -> OriginID? {
        guard attempt.session.takesSlot(url) else { return nil }
        let origin = core.origins.id(of: url)
        let index = Int(attempt.task.raw)
        let planned = core.job.tasks[index].location(mirror: attempt.mirror).originURL
        guard planned.map({ !$0.hasSameOrigin(as: url) }) ?? core.job.tasks[index].options.values.awaitsCaptures else {
            return origin
        }
        core.reports.append(.released(attempt.task, origin))
        return nil
    }

    // MARK: Requests

    /// Asks for a slot for the next request. Each asks anew, at the same origin too: its rate counts requests.
    func requestSlot(_ attempt: Attempt, _ request: OutgoingRequest) {
        let origin = core.origins.id(of: request.url)
        core.releaseSlot(attempt)
        attempt.phase = .awaitingGrant(request)
        let isAlone = participants.connections.policy.standsAlone(request, origin)
        core.reports.append(.needsGrant(attempt.task, origin, isAlone: isAlone))
    }

    private func granted(_ task: TaskIndex, _ origin: OriginID) {
        let attempt = core.attempt(of: participants.renewals.performer(of: task))
        guard let attempt, case .awaitingGrant(let request) = attempt.phase else { return }
        attempt.origin = origin
        attempt.phase = .transferring
        if attempt.streams.segmented != nil {
            participants.segments.beginStream(attempt)
        } else {
            send(request, attempt)
        }
    }

    /// Completes the request and sends it, unless a participant has an answer or must wait.
    func send(_ request: OutgoingRequest, _ attempt: Attempt) {
        guard let complete = participants.compose(request, attempt) else { return }
        transmit(complete, attempt)
    }

    /// Starts the request in libcurl.
    func transmit(_ request: OutgoingRequest, _ attempt: Attempt) {
        do throws(TransferError) {
            guard let curl = try participants.connect(request, attempt) else { return }
            attempt.transport.transfer = try core.loop.start(curl, receiver: attempt)
        } catch {
            participants.connections.tellOfTrust(attempt, request.url)
            return fail(attempt, error)
        }
        core.active.add(attempt)
        var nextCheck = core.now.instant + attempt.transport.idleLimit
        _ = attempt.slowness(at: core.now.instant, nextCheck: &nextCheck)
        core.active.check(by: nextCheck)
    }

    /// Ends all streams of the attempt.
    func stopTransfer(_ attempt: Attempt) {
        participants.segments.endSegments(attempt)
        stopFirst(attempt)
    }

    /// Ends the stream of the attempt's ordinary request.
    func stopFirst(_ attempt: Attempt) {
        if let command = attempt.transport.command { participants.commands.stopCommand(command) }
        guard let transfer = attempt.transport.transfer else { return }
        if let metrics = core.loop.stop(transfer) {
            recordMetrics(metrics, attempt)
            participants.bodies.endBody(attempt, metrics)
        }
        forgetTransfer(attempt)
    }

    private func forgetTransfer(_ attempt: Attempt) {
        attempt.transport.transfer = nil
        core.active.remove(attempt)
    }

    // MARK: A turn of the loop

    /// Hands over pending orders, waits for an event, and returns reports to the scheduler.
    package func turn(wait: TimeSpan, clock: () -> Now) -> [ExecutorReport] {
        participants.segments.useLoans()
        handOver()
        let completions = core.loop.turn(wait: wait, others: participants.commands.entries)
        core.now = clock()
        participants.turnBegins()
        for attempt in core.active.news.takeAll() {
            participants.announcements.reportProgress(attempt)
            participants.partials.bytesCame(attempt)
        }
        for completion in completions { complete(completion) }
        if core.active.takeCheck(at: core.now.instant) { checkIdle() }
        for report in deliveries.takeAll() { participants.handle(report) }
        for report in core.store?.takeAll() ?? [] { participants.handle(report) }
        participants.turnEnds()
        handOver()
        defer { core.reports.removeAll(keepingCapacity: true) }
        return core.reports
    }

    private func handOver() {
        if core.active.isEmpty { participants.hurryFlushes() }
        core.outbox.handOver()
        if let store = core.store {
            participants.handOver(to: store)
            store.handOver(at: core.now.instant)
        }
    }

    /// Records a request's metrics, however it ended.
    private func recordMetrics(_ metrics: CurlMetrics, _ attempt: Attempt) {
        attempt.recordMetrics(metrics, participants.connections.networks)
        core.countConnections(metrics, attempt)
    }

    private func complete(_ completion: CurlCompletion) {
        if let segment = completion.receiver as? Segment {
            return participants.segments.segmentCompleted(segment, completion)
        }
        guard let attempt = completion.receiver as? Attempt, attempt.result == nil else { return }
        // It ended before it could be stopped for the sake of another stream.
        guard attempt.transport.transfer != nil else { return recordMetrics(completion.metrics, attempt) }
        participants.streamEnds(attempt, completion)
        recordMetrics(completion.metrics, attempt)
        forgetTransfer(attempt)
        attempt.exchange.lostAnswer = completion.lostAnswer
        let isOurs = attempt.exchange.endedByUs
        let error =
            attempt.exchange.bodyFailure
            ?? (isOurs ? nil : participants.connections.transportError(attempt, completion))
        if participants.streamEnded(attempt, completion, error) { return }
        ended(attempt, error, sawCloseNotify: completion.sawCloseNotify)
    }

    /// Fails transfers that moved no byte for their idle limit. The clock stops while a task waits for a slot.
    private func checkIdle() {
        var next = Instant.distantFuture
        for attempt in core.active.attempts.reversed() {
            guard attempt.streams.segmented == nil, let transfer = attempt.transport.transfer,
                let last = core.loop.lastActivity(of: transfer)
            else { continue }
            if let error = attempt.slowness(at: core.now.instant, nextCheck: &next) {
                stopTransfer(attempt)
                ended(attempt, error, sawCloseNotify: false)
                continue
            }
            // Paused by the runner for lack of bandwidth.
            if attempt.bandwidth.isPaused {
                next = min(next, core.now.instant + attempt.transport.idleLimit)
                continue
            }
            let due = core.dueWhenIdle(transfer, since: last, attempt.transport.idleLimit)
            guard due <= core.now.instant else {
                next = min(next, due)
                continue
            }
            let error = silence(transfer, attempt.transport.idleLimit)
            stopTransfer(attempt)
            ended(attempt, error, sawCloseNotify: false)
        }
        core.active.check(by: min(next, participants.segments.checkSegments()))
    }

    /// What is wrong with a transfer that stood still for too long.
    private func silence(_ transfer: TransferID, _ limit: TimeSpan) -> TransferError {
        let seconds = limit.seconds
        if core.loop.awaitsWord(transfer) {
            return TransferError(
                .timedOut, "the server did not say for \(seconds) s (`timeoutForRequest`) that it has all of the file")
        }
        if core.loop.hasInterimAnswerOnly(transfer) {
            return TransferError(
                .timedOut, "only interim answers (status 1xx) came in \(seconds) s (`timeoutForRequest`)")
        }
        return TransferError(.timedOut, "no byte moved for \(seconds) s (`timeoutForRequest`)")
    }

    // MARK: After a request

    /// The present request has ended: its participants and its life say what is next.
    func ended(_ attempt: Attempt, _ error: TransferError?, sawCloseNotify: Bool) {
        guard let step = participants.requestEnded(attempt, error, sawCloseNotify: sawCloseNotify) else { return }
        carryOut(step, attempt)
    }

    /// Carries out what comes after a request.
    func carryOut(_ step: NextStep, _ attempt: Attempt) {
        if participants.handles(step, attempt) { return }
        switch step {
        case .send(let request, let record):
            guard mayFollow(record, to: request.url, attempt) else { return }
            participants.partials.discardBody(attempt)
            requestSlot(attempt, request)
        case .deliver(let unverified, let record):
            if let record { participants.announcements.tellRedirect(record, attempt) }
            attempt.download.lengthUnverified = unverified
            participants.publication.deliver(attempt)
        case .fail(let error, let record):
            if let record { participants.announcements.tellRedirect(record, attempt) }
            fail(attempt, error)
        case .cancel(let error): cancelled(attempt, error)
        // Each of these is a participant's.
        case .keep, .isThere, .judged, .ask: break
        }
    }

    /// Tells the redirect that leads there, if one does, and whether it may be followed: the attempt's life knows why not.
    private func mayFollow(_ record: RedirectRecord?, to url: ResourceURL, _ attempt: Attempt) -> Bool {
        guard let record else { return true }
        guard let refusal = AttemptLife.refusal(ofRedirectTo: url, core.secrets.bound) else {
            participants.announcements.tellRedirect(record, attempt)
            return true
        }
        participants.announcements.tellRedirect(record.refused, attempt)
        fail(attempt, refusal)
        return false
    }

    // MARK: The end of an attempt

    /// Ends the attempt with what it fetched.
    func succeed(_ attempt: Attempt) {
        let exchange = attempt.exchange
        let source = exchange.head == nil ? ResultSource.local : attempt.life.offset > 0 ? .resumed : .network
        endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: exchange.source ?? source)
    }

    /// Ends the attempt with what stands there.
    func finishUnchanged(_ attempt: Attempt) {
        endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: .unchanged)
    }

    /// Fails the attempt; nothing of what came is of use.
    func lose(_ attempt: Attempt, _ miss: TransferError) {
        attempt.download.isLost = true
        fail(attempt, miss)
    }

    /// Ends the task's attempt, wherever it is.
    private func cancel(_ task: TaskIndex) {
        guard let attempt = core.attempt(of: task), !participants.outlivesCancelling(attempt) else { return }
        stopTransfer(attempt)
        cancelled(attempt)
    }

    /// Ends the attempt as called off by the scheduler.
    func cancelled(_ attempt: Attempt) {
        let outcome =
            participants.bodies.lostUpload(attempt).map { Verdict.Outcome.failed($0) }
            ?? .cancelled(TransferError(.cancelled, "the transfer was cancelled"))
        endAttempt(attempt, Verdict(outcome, status: attempt.life.lastStatus))
    }

    /// Ends the attempt as called off by a rule of the job.
    func cancelled(_ attempt: Attempt, _ error: TransferError) {
        var verdict = Verdict(.cancelled(error), status: attempt.life.lastStatus)
        verdict.isForNextRun = attempt.isForNextRun
        verdict.sentSomething = attempt.sending.sentSomething
        endAttempt(attempt, verdict)
    }

    /// Fails the attempt, unless a participant has another try.
    func fail(_ attempt: Attempt, _ error: TransferError) {
        if error.name == .cancelled { return cancelled(attempt, error) }
        guard let shown = participants.attemptFails(attempt, error) else { return }
        // A cached answer's `Retry-After` is out of date.
        let head = attempt.exchange.isFromCache ? nil : attempt.exchange.head ?? attempt.exchange.refusedTunnel
        let retryAfter = head.flatMap { RetryAfter.parse($0.headers, now: core.now.wall) }
        var verdict = Verdict(
            .failed(shown), status: attempt.life.lastStatus, retryAfter: retryAfter,
            sentSomething: attempt.sending.sentSomething, isIdempotent: attempt.life.mayBeRepeated)
        verdict.tookEffect = attempt.life.tookEffect
        verdict.lostNetwork = attempt.transport.lostNetwork
        participants.judge(&verdict, error, attempt)
        endAttempt(attempt, verdict)
    }

    /// Ends the attempt: its result is kept for the runner, its verdict goes to the scheduler.
    func endAttempt(_ attempt: Attempt, _ verdict: Verdict, source: ResultSource) {
        if participants.goesOn(attempt, verdict, source) { return }
        var verdict = core.redacted(verdict)
        verdict.lacksCredential = attempt.life.lacksCredential
        participants.attemptEnded(attempt, &verdict)
        attempt.result = participants.result(of: attempt, verdict, source)
        attempt.streams.segmented = nil
        core.reports.append(.ended(attempt.task, verdict))
    }

    /// Cleans up after a task; its partial file stays for the next run, or is deleted.
    package func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome) {
        core.ledger?.budget.release(task)
        participants.taskEnded(task, outcome)
    }
}
