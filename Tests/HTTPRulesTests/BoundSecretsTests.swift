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
        #expect(try (bound.barred(from: ResourceURL.parse(url)) == "key") == isBarred)
    }

    @Test func whatIsShortOrBoundToNobodyBarsNothing() throws {
        let url = try ResourceURL.parse("https://elsewhere.org/short/unbound-value")
        var bound = BoundSecrets([Self.secret("short", "example.org"), Self.secret("unbound-value", nil)])
        #expect(bound.barred(from: url) == nil)
        bound.add([Self.secret("unbound-value", "example.org")])
        #expect(bound.barred(from: url) == "key")
    }
}
