import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Whose cookies a session keeps, the ones that a job brings along, and that no value is ever printed.
struct CookiePolicyTests {
    private func url(_ text: String) -> ResourceURL { CookieClient.url(text) }

    @Test(arguments: [
        ("https://www.example.co.uk/", "https://cdn.example.co.uk/x", true),
        ("https://example.co.uk/", "http://a.b.example.co.uk:81/", true),
        ("https://example.co.uk/", "https://other.co.uk/", false),
        ("https://a.github.io/", "https://b.github.io/", false),
        ("https://a.github.io/", "https://x.a.github.io/", true), ("https://github.io/", "https://github.io/x", true),
        ("https://github.io/", "https://a.github.io/", false), ("http://localhost/", "http://localhost:8080/", true),
        ("http://localhost/", "http://other/", false), ("http://127.0.0.1/", "http://127.0.0.1:81/", true),
        ("http://127.0.0.1/", "http://1.0.0.1/", false), ("http://[::1]/", "http://[::1]/", true),
        ("http://[::1]/", "http://[::2]/", false), ("https://example.com./", "https://www.example.com/", true),
    ]) func mainDocuments(document: String, asked: String, allowed: Bool) {
        let (document, asked) = (url(document), url(asked))
        let named = CookieAcceptance(.onlyFromMainDocumentDomain, mainDocument: document, asked: asked)
        #expect(named.allows(asked) == allowed)
        // Without one the task's own URL is the document, and what a redirect leads to is measured by it.
        let own = CookieAcceptance(.onlyFromMainDocumentDomain, mainDocument: nil, asked: document)
        #expect(own.allows(asked) == allowed)
        #expect(own.allows(document))
        #expect(CookieAcceptance(.always, mainDocument: document, asked: asked).allows(asked))
        #expect(!CookieAcceptance(.never, mainDocument: document, asked: asked).allows(asked))
    }

    /// What is not accepted changes nothing; what is there is sent all the same.
    @Test func whatIsNotAcceptedChangesNothing() {
        var jar = CookieJar()
        let (page, tracker) = (url("https://www.example.org/"), url("https://tracker.example.com/"))
        let policy = CookieAcceptance(.onlyFromMainDocumentDomain, mainDocument: page, asked: page)
        let now = ManualClock().wall
        _ = jar.take(setCookie: Array("a=1".utf8), from: tracker, at: now)
        for line in ["b=1", "a=2", "a=1; max-age=0"] {
            #expect(jar.take(HeaderBlock([("Set-Cookie", line)]), from: tracker, at: now, accepting: policy).isEmpty)
        }
        #expect(jar.header(for: tracker, at: now).value?.revealed == "a=1")
        #expect(jar.take(HeaderBlock([("Set-Cookie", "c=1")]), from: page, at: now, accepting: policy).count == 1)
        #expect(jar.count == 2)
    }

    // MARK: Presets

    @Test func presetsAreSent() {
        var client = CookieClient()
        let refused = client.jar.add(
            [
                .init("host", "1", domain: "Example.org"), .init("below", "2", domain: ".example.org", path: "/x"),
                .init("tls", "3", domain: "example.org", secure: true), .init("", "4", domain: "example.org"),
                .init("address", "5", domain: "[::0001]"), .init("also", "6", domain: ".127.0.0.1"),
                .init("idn", "7", domain: ".bücher.example"),
                .init("__Host-x", "8", domain: "example.org", secure: true),
            ], at: client.clock.wall)
        #expect(refused.isEmpty)
        #expect(client.sent(to: "http://example.org/x") == "below=2; host=1; 4")
        #expect(client.sent(to: "https://example.org/") == "host=1; tls=3; 4; __Host-x=8")
        #expect(client.sent(to: "http://www.example.org/x/y") == "below=2")
        #expect(client.sent(to: "http://[::1]/") == "address=5")
        #expect(client.sent(to: "http://127.0.0.1/") == "also=6")
        #expect(client.sent(to: "http://www.xn--bcher-kva.example/") == "idn=7")
    }

    @Test(arguments: [
        ("a=b", "1", "example.org", "/", false, CookieRefusal.separator),
        ("a;b", "1", "example.org", "/", false, .separator),
        ("a", "1;2", "example.org", "/", false, .separator), ("a", "1", "example.org", "/;x", false, .separator),
        ("a\r\nX: y", "1", "example.org", "/", false, .controlCharacter),
        ("a", "\n", "example.org", "/", false, .controlCharacter),
        ("", "", "example.org", "/", false, .empty), ("a", "1", "", "/", false, .noHost),
        ("a", "1", ".", "/", false, .noHost),
        ("a", "1", "a b", "/", false, .noHost), ("a", "1", "..example.org", "/", false, .noHost),
        ("a", "1", "0x7f.1", "/", false, .noHost), ("a", "1", "example.org:80", "/", false, .noHost),
        ("a", "1", ".com", "/", false, .publicSuffix), ("a", "1", ".co.uk.", "/", false, .publicSuffix),
        ("a", "1", "example.org", "x", false, .relativePath), ("a", "1", "example.org", "", false, .relativePath),
        ("__Secure-a", "1", "example.org", "/", false, .prefix), ("__host-a", "1", ".example.org", "/", true, .prefix),
        ("__Host-a", "1", "example.org", "/x", true, .prefix), ("", "__Secure-a=1", "example.org", "/", true, .prefix),
    ]) func presetsThatAreNone(
        name: String, value: String, domain: String, path: String, secure: Bool, why: CookieRefusal
    ) {
        var jar = CookieJar()
        let presets: [CookieConfiguration.Preset] = [
            .init("good", "1", domain: "example.org"),
            .init(name, SecretText(value), domain: domain, path: path, secure: secure),
        ]
        let refused = jar.add(presets, at: ManualClock().wall)
        #expect(refused.map { $0.index } == [1])
        #expect(refused.map { $0.refusal } == [why])
        #expect(jar.cookies.map { $0.name } == ["good"])
    }

    @Test func presetsLongerThanACookie() {
        var jar = CookieJar()
        let long = SecretText(String(repeating: "x", count: 4096))
        let refused = jar.add([.init("a", long, domain: "example.org")], at: ManualClock().wall)
        #expect(refused.first?.refusal == .tooLong)
    }

    /// The job's word stands before the last run's, a server's before the job's; the job's never goes to disk.
    @Test func whoseWordStands() {
        var client = CookieClient()
        client.receive("a=stored; max-age=999", from: "http://example.org/")
        client.jar = CookieJar(stored: client.jar.persistent, at: client.clock.wall)
        var preset = CookieConfiguration.Preset("a", "preset", domain: "example.org")
        preset.expires = client.clock.wall + .seconds(500)
        #expect(client.jar.add([preset], at: client.clock.wall).isEmpty)
        #expect(client.sent(to: "http://example.org/") == "a=preset")
        #expect(client.jar.persistent.isEmpty)
        client.receive("a=fresh; max-age=999", from: "http://example.org/")
        #expect(client.sent(to: "http://example.org/") == "a=fresh")
        #expect(client.jar.persistent.count == 1)
    }

    @Test func presetsEnd() {
        var client = CookieClient()
        var preset = CookieConfiguration.Preset("a", "1", domain: "example.org")
        preset.expires = client.clock.wall + .seconds(5)
        _ = client.jar.add([preset], at: client.clock.wall)
        #expect(client.sent(to: "http://example.org/") == "a=1")
        client.clock.advance(.seconds(5))
        #expect(client.sent(to: "http://example.org/") == "")
        #expect(client.jar.add([preset], at: client.clock.wall).isEmpty)
        #expect(client.jar.isEmpty)
    }

    // MARK: Secrets

    private static let bound = SecretText(pieces: [
        .literal("v1-"), .secret(name: "KEY", value: "hunter22", hosts: HostPattern("api.example.org").map { [$0] }),
    ])

    /// A secret that is bound to hosts leaves the others without its cookie, and no others.
    @Test func boundSecretsAreWithheld() {
        var client = CookieClient()
        _ = client.jar.add(
            [.init("key", Self.bound, domain: ".example.org"), .init("open", "1", domain: ".example.org")],
            at: client.clock.wall)
        #expect(client.sent(to: "https://api.example.org/") == "key=v1-hunter22; open=1")
        let used = client.jar.cookies[0].lastUsed
        client.clock.advance(.seconds(1))
        let other = client.jar.header(for: url("https://www.example.org/"), at: client.clock.wall)
        #expect(other.value?.revealed == "open=1")
        #expect(other.withheld.map { $0.name } == ["key"])
        #expect(client.jar.cookies[0].lastUsed == used)
        client.jar.remove(other.used[0])
        #expect(client.jar.header(for: url("https://www.example.org/"), at: client.clock.wall).value == nil)
    }

    @Test func noValueIsPrinted() {
        var client = CookieClient()
        client.receive("sid=hunter22", from: "https://example.org/")
        _ = client.jar.add([.init("key", "hunter22", domain: "example.org")], at: client.clock.wall)
        let header = client.jar.header(for: url("https://example.org/"), at: client.clock.wall)
        #expect(header.value?.redacted == "sid=***; key=***")
        #expect(header.value?.revealed == "sid=hunter22; key=hunter22")
        for cookie in client.jar.cookies {
            #expect(cookie.value.isSecret)
            var dumped = ""
            dump(cookie, to: &dumped)
            dump(cookie.value, to: &dumped)
            let texts = [
                "\(cookie)", String(reflecting: cookie), "\(cookie.value)", String(reflecting: cookie.value), dumped,
            ]
            for text in texts { #expect(!text.contains("hunter22"), "\(text)") }
        }
        for text in ["\(client.jar)", "\(header)", String(reflecting: client.jar), String(reflecting: header)] {
            #expect(!text.contains("hunter22"), "\(text)")
        }
        #expect("\(client.jar.cookies[0])" == "sid=*** of example.org/")
    }
}
