import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// Fetches one body in several streams (`segments`): requests for parts of the file beside the one for all of it, under
/// slots that the scheduler lends. What they bring, which takes over from which and what is missing is decided by
/// `SegmentPlan`.
final class Segments: Participant {
    let core: EngineCore
    /// The downloads whose body comes in several streams, or may.
    private(set) var downloads = SegmentedDownloads()

    init(_ core: EngineCore) { self.core = core }

    /// An attempt begins whose task had one before.
    func attemptBegins(_ attempt: Attempt) {
        attempt.streams.isDisabled = core.retryStates[attempt.task]?.takesOneStream == true
    }

    /// The attempt fails: parts of several streams that make up a wrong file are not asked for once more.
    func attemptFailed(_ attempt: Attempt, _ error: TransferError) {
        if attempt.streams.wereSeveral, error.name == .checksumMismatch {
            core.retryStates[attempt.task, default: RetryState()].takesOneStream = true
        }
    }

    /// Ends the streams of an attempt that is over.
    func attemptEnded(_ attempt: Attempt) {
        if attempt.streams.segmented != nil { engine.stopTransfer(attempt) }
    }

    // MARK: Whether and how many

    /// The answer's headers are there: is the body worth more than one stream, and can there be more?
    func considerSegments(_ attempt: Attempt) {
        guard attempt.specification.options.values.segments > 1, attempt.streams.segmented == nil,
            attempt.exchange.head?.isHTTP == true,
            attempt.transport.command == nil, !attempt.life.provesConnection, let validator = attempt.partValidator,
            let total = attempt.life.announcedLength
        else { return }
        let there = attempt.life.offset > 0 ? attempt.known.beyond : []
        guard
            // What is there already is left out, however little is missing.
            !there.isEmpty || SegmentPlan.isWorthwhile(total - attempt.life.offset - attempt.exchange.received),
            // What is cut with a hole in it would move in vain.
            (core.ledger?.budget.left ?? .max) >= total - attempt.life.offset - attempt.exchange.received
        else { return }
        let most = attempt.specification.options.values.segments
        var plan = SegmentPlan(attempt.life.offset..<total, most: most, there: there)
        _ = plan.received(Int(attempt.exchange.received), by: SegmentPlan.first)
        let parts = SegmentedBody(plan, validator: validator, now: core.now.instant)
        attempt.streams.segmented = parts
        downloads.add(attempt)
        core.active.check(by: core.now.instant + Self.streamPatience.last)
        tellUse(attempt, parts)
    }

    /// Keeps the scheduler's idea of how many slots the attempt could use right.
    private func tellUse(_ attempt: Attempt, _ parts: SegmentedBody) {
        let slots = max(0, parts.plan.liveCount - 1) + parts.plan.openings
        guard let origin = attempt.origin, slots != parts.told else { return }
        parts.told = slots
        core.reports.append(.couldUse(attempt.task, origin, slots: slots))
    }

    private func giveBack(_ attempt: Attempt, wasAnswered: Bool) {
        guard let origin = attempt.origin else { return }
        core.reports.append(.gaveBack(attempt.task, origin, wasAnswered: wasAnswered))
    }

    // MARK: Streams begin

    /// The scheduler has lent another slot.
    func lent(_ task: TaskIndex) {
        // One that is over gave back with its own slot what it was lent.
        guard let attempt = core.attempt(of: task), let parts = attempt.streams.segmented else { return }
        parts.loans += 1
        downloads.haveLoans = true
    }

    /// What was lent in one turn is used together, so that all get parts of the same size.
    func useLoans() {
        guard downloads.haveLoans else { return }
        downloads.haveLoans = false
        for attempt in downloads.attempts {
            guard let parts = attempt.streams.segmented, parts.loans > 0, attempt.origin != nil else { continue }
            let begun = parts.plan.begin(parts.loans)
            for _ in begun.count..<max(begun.count, parts.loans) { giveBack(attempt, wasAnswered: false) }
            parts.loans = 0
            for (id, range) in begun { ask(for: range, id, attempt, parts) }
            if attempt.streams.segmented === parts { tellUse(attempt, parts) }
        }
    }

    /// The slot came without which nothing went on.
    func beginStream(_ attempt: Attempt) {
        guard let parts = attempt.streams.segmented else { return }
        for (id, range) in parts.plan.begin(1) { ask(for: range, id, attempt, parts) }
        if attempt.streams.segmented === parts { tellUse(attempt, parts) }
    }

    private func ask(
        for range: Range<Int64>, _ id: SegmentPlan.StreamID, _ attempt: Attempt, _ parts: SegmentedBody
    ) {
        let part = PartRequest(
            range: range, validator: parts.validator, total: parts.plan.total,
            modified: attempt.saidHeaders.flatMap { Resuming.strongDate($0) },
            isProven: attempt.download.checksum != nil || attempt.download.destination?.sent != nil)
        let segment = Segment(id, part, of: attempt, parts, now: core.now)
        let request = attempt.life.request(for: part)
        do throws(TransferError) {
            var curl = try participants.connections.curlRequest(request, attempt)
            let dressed = attempt.life.withSessionHeaders(
                part: request, from: &attempt.session.state, at: core.now.wall)
            curl.headers = EngineSession.lines(dressed.headers ?? request.headers)
            participants.credentials.show(dressed.proxy, to: request, &curl)
            segment.transfer = try core.loop.start(curl, receiver: segment)
        } catch {
            return streamEnded(id, .failed, error, wasAnswered: false, attempt, parts)
        }
        parts.segments.append(segment)
        attempt.streams.wereSeveral = true
        core.active.check(by: core.now.instant + Self.streamPatience.last)
    }

    // MARK: Answers

    /// What the heads of further answers tell of their host.
    func announceSegments(_ attempt: Attempt, _ parts: SegmentedBody) {
        for segment in parts.segments where segment.hasNewHead { announce(segment) }
    }

    private func announce(_ segment: Segment) {
        segment.hasNewHead = false
        guard let head = segment.head else { return }
        let quota = RateLimit.quota(head.headers, now: core.now.wall)
        core.reports.append(
            .answered(segment.attempt.task, Answer(status: head.status, quota: quota, isFurther: true)))
    }

    // MARK: Streams end

    /// The answer to the ordinary request is over, or as much of it as was wanted.
    func firstStreamEnded(_ attempt: Attempt, _ error: TransferError?) {
        guard let parts = attempt.streams.segmented else { return }
        let isDone = !parts.plan.isLive(SegmentPlan.first)
        // It is not the body wanted: what the others bring is of no use either.
        if attempt.exchange.endedByUs, !isDone {
            endSegments(attempt)
            attempt.streams.segmented = nil
            return engine.ended(attempt, error, sawCloseNotify: false)
        }
        attempt.handOverRest()
        if isDone { parts.firstIsDone = true }
        let cut = TransferError(.networkConnectionLost, "the connection ended in the middle of the body")
        streamEnded(
            SegmentPlan.first, isDone ? .done : .failed, isDone ? nil : error ?? cut, wasAnswered: true, attempt, parts)
    }

    /// A further stream is over.
    func segmentCompleted(_ segment: Segment, _ completion: CurlCompletion) {
        let attempt = segment.attempt
        guard segment.transfer != nil, attempt.result == nil else { return }
        guard let parts = attempt.streams.segmented, parts.segments.contains(where: { $0 === segment }) else {
            // It was over before it could be stopped with the others.
            return recordMetrics(completion.metrics, segment)
        }
        if segment.hasNewHead { announce(segment) }
        leave(segment, completion.metrics, parts)
        let isAnswered = segment.head != nil
        switch segment.verdict {
        case .part where !parts.plan.isLive(segment.id):
            if let miss = segment.miss { return engine.lose(attempt, miss) }
            streamEnded(segment.id, .done, nil, wasAnswered: true, attempt, parts)
        case .part, nil:
            if let failure = attempt.exchange.bodyFailure { return fail(attempt, failure) }
            let cut = TransferError(.networkConnectionLost, "the connection ended in the middle of a range")
            let error = participants.connections.transportError(attempt, completion) ?? cut
            streamEnded(segment.id, .failed, error, wasAnswered: isAnswered, attempt, parts)
        case .noRanges(let why):
            let error = TransferError(.badServerResponse, why)
            streamEnded(segment.id, .refused, error, wasAnswered: true, attempt, parts)
        case .otherVersion(let why): startOver(attempt, why)
        case .declined(let why): turnedAway(segment, why, attempt, parts)
        }
    }

    private func turnedAway(_ segment: Segment, _ why: String, _ attempt: Attempt, _ parts: SegmentedBody) {
        if let head = segment.head, head.status == 429 || head.status == 503, let origin = attempt.origin {
            let wait = RetryAfter.parse(head.headers, now: core.now.wall)
            core.reports.append(.turnedAway(attempt.task, origin, status: head.status, retryAfter: wait))
        }
        parts.lastDecline = segment.head
        let error = TransferError(.unexpectedResponse, "asked for a part of the file, \(why)")
        streamEnded(segment.id, .failed, error, wasAnswered: true, attempt, parts)
    }

    /// Its transfer is over: what it cost is told, what it brought goes to the file.
    private func leave(_ segment: Segment, _ metrics: CurlMetrics?, _ parts: SegmentedBody) {
        if let metrics { recordMetrics(metrics, segment) }
        segment.transfer = nil
        if segment.received > 0 { parts.hasPart = true }
        segment.handOver()
        parts.segments.removeAll { $0 === segment }
    }

    private func recordMetrics(_ metrics: CurlMetrics, _ segment: Segment) {
        let attempt = segment.attempt
        attempt.recordMetrics(
            metrics, participants.connections.networks, start: segment.startedAt, head: segment.head,
            arrived: segment.received, received: segment.received)
        core.countConnections(metrics, attempt)
    }

    private func streamEnded(
        _ id: SegmentPlan.StreamID, _ end: SegmentPlan.End, _ error: TransferError?, wasAnswered: Bool,
        _ attempt: Attempt, _ parts: SegmentedBody
    ) {
        if let error { parts.lastError = error } else if case .done = end { parts.lastActivity = core.now.instant }
        switch parts.plan.end(id, end) {
        case .goesOn:
            giveBack(attempt, wasAnswered: wasAnswered)
            tellUse(attempt, parts)
        case .complete: segmentsAreWhole(attempt, parts)
        case .needsStream:
            // With its own slot it gives back all that it was lent.
            (parts.told, parts.loans) = (0, 0)
            engine.requestSlot(attempt, attempt.life.request)
        case .lost where parts.plan.isRefused: startOver(attempt, parts.lastError?.message ?? "it sends no ranges")
        case .lost: lost(attempt, parts)
        }
    }

    /// No stream is left: the attempt failed as the last one did.
    private func lost(_ attempt: Attempt, _ parts: SegmentedBody) {
        let error = parts.lastError ?? TransferError(.networkConnectionLost, "no stream is left")
        if parts.mayBeTheRanges, !attempt.transport.lostNetwork {
            core.retryStates[attempt.task, default: RetryState()].takesOneStream = true
            attempt.rangesBroughtNothing()
        }
        guard error.name == .unexpectedResponse, let head = parts.lastDecline else { return fail(attempt, error) }
        let retryAfter = RetryAfter.parse(head.headers, now: core.now.wall)
        engine.endAttempt(
            attempt, Verdict(.failed(error), status: head.status, retryAfter: retryAfter, sentSomething: true))
    }

    /// All bytes are there: the body is judged as if one stream had brought it.
    private func segmentsAreWhole(_ attempt: Attempt, _ parts: SegmentedBody) {
        endSegments(attempt)
        attempt.exchange.received = parts.plan.total - attempt.life.offset
        attempt.streams.segmented = nil
        participants.announcements.emitProgress(attempt)
        engine.ended(attempt, nil, sawCloseNotify: false)
    }

    /// Begins again in one stream: the segments may be of several versions, or the server sends no more of them.
    private func startOver(_ attempt: Attempt, _ why: String) {
        engine.stopTransfer(attempt)
        endSegments(attempt)
        attempt.streams.segmented = nil
        (attempt.streams.isDisabled, attempt.streams.wereSeveral) = (true, false)
        attempt.life.startOver(why)
        participants.partials.discardBody(attempt)
        engine.requestSlot(attempt, attempt.life.request)
    }

    // MARK: Streams are stopped

    /// Another task can use a slot that was lent.
    func slotIsWanted(_ task: TaskIndex) {
        guard let attempt = core.attempt(of: task), let parts = attempt.streams.segmented else { return }
        if parts.loans > 0 {
            parts.loans -= 1
            return giveBack(attempt, wasAnswered: false)
        }
        guard parts.plan.liveCount > 1, let id = parts.plan.mostDispensable else { return }
        stop(id, .recalled, nil, attempt, parts)
    }

    /// Ends a stream of the body.
    func stop(
        _ id: SegmentPlan.StreamID, _ end: SegmentPlan.End, _ error: TransferError?, _ attempt: Attempt,
        _ parts: SegmentedBody
    ) {
        guard id != SegmentPlan.first else {
            engine.stopFirst(attempt)
            attempt.handOverRest()
            return streamEnded(id, end, error, wasAnswered: true, attempt, parts)
        }
        guard let segment = parts.segments.first(where: { $0.id == id }) else { return }
        let metrics = segment.transfer.flatMap { core.loop.stop($0) }
        leave(segment, metrics, parts)
        streamEnded(id, end, error, wasAnswered: segment.head != nil, attempt, parts)
    }

    /// All further streams are stopped; what they brought goes to the file. The attempt's slots are its caller's to
    /// give back.
    func endSegments(_ attempt: Attempt) {
        guard let parts = attempt.streams.segmented else { return }
        for segment in parts.segments {
            let transfer = segment.transfer
            let metrics = transfer.flatMap { core.loop.stop($0) }
            leave(segment, metrics, parts)
            // Its completion is there already and tells what it cost.
            if metrics == nil { segment.transfer = transfer }
        }
        downloads.remove(attempt)
    }
}
