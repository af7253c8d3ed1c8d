import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// Orders for the delivery threads, collected over one turn of the loop and handed over in one piece; earlier when a
/// fast transfer brings many bytes in one turn, so that they are written while still in the processor's cache.
final class Outbox {
    private var orders: [DeliveryOrder] = []
    private var bytes = 0
    private let delivery: any FileDeliverer
    private static let manyBytes = 256 << 10

    init(_ delivery: any FileDeliverer) { self.delivery = delivery }

    var isEmpty: Bool { orders.isEmpty }

    func add(_ order: DeliveryOrder) {
        orders.append(order)
        bytes += order.byteCount
        if bytes >= Self.manyBytes { handOver() }
    }

    func handOver() {
        guard !orders.isEmpty else { return }
        delivery.submit(orders, bytes: bytes)
        orders = []
        orders.reserveCapacity(32)
        bytes = 0
    }
}

/// The attempts that libcurl told something in this turn, so that a turn costs what happened and not what is under way.
final class News {
    private var attempts: [Attempt] = []
    func add(_ attempt: Attempt) { attempts.append(attempt) }
    func takeAll() -> [Attempt] {
        defer { attempts.removeAll(keepingCapacity: true) }
        return attempts
    }
}

/// One attempt of one task while it runs. libcurl's calls land here: they change this object and the outbox, and
/// leave notes for the engine, which acts between its calls.
final class Attempt: TransferReceiver {
    enum Phase {
        /// It is not kept yet that it began.
        case awaitingRecord
        /// Asked a delivery thread what stands at the destination.
        case inspecting
        /// Asked what is kept of the last time, and then what stands there.
        case recalling(ResourceURL, KeptValidators?)
        /// Nothing is kept of the last time: asked of which time and size the file is that stands there.
        case dating(ResourceURL)
        /// What an earlier run left is being checked.
        case adopting(ResourceURL, ResumeRecord)
        /// What its session learned in earlier runs is not read yet.
        case awaitingLore(ResourceURL)
        /// Asked what stands under the final name, which may be adopted.
        case lookingForPart(ResourceURL)
        /// What another program left is copied, to be gone on with from here.
        case copyingPart(ResumePoint)
        /// A 304 came: asked whether what it spoke of still stands there.
        case confirming(FileStamp?)
        /// Looks up what its download shall be, or waits for another that does.
        case awaitingChecksum
        /// Asked how long the file is that it takes.
        case measuring(ResourceURL, path: String)
        /// Its body is read for the digest that a signature tells.
        case digesting(OutgoingRequest)
        /// Its body is compared with what was sent before, or is to be known again in the next run.
        case comparing(UploadComparison)
        /// Asked the store what the cache holds.
        case askingCache(OutgoingRequest)
        /// Waits for a slot at another origin.
        case awaitingGrant(OutgoingRequest)
        /// Somebody who may know who to be is asked; it holds no slot.
        case awaitingCredential
        case transferring
        case delivering
        case flushing
        /// Whole and verified: waits for its turn on standard output, or is being written there.
        case awaitingOutput
    }

    let task: TaskIndex
    let number: Int
    /// Its place among the task's `urls`.
    let mirror: Int
    let startedAt: Now
    let specification: TaskSpecification
    let session: EngineSession
    private(set) var life: AttemptLife
    var phase = Phase.transferring
    var transfer: TransferID?
    /// The origin whose slot it holds.
    var origin: OriginID?
    var place = 0
    var transactions: [TransactionMetrics] = []
    var requestStartedAt: WallTime
    var body: BodySource?
    /// SHA-256 of the body as it was sent, where it all went out in one request.
    var bodyDigest: Checksum?
    /// The same file as an earlier run sent it to the same URL.
    var sentBefore: SentUpload?
    /// A server answered before it had anything of it.
    var untouchedStream: BodyStream?
    /// `nil` where the task says nothing of one.
    var plannedBody: PlannedBody?
    /// How much of the present request's body was told of.
    var toldSent: Int64 = 0
    /// Of the request that ended last, as the transport says.
    var lostAnswer = false
    var idleLimit: TimeSpan

    /// In the transfer's place where a command answers; how many were asked.
    var command: CommandTransfer?
    var askedCommands = 0

    // Notes from libcurl's calls.
    var head: ResponseHead?
    /// What a proxy said that opened no tunnel.
    var refusedTunnel: ResponseHead?
    var received: Int64 = 0
    /// Of the present request's answer, as it came over the wire.
    private(set) var arrived: Int64 = 0
    var endedByUs = false
    var hasNewHead = false
    /// A 104 came.
    var hasNewPlace = false
    var unreportedBytes: Int64 = 0
    var sentSomething = false
    /// The present one, or the last.
    var requestWasSent = false

    /// Where its task has a `minimumRate`.
    var rateFloor: RateFloor?

    // Under a `bandwidth`.
    /// Bytes that it may still move; `nil` is any number. What was read at once may exceed it.
    private(set) var credit: Int64?
    private(set) var pausedAt: Instant?
    private(set) var bandwidthWait = TimeSpan.zero
    /// Connections for its request alone.
    var ownPool: EngineSession.OwnPool?
    /// The network of its connection went away under it.
    var lostNetwork = false
    /// While somebody was asked who to be.
    var askedAt: Instant?
    private(set) var credentialWait = TimeSpan.zero

    // The result.
    var result: AttemptResult?
    var staging: StagingID
    var destination: Destination?
    /// What the download shall be, once that is known.
    var checksum: Checksum?
    /// The file of checksums that it is getting.
    var lookup: ChecksumFiles.Key?
    /// The life of the download, while that of the checksum file's request goes on.
    private var waitingLife: AttemptLife?
    /// The body so far when it is short, then a buffer of the pool at a time.
    private var start: [UInt8] = []
    private var buffer: BodyBuffer?
    private(set) var decision = HeadDecision.discard
    /// By what the rest of this answer could be asked for, and how long the whole is.
    private(set) var continuation: ResumePoint?
    /// `nil` where the run may move as much as it likes.
    var ledger: ByteLedger?
    /// What is left of the run is too little for its body.
    var isForNextRun = false
    var kept: [UInt8] = []
    /// Of an answer that came packed.
    var decoder: Decoder?
    /// Why the rest of the body was not read.
    var bodyFailure: TransferError?
    var file: FileRecord?
    var flushStartedAt: Instant?
    var lengthUnverified = false
    /// What its answer is known by is for the next run.
    var isKept = false
    /// By what the file that stands there may be known again.
    var validators: KeptValidators?
    /// What an earlier run left of it, until that was looked at.
    var part: ResumeRecord?
    /// What is there of it when it breaks off is for the next run.
    var leavesPart = false
    /// What was written of it is gone.
    var isLost = false
    /// The file as it was when the server was asked about it.
    var asked: FileStamp?
    /// The file that may be adopted, as it was when the server was asked about it.
    var foreign = ForeignFileCandidate.unknown
    /// Once is enough to see whether the file has the sum that was kept.
    var wasRead = false
    /// What stands at the destination is as it shall be.
    var keepsExisting = false
    var lastProgressAt: Instant
    /// Bytes moved since that no event has told.
    var owesProgress = false
    let rules: AttemptRules
    /// Of the first request; a redirect may take some off.
    let headerLines: [String]
    var hasNews = false
    /// While several streams bring its body, or may.
    var parts: SegmentedBody?
    /// What several streams brought was of no use.
    var takesOneStream = false
    /// More than one had to do with what is there of it.
    var isOfSeveralStreams = false
    private unowned let loop: any TransferLoop
    private let news: News
    let outbox: Outbox
    let pool: BufferPool

    /// A body that nobody wants is read to its end when that keeps the connection, up to here.
    static let longestDiscard: Int64 = 64 << 10

    init(
        task: TaskIndex, number: Int, mirror: Int, specification: TaskSpecification, session: EngineSession,
        url: ResourceURL,
        staging: StagingID, resume: ResumePoint?, rate: Int64?, news: News, outbox: Outbox, pool: BufferPool,
        loop: any TransferLoop,
        now: Now
    ) {
        self.task = task
        self.number = number
        self.mirror = mirror
        self.specification = specification
        self.session = session
        self.staging = staging
        self.loop = loop
        self.news = news
        self.outbox = outbox
        self.pool = pool
        self.rate = rate
        rules = session.rules(for: specification, task, isMetered: rate != nil)
        life = AttemptLife(url, rules, resume: resume)
        life.tracing = session.tracing(attempt: number, of: specification.id)
        headerLines = session.headerLines
        startedAt = now
        requestStartedAt = now.wall
        lastProgressAt = now.instant
        idleLimit = specification.options.values.policies.timeoutForRequest
        rateFloor = specification.options.values.policies.minimumRate.map { RateFloor($0) }
        if rate != nil { credit = 0 }
    }

    /// The lowest `bandwidth` it is under.
    let rate: Int64?

    /// What stands for headers where there is no connection: the type that a name or a URL gives.
    var sourceHeaders: HeaderBlock?

    // What was found in its answer, where the task asks for something.
    var answer: ExaminedAnswer?
    /// What its headers missed, while its body is looked into for what that misses.
    var missedHead: TransferError?
    /// Its answer comes in parts.
    var mixed: MixedAnswer?
    /// What is told of it once it is known what in it is secret; `nil`: at once.
    var heldEvents: [Event.Kind]?

    /// Of an answer that continues what is there.
    private var partDigest: PartDigest?

    /// Why that answer's bytes are not those that its server sent.
    var partMiss: TransferError? { partDigest?.miss(length: received) }

    // What the session's cache has to do with it.
    var cacheTurn: CacheTurn?
    /// No cache answers this request, or keeps its answer.
    var passesCache = false
    /// Whether the last answer was kept; `nil` where there was none to keep.
    var cacheNote: CacheRecord?
    /// The cache is not asked any more.
    var ignoresCache = false
    /// The present answer comes from the cache, and its body has this length.
    var isFromCache = false
    var heldLength: Int64?
    /// Where the present answer comes from, if not from the network alone.
    var source: ResultSource?
    /// Of the present request: the cache may ask with another than the task's.
    var sentMethod: String?

    /// Whether it can go on now and could not before.
    func add(credit bytes: Int64, at now: Instant) -> Bool {
        guard let credit else { return false }
        self.credit = credit + bytes
        guard credit + bytes > 0 else { return false }
        return endPause(at: now)
    }

    /// Whether it stood still for want of credit.
    @discardableResult
    func endPause(at now: Instant) -> Bool {
        guard let since = pausedAt else { return false }
        bandwidthWait += now - since
        pausedAt = nil
        return true
    }

    func endAsking(at now: Instant) {
        guard let since = askedAt else { return }
        credentialWait += now - since
        askedAt = nil
    }

    func takeUntouchedStream() -> BodyStream? {
        defer { untouchedStream = nil }
        return untouchedStream
    }

    // MARK: The request for a checksum file

    /// Whether the present request is for a checksum file and not for what the task wants.
    var isLookingUp: Bool { waitingLife != nil }

    func beginLookup(_ life: AttemptLife) {
        waitingLife = self.life
        life.tracing = self.life.tracing
        self.life = life
    }

    func endLookup() {
        lookup = nil
        kept = []
        guard let life = waitingLife else { return }
        self.life = life
        waitingLife = nil
        received = 0
        head = nil
    }

    /// Whether it has nothing left to move bytes with; it stands still from now on.
    func isOutOfCredit() -> Bool {
        guard let credit, credit <= 0 else { return false }
        if pausedAt == nil { pausedAt = loop.now }
        return true
    }

    /// Ready for the next request of the same attempt.
    func beginRequest(at now: Now) {
        rateFloor?.restart()
        (head, refusedTunnel) = (nil, nil)
        (received, arrived) = (0, 0)
        endedByUs = false
        hasNewHead = false
        decision = .discard
        _ = takeRest()
        kept = []
        mixed = nil
        destination?.sent = nil
        (partDigest, decoder) = (nil, nil)
        bodyFailure = nil
        requestStartedAt = now.wall
    }

    /// What is not yet handed over.
    func takeRest() -> BodyPiece {
        defer {
            start = []
            buffer = nil
        }
        return buffer.map { .buffer($0) } ?? .bytes(start)
    }

    func noteNews() {
        guard !hasNews else { return }
        hasNews = true
        news.add(self)
    }

    // MARK: TransferReceiver

    /// This turn's time, as the clock on the wall would have it had nobody set it since.
    private var answerTime: WallTime { startedAt.wall + (loop.now - startedAt.instant) }

    func received(head: ResponseHead) -> Bool {
        noteNews()
        self.head = head
        hasNewHead = true
        sentSomething = true
        let headTime = answerTime
        if cacheTurn != nil, isForTheCache(head, at: headTime) {
            life.learn(head.headers, sessionState: &session.lore, at: headTime)
            decision = .discard
            return true
        }
        if let body { life.noteSent(body.start + body.sent) }
        let resume = life.resume
        decision = life.head(
            status: head.status, version: head.version, headers: head.headers,
            heldLength: isFromCache ? heldLength : nil, sessionState: &session.lore, at: headTime)
        let hasLostPart = resume != nil && life.resume == nil
        if hasLostPart { outbox.add(.discard(staging)) }
        continuation = nil
        let bringsFile = decision == .keep && life.type == .download && !life.isDeclined
        if bringsFile, !isFromCache { noteContinuation(head) }
        if decision == .keep, !(isDownload && life.isDeclined), ledger != nil {
            bodyFailure = claimAnswer(
                hasLostPart: hasLostPart && (continuation?.validator).isExactly(resume?.validator))
            if bodyFailure != nil { decision = .abort }
        }
        if decision == .keep, !life.codings.isEmpty, !beginDecoding() { decision = .abort }
        if decision == .keep, !isDownload, life.hasBody { mixed = MixedAnswer(head.headers) }
        if decision == .keep, bringsFile, !takeRuleTarget() { decision = .abort }
        if decision == .abort { endedByUs = true }
        if cacheTurn != nil { prepareCacheCopy(head) }
        if decision == .keep, bringsFile {
            destination?.sent = life.offset > 0 ? life.resume?.sent : life.sentDigest
            if life.offset > 0 { partDigest = PartDigest(head.headers, whole: life.resume?.sent) }
            if destination?.mode != nil, life.offset == 0 { outbox.add(.conceal(staging)) }
            if leavesPart, continuation != nil, (life.announcedLength ?? .max) >= PartFile.leastLeft {
                outbox.add(.keepPart(staging, task))
            }
            if !asksForItsName { announceLength() }
            let length = life.announcedLength ?? (16 << 10)
            if length > BodyBuffer.capacity {
                buffer = pool.take()
            } else {
                start.reserveCapacity(Int(length))
            }
        }
        return decision != .abort
    }

    func received(interim headers: HeaderBlock) -> Bool {
        noteNews()
        if let body { life.noteSent(body.start + body.sent) }
        hasNewPlace = true
        endedByUs = !life.interim(headers, at: answerTime)
        return !endedByUs
    }

    func received(file: FTPFacts) -> Bool {
        let answer = FTPAnswer.head(
            length: file.length, modified: file.modified, offset: file.offset, refusesOffset: file.refusesOffset,
            now: answerTime)
        var head = ResponseHead(status: answer.status, version: .http1, headers: answer.headers)
        head.isHTTP = false
        return received(head: head)
    }

    /// So many bytes of a body came.
    func spend(_ count: Int) {
        noteNews()
        if let credit { self.credit = credit - Int64(count) }
        self.count(moved: count)
    }

    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        // What never was on a line costs no bandwidth.
        if !isFromCache {
            if isPastBudget || isOutOfCredit() { return .pause }
            spend(bytes.count)
            arrived += Int64(bytes.count)
        }
        received += Int64(bytes.count)
        partDigest?.update(bytes)
        cacheTurn?.copy?.append(contentsOf: bytes)
        switch decision {
        case .keep where life.isDeclined && isDownload: return keepErrorPage(bytes)
        case .keep:
            if let most = life.receivableSize, life.offset + received > most {
                endedByUs = true
            } else if life.watchesBody, !life.began(bytes) {
                continuation = nil
                endedByUs = true
            } else if let parts {
                return receivedFirst(bytes, parts)
            } else if life.type == .download {
                coalesce(bytes)
            } else if !keep(bytes) || mixed != nil && !scanParts() {
                endedByUs = true
            }
            return endedByUs ? .stop : .taken
        case .discard:
            if received > Self.longestDiscard { endedByUs = true }
            return endedByUs ? .stop : .taken
        case .abort:
            return .stop
        }
    }

    /// What stands under the name that the answer gives is to stay: that is asked first (`Engine.inspectName`).
    var asksForItsName: Bool {
        guard let destination, destination.path.hasSuffix("/") else { return false }
        return destination.existing == .skip || destination.existing == .fail
    }

    /// A body for which there is no room fails before it is received. What of it was handed over takes its room already.
    func announceLength() {
        guard !isLookingUp, let destination, let length = life.announcedLength,
            length >= 1 << 20 || destination.reserve > 0
        else { return }
        let handedOver = received - Int64(start.count + (buffer?.count ?? 0))
        outbox.add(
            .announce(
                staging, task, folder: destination.folder,
                path: destination.group == nil && !destination.toStandardOutput ? destination.path : nil,
                length: length - life.offset - handedOver, reserve: destination.reserve))
    }

    private func noteContinuation(_ head: ResponseHead) {
        let options = specification.options
        guard specification.type == .download, life.target == nil, options.values.resume != .no,
            options.values.decompress == .no, life.request.method == "GET", !life.asksForPart,
            head.status == 200 || life.offset > 0
        else { return }
        let url = life.request.url.text
        let told = life.fileHeaders ?? head.headers
        let begun = life.offset > 0 ? life.resume : nil
        let validator =
            begun.map { Resuming.validator(head.headers, continuing: $0) } ?? Resuming.validator(head.headers)
        continuation = validator.map {
            ResumePoint(
                url: url, offset: 0, validator: $0, total: life.announcedLength,
                asked: life.asked(told, key: .random(in: 0 ... .max)), headers: told,
                isForeign: begun?.isForeign ?? false)
        }
    }

    /// What is said of the result: of a file that this answer only completes, what the first one said too.
    var saidHeaders: HeaderBlock? { life.fileHeaders ?? head?.headers ?? sourceHeaders }

    /// What the next attempt can go on from; `nil` when it must begin at 0.
    var resumePoint: ResumePoint? {
        // A beginning that was not seen whole could not be judged when it is continued.
        if prefix > life.offset, !life.watchesBody, let point = continuationPoint { return point }
        return life.resume
    }

    /// What came of this answer is nothing to go on from.
    func cannotGoOn() { continuation = nil }

    /// Several requests for parts of it did not: the next is for all of it.
    func rangesBroughtNothing() { continuation?.unanswered = ResumePoint.mostUnanswered }

    /// How this answer could be continued from the byte that comes next.
    var continuationPoint: ResumePoint? {
        guard var point = continuation else { return nil }
        // Only now: most files come whole.
        point.headers = Resuming.kept(point.headers)
        (point.url, point.offset, point.sent) = (life.request.url.text, prefix, destination?.sent)
        return point
    }

    /// Everything received is handed over; the staging stays.
    func handOverRest() { hand(takeRest()) }

    /// The buffer while there is room in it, else another: a full one goes to a delivery thread.
    private func withRoom(_ buffer: BodyBuffer) -> BodyBuffer {
        if buffer.space > 0 { return buffer }
        hand(.buffer(buffer))
        return pool.take()
    }

    /// The one copy that a byte of a body makes in this process. A long body is handed over in whole buffers: one that
    /// begins at 0 writes each page of the file once.
    func coalesce(_ bytes: UnsafeRawBufferPointer) {
        if buffer == nil, start.count + bytes.count <= BodyBuffer.capacity { return start.append(copying: bytes) }
        var rest = bytes
        var current: BodyBuffer
        if let buffer {
            current = buffer
        } else {
            let room = BodyBuffer.capacity - start.count
            start.append(copying: UnsafeRawBufferPointer(rebasing: bytes[..<room]))
            rest = UnsafeRawBufferPointer(rebasing: bytes[room...])
            hand(.bytes(start))
            start = []
            current = pool.take()
        }
        while rest.count > 0 {
            current = withRoom(current)
            rest = current.fill(rest)
        }
        buffer = current
    }

    /// `at`: where it belongs when it does not follow what was handed over before.
    func hand(_ piece: BodyPiece, at offset: Int64? = nil) {
        guard let destination, piece.count > 0 else { return }
        outbox.add(
            .append(
                staging, folder: destination.folder, algorithm: destination.checksum?.algorithm,
                sent: destination.sent?.checksum.algorithm, group: destination.group, reserve: destination.reserve,
                at: offset, piece))
    }

    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        if isSendingPastBudget || isOutOfCredit() { return .pause }
        let most = min(Int64(buffer.count), credit ?? .max)
        guard let body else { return .stop }
        let filled = body.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(most)]))
        guard case .bytes(let count) = filled else {
            if let wanted = body.takeWanted() { outbox.add(.fetch(task, path: wanted.path, wanted.range)) }
            return filled
        }
        noteNews()
        if let credit { self.credit = credit - Int64(count) }
        sentSomething = true
        self.count(moved: count)
        return .bytes(count)
    }

    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool {
        // Only what may be sent twice is sent again by libcurl, or what was refused before. What must not be repeated has a
        // connection of its own: over that libcurl repeats nothing but what the server refused.
        guard HTTPMethod.isIdempotent(life.request.method) || life.provesConnection || !isUnanswered, let body else {
            return false
        }
        return body.rewind(to: offset)
    }
}
