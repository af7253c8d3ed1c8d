import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// What a further request of a download says.
struct PartRequestsTests {
    private static let part = PartRequest(range: 10..<20, validator: "\"v\"", total: 30)

    private func lines(_ request: OutgoingRequest) -> [String] {
        request.headers.map { "\($0.name): \($0.value.revealed)" }
    }

    @Test func itIsTheAnsweredRequestForLess() throws {
        let fields = ["A: 1", "If-None-Match: \"x\"", "if-modified-since: never"].map { line in
            let words = line.split(separator: ":", maxSplits: 1)
            return HeaderField(name: String(words[0]), value: SecretText(String(words[1].dropFirst())))
        }
        let url = try ResourceURL.parse("https://example.org/f")
        let life = AttemptLife(url, AttemptRules(type: .download, method: "GET", headers: fields))
        let request = life.request(for: Self.part)
        #expect(lines(request) == ["A: 1", "Range: bytes=10-19", "If-Range: \"v\""])
        #expect(request.url == url && request.method == "GET" && request.mayUseHTTP2 == life.request.mayUseHTTP2)
    }

    /// A request that asked for the rest of a file is asked for a part of that.
    @Test func aRangeIsReplacedByAnother() throws {
        let url = try ResourceURL.parse("http://example.org/f")
        let point = ResumePoint(url: url.text, offset: 5, validator: "\"v\"", total: 30)
        let life = AttemptLife(url, AttemptRules(type: .download, method: "GET"), resume: point)
        #expect(lines(life.request(for: Self.part)) == ["Range: bytes=10-19", "If-Range: \"v\""])
    }

    /// Where a redirect led, without what may not go there.
    @Test func itGoesWhereTheLastAnswerCameFrom() throws {
        let url = try ResourceURL.parse("http://example.org/f")
        let secret = HeaderField(name: "Authorization", value: SecretText("x"))
        let life = AttemptLife(url, AttemptRules(type: .download, method: "GET", headers: [secret]))
        let raw = Array("Location: http://example.net/g\r\nContent-Length: 0\r\n".utf8)
        _ = life.head(status: 302, version: .http1, headers: HeaderBlock(raw: raw))
        _ = life.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: false))
        let request = life.request(for: Self.part)
        #expect(request.url.text == "http://example.net/g")
        #expect(lines(request) == ["Range: bytes=10-19", "If-Range: \"v\""])
    }
}
