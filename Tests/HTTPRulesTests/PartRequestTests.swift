import HTTPRules
import Testing
import TransferModel

/// What answers to a request for a part of a file mean.
struct PartRequestTests {
    private static let request = PartRequest(range: 1000..<2000, validator: "\"a\"", total: 5000)

    private func judge(_ status: Int, _ headers: String..., of request: PartRequest = Self.request)
        -> PartRequest.Verdict
    {
        request.judge(status: status, HeaderBlock(raw: Array(headers.map { $0 + "\r\n" }.joined().utf8)))
    }

    @Test func itAsksForItsBytesOfThisVersion() {
        let lines = Self.request.headers.map { "\($0.name): \($0.value.revealed)" }
        #expect(lines == ["Range: bytes=1000-1999", "If-Range: \"a\""])
    }

    @Test func onlyWhatWasAskedForIsTaken() {
        #expect(judge(206, "Content-Range: bytes 1000-1999/5000", "ETag: \"a\"") == .part)
        #expect(judge(206, "Content-Range: bytes 1000-1999/*", "ETag: \"a\"") == .part)
        #expect(
            judge(206, "Content-Range: bytes 1000-1999/5000", "Content-Encoding: identity", "ETag: \"a\"") == .part)
    }

    /// Of which version it is must be known from something.
    @Test func whatSaysNothingOfItsVersionIsNoPart() {
        let (range, date) = ("Content-Range: bytes 1000-1999/5000", "Sat, 01 Nov 2025 00:00:00 GMT")
        var request = Self.request
        request.modified = date
        #expect(judge(206, range, "Last-Modified: \(date)", of: request) == .part)
        for headers in [[range], [range, "Last-Modified: Sat, 01 Nov 2025 00:00:01 GMT"]] {
            let block = HeaderBlock(raw: Array(headers.map { $0 + "\r\n" }.joined().utf8))
            guard case .noRanges = request.judge(status: 206, block) else {
                Issue.record("taken: \(headers)")
                continue
            }
        }
        request.isProven = true
        #expect(judge(206, range, of: request) == .part)
    }

    @Test(arguments: [
        (206, ["Content-Range: bytes 0-999/5000"]), (206, ["Content-Range: bytes 1000-1998/5000"]),
        (206, ["Content-Range: bytes 1000-4999/5000"]), (206, ["Content-Length: 1000"]),
        (206, ["Content-Range: bytes 1000-1999/5000", "Content-Range: bytes 0-1/5000"]),
        (206, ["Content-Type: multipart/byteranges; boundary=x", "Content-Range: bytes 1000-1999/5000"]),
        (206, ["Content-Range: bytes 1000-1999/5000", "Content-Encoding: gzip", "ETag: \"a\""]),
        (
            206,
            [
                "Content-Range: bytes 1000-1999/5000", "ETag: \"a\"", "Content-Encoding: identity",
                "Content-Encoding: gzip",
            ]
        ),
        (200, ["ETag: \"a\""]),
        (200, ["ETag: \"b\""]), (416, ["Content-Range: bytes */5000"]),
        (302, ["Location: /elsewhere"]), (403, []), (404, []), (501, []),
    ])
    func aServerThatAnswersSoIsAskedForNoMore(_ status: Int, _ headers: [String]) {
        let block = HeaderBlock(raw: Array(headers.map { $0 + "\r\n" }.joined().utf8))
        guard case .noRanges(let why) = Self.request.judge(status: status, block) else {
            Issue.record("taken: \(status) \(headers)")
            return
        }
        #expect(!why.isEmpty)
    }

    @Test func anotherVersionIsToldFromAPart() {
        let dated = PartRequest(range: 0..<10, validator: "Sat, 01 Nov 2025 00:00:00 GMT", total: 20)
        let versions = [
            judge(206, "Content-Range: bytes 1000-1999/5000", "ETag: \"b\""),
            judge(206, "Content-Range: bytes 1000-1999/5001", "ETag: \"a\""),
            judge(
                206, "Content-Range: bytes 0-9/20", "Last-Modified: Sun, 02 Nov 2025 00:00:00 GMT", of: dated),
        ]
        for verdict in versions {
            guard case .otherVersion = verdict else {
                Issue.record("\(verdict)")
                continue
            }
        }
    }

    @Test(arguments: [429, 503, 500, 404, 401])
    func anotherStatusSaysNothingOfTheNext(_ status: Int) {
        #expect(judge(status, "Retry-After: 3") == .declined(why: "the server answered \(status)"))
    }
}
