import HTTPRules
import TestSupport
import Testing
import TransferModel

/// Which proxy a URL goes through.
@Suite struct ProxyChoiceTests {
    private func environment(_ change: (inout ProxyEnvironment) throws -> Void) rethrows -> ProxyChoice {
        var environment = ProxyEnvironment()
        try change(&environment)
        return ProxyChoice(.environment, environment: environment)
    }

    private func proxy(_ text: String) throws -> ProxyServer { try ProxyServer.parse(text) }
    private func place(_ choice: ProxyChoice, _ url: String) throws -> String? {
        try choice.proxy(for: ResourceURL.parse(url))?.description
    }

    @Test func nothingSaidIsNoProxy() throws {
        let choice = environment { _ in }
        #expect(choice.isDirect)
        #expect(try place(choice, "http://example.org/") == nil)
        #expect(ProxyChoice(.none, environment: ProxyEnvironment()).isDirect)
    }

    @Test func eachSchemeHasItsOwnAndAllIsForTheOthers() throws {
        let choice = try environment {
            $0.http = try proxy("http://a:1")
            $0.all = try proxy("socks5h://b:2")
        }
        #expect(try place(choice, "http://example.org/") == "http://a:1")
        #expect(try place(choice, "https://example.org/") == "socks5h://b:2")
        #expect(try place(choice, "ftp://example.org/") == "socks5h://b:2")
        #expect(try place(choice, "file:///etc/hosts") == nil)
        let written = ProxyChoice(
            .byScheme(http: nil, https: try proxy("http://c:3"), ftp: nil, all: nil, bypass: []),
            environment: ProxyEnvironment())
        #expect(try place(written, "http://example.org/") == nil)
        #expect(try place(written, "https://example.org/") == "http://c:3")
    }

    @Test func theSessionsWordHidesTheEnvironments() throws {
        var environment = ProxyEnvironment()
        environment.all = try proxy("http://a:1")
        #expect(ProxyChoice(.none, environment: environment).isDirect)
        let choice = ProxyChoice(.url(try proxy("http://b:2")), environment: environment)
        #expect(try place(choice, "http://localhost/") == "http://b:2")
    }

    /// Loopback is like any other host.
    @Test func whatNoProxyCovers() throws {
        let rows: [(String, String, Bool)] = [
            ("", "http://localhost/", false), ("*", "http://example.org/", true), ("a, *", "http://example.org/", true),
            ("example.org", "http://example.org/", true), ("example.org", "http://www.example.org/", true),
            ("example.org", "http://notexample.org/", false), ("example.org", "http://example.org.evil/", false),
            (".example.org", "http://www.example.org/", true), (".example.org", "http://example.org/", true),
            ("*.example.org", "http://www.example.org/", true), ("example.org.", "http://www.example.org/", true),
            ("EXAMPLE.org", "http://www.example.org/", true), ("example.org", "http://example.org./", true),
            ("bücher.example", "http://xn--bcher-kva.example/", true),
            ("example.org:8080", "http://example.org:8080/", true), ("example.org:8080", "http://example.org/", false),
            ("example.org:443", "https://example.org/", true), ("example.org:x", "http://example.org/", false),
            ("a,b c\texample.org", "http://example.org/", true), (",, ,", "http://example.org/", false),
            ("10.0.0.0/8", "http://10.1.2.3/", true), ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("10.0.0.0/33", "http://10.1.2.3/", false), ("10.1.2.128/25", "http://10.1.2.200/", true),
            ("10.1.2.128/25", "http://10.1.2.100/", false), ("0.0.0.0/0", "http://10.1.2.100/", true),
            ("127.0.0.1", "http://127.0.0.1:81/", true), ("127.0.0.1:80", "http://127.0.0.1:81/", false),
            ("1.2.3.4", "http://www.1.2.3.4.example/", false), ("2.3.4", "http://1.2.3.4/", false),
            ("::1", "http://[::1]/", true), ("[::1]", "http://[0:0::1]/", true), ("[::1]:80", "http://[::1]/", true),
            ("[::1]:81", "http://[::1]/", false), ("fd00::/8", "http://[fd12::1]/", true),
            ("fd00::/8", "http://[fe80::1]/", false), ("10.0.0.0/8", "http://[::ffff:10.1.2.3]/", true),
            ("::ffff:10.0.0.0/104", "http://10.1.2.3/", true), ("fd00::/8", "http://fd00.example/", false),
            ("10.0.0.0/8", "http://10.example/", false),
        ]
        for (text, url, isCovered) in rows {
            let choice = try environment {
                $0.all = try proxy("http://a:1")
                $0.bypass = text
            }
            #expect((try place(choice, url) == nil) == isCovered, "no_proxy=\(text) \(url)")
        }
    }

    /// A job's list says what host patterns say: a name alone is that host.
    @Test func whatAJobsBypassCovers() throws {
        let rows: [(String, String, Bool)] = [
            ("example.org", "http://example.org/", true), ("example.org", "http://www.example.org/", false),
            ("*.example.org", "http://www.example.org/", true), ("*.example.org", "http://example.org/", false),
            ("*:8080", "http://a.example:8080/", true), ("*:8080", "http://a.example/", false),
            ("10.0.0.0/8", "http://10.1.2.3/", true), ("fd00::/8", "http://[fd12::1]/", true),
            ("[::1]", "http://[::1]/", true), ("*", "http://a.example/", true),
        ]
        for (pattern, url, isCovered) in rows {
            let all = try proxy("http://a:1")
            let choice = ProxyChoice(
                .byScheme(http: nil, https: nil, ftp: nil, all: all, bypass: ["other.example", pattern]),
                environment: ProxyEnvironment())
            #expect((try place(choice, url) == nil) == isCovered, "bypass: \(pattern) \(url)")
        }
    }

    /// Against a slow and simple way to say the same.
    @Test func rangesHoldWhatTheirBitsSay() throws {
        var random = Seeded("rangesHoldWhatTheirBitsSay")
        for _ in 0..<Rounds.scaled(2000) {
            let start = random.bytes(4)
            let bits = random.below(33)
            var other = start
            let flipped = random.below(32)
            other[flipped / 8] ^= 0x80 >> UInt8(flipped % 8)
            let text = "\(start.map(String.init).joined(separator: "."))/\(bits)"
            let range = try #require(AddressRange(text))
            #expect(range.contains(start))
            #expect(range.contains(other) == (flipped >= bits), "\(text) and \(other)")
        }
    }

    @Test func neverStumblesOverWhatNobodyMeant() throws {
        let parts = [
            "*", ".", ":", "/", "[", "]", "::", "10", "example.org", "ü", "-1", "99999", "/8", " ", ",", "\u{0}",
        ]
        var random = Seeded("neverStumblesOverWhatNobodyMeant")
        for _ in 0..<Rounds.scaled(500) {
            let text = (0..<random.below(13)).map { _ in random.pick(parts) }.joined()
            let bypass = ProxyBypass(environment: text)
            _ = bypass.covers(try ResourceURL.parse("http://www.example.org/"))
            _ = ProxyBypass(patterns: [text]).covers(try ResourceURL.parse("http://[::1]:80/"))
        }
    }
}
