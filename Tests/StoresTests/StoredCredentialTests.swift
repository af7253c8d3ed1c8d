import HTTPRules
import Stores
import TestSupport
import Testing
import TransferModel

/// Credentials that outlive a run.
struct StoredCredentialTests {
    private func credential(
        _ realm: String?, _ user: String = "u", _ secret: String = "p", _ method: AuthenticationMethod = .basic,
        port: UInt16 = 443, isProxy: Bool = false
    ) -> StoredCredential {
        StoredCredential(
            space: ProtectionSpace(
                origin: Origin(scheme: "https", host: "a.test", port: port), realm: realm, method: method,
                isProxy: isProxy),
            user: user, secret: secret, folders: ["/a/", "/b/"])
    }

    @Test func keptChangedAndForgotten() throws {
        let tree = try TemporaryTree()
        let now = ManualClock().wall
        let all = [
            credential("r"), credential(nil), credential(""), credential("r", "v"), credential("r", port: 444),
            credential("r", "u", "p", .digestSHA256), credential("r", isProxy: true),
            credential("r\nx", "ü", "ö", .bearer),
        ]
        do {
            let store = try Store.open(folder: tree.path)
            let session = try store.session(job: "j", name: "s", now: now)
            try store.learn(session, all.map { .credential(.kept($0)) }, now: now)
            try store.learn(session, [.credential(.kept(credential("r", "u", "changed")))], now: now)
            // Somebody else changed it meanwhile: what was removed is not what is there.
            try store.learn(session, [.credential(.removed(credential("r", "u", "p")))], now: now)
            try store.learn(session, [.credential(.removed(credential(nil)))], now: now)
        }
        let store = try Store.open(folder: tree.path)
        let session = try #require(try store.existingSession(job: "j", name: "s"))
        let expected = Set(all.dropFirst().filter { $0 != credential(nil) } + [credential("r", "u", "changed")])
        #expect(Set(try store.sessionState(session).credentials) == expected)
        let other = try store.session(job: "j", name: "other", now: now)
        #expect(try store.sessionState(other).credentials.isEmpty)
    }
}
