import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// An attempt's requests while an upload goes on: who is told what.
@Suite struct UploadAttemptTests {
    private let url: ResourceURL

    init() throws { url = try ResourceURL.parse("https://example.org/up") }

    private func rules(method: String = "PUT", body: [SecretText] = []) -> AttemptRules {
        AttemptRules(
            type: .upload, method: method,
            headers: [
                HeaderField(name: "Authorization", value: SecretText("Bearer x")),
                HeaderField(name: "Content-Type", value: SecretText("text/plain")),
                HeaderField(name: "X-Own", value: SecretText("1")),
            ], hasBody: true, bodyTexts: body)
    }

    private func interim(_ place: String) -> HeaderBlock {
        HeaderBlock([("Upload-Draft-Interop-Version", "6"), ("Location", place)])
    }

    private func names(_ request: OutgoingRequest) -> [String] { request.headers.map(\.name) }

    private let cut = TransportEnd(
        error: TransferError(.networkConnectionLost, "cut"), received: 0, sawCloseNotify: false)
    private let whole = TransportEnd(error: nil, received: 0, sawCloseNotify: false)

    @Test func theRestGoesToItsPlaceWithWhatBelongsThere() throws {
        let rules = rules()
        let life = Life(url, rules)
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: true))
        #expect(names(life.request).contains("Upload-Complete"))
        #expect(life.mayBeRepeated)
        #expect(life.interim(interim("/u/1"), at: WallTime(nanoseconds: 0)))
        life.noteSent(60)
        guard case .fail = life.ended(cut) else {
            Issue.record("a cut is no failure")
            return
        }
        let point = try #require(life.uploadPoint)
        #expect(point.sent == 60)

        let next = Life(url, rules)
        next.begin(ResumableUpload(length: 100, dialect: .draft6, point: point, mayRepeat: true))
        #expect(next.request.method == "HEAD")
        #expect(next.request.url.text == "https://example.org/u/1")
        #expect(!next.request.sendsBody)
        #expect(names(next.request) == ["Authorization", "X-Own", "Upload-Draft-Interop-Version"])
        #expect(next.head(status: 204, version: .http1, headers: HeaderBlock([("Upload-Offset", "40")])) == .discard)
        #expect(!next.isFinalAnswer)
        guard case .send(let request, nil) = next.ended(whole) else {
            Issue.record("nothing follows")
            return
        }
        #expect(request.method == "PATCH")
        #expect(request.bodyRange == 40..<100)
        #expect(
            request.headers.filter { $0.name == "Content-Type" }.map(\.value.revealed) == ["application/partial-upload"]
        )
        #expect(next.head(status: 201, version: .http1, headers: HeaderBlock([("Content-Length", "0")])) == .keep)
        guard case .deliver = next.ended(whole) else {
            Issue.record("not delivered")
            return
        }
        #expect(next.uploadPoint == nil)
        #expect(next.uploadResumedFrom == 40)
    }

    @Test func aRedirectThatTakesTheBodyOffEndsIt() throws {
        let life = Life(url, rules(method: "POST"))
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: false))
        let location = HeaderBlock([("Location", "/done"), ("Content-Length", "0")])
        #expect(life.head(status: 303, version: .http1, headers: location) == .discard)
        guard case .send(let request, _) = life.ended(whole) else {
            Issue.record("it is not followed")
            return
        }
        #expect(request.method == "GET")
        #expect(!names(request).contains("Upload-Complete"))
        #expect(!life.mayBeRepeated)
    }

    @Test func typedHeadersStayWithTheOriginsTheTaskNames() throws {
        let life = Life(url, rules())
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: true))
        let location = HeaderBlock([("Location", "https://other.example/up"), ("Content-Length", "0")])
        _ = life.head(status: 307, version: .http1, headers: location)
        guard case .send(let redirected, _) = life.ended(whole) else {
            Issue.record("it is not followed")
            return
        }
        #expect(!names(redirected).contains("Authorization"))
        #expect(names(redirected).filter { $0 == "Upload-Complete" }.count == 1)
        #expect(life.interim(interim("/u/1"), at: WallTime(nanoseconds: 0)))
        #expect(life.uploadPoint?.place == "https://other.example/u/1")
        let next = Life(url, rules())
        next.begin(ResumableUpload(length: 100, dialect: .draft6, point: life.uploadPoint, mayRepeat: true))
        #expect(names(next.request) == ["Upload-Draft-Interop-Version"])
    }

    /// Over HTTP/1.1 its place is another, and the only one.
    @Test func whatIsSentAgainForALostAnswerGetsItsOwnPlace() throws {
        let life = Life(url, AttemptRules(type: .upload, method: "PUT", hasBody: true, version: .http2))
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: true))
        #expect(life.interim(interim("/u/1"), at: WallTime(nanoseconds: 0)))
        var lost = cut
        lost.lostAnswer = true
        guard case .send(let request, nil) = life.ended(lost) else {
            Issue.record("it is not sent again")
            return
        }
        #expect(!request.mayUseHTTP2 && life.uploadPoint == nil)
        #expect(life.interim(interim("/u/2"), at: WallTime(nanoseconds: 0)))
        #expect(life.uploadPoint?.place == "https://example.org/u/2")
        guard case .fail = life.ended(lost) else {
            Issue.record("it is sent a third time")
            return
        }
    }

    @Test func aPOSTWithoutAPlaceIsNotRepeated() {
        let life = Life(url, rules(method: "POST"))
        life.begin(ResumableUpload(length: 100, dialect: .draft6, mayRepeat: false))
        #expect(!life.mayBeRepeated)
        _ = life.interim(interim("/u/1"), at: WallTime(nanoseconds: 0))
        #expect(life.mayBeRepeated)
    }

    @Test func aRequestThatIsToEndSaysWhatFollows() {
        let life = Life(url, rules())
        life.begin(ResumableUpload(length: 100, dialect: .draft8, mayRepeat: true))
        let limited = HeaderBlock([
            ("Upload-Draft-Interop-Version", "8"), ("Location", "/u/1"), ("Upload-Limit", "max-append-size=10"),
        ])
        #expect(!life.interim(limited, at: WallTime(nanoseconds: 0)))
        guard case .send(let request, nil) = life.ended(whole) else {
            Issue.record("nothing follows")
            return
        }
        #expect(request.method == "HEAD")
    }
}

/// The attempt behind a reference: what `#expect` looks at may change.
private final class Life {
    private var life: AttemptLife
    init(_ url: ResourceURL, _ rules: AttemptRules) { life = AttemptLife(url, rules) }
    var request: OutgoingRequest { life.request }
    var uploadPoint: UploadPoint? { life.uploadPoint }
    var uploadResumedFrom: Int64 { life.uploadResumedFrom }
    var isFinalAnswer: Bool { life.isFinalAnswer }
    var mayBeRepeated: Bool { life.mayBeRepeated }
    func begin(_ upload: ResumableUpload) { life.begin(upload) }
    func noteSent(_ offset: Int64) { life.noteSent(offset) }
    func interim(_ headers: HeaderBlock, at now: WallTime) -> Bool { life.interim(headers, at: now) }
    func head(status: Int, version: HTTPProtocol, headers: HeaderBlock) -> HeadDecision {
        life.head(status: status, version: version, headers: headers)
    }
    func ended(_ end: TransportEnd) -> NextStep { life.ended(end) }
}
