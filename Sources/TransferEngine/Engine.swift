import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
package import Stores
import SystemIO
package import TransferModel

/// Where an engine's events go: they are numbered and dated by who keeps the log.
package protocol EventSink: AnyObject {
    func append(_ kind: Event.Kind, task: TaskIndex, session: SessionIndex)
    /// Secrets that came to be known in the run: from now on no event tells them.
    func learn(_ secrets: [KnownSecret])
    /// What no event tells: for what is to be cut short, which must not cut a secret in two.
    var hiding: Redactor { get }
}

/// What remains of an attempt once it ended: the runner makes the attempt's event and the task's end of it.
package struct AttemptResult: Sendable {
    package var number: Int
    package var url: String
    package var startedAt: Now
    package var endedAt: Instant
    package var transactions: [TransactionMetrics]
    package var body: [UInt8]?
    package var file: FileRecord?
    package var source: ResultSource
    package var lengthUnverified: Bool
    package var error: TransferError?
    /// Time at the end in which only the batch flush was waited for.
    package var flushWait: TimeSpan
    /// Time in which it stood still for want of bandwidth.
    package var bandwidthWait: TimeSpan
    /// Time in which somebody was asked who to be.
    package var credentialWait: TimeSpan
    /// The offset at which its body began, and why it was not that of what was there.
    package var resumedFrom: Int64
    package var startedOver: String?
    /// Whether the answer was kept for another request.
    package var cache: CacheRecord?
    /// What it took from its answer.
    package var captures: [CapturedValue]
    package var parts: [AnswerPart]
}

/// The executor on libcurl: performs what the scheduler says and what `AttemptLife` decides. It decides nothing
/// itself. Everything here belongs to the loop's thread.
package final class Engine {
    /// Destinations that are symlinks are replaced by what they lead to as their tasks begin.
    var job: Job
    let loop: any TransferLoop
    let sessions: [EngineSession]
    let events: any EventSink
    let delivery: any FileDeliverer
    let deliveries: Mailbox<DeliveryReport>
    let outbox: Outbox
    /// `nil` when nothing of this run's sessions is kept for the next.
    let memory: StoreClient?
    package let networks = NetworkDesk()
    let news = News()
    package var origins: OriginTable
    var reports: [ExecutorReport] = []
    /// By task; one that ended stays until its result was taken.
    var attempts: [Attempt?]
    var active = ActiveTransfers()
    var segmented = SegmentedDownloads()
    var policy: ConnectionPolicy
    /// By task, while its attempts have left something.
    var carryovers: [TaskIndex: Carryover] = [:]
    /// What is to be remembered of half-done files, without how far they are.
    var partLabels: [StagingID: ResumeRecord] = [:]
    var secrets: RunSecrets
    /// What tasks that succeeded captured.
    var captured = CaptureBook()
    /// Of attempts that could not begin because such a value does not fit.
    var unfilled: [TaskIndex: AttemptResult] = [:]
    /// Tasks that were cancelled for good.
    package var unwanted: Set<TaskIndex> = []
    var bodies = PlannedBodies()
    let ledger: ByteLedger?
    /// Looks up credentials in files and by helpers; made when the first one is needed.
    var credentialLookup: CredentialLookup?
    /// What went wrong with those files and helpers: sentences for people, once the engine is closed.
    package private(set) var credentialProblems: [String] = []
    var commands = CommandTransfers()
    var foresight: Foresight
    /// Attempts that wait until what their session learned earlier was read.
    var awaitingSessions: [TaskIndex] = []
    package var beginnings = RecordedBeginnings()
    package var untold = UntoldFiles()
    /// When progress is to be told that came too soon after the last.
    var progressDue = Instant.distantFuture
    var stagingCount: UInt32 = 0
    /// `nil` where no task writes to standard output.
    let output: OutputQueue?
    var lastType: (text: String, type: MediaType?) = ("", nil)
    /// The groups with their members, by number.
    var groups: [EngineGroup]
    let addedNames = AddedNames()
    /// Whose file a path is, from the first file on that a server names.
    var claims: PathClaims?
    /// Of tasks whose `checksum` says where it stands.
    var checksumFiles: ChecksumFiles
    /// Files published since the delivery threads were last told not to wait for more.
    var unhurriedFlushes = 0
    /// The clocks as read after the last wait, once for all that a turn does.
    package private(set) var now: Now

    /// Ends the engine's wait, from any thread.
    package var wake: @Sendable () -> Void {
        let waker = loop.waker
        return { waker.wake() }
    }

    package init(
        job: Job, origins: OriginTable, events: any EventSink, userAgent: String, run: String,
        memory place: MemoryPlace? = nil, now: Now, transport: EngineTransport? = nil
    ) throws(TransferError) {
        self.job = job
        self.origins = origins
        self.events = events
        self.now = now
        secrets = RunSecrets(job.secrets, unwritten: place?.secrets)
        attempts = Array(repeating: nil, count: job.tasks.count)
        foresight = Foresight(job.tasks.count)
        ledger = job.limits.maximumBytes.map { ByteLedger(ByteBudget(most: $0)) }
        groups = EngineGroup.all(of: job, memory: place)
        let transport = transport ?? .network(job, groups, addedNames, run: run, state: place?.folder)
        loop = transport.loop
        var sessions: [EngineSession] = []
        for configuration in job.sessions {
            let session = EngineSession(
                configuration, proxies: job.proxies, userAgent: userAgent, networks: networks, now: now.wall)
            session.lore.bound = secrets.bound
            sessions.append(session)
        }
        self.sessions = sessions
        policy = ConnectionPolicy(job)
        checksumFiles = ChecksumFiles(job)
        let waker = loop.waker
        deliveries = Mailbox(wake: { waker.wake() })
        memory = StoreClient(place, job, keeping: groups.map { $0.place.keeping != nil }, wake: { waker.wake() })
        for (number, session) in sessions.enumerated() {
            session.cache = SessionCache(session.configuration.cache, on: memory?.cachePlace(number))
            if memory?.isEmpty == true { session.cache?.open(nil) }
        }
        do throws(SystemError) {
            output = try OutputQueue(job, deliveries)
            delivery = try transport.makeDelivery(deliveries, memory != nil)
        } catch {
            throw TransferError(.unknown, "a thread for files could not be started: \(error)")
        }
        outbox = Outbox(delivery)
        // Otherwise the store says what is to stay. Where nobody can say, only what is surely of no use goes.
        if memory?.isEmpty != false { outbox.add(.sweep(keeping: memory == nil ? nil : [])) }
    }

    /// Before the first attempt.
    package func open() throws(TransferError) {
        try loop.open()
        if origins.origins.contains(where: { $0.scheme == "https" }) { try CurlLibrary.prepare(for: .handshake) }
    }

    /// Ends the threads of files and begins to end that of the store; nothing may be under way.
    package func close() {
        endCommands()
        output?.close()
        bodies.streams?.close()
        outbox.handOver()
        delivery.finish()
        for report in deliveries.takeAll() {
            if case .part(let staging, let task, let part) = report { noted(staging, task, part) }
            tellPlaced(report)
        }
        if let memory {
            keepLore(memory)
            handOverCacheOrders(memory)
        }
        memory?.close()
        credentialProblems = credentialLookup?.finish() ?? []
    }

    /// Connections a session opened, and requests that found one open.
    package func connections(of session: SessionIndex) -> (opened: Int, reused: Int) {
        let session = sessions[Int(session.raw)]
        return (session.connectionsOpened, session.connectionsReused)
    }

    /// Something is to be told or handed over already: the next turn must not wait.
    package var isPending: Bool { !reports.isEmpty || !outbox.isEmpty }

    package func takeResult(of task: TaskIndex) -> AttemptResult? {
        if !unfilled.isEmpty, let result = unfilled.removeValue(forKey: task) { return result }
        guard let result = attempts[Int(task.raw)]?.result else { return nil }
        attempts[Int(task.raw)] = nil
        return result
    }

    /// The task's attempt while it is under way.
    func attempt(of task: TaskIndex) -> Attempt? {
        guard let attempt = attempts[Int(task.raw)], attempt.result == nil else { return nil }
        return attempt
    }

    /// Over all sessions the origin may have only so many connections: with several sessions, an idle one of each would
    /// be one too many.
    package func limitConnections(to origin: OriginID, _ most: Int) {
        if sessions.count > 1 { policy.dropConnections(to: origin) }
        for session in sessions { session.pools.limits.narrow(origins[origin], to: most) }
    }

    /// When the engine must be given a turn although nothing arrived.
    package var nextDeadline: Instant {
        let due = min(active.nextCheck, progressDue, memory?.due ?? .distantFuture)
        return commands.isEmpty ? due : min(due, commands.nextDeadline(at: now.instant))
    }

    // MARK: From the scheduler

    package func perform(_ command: ExecutorCommand, now: Now) {
        self.now = now
        switch command {
        case .start(let task, let number, let mirror): start(task, number, mirror)
        case .grant(let task, let origin): granted(task, origin)
        case .cancel(let task, _): cancel(task)
        case .lend(let task, _): lent(task)
        case .recall(let task, _): slotIsWanted(task)
        case .credit(let task, let bytes): credit(task, bytes)
        case .publish(let group): publish(groups[Int(group.raw)])
        case .giveUp(let group): outbox.add(.giveUpGroup(groups[Int(group.raw)].place))
        case .discard(let group): discard(groups[Int(group.raw)])
        }
    }

    private func start(_ task: TaskIndex, _ number: Int, _ mirror: Int) {
        let unfit = followLink(task)
        guard let specification = filled(task, number, mirror), let url = specification.location(mirror: mirror).url
        else {
            return
        }
        let partial = carryovers[task]?.takePartialFile(at: mirror)
        let attempt = Attempt(
            task: task, number: number, mirror: mirror, specification: specification,
            session: sessions[Int(specification.session.raw)], url: url,
            staging: partial?.staging ?? newStaging(specification, task), resume: partial?.point,
            rate: policy.isMetered ? rate(specification) : nil, news: news, outbox: outbox, pool: delivery.pool,
            loop: loop, now: now)
        if let carryover = carryovers[task] {
            attempt.streams.isDisabled = carryover.takesOneStream
            if let rejected = carryover.rejectedCredentials { attempt.life.recall(rejected) }
            carryovers[task]?.rejectedCredentials = nil
        }
        attempts[Int(task.raw)] = attempt
        attempt.ledger = ledger
        learnPasswords(attempt, url)
        let closed = job.tasks[Int(task.raw)].toStandardOutput ? output?.problem : nil
        let problem = unfit ?? closed ?? planBody(attempt)
        emit(.attemptStarted(AttemptStart(number: number, url: url.text, bodyFiles: attempt.bodyFiles)), attempt)
        attempt.origin = slotOrigin(of: url, attempt)
        if let problem { return fail(attempt, problem) }
        prepare(attempt)
    }

    // MARK: Requests

    private func granted(_ task: TaskIndex, _ origin: OriginID) {
        guard let attempt = attempt(of: task), case .awaitingGrant(let request) = attempt.phase else { return }
        attempt.origin = origin
        attempt.phase = .transferring
        if let parts = attempt.streams.segmented {
            begin(attempt, parts)
        } else {
            send(request, attempt)
        }
    }

    func send(_ request: OutgoingRequest, _ attempt: Attempt) {
        attempt.life.proxy = attempt.session.pools.askingProxy(for: request.url)
        if attempt.life.mayAuthorize, request.url.isHTTP || attempt.life.proxy != nil,
            let query = attempt.life.authorize(by: &attempt.session.lore)
        {
            return ask(query, attempt)
        }
        if attempt.life.needsBodyDigest(request), digestsBody(request, attempt) { return }
        attempt.beginRequest(at: now)
        var request = request
        if let dressed = attempt.life.withSessionHeaders(request, from: &attempt.session.lore, at: now.wall) {
            (request.headers, request.hasSessionHeaders) = (dressed, true)
        }
        request = attempt.life.withoutConditions(request, proof: proof(of: request, attempt), at: now.wall)
        if !asksCache(request, attempt) { transmit(request, attempt) }
    }

    /// The cache has no answer to it.
    func transmit(_ asked: OutgoingRequest, _ attempt: Attempt) {
        let request = questioned(asked, attempt)
        attempt.exchange.sentMethod = request.method
        if !request.url.needsConnection { return startCommand(request, attempt) }
        do throws(TransferError) {
            var curl = try curlRequest(request, attempt)
            curl.ftp = try access(request, attempt)
            // What every first request of a session says is put together once.
            let isPlain =
                !request.hasSessionHeaders && !attempt.life.asksWhetherNeeded && attempt.transactions.isEmpty
                && !attempt.isLookingUp && attempt.life.resume == nil
                && !request.isConditional && curl.login == nil && curl.proxyLogin == nil && curl.ftp == nil
            curl.headers = isPlain ? attempt.headerLines : EngineSession.lines(request.headers)
            if curl.ftp != nil { curl.headers = [] }
            curl.needsFreshConnection = !HTTPMethod.isIdempotent(request.method)
            attempt.sending.body = nil
            if request.sendsBody { try openBody(request, attempt, &curl) }
            attempt.transport.transfer = try loop.start(curl, receiver: attempt)
        } catch {
            tellOfTrust(attempt, request.url)
            return fail(attempt, error)
        }
        active.add(attempt)
        var nextCheck = now.instant + attempt.transport.idleLimit
        _ = attempt.slowness(at: now.instant, nextLook: &nextCheck)
        active.check(by: nextCheck)
    }

    /// What all requests of the attempt have in common; the headers are left out.
    func curlRequest(_ request: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> CurlRequest {
        let pool = try attempt.session.pools.pool(
            for: request.url, attempt.specification.options.values.policies.challenges, attempt.terms,
            isApart: policy.isApart(request, attempt.origin))
        var curl = CurlRequest(url: attempt.life.wireURL(request), method: request.method, pool: pool)
        curl.version = request.mayUseHTTP2 && request.url.isSecure ? .http2OverTLS : .http1
        curl.connectTimeout = attempt.session.configuration.connectTimeout
        curl.receiveBuffer = policy.receiveBuffer(at: attempt.bandwidth.rate)
        curl.keepsConnection = policy.keepsConnection(to: attempt.origin)
        if attempt.life.mayAuthorize { show(request, &curl, attempt) }
        return curl
    }

    /// Ends whatever streams the attempt has.
    func stopTransfer(_ attempt: Attempt) {
        if attempt.streams.segmented != nil { endSegments(attempt) }
        stopFirst(attempt)
    }

    func stopFirst(_ attempt: Attempt) {
        if let command = attempt.transport.command { leave(command) }
        guard let transfer = attempt.transport.transfer else { return }
        if let metrics = loop.stop(transfer) {
            note(metrics, attempt)
            endBody(attempt, metrics)
        }
        forgetTransfer(attempt)
    }

    private func forgetTransfer(_ attempt: Attempt) {
        attempt.transport.transfer = nil
        active.remove(attempt)
    }

    // MARK: A turn of the loop

    /// Hands over what was ordered, waits for something to happen, and says what did.
    package func turn(wait: TimeSpan, clock: () -> Now) -> [ExecutorReport] {
        useLoans()
        handOver()
        let completions = loop.turn(wait: wait, others: commands.isEmpty ? [] : commands.entries)
        now = clock()
        // First: what is told after this ends the next wait, and what was told before it is moved now.
        if bodies.streams != nil { resumeStreams() }
        if !commands.isEmpty { moveCommands() }
        for attempt in news.takeAll() { reportProgress(attempt) }
        for completion in completions { complete(completion) }
        if active.takeCheck(at: now.instant) { checkIdle() }
        if progressDue <= now.instant { tellLateProgress() }
        for report in deliveries.takeAll() { delivered(report) }
        for report in memory?.takeAll() ?? [] { take(report) }
        for answer in credentialLookup?.takeAll() ?? [] { answered(answer) }
        handOver()
        defer { reports.removeAll(keepingCapacity: true) }
        return reports
    }

    private func handOver() {
        // When nothing moves any more and only a flush is waited for, let it come at once.
        if active.isEmpty, segmented.isEmpty, !commands.areRunning, unhurriedFlushes > 0 {
            unhurriedFlushes = 0
            outbox.add(.hurry)
        }
        outbox.handOver()
        if let memory {
            keepLore(memory)
            handOverCacheOrders(memory)
            memory.handOver(at: now.instant)
        }
    }

    /// What a request cost is told however it ended.
    private func note(_ metrics: CurlMetrics, _ attempt: Attempt) {
        attempt.note(metrics, networks)
        count(metrics, attempt)
    }

    func count(_ metrics: CurlMetrics, _ attempt: Attempt) {
        attempt.session.connectionsOpened += metrics.openedConnections
        attempt.session.connectionsReused += metrics.lostRequests.count + (metrics.isReused ? 1 : 0)
    }

    private func complete(_ completion: CurlCompletion) {
        if let segment = completion.receiver as? Segment { return complete(segment, completion) }
        guard let attempt = completion.receiver as? Attempt, attempt.result == nil else { return }
        // It was over before it could be stopped for the sake of another stream.
        guard attempt.transport.transfer != nil else { return note(completion.metrics, attempt) }
        endBody(attempt, completion.metrics)
        if completion.isLonger { attempt.cannotGoOn() }
        if completion.isRefused { reports.append(.heard(attempt.task)) }
        if attempt.exchange.hasNewHead { announce(attempt) }
        if attempt.exchange.mixed != nil { tellParts(attempt) }
        if attempt.exchange.received > 0 { emitProgress(attempt) }
        note(completion.metrics, attempt)
        forgetTransfer(attempt)
        attempt.exchange.lostAnswer = completion.lostAnswer
        if completion.wasAskedForCertificate, attempt.exchange.head == nil { tellOfCertificate(attempt) }
        let error =
            attempt.exchange.bodyFailure ?? (attempt.exchange.endedByUs ? nil : transportError(attempt, completion))
        if let parts = attempt.streams.segmented { return firstStreamEnded(attempt, parts, error) }
        if let head = completion.proxyHead {
            if answersProxy(attempt, completion, error) { return }
            if !(200..<300).contains(head.status) { attempt.exchange.refusedTunnel = head }
        }
        ended(attempt, error, sawCloseNotify: completion.sawCloseNotify)
    }

    /// Fails what moved no byte for as long as it may. The clock stands while a task waits for a slot.
    private func checkIdle() {
        var next = Instant.distantFuture
        for attempt in active.attempts.reversed() {
            guard attempt.streams.segmented == nil, let transfer = attempt.transport.transfer,
                let last = loop.lastActivity(of: transfer)
            else { continue }
            if let error = attempt.slowness(at: now.instant, nextLook: &next) {
                stopTransfer(attempt)
                ended(attempt, error, sawCloseNotify: false)
                continue
            }
            // That it stands still is our doing.
            if attempt.bandwidth.isPaused {
                next = min(next, now.instant + attempt.transport.idleLimit)
                continue
            }
            let due = dueWhenIdle(transfer, since: last, attempt.transport.idleLimit)
            guard due <= now.instant else {
                next = min(next, due)
                continue
            }
            let error = silence(transfer, attempt.transport.idleLimit)
            stopTransfer(attempt)
            ended(attempt, error, sawCloseNotify: false)
        }
        if !segmented.isEmpty { next = min(next, checkSegments()) }
        active.check(by: next)
    }

    // MARK: After a request

    func ended(_ attempt: Attempt, _ error: TransferError?, sawCloseNotify: Bool) {
        if attempt.caching.turn != nil, endedForCache(attempt, error) { return }
        let concernsCache = attempt.caching.turn != nil || attempt.caching.isBypassed
        if concernsCache { forgetWhatChanged(attempt) }
        let step = attempt.life.ended(transportEnd(attempt, error, sawCloseNotify: sawCloseNotify))
        if concernsCache { noteForCache(attempt, step, error) }
        if error == nil, case .fail(let miss, nil) = step, examineDeclined(attempt, miss) { return }
        perform(step, attempt)
    }

    func perform(_ step: NextStep, _ attempt: Attempt) {
        tellChallenges(attempt)
        if case .ask(let query) = step { return ask(query, attempt) }
        if case .cancel(let error) = step { return cancelled(attempt, error) }
        if attempt.isLookingUp { return endedLookup(attempt, step) }
        switch step {
        case .send(let request, let record):
            guard mayFollow(record, to: request.url, attempt) else { return }
            discardBody(attempt)
            goOn(attempt, request)
        case .deliver(let unverified, let record):
            if let record { tell(record, attempt) }
            attempt.download.lengthUnverified = unverified
            deliver(attempt)
        case .keep: confirm(attempt)
        case .isThere: uploadIsThere(attempt)
        case .judged(let verdict): judgedForeignPart(attempt, verdict)
        case .fail(let error, let record):
            if let record { tell(record, attempt) }
            fail(attempt, error)
        case .ask, .cancel: break
        }
    }

    func releaseSlot(_ attempt: Attempt) {
        guard let origin = attempt.origin else { return }
        attempt.origin = nil
        reports.append(.released(attempt.task, origin))
    }

    func discardBody(_ attempt: Attempt) {
        _ = attempt.takeRest()
        // What an earlier attempt left is still of use on the next hop.
        if attempt.life.resume != nil { return }
        discard(attempt.download.staging)
        attempt.download.staging = newStaging(attempt.specification, attempt.task)
    }

    /// Keeps what the attempt received for the task's next one, when that can ask for the rest of it.
    private func keepPartial(_ attempt: Attempt) -> Bool {
        guard attempt.download.destination != nil, !attempt.download.isLost, let point = attempt.resumePoint else {
            return false
        }
        switch attempt.phase {
        case .transferring, .askingCache, .awaitingGrant, .awaitingCredential: break
        case .awaitingRecord, .inspecting, .recalling, .adopting, .lookingForPart, .copyingPart, .confirming,
            .awaitingLore, .awaitingChecksum, .dating, .digesting, .comparing, .measuring, .delivering, .flushing,
            .awaitingOutput:
            return false
        }
        attempt.handOverRest()
        if attempt.streams.segmented != nil { outbox.add(.settle(attempt.download.staging)) }
        partLabels[attempt.download.staging]?.point.unanswered = point.unanswered
        let file = Carryover.PartialFile(staging: attempt.download.staging, point: point, mirror: attempt.mirror)
        carryovers[attempt.task, default: Carryover()].partialFiles.append(file)
        return true
    }

    /// The task has ended. What is there of its file stays for the next run, or goes.
    package func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome) {
        output?.ended(task)
        bodies.ended(task)
        ledger?.budget.release(task)
        if outcome != .succeeded { claims?.release(task) }
        if !carryovers.isEmpty, let carryover = carryovers.removeValue(forKey: task) {
            taskEnded(task, outcome, carryover)
        }
    }

    private func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome, _ carryover: Carryover) {
        if let upload = carryover.upload { uploadEnded(task, outcome, upload) }
        if outcome == .succeeded, let other = carryover.otherPart { removePart(other, of: task) }
        let (kept, discarded) = carryover.filesAtEnd(keeps: outcome != .succeeded && !unwanted.contains(task)) {
            partLabels[$0] != nil
        }
        for file in discarded { discard(file.staging) }
        // The store's record is replaced, or removed, once it is known how much was kept.
        if carryover.isPartRecorded { carryovers[task, default: Carryover()].isPartRecorded = true }
        guard let kept else { return forgetPart(task) }
        // What `limits.maximumBytes` cut among many may be little of each, in every run.
        let atAnySize = ledger?.budget.isSpent == true
        outbox.add(.leave(kept.staging, task, atAnySize: atAnySize))
    }

    func fail(_ attempt: Attempt, _ error: TransferError) {
        if error.name == .cancelled { return cancelled(attempt, error) }
        // What an old answer asked for is over.
        let head = attempt.exchange.isFromCache ? nil : attempt.exchange.head ?? attempt.exchange.refusedTunnel
        let retryAfter = head.flatMap { RetryAfter.parse($0.headers, now: now.wall) }
        var verdict = Verdict(
            .failed(explained(error, attempt)), status: attempt.life.lastStatus, retryAfter: retryAfter,
            sentSomething: attempt.sending.sentSomething, isIdempotent: attempt.life.mayBeRepeated)
        verdict.tookEffect = attempt.life.tookEffect
        verdict.lostNetwork = attempt.transport.lostNetwork
        if attempt.streams.wereSeveral, error.name == .checksumMismatch {
            carryovers[attempt.task, default: Carryover()].takesOneStream = true
        }
        verdict.mayBeIncomplete = mayBeIncomplete(attempt, error)
        finish(attempt, verdict)
    }

    /// The attempt's last act: its result is kept for the runner, its verdict goes to the scheduler.
    func finish(_ attempt: Attempt, _ verdict: Verdict, source: ResultSource = .network) {
        var verdict = told(verdict)
        verdict.lacksCredential = attempt.life.lacksCredential
        if attempt.streams.segmented != nil { stopTransfer(attempt) }
        if case .succeeded = verdict.outcome {
            forgetLabel(of: attempt.download.staging)
        } else if attempt.isDownload, !leaveUntouched(attempt), !keepPartial(attempt) {
            discard(attempt.download.staging)
        }
        releaseSlot(attempt)
        if case .failed = verdict.outcome, attempt.exchange.head != nil {
            carryovers[attempt.task, default: Carryover()].hadFailedResponse = true
        }
        noteUnasked(attempt, verdict)
        if attempt.specification.options.values.resumable {
            endUpload(attempt)
            verdict.mayOnlyGoOn = mayOnlyGoOn(attempt)
        }
        lostChecksums(attempt, verdict)
        if attempt.life.brokeAtQuestion {
            carryovers[attempt.task, default: Carryover()].leftForeignFileUnanswered = true
        }
        if case .succeeded = verdict.outcome, let file = attempt.download.file {
            checksumFiles.succeeded(attempt.task, at: file.path)
        }
        attempt.bandwidth.stopPause(at: now.instant)
        attempt.credentialWait.stop(at: now.instant)
        attempt.sending.takeUntouchedStream()?.leave()
        attempt.session.giveBack(attempt.transport.ownPool)
        attempt.transport.ownPool = nil
        if let rejected = attempt.life.refusals {
            carryovers[attempt.task, default: Carryover()].rejectedCredentials = rejected
        }
        let flushWait = attempt.download.flushStartedAt.map { now.instant - $0 } ?? .zero
        let (body, parts) = (toldBody(attempt, verdict, source), toldParts(attempt))
        keepCaptures(attempt, verdict)
        attempt.result = AttemptResult(
            number: attempt.number, url: attempt.life.request.url.text, startedAt: attempt.startedAt,
            endedAt: now.instant, transactions: attempt.transactions,
            body: body, file: attempt.download.file, source: source,
            lengthUnverified: attempt.download.lengthUnverified,
            error: verdict.error, flushWait: flushWait, bandwidthWait: attempt.bandwidth.pause.total,
            credentialWait: attempt.credentialWait.total,
            resumedFrom: max(attempt.life.offset, attempt.life.uploadResumedFrom),
            startedOver: attempt.life.startedOver.map { told($0) }, cache: attempt.caching.note,
            captures: captures(attempt), parts: parts)
        attempt.streams.segmented = nil
        reports.append(.ended(attempt.task, verdict))
    }
}
