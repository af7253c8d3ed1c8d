package import TransferModel

/// Reads `RateLimit` and `RateLimit-Policy` in three forms: of today's draft (`"default";r=50;t=30`), of the draft
/// before (`limit=100, remaining=50, reset=30`) and as three headers (`RateLimit-Remaining` …).
///
/// When a window ends is said in seconds from now, and by some servers as a Unix time.
package enum RateLimit {
    /// Returns the quota of requests that an answer announces; `nil` without one, or when its form is unreadable. A
    /// `Retry-After` beside it says when to ask again.
    package static func quota(_ headers: HeaderBlock, now: WallTime) -> RequestQuota? {
        guard var quota = present(headers, RetryAfter.now(headers, now)) else { return nil }
        if let wait = RetryAfter.parse(headers, now: now) { quota.resetsAfter = wait }
        if let policy = policy(headers) { (quota.limit, quota.window) = policy }
        return quota
    }

    private static func present(_ headers: HeaderBlock, _ now: WallTime) -> RequestQuota? {
        if let text = headers.first("ratelimit") {
            let items = members(of: text)
            // The older form spreads one limit over the list.
            if items.contains(where: { $0.first?.name == "remaining" }) {
                return item("remaining", "reset", items.flatMap { $0 }, now)
            }
            // Of several limits take the one that is reached first.
            return items.compactMap { item("r", "t", $0, now) }.min(by: isStricter)
        }
        guard let remaining = headers.first("ratelimit-remaining").flatMap(count) else { return nil }
        return RequestQuota(
            remaining: remaining,
            resetsAfter: headers.first("ratelimit-reset").flatMap(count).map { wait($0, now) } ?? .zero)
    }

    private static func isStricter(_ left: RequestQuota, _ right: RequestQuota) -> Bool {
        if left.remaining != right.remaining { return left.remaining < right.remaining }
        return left.resetsAfter > right.resetsAfter
    }

    private static func item(
        _ remaining: String, _ reset: String, _ parameters: [(name: String, value: String)], _ now: WallTime
    ) -> RequestQuota? {
        guard let left = value(remaining, parameters) else { return nil }
        return RequestQuota(remaining: left, resetsAfter: value(reset, parameters).map { wait($0, now) } ?? .zero)
    }

    /// The number of requests in each window: `"default";q=100;w=60`, or `100;w=60`.
    private static func policy(_ headers: HeaderBlock) -> (limit: Int, window: TimeSpan)? {
        guard let text = headers.first("ratelimit-policy") ?? headers.first("ratelimit-limit") else { return nil }
        let told = members(of: text).compactMap { parameters -> (limit: Int, window: TimeSpan)? in
            guard let window = value("w", parameters) else { return nil }
            guard let limit = value("q", parameters) ?? parameters.first.flatMap({ count($0.name) }) else {
                return nil
            }
            return (limit, seconds(window))
        }
        // Of several policies take the slowest in the long run.
        return told.min { Double($0.limit) / $0.window.seconds < Double($1.limit) / $1.window.seconds }
    }

    /// The members of a list, each as its parameters `name=value`; a bare item has an empty value.
    private static func members(of text: String) -> [[(name: String, value: String)]] {
        text.split(separator: ",").map { member in
            member.split(separator: ";").map { part in
                let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let value = sides.count > 1 ? trimmed(sides[1]) : ""
                return (trimmed(sides[0]), value)
            }
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    private static func value(_ name: String, _ parameters: [(name: String, value: String)]) -> Int? {
        parameters.first { $0.name == name }.flatMap { count($0.value) }
    }

    /// How long a window lasts that ends after this many seconds, or at this Unix time: none is thirty years long.
    private static func wait(_ count: Int, _ now: WallTime) -> TimeSpan {
        let isTime = count > longest && count < most
        return isTime ? now.span(to: WallTime(nanoseconds: Int64(count) * 1_000_000_000)) : seconds(count)
    }

    /// The longest span, in seconds.
    private static let longest = 1_000_000_000
    /// Numbers above count as this one, the last second that can be counted in nanoseconds.
    private static let most = 9_000_000_000

    /// A whole number that is not negative.
    private static func count(_ text: String) -> Int? {
        let digits = text.utf8.filter { $0 != 0x20 }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(String(decoding: digits, as: UTF8.self)) ?? .max, most)
    }

    private static func seconds(_ count: Int) -> TimeSpan { .seconds(Int64(min(count, longest))) }
}
