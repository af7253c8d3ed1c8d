import Testing
import TransferModel

/// Texts that Swift takes for one another, and nobody else does.
struct ExactTextTests {
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    @Test func theyAreTold() {
        #expect(composed == decomposed)
        #expect(!composed.isExactly(decomposed) && composed.isExactly("caf\u{E9}"))
        #expect(Set([ExactText(composed), ExactText(decomposed), ExactText(composed)]).count == 2)
        // Of one length, too: two marks in either order.
        #expect("a\u{323}\u{307}" == "a\u{307}\u{323}" && !"a\u{323}\u{307}".isExactly("a\u{307}\u{323}"))
        #expect(ExactText(decomposed) < ExactText(composed) && !(ExactText(composed) < ExactText(decomposed)))
        #expect("".isExactly("") && !"a".isExactly("") && !"a".isExactly("b"))
        let (none, some): (String?, String?) = (nil, "a")
        #expect(none.isExactly(nil) && some.isExactly("a") && !some.isExactly(nil) && !none.isExactly("a"))
    }

    @Test func whatIsShownToAServer() {
        func secret(_ value: String) -> SecretText {
            SecretText(pieces: [.literal("a "), .secret(name: "s", value: value, hosts: nil)])
        }
        #expect(secret(composed) == secret("caf\u{E9}") && secret(composed) != secret(decomposed))
        #expect(SecretText(composed) != SecretText(decomposed) && SecretText(composed) != secret(composed))
        #expect(Set([KnownSecret(name: "s", value: composed), KnownSecret(name: "s", value: decomposed)]).count == 2)
    }

    /// Each writing of each of two secrets is known.
    @Test func bothSecretsAreHidden() {
        let values = [composed, decomposed].map { "\($0)-123456789\nits second line" }
        let redactor = Redactor(values.map { KnownSecret(name: "s", value: $0) })
        for value in values {
            let written = value.split(separator: "\n").joined(separator: "\r\n")
            #expect(redactor.redacted("<\(value)> <\(written)>") == "<***> <***>")
        }
    }
}
