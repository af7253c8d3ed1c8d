import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// A download's body while several streams bring it: the answer to its ordinary request, and further ones beside it.
final class SegmentedBody {
    var plan: SegmentPlan
    /// The validator of the first answer: every other is held against it.
    let validator: String
    /// The further streams under way.
    var segments: [Segment] = []
    /// Slots that were lent and have no stream yet.
    var loans = 0
    /// How many the scheduler believes could be used.
    var told = 0
    /// Why the last stream that ended early did, and what it was answered with if that was why.
    var lastError: TransferError?
    var lastDecline: ResponseHead?
    /// When the last stream that is over was done.
    var lastActivity: Instant
    /// The answer to the ordinary request was fine, and none to a request for a part brought a byte.
    var mayBeTheRanges: Bool { firstIsDone && !hasPart }
    var firstIsDone = false
    var hasPart = false

    init(_ plan: SegmentPlan, validator: String, now: Instant) {
        self.plan = plan
        self.validator = validator
        lastActivity = now
    }
}

/// A further request of an attempt, for a part of its file. libcurl's calls change this object, its attempt's plan and
/// the outbox.
final class Segment: TransferReceiver {
    let id: SegmentPlan.StreamID
    let request: PartRequest
    let startedAt: WallTime
    let attempt: Attempt
    private let body: SegmentedBody
    var transfer: TransferID?
    var head: ResponseHead?
    var hasNewHead = false
    /// What its answer is; `nil` while there is none.
    private(set) var verdict: PartRequest.Verdict?
    private(set) var received: Int64 = 0
    private(set) var endedByUs = false
    /// Its answer ends by itself where the part does.
    private var isExact = false
    /// What is not yet handed over, and where its first byte belongs.
    private var buffer: BodyBuffer?
    private var place: Int64
    private var digest: PartDigest?

    init(_ id: SegmentPlan.StreamID, _ request: PartRequest, of attempt: Attempt, _ body: SegmentedBody, now: Now) {
        self.id = id
        self.request = request
        self.attempt = attempt
        self.body = body
        startedAt = now.wall
        place = request.range.lowerBound
    }

    func received(head: ResponseHead) -> Bool {
        attempt.noteNews()
        self.head = head
        hasNewHead = true
        verdict = judge(head)
        guard verdict == .part else {
            endedByUs = true
            return false
        }
        digest = PartDigest(head.headers, whole: attempt.download.destination?.sent)
        return true
    }

    private func judge(_ head: ResponseHead) -> PartRequest.Verdict {
        let verdict = request.judge(status: head.status, head.headers)
        guard verdict == .part else { return verdict }
        guard let framing = try? BodyFraming.of(head.headers, status: 206, method: "GET", version: head.version) else {
            return .noRanges(why: "nobody can tell where the range that the server sent ends")
        }
        if case .length(let length) = framing {
            isExact = length == Int64(request.range.count)
            if !isExact {
                return .noRanges(why: "the server announced \(length) bytes for a range of \(request.range.count)")
            }
        }
        return .part
    }

    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        if attempt.isPastBudget || attempt.isOutOfCredit() { return .pause }
        attempt.spend(bytes.count)
        received += Int64(bytes.count)
        digest?.update(bytes)
        let taken = body.plan.received(bytes.count, by: id)
        keep(UnsafeRawBufferPointer(rebasing: bytes[..<taken.count]))
        guard taken.mustStop || taken.isDone && !isExact else { return .taken }
        endedByUs = true
        return .stop
    }

    func received(framing count: Int) -> BodyReply {
        let reply = attempt.received(framing: count)
        if case .stop = reply { endedByUs = true }
        return reply
    }

    private func openBuffer() -> BodyBuffer {
        let open = buffer ?? attempt.takeBuffer()
        buffer = open
        return open
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while rest.count > 0 {
            let current = openBuffer()
            rest = current.fill(rest)
            if current.space == 0 { handOver() }
        }
    }

    /// Bytes that were not handed over yet.
    var held: Int { buffer?.count ?? 0 }

    /// What came goes to where it belongs in the file.
    func handOver() {
        guard let buffer else { return }
        self.buffer = nil
        let offset = place
        place += Int64(buffer.count)
        attempt.hand(.buffer(buffer), at: offset)
    }

    /// Why its bytes are not those that the server sent.
    var miss: TransferError? { digest?.miss(length: Int64(request.range.count)) }

    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill { .stop }
    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool { false }
}

/// The downloads whose body comes in several streams, or may.
struct SegmentedDownloads {
    private(set) var attempts: [Attempt] = []
    /// Whether slots were lent that are not used yet.
    var haveLoans = false

    var isEmpty: Bool { attempts.isEmpty }

    mutating func add(_ attempt: Attempt) { attempts.append(attempt) }
    mutating func remove(_ attempt: Attempt) { attempts.removeAll { $0 === attempt } }
}
