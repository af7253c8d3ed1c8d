import AttemptLife
import HTTPRules
import Testing
import TransferModel

struct AttemptLifeTests {
    private func life(
        _ url: String = "https://a.test/x", type: TaskType = .data, method: String = "GET",
        headers: [HeaderField] = [], hasBody: Bool = false, version: HTTPConfiguration.Version = .auto,
        expect: Expectations = Expectations(), maximumSize: Int64? = nil, requireLength: Bool = false,
        hasChecksum: Bool = false, mirrors: [String] = [], bodyTexts: [SecretText] = [],
        _ redirects: (inout RedirectPolicy) -> Void = { _ in }
    ) throws -> AttemptLife {
        var policy = RedirectPolicy()
        redirects(&policy)
        return AttemptLife(
            try ResourceURL.parse(url),
            AttemptRules(
                type: type, method: method, headers: headers, hasBody: hasBody, version: version, redirects: policy,
                expect: expect, maximumSize: maximumSize, requireLength: requireLength, hasChecksum: hasChecksum,
                mirrors: try mirrors.map { try ResourceURL.parse($0) }, bodyTexts: bodyTexts))
    }

    private func answer(
        _ life: inout AttemptLife, _ status: Int, _ headers: [(String, String)] = [], received: Int64 = 0,
        version: HTTPProtocol = .http1, error: TransferError? = nil, notify: Bool = true
    ) -> NextStep {
        _ = life.head(status: status, version: version, headers: HeaderBlock(headers))
        return life.ended(TransportEnd(error: error, received: received, sawCloseNotify: notify))
    }

    private func sent(_ step: NextStep) -> OutgoingRequest? {
        if case .send(let request, _) = step { request } else { nil }
    }
    private func failure(_ step: NextStep) -> ErrorName? {
        if case .fail(let error, _) = step { error.name } else { nil }
    }
    private func isUnverified(_ step: NextStep) -> Bool? {
        if case .deliver(let unverified, _) = step { unverified } else { nil }
    }
    private func names(_ request: OutgoingRequest?) -> [String]? { request?.headers.map(\.name) }

    private let typed = [
        HeaderField(name: "Accept", value: "x"), HeaderField(name: "Authorization", value: "Basic x"),
        HeaderField(name: "cookie", value: "a=b"),
        HeaderField(name: "X-Key", value: SecretText(pieces: [.secret(name: "K", value: "k", hosts: nil)])),
    ]

    @Test func headersStayAtOriginsTheTaskNames() throws {
        var life = try life(headers: typed, mirrors: ["https://mirror.test/y"])
        let away = sent(answer(&life, 302, [("Location", "https://b.test/")]))
        #expect(names(away) == ["Accept"])
        let mirror = sent(answer(&life, 302, [("Location", "https://mirror.test/z")]))
        #expect(names(mirror) == ["Accept", "Authorization", "cookie", "X-Key"])
        let port = sent(answer(&life, 302, [("Location", "https://a.test:444/")]))
        #expect(names(port) == ["Accept"])
        let back = sent(answer(&life, 302, [("Location", "https://a.test/")]))
        #expect(names(back) == ["Accept", "Authorization", "cookie", "X-Key"])
    }

    /// A refusal that the task expects may come before the body is wanted. A success may not: nothing can have been
    /// stored.
    @Test(arguments: [201, 413], [false, true])
    func whoNeverCameForTheBodyHasNotStoredIt(_ status: Int, _ leftBody: Bool) throws {
        var expect = Expectations()
        expect.status = StatusSet([200...499])
        let life = try life(type: .upload, method: "PUT", hasBody: true, expect: expect)
        _ = life.head(status: status, version: .http1, headers: HeaderBlock([("Content-Length", "0")]))
        var end = TransportEnd(error: nil, received: 0, sawCloseNotify: true)
        end.leftBody = leftBody
        let step = life.ended(end)
        #expect(failure(step) == (leftBody && status == 201 ? .badServerResponse : nil), "\(step)")
    }

    @Test(arguments: [201, 413]) func whoTookAPartOfTheBodyHasNotStoredIt(_ status: Int) throws {
        var expect = Expectations()
        expect.status = StatusSet([200...499])
        let life = try life(type: .upload, method: "PUT", hasBody: true, expect: expect)
        _ = life.head(status: status, version: .http1, headers: HeaderBlock([("Content-Length", "0")]))
        var end = TransportEnd(error: nil, received: 0, sawCloseNotify: true)
        end.cutBody = TransportEnd.SentPart(bytes: 5, total: 10)
        let step = life.ended(end)
        #expect(failure(step) == (status == 201 ? .networkConnectionLost : nil), "\(step)")
    }

    /// Once, and only where it was said: without a body, and in HTTP/2, nobody expects anything.
    @Test func anExpectationThatIsRefusedIsLeftOut() throws {
        func life(_ method: String, hasBody: Bool) throws -> AttemptLife {
            AttemptLife(
                try ResourceURL.parse("https://a.test/x"),
                AttemptRules(type: .data, method: method, hasBody: hasBody, expectsContinue: true))
        }
        var refused = try life("POST", hasBody: true)
        #expect(refused.request.expectsContinue)
        let again = sent(answer(&refused, 417))
        #expect(again?.expectsContinue == false && again?.method == "POST" && again?.sendsBody == true)
        #expect(failure(answer(&refused, 417)) == .unexpectedResponse)
        var bare = try life("GET", hasBody: false)
        #expect(failure(answer(&bare, 417)) == .unexpectedResponse)
        var shared = try life("PUT", hasBody: true)
        #expect(failure(answer(&shared, 417, version: .http2)) == .unexpectedResponse)
    }

    @Test func theRecordNamesWhatWasStripped() throws {
        var life = try life(headers: typed)
        guard case .send(_, let record?) = answer(&life, 307, [("Location", "http://a.test/")]) else {
            // The downgrade is refused.
            var loose = try self.life(headers: typed) { $0.allowDowngrade = true }
            guard case .send(_, let record?) = answer(&loose, 307, [("Location", "http://a.test/")]) else {
                Issue.record("not followed")
                return
            }
            #expect(record.stripped == ["Authorization", "cookie", "X-Key"])
            #expect(record.action == .followed && record.status == 307 && record.to == "http://a.test/")
            return
        }
        Issue.record("a downgrade was followed: \(record.to)")
    }

    @Test func aSecretBoundElsewhereIsNeverSent() throws {
        let bound = SecretText(pieces: [.secret(name: "K", value: "k", hosts: [HostPattern("b.test")!])])
        let header = try life(headers: [HeaderField(name: "X-Key", value: bound)])
        #expect(header.refusalToBegin()?.name == .secretBarred)
        let body = try life(method: "POST", hasBody: true, bodyTexts: [bound])
        #expect(body.refusalToBegin()?.name == .secretBarred)
        #expect(try life("https://b.test/", method: "POST", hasBody: true, bodyTexts: [bound]).refusalToBegin() == nil)
    }

    @Test func aBodyWithASecretDoesNotFollowToAnotherHost() throws {
        let bound = SecretText(pieces: [.secret(name: "K", value: "k", hosts: [HostPattern("a.test")!])])
        var kept = try life(method: "POST", hasBody: true, bodyTexts: [bound])
        #expect(failure(answer(&kept, 307, [("Location", "https://b.test/")])) == .secretBarred)
        var dropped = try life(method: "POST", hasBody: true, bodyTexts: [bound])
        let next = sent(answer(&dropped, 303, [("Location", "https://b.test/")]))
        #expect(next?.method == "GET" && next?.sendsBody == false)
    }

    /// What its answer led to may fail: the POST was taken, and is not to be sent again.
    @Test(arguments: [(301, "POST", true), (303, "POST", true), (307, "POST", false), (303, "PUT", false)])
    func aRequestWhoseAnswerLedElsewhereTookEffect(_ status: Int, _ method: String, _ tookEffect: Bool) throws {
        var life = try life(method: method, hasBody: true)
        #expect(sent(answer(&life, status, [("Location", "/receipt")])) != nil)
        #expect(life.tookEffect == tookEffect)
        #expect(life.mayBeRepeated == (method == "PUT"))
    }

    @Test func headersOfABodyGoWithIt() throws {
        let headers = [HeaderField(name: "Content-Type", value: "a/b"), HeaderField(name: "Accept", value: "x")]
        var post = try life(method: "POST", headers: headers, hasBody: true)
        #expect(names(sent(answer(&post, 302, [("Location", "/y")]))) == ["Accept"])
        #expect(names(sent(answer(&post, 302, [("Location", "/z")]))) == ["Accept"])
        var put = try life(method: "PUT", headers: headers, hasBody: true)
        #expect(names(sent(answer(&put, 302, [("Location", "/y")]))) == ["Content-Type", "Accept"])
        var get = try life(headers: headers)
        #expect(names(sent(answer(&get, 302, [("Location", "/y")]))) == ["Content-Type", "Accept"])
    }

    @Test func acceptTakesARefusedRedirectAsTheResult() throws {
        var never = try life(type: .download) {
            $0.follow = .never
            $0.onRefuse = .accept
        }
        guard
            case .deliver(false, let record?) = answer(
                &never, 302, [("Location", "/y"), ("Content-Length", "3")], received: 3)
        else {
            Issue.record("not delivered")
            return
        }
        #expect(record.action == .accepted)
        // A job that asks for other statuses means it.
        var expect = Expectations()
        expect.status = StatusSet(200)
        var strict = try life(expect: expect) {
            $0.follow = .never
            $0.onRefuse = .accept
        }
        #expect(failure(answer(&strict, 302, [("Location", "/y")])) == .unexpectedResponse)
        // One too many is no policy's word.
        var loop = try life {
            $0.maximum = 0
            $0.onRefuse = .accept
        }
        #expect(failure(answer(&loop, 302, [("Location", "/y")])) == .httpTooManyRedirects)
    }

    @Test func exactlyTheMaximumIsFollowed() throws {
        var life = try life { $0.maximum = 20 }
        for hop in 1...20 {
            #expect(sent(answer(&life, 302, [("Location", "/\(hop)")]))?.url.text == "https://a.test/\(hop)")
        }
        #expect(failure(answer(&life, 302, [("Location", "/21")])) == .httpTooManyRedirects)
    }

    // MARK: HTTP/2

    @Test func anUnprovenStreamIsFetchedAgainAloneOnce() throws {
        var life = try life(type: .download)
        #expect(life.request.mayUseHTTP2)
        #expect(life.head(status: 200, version: .http2, headers: .empty) == .abort)
        let again = sent(life.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: false)))
        #expect(again?.mayUseHTTP2 == false && again?.url.text == "https://a.test/x")
        #expect(isUnverified(answer(&life, 200, received: 10)) == false)
    }

    @Test func aTransportThatInsistsOnHTTP2IsNotAskedForEver() throws {
        var life = try life(requireLength: true)
        #expect(sent(answer(&life, 200, version: .http2)) != nil)
        #expect(failure(answer(&life, 200, received: 4, version: .http2)) == .lengthUnproven)
    }

    @Test func whatProvesAStreamIsEnough() throws {
        var length = try life()
        #expect(isUnverified(answer(&length, 200, [("Content-Length", "4")], received: 4, version: .http2)) == false)
        var checksum = try life(type: .download, hasChecksum: true)
        #expect(isUnverified(answer(&checksum, 200, received: 4, version: .http2)) == false)
        var head = try life(method: "HEAD")
        #expect(isUnverified(answer(&head, 200, version: .http2)) == false)
    }

    @Test(arguments: [
        ("GET", false, HTTPConfiguration.Version.auto, true), ("HEAD", false, .auto, true),
        ("DELETE", false, .auto, false),
        ("PUT", true, .auto, false), ("POST", true, .http2, true), ("GET", false, .http1, false),
    ]) func whoMayShareAConnection(
        method: String, hasBody: Bool, version: HTTPConfiguration.Version, shares: Bool
    ) throws {
        #expect(try life(method: method, hasBody: hasBody, version: version).request.mayUseHTTP2 == shares)
    }

    /// Its answer cannot be fetched twice, so it is marked.
    @Test func anUnsafeRequestIsNeverRepeatedForItsAnswer() throws {
        var post = try life(method: "POST", hasBody: true, version: .http2)
        #expect(isUnverified(answer(&post, 200, received: 4, version: .http2)) == true)
        var delete = try life(method: "DELETE", version: .http2)
        #expect(isUnverified(answer(&delete, 200, received: 4, version: .http2)) == true)
    }

    // MARK: Bodies

    @Test func bounds() throws {
        var expect = Expectations()
        expect.size = 10
        let wrong = try life(expect: expect)
        #expect(wrong.head(status: 200, version: .http1, headers: HeaderBlock([("Content-Length", "9")])) == .abort)
        #expect(
            failure(wrong.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: true))) == .unexpectedResponse)
        var chunked = try life(expect: expect)
        #expect(failure(answer(&chunked, 200, [("Transfer-Encoding", "chunked")], received: 9)) == .unexpectedResponse)
        expect.size = nil
        expect.minimumSize = 10
        var short = try life(expect: expect)
        #expect(failure(answer(&short, 200, [("Content-Length", "9")], received: 9)) == .unexpectedResponse)
        var enough = try life(expect: expect)
        #expect(isUnverified(answer(&enough, 200, [("Content-Length", "10")], received: 10)) == false)
    }

    @Test func tooLongIsSaidAsSoonAsItIsKnown() throws {
        let announced = try life(maximumSize: 10)
        #expect(
            announced.head(status: 200, version: .http1, headers: HeaderBlock([("Content-Length", "11")])) == .abort)
        #expect(
            failure(announced.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: true)))
                == .dataLengthExceedsMaximum)
        // The engine stops a body that grows past the bound, and tells no error of its own.
        var grown = try life(maximumSize: 10)
        #expect(failure(answer(&grown, 200, received: 11, notify: false)) == .dataLengthExceedsMaximum)
    }

    @Test func requireLength() throws {
        var plain = try life("http://a.test/", requireLength: true)
        #expect(failure(answer(&plain, 200, received: 4)) == .lengthUnproven)
        var checked = try life("http://a.test/", type: .download, requireLength: true, hasChecksum: true)
        #expect(isUnverified(answer(&checked, 200, received: 4)) == false)
        var closed = try life(requireLength: true)
        #expect(isUnverified(answer(&closed, 200, received: 4, notify: true)) == false)
        var chunked = try life("http://a.test/", requireLength: true)
        #expect(isUnverified(answer(&chunked, 200, [("Transfer-Encoding", "chunked")], received: 4)) == false)
    }

    @Test func anErrorPageNeverBecomesTheFile() throws {
        let download = try life(type: .download)
        #expect(download.head(status: 404, version: .http1, headers: .empty) == .keep)
        #expect(
            failure(download.ended(TransportEnd(error: nil, received: 5, sawCloseNotify: true))) == .unexpectedResponse)
        let data = try life()
        #expect(data.head(status: 404, version: .http1, headers: .empty) == .keep)
        var expect = Expectations()
        expect.mimeType = "image/*"
        var html = try life(type: .download, expect: expect)
        #expect(failure(answer(&html, 200, [("Content-Type", "text/html")])) == .unexpectedResponse)
        var none = try life(type: .download, expect: expect)
        #expect(failure(answer(&none, 200)) == .unexpectedResponse)
    }

    @Test func noAnswerIsAnError() throws {
        let silent = try life()
        #expect(
            failure(silent.ended(TransportEnd(error: nil, received: 0, sawCloseNotify: true))) == .badServerResponse)
        let refused = try life()
        let error = TransferError(.cannotConnectToHost, "no")
        #expect(
            failure(refused.ended(TransportEnd(error: error, received: 0, sawCloseNotify: false)))
                == .cannotConnectToHost)
        var cut = try life()
        let lost = TransferError(.networkConnectionLost, "lost")
        #expect(
            failure(answer(&cut, 200, [("Content-Length", "9")], received: 4, error: lost)) == .networkConnectionLost)
    }

    /// The redirect was read: that its body broke off changes nothing.
    @Test func aRedirectCountsHoweverItsBodyEnds() throws {
        var life = try life()
        let error = TransferError(.networkConnectionLost, "lost")
        #expect(sent(answer(&life, 302, [("Location", "/y"), ("Content-Length", "9")], error: error)) != nil)
    }
}
