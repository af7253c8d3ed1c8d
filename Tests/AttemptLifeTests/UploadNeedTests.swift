import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// The question that an upload with `existing: skip` begins with.
struct UploadNeedTests {
    private func life() throws -> AttemptLife {
        let url = try ResourceURL.parse("https://a.test/x")
        let headers = [
            HeaderField(name: "Content-Type", value: "image/png"), HeaderField(name: "X-Own", value: "1"),
        ]
        let life = AttemptLife(
            url, AttemptRules(type: .upload, method: "PUT", headers: headers, hasBody: true, expectsContinue: true))
        life.askWhetherNeeded()
        return life
    }

    private func end(_ life: AttemptLife, _ status: Int, _ headers: HeaderBlock = .empty) -> NextStep {
        _ = life.head(status: status, version: .http1, headers: headers)
        return life.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: true))
    }

    @Test func theQuestion_isAHeadWithoutWhatIsOfTheBody() throws {
        let request = try life().request
        #expect(request.method == "HEAD" && !request.sendsBody && !request.expectsContinue)
        #expect(request.headers.map(\.name) == ["X-Own"])
    }

    @Test(arguments: [404, 405, 410, 501]) func nothingThere_sendsTheWholeUpload(_ status: Int) throws {
        let life = try life()
        guard case .send(let request, nil) = end(life, status) else {
            Issue.record("nothing is sent")
            return
        }
        #expect(request.method == "PUT" && request.sendsBody && request.expectsContinue)
        #expect(request.headers.map(\.name) == ["Content-Type", "X-Own"])
        // What is answered now is the upload's own answer.
        guard case .fail = end(life, 404) else {
            Issue.record("a 404 to the upload is no success")
            return
        }
    }

    @Test func somethingThere_sendsNothing() throws {
        guard case .isThere = end(try life(), 200) else {
            Issue.record("it is not taken for there")
            return
        }
    }

    @Test(arguments: [304, 401, 403, 429, 500]) func anyOtherAnswer_fails(_ status: Int) throws {
        guard case .fail(let error, _) = end(try life(), status) else {
            Issue.record("\(status) is taken for an answer")
            return
        }
        #expect(error.name == .unexpectedResponse && error.message.hasPrefix("HEAD https://a.test/x: \(status)"))
    }
}
