package import TransferModel

/// When to look, if changes come in bursts: a moment after the last, and not long after the first.
package struct Settling {
    package static let quiet = TimeSpan.milliseconds(20)
    package static let longest = TimeSpan.milliseconds(200)
    private var first: Instant?
    private var last: Instant?

    package init() {}

    package mutating func noteChange(_ now: Instant) {
        first = first ?? now
        last = now
    }

    package var due: Instant? {
        guard let first, let last else { return nil }
        return min(last + Self.quiet, first + Self.longest)
    }

    package mutating func hasLooked() { (first, last) = (nil, nil) }
}

/// A plug that wiggles, a phone that changes cells: a link that has lost its carrier and nothing else is given a second
/// to find it again before anybody hears of it.
package struct CarrierGrace {
    package static let length = TimeSpan.seconds(1)
    /// Links that had been able to carry, and since when they are not.
    private var lost: [UInt32: Instant] = [:]
    private var carried: Set<UInt32> = []

    package init() {}

    /// When the next of them has had its second.
    package var due: Instant? { lost.values.min().map { $0 + Self.length } }

    /// The table as it is to be taken.
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
