import TextFormats
package import TransferModel

/// `Retry-After`: seconds or a date.
package enum RetryAfter {
    /// What is absurd is bounded by a year, which every policy refuses.
    private static let longest = TimeSpan.seconds(31_536_000)

    /// How long to wait from `now`; `nil` when the header is missing or says nothing. Never negative.
    ///
    /// A date is one of the server's clock, as the answer's own `Date` is: where that is told, ours may be wrong.
    package static func parse(_ headers: HeaderBlock, now: WallTime) -> TimeSpan? {
        guard let text = headers.first("retry-after"), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int64(text) ?? .max, 31_536_000))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        let start = headers.first("date").flatMap { HTTPDate.parse($0) } ?? now
        return min(start.span(to: date), longest)
    }
}
