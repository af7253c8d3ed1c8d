import HTTPRules
import TestSupport
import Testing
import TransferModel

struct MediaTypeTests {
    @Test(arguments: [
        ("text/html", "text/html", nil), ("Text/HTML; Charset=UTF-8", "text/html", "UTF-8"),
        ("text/plain;charset=\"iso-8859-1\"", "text/plain", "iso-8859-1"),
        ("text/plain; a=\"x;charset=no\"; charset=yes", "text/plain", "yes"),
        ("text/plain; charset=one; charset=two", "text/plain", "one"), ("text/plain; charset=", "text/plain", nil),
        ("application/vnd.api+json ; q", "application/vnd.api+json", nil),
        ("text/plain; charset=\"a\\\"b\"", "text/plain", "a\"b"),
    ]) func parts(text: String, type: String, charset: String?) {
        let parsed = MediaType(text)
        #expect(parsed?.type == type)
        #expect(parsed?.charset == charset)
    }

    @Test(arguments: [
        "", "text", "/", "text/", "/html", "text/html/x", "te xt/html", "text/ht\tml", "text/html, a/b", "t\u{0}/x",
        "tëxt/x",
    ])
    func noType(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(arguments: [
        ("image/png", "image/*", true), ("image/png", "*/*", true), ("image/png", "*", true),
        ("image/png", "IMAGE/PNG", true),
        ("image/png", "image/jpeg", false), ("imagex/png", "image/*", false), ("image/png", "image", false),
        ("application/ld+json", "application/*+json", true), ("application/json", "application/*+json", false),
        ("application/+json", "application/*+json", true), ("text/html", "t*t/*l", true),
        ("text/html", "*ht*ml*", true),
        ("text/html", "*x*x*x*", false), ("a/b", "a/b*a/b", false), ("a/aa", "a/*a", true), ("a/a", "a/*a*a", false),
        ("text/html", "", false),
    ]) func wildcards(type: String, pattern: String, matches: Bool) {
        #expect(MediaType(type)?.matches(pattern) == matches)
    }

    /// Against the obvious, slow way.
    @Test func wildcardsAgainstAModel() {
        func slow(_ text: Substring, _ pattern: Substring) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == "*" {
                return slow(text, pattern.dropFirst()) || (!text.isEmpty && slow(text.dropFirst(), pattern))
            }
            return text.first == first && slow(text.dropFirst(), pattern.dropFirst())
        }
        var random = Seeded("wildcardsAgainstAModel")
        for _ in 0..<Rounds.scaled(5_000) {
            let type = "a/" + String((0..<(1 + random.below(6))).map { _ in random.pick(Array("ab")) })
            let pattern = String((0..<random.below(8)).map { _ in random.pick(Array("ab*/")) })
            #expect(MediaType(type)?.matches(pattern) == slow(type[...], pattern[...]), "\(type) \(pattern)")
        }
    }
}

struct RetryAfterTests {
    /// 2026-11-21 07:00:00 UTC.
    private let now = ManualClock().wall

    @Test(arguments: [
        ("0", TimeSpan.zero), ("120", .seconds(120)), ("0007", .seconds(7)), ("31536001", .seconds(31_536_000)),
        ("99999999999999999999", .seconds(31_536_000)), ("Sat, 21 Nov 2026 07:00:30 GMT", .seconds(30)),
        ("Sat, 21 Nov 2026 06:59:30 GMT", .zero), ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(31_536_000)),
        ("Thu, 01 Jan 1601 00:00:00 GMT", .zero), ("Mon, 01 Jan 0001 00:00:00 GMT", .zero),
        ("Saturday, 21-Nov-26 07:01:00 GMT", .seconds(60)), ("2.0", .seconds(2)), ("1.5", .seconds(2)),
        ("31535999.7", .seconds(31_536_000)), ("99999999999999999999.5", .seconds(31_536_000)),
    ]) func read(text: String, wait: TimeSpan) {
        #expect(RetryAfter.parse(HeaderBlock([("Retry-After", text)]), now: now) == wait)
    }

    /// The server's clock goes wrong by days: what it means is the distance of two of its own dates.
    @Test(arguments: [
        ("Sat, 14 Nov 2026 07:00:30 GMT", "Sat, 14 Nov 2026 07:00:00 GMT", TimeSpan.seconds(30)),
        ("Mon, 23 Nov 2026 07:00:30 GMT", "Mon, 23 Nov 2026 07:00:00 GMT", .seconds(30)),
        ("Mon, 23 Nov 2026 07:00:30 GMT", "Mon, 23 Nov 2026 07:00:31 GMT", .zero),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", .seconds(31_536_000)),
        ("Sat, 21 Nov 2026 07:00:30 GMT", "today", .seconds(30)),
        ("20", "Mon, 23 Nov 2026 07:00:00 GMT", .seconds(20)),
    ]) func readByTheServersClock(text: String, date: String, wait: TimeSpan) {
        #expect(RetryAfter.parse(HeaderBlock([("Retry-After", text), ("Date", date)]), now: now) == wait)
    }

    @Test(arguments: [
        "", "-1", "+1", "1.", ".5", "1.5.2", "1,5", "1s", "soon", "12 0", "Sat, 31 Feb 2026 07:00:00 GMT",
    ])
    func notRead(text: String) {
        #expect(RetryAfter.parse(HeaderBlock([("Retry-After", text)]), now: now) == nil)
    }

    @Test func missing() { #expect(RetryAfter.parse(.empty, now: now) == nil) }
}

struct HTTPMethodTests {
    @Test func whatIsSafeIsIdempotent() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"] {
            #expect(HTTPMethod.isSafe(method) && HTTPMethod.isIdempotent(method))
        }
        for method in ["PUT", "DELETE"] { #expect(!HTTPMethod.isSafe(method) && HTTPMethod.isIdempotent(method)) }
        for method in ["POST", "PATCH", "get", ""] {
            #expect(!HTTPMethod.isSafe(method) && !HTTPMethod.isIdempotent(method))
        }
    }
}
