import AttemptLife
import CurlCore
import HTTPRules
package import TransferModel

/// Plans the body that a task sends when it begins, opens it anew for each request, and tells how far it is sent.
package final class RequestBodies: Participant {
    let core: EngineCore
    /// What tasks send of what lies outside the job.
    var plans = PlannedBodies()

    init(_ core: EngineCore) { self.core = core }

    /// The attempt is over: a stream that no server has read from is ended.
    func attemptEnded(_ attempt: Attempt) { attempt.sending.takeUntouchedStream()?.leave() }

    /// Forgets what the task was to send.
    func taskEnded(_ task: TaskIndex) { plans.ended(task) }

    /// Ends the commands whose output is sent.
    func close() { plans.streams?.close() }

    /// Fixes what the task sends; an error where that cannot be.
    func planBody(_ attempt: Attempt) -> TransferError? {
        guard let body = attempt.specification.options.values.body else { return nil }
        if let planned = plans.planned[attempt.task] {
            attempt.sending.planned = planned
            return nil
        }
        do throws(TransferError) {
            let planned = try PlannedBody(body) { attempt.session.boundary(of: attempt.task) }
            if let earlier = plans.earlier[attempt.task] { try planned.check(against: earlier) }
            if planned.outlivesAttempts { plans.planned[attempt.task] = planned }
            attempt.sending.planned = planned
            return nil
        } catch {
            return error
        }
    }

    /// The task began in an earlier process, and these are the files that it sends.
    package func knowBody(of task: TaskIndex, _ files: [BodyFileMark]) { plans.earlier[task] = files }

    /// The body of a request that is about to be sent.
    func openBody(_ request: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> BodySource {
        let planned = attempt.sending.planned ?? .nothing
        // Where it was planned just now, what is read of it shows.
        if attempt.number > 1 || !attempt.transactions.isEmpty { try planned.check() }
        try claimBytes(ofBody: request.bodyRange.map { $0.upperBound - $0.lowerBound } ?? planned.length, attempt)
        var stream: BodyStream?
        if case .stream(let command) = planned.content {
            stream = try self.stream(command, attempt)
        }
        let body = BodySource(planned, range: request.bodyRange, stream: stream)
        attempt.sending.body = body
        attempt.sending.reported = body.start
        participants.sentUploads.prepareToKnowAgain(body, request, attempt)
        participants.uploads.tellResumed(request, attempt, planned)
        return body
    }

    private func stream(_ command: [SecretText], _ attempt: Attempt) throws(TransferError) -> BodyStream {
        if let untouched = attempt.sending.takeUntouchedStream() { return untouched }
        core.emit(.needNewBodyStream, attempt)
        let streams = plans.streams ?? BodyStreams(folder: core.job.baseDirectory, wake: core.wake)
        plans.streams = streams
        return try streams.open(command, for: attempt.task)
    }

    /// Opens the body of a request for libcurl.
    func openBody(
        _ request: OutgoingRequest, _ attempt: Attempt, _ curl: inout CurlRequest
    ) throws(TransferError) {
        let body = try openBody(request, attempt)
        // On a connection that died meanwhile libcurl would want to begin again, and nobody can.
        if body.stream != nil { curl.needsFreshConnection = true }
        if attempt.life.sumsBody(request) { try body.sum(by: .md5) }
        curl.bodyLength = body.length ?? -1
        // One stream of a shared connection cannot stand still.
        body.canPause = curl.version == .http1 && curl.ftp == nil
        curl.expectsContinue = request.expectsContinue
    }

    /// Commands wrote more: whoever waited for it goes on.
    func resumeStreams() {
        for (task, stream) in plans.streams?.takeNews() ?? [] {
            guard let attempt = core.attempt(of: task), let transfer = attempt.transport.transfer,
                attempt.sending.body?.stream === stream
            else {
                continue
            }
            core.loop.resume(transfer)
        }
    }

    /// What its body's next bytes are lies in memory now.
    func fetched(_ task: TaskIndex) {
        if let transfer = core.attempt(of: task)?.transport.transfer { core.loop.resume(transfer) }
    }

    /// The transfer is over, and was not looked at yet.
    func hasEnded(_ attempt: Attempt) -> Bool {
        attempt.transport.transfer.map { core.loop.uploadedBytes(of: $0) == nil } ?? false
    }

    /// Whether a cut would make the task's upload begin anew, and more of it would have to be sent again than is left now.
    package func isNearlySent(_ task: TaskIndex) -> Bool {
        guard let attempt = core.attempt(of: task), attempt.specification.type == .upload,
            let body = attempt.sending.body,
            let total = body.total, attempt.life.uploadPoint == nil
        else { return false }
        return body.sent > total / 2
    }

    /// How far the body of a request under way is.
    func tellSent(_ attempt: Attempt) {
        let uploaded =
            attempt.transport.command == nil
            ? attempt.transport.transfer.flatMap { core.loop.uploadedBytes(of: $0) } : attempt.sending.body?.sent
        if let uploaded { tellSent(attempt, uploaded) }
    }

    /// How far the body of the present request is; `uploaded` is what libcurl sent, with all that goes around it.
    private func tellSent(_ attempt: Attempt, _ uploaded: Int64) {
        guard let body = attempt.sending.body, !attempt.isLookingUp else { return }
        let bytes = body.start + min(uploaded, body.sent)
        guard bytes > attempt.sending.reported else { return }
        attempt.sending.reported = bytes
        attempt.unreported.lastEventAt = core.now.instant
        core.emit(.sentBodyData(Event.Progress(bytes: bytes, expected: body.total)), attempt)
    }

    /// What the transport says of a request's end. A command that answers for a scheme of its own, and the cache, ask for no
    /// body that they do not want.
    func transportEnd(_ attempt: Attempt, _ error: TransferError?, sawCloseNotify: Bool) -> TransportEnd {
        var end = TransportEnd(error: error, received: attempt.exchange.received, sawCloseNotify: sawCloseNotify)
        if let body = attempt.sending.body, attempt.transport.command == nil, !attempt.exchange.isFromCache,
            !attempt.exchange.endedByUs
        {
            end.leftBody = body.isUntouched
            let isChunked = attempt.exchange.head?.version != .http2
            if body.wasCut(isChunked: isChunked) {
                end.cutBody = TransportEnd.SentPart(
                    bytes: body.start + min(body.sent, body.uploaded), total: body.total)
            }
        }
        (end.lostAnswer, attempt.exchange.lostAnswer) = (attempt.exchange.lostAnswer, false)
        end.lostNetwork = attempt.transport.lostNetwork
        end.wasSent = attempt.sending.requestWasSent
        return end
    }

    /// The request is over, however it ended.
    func endBody(_ attempt: Attempt, _ metrics: CurlMetrics) {
        // The headers alone may have done what must not be done twice.
        attempt.sending.requestWasSent = metrics.requestBytes > 0
        if attempt.sending.requestWasSent { attempt.sending.sentSomething = true }
        endBody(attempt, uploaded: metrics.uploadedBytes)
    }

    /// The request is over, of whose body so many bytes went out.
    func endBody(_ attempt: Attempt, uploaded: Int64) {
        guard let body = attempt.sending.body else { return }
        tellSent(attempt, uploaded)
        attempt.life.noteSent(body.start + body.sent)
        for sum in body.takeSums() {
            if sum.algorithm == .md5 { attempt.life.sentSum = sum } else { attempt.sending.digest = sum }
        }
        attempt.sending.untouchedStream = body.takeUntouchedStream()
        body.end(uploaded: uploaded)
    }
}

/// What tasks send of what lies outside the job, for as long as they are under way.
struct PlannedBodies {
    /// Runs the commands whose output is sent; made when the first one is needed.
    var streams: BodyStreams?
    /// As it was when they began.
    var planned: [TaskIndex: PlannedBody] = [:]
    /// The files of tasks that began in an earlier process, as they were then.
    var earlier: [TaskIndex: [BodyFileMark]] = [:]

    mutating func ended(_ task: TaskIndex) {
        if !planned.isEmpty { planned[task] = nil }
        if !earlier.isEmpty { earlier[task] = nil }
    }
}

extension Attempt {
    /// As they were when the task began.
    var bodyFiles: [BodyFileMark] { sending.planned?.marks ?? [] }
}
