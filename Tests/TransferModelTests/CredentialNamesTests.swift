import Testing
import TransferModel

/// Which values are masked for the names beside them, and what stays readable.
@Suite struct CredentialNamesTests {
    private let names = CredentialNames.standard

    @Test(arguments: [
        "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "X-API-KEY", "apikey", "api_key",
        "Private-Token", "X-Amz-Security-Token", "X-JFrog-Art-Api", "Ocp-Apim-Subscription-Key", "X-Vault-Token",
    ]) func headerOfCredentials_isKnown_howeverItIsSpelled(_ name: String) {
        #expect(names.isHeader(name))
    }

    @Test(arguments: [
        "", "-", "Content-Type", "ETag", "Location", "Key", "X-Request-Id", "Authorization-Info", "Cookies",
        "WWW-Authenticate", "X-Amz-Request-Id", "X-Token-Expires", String(repeating: "x", count: 200),
    ]) func otherHeader_isNone(_ name: String) {
        #expect(!names.isHeader(name))
    }

    @Test(arguments: [
        ("https://h/f?access_token=abc", "https://h/f?access_token=***"),
        ("https://h/f?a=1&Access-Token=abc&b=2", "https://h/f?a=1&Access-Token=***&b=2"),
        ("https://h/f?token=a&sig=b%2Fc#part", "https://h/f?token=***&sig=***#part"),
        ("https://h/f#access_token=abc&state=1", "https://h/f#access_token=***&state=1"),
        ("/f?X-Amz-Credential=AK%2F1&X-Amz-Signature=00ff", "/f?X-Amz-Credential=***&X-Amz-Signature=***"),
        ("/f?to=https%3A%2F%2Fi%2F%3Ftoken%3Dabc%26a%3D1", "/f?to=https%3A%2F%2Fi%2F%3Ftoken%3D***%26a%3D1"),
        ("GET https://h/f?token=abc: 404 Not Found", "GET https://h/f?token=***: 404 Not Found"),
        ("see `https://h/f?token=abc`, then", "see `https://h/f?token=***`, then"),
        ("<https://h/f?token=abc>; rel=\"next\"", "<https://h/f?token=***>; rel=\"next\""),
        ("https://h/f?a=1&amp;token=abc", "https://h/f?a=1&amp;token=***"),
        ("?token=abc\n?token=de", "?token=***\n?token=***"), ("https://h/f?token=***", "https://h/f?token=***"),
    ]) func valueOfAParameter_isMasked_inAnyText(_ text: String, _ shown: String) {
        #expect(names.masked(text) == shown && names.masked(shown) == shown)
        #expect(names.concern(text))
    }

    @Test(arguments: [
        "", "?", "&", "%", "%3", "?token", "?token=", "?token=&a=1", "https://h/token=abc", "token=abc", "a?b=token",
        "https://h/f?key=1&code=2&id=3&page=4&q=token", "?mytoken2=abc", "100% of 3 & more", "?=abc", "?%3D=abc",
    ]) func otherText_staysAsItIs(_ text: String) {
        #expect(names.masked(text) == text && !names.concern(text))
    }

    @Test func namesOfTheJob_areAdded() {
        let more = CredentialNames(addingHeaders: ["X-Shop"], query: ["code"])
        #expect(more.isHeader("x_shop") && more.isHeader("Cookie") && !names.isHeader("X-Shop"))
        #expect(more.masked("?code=1&token=2&page=3") == "?code=***&token=***&page=3")
        let both = more.union(CredentialNames(addingHeaders: ["X-Other"]))
        #expect(both.isHeader("X-Shop") && both.isHeader("X-Other") && both.masked("?code=1") == "?code=***")
    }

    @Test func setCookie_keepsTheCookiesNameAndItsAttributes() {
        #expect(names.masked("sid=abc; Path=/; Secure", ofHeader: "SET-COOKIE") == "sid=***; Path=/; Secure")
        #expect(names.masked("abc", ofHeader: "set-cookie") == "***")
        #expect(names.masked("a=1; b=2", ofHeader: "Cookie") == "***")
        #expect(names.masked("https://h/?token=abc", ofHeader: "Location") == "https://h/?token=***")
    }

    // MARK: Lines of a job file

    @Test(arguments: [
        ("    X-Api-Key: abc def", "    X-Api-Key: *******"),
        ("{ X-Api-Key: abc, Accept: x }", "{ X-Api-Key: ***, Accept: x }"),
        ("  Cookie: \"a=1; b\"  # it", "  Cookie: \"******\"  # it"), ("\"token\": 'x'", "\"token\": '*'"),
        ("url: https://h/?sig=abc", "url: https://h/?sig=***"),
        ("Authorization: Bearer ${secret.T}", "Authorization: Bearer ${secret.T}"),
        ("session: nightly", "session: nightly"), ("headers: { Accept: x }", "headers: { Accept: x }"),
        ("token: { env: T }", "token: { env: T }"), ("token:", "token:"),
        ("t: { json: $.t, secret: true }", "t: { json: $.t, secret: true }"), ("secret: false", "secret: false"),
        ("secret: null", "secret: null"), ("secret: truer", "secret: *****"), ("password: true", "password: ****"),
    ]) func line_ofAJobFile(_ line: String, _ shown: String) {
        var bytes = Array(line.utf8)
        for range in names.values(inSource: bytes) { for index in range { bytes[index] = UInt8(ascii: "*") } }
        #expect(String(decoding: bytes, as: UTF8.self) == shown)
    }

    // MARK: Events

    private func shown(_ kind: Event.Kind, _ secrets: [KnownSecret] = []) -> Event.Kind {
        Event(time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: nil, kind: kind)
            .redacted(by: Redactor(secrets, names: names)).kind
    }

    /// With a secret of the job beside the names and without one: the ways through the redaction differ.
    @Test(arguments: [[], [KnownSecret(name: "S", value: "unseen-anywhere")]])
    func event_showsNoCredential(_ secrets: [KnownSecret]) {
        let url = "https://h/f?access_token=abc"
        let response = ResponseRecord(
            status: 200, url: url, method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
            suggestedFilename: "f", contentEncoding: nil,
            headers: HeaderBlock([
                ("X-Auth-Token", "abc"), ("Set-Cookie", "s=abc; Path=/"), ("Location", "/?sig=abc"), ("ETag", "\"1\""),
            ]))
        guard case .response(let told) = shown(.response(response), secrets) else { return #expect(Bool(false)) }
        #expect(told.url == "https://h/f?access_token=***" && told.suggestedFilename == "f")
        #expect(told.headers.lines.map { told.headers.value($0) } == ["***", "s=***; Path=/", "/?sig=***", "\"1\""])
        let redirect = RedirectRecord(
            status: 302, from: url, to: "/g?token=abc", method: "GET", action: .followed, stripped: ["X-Api-Key"])
        guard case .redirect(let hop) = shown(.redirect(redirect), secrets) else { return #expect(Bool(false)) }
        #expect(hop.from == told.url && hop.to == "/g?token=***" && hop.stripped == ["X-Api-Key"])
        let error = TransferError(.unknown, "GET \(url): no")
        let attempt = AttemptRecord(
            number: 1, url: url, outcome: .failed, resumedFrom: 0, startedAt: WallTime(nanoseconds: 0),
            duration: .zero, error: error, backoff: nil, transactions: [])
        guard case .attemptFinished(let ended) = shown(.attemptFinished(attempt), secrets) else {
            return #expect(Bool(false))
        }
        #expect(ended.url == told.url && ended.error?.message == "GET \(told.url): no")
    }

    /// What shows no such name costs no copy.
    @Test func eventWithoutSuchNames_isTheSameRecord() {
        let headers = HeaderBlock([("ETag", "\"1\""), ("Location", "/?page=2")])
        let record = ResponseRecord(
            status: 200, url: "https://h/f?page=1", method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
            suggestedFilename: nil, contentEncoding: nil, headers: headers)
        guard case .response(let told) = shown(.response(record)) else { return #expect(Bool(false)) }
        #expect(told === record)
    }

    /// A body is what the job asked for: names in it mask nothing.
    @Test func bytesOfABody_stayAsTheyAre() {
        let body = Array("{\"next\": \"https://h/?access_token=abc\"}".utf8)
        #expect(Redactor([], names: names).redacted(body: body) == body)
        #expect(Redactor([], names: names).redacted(body) == body)
    }
}
