import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
package import Stores
import SystemIO
package import TransferModel

/// Result of an attempt that ended: the runner makes the attempt's event and the end of the task from it.
package struct AttemptResult: Sendable {
    /// Number of the attempt within its task, from 1.
    package var number: Int
    /// URL of the last request, after redirects.
    package var url: String
    /// Beginning of the attempt.
    package var startedAt: Now
    /// End of the attempt.
    package var endedAt: Instant
    /// Metrics of its requests, in order.
    package var transactions: [TransactionMetrics]
    /// Body of the answer as the report shows it; `nil` where it has none.
    package var body: [UInt8]?
    /// The published file; `nil` without one.
    package var file: FileRecord?
    /// Whether a page of a task with `next` changed its file.
    package var changedPage = false
    /// Where the result came from.
    package var source: ResultSource
    /// Whether the body's length could not be verified.
    package var lengthUnverified: Bool
    /// Why it failed or was cancelled; `nil` on success.
    package var error: TransferError?
    /// Time within it in which nothing of its own was done: for bandwidth, for a credential to be looked up, for another
    /// task that fetched the same file, at its end for the batch flush.
    package var waits: [TaskRecord.Wait]
    /// Offset in bytes at which its body began; 0 where nothing was resumed.
    package var resumedFrom: Int64
    /// Why an earlier partial file was not resumed; `nil` where that did not happen.
    package var startedOver: String?
    /// Whether the answer was cached for later requests, or why not; `nil` where that was not decided.
    package var cache: CacheRecord?
    /// Values captured from the answer.
    package var captures: [CapturedValue]
    /// What lists of `forEach` are read from, in the form of captured values.
    package var rows: [CapturedValue] = []
    /// Parts of a multipart answer as the report shows them.
    package var parts: [AnswerPart]
}

/// What an engine is told at its beginning beside its job.
package struct EngineStart {
    /// `User-Agent` of requests that set none.
    package var userAgent: String
    /// Name of the run, a part of the names of its temporary files.
    package var run: String
    /// Tasks whose attempts send nothing before the journal has their beginning: their requests must not be sent twice.
    package var recordedFirst: Set<TaskIndex> = []
    /// Files that an earlier process of this run may have published.
    package var unrecordedFiles = UnrecordedFiles()

    package init(userAgent: String, run: String) {
        self.userAgent = userAgent
        self.run = run
    }
}

/// The executor on libcurl: carries out the scheduler's commands and the decisions of `AttemptLife`; it decides nothing
/// itself. Owned by the loop thread.
///
/// It is the largest type because it is the wiring: whatever is decided lies in values of their own (`Preparation`,
/// `Carryover`, `ActiveTransfers`, `SegmentedDownloads`, `ConnectionPolicy`, `RunSecrets`, `CommandTransfers`,
/// `ChecksumFiles`, `Foresight`, `PlannedBodies`, …), each with tests of its own. What is left turns their decisions
/// into requests, delivery orders, store writes and events, and each of those needs the attempt, the outbox and the
/// clock. One file for each part of an attempt's way.
package final class Engine {
    /// The job; destinations that are symlinks are replaced by their targets as their tasks begin.
    var job: Job
    let loop: any TransferLoop
    let sessions: [EngineSession]
    let events: any EventSink
    let delivery: any FileDeliverer
    let deliveries: Mailbox<DeliveryReport>
    let outbox: Outbox
    /// The store's client; `nil` when no session of this run is stored.
    let memory: StoreClient?
    /// The networks' current state, shared by the gates of all sessions.
    let networks: NetworkState
    let news = News()
    /// Numbers of the origins; it grows when redirects and templates bring new ones.
    package var origins: OriginTable
    var reports: [ExecutorReport] = []
    /// Attempts by task; one that ended stays until its result was taken.
    var attempts: [Attempt?]
    var active = ActiveTransfers()
    var segmented = SegmentedDownloads()
    var policy: ConnectionPolicy
    /// What ended attempts leave to the next ones of their tasks.
    var carryovers: [TaskIndex: Carryover] = [:]
    /// Resume records of partial files, without their lengths.
    var partLabels: [StagingID: ResumeRecord] = [:]
    var secrets: RunSecrets
    /// Values captured by tasks that succeeded.
    var captured = CapturedValues()
    /// Results of attempts that could not begin because a captured value does not fit.
    var unfilled: [TaskIndex: AttemptResult] = [:]
    /// Tasks that were cancelled without keeping their partial files.
    var unwanted: Set<TaskIndex> = []
    var bodies = PlannedBodies()
    let ledger: ByteLedger?
    /// Looks up credentials in files and by helpers; made when the first one is needed.
    var credentialLookup: CredentialLookup?
    var tokens = AccessTokens()
    /// Problems with credential files and helpers, as sentences for people; set by `close()`.
    package private(set) var credentialProblems: [String] = []
    var commands = CommandTransfers()
    var foresight: Foresight
    var trustedFolders = TrustedFolders()
    /// Attempts that wait until the stored state of their session was read.
    var awaitingSessions: [TaskIndex] = []
    /// Attempts that wait until the journal has recorded their beginning.
    var beginnings: RecordedBeginnings
    let unrecordedFiles: UnrecordedFiles
    /// Time of the next progress event that was delayed because it came too soon.
    var progressDue = Instant.distantFuture
    var stagingCount: UInt32 = 0
    /// `nil` where no task writes to standard output.
    let output: OutputQueue?
    var lastType: (text: String, type: MediaType?) = ("", nil)
    /// The groups with their members, by number.
    var groups: [EngineGroup]
    let addedNames = AddedNames()
    /// Paths and the tasks that write them; made when a server names the first file.
    var claims: PathClaims?
    /// Checksum files of tasks whose `checksum` is read from one.
    var checksumFiles: ChecksumFiles
    var objects: ObjectTransfers
    var rowSources: RowSources
    var renewals = TokenRenewals()
    /// Files published since the delivery threads were last told not to wait for more.
    var unhurriedFlushes = 0
    /// The clocks as read after the last wait: one reading for a whole turn.
    package private(set) var now: Now

    /// Ends the engine's wait, from any thread.
    package var wake: @Sendable () -> Void {
        let waker = loop.waker
        return { waker.wake() }
    }

    package init(
        job: Job, origins: OriginTable, events: any EventSink, networks: NetworkState, _ start: EngineStart,
        memory place: MemoryPlace? = nil, now: Now, transport: EngineTransport? = nil
    ) throws(TransferError) {
        var objects = ObjectTransfers(place, run: start.run)
        let job = objects.placed(job)
        self.job = job
        self.objects = objects
        self.networks = networks
        beginnings = RecordedBeginnings(recordedFirst: start.recordedFirst)
        unrecordedFiles = start.unrecordedFiles
        self.origins = origins
        self.events = events
        self.now = now
        captured.ends = RunEnds(of: job.tasks)
        secrets = RunSecrets(job.secrets, unwritten: place?.secrets)
        attempts = Array(repeating: nil, count: job.tasks.count)
        foresight = Foresight(job.tasks.count)
        ledger = job.limits.maximumBytes.map { ByteLedger(ByteBudget(most: $0)) }
        groups = EngineGroup.all(of: job, memory: place)
        let transport = transport ?? .network(job, groups, addedNames, run: start.run, state: place?.folder)
        loop = transport.loop
        var sessions: [EngineSession] = []
        for configuration in job.sessions {
            let session = EngineSession(
                configuration, proxies: job.proxies, userAgent: start.userAgent, networks: networks, now: now.wall)
            session.state.bound = secrets.bound
            session.credentialNames = job.credentialNames
            sessions.append(session)
        }
        self.sessions = sessions
        policy = ConnectionPolicy(job)
        checksumFiles = ChecksumFiles(job)
        rowSources = RowSources(job)
        let waker = loop.waker
        deliveries = Mailbox(wake: { waker.wake() })
        memory = StoreClient(place, job, keeping: groups.map { $0.place.keeping != nil }, wake: { waker.wake() })
        for (number, session) in sessions.enumerated() {
            session.cache = SessionCache(session.configuration.cache, on: memory?.cachePlace(number))
            if memory?.isEmpty == true { session.cache?.open(nil) }
        }
        do throws(SystemError) {
            output = try OutputQueue(job, deliveries)
            delivery = try transport.makeDelivery(deliveries)
        } catch {
            throw TransferError(.unknown, "a thread for files could not be started: \(error)")
        }
        outbox = Outbox(delivery)
        // Otherwise the store decides what stays. Without its answer, only files that are surely useless are deleted.
        if memory?.isEmpty != false { outbox.add(.sweep(keeping: memory == nil ? nil : [])) }
    }

    /// Prepares the loop and libraries; to be called before the first attempt.
    package func open() throws(TransferError) {
        try loop.open()
        if origins.origins.contains(where: { $0.scheme == "https" }) { try CurlLibrary.prepare(for: .handshake) }
    }

    /// Ends the file threads and begins to end the store's; no attempt may be under way.
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
            keepSessionStates(memory)
            handOverCacheOrders(memory)
        }
        memory?.close()
        objects.folder.close()
        credentialProblems = credentialLookup?.finish() ?? []
    }

    /// Returns the result of the task's ended attempt and forgets the attempt; `nil` where none has ended.
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

    /// Latest time of the next turn, even if nothing arrives.
    package var nextDeadline: Instant {
        let due = min(active.nextCheck, progressDue, memory?.due ?? .distantFuture)
        return commands.isEmpty ? due : min(due, commands.nextDeadline(at: now.instant))
    }

    // MARK: From the scheduler

    /// Carries out a command of the scheduler.
    package func perform(_ command: ExecutorCommand, now: Now) {
        self.now = now
        switch command {
        case .start(let task, let number, let mirror): start(task, number, mirror)
        case .grant(let task, let origin): granted(task, origin)
        case .cancel(let task, _): cancel(task)
        case .discardPartial(let task): unwanted.insert(task)
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
        guard let specification = filled(task, number, mirror), let own = specification.location(mirror: mirror).url
        else { return }
        var carryover = carryovers[task]
        let partial = carryover?.takePartialFile(at: mirror)
        let url = pages(of: task).url ?? own
        let attempt = makeAttempt(task, number, mirror, specification, url, partial: partial, startedAt: now)
        if var carryover {
            attempt.streams.isDisabled = carryover.takesOneStream
            if let fault = carryover.faultOfBody(at: mirror) {
                attempt.life.passCaches(because: "\(fault): asked for once more past all caches")
            }
            if carryover.lostPages > 0 {
                let count = carryover.lostPages == 1 ? "page" : "\(carryover.lostPages) pages"
                attempt.life.noteStartedOver(
                    "the process that fetched the first \(count) ended: all are asked for from the first one on")
                carryover.lostPages = 0
            }
            if let rejected = carryover.rejectedCredentials { attempt.life.recall(rejected) }
            carryover.rejectedCredentials = nil
            carryovers[task] = carryover
        }
        attempts[Int(task.raw)] = attempt
        learnPasswords(attempt, url)
        if let held = job.held {
            let places = specification.options.values.mirrors
            attempt.life.held = HeldTask(
                held, id: specification.id, url: url, isOneOfSeveral: places.count > 1, redactor: secrets.ofTheLog())
        }
        let closed = job.tasks[Int(task.raw)].toStandardOutput ? output?.problem : nil
        let problem = unfit ?? refuseFilled(task, specification) ?? closed ?? planBody(attempt)
        emit(.attemptStarted(AttemptStart(number: number, url: url.text, bodyFiles: attempt.bodyFiles)), attempt)
        attempt.origin = slotOrigin(of: url, attempt)
        if let problem { return fail(attempt, problem) }
        if let object = specification.options.values.object { return begin(object, attempt) }
        prepare(attempt)
    }

    /// Makes an attempt of the task, or the part of it that is about one page.
    func makeAttempt(
        _ task: TaskIndex, _ number: Int, _ mirror: Int, _ specification: TaskSpecification, _ url: ResourceURL,
        partial: Carryover.PartialFile?, startedAt: Now
    ) -> Attempt {
        let attempt = Attempt(
            task: task, number: number, mirror: mirror, specification: specification,
            session: sessions[Int(specification.session.raw)], url: url,
            staging: partial?.staging ?? newStaging(specification, task), resume: partial?.point,
            pages: pages(of: task), rate: policy.isMetered ? rate(specification) : nil, news: news, outbox: outbox,
            pool: delivery.pool, loop: loop, now: startedAt)
        attempt.ledger = ledger
        attempt.known.brought = partial?.brought
        attempt.seenRenewals = renewals.count
        return attempt
    }

    // MARK: Requests

    private func granted(_ task: TaskIndex, _ origin: OriginID) {
        let performer = renewals.performer(of: task)
        if performer != task { attempt(of: task)?.credentialWait.start(at: now.instant) }
        guard let attempt = attempt(of: performer), case .awaitingGrant(let request) = attempt.phase else { return }
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
        if waitsForCredential(request, attempt) { return }
        if attempt.life.needsBodyDigest(request), digestsBody(request, attempt) { return }
        attempt.beginRequest(at: now)
        var request = request
        request.expectsContinue = attempt.life.asksBeforeBody(ofLength: (attempt.sending.planned ?? .nothing).length)
        if let dressed = attempt.life.withSessionHeaders(request, from: &attempt.session.state, at: now.wall) {
            (request.headers, request.hasSessionHeaders) = (dressed, true)
        }
        request = attempt.life.withoutConditions(request, proof: proof(of: request, attempt), at: now.wall)
        if !asksCache(request, attempt) { transmit(request, attempt) }
    }

    /// Sends the request: the cache has no answer to it.
    func transmit(_ asked: OutgoingRequest, _ attempt: Attempt) {
        let request = questioned(asked, attempt)
        attempt.exchange.sentMethod = request.method
        if !request.url.needsConnection { return startCommand(request, attempt) }
        do throws(TransferError) {
            var curl = try curlRequest(request, attempt)
            curl.ftp = try access(request, attempt)
            // First requests of a session share their header lines.
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

    /// Makes the part of a request that all requests of the attempt share; the headers are left out.
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

    /// Ends all streams of the attempt.
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

    /// Hands over pending orders, waits for an event, and returns reports to the scheduler.
    package func turn(wait: TimeSpan, clock: () -> Now) -> [ExecutorReport] {
        useLoans()
        handOver()
        let completions = loop.turn(wait: wait, others: commands.isEmpty ? [] : commands.entries)
        now = clock()
        // Before reading: data that arrives after this point ends the next wait, and data that arrived before it is
        // moved now.
        if bodies.streams != nil { resumeStreams() }
        if !commands.isEmpty { moveCommands() }
        for attempt in news.takeAll() { reportProgress(attempt) }
        for completion in completions { complete(completion) }
        if active.takeCheck(at: now.instant) { checkIdle() }
        if progressDue <= now.instant { tellLateProgress() }
        for report in deliveries.takeAll() { delivered(report) }
        for report in memory?.takeAll() ?? [] { take(report) }
        for answer in credentialLookup?.takeAll() ?? [] { answered(answer) }
        if !renewals.isIdle { settleRenewals() }
        handOver()
        defer { reports.removeAll(keepingCapacity: true) }
        return reports
    }

    private func handOver() {
        // When no transfer moves and only a flush is awaited, let it come at once.
        if active.isEmpty, segmented.isEmpty, !commands.areRunning, unhurriedFlushes > 0 {
            unhurriedFlushes = 0
            outbox.add(.hurry)
        }
        outbox.handOver()
        if let memory {
            keepSessionStates(memory)
            handOverCacheOrders(memory)
            memory.handOver(at: now.instant)
        }
    }

    /// Records a request's metrics, however it ended.
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
        // It ended before it could be stopped for the sake of another stream.
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

    /// Fails transfers that moved no byte for their idle limit. The clock stops while a task waits for a slot.
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
            // Paused by the runner for lack of bandwidth.
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
        if attempt.tokenFetch != nil { return endedTokenRequest(attempt, step) }
        if attempt.isLookingUp { return endedLookup(attempt, step) }
        switch step {
        case .send(let request, let record):
            if objectIsWanted(attempt) { return }
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
        // An earlier attempt's partial file is still useful on the next hop.
        if attempt.life.resume != nil { return }
        discard(attempt.download.staging)
        attempt.download.staging = newStaging(attempt.specification, attempt.task)
    }

    /// Keeps the attempt's partial file for the next attempt, if the rest of it can be requested. Returns where that one
    /// goes on; `nil` where nothing is kept.
    func keepPartial(_ attempt: Attempt) -> ResumePoint? {
        guard attempt.download.destination != nil, !attempt.download.isLost, let point = attempt.resumePoint else {
            return nil
        }
        switch attempt.phase {
        case .transferring, .askingCache, .awaitingGrant, .awaitingCredential: break
        case .awaitingRecord, .inspecting, .recalling, .adopting, .lookingForPart, .copyingPart, .confirming,
            .awaitingSessionState, .awaitingChecksum, .dating, .digesting, .comparing, .measuring,
            .delivering, .flushing, .awaitingOutput:
            return nil
        }
        attempt.handOverRest()
        if attempt.streams.segmented != nil { outbox.add(.settle(attempt.download.staging)) }
        partLabels[attempt.download.staging]?.point.unanswered = point.unanswered
        let file = Carryover.PartialFile(
            staging: attempt.download.staging, point: point, mirror: attempt.mirror, brought: attempt.known.brought)
        carryovers[attempt.task, default: Carryover()].partialFiles.append(file)
        return point
    }

    /// Cleans up after a task; its partial file stays for the next run, or is deleted.
    package func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome) {
        output?.ended(task)
        bodies.ended(task)
        endedObject(task)
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
        // The store's record is replaced, or removed, once the kept length is known.
        if carryover.isPartRecorded { carryovers[task, default: Carryover()].isPartRecorded = true }
        guard let kept else { return forgetPart(task) }
        // A run that `limits.maximumBytes` ended may keep little of each of many files, again and again: keep any size.
        let atAnySize = ledger?.budget.isSpent == true
        outbox.add(.leave(kept.staging, task, atAnySize: atAnySize))
    }

    func fail(_ attempt: Attempt, _ error: TransferError) {
        if error.name == .cancelled { return cancelled(attempt, error) }
        if attempt.tokenFetch != nil { return lackToken(attempt, error) }
        if error.isOfProcessLimit { endIdleConnections() }
        if renewsToken(attempt, error) { return }
        // A cached answer's `Retry-After` is out of date.
        let head = attempt.exchange.isFromCache ? nil : attempt.exchange.head ?? attempt.exchange.refusedTunnel
        let retryAfter = head.flatMap { RetryAfter.parse($0.headers, now: now.wall) }
        var verdict = Verdict(
            .failed(told(error, attempt)), status: attempt.life.lastStatus, retryAfter: retryAfter,
            sentSomething: attempt.sending.sentSomething, isIdempotent: attempt.life.mayBeRepeated)
        verdict.tookEffect = attempt.life.tookEffect
        verdict.lostNetwork = attempt.transport.lostNetwork
        if attempt.streams.wereSeveral, error.name == .checksumMismatch {
            carryovers[attempt.task, default: Carryover()].takesOneStream = true
        }
        verdict.mayBeOfACache = mayBeOfACache(attempt, error)
        verdict.mayBeIncomplete = mayBeIncomplete(attempt, error)
        finish(attempt, verdict)
    }

    /// Ends the attempt: its result is kept for the runner, its verdict goes to the scheduler.
    func finish(_ attempt: Attempt, _ verdict: Verdict, source: ResultSource = .network) {
        leaveTokens(attempt)
        if !renewals.isUnused { noteForRenewals(attempt) }
        if goesOn(attempt, verdict, source) { return }
        var verdict = told(verdict)
        verdict.lacksCredential = attempt.life.lacksCredential
        verdict.isOfStore = attempt.object?.isAtStore == true
        if attempt.streams.segmented != nil { stopTransfer(attempt) }
        if case .succeeded = verdict.outcome {
            forgetLabel(of: attempt.download.staging)
        } else if attempt.isDownload, !leaveUntouched(attempt) {
            let began = attempt.life.resume?.offset ?? 0
            if let kept = keepPartial(attempt) {
                verdict.wentFurther = attempt.life.startedOver == nil && kept.offset > began
            } else {
                discard(attempt.download.staging)
            }
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
        if case .succeeded = verdict.outcome, let file = attempt.download.file, file.isLocal {
            checksumFiles.succeeded(attempt.task, at: file.path)
        }
        attempt.bandwidth.stopPause(at: now.instant)
        attempt.sending.takeUntouchedStream()?.leave()
        attempt.session.giveBack(attempt.transport.ownPool)
        attempt.transport.ownPool = nil
        if let rejected = attempt.life.refusals {
            carryovers[attempt.task, default: Carryover()].rejectedCredentials = rejected
        }
        let (body, parts) = (toldBody(attempt, verdict, source), toldParts(attempt))
        keepCaptures(attempt, verdict)
        let rows = keepRows(attempt, verdict)
        attempt.result = AttemptResult(
            number: attempt.number, url: attempt.life.request.url.text, startedAt: attempt.startedAt,
            endedAt: now.instant, transactions: attempt.transactions,
            body: body, file: attempt.download.file, changedPage: attempt.pages.hasChangedFile, source: source,
            lengthUnverified: attempt.download.lengthUnverified,
            error: verdict.error, waits: attempt.waits(at: now.instant),
            resumedFrom: max(attempt.life.offset, attempt.life.uploadResumedFrom),
            startedOver: attempt.life.startedOver.map { told($0) }, cache: attempt.caching.note,
            captures: captures(attempt), rows: rows, parts: parts)
        attempt.streams.segmented = nil
        reports.append(.ended(attempt.task, verdict))
    }
}
