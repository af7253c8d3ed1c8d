import HTTPRules
import TestSupport
import Testing
import TransferModel

/// By what a half-done download may be continued, and what the answers mean.
struct ResumingTests {
    @Test(
        arguments: [
            ([("ETag", "\"abc\"")], "\"abc\""), ([("ETag", "W/\"abc\"")], nil), ([("ETag", "abc")], nil), ([], nil),
            ([("ETag", "\"abc\""), ("Accept-Ranges", "none")], nil), ([("ETag", "\"a b\"")], nil),
            ([("ETag", "\"\u{FFFD}\"")], nil),
            // RFC 9110, section 8.8.2.2: a date is strong only when it was long past.
            (
                [("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT"), ("Date", "Sat, 21 Nov 2026 07:01:00 GMT")],
                "Sat, 21 Nov 2026 07:00:00 GMT"
            ),
            ([("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT"), ("Date", "Sat, 21 Nov 2026 07:00:59 GMT")], nil),
            ([("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")], nil),
            // The weak tag speaks, not the date beside it.
            (
                [
                    ("ETag", "W/\"a\""), ("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT"),
                    ("Date", "Sat, 21 Nov 2026 09:00:00 GMT"),
                ], nil
            ),
        ] as [([(String, String)], String?)]) func strongValidators(_ headers: [(String, String)], _ validator: String?)
    {
        #expect(Resuming.validator(HeaderBlock(headers)) == validator)
    }

    /// Two tags that are one text for Swift, and two versions for the server.
    @Test func validatorsAreComparedByTheirBytes() {
        let (one, other) = ("\"caf\u{E9}\"", "\"cafe\u{301}\"")
        let point = ResumePoint(url: "http://a/", offset: 100, validator: one, total: 1_000)
        let range = ("Content-Range", "bytes 100-999/1000")
        #expect(judge(206, [range, ("ETag", one)], point) == "append 900")
        #expect(judge(206, [range, ("ETag", other)], point) == "again")
        // The same version, and shorter: it is asked for once more.
        #expect(judge(200, [("ETag", one), ("Content-Length", "999")], point) == "again")
        #expect(judge(200, [("ETag", other), ("Content-Length", "999")], point) == "whole")
        let part = PartRequest(range: 100..<200, validator: one, total: 1_000)
        func verdict(_ tag: String) -> PartRequest.Verdict {
            part.judge(status: 206, HeaderBlock([("Content-Range", "bytes 100-199/1000"), ("ETag", tag)]))
        }
        #expect(verdict(one) == .part)
        #expect(verdict(other) == .otherVersion(why: "the server has another version"))
        for weak in ["", "W/"] {
            let condition = RequestCondition(
                url: "http://a/", header: HeaderField(name: "If-None-Match", value: SecretText(weak + one)))
            #expect(!condition.isContradicted(by: HeaderBlock([("ETag", one)])))
            #expect(condition.isContradicted(by: HeaderBlock([("ETag", other)])))
        }
    }

    /// A server that compares dates answers 304 also for an older file that took the newer one's place.
    @Test func anotherDateContradictsOneThatWasAskedWith() {
        let kept = "Sat, 21 Nov 2026 07:00:00 GMT"
        let condition = RequestCondition(
            url: "http://a/", header: HeaderField(name: "If-Modified-Since", value: SecretText(kept)))
        let tagged = RequestCondition(
            url: "http://a/", header: HeaderField(name: "If-None-Match", value: SecretText("\"v\"")))
        for other in ["Sat, 21 Nov 2026 06:59:59 GMT", "Sat, 21 Nov 2026 07:00:01 GMT", "long ago"] {
            #expect(condition.isContradicted(by: HeaderBlock([("Last-Modified", other)])))
            // The tag says more than a date does.
            #expect(!tagged.isContradicted(by: HeaderBlock([("Last-Modified", other), ("ETag", "\"v\"")])))
        }
        for same in [kept, "Saturday, 21-Nov-26 07:00:00 GMT"] {
            #expect(!condition.isContradicted(by: HeaderBlock([("Last-Modified", same)])))
        }
        #expect(!condition.isContradicted(by: HeaderBlock([("ETag", "\"v\"")])))
    }

    private let point = ResumePoint(url: "http://a/", offset: 100, validator: "\"v\"", total: 1_000)

    private func judge(_ status: Int, _ headers: [(String, String)], _ point: ResumePoint? = nil) -> String {
        switch Resuming.judge(point ?? self.point, status: status, HeaderBlock(headers)) {
        case nil: "other"
        case .append(let length): "append \(length)"
        case .whole: "whole"
        case .askAgain: "again"
        }
    }

    @Test(
        arguments: [
            (206, [("Content-Range", "bytes 100-999/1000")], "again"),
            (206, [("Content-Range", "bytes 100-999/1000"), ("ETag", "\"v\"")], "append 900"),
            (206, [("Content-Range", "bytes 100-999/*"), ("ETag", "\"v\"")], "append 900"),
            (206, [("content-range", "BYTES 100-999/1000"), ("ETag", "\"v\"")], "append 900"),
            (206, [("Content-Range", "bytes 100-999/1000"), ("ETag", "\"w\"")], "again"),
            (206, [("Content-Range", "bytes 99-999/1000")], "again"),
            (206, [("Content-Range", "bytes 0-999/1000")], "again"),
            (206, [("Content-Range", "bytes 100-998/1000")], "again"),
            (206, [("Content-Range", "bytes 100-1000/1001")], "again"),
            (206, [("Content-Range", "bytes 100-998/*")], "again"),
            (206, [("Content-Range", "bytes 100-999/900")], "again"),
            (206, [("Content-Range", "bytes 999-100/1000")], "again"),
            (206, [("Content-Range", "bytes 100-999/1000"), ("Content-Encoding", "gzip")], "again"),
            (
                206, [("Content-Range", "bytes 100-999/1000"), ("Content-Encoding", "identity"), ("ETag", "\"v\"")],
                "append 900"
            ),
            (206, [("Content-Range", "bytes 100-999/1000"), ("Repr-Digest", Self.digest(1))], "again"),
            (206, [("Content-Range", "bytes */1000")], "again"),
            (206, [("Content-Range", "lines 100-999/1000")], "again"),
            (206, [("Content-Range", "bytes 100-99999999999999999999/*")], "again"),
            (206, [], "again"),
            (206, [("Content-Range", "bytes 100-999/1000"), ("Content-Range", "bytes 0-9/1000")], "again"),
            (206, [("Content-Type", "multipart/byteranges; boundary=x")], "again"),
            (200, [("ETag", "\"v\""), ("Content-Length", "1000")], "whole"),
            (200, [("ETag", "\"v\""), ("Content-Length", "900")], "again"),
            (200, [("ETag", "\"w\""), ("Content-Length", "900")], "whole"),
            (200, [("ETag", "\"v\""), ("Content-Range", "bytes 100-999/1000")], "again"),
            (200, [("ETag", "\"w\""), ("Content-Range", "bytes 100-999/1000")], "again"),
            (200, [("ETag", "\"w\""), ("Content-Range", "bytes 0-999/1000")], "whole"),
            (200, [("ETag", "\"v\""), ("Content-Range", "items 0-24/319")], "whole"),
            (200, [("ETag", "\"v\"")], "whole"), (200, [("ETag", "\"w\"")], "whole"), (200, [], "whole"),
            (416, [("Content-Range", "bytes */1000")], "again"), (416, [("Content-Range", "bytes */50")], "again"),
            (404, [], "other"), (503, [("Content-Range", "bytes 100-999/1000")], "other"), (304, [], "other"),
        ] as [(Int, [(String, String)], String)]) func answers(
            _ status: Int, _ headers: [(String, String)], _ means: String
        )
    {
        #expect(judge(status, headers) == means)
    }

    private static func digest(_ byte: UInt8) -> String {
        "sha-256=:\(String(repeating: byte == 1 ? "AQEB" : "AgIC", count: 10))\(byte == 1 ? "AQE=" : "AgI="):"
    }

    /// What says no total may be any part of the rest.
    @Test func anEndThatNobodyToldIsNone() {
        let unknown = ResumePoint(url: "http://a/", offset: 100, validator: "\"v\"", total: nil)
        #expect(judge(206, [("Content-Range", "bytes 100-199/*")], unknown) == "again")
        #expect(judge(206, [("Content-Range", "bytes 100-199/200"), ("ETag", "\"v\"")], unknown) == "append 100")
    }

    /// RFC 9110, section 15.3.7: a 206 has the `ETag` that a 200 would have. One without may come from a server that does not
    /// know `If-Range`, unless something else proves it.
    @Test func aPartThatSaysNothingOfItsVersionIsNone() {
        let range = ("Content-Range", "bytes 100-999/1000")
        let (past, later) = ("Sat, 21 Nov 2026 07:00:00 GMT", "Sat, 21 Nov 2026 07:00:01 GMT")
        var dated = point
        dated.headers = HeaderBlock([("Last-Modified", past), ("Date", "Sat, 21 Nov 2026 07:01:00 GMT")])
        #expect(judge(206, [range, ("Last-Modified", past)], dated) == "append 900")
        #expect(judge(206, [range, ("Last-Modified", later)], dated) == "again")
        #expect(judge(206, [range, ("Last-Modified", past)]) == "again")
        #expect(judge(206, [range], dated) == "again")
        // Another version of that second may have come after the first answer, with the same date.
        for date in [[("Date", "Sat, 21 Nov 2026 07:00:59 GMT")], [("Date", past)], []] {
            dated.headers = HeaderBlock([("Last-Modified", past)] + date)
            #expect(judge(206, [range, ("Last-Modified", past)], dated) == "again")
        }
        #expect(
            Resuming.judge(point, status: 206, HeaderBlock([range]), isProven: true) == .append(length: 900))
        // Nor where a date is the validator, of which a part may be silent; and what had no tag has none.
        let byDate = ResumePoint(url: "http://a/", offset: 100, validator: past, total: 1_000)
        #expect(judge(206, [range, ("Last-Modified", past)], byDate) == "append 900")
        #expect(judge(206, [range], byDate) == "again")
        #expect(judge(206, [range, ("Last-Modified", later)], byDate) == "again")
        #expect(judge(206, [range, ("Last-Modified", past), ("ETag", "\"v\"")], byDate) == "again")
        #expect(judge(206, [range, ("Last-Modified", past), ("Last-Modified", later)], byDate) == "again")
        #expect(
            Resuming.judge(byDate, status: 206, HeaderBlock([range]), isProven: true) == .append(length: 900))
        #expect(judge(206, [range, ("ETag", "\"v\""), ("ETag", "\"w\"")]) == "again")
        let part = PartRequest(range: 100..<1_000, validator: past, total: 1_000)
        #expect(part.judge(status: 206, HeaderBlock([range, ("Last-Modified", past)])) == .part)
        let silent = PartRequest.Verdict.noRanges(why: "the server does not say of which version the range is")
        #expect(part.judge(status: 206, HeaderBlock([range])) == silent)
    }

    /// What is there and what follows must be packed alike, and be of one digest.
    @Test func theRestIsLikeTheBeginning() throws {
        let range = ("Content-Range", "bytes 100-999/1000")
        var packed = point
        packed.headers = HeaderBlock([("Content-Encoding", "gzip")])
        #expect(judge(206, [range, ("Content-Encoding", "GZIP"), ("ETag", "\"v\"")], packed) == "append 900")
        #expect(judge(206, [range], packed) == "again")
        var proved = point
        proved.sent = SentDigests.strongest(HeaderBlock([("Repr-Digest", Self.digest(1))]), status: 200)
        #expect(proved.sent != nil)
        #expect(judge(206, [range], proved) == "append 900")
        #expect(judge(206, [range, ("Repr-Digest", Self.digest(1))], proved) == "append 900")
        #expect(judge(206, [range, ("Repr-Digest", Self.digest(2))], proved) == "again")
    }

    @Test func framingsAreHeldAgainstTheRange() {
        #expect(BodyFraming.length(9).holding(9) == .length(9) && BodyFraming.length(8).holding(9) == nil)
        #expect(BodyFraming.chunked(announced: nil).holding(9) == .chunked(announced: 9))
        #expect(BodyFraming.chunked(announced: 8).holding(9) == nil)
        #expect(BodyFraming.untilClose.holding(9) == .length(9) && BodyFraming.none.holding(9) == nil)
    }

    /// A query is part of a name as often as it is a signature.
    @Test(arguments: [
        ("http://a/f?build=1", "http://a/f?build=1", true), ("http://a/f?build=1", "http://a/f?build=2", false),
        ("http://a/f", "http://a/f?build=2", false), ("http://a/f?x=1", "http://b/f?x=1", false),
        ("http://a/f?Signature=1&Expires=2&v=1&Key-Pair-Id=3", "http://a/f?v=1&Key-Pair-Id=3&Signature=4", true),
        ("http://a/f?Signature=1&Expires=2", "http://a/f?Expires=3&Signature=4", false),
        ("http://a/f?sig=1&sr=one", "http://a/f?sig=2&sr=two", false),
        ("http://a/f?sig=1&sv=1&sr=one", "http://a/f?sig=2&sv=1&sr=two", false),
        ("http://a/f?sig=1&sv=1&se=1&sr=b", "http://a/f?sig=2&sv=1&se=2&sr=b", true),
        ("http://a/f?Signature=1&k=1", "http://a/f?k=2&Signature=4", false),
        ("http://a/f?Expires=1", "http://a/f?Expires=2", false),
        (
            "http://a/f?X-Amz-Signature=1&X-Amz-Credential=1&X-Amz-Date=1&v=1",
            "http://a/f?X-Amz-Signature=2&X-Amz-Credential=1&X-Amz-Date=2&v=1", true
        ),
        ("http://a/f?X-Amz-Signature=1&v=1", "http://a/f?X-Amz-Signature=2&v=2", false),
        ("http://a/f?sv=1&sig=2", "http://a/f?sv=1&sig=3", true), ("http://a/f?sv=1", "http://a/f?sv=2", false),
    ]) func bytesGoOnWithinOneResource(_ first: String, _ second: String, _ isSame: Bool) throws {
        var point = ResumePoint(url: first, offset: 1, validator: "\"v\"", total: nil)
        let other = try ResourceURL.parse(second)
        #expect(point.isFrom(other) == isSame)
        let isOneFile = !second.hasPrefix("http://b")
        #expect(point.isFrom(other, isProven: true) == isOneFile)
        point.sent = SentDigests.strongest(HeaderBlock([("Repr-Digest", Self.digest(1))]), status: 200)
        #expect(point.isFrom(other) == isOneFile)
    }

    /// RFC 9110, section 15.3.7: a part need not say again what the first answer said.
    @Test func whatIsSaidOfAFileComesFromBothAnswers() {
        let first = HeaderBlock([
            ("Content-Type", "x/y"), ("Content-Length", "9"), ("X-A", "1"), ("X-A", "2"), ("X-B", "old"),
            ("Set-Cookie", "a=b"), ("Connection", "X-C"), ("X-C", "1"),
        ])
        let part = HeaderBlock([
            ("x-b", "new"), ("Content-Length", "4"), ("Content-Range", "bytes 5-8/9"), ("Content-Digest", "z"),
        ])
        let all = Resuming.headers(Resuming.kept(first), completedBy: part)
        #expect(
            all.lines.map { "\(all.name($0)): \(all.value($0))" } == [
                "Content-Type: x/y", "Content-Length: 9", "X-A: 1", "X-A: 2", "x-b: new",
            ])
    }

    @Test func aDateIsComparedAsItWasSent() {
        let dated = ResumePoint(url: "http://a/", offset: 5, validator: "Sat, 21 Nov 2026 07:00:00 GMT", total: nil)
        let range = ("Content-Range", "bytes 5-9/10")
        #expect(judge(206, [range, ("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")], dated) == "append 5")
        #expect(judge(206, [range, ("Last-Modified", "Sat, 21 Nov 2026 07:00:01 GMT")], dated) == "again")
    }

    @Test func hostileRanges() {
        var random = Seeded("hostileRanges")
        let pieces = ["bytes", " ", "0", "100", "-", "999", "/", "1000", "*", "+", "\t", "é", "9223372036854775807"]
        for _ in 0..<Rounds.scaled(3_000) {
            let text = (0..<random.below(9)).map { _ in random.pick(pieces) }.joined()
            guard let range = ContentRange(text) else { continue }
            #expect(range.first >= 0 && range.first <= range.last && range.total.map { $0 > range.last } ?? true)
        }
    }

    /// The field has no meaning in an answer 200, but a server that means it must not be believed.
    @Test(
        arguments: [
            ("0-24/*", nil, true), ("0-2/3", nil, true), ("items 0-24/319", 4, true), ("posts 0-3/4", 4, true),
            ("bytes 0-3/4", 4, true), ("bytes 0-3/*", nil, true), ("bytes */4", 4, true), ("", 4, true),
            ("bytes 0-9223372036854775806/9223372036854775807", nil, true), ("bytes 0-9223372036854775807/*", 4, true),
            ("bytes 0-1/4", 4, true), ("bytes 2-3/4", 4, true), ("bytes 0-1/9", 4, false), ("bytes 0-1/9", nil, false),
            ("bytes 100-199/1000", nil, false), ("bytes 100-199/1000", 100, false), ("bytes 100-199/*", 100, false),
        ] as [(String, Int?, Bool)]) func aContentRangeOfTheWhole(_ text: String, _ length: Int?, _ isWhole: Bool)
    {
        let headers = [("Content-Range", text)] + (length.map { [("Content-Length", "\($0)")] } ?? [])
        #expect((Resuming.partialWhole(HeaderBlock(headers)) == nil) == isWhole)
    }
}
