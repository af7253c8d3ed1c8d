import AttemptLife
import CurlCore
import TransferModel

// Streams of a download in segments on which nothing moves.

extension Segments {
    /// How long no byte may come while others of the same body move, until the stream is given up and another takes its
    /// part; less when there is nothing left to do but that part.
    static let streamPatience = (usual: TimeSpan.seconds(10), last: TimeSpan.seconds(2))

    /// Gives up streams on which nothing moves. The attempt fails for it only when it has no other.
    func checkSegments() -> Instant {
        var next = Instant.distantFuture
        for attempt in downloads.attempts {
            guard let parts = attempt.streams.segmented else { continue }
            if let error = attempt.slowness(at: core.now.instant, nextCheck: &next) {
                for stream in liveStreams(attempt, parts) where attempt.streams.segmented === parts {
                    stop(stream.id, .failed, error, attempt, parts)
                }
                continue
            }
            if attempt.bandwidth.isPaused {
                next = min(next, core.now.instant + attempt.transport.idleLimit)
                continue
            }
            next = min(next, checkStreams(attempt, parts))
        }
        return next
    }

    private func checkStreams(_ attempt: Attempt, _ parts: SegmentedBody) -> Instant {
        let streams = liveStreams(attempt, parts)
        let latest = streams.reduce(parts.lastActivity) { max($0, $1.movedAt) }
        let isLast = parts.plan.hasIdlePlace
        var next = Instant.distantFuture
        for stream in streams where attempt.streams.segmented === parts {
            let limit = min(
                isLast && stream.isAnswered ? Self.streamPatience.last : Self.streamPatience.usual,
                attempt.transport.idleLimit)
            let othersMoved = latest - stream.movedAt > (isLast ? .zero : TimeSpan(nanoseconds: limit.nanoseconds / 2))
            if othersMoved, !parts.plan.isRefused, stream.movedAt + limit <= core.now.instant {
                stop(stream.id, .recalled, nil, attempt, parts)
                continue
            }
            let due = core.dueWhenIdle(stream.transfer, since: stream.movedAt, attempt.transport.idleLimit)
            if due <= core.now.instant {
                let seconds = attempt.transport.idleLimit.seconds
                let error = TransferError(.timedOut, "no byte moved for \(seconds) s (`timeoutForRequest`)")
                stop(stream.id, .failed, error, attempt, parts)
            } else {
                next = min(next, max(stream.movedAt + limit, core.now.instant + .milliseconds(500)), due)
            }
        }
        return next
    }

    private struct LiveStream {
        let id: SegmentPlan.StreamID
        let transfer: TransferID?
        let movedAt: Instant
        let isAnswered: Bool
    }

    private func liveStreams(_ attempt: Attempt, _ parts: SegmentedBody) -> [LiveStream] {
        var streams = parts.segments.map { segment in
            let movedAt = segment.transfer.flatMap { core.loop.lastActivity(of: $0) } ?? core.now.instant
            return LiveStream(
                id: segment.id, transfer: segment.transfer, movedAt: movedAt, isAnswered: segment.head != nil)
        }
        if let transfer = attempt.transport.transfer {
            let movedAt = core.loop.lastActivity(of: transfer) ?? core.now.instant
            streams.append(LiveStream(id: SegmentPlan.first, transfer: transfer, movedAt: movedAt, isAnswered: true))
        }
        return streams
    }
}
