import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RunSecretsTests {
    @Test func capturedSecret_isNewOnce_howeverShort() {
        var secrets = RunSecrets([], unwritten: nil)
        #expect(!secrets.hasLearned)
        let found = [KnownSecret(name: "pin", value: "7"), KnownSecret(name: "none", value: "")]
        #expect(secrets.learnCaptured(found).map(\.name) == ["pin"])
        #expect(secrets.learnCaptured(found).isEmpty && secrets.hasLearned)
    }

    /// A short word would be masked wherever it stands by chance.
    @Test func shownPassword_isLearnedFromEightBytesOn() {
        var secrets = RunSecrets([], unwritten: nil)
        #expect(secrets.learnPassword("1234567") == nil)
        #expect(secrets.learnPassword("12345678")?.value == "12345678")
        #expect(secrets.learnPassword("12345678") == nil)
    }

    @Test func capturedSecretInAText_isFound_aPasswordIsNot() {
        var secrets = RunSecrets([], unwritten: nil)
        _ = secrets.learnCaptured([KnownSecret(name: "token", value: "abcdefgh")])
        _ = secrets.learnPassword("password-1")
        #expect(secrets.areCaptured(in: "/x/abcdefgh/y") && !secrets.areCaptured(in: "/x/password-1"))
    }

    @Test func redactorOfTheLog_hidesWhatCameUpSinceItWasAskedFor() {
        var secrets = RunSecrets([KnownSecret(name: "own", value: "of-the-job")], unwritten: nil)
        #expect(secrets.ofTheLog().redacted("of-the-job abcdefgh") == "*** abcdefgh")
        _ = secrets.learnCaptured([KnownSecret(name: "token", value: "abcdefgh")])
        #expect(secrets.ofTheLog().redacted("of-the-job abcdefgh") == "*** ***")
    }
}
