import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What a `Set-Cookie` line is read as, seen by what goes back. Many of the cases are those that the authors of RFC 6265
/// gathered from browsers, told anew and brought to what RFC 6265bis says today.
struct CookieParsingTests {
    private static let place = "http://home.example.org/shop/list?x=/y"

    @Test(arguments: [
        (["foo=bar"], "foo=bar"), (["a=1", "a=2"], "a=2"), (["a=1", "b=2"], "a=1; b=2"), (["z=1", "a=2"], "z=1; a=2"),
        // names and values
        (["  a  =  b c  "], "a=b c"), (["\ta\t=\tb\t"], "a=b"), (["a=b=c"], "a=b=c"), (["a=== b"], "a=== b"),
        (["a="], "a="), (["a=;"], "a="), (["a=\"b c\""], "a=\"b c\""), (["a=\"b;c\""], "a=\"b"), (["a=b\"c"], "a=b\"c"),
        (["a=b, c=d"], "a=b, c=d"), (["A=1", "a=2"], "A=1; a=2"), (["a b=c"], "a b=c"), (["a\tb=c\td"], "a\tb=c\td"),
        (["a=%3B%0a"], "a=%3B%0a"), (["a\\=b"], "a\\=b"), (["grüße=日本"], "grüße=日本"),
        // two names that Unicode takes for one are two
        (["\u{e9}=1", "e\u{301}=2"], "\u{e9}=1; e\u{301}=2"),
        // a value alone
        (["token"], "token"), (["=token"], "token"), (["= token ; path=/"], "token"), (["token; max-age=9"], "token"),
        (["=a=b"], "a=b"), (["one", "two"], "two"), (["a=1", "token", "b=2"], "a=1; token; b=2"),
        // nothing
        ([""], ""), (["="], ""), (["   "], ""), ([" = "], ""), (["; path=/"], ""), ([";"], ""), (["=;a=b"], ""),
        (["a=1", "=", "b=2"], "a=1; b=2"),
        // attributes that say nothing
        (["a=1; version=1"], "a=1"), (["a=1; b=2"], "a=1"), (["a=1;;;; ;"], "a=1"), (["a=1; \"Secure\""], "a=1"),
        (["a=1; Secure x"], "a=1"), (["a=1; Partitioned"], "a=1"), (["a=1; =x"], "a=1"),
        (["a=1; x;y=\"z\" ; w"], "a=1"),
        (["a=1; b,az=q"], "a=1"), (["a=1; grüße=x; \u{212A}=y"], "a=1"), (["a=1;Priority=High"], "a=1"),
        // Secure from http is refused, however it is written
        (["a=1; secure"], ""), (["a=1;SECURE"], ""), (["a=1; Secure=no"], ""), (["a=1; Secure = "], ""),
        (["a=1;   Secure   ; x"], ""), (["a=1; q=\"x;y\"; sEcUrE"], ""), (["a=1; secure;"], ""),
    ]) func pairs(lines: [String], header: String) {
        var client = CookieClient()
        client.receive(lines, from: Self.place)
        #expect(client.sent(to: Self.place) == header)
    }

    @Test(arguments: [
        ("a=1; path=/", true), ("a=1; path=/shop", true), ("a=1; path=/shop/", true), ("a=1; PATH=/shop/list", true),
        ("a=1; path=/shop/lis", false), ("a=1; path=/shop/list/", false), ("a=1; path=/sho", false),
        ("a=1; path=/Shop", false), ("a=1; path=/shop/list?x=/y", false), ("a=1; path=//", false),
        // what is no path, or none at all, is the folder of the URL
        ("a=1; path", true), ("a=1; path=", true), ("a=1; path=shop", true), ("a=1; path=\"/\"", true),
        ("a=1; path=./", true),
        ("a=1;  path  =  /shop  ; x", true),
        // the last one counts
        ("a=1; path=/x; path=/", true), ("a=1; path=/; path=/x", false), ("a=1; path=/x; path=", true),
        ("a=1; path=/x; path=y", true),
    ]) func paths(line: String, goesBack: Bool) {
        var client = CookieClient()
        client.receive(line, from: Self.place)
        #expect(client.sent(to: Self.place) == (goesBack ? "a=1" : ""))
    }

    @Test(arguments: [
        ("/", "/"), ("", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("//", "/"),
        ("//a", "/"), ("/a//b", "/a/"), ("/a?b/c", "/"), ("/a%2Fb/c", "/a%2Fb"), ("/ä/x", "/%C3%A4"),
    ]) func standardPaths(asked: String, path: String) {
        var client = CookieClient()
        client.receive("a=1", from: "http://example.org" + asked)
        #expect(client.jar.cookies.map { $0.path } == [path])
    }

    @Test(arguments: [
        ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b", true), ("/a", "/ab", false), ("/a", "/", false),
        ("/a/", "/a/b", true), ("/a/", "/a", false), ("/", "/x", true), ("/a", "/A", false), ("/a", "/a?b", true),
        ("/a", "/a%2Fb", false), ("/a%2fb", "/a%2Fb", false), ("/a/b", "/a/b/../b", true), ("/a", "/a/../b", false),
    ]) func pathMatching(path: String, asked: String, matches: Bool) {
        var client = CookieClient()
        client.receive("a=1; path=\(path)", from: "http://example.org/q")
        #expect(client.sent(to: "http://example.org" + asked) == (matches ? "a=1" : ""))
    }

    /// At 4096 bytes of name and value together, and 1024 of an attribute's value.
    @Test func lengths() {
        var client = CookieClient()
        let long = String(repeating: "x", count: 4095)
        #expect(client.refusal("a=\(long)", from: Self.place) == nil)
        #expect(client.refusal("ab=\(long)", from: Self.place) == .tooLong)
        #expect(client.refusal("\(long)xx", from: Self.place) == .tooLong)
        #expect(client.refusal("\(long)=é", from: Self.place) == .tooLong)
        #expect(client.refusal("  a  =  \(long)  ; x=\(long)", from: Self.place) == nil)

        let path = "/" + String(repeating: "p", count: 1023)
        client.receive("short=1; path=\(path)", from: Self.place)
        client.receive("long=1; path=\(path)p", from: Self.place)
        client.receive("before=1; path=/x; path=\(path)p", from: Self.place)
        let paths = client.jar.cookies.filter { $0.name != "a" }.map { $0.path }
        #expect(paths == [path, "/shop", "/x"])
    }

    @Test(arguments: Array(0..<0x20).filter { $0 != 0x09 } + [0x7F])
    func controlCharacters(byte: Int) {
        let url = CookieClient.url(Self.place)
        let control = [UInt8(byte)]
        let places = [("", "a=1"), ("a", "=1"), ("a=", "1"), ("a=1", "; path=/"), ("a=1; path=/", ""), ("a=1; x", "y")]
        for (before, after) in places {
            var jar = CookieJar()
            let outcomes = jar.take(
                setCookie: Array(before.utf8) + control + Array(after.utf8), from: url, at: ManualClock().wall)
            guard case .refused(_, .controlCharacter) = outcomes.first else {
                Issue.record("kept with a control character after `\(before)`: \(outcomes)")
                continue
            }
            #expect(jar.isEmpty)
        }
    }

    @Test func otherBytesThanUTF8() {
        let url = CookieClient.url(Self.place)
        var jar = CookieJar()
        let now = ManualClock().wall
        #expect(jar.take(setCookie: [0x61, 0x3D, 0xFF], from: url, at: now) == [.refused(name: "", .notUTF8)])
        #expect(jar.take(setCookie: [0xC3, 0x3D, 0x61], from: url, at: now) == [.refused(name: "", .notUTF8)])
        // Elsewhere they only say nothing.
        _ = jar.take(setCookie: Array("a=1; path=/".utf8) + [0xFF], from: url, at: now)
        _ = jar.take(setCookie: Array("b=1; ".utf8) + [0xFF, 0x3D, 0xFF], from: url, at: now)
        #expect(jar.cookies.map { $0.path } == ["/\u{FFFD}", "/shop"])
    }

    @Test func flags() {
        var client = CookieClient()
        client.receive("a=1; HttpOnly; SameSite=Strict", from: "https://example.org/")
        client.receive("b=1; httponly=0; samesite=LAX; Secure", from: "https://example.org/")
        client.receive("c=1; SameSite=None; Secure", from: "https://example.org/")
        client.receive("d=1; SameSite=Strict; SameSite=other", from: "https://example.org/")
        let cookies = client.jar.cookies
        #expect(cookies.map { $0.isHTTPOnly } == [true, true, false, false])
        #expect(cookies.map { $0.sameSite } == [.strict, .lax, .none, .unset])
        #expect(cookies.map { $0.isSecure } == [false, true, true, false])
        // Of other sites nothing is known here: all go along.
        #expect(client.sent(to: "https://example.org/") == "a=1; b=1; c=1; d=1")
        #expect(client.refusal("e=1; SameSite=None", from: "https://example.org/") == .sameSiteNoneNotSecure)
        #expect(client.refusal("e=1; SameSite=None; SameSite=Lax", from: "https://example.org/") == nil)
    }

    /// Several lines, other headers between them, the header's name in any case, a folded line.
    @Test func headerBlocks() {
        var jar = CookieJar()
        let raw = "Server: x\r\nSET-COOKIE: a=1\r\nX: Set-Cookie\r\nset-cookie: b=2;\r\n path=/\r\nSet-Cookie2: c=3\r\n"
        let url = CookieClient.url(Self.place)
        let outcomes = jar.take(
            HeaderBlock(raw: Array(raw.utf8)), from: url, at: ManualClock().wall, accepting: .always(url))
        #expect(
            outcomes.map { if case .kept(let id, _) = $0 { id.description } else { "" } } == [
                "a of home.example.org/shop", "b of home.example.org/",
            ])
    }
}
