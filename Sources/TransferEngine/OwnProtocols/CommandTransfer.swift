import AttemptLife
import Codecs
import CurlCore
import SystemIO
import TextFormats
import TransferModel

/// A command that answers one request of an attempt. The loop waits for its streams with all the others; here they are
/// moved, a piece at a time, by the same calls that libcurl makes.
final class CommandTransfer {
    let attempt: Attempt
    /// As a person may see it.
    let words: String
    let program: RunningCommand
    let request: OutgoingRequest
    let startedAt: Now
    private(set) var answer = CommandAnswer()
    private(set) var lastActivity: Instant
    private(set) var sentAt: Instant?
    private(set) var answeredAt: Instant?
    private(set) var headBytes: Int64 = 0
    /// What does not fit into the pipe.
    private var unsent: ArraySlice<UInt8>
    private var hasUnsentBody: Bool
    private var takesBody = true
    /// Why nothing more is wanted of it; libcurl's transfers know the same by `endedByUs`.
    private(set) var failure: TransferError?

    private static let pieceSize = 64 << 10
    /// So much of one answer is taken in one turn: others wait meanwhile.
    private static let piecesInATurn = 8

    init(
        _ command: Command, words: String, _ request: OutgoingRequest, _ text: [UInt8], _ attempt: Attempt, at now: Now
    ) throws(SystemError) {
        self.attempt = attempt
        self.words = words
        self.request = request
        startedAt = now
        lastActivity = now.instant
        unsent = text[...]
        hasUnsentBody = request.sendsBody
        program = try RunningCommand(command)
    }

    /// Small enough under a `bandwidth` that what is moved at once is no burst.
    private var pieceSize: Int {
        attempt.bandwidth.rate.map { Int(min(Int64(Self.pieceSize), max(1 << 10, $0 / 100))) } ?? Self.pieceSize
    }

    // MARK: Waiting

    /// When it has moved no byte for as long as it may.
    var silenceDue: Instant { lastActivity + attempt.transport.idleLimit }

    /// What ends the loop's wait. What stands still for want of bandwidth is not waited for.
    var entries: [PollEntry] {
        var entries: [PollEntry] = []
        if program.output == nil { entries.append(program.end) }
        if !unsent.isEmpty || mayFill, let input = program.input { entries.append(input) }
        if !attempt.bandwidth.isPaused, let output = program.output { entries.append(output) }
        if let errors = program.errors { entries.append(errors) }
        return entries
    }

    /// The body's next piece is there, as far as is known.
    private var mayFill: Bool { hasUnsentBody && !isBodyPaused && !attempt.bandwidth.isPaused }
    /// Whoever makes the body has none of it now, and ends the loop's wait when there is.
    private var isBodyPaused = false

    /// Time in which it was to stand still is none in which it was silent.
    func goOn(at now: Instant) { lastActivity = now }

    // MARK: Moving

    /// `false` when it is over, or nothing more is wanted of it.
    func move(at now: Instant) -> Bool {
        program.drainErrors()
        feed(at: now)
        return failure == nil && readOutput(at: now)
    }

    private func feed(at now: Instant) {
        isBodyPaused = false
        for _ in 0..<Self.piecesInATurn {
            guard program.input != nil else { return }
            if unsent.isEmpty { refill() }
            if unsent.isEmpty { break }
            let count = unsent.withUnsafeBytes { program.write($0) }
            if count == 0 { return }
            lastActivity = now
            unsent = unsent.dropFirst(count)
        }
        // An end of its input would tell it that this was all.
        if unsent.isEmpty, !hasUnsentBody, failure == nil {
            program.closeInput()
            if sentAt == nil { sentAt = now }
        }
    }

    private func refill() {
        guard hasUnsentBody, failure == nil else { return }
        let piece = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, count in
            switch attempt.fillBody(UnsafeMutableRawBufferPointer(buffer)) {
            case .bytes(0): hasUnsentBody = false
            case .bytes(let filled): count = filled
            case .pause: isBodyPaused = !attempt.bandwidth.isPaused
            case .stop:
                hasUnsentBody = false
                failure =
                    attempt.sending.body?.failure ?? TransferError(.cannotOpenFile, "the request's body cannot be read")
            }
        }
        unsent = piece[...]
    }

    private func readOutput(at now: Instant) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: pieceSize, alignment: 16) { buffer in
            for _ in 0..<Self.piecesInATurn {
                if attempt.isOutOfCredit() { return true }
                guard let count = program.read(into: buffer), count > 0 else { return true }
                // A body where there is to be none is passed over, and the patience with it has an end.
                if takesBody { lastActivity = now }
                guard outputReceived(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: now) else { return false }
            }
            return true
        }
    }

    private func outputReceived(_ bytes: UnsafeRawBufferPointer, at now: Instant) -> Bool {
        var body = bytes
        if !answer.isComplete {
            do throws(TransferError) {
                let (head, taken) = try answer.take(bytes)
                headBytes += Int64(taken)
                guard let head else { return true }
                answeredAt = now
                takesBody = CommandAnswer.hasBody(status: head.status, method: attempt.life.request.method)
                let heard = ResponseHead(status: head.status, version: .http1, headers: head.headers)
                guard attempt.received(head: heard) else { return false }
                body = UnsafeRawBufferPointer(rebasing: bytes[taken...])
            } catch {
                failure = error
                return false
            }
        }
        guard takesBody, !body.isEmpty else { return true }
        switch attempt.received(body: body) {
        case .taken: return true
        // It never pauses: credit was there when this was read.
        case .pause, .stop: return false
        }
    }

    // MARK: Its end

    /// What it wrote may not all be read.
    var hasEnded: Bool { program.hasEnded }

    /// Why no byte moves, in words.
    var silence: String {
        if program.output == nil { return "`\(words)` closed its output and did not end" }
        if !takesBody, !hasEnded { return "`\(words)` did not end after an answer without a body" }
        return hasEnded ? "`\(words)` has ended, and what it started keeps its output open" : "`\(words)` is silent"
    }

    /// As far as is known before the program's end.
    func metrics(at now: Instant) -> TransactionMetrics {
        let life = attempt.life
        var transaction = TransactionMetrics(
            method: attempt.exchange.sentMethod ?? life.request.method, url: life.request.url.text,
            fetchStart: startedAt.wall)
        func wall(_ instant: Instant) -> WallTime { startedAt.wall + (instant - startedAt.instant) }
        // Where it gets its answer from is its own affair.
        transaction.fetchType = .unknown
        transaction.requestStart = startedAt.wall
        transaction.requestEnd = sentAt.map(wall)
        transaction.responseStart = answeredAt.map(wall)
        transaction.responseEnd = answeredAt == nil ? nil : wall(now)
        transaction.status = attempt.exchange.head?.status
        transaction.requestBodyBytesSent = attempt.sending.body?.sent ?? 0
        transaction.requestBodyBytesBeforeEncoding = transaction.requestBodyBytesSent
        transaction.responseHeaderBytesReceived = headBytes
        transaction.responseBodyBytesReceived = attempt.exchange.received
        transaction.responseBodyBytesAfterDecoding = attempt.exchange.decoder?.written ?? attempt.exchange.received
        return transaction
    }
}

/// What a command is told, on one line, before the body.
enum CommandRequest {
    static func text(_ request: OutgoingRequest, bodyLength: Int64?) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        writer.beginObject()
        writer.key("version")
        writer.integer(1)
        writer.key("method")
        writer.string(request.method)
        writer.key("url")
        writer.string(request.url.text)
        writer.key("headers")
        writer.beginArray()
        for header in request.headers {
            writer.beginArray()
            writer.string(header.name)
            writer.string(header.value.revealed)
            writer.endArray()
        }
        writer.endArray()
        writer.key("bodyLength")
        if let bodyLength { writer.integer(bodyLength) } else { writer.null() }
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
