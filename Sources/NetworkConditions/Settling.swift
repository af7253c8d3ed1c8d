package import TransferModel

/// Decides when to look after changes that come in bursts: a moment after the last one, and not long after the first.
package struct Settling {
    /// How long no further change must come.
    package static let quiet = TimeSpan.milliseconds(20)
    /// How long after the first change to look at the latest.
    package static let longest = TimeSpan.milliseconds(200)
    private var first: Instant?
    private var last: Instant?

    package init() {}

    /// Notes a change that has not been looked at.
    package mutating func noteChange(_ now: Instant) {
        first = first ?? now
        last = now
    }

    /// When to look; `nil` without a change.
    package var due: Instant? {
        guard let first, let last else { return nil }
        return min(last + Self.quiet, first + Self.longest)
    }

    /// Notes that the changes were looked at.
    package mutating func hasLooked() { (first, last) = (nil, nil) }
}

/// Gives a link that has lost nothing but its carrier a second to find it again before the loss is reported: a plug
/// that wiggles, or a phone that changes cells.
package struct CarrierGrace {
    /// How long a lost carrier is hidden.
    package static let length = TimeSpan.seconds(1)
    /// Links that were able to carry packets, and since when they are not.
    private var lost: [UInt32: Instant] = [:]
    private var carried: Set<UInt32> = []

    package init() {}

    /// When the next link's second is over; `nil` without one.
    package var due: Instant? { lost.values.min().map { $0 + Self.length } }

    /// Returns the table in which links within their second still count as running.
    package mutating func apply(to table: LinkTable, now: Instant) -> LinkTable {
        var table = table
        var (stillLost, carrying): ([UInt32: Instant], Set<UInt32>) = ([:], [])
        for place in table.links.indices {
            let link = table.links[place]
            let isLeft = link.isUp && table.addresses[link.index] != nil
            if isLeft, !link.isRunning, carried.contains(link.index) {
                let since = lost[link.index] ?? now
                guard now < since + Self.length else { continue }
                stillLost[link.index] = since
                table.links[place].isRunning = true
            }
            if isLeft, table.links[place].isRunning { carrying.insert(link.index) }
        }
        (lost, carried) = (stillLost, carrying)
        return table
    }
}
