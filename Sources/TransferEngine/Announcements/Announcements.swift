import AttemptLife
import CurlCore
import HTTPRules
package import TransferModel

/// Tells of attempts whose requests go on: the heads of their answers and their progress.
package final class Announcements: Participant {
    let core: EngineCore
    /// Time of the next progress event that was delayed because it came too soon.
    private(set) var progressDue = Instant.distantFuture
    private var lastType: (text: String, type: MediaType?) = ("", nil)

    init(_ core: EngineCore) { self.core = core }

    /// Holds the attempt's events back if its body is still to reveal a secret that a redirect or the headers may
    /// repeat.
    func holdBackIfHiding(_ attempt: Attempt) {
        if attempt.rules.answer?.hidesSomethingInBody == true, attempt.inspection.heldEvents == nil {
            attempt.inspection.heldEvents = []
        }
    }

    /// Emits the events that were held back: the secrets in the body are known, or will not be.
    func tellHeld(_ attempt: Attempt) {
        let held = attempt.inspection.heldEvents ?? []
        attempt.inspection.heldEvents = nil
        // An error page need not contain the secret that the expected answer would, and its headers help to find the
        // cause.
        let isWithheld = lacksSecret(attempt) && !attempt.life.isDeclined
        for kind in held {
            if isWithheld, case .response(let record) = kind {
                core.emit(.response(Self.withoutHeaders(record)), attempt)
            } else {
                core.emit(kind, attempt)
            }
        }
    }

    /// Whether the body was to contain a secret and it was not found there.
    func lacksSecret(_ attempt: Attempt) -> Bool {
        guard attempt.rules.answer?.hidesSomethingInBody == true else { return false }
        return attempt.inspection.answer?.isDone != true || attempt.inspection.answer?.findings.withholdsBody == true
    }

    private static func withoutHeaders(_ record: ResponseRecord) -> ResponseRecord {
        let isNamed = record.headers.first("content-disposition") != nil
        return ResponseRecord(
            status: record.status, url: record.url, method: record.method, mimeType: record.mimeType,
            charset: record.charset, expectedLength: record.expectedLength,
            suggestedFilename: isNamed ? nil : record.suggestedFilename, contentEncoding: record.contentEncoding,
            headers: HeaderMask.masked(record.headers))
    }

    /// Tells the scheduler and the log what came in this turn.
    func reportProgress(_ attempt: Attempt) {
        attempt.unreported.isListed = false
        if attempt.unreported.hasUploadPlace { participants.uploads.keepUpload(attempt) }
        // The end of a sent body is reported before its answer: where both came in one turn, by `complete`.
        if attempt.exchange.hasNewHead, attempt.sending.body == nil || !participants.bodies.hasEnded(attempt) {
            announce(attempt)
        }
        if attempt.exchange.mixed != nil, !attempt.exchange.hasNewHead { tellParts(attempt) }
        if let parts = attempt.streams.segmented { participants.segments.announceSegments(attempt, parts) }
        guard attempt.unreported.bytes > 0 else { return }
        participants.bodies.tellSentBody(attempt)
        core.reports.append(.moved(attempt.task, bytes: attempt.unreported.bytes))
        attempt.unreported.bytes = 0
        // The limit is five events a second: one is left for the end of a sent body.
        let isSending = attempt.sending.body != nil && attempt.exchange.head == nil
        if core.now.instant - attempt.unreported.lastEventAt >= .milliseconds(isSending ? 250 : 200) {
            return emitProgress(attempt)
        }
        attempt.unreported.owesEvent = true
        progressDue = min(progressDue, attempt.unreported.lastEventAt + Self.lateProgress)
    }

    /// Longest delay of a progress event that came soon after another.
    private static let lateProgress = TimeSpan.milliseconds(250)

    /// Emits progress that was held back because it came too soon after the last.
    func tellLateProgress() {
        guard progressDue <= core.now.instant else { return }
        progressDue = .distantFuture
        for attempt in core.active.attempts where attempt.unreported.owesEvent {
            let due = attempt.unreported.lastEventAt + Self.lateProgress
            if due <= core.now.instant { emitProgress(attempt) } else { progressDue = min(progressDue, due) }
        }
    }

    /// Emits how far the body is.
    func emitProgress(_ attempt: Attempt) {
        attempt.unreported.lastEventAt = core.now.instant
        attempt.unreported.owesEvent = false
        if attempt.sending.body != nil, attempt.exchange.head == nil {
            participants.bodies.tellSent(attempt)
        } else if attempt.bodyReceived > 0, attempt.life.isFinalAnswer, !attempt.isLookingUp {
            core.emit(
                .receivedData(
                    Event.Progress(
                        bytes: attempt.life.offset + attempt.bodyReceived, expected: attempt.life.announcedLength)),
                attempt
            )
        }
    }

    /// Progress of a running task, for its status.
    package struct Progress {
        /// Bytes of the answer's body, resumed ones included; 0 before the final answer.
        package var received: Int64 = 0
        /// Bytes of the request's body, resumed ones included.
        package var sent: Int64 = 0
        /// Length of the body under way in bytes: the answer's once its headers came, else the request's; `nil` if
        /// unknown.
        package var expected: Int64?
        /// Whether the attempt is paused until a credential was looked up.
        package var awaitsCredential = false
        /// Why the attempt does not go on with what earlier ones left; `nil` where it does, or nothing was left.
        package var startedOver: String?
    }

    /// Returns the task's progress; all zero when no attempt is under way.
    package func progress(of task: TaskIndex) -> Progress {
        guard let attempt = core.attempt(of: task) else { return Progress() }
        var progress = Progress()
        progress.sent = attempt.sending.reported
        if attempt.life.isFinalAnswer, !attempt.isLookingUp {
            progress.received = attempt.life.offset + attempt.bodyReceived
            progress.expected = attempt.life.announcedLength
        } else {
            progress.expected = attempt.sending.body?.total
        }
        progress.startedOver = attempt.life.startedOver.map { core.redacted($0) }
        if case .awaitingCredential = attempt.phase { progress.awaitsCredential = true }
        return progress
    }

    /// The headers of an answer were read: if it is the result, that is an event.
    func announce(_ attempt: Attempt) {
        attempt.exchange.hasNewHead = false
        guard let head = attempt.exchange.head else { return }
        if attempt.sending.body != nil { participants.bodies.tellSent(attempt) }
        // The rest of the request's body is not wanted: libcurl need not wait until a command has produced more of it.
        if head.status >= 300, attempt.sending.body?.stream != nil, let transfer = attempt.transport.transfer {
            core.loop.resume(transfer)
        }
        participants.credentials.tellChallenges(attempt)
        if attempt.origin != nil {
            let quota = RateLimit.quota(head.headers, now: core.now.wall)
            core.reports.append(.answered(attempt.task, Answer(status: head.status, quota: quota)))
        }
        if attempt.life.request.mayUseHTTP2, let origin = attempt.origin,
            participants.connections.policy.recordVersion(head.version, of: origin)
        {
            core.reports.append(.protocolIs(origin, head.version))
        }
        if head.wasAskedForCertificate { participants.connections.tellOfCertificate(attempt) }
        tellResponse(attempt, head)
    }

    /// Emits the response event, for the final answer only.
    func tellResponse(_ attempt: Attempt, _ head: ResponseHead) {
        guard attempt.life.isFinalAnswer, !attempt.isLookingUp else { return }
        // The result is what was fetched; a store only tells when it refuses that.
        if attempt.object?.isAtStore == true, (200..<300).contains(head.status) { return }
        participants.answers.learnSecretsOfHead(attempt, head.headers)
        participants.headReceived(attempt)
        if attempt.life.offset > 0 {
            let progress = Event.Progress(bytes: attempt.life.offset, expected: attempt.life.announcedLength)
            core.emit(.resumedAtOffset(progress), attempt)
        }
        holdBackIfHiding(attempt)
        // Of a multipart answer each part's headers are an event, the first part's too once they are complete.
        if attempt.exchange.mixed == nil {
            core.emit(response(attempt, head, head.headers, announcedLength(attempt, head)), attempt)
        }
        noteBecoming(attempt)
    }

    /// The announced length of the body. A HEAD gets no body: the length in its headers is the result.
    private func announcedLength(_ attempt: Attempt, _ head: ResponseHead) -> Int64? {
        guard head.isHTTP, attempt.life.request.method == "HEAD" else { return attempt.life.announcedLength }
        return head.headers.first("content-length").flatMap { text in
            text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
        }
    }

    /// Emits that a rule of `onResponse` makes a download of the task.
    func noteBecoming(_ attempt: Attempt) {
        if attempt.life.target != nil, attempt.specification.type == .data { core.emit(.becameDownload, attempt) }
    }

    /// Makes the response event. `headers`: the answer's, or those of one of its parts.
    func response(
        _ attempt: Attempt, _ head: ResponseHead, _ headers: HeaderBlock, _ length: Int64?
    ) -> Event.Kind {
        let url = attempt.life.request.url
        let type = mediaType(headers)
        return .response(
            ResponseRecord(
                status: head.isHTTP ? head.status : nil, url: url.text, method: attempt.life.request.method,
                mimeType: head.isHTTP ? type?.type : participants.publication.fileType(url), charset: type?.charset,
                expectedLength: length,
                suggestedFilename: SuggestedFilename.of(headers, url: url),
                contentEncoding: ContentEncoding.text(headers),
                headers: head.isHTTP ? CookieMask.masked(headers) : .empty))
    }

    /// Parses the type. Of ten thousand answers most have one type: it is parsed once.
    private func mediaType(_ headers: HeaderBlock) -> MediaType? {
        guard let text = headers.first("content-type") else { return nil }
        if text != lastType.text { lastType = (text, MediaType(text)) }
        return lastType.type
    }

    /// Emits a redirect.
    func tellRedirect(_ record: RedirectRecord, _ attempt: Attempt) {
        holdBackIfHiding(attempt)
        core.emit(.redirect(record), attempt)
    }

    /// Tells what came of the answer so far.
    func tellAnswer(_ attempt: Attempt) {
        if attempt.exchange.hasNewHead { announce(attempt) }
        if attempt.exchange.mixed != nil { tellParts(attempt) }
        if attempt.exchange.received > 0 { emitProgress(attempt) }
    }
}
