internal import Glibc
package import TransferModel

/// Measures bytes per second over the last seconds, smoothed so that its digits can be read. Pure: the caller gives the
/// time.
package struct RateMeter {
    /// Seconds after which moved bytes count for about a third (1/e).
    private static let memory = 3.0

    private var rate = 0.0
    /// Share of the memory that is filled: a meter that just began is not held down by the time before.
    private var filled = 0.0
    private var last: (time: WallTime, bytes: Int64)?

    package init() {}

    /// Sets the starting point: bytes moved before do not count.
    package mutating func begin(at bytes: Int64, _ time: WallTime) { last = (time, bytes) }

    /// Records that `bytes` in total have moved at `time`.
    package mutating func advance(to bytes: Int64, _ time: WallTime) {
        guard let before = last, time > before.time else {
            if last == nil || last.map({ time < $0.time }) == true { last = (time, bytes) }
            return
        }
        let seconds = (time - before.time).seconds
        let weight = 1 - exp(-seconds / Self.memory)
        rate += (Double(max(0, bytes - before.bytes)) / seconds - rate) * weight
        filled += (1 - filled) * weight
        last = (time, bytes)
    }

    /// Returns the smoothed rate, or `nil` until half a second was measured.
    package func bytesPerSecond(at now: WallTime) -> Int64? {
        guard filled > 1 - exp(-0.45 / Self.memory), let last else { return nil }
        // After a second without a report the rate decays.
        let silent = max(0, (now - last.time).seconds - 1)
        let value = rate / filled * exp(-silent / Self.memory)
        return value < 1e18 ? Int64(value) : nil
    }
}

/// The remaining time as it is shown: it counts down by the clock and follows a new estimate only when that stays apart
/// from the shown time, so that the display does not jump.
package struct Countdown {
    private var shown: (left: Double, at: WallTime)?
    private var apartSince: WallTime?
    private static let patience = 3.0

    package init() {}

    mutating func clear() { (shown, apartSince) = (nil, nil) }

    /// Returns the seconds to show for a new estimate in seconds.
    package mutating func show(_ estimate: Double, at now: WallTime) -> Double {
        guard let before = shown, now >= before.at else {
            shown = (estimate, now)
            return estimate
        }
        let elapsed = (now - before.at).seconds
        var left = max(0, before.left - elapsed)
        if estimate < left {
            // A shorter estimate is approached smoothly.
            left += (estimate - left) * min(1, elapsed / 2)
            apartSince = nil
        } else if estimate > left * 1.2 + 1 {
            let since = apartSince ?? now
            apartSince = since
            if (now - since).seconds >= Self.patience {
                left = estimate
                apartSince = nil
            }
        } else {
            apartSince = nil
        }
        shown = (left, now)
        return left
    }
}
