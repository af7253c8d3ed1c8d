internal import Glibc
package import TransferModel

/// Bytes a second over the last seconds, smoothed so that its digits can be read. Pure: it is told the time.
package struct RateMeter {
    /// What moved so long ago counts for a third of what moves now.
    private static let memory = 3.0

    private var rate = 0.0
    /// How much of the memory is filled: a meter that just began is not held down by the time before.
    private var filled = 0.0
    private var last: (time: WallTime, bytes: Int64)?

    package init() {}

    /// Forgets where it was: what was moved from now on counts.
    package mutating func begin(at bytes: Int64, _ time: WallTime) { last = (time, bytes) }

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

    /// `nil` until half a second was measured.
    package func bytesPerSecond(at now: WallTime) -> Int64? {
        guard filled > 1 - exp(-0.45 / Self.memory), let last else { return nil }
        // Between two reports nothing is heard; after a second without one it stands still.
        let silent = max(0, (now - last.time).seconds - 1)
        let value = rate / filled * exp(-silent / Self.memory)
        return value < 1e18 ? Int64(value) : nil
    }
}

/// The time that is left, as it is shown: it counts down by the clock and follows a new estimate only when that stays apart
/// from what is shown, so that nobody sees it jump.
package struct Countdown {
    private var shown: (left: Double, at: WallTime)?
    private var apartSince: WallTime?
    private static let patience = 3.0

    package init() {}

    mutating func clear() { (shown, apartSince) = (nil, nil) }

    /// Seconds.
    package mutating func show(_ estimate: Double, at now: WallTime) -> Double {
        guard let before = shown, now >= before.at else {
            shown = (estimate, now)
            return estimate
        }
        let elapsed = (now - before.at).seconds
        var left = max(0, before.left - elapsed)
        if estimate < left {
            // Towards a better end smoothly.
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
