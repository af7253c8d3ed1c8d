import TextFormats
package import TransferModel

/// `Retry-After`: seconds or a date.
package enum RetryAfter {
    /// How long to wait from `now`; `nil` when the header is missing or says nothing. Never negative; what is absurd
    /// is bounded by a year, which every policy refuses.
    package static func parse(_ headers: HeaderBlock, now: WallTime) -> TimeSpan? {
        guard let text = headers.first("retry-after"), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int64(text) ?? .max, 31_536_000))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        // Compared before subtracted: what lies centuries back is too far away for a span.
        return date <= now ? .zero : min(date - now, .seconds(31_536_000))
    }
}
