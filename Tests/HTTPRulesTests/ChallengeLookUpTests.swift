import HTTPRules
import TestSupport
import Testing
import TransferModel

/// `.netrc` files and git-credential helpers: what they say, and what is not believed.
struct ChallengeLookUpTests {
    private func login(_ text: String, _ host: String, user: String? = nil) -> String? {
        guard case .password(let name, let password)? = Netrc(Array(text.utf8))?.secret(for: host, user: user) else {
            return nil
        }
        return "\(name.revealed):\(password.revealed)"
    }

    @Test func machines() {
        let text = """
            # machine example.org login comment password no
            machine example.org login u password p
            machine\tother.example
                login o   # a remark
                account 7
                password "two \\"words\\" \\\\ and\\ta tab"
            macdef init
            machine example.net login macro password no

            machine Example.NET login n password q
            machine example.org login second password s
            machine ::1 login six password 6
            default login anonymous password me@
            """
        #expect(login(text, "example.org") == "u:p")
        #expect(login(text, "EXAMPLE.org") == "u:p")
        #expect(login(text, "example.org", user: "second") == "second:s")
        #expect(login(text, "other.example") == "o:two \"words\" \\ and\ta tab")
        #expect(login(text, "example.net") == "n:q")
        #expect(login(text, "[::1]") == "six:6")
        #expect(login(text, "www.example.org") == "anonymous:me@")
        #expect(login(text, "www.example.org", user: "x") == nil)
    }

    @Test func oddFiles() {
        #expect(login("", "a") == nil)
        #expect(login("machine a", "a") == nil)
        #expect(login("machine a login u", "a") == nil)
        #expect(login("machine a password p", "a") == ":p")
        #expect(login("machine a password p", "a", user: "me") == "me:p")
        #expect(login("login u password p machine a", "a") == nil)
        #expect(login("machine a login u password p password q", "a") == "u:q")
        #expect(login("machine a login u password \"\"", "a") == "u:")
        #expect(login("machine a login u password p\r\nmachine b login v password q\r\n", "a") == "u:p")
        #expect(login("machine", "a") == nil)
        #expect(login("machine a login u password \"never closed\nmachine b login v password q", "b") == nil)
        #expect(Netrc(Array("machine a\0b".utf8)) == nil)
        #expect(Netrc([0xFF]) == nil)
        #expect(Netrc([UInt8](repeating: 0x20, count: Netrc.longest + 1)) == nil)
        #expect(login("macdef x\nmachine a login u password p", "a") == nil)
    }

    /// Any words in any order: no crash, and only what stands there comes out.
    @Test func anyWords() {
        var random = Seeded("ChallengeLookUpTests.anyWords")
        let words = [
            "machine", "default", "login", "password", "account", "macdef", "a", "b", "\n", "\n\n", "#", "\"", "\\",
            "\"a b\"", "\"\\\"\"", "é", "\t",
        ]
        for _ in 0..<Rounds.scaled(2_000) {
            let text = (0..<random.below(30)).map { _ in random.pick(words) + random.pick([" ", "\n", ""]) }.joined()
            guard let found = login(text, "a") else { continue }
            #expect(text.contains("password") && found.utf8.count <= text.utf8.count)
        }
    }

    // MARK: Helpers

    private static func query(_ url: String, user: String? = nil) -> CredentialQuery {
        CredentialQuery(source: .helper(["x"]), origin: ChallengeClient.url(url).origin, user: user)
    }

    private static func said(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test func questions() {
        let query = Self.query("https://example.org:8443/secret/path", user: "me")
        #expect(Self.said(GitCredential.question(query)) == "protocol=https\nhost=example.org:8443\nusername=me\n\n")
        #expect(
            Self.said(GitCredential.question(query, secret: .found(user: "me", password: "p=q")))
                == "protocol=https\nhost=example.org:8443\nusername=me\npassword=p=q\n\n")
        #expect(Self.said(GitCredential.question(Self.query("https://[::1]/"))) == "protocol=https\nhost=[::1]\n\n")
        // One line would become two.
        for bad in ["a\nhost=evil", "a\0", "a\rb"] {
            #expect(GitCredential.question(Self.query("https://example.org/", user: bad)) == nil)
            #expect(GitCredential.question(query, secret: .found(user: "u", password: bad)) == nil)
        }
    }

    @Test func answers() {
        let now = ManualClock().wall
        func answer(_ text: String, user: String? = nil) -> GitCredential.Answer {
            GitCredential.answer(Array(text.utf8), to: Self.query("https://example.org:8443/", user: user), at: now)
        }
        let secret = GitCredential.Answer.secret(.found(user: "u", password: "p=q "))
        #expect(answer("username=u\npassword=p=q \n") == secret)
        #expect(
            answer("protocol=https\nhost=Example.org:8443\nusername=u\npassword=p=q \nnew[]=1\n\nusername=x") == secret)
        #expect(answer("username=x\nusername=u\npassword=p=q ") == secret)
        #expect(answer("") == .none)
        #expect(answer("username=u\n") == .none)
        #expect(answer("host=evil.example\nusername=u\npassword=p\n") == .none)
        #expect(answer("protocol=http\nusername=u\npassword=p\n") == .none)
        #expect(answer("username=u\npassword=p\n", user: "v") == .none)
        #expect(answer("quit=1\nusername=u\npassword=p\n") == .quit)
        #expect(answer("quit=0\nusername=u\npassword=p=q \n") == secret)
        #expect(answer("usage: helper\n") == .broken)
        #expect(answer("username=u\0\npassword=p\n") == .broken)
        #expect(answer("username=u\r\npassword=p\r\n") == .broken)
        #expect(answer(String(repeating: "a=b\n", count: 20_000)) == .broken)
        let seconds = now.nanoseconds / 1_000_000_000
        #expect(answer("password_expiry_utc=\(seconds)\nusername=u\npassword=p=q \n") == .none)
        #expect(answer("password_expiry_utc=\(seconds + 1)\nusername=u\npassword=p=q \n") == secret)
    }
}
