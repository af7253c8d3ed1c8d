import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// Which requests a server of the public Internet led to, so that they must not connect to an address inside.
struct LedRequestTests {
    private let whole = TransportEnd(error: nil, received: 0, sawCloseNotify: false)

    private func life(_ url: String = "http://a.test/f", toPrivate: Bool = false) throws -> AttemptLife {
        var redirects = RedirectPolicy()
        redirects.toPrivate = toPrivate
        return AttemptLife(
            try ResourceURL.parse(url), AttemptRules(type: .download, method: "GET", redirects: redirects))
    }

    /// Follows a redirect, and returns whether the request that follows was led to from outside.
    private func redirect(_ life: AttemptLife, to location: String, from source: AnswerSource) -> Bool {
        var state = SessionState()
        _ = life.head(
            status: 302, version: .http1, headers: HeaderBlock([("Location", location), ("Content-Length", "0")]),
            sessionState: &state, at: WallTime(nanoseconds: 0), from: source)
        guard case .send(let request, _?) = life.ended(whole) else {
            Issue.record("the redirect to \(location) was not followed")
            return false
        }
        return request.isLedFromPublic
    }

    @Test(
        arguments: [
            (.inside, "http://b.test/", false), (.outside, "http://b.test/", true), (.outside, "/g", true),
            // Out of the cache: another host may be anywhere.
            (.unknown, "http://b.test/", true), (.unknown, "http://a.test:81/g", false),
        ] as [(AnswerSource, String, Bool)])
    func theSourceDecides(_ source: AnswerSource, _ location: String, _ isLed: Bool) throws {
        #expect(try redirect(life(), to: location, from: source) == isLed)
        #expect(try !redirect(life(toPrivate: true), to: location, from: source))
    }

    @Test func whoWasLedStaysLed() throws {
        let life = try life()
        #expect(redirect(life, to: "http://b.test/", from: .outside))
        #expect(redirect(life, to: "http://c.test/", from: .inside))
        let part = PartRequest(range: 10..<20, validator: "\"v\"", total: 30)
        #expect(life.request(for: part).isLedFromPublic)
    }

    @Test func theTasksOwnRequestIsNotLed() throws {
        let life = try life()
        #expect(!life.request.isLedFromPublic)
        life.isLedFromPublic()
        #expect(life.request.isLedFromPublic)
        let loose = try self.life(toPrivate: true)
        loose.isLedFromPublic()
        #expect(!loose.request.isLedFromPublic)
    }

    @Test(arguments: [(AnswerSource.outside, true), (.inside, false)])
    func thePlaceOfAnUploadIsAsItsServerIs(_ source: AnswerSource, _ isLed: Bool) throws {
        let url = try ResourceURL.parse("https://a.test/up")
        let life = AttemptLife(url, AttemptRules(type: .upload, method: "PUT", hasBody: true))
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: true))
        #expect(!life.request.isLedFromPublic)
        let interim = HeaderBlock([
            ("Upload-Draft-Interop-Version", "6"), ("Location", "https://a.test/u"),
            ("Upload-Limit", "max-append-size=40"),
        ])
        // The whole body is too long for one request: the place is asked next.
        #expect(!life.interim(interim, at: WallTime(nanoseconds: 0), from: source))
        guard case .send(let request, nil) = life.ended(whole) else {
            Issue.record("nothing follows")
            return
        }
        #expect(request.url.text == "https://a.test/u" && request.isLedFromPublic == isLed)
    }
}
