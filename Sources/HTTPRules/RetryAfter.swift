import TextFormats
package import TransferModel

/// Reads `Retry-After`, which is a number of seconds or a date. Some servers write a fraction, which is rounded up.
package enum RetryAfter {
    /// Upper bound for absurd waits: one year, which every policy refuses.
    private static let longest = TimeSpan.seconds(31_536_000)

    /// Returns how long to wait from `now`, never negative; `nil` when the header is missing or unreadable.
    ///
    /// A date refers to the server's clock, as the answer's own `Date` does: where that header is present it is used
    /// instead of `now`, because the local clock may be wrong.
    package static func parse(_ headers: HeaderBlock, now: WallTime) -> TimeSpan? {
        guard let text = headers.first("retry-after"), !text.isEmpty else { return nil }
        if let seconds = seconds(text) { return seconds }
        return HTTPDate.parse(text).map { min(self.now(headers, now).span(to: $0), longest) }
    }

    /// The server's time, from the answer's `Date`; without one the local time.
    static func now(_ headers: HeaderBlock, _ local: WallTime) -> WallTime {
        headers.first("date").flatMap { HTTPDate.parse($0) } ?? local
    }

    private static func seconds(_ text: String) -> TimeSpan? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return nil
        }
        let isFraction = parts.count == 2 && parts[1].contains { $0 != 0x30 }
        let whole = min(Int64(String(decoding: parts[0], as: UTF8.self)) ?? .max, 31_536_000)
        return min(.seconds(whole + (isFraction ? 1 : 0)), longest)
    }
}
