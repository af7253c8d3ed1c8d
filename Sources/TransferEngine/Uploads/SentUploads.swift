import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// Does not send again what a server has already (`existing` of uploads); what was sent is kept from run to run.
final class SentUploads: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    // MARK: Before anything is sent

    /// What the task's upload begins with; `nil`: with the body. `skip` asks in the first attempt only: what a later one
    /// finds there may be the half that the first one sent.
    func uploadQuestion(_ attempt: Attempt) -> UploadQuestion? {
        if let object = attempt.object { return object.question }
        guard attempt.specification.type == .upload, attempt.life.request.method == "PUT" else { return nil }
        if attempt.specification.options.values.ownExisting == .skip {
            return attempt.number == 1 ? .isAnythingThere : nil
        }
        return attempt.sending.sentBefore.map { .isStillStored($0) }
    }

    /// Asks the store what was sent to the task's URL before.
    func recallUpload(_ attempt: Attempt) -> StepOutcome {
        guard attempt.object == nil, keepsSent(attempt), core.retryStates[attempt.task]?.leftUploadUnasked != true,
            let store = core.store,
            store.findSent(attempt.task, attempt.specification.session, url: sentURL(attempt))
        else { return .done }
        attempt.phase = .comparing(.lookingUp)
        return .pending
    }

    /// The store says what an earlier run sent to the URL, or put there.
    func foundSent(_ task: TaskIndex, _ sent: SentUpload?) {
        guard let attempt = core.attempt(of: task), case .comparing(let comparison) = attempt.phase else { return }
        if case .recallingObject = comparison { return participants.objects.recalledObject(attempt, sent) }
        guard case .lookingUp = comparison else { return }
        guard let sent, let file = attempt.sending.planned?.file else { return engine.stepDone(.recallUpload, attempt) }
        switch sent.compare(file.mark, at: file.path, shape: SentUpload.shape(of: attempt.rules.headers)) {
        case .other: engine.stepDone(.recallUpload, attempt)
        case .same:
            attempt.sending.sentBefore = sent
            engine.stepDone(.recallUpload, attempt)
        case .mustRead: read(file, attempt, for: .reading(sent))
        }
    }

    /// The file was read.
    func compared(_ attempt: Attempt, _ comparison: UploadComparison, _ digest: Checksum) {
        switch comparison {
        case .lookingUp, .recallingObject: break
        case .reading(var sent):
            if digest.bytes == sent.digest, let file = attempt.sending.planned?.file {
                (sent.path, sent.file, sent.readAt) = (file.path, file.mark, attempt.startedAt.wall)
                attempt.sending.sentBefore = sent
            }
            engine.stepDone(.recallUpload, attempt)
        case .readingSent(let source):
            keepSent(attempt, digest)
            engine.endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
        }
    }

    /// Ends an attempt whose file cannot be read once more after it was sent, or need not be any longer: the next run sends it
    /// anew. `false` for any other.
    func couldNotCompare(_ attempt: Attempt) -> Bool {
        guard case .comparing(.readingSent(let source)) = attempt.phase else { return false }
        engine.endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
        return true
    }

    private func read(_ file: BodyFile, _ attempt: Attempt, for comparison: UploadComparison) {
        attempt.phase = .comparing(comparison)
        core.outbox.add(.digest(attempt.task, [.file(path: file.path, nil)], .sha256))
    }

    // MARK: The answer

    /// The server has what would be sent: nothing is.
    func uploadIsThere(_ attempt: Attempt) {
        if attempt.object != nil { return participants.objects.objectIsThere(attempt) }
        if let sent = attempt.sending.sentBefore {
            do throws(TransferError) { try attempt.sending.planned?.check() } catch { return fail(attempt, error) }
            let kept = sent.confirmed(attempt.exchange.head?.headers ?? .empty)
            core.store?.sent(kept, to: sentURL(attempt), attempt.specification.session, at: core.now.instant)
        }
        engine.endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: .unchanged)
    }

    /// An attempt that ended while the server was asked: a server that does not answer the question is not asked again.
    func attemptEnded(_ attempt: Attempt, _ verdict: Verdict) {
        let asksAgainst = attempt.sending.sentBefore != nil || attempt.object?.place.existing == .revalidate
        guard asksAgainst, attempt.life.asksWhetherNeeded, case .failed = verdict.outcome,
            attempt.exchange.head == nil, attempt.sending.requestWasSent, !attempt.transport.lostNetwork
        else { return }
        core.retryStates[attempt.task, default: RetryState()].leftUploadUnasked = true
    }

    // MARK: What was sent

    /// Whether the task's body is a file that is to be known again in the next run.
    private func keepsSent(_ attempt: Attempt) -> Bool {
        let specification = attempt.specification
        if let object = attempt.object {
            return object.leg == .storing && object.place.existing == .revalidate
                && participants.objects.keepsObjects(attempt)
        }
        return specification.type == .upload && specification.options.values.ownExisting == .revalidate
            && specification.effectiveMethod == "PUT" && specification.options.values.captures.isEmpty
            && attempt.sending.planned?.file != nil
            && specification.location(mirror: attempt.mirror).url?.isHTTP == true
            && core.store?.keeps(uploadsOf: specification.session) == true
            && !participants.answers.holdsCapturedSecret(attempt)
    }

    private func sentURL(_ attempt: Attempt) -> String {
        attempt.specification.location(mirror: attempt.mirror).url?.text ?? ""
    }

    /// A body is about to be sent: what was known of its URL holds no longer, however that ends.
    func prepareToKnowAgain(_ body: BodySource, _ request: OutgoingRequest, _ attempt: Attempt) {
        attempt.sending.digest = nil
        guard let store = core.store, !attempt.isLookingUp, store.keeps(uploadsOf: attempt.specification.session) else {
            return
        }
        store.sent(nil, to: sentURL(attempt), attempt.specification.session, at: core.now.instant)
        // Where it cannot be summed now, it is read afterwards.
        if request.bodyRange == nil, keepsSent(attempt) { try? body.sum(by: .sha256) }
    }

    /// The upload has succeeded. Whether its file must be read before it is kept: not all of it was sent in this request.
    func readsSentFile(_ attempt: Attempt, _ source: ResultSource) -> Bool {
        guard keepsSent(attempt), let file = attempt.sending.planned?.file, let status = attempt.life.lastStatus,
            (200..<300).contains(status)
        else { return false }
        if let digest = attempt.sending.digest {
            keepSent(attempt, digest)
            return false
        }
        core.reports.append(.transferred(attempt.task))
        read(file, attempt, for: .readingSent(source))
        return true
    }

    private func keepSent(_ attempt: Attempt, _ digest: Checksum) {
        guard let store = core.store, let file = attempt.sending.planned?.file, (try? file.check()) != nil else {
            return
        }
        var sent = SentUpload(
            path: file.path, file: file.mark, readAt: attempt.startedAt.wall, digest: digest.bytes,
            shape: SentUpload.shape(of: attempt.rules.headers),
            asked: attempt.life.asked(.empty, key: .random(in: 0 ... .max)))
        // What the place of a resumed upload says is of that place, and what a GET finds after a 303 of another resource.
        if !attempt.life.isAtUploadPlace, attempt.life.request.method == attempt.rules.method {
            sent.learn(attempt.exchange.head?.headers ?? .empty)
        }
        store.sent(sent, to: sentURL(attempt), attempt.specification.session, at: core.now.instant)
    }
}

/// Why an upload's body is compared, or read, before or after it is sent.
enum UploadComparison {
    /// Asked the store what was sent to the URL before.
    case lookingUp
    /// Asked the store what was put there before in the place of a download's object.
    case recallingObject
    /// Reads the file, which may be the one that was sent.
    case reading(SentUpload)
    /// The upload has succeeded, and its file is read to be known again.
    case readingSent(ResultSource)
}
