package import TransferModel

/// Whether the loop had better ask for another processor: one on which others take its own away again and again.
///
/// Kernels leave a thread where it is while they think that all have room there. A server on the same machine, woken by
/// what the loop sends, is started beside the loop then, and takes its processor at each packet while another idles: a
/// virtual machine that packs its processors does so for the whole of a short run. A move helps for a while, and the
/// server may follow. Where all processors are busy it is nowhere better: after some moves each waits twice as long.
package struct CrowdingRule {
    package static let many = 5
    package static let soon = TimeSpan.milliseconds(4)
    package static let shortestStay = TimeSpan.milliseconds(1)
    /// So many moves come as soon as they may.
    package static let quickMoves = 16
    package static let longestStay = TimeSpan.milliseconds(512)
    /// Between two looks, which cost a call of the system.
    package static let pause = TimeSpan.microseconds(200)

    private var next: Instant
    private var since: Instant
    private var countThen: Int
    private var stay = shortestStay
    private var moves = 0
    private var earliest: Instant

    package init(_ count: Int, at now: Instant) { (next, since, countThen, earliest) = (now, now, count, now) }

    /// `count`: how often the thread had to make way since it began. It is not looked at each time.
    package mutating func isCrowded(_ count: @autoclosure () -> Int, at now: Instant) -> Bool {
        guard now >= next else { return false }
        next = now + Self.pause
        let count = count()
        if now - since > Self.soon {
            (since, countThen) = (now, count)
            // Long enough alone to forget what was.
            if now - earliest > Self.longestStay { (moves, stay) = (0, Self.shortestStay) }
            return false
        }
        guard count - countThen >= Self.many, now >= earliest else { return false }
        (since, countThen) = (now, count)
        earliest = now + stay
        moves += 1
        if moves >= Self.quickMoves { stay = min(stay + stay, Self.longestStay) }
        return true
    }
}
