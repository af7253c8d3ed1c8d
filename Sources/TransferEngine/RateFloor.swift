package import TransferModel

/// Decides whether a transfer is slower than its `minimumRate`.
///
/// Counts bytes of bodies in either direction, from the first one on, over a clock that stands while the transfer does so
/// for a limit of the run. Pure: it is given that clock's reading.
package struct RateFloor: Sendable {
    package enum Finding: Equatable, Sendable {
        /// Look again after this much of its time.
        case holds(nextLook: TimeSpan)
        case isTooSlow(bytes: Int64, TimeSpan)
    }

    private struct Reading: Sendable {
        var time: TimeSpan
        var bytes: Int64
    }

    package let minimum: MinimumRate
    private var moved: Int64 = 0
    /// The last one that is at least `over` old, and those after it, each a step apart.
    private var readings: [Reading] = []

    /// How much longer than `over` a slow transfer may go unnoticed.
    private static let steps: Int64 = 10

    package init(_ minimum: MinimumRate) { self.minimum = minimum }

    private var step: TimeSpan {
        max(.milliseconds(10), TimeSpan(nanoseconds: minimum.over.nanoseconds / Self.steps))
    }

    package mutating func moved(_ bytes: Int64) { moved += bytes }

    /// Another request begins, or what it sent is whole and the answer is waited for: that time is no transfer's.
    package mutating func restart() {
        moved = 0
        readings.removeAll(keepingCapacity: true)
    }

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
