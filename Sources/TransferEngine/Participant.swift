import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

/// A concern that takes part in attempts: the response cache, segments, checksums that are looked up. It owns its state,
/// and is called at the moments that `Participants` and `Engine` list.
protocol Participant: AnyObject {
    /// What all share.
    var core: EngineCore { get }
}

extension Participant {
    /// Brings about what follows in an attempt.
    var engine: any AttemptMoments { core.engine }
    /// The other concerns.
    var participants: Participants { core.participants }

    /// Ends the attempt with an error.
    func fail(_ attempt: Attempt, _ error: TransferError) { engine.fail(attempt, error) }
}

/// The moments of an attempt that a participant may bring about.
protocol AttemptMoments: AnyObject {
    /// Performs the steps of the preparation that are left, and then begins the attempt's own work.
    func prepare(_ attempt: Attempt)
    /// Continues after the answer to a step of the preparation has come.
    func stepDone(_ step: PreparationStep, _ attempt: Attempt)
    /// Asks the scheduler for a slot for the next request; the present one is given back.
    func requestSlot(_ attempt: Attempt, _ request: OutgoingRequest)
    /// Sends a request under the slot that the attempt holds.
    func send(_ request: OutgoingRequest, _ attempt: Attempt)
    /// Sends a request to which the cache has no answer.
    func transmit(_ request: OutgoingRequest, _ attempt: Attempt)
    /// Ends all streams of the attempt.
    func stopTransfer(_ attempt: Attempt)
    /// Ends the stream that the attempt's ordinary request began.
    func stopFirst(_ attempt: Attempt)
    /// The present request has ended, with an error of the connection or without one.
    func ended(_ attempt: Attempt, _ error: TransferError?, sawCloseNotify: Bool)
    /// Carries out what the attempt's life decided after a request.
    func carryOut(_ step: NextStep, _ attempt: Attempt)
    /// Ends the attempt with success.
    func succeed(_ attempt: Attempt)
    /// Ends the attempt with success: what stands there stays.
    func finishUnchanged(_ attempt: Attempt)
    /// Ends the attempt with an error.
    func fail(_ attempt: Attempt, _ error: TransferError)
    /// Ends the attempt with an error; nothing of what came is of use to a later attempt or run.
    func lose(_ attempt: Attempt, _ miss: TransferError)
    /// Ends the attempt as cancelled from outside.
    func cancelled(_ attempt: Attempt)
    /// Ends the attempt as cancelled by a rule of the job.
    func cancelled(_ attempt: Attempt, _ error: TransferError)
    /// Ends the attempt with a verdict.
    func endAttempt(_ attempt: Attempt, _ verdict: Verdict, source: ResultSource)
    /// Makes an attempt of the task, or the part of it that is about one page.
    func makeAttempt(
        _ task: TaskIndex, _ number: Int, _ mirror: Int, _ specification: TaskSpecification, _ url: ResourceURL,
        partial: RetryState.PartialFile?, startedAt: Now
    ) -> Attempt
    /// Returns the result of the task's ended attempt and forgets the attempt.
    func takeResult(of task: TaskIndex) -> AttemptResult?
}

extension AttemptMoments {
    func endAttempt(_ attempt: Attempt, _ verdict: Verdict) { endAttempt(attempt, verdict, source: .network) }
}
