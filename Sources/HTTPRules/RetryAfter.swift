import TextFormats
package import TransferModel

/// Reads `Retry-After`, which is a number of seconds or a date.
package enum RetryAfter {
    /// Upper bound for absurd waits: one year, which every policy refuses.
    private static let longest = TimeSpan.seconds(31_536_000)

    /// Returns how long to wait from `now`, never negative; `nil` when the header is missing or unreadable.
    ///
    /// A date refers to the server's clock, as the answer's own `Date` does: where that header is present it is used
    /// instead of `now`, because the local clock may be wrong.
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
