import Testing
import TransferModel

@Suite struct HostPatternTests {
    @Test(arguments: [
        ("example.org", "example.org", 443, true), ("example.org", "a.example.org", 443, false),
        ("EXAMPLE.org", "example.org", 80, true), ("example.org", "example.org.", 80, true),
        ("example.org.", "example.org", 80, true), ("example.org", "notexample.org", 80, false),
        ("*.example.org", "a.example.org", 80, true), ("*.example.org", "a.b.example.org", 80, true),
        ("*.example.org", "example.org", 80, false), ("*.example.org", "badexample.org", 80, false),
        ("*.example.org", ".example.org", 80, false), ("*.example.org", "a.example.org.", 80, true),
        ("*", "anything", 1, true), ("*", "[::1]", 1, true), ("*:8080", "x", 8080, true), ("*:8080", "x", 80, false),
        ("example.org:8080", "example.org", 8080, true), ("example.org:8080", "example.org", 443, false),
        ("*.example.org:8080", "a.example.org", 8080, true), ("127.0.0.1", "127.0.0.1", 1, true),
        ("[::1]", "[::1]", 1, true), ("[0:0::1]:81", "[::1]", 81, true), ("[::1]:81", "[::1]", 82, false),
        ("münchen.example", "xn--mnchen-3ya.example", 80, true),
        ("*.münchen.example", "a.xn--mnchen-3ya.example", 80, true),
    ])
    func matches(pattern: String, host: String, port: UInt16, expected: Bool) throws {
        let pattern = try #require(HostPattern(pattern))
        #expect(pattern.matches(host: host, port: port) == expected)
        #expect(pattern.matches(Origin(scheme: "https", host: host, port: port)) == expected)
    }

    @Test(arguments: [
        "", ".", ":", ":80", "a:", "a:0", "a:+80", "a:65536", "a:b", "a.*", "a*", "*a", "*.", "*.*", "**", "a*b.org",
        "a b", "a/b",
        "a@b", "a?b", "a#b", "http://a", "[::1", "::1", "[x]", "[::1]x", "*.*.a", "a..b", "0x7f.1", "[", "127.1",
    ])
    func refuses(text: String) {
        #expect(HostPattern(text) == nil)
    }

    @Test func numbersOriginsInTheOrderMet() throws {
        var table = OriginTable()
        let one = Origin(scheme: "http", host: "a", port: 80)
        let two = Origin(scheme: "https", host: "a", port: 443)
        #expect([table.id(of: one), table.id(of: two), table.id(of: one)].map(\.raw) == [0, 1, 0])
        #expect(table[table.id(of: two)] == two)
        #expect(table.origins == [one, two])
    }

    /// With the port where one of the patterns has one: without it the message would name a host that is permitted.
    @Test func aBarredPlaceIsNamedAsItWasMeant() throws {
        func place(_ pattern: String) throws -> String {
            let hosts = [try #require(HostPattern(pattern))]
            let text = SecretText(pieces: [.secret(name: "k", value: "v", hosts: hosts)])
            return text.barredPlace(Origin(scheme: "https", host: "a.test", port: 443))
        }
        #expect(try place("a.test:8443") == "a.test:443")
        #expect(try place("b.test") == "a.test")
    }
}
