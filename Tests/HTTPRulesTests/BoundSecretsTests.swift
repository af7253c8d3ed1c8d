import HTTPRules
import Testing
import TransferModel

@Suite struct BoundSecretsTests {
    private static func secret(_ value: String, _ host: String?) -> KnownSecret {
        KnownSecret(name: "key", value: value, hosts: host.flatMap { HostPattern($0) }.map { [$0] })
    }

    @Test(arguments: [
        ("https://elsewhere.org/?k=s3cret+/x", true), ("https://elsewhere.org/?k=s3cret%2B%2Fx", true),
        ("https://elsewhere.org/czNjcmV0Ky94", true), ("https://example.org/?k=s3cret+/x", false),
        ("https://elsewhere.org/?k=s3", false),
    ])
    func aBoundSecretStaysAtItsHosts(_ url: String, _ isBarred: Bool) throws {
        let bound = BoundSecrets([Self.secret("s3cret+/x", "example.org")])
        #expect(try (bound.barred(from: ResourceURL.parse(url))?.secret == "key") == isBarred)
    }

    /// Where only the port made it another place, the port is told.
    @Test(arguments: [("example.org:8443", "example.org:443"), ("other.org", "example.org")])
    func thePlaceIsNamed(_ host: String, _ place: String) throws {
        let bound = BoundSecrets([Self.secret("s3cret+/x", host)])
        #expect(try bound.barred(from: ResourceURL.parse("https://example.org/?k=s3cret+/x"))?.place == place)
    }

    /// A part of a URL's path is no secret of its own: a redirect may hold it.
    @Test func theWholeOfItIsBound() throws {
        let bound = BoundSecrets([Self.secret("https://h.example/product-2024-build/f?k=s3cret-0123456", "h.example")])
        #expect(try bound.barred(from: ResourceURL.parse("https://cdn.example/product-2024-build/f")) == nil)
    }

    /// What holds a bound secret goes where that may go, whatever captured it.
    @Test func captured() throws {
        let (home, far) = (try #require(HostPattern("h.example")), try #require(HostPattern("far.example")))
        let secret = Self.secret("s3cret+/x", "h.example")
        let bound = BoundSecrets([secret])
        let captures = [
            CapturedValue(name: "echo", text: "you sent s3cret%2B%2Fx"), CapturedValue(name: "other", text: "plain"),
            CapturedValue(name: "far", text: "s3cret+/x", isSecret: true, hosts: [far]),
            CapturedValue(name: "both", text: "s3cret+/x", hosts: [far, home]),
        ]
        let found = bound.binding(captures, but: [])
        #expect(found.map(\.isSecret) == [true, false, true, true])
        #expect(found.map(\.hosts) == [[home], nil, [], [home]])
        #expect(bound.binding(captures, but: [secret]) == captures, "what the job binds itself it may free itself")
    }

    /// Of a list only the texts with the secret are bound.
    @Test func aListIsBoundTextByText() throws {
        let home = try #require(HostPattern("h.example"))
        let bound = BoundSecrets([Self.secret("s3cret+/x", "h.example")])
        let rows: [PlainValue] = [
            .map([
                .init(key: "url", value: .string("/f?k=s3cret%2B%2Fx")), .init(key: "name", value: .string("first")),
            ]),
            .string("second"),
        ]
        let list = try #require(
            bound.binding([CapturedValue(name: "rows", text: "", value: .list(rows))], but: []).first)
        #expect(list.isSecret && list.hosts == [home] && list.secretTexts == ["/f?k=s3cret%2B%2Fx"])
        #expect(list.isSecret("/f?k=s3cret%2B%2Fx") && !list.isSecret("first") && !list.isSecret("second"))
        // What the job itself calls secret stays so as a whole.
        let own = CapturedValue(name: "rows", text: "", value: .list(rows), isSecret: true)
        #expect(bound.binding([own], but: []).first?.isSecret("second") == true)
    }

    @Test func whatIsShortOrBoundToNobodyBarsNothing() throws {
        let url = try ResourceURL.parse("https://elsewhere.org/short/unbound-value")
        var bound = BoundSecrets([Self.secret("short", "example.org"), Self.secret("unbound-value", nil)])
        #expect(bound.barred(from: url) == nil)
        bound.add([Self.secret("unbound-value", "example.org")])
        #expect(bound.barred(from: url)?.secret == "key")
    }
}
