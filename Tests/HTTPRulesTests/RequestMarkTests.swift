import HTTPRules
import Testing
import TransferModel

/// Whether what one request was answered counts for another.
@Suite struct RequestMarkTests {
    private func mark(
        _ typed: [(String, String)] = [], sent: [(String, String)] = [], proof: String? = nil
    ) -> RequestMark {
        func fields(_ pairs: [(String, String)]) -> [HeaderField] {
            pairs.map { HeaderField(name: $0.0, value: SecretText($0.1)) }
        }
        return RequestMark(typed: fields(typed), sent: fields(typed + sent), proof: proof)
    }

    private func answer(_ vary: String? = nil) -> HeaderBlock { HeaderBlock(vary.map { [("Vary", $0)] } ?? []) }

    @Test func whoeverSaysNothingLeavesNothing() {
        let vary = answer("Accept-Encoding, Authorization")
        #expect(mark([("Accept", "a"), ("X", "y")]).text(answer: vary, key: 1) == nil)
        #expect(mark([("Accept", "b")]).fits(nil))
        #expect(!mark([("Authorization", "Bearer x")]).fits(nil) && !mark([("Cookie", "a=b")]).fits(nil))
        #expect(!mark(proof: "certificate").fits(nil))
        // The cookies of a session come and go.
        #expect(mark(sent: [("Cookie", "a=b")]).fits(nil))
    }

    @Test func aChangeIsNoticedAndNothingIsTold() throws {
        let alice = mark([("Authorization", "Bearer alice")])
        let text = try #require(alice.text(answer: answer(), key: 7))
        #expect(alice.fits(text) && !mark([("Authorization", "Bearer bob")]).fits(text) && !mark().fits(text))
        #expect(!text.contains("alice") && alice.text(answer: answer(), key: 8) != text)
        #expect(!alice.fits("") && !alice.fits("x y") && !alice.fits(String(text.dropLast(3))))
        let proven = try #require(mark(proof: "ntlm alice").text(answer: answer(), key: 7))
        #expect(mark(proof: "ntlm alice").fits(proven) && !mark(proof: "ntlm bob").fits(proven))
    }

    /// An API's key says who asks as `Authorization` does, whatever the server forgot to say in `Vary`.
    @Test(arguments: ["X-Api-Key", "PRIVATE-TOKEN", "Ocp-Apim-Subscription-Key", "My-Key"])
    func headersThatMeanCredentialsCountAlways(_ name: String) throws {
        func asked(_ value: String) -> RequestMark {
            RequestMark(
                typed: [HeaderField(name: name, value: SecretText(value))],
                names: CredentialNames(addingHeaders: ["my-key"]))
        }
        let text = try #require(asked("alice").text(answer: answer(), key: 7))
        #expect(asked("alice").fits(text) && !asked("bob").fits(text) && !mark().fits(text) && !text.contains("alice"))
        #expect(mark([("X-Tenant", "a")]).text(answer: answer(), key: 7) == nil)
    }

    @Test(arguments: ["Cookie, X-Tenant", "cookie,x-tenant, Accept", "*"])
    func whatVaryNamesMustBeTheSame(_ vary: String) throws {
        let first = mark([("X-Tenant", "a")], sent: [("Cookie", "u=1")])
        let text = try #require(first.text(answer: answer(vary), key: 7))
        #expect(first.fits(text))
        #expect(mark([("X-Tenant", "a")], sent: [("cookie", "u=1"), ("Range", "bytes=1-")]).fits(text))
        #expect(!mark([("X-Tenant", "b")], sent: [("Cookie", "u=1")]).fits(text))
        #expect(!mark([("X-Tenant", "a")], sent: [("Cookie", "u=2")]).fits(text))
        #expect(!mark([("X-Tenant", "a")]).fits(text))
    }

    /// Digest and signatures for object stores say each time anew who it is.
    @Test(arguments: [
        (
            "Digest username=\"alice\", realm=\"r\", nonce=\"1\", response=\"2\"",
            "Digest username=\"alice\", realm=\"r\", nonce=\"3\", nc=2, response=\"4\"",
            "Digest username=\"bob\", realm=\"r\", nonce=\"1\", response=\"2\""
        ),
        (
            "AWS4-HMAC-SHA256 Credential=ID/20200101/eu/s3/aws4_request, SignedHeaders=host, Signature=1",
            "AWS4-HMAC-SHA256 Credential=ID/20200102/eu/s3/aws4_request, SignedHeaders=host, Signature=2",
            "AWS4-HMAC-SHA256 Credential=DI/20200101/eu/s3/aws4_request, SignedHeaders=host, Signature=1"
        ),
    ]) func aProofThatChangesIsStillSomebodys(_ first: String, _ second: String, _ other: String) throws {
        let text = try #require(mark(sent: [("Authorization", first)]).text(answer: answer(), key: 7))
        #expect(mark(sent: [("Authorization", second)]).fits(text))
        #expect(!mark(sent: [("Authorization", other)]).fits(text))
    }
}
