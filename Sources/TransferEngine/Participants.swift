import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// Who takes part in attempts. Where several take part in one moment, the order in which they are asked is said here,
/// and why.
final class Participants {
    /// What the participants share.
    let core: EngineCore

    // Before the first request.
    let filling: TaskFilling
    let beginnings: RecordedBeginnings
    let sessionStates: SessionStates
    let existing: ExistingFiles
    let keptFiles: KeptFiles
    let partials: PartialFiles
    let foreign: ForeignFiles
    let checksums: ChecksumLookups
    let sentUploads: SentUploads
    let uploads: ResumableUploads
    let objects: ObjectDelivery

    // For each request.
    let connections: Connections
    let credentials: Credentials
    let tokens: Tokens
    let renewals: Renewals
    let cache: ResponseCaching
    let digests: BodyDigests
    let bodies: RequestBodies
    let segments: Segments
    let local: LocalSources
    let commands: OwnProtocols
    let announcements: Announcements

    // For the answer and its file.
    let answers: AnswerExamination
    let explanations: Explanations
    let rows: RowResults
    let pages: PageTurning
    let names: FileNames
    let publication: Publication
    let groupFiles: GroupPublication
    let output: StandardOutput

    init(
        _ core: EngineCore, _ start: EngineStart, networks: NetworkState, output: OutputQueue?,
        objects: ObjectTransfers
    ) {
        self.core = core
        filling = TaskFilling(core)
        beginnings = RecordedBeginnings(core, recordedFirst: start.recordedFirst)
        sessionStates = SessionStates(core)
        existing = ExistingFiles(core, start.unrecordedFiles)
        keptFiles = KeptFiles(core)
        partials = PartialFiles(core)
        foreign = ForeignFiles(core)
        checksums = ChecksumLookups(core)
        sentUploads = SentUploads(core)
        uploads = ResumableUploads(core)
        self.objects = ObjectDelivery(core, objects)
        connections = Connections(core, networks)
        credentials = Credentials(core)
        tokens = Tokens(core)
        renewals = Renewals(core)
        cache = ResponseCaching(core)
        digests = BodyDigests(core)
        bodies = RequestBodies(core)
        segments = Segments(core)
        local = LocalSources(core)
        commands = OwnProtocols(core)
        announcements = Announcements(core)
        answers = AnswerExamination(core)
        explanations = Explanations(core)
        rows = RowResults(core)
        pages = PageTurning(core)
        names = FileNames(core)
        publication = Publication(core)
        groupFiles = GroupPublication(core)
        self.output = StandardOutput(core, output)
    }
}

// MARK: - Before an attempt's first request

extension Participants {
    /// A task as an attempt begins it.
    struct BegunTask {
        let specification: TaskSpecification
        let url: ResourceURL
        /// Why it cannot have the file that it names.
        let problem: TransferError?
        /// Whether nothing had its destination's name.
        let isFree: Bool
    }

    /// Fixes what the task is in this attempt; `nil` where a captured value does not fit, which is told.
    func taskBegins(_ task: TaskIndex, _ number: Int, _ mirror: Int) -> BegunTask? {
        // A link is followed in the job itself, before captured values are filled into the task.
        let seen = filling.seenDestination(task)
        var problem = seen.problem
        var specification = core.job.tasks[Int(task.raw)]
        if specification.options.values.awaitsCaptures {
            guard let filled = filling.filled(task, number, mirror) else { return nil }
            specification = filled
            problem = problem ?? filling.refuseFilled(task, filled)
        }
        let nextPage = core.retryStates[task]?.pages?.url
        guard let url = nextPage ?? specification.location(mirror: mirror).url else { return nil }
        return BegunTask(specification: specification, url: url, problem: problem, isFree: seen.isFree)
    }

    /// Hands the attempt what earlier ones of its task left; returns why it cannot begin.
    func attemptBegins(_ attempt: Attempt, _ url: ResourceURL) -> TransferError? {
        if core.retryStates[attempt.task] != nil {
            segments.attemptBegins(attempt)
            cache.attemptBegins(attempt)
            pages.attemptBegins(attempt)
            credentials.attemptBegins(attempt)
        }
        credentials.learnPasswords(attempt, url)
        if core.job.held != nil { attempt.life.held = core.heldTask(attempt, url) }
        return output.problem(of: attempt) ?? bodies.planBody(attempt)
    }

    /// Sets the attempt on its way: to a store first, where its file becomes an object.
    func lead(_ attempt: Attempt) {
        if let object = attempt.specification.options.values.object { return objects.beginObject(object, attempt) }
        core.engine.prepare(attempt)
    }

    /// The steps that may concern the attempt, as far as its task and the run tell: a plain download has none.
    func preparation(of attempt: Attempt) -> Preparation {
        let (task, values) = (attempt.specification, attempt.specification.options.values)
        let (hasStore, hasChecksum) = (core.store != nil, values.checksum != nil)
        var steps = Preparation()
        steps.add(.recordBeginning, if: !beginnings.recordedFirst.isEmpty)
        steps.add(.recallUpload, if: hasStore && task.type == .upload)
        steps.add(.inspectDestination, if: hasChecksum || values.existing == .skip || values.existing == .fail)
        steps.add(.recallFile, if: hasStore)
        steps.add(.loadSession, if: hasStore)
        steps.add(.resolveChecksum, if: hasChecksum)
        steps.add(.inspectListedFile, if: hasChecksum)
        steps.add(.adoptPart, if: hasStore)
        steps.add(.examineKeptFile, if: hasStore)
        steps.add(.findForeignFile, if: values.resume == .adopt)
        return steps
    }

    /// Performs a step of the preparation. `PreparationStep` says what each is for, in their order.
    func prepare(_ step: PreparationStep, _ attempt: Attempt) -> StepOutcome {
        switch step {
        case .recordBeginning: beginnings.recordBeginning(attempt)
        case .recallUpload: sentUploads.recallUpload(attempt)
        case .inspectDestination: existing.inspectDestination(attempt)
        case .recallFile: keptFiles.recallFile(attempt)
        case .loadSession: sessionStates.loadSession(attempt)
        case .resolveChecksum: checksums.resolveChecksum(attempt)
        case .inspectListedFile: checksums.inspectListedFile(attempt)
        case .adoptPart: partials.adoptPart(attempt)
        case .examineKeptFile: keptFiles.examineKeptFile(attempt)
        case .findForeignFile: foreign.findForeignFile(attempt)
        }
    }

    /// The first request is about to be made: what is it, and where does its answer go?
    func requestsBegin(_ attempt: Attempt) {
        let values = attempt.specification.options.values
        if values.resumable { uploads.beginUpload(attempt) }
        if attempt.specification.type == .upload, let question = sentUploads.uploadQuestion(attempt) {
            attempt.life.askWhetherNeeded(question)
        }
        if case .file(let stamp) = attempt.known.foreign { foreign.askAbout(stamp, attempt) }
        if attempt.mayBecomeFile { attempt.download.destination = publication.plannedDestination(attempt) }
    }
}

// MARK: - A request

extension Participants {
    /// Completes the request that is about to be sent; `nil` where it is sent later, or answered without.
    func compose(_ request: OutgoingRequest, _ attempt: Attempt) -> OutgoingRequest? {
        attempt.life.proxy = attempt.session.pools.askingProxy(for: request.url)
        // Who asks comes first: the signature and the cache depend on it.
        if tokens.waitsForCredential(request, attempt) { return nil }
        if attempt.life.needsBodyDigest(request), digests.digestsBody(request, attempt) { return nil }
        attempt.beginRequest(at: core.now)
        var request = request
        request.expectsContinue = attempt.life.asksBeforeBody(ofLength: (attempt.sending.planned ?? .nothing).length)
        if let dressed = attempt.life.withSessionHeaders(request, from: &attempt.session.state, at: core.now.wall) {
            (request.headers, request.hasSessionHeaders) = (dressed, true)
        }
        request = attempt.life.withoutConditions(
            request, proof: cache.proof(of: request, attempt), at: core.now.wall)
        // The cache comes last: it answers the complete request.
        return cache.asksCache(request, attempt) ? nil : request
    }

    /// Makes what libcurl is given of a request that the cache has no answer to; `nil` where a command answers it.
    func connect(_ asked: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> CurlRequest? {
        let request = attempt.caching.turn == nil ? asked : cache.questioned(asked, attempt)
        attempt.exchange.sentMethod = request.method
        guard request.url.needsConnection else {
            commands.startCommand(request, attempt)
            return nil
        }
        var curl = try connections.curlRequest(request, attempt)
        if request.url.isFTP { curl.ftp = try connections.access(request, attempt) }
        // First requests of a session share their header lines.
        let isPlain =
            !request.hasSessionHeaders && !attempt.life.asksWhetherNeeded && attempt.transactions.isEmpty
            && !attempt.isLookingUp && attempt.life.resume == nil
            && !request.isConditional && curl.login == nil && curl.proxyLogin == nil && curl.ftp == nil
        curl.headers = isPlain ? attempt.headerLines : EngineSession.lines(request.headers)
        if curl.ftp != nil { curl.headers = [] }
        curl.needsFreshConnection = !HTTPMethod.isIdempotent(request.method)
        attempt.sending.body = nil
        if request.sendsBody { try bodies.openBody(request, attempt, &curl) }
        return curl
    }

    /// The final answer's head was read, and its body is the one wanted.
    func headReceived(_ attempt: Attempt) {
        existing.inspectName(attempt)
        guard !attempt.exchange.isFromCache else { return }
        segments.considerSegments(attempt)
        partials.labelPart(attempt)
    }

    /// libcurl says that a request's stream is over: tells what came, before it is judged.
    func streamEnds(_ attempt: Attempt, _ completion: CurlCompletion) {
        bodies.endBody(attempt, completion.metrics)
        if completion.isLonger { attempt.cannotGoOn() }
        if completion.isRefused { core.reports.append(.heard(attempt.task)) }
        announcements.tellAnswer(attempt)
        if completion.wasAskedForCertificate, attempt.exchange.head == nil { connections.tellOfCertificate(attempt) }
    }

    /// Whether the attempt goes on after the stream: others bring the rest of its body, or its proxy gets an answer.
    func streamEnded(_ attempt: Attempt, _ completion: CurlCompletion, _ error: TransferError?) -> Bool {
        if attempt.streams.segmented != nil {
            segments.firstStreamEnded(attempt, error)
            return true
        }
        guard let head = completion.proxyHead else { return false }
        if credentials.answersProxy(attempt, completion, error) { return true }
        if !(200..<300).contains(head.status) { attempt.exchange.refusedTunnel = head }
        return false
    }

    /// A request has ended: what its attempt does next; `nil` where a participant has seen to that.
    func requestEnded(_ attempt: Attempt, _ error: TransferError?, sawCloseNotify: Bool) -> NextStep? {
        // The cache may have a better answer than this one, or send another request.
        if attempt.caching.turn != nil, cache.endedForCache(attempt, error) { return nil }
        let concernsCache = attempt.caching.turn != nil || attempt.caching.isBypassed
        if concernsCache { cache.forgetWhatChanged(attempt) }
        let step = attempt.life.ended(bodies.transportEnd(attempt, error, sawCloseNotify: sawCloseNotify))
        if concernsCache { cache.noteForCache(attempt, step, error) }
        // A body is looked into before its headers alone fail it, so that all is told in one.
        if error == nil, case .fail(let miss, nil) = step, answers.examineDeclined(attempt, miss) { return nil }
        return step
    }

    /// Whether the step is that of a participant's own request, or one that only a participant can take.
    func handles(_ step: NextStep, _ attempt: Attempt) -> Bool {
        credentials.tellChallenges(attempt)
        switch step {
        case .ask(let query): credentials.askForCredential(query, attempt)
        case .cancel: return false
        // While something is looked up, each step is the look-up's.
        case _ where attempt.tokenFetch != nil: tokens.endedTokenRequest(attempt, step)
        case _ where attempt.isLookingUp: checksums.endedLookup(attempt, step)
        case .send: return objects.objectIsWanted(attempt)
        case .keep: keptFiles.confirm(attempt)
        case .isThere: sentUploads.uploadIsThere(attempt)
        case .judged(let verdict): foreign.judgedForeignPart(attempt, verdict)
        case .deliver, .fail: return false
        }
        return true
    }
}

// MARK: - The end of an attempt

extension Participants {
    /// Whether the attempt ends by itself although its task is cancelled, or has ended here.
    func outlivesCancelling(_ attempt: Attempt) -> Bool {
        switch attempt.phase {
        case .delivering, .flushing:
            // The body is whole and verified or about to be: let it stand.
            attempt.download.wasCalledOff = true
            return true
        // The server has all of it: that it is not known again is no reason to send it once more.
        case .comparing(.readingSent): return sentUploads.couldNotCompare(attempt)
        case .awaitingOutput:
            output.withdraw(attempt)
            return false
        case .awaitingRecord, .inspecting, .recalling, .adopting, .lookingForPart, .copyingPart, .confirming,
            .awaitingSessionState, .awaitingChecksum, .askingCache, .dating, .measuring, .digesting, .comparing,
            .awaitingGrant, .awaitingCredential, .transferring:
            return false
        }
    }

    /// Returns the error that a failed attempt is shown with; `nil` where it does not fail, or has failed already.
    func attemptFails(_ attempt: Attempt, _ error: TransferError) -> TransferError? {
        if attempt.tokenFetch != nil {
            tokens.lackToken(attempt, error)
            return nil
        }
        if error.isOfProcessLimit { connections.endIdleConnections() }
        if cache.asksLeadAgain(attempt, error) || renewals.renewsToken(attempt, error) { return nil }
        return explanations.shown(error, attempt)
    }

    /// Adds to a failed attempt's verdict what tells the scheduler how the next attempt may do better.
    func judge(_ verdict: inout Verdict, _ error: TransferError, _ attempt: Attempt) {
        segments.attemptFailed(attempt, error)
        verdict.mayBeOfACache = cache.mayBeOfACache(attempt, error)
        verdict.mayBeIncomplete = cache.mayBeIncomplete(attempt, error)
    }

    /// Whether the attempt goes on although what it did is done.
    func goesOn(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> Bool {
        tokens.leaveTokens(attempt)
        renewals.requestAnswered(attempt)
        guard case .succeeded = verdict.outcome else {
            objects.keepFetched(attempt, verdict)
            return false
        }
        // All pages are fetched before the file of the last one becomes an object.
        return pages.turnedPage(attempt, verdict, source) || objects.wentOn(attempt, verdict, source)
    }

    /// The attempt is over: each takes back what it holds, and leaves what the next attempt needs.
    func attemptEnded(_ attempt: Attempt, _ verdict: inout Verdict) {
        segments.attemptEnded(attempt)
        partials.attemptEnded(attempt, &verdict)
        core.releaseSlot(attempt)
        cache.attemptEnded(attempt, verdict)
        objects.attemptEnded(attempt, &verdict)
        sentUploads.attemptEnded(attempt, verdict)
        if attempt.specification.options.values.resumable { uploads.attemptEnded(attempt, &verdict) }
        checksums.attemptEnded(attempt, verdict)
        foreign.attemptEnded(attempt)
        attempt.bandwidth.stopPause(at: core.now.instant)
        bodies.attemptEnded(attempt)
        connections.attemptEnded(attempt)
        credentials.attemptEnded(attempt)
    }

    /// Makes the ended attempt's result.
    func result(of attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> AttemptResult {
        // First the body: until it was looked into, secrets in the headers of its parts are not known.
        let (body, parts) = (answers.toldBody(attempt, verdict, source), announcements.toldParts(attempt))
        answers.keepCaptures(attempt, verdict)
        let rows = rows.keepRows(attempt, verdict)
        return AttemptResult(
            number: attempt.number, url: attempt.life.request.url.text, startedAt: attempt.startedAt,
            endedAt: core.now.instant, transactions: attempt.transactions,
            body: body, file: attempt.download.file, changedPage: attempt.pages.hasChangedFile, source: source,
            lengthUnverified: attempt.download.lengthUnverified,
            error: verdict.error, waits: attempt.waits(at: core.now.instant),
            resumedFrom: max(attempt.life.offset, attempt.life.uploadResumedFrom),
            startedOver: attempt.life.startedOver.map { core.redacted($0) }, cache: attempt.caching.note,
            captures: answers.captures(attempt), rows: rows, parts: parts)
    }

    /// Cleans up after a task.
    func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome) {
        output.taskEnded(task)
        bodies.taskEnded(task)
        objects.endedObject(task)
        if outcome != .succeeded { names.release(task) }
        partials.dropUnseen(task, outcome)
        guard !core.retryStates.isEmpty, let retryState = core.retryStates.removeValue(forKey: task) else { return }
        if let upload = retryState.upload { uploads.uploadEnded(task, outcome, upload) }
        partials.taskEnded(task, outcome, retryState)
    }
}

// MARK: - A turn, and the run

extension Participants {
    /// The loop has waited. Data that arrives after this point ends the next wait; what arrived before it is moved now.
    func turnBegins() {
        bodies.resumeStreams()
        commands.moveCommands()
    }

    /// What libcurl told is carried out.
    func turnEnds() {
        announcements.tellLateProgress()
        credentials.takeAnswers()
        // Last: it changes what this turn reports to the scheduler.
        renewals.settleRenewals()
    }

    /// Latest time of the next turn, even if nothing arrives.
    var nextDeadline: Instant { min(announcements.progressDue, commands.nextDeadline) }

    /// When no transfer moves and only a flush is awaited, lets it come at once.
    func hurryFlushes() {
        if segments.downloads.isEmpty, !commands.areRunning { publication.hurryFlushes() }
    }

    /// Passes on what is to be stored.
    func handOver(to store: StoreClient) {
        sessionStates.keepSessionStates(store)
        cache.handOverCacheOrders(store)
    }

    /// Adds tasks that came in mid-run, in place of a template.
    func add(_ tasks: [TaskSpecification], from first: TaskIndex, recordedFirst: Set<TaskIndex>) {
        beginnings.recordedFirst.formUnion(recordedFirst)
        keptFiles.grow(by: tasks.count)
        checksums.add(tasks)
        rows.add(tasks)
        names.add(tasks, from: first)
    }

    /// No attempt is under way any more.
    func runEnds() {
        commands.endCommands()
        output.close()
        bodies.close()
    }

    /// Nothing is written any more. Returns problems with credential files and helpers, as sentences for people.
    func filesClosed() -> [String] {
        objects.close()
        return credentials.close()
    }
}
