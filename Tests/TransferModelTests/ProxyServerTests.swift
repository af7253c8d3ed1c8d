import TestSupport
import Testing
import TransferModel

@Suite struct ProxyServerTests {
    @Test func readsKindHostAndPort() throws {
        let rows = [
            ("http://Gate.Example:3128", "http://gate.example:3128"), ("http://gate.example", "http://gate.example:80"),
            ("http://gate.example:80/", "http://gate.example:80"), ("https://gate.example", "https://gate.example:443"),
            ("socks4://10.0.0.1", "socks4://10.0.0.1:1080"), ("socks4a://gate.example:9", "socks4a://gate.example:9"),
            ("socks5://[::1]:1081", "socks5://[::1]:1081"), ("socks5h://gate.example", "socks5h://gate.example:1080"),
            ("HTTP://gate.example:1", "http://gate.example:1"),
        ]
        for (text, meant) in rows { #expect(try ProxyServer.parse(text).description == meant) }
    }

    @Test func theEnvironmentMaySayLess() throws {
        func read(_ text: String) throws -> ProxyServer { try ProxyServer.parse(text, fromEnvironment: true) }
        #expect(try read("gate.example:3128").description == "http://gate.example:3128")
        #expect(try read("a:b@gate.example:1").user?.revealed == "a")
        #expect(try read("socks://gate.example").description == "socks4://gate.example:1080")
    }

    @Test func refusesWhatIsNone() {
        for text in [
            "", "gate.example:3128", "socks://gate.example", "ftp://gate.example", "http://",
            "http://gate.example/path", "http://a?b",
            "http://gate.example:0", "http://gate.example:99999", "http://a b", "http://a:%0d@gate", "file:///x",
            "http://a%3Ab:c@gate", "http://\(String(repeating: "u", count: 256)):x@gate", "http://%FF:x@gate",
        ] {
            #expect(throws: URLProblem.self, "\(text)") { try ProxyServer.parse(text) }
        }
    }

    @Test func userAndPasswordAreDecodedAndNeverPrinted() throws {
        let proxy = try ProxyServer.parse("http://ada:p%40ss%2Fword:x@gate.example:3128")
        #expect(proxy.user?.revealed == "ada")
        #expect(proxy.password?.revealed == "p@ss/word:x")
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), dumped] {
            #expect(!text.contains("ss/word"))
        }
        #expect(proxy.secrets.map(\.value) == ["p@ss/word:x", "ada:p@ss/word:x"])
        #expect(try ProxyServer.parse("http://ada@gate.example").password == nil)
        #expect(try ProxyServer.parse("http://gate.example").user == nil)
        #expect(try ProxyServer.parse("http://@gate.example").user == nil)
    }

    /// A word of three letters stands everywhere: masked, it would spoil the report and hide nothing.
    @Test func shortPasswordsAreNotLookedFor() throws {
        #expect(try ProxyServer.parse("http://a:b@gate.example").secrets.isEmpty)
        #expect(try ProxyServer.parse("http://ada:abc@gate.example").secrets.map(\.value) == ["ada:abc"])
    }
}
