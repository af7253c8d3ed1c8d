import CurlCore
import TransferModel

// How fast transfers may be, and have to be: what a `bandwidth` gives them, and their `minimumRate`.

extension Attempt {
    /// Time in which the attempt did not stand still for want of bandwidth.
    func ownTime(at now: Instant) -> TimeSpan {
        now - startedAt.instant - bandwidth.pause.elapsed(at: now)
    }

    /// Returns the error of an attempt that has been too slow for too long; `nextCheck` is brought forward to when the
    /// rate is to be checked again.
    func slowness(at now: Instant, nextCheck: inout Instant) -> TransferError? {
        // The server has all of the body, or its command has nothing to give: neither is the line's fault.
        if exchange.received == 0, exchange.head == nil, let body = sending.body, body.isSent || body.waitsForCommand {
            transport.rateFloor.restart()
        }
        switch transport.rateFloor.check(at: ownTime(at: now)) {
        case .holds(let span):
            nextCheck = min(nextCheck, now + span)
            return nil
        case .isTooSlow(let bytes, let span):
            nextCheck = min(nextCheck, now)
            return transport.rateFloor.error(bytes, in: span)
        }
    }
}

extension Connections {
    /// Lets a transfer that stood still go on, where it may move so many more bytes.
    func credit(_ task: TaskIndex, _ bytes: Int64) {
        guard let attempt = core.attempt(of: task), attempt.bandwidth.add(bytes, at: core.now.instant) else { return }
        if let transfer = attempt.transport.transfer { core.loop.resume(transfer) }
        attempt.transport.command?.goOn(at: core.now.instant)
        for segment in attempt.streams.segmented?.segments ?? [] {
            if let transfer = segment.transfer { core.loop.resume(transfer) }
        }
    }
}
