import AttemptLife
import TransferModel

/// What happens before an attempt sends its first request, in this order. An attempt has the steps that may concern it; one
/// that has nothing to do after all is done at once.
enum PreparationStep: Int, CaseIterable {
    /// The journal records that the attempt begins: what must not be sent twice is sent only then.
    case recordBeginning
    /// The store says what an earlier run sent of the same file to the same URL.
    case recallUpload
    /// The file in the final place is examined: `existing` or a checksum in the job may make a request needless.
    case inspectDestination
    /// The store says what earlier runs kept of the file: its validators, or a part of it.
    case recallFile
    /// The session's cookies and other state are read: without them it would be another request.
    case loadSession
    /// The checksum that the file must have is looked up, where the job says only where it stands.
    case resolveChecksum
    /// The file in the final place is compared with such a checksum.
    case inspectListedFile
    /// The partial file of an earlier run is verified.
    case adoptPart
    /// The file in the final place is compared with the validators that are kept of it.
    case examineKeptFile
    /// A file of another program is looked for, which may be a beginning (`resume: adopt`).
    case findForeignFile
}

/// How far an attempt's preparation is.
struct Preparation {
    /// The steps that are left, a bit for each at its place in the order.
    private var left: UInt16 = 0

    /// The first step that is not done yet; `nil` once the first request can be sent.
    var next: PreparationStep? { left == 0 ? nil : PreparationStep(rawValue: left.trailingZeroBitCount) }

    /// Adds a step where it is needed.
    mutating func add(_ step: PreparationStep, if isNeeded: Bool) {
        if isNeeded { left |= 1 << step.rawValue }
    }

    /// Notes that the step is done, which must be the next one.
    mutating func complete(_ step: PreparationStep) {
        assert(next == step, "a step of the preparation ended out of turn")
        left &= left - 1
    }
}

/// What became of a step when it was begun.
enum StepOutcome {
    /// Done: the next step follows.
    case done
    /// An answer is awaited. Whoever brings it calls `stepDone`.
    case pending
    /// The attempt has ended.
    case ended
}

extension Engine {
    /// Performs the steps that are left, up to one that has to wait; after the last one the attempt's work begins.
    func prepare(_ attempt: Attempt) {
        while let step = attempt.preparation.next {
            guard case .done = participants.prepare(step, attempt) else { return }
            attempt.preparation.complete(step)
        }
        beginRequests(attempt)
    }

    /// Continues after the answer to a step has come.
    func stepDone(_ step: PreparationStep, _ attempt: Attempt) {
        attempt.preparation.complete(step)
        prepare(attempt)
    }

    /// Sends the first request, or takes the file where no connection is needed.
    private func beginRequests(_ attempt: Attempt) {
        let url = attempt.life.request.url
        attempt.phase = .transferring
        guard attempt.session.takesSlot(url) else { return participants.local.beginLocal(attempt, url) }
        attempt.life.secure(attempt.session.state, at: core.now.wall)
        participants.requestsBegin(attempt)
        if let refusal = attempt.life.refusalToBegin() { return fail(attempt, refusal) }
        // The request for a checksum file has used up the slot, or it is at another origin than the URL says.
        if attempt.origin == nil || attempt.life.request.url.isSecure != url.isSecure
            || participants.connections.givesBackStream(attempt)
        {
            requestSlot(attempt, attempt.life.request)
        } else {
            send(attempt.life.request, attempt)
        }
    }
}
