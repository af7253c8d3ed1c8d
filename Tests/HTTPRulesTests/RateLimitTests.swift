import HTTPRules
import TestSupport
import Testing
import TransferModel

/// A server's own limit on requests, in the forms of the drafts that servers send.
struct RateLimitTests {
    private static let now = WallTime(nanoseconds: 1_800_000_000_000_000_000)

    @Test(arguments: [
        // draft-ietf-httpapi-ratelimit-headers, from the eighth version on
        ([("RateLimit", #""default";r=50;t=30"#)], RequestQuota(remaining: 50, resetsAfter: .seconds(30))),
        (
            [
                ("RateLimit", #""burst";r=4;t=1, "day";r=2;t=3600"#),
                ("RateLimit-Policy", #""burst";q=5;w=1, "day";q=100;w=86400"#),
            ],
            RequestQuota(remaining: 2, resetsAfter: .seconds(3_600), limit: 100, window: .seconds(86_400))
        ),
        ([("ratelimit", #" "x" ; r=0 "#)], RequestQuota(remaining: 0, resetsAfter: .zero)),
        // the versions before
        (
            [("RateLimit", "limit=100, remaining=50, reset=5"), ("RateLimit-Policy", "100;w=60")],
            RequestQuota(remaining: 50, resetsAfter: .seconds(5), limit: 100, window: .seconds(60))
        ),
        // three headers
        (
            [("RateLimit-Limit", "10, 10;w=1"), ("RateLimit-Remaining", "7"), ("RateLimit-Reset", "1")],
            RequestQuota(remaining: 7, resetsAfter: .seconds(1), limit: 10, window: .seconds(1))
        ),
        (
            [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "99999999999999999999")],
            RequestQuota(remaining: 0, resetsAfter: .seconds(1_000_000_000))
        ),
    ]) func told(_ headers: [(String, String)], _ quota: RequestQuota) {
        #expect(RateLimit.quota(HeaderBlock(headers), now: Self.now) == quota)
    }

    /// Some servers tell the window's end as a Unix time: by their own clock, where the answer has it. A `Retry-After`
    /// beside it counts.
    @Test(
        arguments: [
            ("RateLimit-Reset", "1800000030", "", "", 30),
            ("RateLimit", "limit=5, remaining=0, reset=1800000030", "", "", 30),
            ("RateLimit-Reset", "1800000030", "Date", "Fri, 15 Jan 2027 08:00:20 GMT", 10),
            ("RateLimit-Reset", "1799999999", "", "", 0), ("RateLimit-Reset", "60", "Retry-After", "2", 2),
            ("RateLimit-Reset", "1800000030", "Retry-After", "2", 2),
            ("RateLimit-Reset", "999999999", "", "", 999_999_999),
        ] as [(String, String, String, String, Int64)])
    func endOfTheWindow(_ name: String, _ value: String, _ other: String, _ beside: String, _ seconds: Int64) {
        let headers = HeaderBlock([("RateLimit-Remaining", "0"), (name, value), (other.isEmpty ? "X" : other, beside)])
        let quota = RateLimit.quota(headers, now: Self.now)
        #expect(quota == RequestQuota(remaining: 0, resetsAfter: .seconds(seconds)))
    }

    @Test(arguments: [
        [], [("RateLimit", "")], [("RateLimit", "r=-1;t=5")], [("RateLimit", "r=many")],
        [("RateLimit-Remaining", "-3")],
        [("RateLimit-Reset", "30")], [("RateLimit", #""default";q=5"#)], [("X-RateLimit-Remaining", "0")],
    ]) func notTold(_ headers: [(String, String)]) {
        #expect(RateLimit.quota(HeaderBlock(headers), now: Self.now) == nil)
    }

    @Test func hostileText() {
        var random = Seeded("hostileText")
        let pieces = ["r", "t", "=", ";", ",", "\"", " ", "9", "50", "limit", "remaining", "reset", "-", "é", "w", "q"]
        for _ in 0..<Rounds.scaled(3_000) {
            let text = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
            let policy = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
            let quota = RateLimit.quota(
                HeaderBlock([("RateLimit", text), ("RateLimit-Policy", policy)]), now: Self.now)
            if let quota { #expect(quota.remaining >= 0 && quota.resetsAfter >= .zero) }
        }
    }
}
