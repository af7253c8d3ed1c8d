import HTTPRules
import Testing
import TransferModel

@testable import AttemptLife

/// What the headers and the end of one response mean.
struct ResponseTests {
    private static let url = "https://a.test/file"

    private func request(_ rules: AttemptRules) throws -> OutgoingRequest {
        RequestBuilder(try ResourceURL.parse(Self.url), rules).firstRequest()
    }

    /// Judges a response of ten bytes with a further header.
    private func judge(
        _ status: Int, _ rules: AttemptRules = AttemptRules(type: .download, method: "GET"),
        _ headers: [(String, String)] = [], _ framing: BodyFraming = .length(10), version: HTTPProtocol = .http1
    ) throws -> (response: Response, verdict: Response.Verdict) {
        var response = Response(rules, status: status, version: version)
        let verdict = response.judge(
            HeaderBlock(headers), framing, of: try request(rules), Response.Circumstances())
        return (response, verdict)
    }

    private func expecting(_ expect: Expectations) -> AttemptRules {
        AttemptRules(type: .download, method: "GET", expect: expect)
    }

    @Test func successWithALength_isTheResult() throws {
        let (response, verdict) = try judge(200)
        guard case .result(.length(10)) = verdict else { return report(verdict) }
        #expect(!response.isDeclined && response.offset == 0 && response.type == .download)
    }

    @Test(arguments: [404, 500, 300]) func anotherStatus_isDeclined_andItsBodyIsNoFile(_ status: Int) throws {
        let (response, verdict) = try judge(status)
        guard case .declined(let error) = verdict else { return report(verdict) }
        #expect(error.name == .unexpectedResponse && response.isDeclined && !response.missesWhatIsNamed)
    }

    @Test(arguments: [204, 205, 304]) func responseWithoutContent_isNoFile(_ status: Int) throws {
        let (_, verdict) = try judge(status, AttemptRules(type: .download, method: "GET"), [], .none)
        guard case .declined(let error) = verdict else { return report(verdict) }
        #expect(error.name == .unexpectedResponse)
    }

    @Test func announcedLength_thatIsNotTheExpectedOne_failsBeforeTheBody() throws {
        var expect = Expectations()
        expect.size = 11
        let (_, verdict) = try judge(200, expecting(expect))
        guard case .failed = verdict else { return report(verdict) }
    }

    /// The whole file may be as expected although the server's rest of it is not.
    @Test func restWithAnotherLength_isUnusable() throws {
        var expect = Expectations()
        expect.size = 11
        let rules = expecting(expect)
        var response = Response(rules, status: 206)
        response.continues(at: 5, .empty)
        let verdict = response.judge(.empty, .length(10), of: try request(rules), Response.Circumstances())
        guard case .restIsUnusable = verdict else { return report(verdict) }
    }

    @Test func unprovenStream_isAskedForOnce() throws {
        let rules = AttemptRules(type: .download, method: "GET")
        let (_, verdict) = try judge(200, rules, [], .untilClose, version: .http2)
        guard case .unprovenStream = verdict else { return report(verdict) }
        var again = try request(rules)
        again.mayUseHTTP2 = false
        var response = Response(rules, status: 200, version: .http2)
        let second = response.judge(.empty, .untilClose, of: again, Response.Circumstances())
        guard case .result = second else { return report(second) }
    }

    @Test func bodyShorterThanAnnounced_fails() throws {
        let rules = AttemptRules(type: .download, method: "GET")
        var (response, _) = try judge(200, rules)
        let end = TransportEnd(error: nil, received: 9, sawCloseNotify: true)
        #expect(throws: TransferError.self) {
            _ = try response.judgeEnd(.length(10), end, of: try request(rules), sentSum: nil)
        }
        let whole = TransportEnd(error: nil, received: 10, sawCloseNotify: true)
        #expect(try !response.judgeEnd(.length(10), whole, of: try request(rules), sentSum: nil))
    }

    /// A server cannot have stored what was not sent.
    @Test func success_ofAnUploadThatWasCut_isNone() throws {
        let rules = AttemptRules(type: .upload, method: "PUT", hasBody: true)
        var (response, _) = try judge(200, rules)
        var end = TransportEnd(error: nil, received: 10, sawCloseNotify: true)
        end.cutBody = TransportEnd.SentPart(bytes: 3, total: 8)
        #expect(throws: TransferError.self) {
            _ = try response.judgeEnd(.length(10), end, of: try request(rules), sentSum: nil)
        }
    }
}
