import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// One attempt of one task while it runs. libcurl's callbacks arrive here: they change this object and the outbox, and
/// leave notes for the engine, which acts between its calls.
///
/// Its properties are values that each own one part of the attempt: `Exchange` is one request and its response,
/// `DownloadTarget` the file, `KnownFile` the existing one, and so on. They stand side by side because a callback,
/// which has only the attempt, touches several of them for each piece of a body.
final class Attempt: TransferReceiver {
    /// What the attempt waits for, or does.
    enum Phase {
        /// The journal has not recorded yet that it began.
        case awaitingRecord
        /// Asked a delivery thread about the file at the destination.
        case inspecting
        /// Asked the store what it has of the file, and then a delivery thread about the file at the destination.
        case recalling(KeptValidators?)
        /// The store has nothing of the file: asked for time and size of the one at the destination.
        case dating
        /// An earlier run's partial file is being checked.
        case adopting(ResumeRecord)
        /// The stored state of its session was not read yet.
        case awaitingSessionState
        /// Asked for a file under the final name, which may be adopted.
        case lookingForPart
        /// Another program's file is being copied, to be continued from here.
        case copyingPart(ResumePoint)
        /// A 304 came: asked whether the file that it confirmed is still there.
        case confirming(FileStamp?)
        /// Looks up the checksum of its download, or waits for another attempt that does.
        case awaitingChecksum
        /// Asked for the length of its local file.
        case measuring(path: String)
        /// Its body is read for a signature's digest.
        case digesting(OutgoingRequest)
        /// Its body is compared with the one sent before, or read to be recognised in the next run.
        case comparing(UploadComparison)
        /// Asked the store for the cache's entries.
        case askingCache(OutgoingRequest)
        /// Waits for a slot at another origin.
        case awaitingGrant(OutgoingRequest)
        /// A file or helper is asked for a credential; the attempt holds no slot.
        case awaitingCredential
        case transferring
        case delivering
        case flushing
        /// Whole and verified: waits for its turn on standard output, or is being written there.
        case awaitingOutput
    }

    let task: TaskIndex
    let number: Int
    /// The index of the attempt's place among the task's `urls`.
    let mirror: Int
    let startedAt: Now
    let specification: TaskSpecification
    let session: EngineSession
    let rules: AttemptRules
    /// The header lines of the first request; a redirect may remove some.
    let headerLines: [String]

    /// Decides what is sent and what an answer means.
    var life: AttemptLife
    var phase = Phase.transferring
    var preparation = Preparation()
    /// The origin whose slot the attempt holds.
    var origin: OriginID?
    var transport: TransportState
    var exchange: Exchange
    var sending = SendState()
    var download: DownloadTarget
    var known = KnownFile()
    var caching = CachingState()
    var inspection = AnswerInspection()
    var streams = StreamsState()
    var checksumLookup = ChecksumLookup()
    /// The token that is asked for before the next request; `nil` while none is.
    var tokenFetch: TokenFetch?
    var pages: PageProgress
    /// How far the attempt is with the object that its file becomes; `nil` for any other task.
    var object: ObjectProgress?
    var bandwidth: BandwidthCredit
    /// The time in which a file or helper was asked for credentials.
    var credentialWait = WaitClock()
    var renewal = RenewalState()
    var unreported: UnreportedProgress
    /// Whether too few bytes are left in this run for the attempt's body.
    var isForNextRun = false
    /// The attempt's requests, in the order in which they began.
    var transactions: [TransactionMetrics] = []
    /// Set once the attempt has ended.
    var result: AttemptResult?

    private var coalescer = BodyCoalescer()
    /// What all attempts share.
    private unowned let core: EngineCore
    var outbox: Outbox { core.outbox }
    var pool: BufferPool { core.delivery.pool }
    /// The run's `limits.maximumBytes`; `nil` without one.
    var ledger: ByteLedger? { core.ledger }

    /// Bytes up to which an unwanted body is read to its end, because that keeps the connection.
    static let longestDiscard: Int64 = 64 << 10

    init(
        task: TaskIndex, number: Int, mirror: Int, specification: TaskSpecification, session: EngineSession,
        url: ResourceURL, staging: StagingID, resume: ResumePoint?, pages: PageProgress, rate: Int64?,
        core: EngineCore, now: Now
    ) {
        self.task = task
        self.number = number
        self.mirror = mirror
        self.specification = specification
        self.session = session
        self.core = core
        rules = session.rules(for: specification, task, isMetered: rate != nil)
        life = AttemptLife(
            url, rules, resume: resume, home: specification.location(mirror: mirror).url,
            savingAnswerAt: specification.answerPath)
        self.pages = pages
        if pages.isLedFromPublic { life.isLedFromPublic() }
        life.tracing = session.tracing(attempt: number, of: specification.id)
        headerLines = session.headerLines
        startedAt = now
        exchange = Exchange(startedAt: now.wall)
        download = DownloadTarget(staging: staging)
        bandwidth = BandwidthCredit(rate: rate)
        unreported = UnreportedProgress(lastEventAt: now.instant)
        let policies = specification.options.values.policies
        transport = TransportState(
            idleLimit: policies.timeoutForRequest,
            rateFloor: RateFloor(policies.minimumRate, timeout: policies.timeoutForRequest))
    }

    /// Why the bytes of an answer that continues a file are not those that its server sent; `nil` if they are.
    var partMiss: TransferError? { exchange.partDigest?.miss(length: exchange.received) }

    // MARK: The request for a checksum file

    /// Whether the present request is for a checksum file, its signature or a token, and not for what the task wants.
    var isLookingUp: Bool { checksumLookup.waitingLife != nil || tokenFetch != nil }

    /// Gives the attempt another life for a look-up's requests; its own waits.
    func beginLookup(_ life: AttemptLife) {
        checksumLookup.waitingLife = self.life
        life.tracing = self.life.tracing
        self.life = life
    }

    /// Ends one request of the lookup; the next, or the task's own, may follow.
    func endLookupRequest() {
        exchange.body = []
        guard let life = checksumLookup.waitingLife else { return }
        self.life = life
        checksumLookup.waitingLife = nil
        exchange = Exchange(startedAt: exchange.startedAt)
    }

    /// Whether nothing may move for lack of bandwidth; if so, the attempt is paused from then on.
    func isOutOfCredit() -> Bool { bandwidth.isUsedUp(at: core.loop.now) }

    /// Resets the state for the next request of the same attempt.
    func beginRequest(at now: Now) {
        transport.rateFloor.restart()
        transport.address = nil
        exchange = Exchange(startedAt: now.wall)
        _ = takeRest()
        download.destination?.sent = nil
    }

    /// Returns what was received and not handed over yet.
    func takeRest() -> BodyPiece { coalescer.takeRest() }

    /// Has the engine look at the attempt after this turn.
    func noteNews() {
        guard !unreported.isListed else { return }
        unreported.isListed = true
        core.active.news.add(self)
    }

    // MARK: TransferReceiver

    /// This turn's time on the wall clock, without changes of that clock since the attempt's beginning.
    private var answerTime: WallTime { startedAt.wall + (core.loop.now - startedAt.instant) }

    func reached(_ address: String) { transport.address = address }

    func received(head: ResponseHead) -> Bool {
        noteNews()
        let life = life
        exchange.head = head
        exchange.hasNewHead = true
        sending.sentSomething = true
        let headTime = answerTime
        if caching.turn != nil, isForTheCache(head, at: headTime) {
            life.learn(head.headers, sessionState: &session.state, at: headTime)
            exchange.decision = .discard
            return true
        }
        if let body = sending.body { life.noteSent(body.start + body.sent) }
        let resume = life.resume
        if exchange.isFromCache, transport.address == nil, (300..<400).contains(head.status) {
            caching.gaveRedirect = true
        }
        exchange.decision = life.head(
            status: head.status, version: head.version, headers: head.headers,
            heldLength: exchange.isFromCache ? exchange.heldLength : nil, sessionState: &session.state, at: headTime,
            from: answerSource)
        let hasLostPart = resume != nil && life.resume == nil
        if hasLostPart { outbox.add(.discard(download.staging)) }
        known.continuation = nil
        let bringsFile = exchange.decision == .keep && life.type == .download && !life.isDeclined
        if bringsFile, !exchange.isFromCache { noteContinuation(head) }
        if exchange.decision == .keep, !(isDownload && life.isDeclined), ledger != nil {
            exchange.bodyFailure = claimAnswer(
                hasLostPart: hasLostPart && (known.continuation?.validator).isExactly(resume?.validator))
            if exchange.bodyFailure != nil { exchange.decision = .abort }
        }
        if exchange.decision == .keep, !life.codings.isEmpty, !beginDecoding() { exchange.decision = .abort }
        if exchange.decision == .keep, !isDownload, tokenFetch == nil, life.hasBody {
            exchange.mixed = MixedAnswer(head.headers)
        }
        if exchange.decision == .keep, bringsFile, !takeRuleTarget() { exchange.decision = .abort }
        if exchange.decision == .abort { exchange.endedByUs = true }
        if caching.turn != nil { prepareCacheCopy(head) }
        if exchange.decision == .keep, bringsFile {
            download.destination?.sent = life.offset > 0 ? life.resume?.sent : life.sentDigest
            if life.offset > 0 { exchange.partDigest = PartDigest(head.headers, whole: life.resume?.sent) }
            if download.destination?.mode != nil, life.offset == 0 { outbox.add(.conceal(download.staging)) }
            if known.leavesPart, known.continuation != nil, (life.announcedLength ?? .max) >= PartFile.leastLeft {
                outbox.add(.keepPart(download.staging, task))
            }
            if !asksForItsName { announceLength() }
            let length = life.announcedLength ?? (16 << 10)
            coalescer.reserve(length, from: pool)
        }
        return exchange.decision != .abort
    }

    func received(interim headers: HeaderBlock) -> Bool {
        noteNews()
        if let body = sending.body { life.noteSent(body.start + body.sent) }
        unreported.hasUploadPlace = true
        exchange.endedByUs = !life.interim(headers, at: answerTime, from: answerSource)
        return !exchange.endedByUs
    }

    func received(file: FTPFacts) -> Bool {
        let answer = FTPAnswer.head(
            length: file.length, modified: file.modified, offset: file.offset, refusesOffset: file.refusesOffset,
            now: answerTime)
        var head = ResponseHead(status: answer.status, version: .http1, headers: answer.headers)
        head.isHTTP = false
        return received(head: head)
    }

    /// Counts bytes of a body that moved.
    func spend(_ count: Int) {
        noteNews()
        bandwidth.spend(count)
        self.count(moved: count)
    }

    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        // An answer from the cache costs no bandwidth.
        if !exchange.isFromCache {
            if isPastBudget || isOutOfCredit() { return .pause }
            spend(bytes.count)
            exchange.arrived += Int64(bytes.count)
        }
        exchange.received += Int64(bytes.count)
        exchange.partDigest?.update(bytes)
        caching.turn?.copy?.append(contentsOf: bytes)
        switch exchange.decision {
        case .keep where life.isDeclined && isDownload: return keepErrorPage(bytes)
        case .keep:
            if let most = life.receivableSize, life.offset + exchange.received > most {
                exchange.endedByUs = true
            } else if life.watchesBody, !life.began(bytes) {
                known.continuation = nil
                exchange.endedByUs = true
            } else if let parts = streams.segmented {
                return receivedFirst(bytes, parts)
            } else if life.type == .download {
                coalesce(bytes)
            } else if !keep(bytes) || exchange.mixed != nil && !scanParts() {
                exchange.endedByUs = true
            }
            return exchange.endedByUs ? .stop : .taken
        case .discard:
            if exchange.received > Self.longestDiscard { exchange.endedByUs = true }
            return exchange.endedByUs ? .stop : .taken
        case .abort:
            return .stop
        }
    }

    func received(framing count: Int) -> BodyReply {
        spend(count)
        exchange.framing += Int64(count)
        if exchange.decision == .discard || life.isDeclined && isDownload {
            exchange.endedByUs = exchange.received + exchange.framing > Self.longestDiscard
        } else if let refusal = life.refusal(framing: exchange.framing, beside: bodyReceived) {
            exchange.bodyFailure = refusal
            exchange.endedByUs = true
        }
        if exchange.endedByUs { return .stop }
        return isPastBudget || isOutOfCredit() ? .pause : .taken
    }

    /// Whether the file under the name that the answer gives must stay: it is looked up first (`Engine.inspectName`).
    var asksForItsName: Bool {
        guard let existing = download.destination?.existing, existing == .skip || existing == .fail else {
            return false
        }
        return download.destination?.path.hasSuffix("/") == true
    }

    /// Announces the length to the delivery threads, so that a body without room on the disk fails as soon as they have
    /// looked, and none of it is written; a fast network brings a part of it by then. Bytes that were handed over occupy
    /// their room already.
    func announceLength() {
        guard !isLookingUp, let length = life.announcedLength, let reserve = download.destination?.reserve,
            length >= 1 << 20 || reserve > 0, let destination = download.destination
        else { return }
        let handedOver = exchange.received - Int64(coalescer.count)
        outbox.add(
            .announce(
                .init(
                    download.staging, task, folder: destination.folder,
                    path: destination.group == nil && !destination.toStandardOutput ? destination.path : nil,
                    length: length - life.offset - handedOver, reserve: reserve)))
    }

    private func noteContinuation(_ head: ResponseHead) {
        let options = specification.options
        guard specification.type == .download, life.target == nil, options.values.resume != .no,
            options.values.decompress == .no, life.request.isPlainGet, !life.asksForPart,
            head.status == 200 || life.offset > 0
        else { return }
        let url = life.request.url.text
        let told = life.fileHeaders ?? head.headers
        let begun = life.offset > 0 ? life.resume : nil
        let validator =
            begun.map { Resuming.validator(head.headers, continuing: $0) } ?? Resuming.validator(head.headers)
        known.continuation = validator.map {
            ResumePoint(
                url: url, offset: 0, validator: $0, total: life.announcedLength, headers: told,
                isForeign: begun?.isForeign ?? false)
        }
    }

    /// The headers of the result; for a file that this answer only completes, those of the first answer are included.
    var saidHeaders: HeaderBlock? { life.fileHeaders ?? exchange.head?.headers ?? exchange.sourceHeaders }

    /// Where the next attempt can resume; `nil` when it must begin at 0.
    var resumePoint: ResumePoint? {
        // A beginning that was not wholly examined could not be judged when it is continued.
        if prefix > life.offset, !life.watchesBody, let point = continuationPoint { return point }
        return life.resume
    }

    /// Notes that this answer cannot be resumed.
    func cannotGoOn() { known.continuation = nil }

    /// Notes that several requests for parts brought nothing: the next one is for the whole.
    func rangesBroughtNothing() { known.continuation?.unanswered = ResumePoint.mostUnanswered }

    /// How this answer could be continued from the byte that comes next.
    var continuationPoint: ResumePoint? {
        guard var point = known.continuation else { return nil }
        // Only now: most files come whole.
        point.asked = life.asked(point.headers, key: .random(in: 0 ... .max))
        point.headers = Resuming.kept(point.headers)
        (point.url, point.offset, point.sent) = (life.request.url.text, prefix, download.destination?.sent)
        return point
    }

    /// Hands over everything received; the staging file stays.
    func handOverRest() { hand(takeRest()) }

    /// Bytes of the file that were not handed over yet, by whichever stream they came.
    var held: Int { (streams.segmented?.segments.reduce(0) { $0 + $1.held } ?? 0) + coalescer.count }

    /// Hands over what came so far of a body of which more comes.
    func handOverHeld() {
        coalescer.handOver(from: pool) { hand($0) }
        for segment in streams.segmented?.segments ?? [] { segment.handOver() }
    }

    /// Takes a piece of a download's body; full buffers go to a delivery thread.
    func coalesce(_ bytes: UnsafeRawBufferPointer) { coalescer.append(bytes, from: pool) { hand($0) } }

    /// Hands a piece to a delivery thread. `at`: its offset, if it does not follow the piece before.
    func hand(_ piece: BodyPiece, at offset: Int64? = nil) {
        guard let destination = download.destination, piece.count > 0 else { return }
        outbox.add(
            .append(.init(download.staging, BodyPlacement(destination), piece, at: offset, for: task)))
    }

    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        if isSendingPastBudget || isOutOfCredit() { return .pause }
        let most = min(Int64(buffer.count), bandwidth.bytes ?? .max)
        guard let body = sending.body else { return .stop }
        let filled = body.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(most)]))
        guard case .bytes(let count) = filled else {
            if let wanted = body.takeWanted() { outbox.add(.fetch(task, path: wanted.path, wanted.range)) }
            return filled
        }
        noteNews()
        bandwidth.spend(count)
        sending.sentSomething = true
        self.count(moved: count)
        return .bytes(count)
    }

    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool {
        // libcurl repeats only idempotent requests, and requests that the server refused. A request that must not be
        // repeated has a connection of its own, on which libcurl repeats nothing but what the server refused.
        guard HTTPMethod.isIdempotent(life.request.method) || life.provesConnection || !isUnanswered,
            let body = sending.body
        else {
            return false
        }
        return body.rewind(to: offset)
    }
}
