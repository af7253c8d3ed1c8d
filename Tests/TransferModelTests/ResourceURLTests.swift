import TestSupport
import Testing
import TransferModel

@Suite struct ResourceURLTests {
    @Test(arguments: [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("http://example.org:443/a", "http://example.org:443/a"),
        ("http://example.org:0080/", "http://example.org/"),
        ("http://example.org:/", "http://example.org/"),
        ("http://example.org?q", "http://example.org/?q"),
        ("http://example.org#f", "http://example.org/"),
        ("http://example.org/a b?c d#e f", "http://example.org/a%20b?c%20d"),
        ("http://example.org/ä?ö", "http://example.org/%C3%A4?%C3%B6"),
        ("http://example.org/%C3%a4%20", "http://example.org/%C3%a4%20"),
        ("http://example.org/100%/%zz/%4", "http://example.org/100%25/%25zz/%254"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/../../x/.", "http://example.org/x/"),
        ("http://example.org/a/..", "http://example.org/"),
        ("http://example.org/a?b=../c", "http://example.org/a?b=../c"),
        ("http://example.org//a//b", "http://example.org//a//b"),
        ("http://example.org/a\\b?c\\d", "http://example.org/a%5Cb?c%5Cd"),
        ("http://example.org/[]{}|^`\"<>", "http://example.org/%5B%5D%7B%7D%7C%5E%60%22%3C%3E"),
        ("http://example.org/!$&'()*+,;=:@~-._", "http://example.org/!$&'()*+,;=:@~-._"),
        ("http://example.org/a?b?c/d", "http://example.org/a?b?c/d"),
        ("http://example.org./", "http://example.org./"),
        ("http://a_b.example.org/", "http://a_b.example.org/"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
        ("http://[2001:DB8::0:1]:81/", "http://[2001:db8::1]:81/"),
        ("ftp://example.org:21/x;type=i", "ftp://example.org/x;type=i"),
        ("file:///a%20b/../c", "file:///c"),
        ("file://localhost/etc", "file:///etc"),
        ("FILE://LOCALHOST/etc", "file:///etc"),
        ("data:text/plain,a b#c", "data:text/plain,a%20b"),
        ("data:,", "data:,"),
        ("own+1.2://thing/x", "own+1.2://thing/x"),
    ])
    func writesTheNormalForm(text: String, normal: String) throws {
        let url = try ResourceURL.parse(text)
        #expect(url.text == normal)
        #expect(try ResourceURL.parse(url.text) == url)
    }

    @Test(arguments: [
        ("", "no scheme"), ("example.org/a", "no scheme"), ("//example.org", "no scheme"),
        ("1http://x", "no scheme"), ("http:/x", "followed by `//`"), ("http:x", "followed by `//`"),
        ("http:\\\\x", "followed by `//`"), ("http://", "no host"), ("http:///x", "no host"),
        ("http://:80/", "no host"), ("http://user@/", "no host"), ("http://x:0/", "port"), ("http://x:65536/", "port"),
        ("http://x:+80/", "port"), ("http://x:8a/", "port"), ("http://x:80:80/", "port"),
        ("http://x\n/", "control"), ("http://x/\u{7F}", "control"), ("http://x/\0", "control"),
        ("http://a b/", "no host name"), ("http://a%2eb/", "no host name"), ("http://a..b/", "no host name"),
        ("http://.a/", "no host name"), ("http://./", "no host name"), ("http://a,b/", "no host name"),
        ("http://[::1/", "not closed"), ("http://[::1]x/", "only a port"), ("http://[1.2.3.4]/", "no IPv6"),
        ("http://[::1%25lo]/", "no IPv6"), ("http://[]/", "no IPv6"), ("http://::1/", "no host"),
        ("http://good.example\\@evil.example/", "backslash"), ("http://x\\y/", "backslash"),
        ("file://server/share", "this machine"), ("http://xn--/", "no host name"),
        ("http://\(String(repeating: "a", count: 64)).org/", "no host name"),
        ("http://x/\(String(repeating: "a", count: 60_000))", "longer"),
    ])
    func refusesWhatIsNone(text: String, reason: String) {
        let problem = #expect(throws: URLProblem.self) { try ResourceURL.parse(text) }
        #expect(problem?.message.contains(reason) == true, "\(text.prefix(40)): \(problem?.message ?? "")")
    }

    /// What a C library reads as an address must not stand as a name: rules compare names.
    @Test(arguments: [
        "0x7f.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.01", "127.0.0.256", "1.2.3.4.5",
        "127.0.0.1.", "127.0.0.0x1", "a.0x", "1.2.3", "256", "00", "example.1", "127.0.0.1%2eevil", "x.0X7F",
    ])
    func refusesWhatLooksLikeAnAddress(host: String) {
        #expect(throws: URLProblem.self) { try ResourceURL.parse("http://\(host)/") }
    }

    @Test(arguments: [
        ("münchen.example", "xn--mnchen-3ya.example"), ("MÜNCHEN.example", "xn--mnchen-3ya.example"),
        ("faß.example", "xn--fa-hia.example"), ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"), ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        ("ｅｘａｍｐｌｅ.org", "example.org"), ("１２７.0.0.1", "127.0.0.1"),
    ])
    func encodesInternationalNames(name: String, ascii: String) throws {
        #expect(try ResourceURL.parse("https://\(name)/").host == ascii)
    }

    /// Characters that IDNA maps to ASCII ones which end a host.
    @Test(arguments: [
        "evil.c\u{2100}.example", "a\u{FF0F}b.example", "a\u{FF20}b", "a\u{FF1A}80", "a\u{FE56}b", "a\u{FF03}b",
        "a\u{FF05}2e", "a\u{200B}", "\u{AD}", "a\u{3000}b",
    ])
    func refusesNamesThatTurnIntoSomethingElse(name: String) {
        let url = try? ResourceURL.parse("https://\(name)/")
        #expect(
            url == nil
                || url?.host.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789.-_".utf8.contains($0) } == true)
        for forbidden in ["/", "@", ":", "?", "#", "%"] { #expect(url?.host.contains(forbidden) != true) }
    }

    @Test func keepsUserInformationApart() throws {
        let url = try ResourceURL.parse("https://me:p%40ss@Example.org:8443/a?b")
        #expect(url.text == "https://example.org:8443/a?b")
        #expect(url.userInformation == "me:p%40ss")
        #expect("\(url)" == url.text)
        #expect(try ResourceURL.parse("http://a@b@example.org/").userInformation == "a@b")
        #expect(try ResourceURL.parse("http://a@b@example.org/").host == "example.org")
        #expect(try ResourceURL.parse("http://example.org/a@b").userInformation == nil)
        #expect(try ResourceURL.parse("http://@example.org/").userInformation == "")
    }

    @Test func givesItsParts() throws {
        let url = try ResourceURL.parse("https://[::1]:8443/a/b%20c?x=1&y")
        #expect(url.scheme == "https")
        #expect(url.host == "[::1]")
        #expect(url.port == 8443)
        #expect(url.path == "/a/b%20c")
        #expect(url.query == "x=1&y")
        #expect(url.origin == Origin(scheme: "https", host: "[::1]", port: 8443))
        #expect(url.origin.description == "https://[::1]:8443")
        #expect(url.isHTTP && url.isSecure)
        #expect(url.lastPathComponent == "b c")
        let file = try ResourceURL.parse("file:///etc/hosts")
        #expect((file.host, file.path, file.port, file.isHTTP) == ("", "/etc/hosts", 0, false))
        let data = try ResourceURL.parse("data:text/plain;base64,YWI=?")
        #expect((data.host, data.path, data.query) == ("", "text/plain;base64,YWI=?", nil))
        #expect(try ResourceURL.parse("http://x").query == nil)
        #expect(try ResourceURL.parse("http://x?").query == "")
        #expect(try ResourceURL.parse("http://x").lastPathComponent == nil)
        #expect(try ResourceURL.parse("http://x/%FF").lastPathComponent == "%FF")
    }

    @Test func comparesOrigins() throws {
        func same(_ one: String, _ two: String) throws -> Bool {
            let (left, right) = (try ResourceURL.parse(one), try ResourceURL.parse(two))
            #expect(left.hasSameOrigin(as: right) == (left.origin == right.origin))
            return left.hasSameOrigin(as: right)
        }
        #expect(try same("http://a/x", "http://A:80/y?z"))
        #expect(try same("http://u:p@a/x", "http://a/"))
        #expect(try !same("http://a/", "https://a/"))
        #expect(try !same("http://a/", "http://a:81/"))
        #expect(try !same("http://a/", "http://ab/"))
        #expect(try !same("http://a/", "http://a./"))
        #expect(try !same("https://a:80/", "http://a/"))
    }

    @Test func addsAQuery() throws {
        #expect(try ResourceURL.parse("http://a/b").adding(encodedQuery: "x=1").text == "http://a/b?x=1")
        #expect(try ResourceURL.parse("http://a/b?").adding(encodedQuery: "x=1").text == "http://a/b?x=1")
        #expect(try ResourceURL.parse("http://a/b?y").adding(encodedQuery: "x=1").query == "y&x=1")
        #expect(try ResourceURL.parse("http://a/b?y").adding(encodedQuery: "").query == "y")
    }

    /// RFC 3986, sections 5.4.1 and 5.4.2, less the fragments, which are not sent.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g"), ("g#s/../x", "http://a/b/c/g"),
        ("https://b", "https://b/"), ("  g\t", "http://a/b/c/g"), ("?", "http://a/b/c/d;p?"),
        ("\\\\evil.example\\x", "http://a/b/c/%5C%5Cevil.example%5Cx"), ("/\\evil.example", "http://a/%5Cevil.example"),
    ])
    func resolvesAsTheStandardSays(reference: String, result: String) throws {
        let base = try ResourceURL.parse("http://a/b/c/d;p?q")
        #expect(try base.resolving(reference).text == result)
    }

    @Test(arguments: ["g:h", "http:g", "//", "///x", "//a b", "http://", "/a\r\nX: y", "mailto:a@b", "//\\x"])
    func refusesALocationThatLeadsNowhere(reference: String) throws {
        let base = try ResourceURL.parse("http://a/b/c/d;p?q")
        #expect(throws: URLProblem.self) { try base.resolving(reference) }
    }

    @Test func keepsTheAuthorityOfARelativeReference() throws {
        let base = try ResourceURL.parse("http://u:p@a:8080/b")
        for reference in ["c", "/c", "", "?c"] {
            let url = try base.resolving(reference)
            #expect(url.userInformation == "u:p")
            #expect(url.hasSameOrigin(as: base))
        }
        #expect(try base.resolving("//a:8080/c").userInformation == nil)
        #expect(try base.resolving("http://a:8080/c").userInformation == nil)
    }

    @Test func encodesValuesForTheirPlace() {
        #expect(PercentEncoding.encode("a/b c?&=%") == "a%2Fb%20c%3F%26%3D%25")
        #expect(PercentEncoding.encode("a/b c", keepingSlash: true) == "a/b%20c")
        #expect(PercentEncoding.encode("é~-._") == "%C3%A9~-._")
        #expect(PercentEncoding.decode("a%20b%2Fc%") == "a b/c%")
        #expect(PercentEncoding.decode("%FF") == nil)
        #expect(PercentEncoding.decodeBytes("%fF%0") == [0xFF, UInt8(ascii: "%"), UInt8(ascii: "0")])
    }
}
