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

    /// Whoever is not logged in is led to a page that is always there.
    @Test(
        arguments: [
            ("x", "text/html; charset=utf-8", false), ("x", "application/octet-stream", true), ("x", nil, true),
            ("x.html", "text/html", true),
        ] as [(String, String?, Bool)])
    func aRedirect_isTakenForThereUnlessItLeadsToAPage(_ name: String, _ type: String?, _ isThere: Bool) throws {
        let life = AttemptLife(
            try ResourceURL.parse("https://a.test/\(name)"), AttemptRules(type: .upload, method: "PUT", hasBody: true))
        life.askWhetherNeeded()
        guard case .send(_, _?) = end(life, 302, HeaderBlock(raw: Array("Location: /login\r\n".utf8))) else {
            Issue.record("the redirect is not followed")
            return
        }
        let header = type.map { "Content-Type: \($0)\r\n" } ?? ""
        switch end(life, 200, HeaderBlock(raw: Array(header.utf8))) {
        case .isThere: #expect(isThere)
        case .fail(let error, _):
            #expect(!isThere && error.name == .unexpectedHTML)
            #expect(error.message.contains("led to a web page, https://a.test/login"))
        default: Issue.record("neither there nor a failure")
        }
    }

    // MARK: Whether the server still has what was sent

    private static let own = "https://a.test/x"

    private func asking(_ etag: String? = "\"1\"", rules: AttemptRules? = nil) throws -> AttemptLife {
        let file = BodyFileMark(boot: 1, device: 1, inode: 1, size: 5, modifiedNanoseconds: 1, changedNanoseconds: 1)
        let sent = SentUpload(
            path: "/x", file: file, readAt: WallTime(nanoseconds: 1), digest: [], shape: 0, etag: etag)
        let headers = [
            HeaderField(name: "Content-Type", value: "image/png"), HeaderField(name: "If-None-Match", value: "*"),
            HeaderField(name: "Accept-Encoding", value: "gzip"), HeaderField(name: "X-Own", value: "1"),
        ]
        let life = AttemptLife(
            try ResourceURL.parse(Self.own),
            rules ?? AttemptRules(type: .upload, method: "PUT", headers: headers, hasBody: true))
        life.askWhetherNeeded(.isStillStored(sent))
        return life
    }

    private func isSent(_ step: NextStep) -> Bool {
        guard case .send(let request, nil) = step else { return false }
        return request.method == "PUT" && request.sendsBody && request.url.text == Self.own
    }

    @Test func storedQuestion_wantsTheBytesAsTheyAreStored() throws {
        let life = try asking()
        #expect(life.request.method == "HEAD" && life.asksWhetherNeeded)
        let lines = life.request.headers.map { "\($0.name): \($0.value.revealed)" }
        #expect(lines == ["X-Own: 1", "Accept-Encoding: identity"])
        // So it does where it is led.
        guard case .send(let next, _?) = end(life, 302, HeaderBlock([("Location", "/y")])) else {
            Issue.record("the redirect is not followed")
            return
        }
        #expect(next.method == "HEAD" && next.headers.map(\.name) == ["X-Own", "Accept-Encoding"])
        #expect(isSent(end(life, 404)))
        #expect(life.request.headers.count == 4 && !life.asksWhetherNeeded)
    }

    @Test func whatIsStillStored_isNotSent() throws {
        guard case .isThere = end(try asking(), 200, HeaderBlock([("ETag", "\"1\""), ("Content-Length", "5")])) else {
            Issue.record("it is sent again")
            return
        }
        #expect(try isSent(end(asking(), 200, HeaderBlock([("ETag", "\"2\"")]))))
        #expect(try isSent(end(asking(), 200, HeaderBlock([("ETag", "\"1\""), ("Content-Length", "6")]))))
    }

    @Test(arguments: [304, 400, 401, 403, 404, 405, 410, 500, 501, 502]) func noProof_sendsIt(_ status: Int) throws {
        #expect(try isSent(end(asking(), status, HeaderBlock([("ETag", "\"1\"")]))))
    }

    @Test(arguments: [429, 503]) func serverThatWantsQuiet_getsIt(_ status: Int) throws {
        guard case .fail(let error, _) = end(try asking(), status) else {
            Issue.record("it is sent at once")
            return
        }
        #expect(error.name == .unexpectedResponse)
    }

    /// Where only the length tells, it must be the same user's.
    @Test func anotherUsersUpload_isNoProof() throws {
        let user = HeaderField(name: "Authorization", value: "Bearer 1")
        let rules = AttemptRules(type: .upload, method: "PUT", headers: [user], hasBody: true)
        func isUnchanged(_ etag: String?, _ headers: [(String, String)]) throws -> Bool {
            let life = try asking(etag, rules: rules)
            _ = life.withoutConditions(life.request, proof: nil, at: WallTime(nanoseconds: 0))
            if case .isThere = end(life, 200, HeaderBlock(headers)) { return true }
            return false
        }
        #expect(try !isUnchanged(nil, [("Content-Length", "5")]))
        #expect(try isUnchanged("\"1\"", [("ETag", "\"1\"")]))
    }

    /// The server broke off, did not answer, or was not reached.
    @Test(
        arguments: [
            (.networkConnectionLost, true, false, true), (.networkConnectionLost, false, false, false),
            (.networkConnectionLost, true, true, false), (.timedOut, true, false, false),
            (.cannotConnectToHost, false, false, false),
        ] as [(ErrorName, Bool, Bool, Bool)])
    func questionWithoutAnAnswer(_ name: ErrorName, _ wasSent: Bool, _ lostNetwork: Bool, _ sends: Bool) throws {
        var end = TransportEnd(error: TransferError(name, "no answer"), received: 0, sawCloseNotify: false)
        (end.wasSent, end.lostNetwork) = (wasSent, lostNetwork)
        #expect(try isSent(asking().ended(end)) == sends)
        // What is only to be skipped is not sent without a word.
        #expect(try !isSent(life().ended(end)))
    }
}
