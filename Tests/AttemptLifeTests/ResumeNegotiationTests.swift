import HTTPRules
import Testing
import TransferModel

@testable import AttemptLife

/// Which request asks for the rest of a file, and what becomes of the part that is there.
struct ResumeNegotiationTests {
    private static let url = "https://a.test/file"
    private let rules = AttemptRules(type: .download, method: "GET")

    private func request(_ url: String = url) throws -> OutgoingRequest {
        RequestBuilder(try ResourceURL.parse(url), rules).firstRequest()
    }

    private func negotiation(
        url: String = url, isProven: Bool = false, isForeign: Bool = false
    ) -> ResumeNegotiation {
        let point = ResumePoint(
            url: url, offset: 4, validator: "\"v1\"", total: 10, isForeign: isForeign)
        return ResumeNegotiation(point, isProven: isProven)
    }

    private func ranges(_ request: OutgoingRequest) -> [String] {
        request.headers.filter { ["Range", "If-Range"].contains($0.name) }.map(\.value.revealed)
    }

    /// The response's headers: the rest of the file, as version `v`.
    private func rest(_ v: String) -> HeaderBlock {
        HeaderBlock([("ETag", "\"\(v)\""), ("Content-Range", "bytes 4-9/10"), ("Content-Length", "6")])
    }

    @Test func theRestOfTheSameVersion_isAppended() throws {
        var (negotiation, request) = (negotiation(), try request())
        negotiation.addRange(to: &request)
        #expect(ranges(request) == ["bytes=4-", "\"v1\""])
        let verdict = negotiation.judge(&request, status: 206, rest("v1"), .length(6), rules)
        guard case .rest(.length(6), offset: 4, _) = verdict else { return report(verdict) }
        #expect(negotiation.point != nil && negotiation.startedOver == nil)
    }

    @Test func theRestOfAnotherVersion_givesThePartUp_andAsksWithoutARange() throws {
        var (negotiation, request) = (negotiation(), try request())
        negotiation.addRange(to: &request)
        let verdict = negotiation.judge(&request, status: 206, rest("v2"), .length(6), rules)
        guard case .askAgain = verdict else { return report(verdict) }
        #expect(negotiation.point == nil && negotiation.startedOver != nil && ranges(request).isEmpty)
    }

    /// The rest is of the part's version, and the server changes its mind about the length: that is no rest of it.
    @Test func theRestWithAnotherLength_givesThePartUp() throws {
        var (negotiation, request) = (negotiation(), try request())
        negotiation.addRange(to: &request)
        let verdict = negotiation.judge(&request, status: 206, rest("v1"), .length(5), rules)
        guard case .askAgain = verdict else { return report(verdict) }
        #expect(negotiation.point == nil)
    }

    @Test func theWholeFile_givesThePartUp() throws {
        var (negotiation, request) = (negotiation(), try request())
        negotiation.addRange(to: &request)
        let verdict = negotiation.judge(&request, status: 200, .empty, .length(10), rules)
        guard case .whole(.length(10)) = verdict else { return report(verdict) }
        #expect(negotiation.point == nil && negotiation.startedOver != nil)
    }

    /// A server that is down says nothing of the part.
    @Test func anError_keepsThePart() throws {
        var (negotiation, request) = (negotiation(), try request())
        negotiation.addRange(to: &request)
        let verdict = negotiation.judge(&request, status: 503, .empty, .length(0), rules)
        guard case .whole = verdict else { return report(verdict) }
        #expect(negotiation.point != nil && negotiation.startedOver == nil)
    }

    /// Another query may name another file; where a digest proves the whole, or the part is foreign, the rest of it
    /// will do.
    @Test(arguments: [
        ("https://b.test/file", false, false, 0), ("https://b.test/file", true, false, 0),
        ("https://b.test/file", true, true, 2), ("https://a.test/file?t=1", false, false, 0),
        ("https://a.test/file?t=1", true, false, 2),
    ])
    func aPartFromAnotherURL_isContinuedWhereADigestProvesTheWhole(
        _ url: String, _ isProven: Bool, _ isForeign: Bool, _ expected: Int
    ) throws {
        var (negotiation, request) = (
            negotiation(url: url, isProven: isProven, isForeign: isForeign), try request()
        )
        negotiation.addRange(to: &request)
        #expect(ranges(request).count == expected)
    }

    /// A middlebox that lets no range through breaks each request for the rest.
    @Test func requestsThatBringNothing_endInARequestForTheWholeFile() throws {
        var negotiation = negotiation()
        let end = TransportEnd(
            error: TransferError(.networkConnectionLost, "broken"), received: 0, sawCloseNotify: false)
        for _ in 0..<ResumePoint.mostUnanswered {
            var request = try request()
            negotiation.addRange(to: &request)
            #expect(!ranges(request).isEmpty)
            negotiation.countUnanswered(end, at: request.url)
        }
        var last = try request()
        negotiation.addRange(to: &last)
        #expect(ranges(last).isEmpty && negotiation.point != nil)
        // All of the file brings nothing either: it was not the range.
        negotiation.countUnanswered(end, at: last.url)
        #expect(negotiation.point?.unanswered == 0)
    }

    /// What was kept was sent to another user: this one gets all of its own response.
    @Test func anotherUser_asksForAllOfTheFile() throws {
        var (negotiation, first) = (negotiation(), try request())
        negotiation.addRange(to: &first)
        let asked = RequestMark(typed: [], sent: [], proof: "somebody").text(answer: .empty, key: 7)
        negotiation.resume(
            from: ResumePoint(url: Self.url, offset: 4, validator: "\"v1\"", total: 10, asked: asked))
        let plain = negotiation.withoutConditions(first, typed: first.headers, proof: "another", condition: nil)
        #expect(plain.map(ranges) == [] && negotiation.conditionsRemoved)
        let same = negotiation.withoutConditions(first, typed: first.headers, proof: "somebody", condition: nil)
        #expect(same == nil && !negotiation.conditionsRemoved)
    }
}
