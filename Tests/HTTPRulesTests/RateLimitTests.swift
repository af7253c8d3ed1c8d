import HTTPRules
import TestSupport
import Testing
import TransferModel

/// A server's own limit on requests, in the forms of the drafts that servers send.
struct RateLimitTests {
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
        #expect(RateLimit.quota(HeaderBlock(headers)) == quota)
    }

    @Test(arguments: [
        [], [("RateLimit", "")], [("RateLimit", "r=-1;t=5")], [("RateLimit", "r=many")],
        [("RateLimit-Remaining", "-3")],
        [("RateLimit-Reset", "30")], [("RateLimit", #""default";q=5"#)], [("X-RateLimit-Remaining", "0")],
    ]) func notTold(_ headers: [(String, String)]) {
        #expect(RateLimit.quota(HeaderBlock(headers)) == nil)
    }

    @Test func hostileText() {
        var random = Seeded("hostileText")
        let pieces = ["r", "t", "=", ";", ",", "\"", " ", "9", "50", "limit", "remaining", "reset", "-", "é", "w", "q"]
        for _ in 0..<Rounds.scaled(3_000) {
            let text = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
            let policy = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
            let quota = RateLimit.quota(HeaderBlock([("RateLimit", text), ("RateLimit-Policy", policy)]))
            if let quota { #expect(quota.remaining >= 0 && quota.resetsAfter >= .zero) }
        }
    }
}
