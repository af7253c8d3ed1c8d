import HTTPRules
import Testing
import TransferModel

struct RedirectsTests {
    private let start = "https://example.org/a/b?q=1"

    private func decide(
        _ status: Int = 302, _ location: String?, method: String = "GET", from: String? = nil, hops: Int = 0,
        _ change: (inout RedirectPolicy) -> Void = { _ in }
    ) throws -> RedirectDecision {
        var policy = RedirectPolicy()
        change(&policy)
        return Redirects.decide(
            status: status, location: location, method: method, from: try ResourceURL.parse(from ?? start), hops: hops,
            policy: policy)
    }

    private func target(_ decision: RedirectDecision) -> String? {
        if case .follow(let url, _, _) = decision { url.text } else { nil }
    }
    private func refusal(_ decision: RedirectDecision) -> ErrorName? {
        if case .refuse(_, let error) = decision { error.name } else { nil }
    }
    private func isFinal(_ decision: RedirectDecision) -> Bool {
        if case .final = decision { true } else { false }
    }

    /// What each status makes of each method; an empty text is a final answer, `+` keeps the body.
    @Test(arguments: [
        (300, ["", "", "", "", "", ""]),
        (301, ["GET+", "HEAD", "GET", "PUT+", "DELETE+", "PATCH+"]),
        (302, ["GET+", "HEAD", "GET", "PUT+", "DELETE+", "PATCH+"]),
        (303, ["GET", "HEAD", "GET", "GET", "GET", "GET"]),
        (304, ["", "", "", "", "", ""]), (305, ["", "", "", "", "", ""]), (306, ["", "", "", "", "", ""]),
        (307, ["GET+", "HEAD", "POST+", "PUT+", "DELETE+", "PATCH+"]),
        (308, ["GET+", "HEAD", "POST+", "PUT+", "DELETE+", "PATCH+"]),
        (399, ["", "", "", "", "", ""]), (200, ["", "", "", "", "", ""]), (201, ["", "", "", "", "", ""]),
    ]) func theMethodTable(status: Int, expected: [String]) throws {
        for (method, wanted) in zip(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"], expected) {
            let decision = try decide(status, "/next", method: method)
            let got =
                if case .follow(_, let next, let keepsBody) = decision { next + (keepsBody ? "+" : "") } else { "" }
            #expect(got == wanted, "\(status) \(method)")
        }
    }

    @Test(arguments: [
        ("/x", "https://example.org/x"), ("x", "https://example.org/a/x"), ("../x", "https://example.org/x"),
        ("../../../x", "https://example.org/x"), ("?p=2", "https://example.org/a/b?p=2"),
        ("//other.org/x", "https://other.org/x"), ("https://OTHER.org:443/x", "https://other.org/x"),
        ("x y", "https://example.org/a/x%20y"), ("/ü", "https://example.org/%C3%BC"),
        ("/x#top", "https://example.org/x"),
        ("#top", "https://example.org/a/b?q=1"), ("  /x  ", "https://example.org/x"),
    ]) func aLocationIsResolved(location: String, wanted: String) throws {
        #expect(target(try decide(302, location)) == wanted)
    }

    @Test(arguments: [
        nil, "", "https://", "https:///x", "javascript:alert(1)", "mailto:a@b", "https://a b/", "https://[::1/",
        "https://exa\u{0}mple.org/", "/x\r\nSet-Cookie: a=b", "https://0x7f.1/", "https://127.0.0.1%2eevil/", "//",
        "http://host:99999/", "https:x",
    ]) func aLocationThatIsNoneIsFinal(location: String?) throws {
        #expect(isFinal(try decide(302, location)))
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://example.org/x", "data:text/plain,x", "gopher://example.org/"])
    func neverOutOfHTTP(location: String) throws {
        #expect(refusal(try decide(302, location)) == .redirectRefused)
        // And nothing that a job can say changes it.
        let loose = try decide(302, location) {
            $0.allowDowngrade = true
            $0.allowHosts = [HostPattern("*")!]
        }
        #expect(refusal(loose) == .redirectRefused)
    }

    @Test func aDowngradeMustBeAllowed() throws {
        #expect(refusal(try decide(302, "http://example.org/")) == .redirectRefused)
        #expect(target(try decide(302, "http://example.org/") { $0.allowDowngrade = true }) == "http://example.org/")
        #expect(target(try decide(302, "https://example.org/", from: "http://example.org/")) == "https://example.org/")
    }

    @Test func theLimitCounts() throws {
        #expect(target(try decide(302, "/x", hops: 19)) != nil)
        #expect(refusal(try decide(302, "/x", hops: 20)) == .httpTooManyRedirects)
        #expect(refusal(try decide(302, "/x", hops: 0) { $0.maximum = 0 }) == .httpTooManyRedirects)
    }

    @Test(arguments: [
        ("https://example.org/x", true, true), ("https://example.org:8443/x", false, true),
        ("https://www.example.org/x", false, false), ("https://example.org.evil.com/x", false, false),
        ("https://example.org@evil.com/x", false, false), ("//evil.com/https://example.org/", false, false),
    ]) func followRules(location: String, sameOrigin: Bool, sameHost: Bool) throws {
        #expect((target(try decide(302, location) { $0.follow = .sameOrigin }) != nil) == sameOrigin)
        #expect((target(try decide(302, location) { $0.follow = .sameHost }) != nil) == sameHost)
        #expect(refusal(try decide(302, location) { $0.follow = .never }) == .redirectRefused)
    }

    @Test func sameOriginSeesTheScheme() throws {
        let up = try decide(302, "https://example.org/", from: "http://example.org/") { $0.follow = .sameOrigin }
        #expect(refusal(up) == .redirectRefused)
    }

    @Test(arguments: [
        ("https://cdn.example.org/x", true), ("https://CDN.example.org./x", true), ("https://example.org/x", false),
        ("https://evil.com/", false), ("https://cdn.example.org:8443/", true), ("https://host:81/", false),
        ("https://host:80/", true),
    ]) func allowedHosts(location: String, allowed: Bool) throws {
        let decision = try decide(302, location) {
            $0.allowHosts = [HostPattern("*.example.org")!, HostPattern("host:80")!]
        }
        #expect((target(decision) != nil) == allowed)
    }

    private func crosses(
        _ name: String, _ value: SecretText = "x", withBody: Bool = false, keeping kept: [String] = []
    ) -> Bool {
        var policy = RedirectPolicy()
        policy.keepHeaders = kept
        return Redirects.crossesOrigins(
            HeaderField(name: name, value: value), to: Origin(scheme: "https", host: "b.test", port: 443),
            withBody: withBody, policy)
    }

    private func secret(_ hosts: [HostPattern]?) -> SecretText {
        SecretText(pieces: [.literal("key "), .secret(name: "S", value: "s3", hosts: hosts)])
    }

    @Test func anotherOrigin_getsHarmlessHeadersOnly() {
        for name in ["Accept", "ACCEPT-language", "User-Agent", "Range", "If-None-Match"] {
            #expect(crosses(name), "\(name)")
            #expect(!crosses(name, secret(nil)), "\(name)")
        }
        for name in [
            "aUTHORIZATION", "Cookie", "X-Api-Key", "Private-Token", "X-Amz-Security-Token", "X-Own", "Acceptance",
            "Cache-Control", "traceparent", "Referer",
        ] {
            #expect(!crosses(name), "\(name)")
        }
        #expect(crosses("Content-Type", withBody: true) && !crosses("Content-Type"))
    }

    @Test func keptHeader_crosses_unlessItsSecretIsBoundElsewhere() {
        #expect(crosses("X-Api-Key", keeping: ["x-api-key"]) && !crosses("X-Api-Key2", keeping: ["x-api-key"]))
        #expect(crosses("X-Api-Key", secret(nil), keeping: ["x-api-key"]))
        #expect(crosses("X-Api-Key", secret([HostPattern("b.test")!]), keeping: ["x-api-key"]))
        #expect(!crosses("X-Api-Key", secret([HostPattern("a.test")!]), keeping: ["x-api-key"]))
    }
}
