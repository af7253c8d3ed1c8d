import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Whose cookies go to whom: `Domain`, public suffixes, addresses, `Secure` and the prefixes of names.
struct CookieDomainTests {
    @Test(arguments: [
        ("example.com", false), ("com", true), ("co.uk", true), ("bbc.co.uk", false), ("github.io", true),
        ("someone.github.io", false), ("localhost", true), ("nosuchtld", true), ("a.nosuchtld", false),
        ("kawasaki.jp", true), ("x.kawasaki.jp", true), ("city.kawasaki.jp", false), ("xn--p1ai", true),
        ("xn--55qx5d.cn", true), ("ck", true), ("any.ck", true), ("www.ck", false),
    ]) func publicSuffixes(name: String, isOne: Bool) {
        #expect(PublicSuffixes.contains(name) == isOne)
        #expect((PublicSuffixes.registrableDomain(of: name) == nil) == isOne)
    }

    @Test(arguments: [
        ("www.example.com", "example.com"), ("a.b.c.bbc.co.uk", "bbc.co.uk"),
        ("x.someone.github.io", "someone.github.io"),
        ("a.city.kawasaki.jp", "city.kawasaki.jp"), ("example.com", "example.com"),
    ]) func registrableDomains(name: String, domain: String) {
        #expect(PublicSuffixes.registrableDomain(of: name) == domain)
    }

    private static let home = "http://home.example.org/"

    /// From home.example.org: who gets it, of itself, the name above, one beside and one below.
    @Test(arguments: [
        ("", "home"), ("; domain", "home"), ("; domain=", "home"), ("; domain=.", "home"), ("; domain= ", "home"),
        ("; domain=home.example.org", "home below"), ("; domain=.home.example.org", "home below"),
        ("; DOMAIN = HOME.Example.ORG ", "home below"), ("; domain=example.org", "home above beside below"),
        ("; domain=.example.org", "home above beside below"), ("; domain=.EXAMPLE.org", "home above beside below"),
        // the last one counts, an empty one too, one that is too long does not
        ("; domain=example.org; domain=home.example.org", "home below"),
        ("; domain=other.com; domain=example.org", "home above beside below"),
        ("; domain=example.org; domain=", "home"),
        ("; domain=example.org; domain=\(String(repeating: "x", count: 1025))", "home above beside below"),
    ]) func domains(attribute: String, goesTo: String) {
        var client = CookieClient()
        client.receive("a=1" + attribute, from: Self.home)
        let places = [
            ("home", Self.home), ("above", "http://example.org/"), ("beside", "http://beside.example.org/"),
            ("below", "http://below.home.example.org:8080/"), ("far", "http://homeexample.org/"),
            ("far", "http://org/"),
        ]
        #expect(places.filter { client.sent(to: $0.1) == "a=1" }.map { $0.0 }.joined(separator: " ") == goesTo)
    }

    @Test(arguments: [
        ("other.org", CookieRefusal.otherDomain), ("below.home.example.org", .otherDomain),
        ("ome.example.org", .otherDomain),
        ("..example.org", .otherDomain), (".example.org.", .otherDomain), ("example.org.", .otherDomain),
        ("home.example.org.", .otherDomain),
        ("example.org:80", .otherDomain), ("http://example.org", .otherDomain), ("*.example.org", .otherDomain),
        ("example", .otherDomain),
        ("\"example.org\"", .otherDomain), ("exämple.org", .otherDomain), ("home.example.org x", .otherDomain),
        ("10.0.0.1", .otherDomain),
        ("org", .publicSuffix), (".org", .publicSuffix), ("ORG", .publicSuffix), ("org.", .otherDomain),
    ]) func refusedDomains(domain: String, why: CookieRefusal) {
        var client = CookieClient()
        #expect(client.refusal("a=1; domain=\(domain)", from: Self.home) == why)
        #expect(client.jar.isEmpty)
    }

    /// A host that is a public suffix has cookies of its own, and none for those below it.
    @Test(arguments: ["http://github.io/", "http://localhost/", "http://intranet/", "https://co.uk/"])
    func hostsThatArePublicSuffixes(url: String) {
        var client = CookieClient()
        let host = CookieClient.url(url).host
        client.receive(["a=1; domain=\(host)", "b=1"], from: url)
        #expect(client.jar.cookies.map { $0.isHostOnly } == [true, true])
        #expect(client.sent(to: url) == "a=1; b=1")
        #expect(client.sent(to: "http://x.\(host)/") == "")
        #expect(client.refusal("a=1; domain=\(host)", from: "http://x.\(host)/") == .publicSuffix)
    }

    /// U+212A is a `k` to Unicode and none to DNS.
    @Test func letterCaseIsOfASCII() {
        var client = CookieClient()
        for place in ["http://www.kernel.org/", "http://kernel.org/"] {
            #expect(client.refusal("a=1; domain=\u{212A}ernel.org", from: place) == .otherDomain)
        }
        client.receive("a=1; domain=xn--bcher-kva.example", from: "http://www.bücher.example/")
        #expect(client.sent(to: "http://bücher.example/") == "a=1")
        #expect(client.refusal("a=1; domain=bücher.example", from: "http://www.bücher.example/") == .otherDomain)
    }

    /// A dot at the end makes no other host, and no way to all of `com` (CVE-2026-8924).
    @Test func dotsAtTheEnd() {
        var client = CookieClient()
        client.receive("a=1", from: "http://example.com./")
        #expect(client.sent(to: "http://example.com/") == "a=1")
        client.receive("b=1; domain=example.com", from: "http://www.example.com/")
        #expect(client.sent(to: "http://www.example.com./") == "b=1")
        for domain in ["com", "com.", ".com.", "example.com."] {
            #expect(client.refusal("c=1; domain=\(domain)", from: "http://example.com./") != nil, "\(domain)")
        }
        #expect(client.sent(to: "http://other.com./") == "")
    }

    @Test(arguments: [
        (
            "http://127.0.0.1/", ["127.0.0.1", ".127.0.0.1"],
            ["0.0.1", "1", ".0.0.1", "127.0.0.2", "127.0.0.1.", "localhost"]
        ),
        ("http://[::1]:8080/", ["[::1]"], ["::1", "[0:0:0:0:0:0:0:1]", "1]", "[::2]"]),
        ("http://[2001:DB8::1]/", ["[2001:db8::1]", "[2001:DB8::1]"], ["2001:db8::1"]),
    ]) func addresses(url: String, own: [String], others: [String]) {
        var client = CookieClient()
        for domain in own {
            client.jar = CookieJar()
            client.receive("a=1; domain=\(domain)", from: url)
            #expect(client.sent(to: url) == "a=1", "\(domain)")
            #expect(client.jar.cookies.map { $0.isHostOnly } == [true])
        }
        for domain in others {
            #expect(client.refusal("a=1; domain=\(domain)", from: url) == .otherDomain, "\(domain)")
        }
    }

    @Test func portsAndSchemesShare() {
        var client = CookieClient()
        client.receive("a=1", from: "http://example.org:8080/")
        #expect(client.sent(to: "https://example.org/") == "a=1")
        #expect(client.sent(to: "ftp://example.org/") == "")
        #expect(client.receive("b=1", from: "ftp://example.org/") == nil)
        #expect(client.sent(to: "file:///") == "")
        #expect(client.sent(to: "data:,x") == "")
    }

    // MARK: Secure

    /// Loopback is no exception: any user of a machine can listen there.
    @Test(arguments: ["example.org", "localhost", "127.0.0.1", "[::1]"])
    func secureIsHTTPS(host: String) {
        var client = CookieClient()
        #expect(client.refusal("a=1; Secure", from: "http://\(host)/") == .secureOverHTTP)
        client.receive("a=1; Secure", from: "https://\(host)/")
        #expect(client.sent(to: "http://\(host)/") == "")
        #expect(client.sent(to: "https://\(host):8443/") == "a=1")
    }

    /// A Secure cookie of `login.example.org` under `/in`, and http answers that would hide it.
    @Test(arguments: [
        ("a=2", "http://login.example.org/in/x", false), ("a=2; path=/in", "http://login.example.org/", false),
        ("a=2; path=/in/deeper", "http://login.example.org/", false),
        ("a=2; domain=example.org; path=/in", "http://www.example.org/", false),
        ("a=2; path=/in", "http://x.login.example.org/", false),
        ("a=; path=/in; max-age=0", "http://login.example.org/", false),
        // a shorter path comes after it, another name or domain is none of its business
        ("a=2; path=/", "http://login.example.org/in", true), ("a=2; path=/inn", "http://login.example.org/", true),
        ("A=2; path=/in", "http://login.example.org/", true), ("a=2; path=/in", "http://www.example.org/", true),
        ("a=2; path=/in", "http://example.com/", true),
        // https may
        ("a=2; path=/in", "https://login.example.org/", true),
    ]) func secureCookiesAreLeftAlone(line: String, from: String, isKept: Bool) {
        var client = CookieClient()
        client.receive("a=1; Secure; Path=/in; Domain=login.example.org", from: "https://login.example.org/")
        #expect(client.refusal(line, from: from) == (isKept ? nil : .hidesSecureCookie))
        #expect(client.jar.count == (isKept ? 2 : 1))
    }

    // MARK: Prefixes

    @Test(arguments: [
        ("__Secure-a=1; Secure", true), ("__Secure-a=1", false), ("__SECURE-a=1", false),
        ("__secure-a=1; Secure", true),
        ("__Secure-a=1; Secure; Domain=example.org; Path=/x", true),
        ("__Host-a=1; Secure; Path=/", true), ("__hOsT-a=1; Secure; Path=/", true), ("__Host-a=1; Secure", false),
        ("__Host-a=1; Path=/", false), ("__Host-a=1; Secure; Path=/x", false),
        ("__host-a=1; Secure; Path=/; Domain=example.org", false),
        ("__Host-a=1; Secure; Path=/; Domain=www.example.org", false), ("__Host-a=1; Secure; Path=/; Domain=", true),
        ("__Host-a=1; Secure; Path=", true), ("__Host-=1; Secure; Path=/", true), ("__Host-=1", false),
        ("__Host=1", true), ("__Hostile-a=1", true), ("x__Host-a=1", true), ("__Secur\u{E9}-a=1", true),
        // a value alone is sent as if it were the pair
        ("=__Secure-a=1; Secure", false), ("=__HOST-a=1; Secure; Path=/", false), ("__Host-a; Secure; Path=/", false),
        ("a=__Host-b", true),
    ]) func prefixes(line: String, isKept: Bool) {
        var client = CookieClient()
        #expect(client.refusal(line, from: "https://www.example.org/") == (isKept ? nil : .prefix))
    }

    @Test func theFolderOfTheURLIsNoPathAttribute() {
        var client = CookieClient()
        #expect(client.refusal("__Host-a=1; Secure; Path=", from: "https://example.org/x/y") == .prefix)
        #expect(client.refusal("__Host-a=1; Secure; Path=/", from: "https://example.org/x/y") == nil)
        #expect(client.refusal("__Host-a=1; Secure; Path=/", from: "http://example.org/") == .secureOverHTTP)
    }

    @Test func everyRefusalSaysWhy() {
        for refusal in CookieRefusal.allCases { #expect(refusal.why.utf8.count > 10) }
        #expect(Set(CookieRefusal.allCases.map { $0.why }).count == CookieRefusal.allCases.count)
    }
}
