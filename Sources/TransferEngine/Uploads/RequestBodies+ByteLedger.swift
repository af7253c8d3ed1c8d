import AttemptLife
import FileDelivery
import TransferModel

/// The run's `limits.maximumBytes`, as far as it decides what may begin and when nothing more may move. Owned by the
/// loop thread. It counts while libcurl delivers, because a fast network brings many megabytes in one turn; the
/// scheduler is told afterwards.
final class ByteLedger {
    var budget: ByteBudget
    init(_ budget: ByteBudget) { self.budget = budget }
}

extension Attempt {
    /// Bytes of a body moved, either way.
    func count(moved bytes: Int) {
        unreported.bytes += Int64(bytes)
        transport.rateFloor.moved(Int64(bytes))
        ledger?.budget.moved(task, Int64(bytes))
    }

    /// Whether a body has to stand still: the scheduler will put its task off when it hears of what has moved. The answer to
    /// an upload goes on, and so does a command, which cannot stand still and has little to give in one turn.
    var isPastBudget: Bool {
        guard let ledger, ledger.budget.isSpent else { return false }
        return specification.type != .upload && transport.command == nil
    }

    /// Whether a body that is sent has to stand still. One that was sent to its end waits for its answer.
    var isSendingPastBudget: Bool {
        guard let ledger, ledger.budget.isSpent, transport.command == nil, let body = sending.body,
            let length = body.length
        else {
            return false
        }
        return body.sent < length
    }

    /// Why a body of that length does not begin; `nil` where it may.
    func claimBytes(of what: String, length: Int64) -> TransferError? {
        guard let ledger else { return nil }
        let answer = ledger.budget.ask(task, length: length)
        isForNextRun = answer == .forNextRun
        return ledger.budget.refusal(answer, of: what, length: length)
    }

    /// Why the body of an answer whose head was read does not begin: what can go on in the next run always may, and so may
    /// the answer to an upload, for only that tells what became of the body.
    ///
    /// `hasLostPart`: the server was asked for the rest of this very thing, and sends all of it.
    func claimAnswer(hasLostPart: Bool) -> TransferError? {
        guard ledger != nil, specification.type != .upload, !exchange.isFromCache, !isLookingUp,
            life.request.method != "HEAD",
            let announced = life.announcedLength, announced > life.offset
        else { return nil }
        let goesOn = known.leavesPart && known.continuation != nil && !hasLostPart && announced >= PartFile.leastLeft
        return goesOn ? nil : claimBytes(of: "the answer", length: announced - life.offset)
    }
}

extension RequestBodies {
    /// Throws if a body does not fit the remaining bytes of the run, so that it is not begun in vain.
    func claimBytes(ofBody length: Int64?, _ attempt: Attempt) throws(TransferError) {
        guard let length, length > 0, !goesOnInNextRun(attempt) else { return }
        if let refusal = attempt.claimBytes(of: "the body", length: length) { throw refusal }
    }

    private func goesOnInNextRun(_ attempt: Attempt) -> Bool {
        attempt.life.knowsUploads && attempt.sending.planned?.file != nil
            && core.store?.keeps(uploadsOf: attempt.specification.session) == true
    }

    /// An upload began because its server might keep what arrives, and was cut since the run's bytes are used up. The server
    /// did not say so, and no run has room for all of it: the next one would be cut at the same place.
    func lostUpload(_ attempt: Attempt) -> TransferError? {
        guard let ledger = core.ledger, ledger.budget.isSpent, attempt.life.knowsUploads,
            attempt.life.uploadPoint == nil,
            attempt.sending.sentSomething, let length = attempt.sending.planned?.length, length > ledger.budget.most
        else { return nil }
        var error = ledger.budget.refusal(.never, of: "the body", length: length)
        error?.message += "; its server did not say that it keeps what arrives"
        return error
    }

    /// Before anybody hears that bytes moved: those may have been the last ones that may.
    func tellSentBody(_ attempt: Attempt) {
        guard core.ledger != nil, attempt.specification.type == .upload, !attempt.isLookingUp,
            let body = attempt.sending.body, !body.wasToldSent, body.sent == body.length, body.sent > 0
        else { return }
        body.wasToldSent = true
        core.reports.append(.sentBody(attempt.task))
    }
}
