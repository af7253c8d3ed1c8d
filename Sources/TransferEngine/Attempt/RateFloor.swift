package import TransferModel

/// Decides whether a transfer is slower than its `minimumRate`, or so slow that it makes no progress.
///
/// Counts the bytes of bodies and of what frames them in either direction, from the first one on, over a clock that stops
/// while a limit of the run pauses the transfer. Pure: the caller gives the time.
package struct RateFloor: Sendable {
    /// Result of a check.
    package enum Finding: Equatable, Sendable {
        /// Fast enough so far; check again after this much of the transfer's time.
        case holds(nextCheck: TimeSpan)
        /// Moved only `bytes` in the given time.
        case isTooSlow(bytes: Int64, TimeSpan)
    }

    private struct Reading: Sendable {
        var time: TimeSpan
        var bytes: Int64
    }

    /// The task's `minimumRate`; `nil` for the floor that every request has.
    private let minimum: MinimumRate?
    /// The time over which the bytes are counted.
    private let over: TimeSpan
    private var moved: Int64 = 0
    /// The last reading that is at least `over` old, and the later ones, each a step apart.
    private var readings: [Reading] = []

    /// Readings per `over`: a slow transfer goes unnoticed for at most one step longer than `over`.
    private static let steps: Int64 = 10
    /// Bytes that a request without a `minimumRate` has to move in ``patience(_:)``: a byte a second is no progress.
    private static let leastBytes: Int64 = 1_000

    /// The floor under a task's `minimumRate`, or under any request where there is none. `timeout`: the task's
    /// `timeoutForRequest`.
    package init(_ minimum: MinimumRate?, timeout: TimeSpan) {
        self.minimum = minimum
        over = minimum?.over ?? Self.patience(timeout)
    }

    /// The time in which a request has to make progress: ten minutes, or the task's `timeoutForRequest` where that is
    /// longer, since in that time no byte need move at all.
    package static func patience(_ timeout: TimeSpan) -> TimeSpan { max(.seconds(600), timeout) }

    /// When a transfer counts as silent. `activity`: when libcurl last told of a byte; `arrival`: when one last arrived by the
    /// system's knowledge, which may be a part of a line or of a TLS record. Such parts alone do not keep a transfer alive
    /// for longer than ``patience(_:)``.
    package static func silenceDue(activity: Instant, arrival: Instant, timeout: TimeSpan) -> Instant {
        min(max(activity, arrival), activity + patience(timeout)) + timeout
    }

    private var step: TimeSpan {
        max(.milliseconds(10), TimeSpan(nanoseconds: over.nanoseconds / Self.steps))
    }

    /// Counts bytes that moved.
    package mutating func moved(_ bytes: Int64) { moved += bytes }

    /// Starts over for another request, or when the request is sent and the answer awaited: that time is no transfer's.
    package mutating func restart() {
        moved = 0
        readings.removeAll(keepingCapacity: true)
    }

    /// Checks the rate at `time` on the transfer's clock.
    package mutating func check(at time: TimeSpan) -> Finding {
        guard moved > 0 else { return .holds(nextCheck: step) }
        if readings.last.map({ time - $0.time >= step }) ?? true {
            readings.append(Reading(time: time, bytes: readings.isEmpty ? 0 : moved))
        }
        while readings.count > 1, time - readings[1].time >= over { readings.removeFirst() }
        let first = readings[0]
        let span = time - first.time
        if span >= over, isTooFew(moved - first.bytes) { return .isTooSlow(bytes: moved - first.bytes, span) }
        return .holds(nextCheck: step)
    }

    private func isTooFew(_ bytes: Int64) -> Bool {
        guard let minimum else { return bytes < Self.leastBytes }
        return Int128(bytes) * 1_000_000_000 < Int128(minimum.rate) * Int128(over.nanoseconds)
    }

    /// Returns the error of a transfer that moved only `bytes` in `span`.
    package func error(_ bytes: Int64, in span: TimeSpan) -> TransferError {
        guard minimum != nil else {
            let bound = "less than the 1 kB that is progress without a `minimumRate`"
            return TransferError(.timedOut, "\(bytes) B moved in \(Int(span.seconds)) s, \(bound)")
        }
        let seconds = (span.seconds * 10).rounded() / 10
        return TransferError(.timedOut, "\(bytes) B moved in \(seconds) s, less than `minimumRate` allows")
    }
}
