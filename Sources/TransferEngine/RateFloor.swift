package import TransferModel

/// Decides whether a transfer is slower than its `minimumRate`.
///
/// Counts bytes of bodies in either direction, from the first one on, over a clock that stops while a limit of the run
/// pauses the transfer. Pure: the caller gives the time.
package struct RateFloor: Sendable {
    /// Result of a check.
    package enum Finding: Equatable, Sendable {
        /// Fast enough so far; check again after this much of the transfer's time.
        case holds(nextLook: TimeSpan)
        /// Moved only `bytes` in the given time.
        case isTooSlow(bytes: Int64, TimeSpan)
    }

    private struct Reading: Sendable {
        var time: TimeSpan
        var bytes: Int64
    }

    /// The rate, and the time over which it is measured.
    package let minimum: MinimumRate
    private var moved: Int64 = 0
    /// The last reading that is at least `over` old, and the later ones, each a step apart.
    private var readings: [Reading] = []

    /// Readings per `over`: a slow transfer goes unnoticed for at most one step longer than `over`.
    private static let steps: Int64 = 10

    package init(_ minimum: MinimumRate) { self.minimum = minimum }

    private var step: TimeSpan {
        max(.milliseconds(10), TimeSpan(nanoseconds: minimum.over.nanoseconds / Self.steps))
    }

    /// Counts bytes that moved.
    package mutating func moved(_ bytes: Int64) { moved += bytes }

    /// Starts over for another request, or when the request is sent and the answer awaited: that time is no transfer's.
    package mutating func restart() {
        moved = 0
        readings.removeAll(keepingCapacity: true)
    }

    /// Checks the rate at `time` on the transfer's clock.
    package mutating func look(at time: TimeSpan) -> Finding {
        guard moved > 0 else { return .holds(nextLook: step) }
        if readings.last.map({ time - $0.time >= step }) ?? true {
            readings.append(Reading(time: time, bytes: readings.isEmpty ? 0 : moved))
        }
        while readings.count > 1, time - readings[1].time >= minimum.over { readings.removeFirst() }
        let first = readings[0]
        let span = time - first.time
        if span >= minimum.over {
            let bytes = moved - first.bytes
            if Int128(bytes) * 1_000_000_000 < Int128(minimum.rate) * Int128(minimum.over.nanoseconds) {
                return .isTooSlow(bytes: bytes, span)
            }
        }
        return .holds(nextLook: step)
    }
}
