import HTTPRules
import TestSupport
import Testing
import TransferModel

/// `WWW-Authenticate` as servers write it, right and wrong.
struct ChallengeParsingTests {
    private static func text(_ challenge: OfferedChallenge) -> String {
        ([challenge.scheme, challenge.token.map { "<\($0)>" }].compactMap { $0 }
            + challenge.parameters.map { "\($0.name)=[\($0.value)]" }).joined(separator: " ")
    }

    private static func read(_ lines: String...) -> [String] {
        OfferedChallenge.all(in: HeaderBlock(lines.map { ("WWW-Authenticate", $0) })).map(text)
    }

    @Test func wellFormed() {
        #expect(Self.read(#"Basic realm="simple""#) == ["basic realm=[simple]"])
        // RFC 9110, section 11.6.1.
        #expect(
            Self.read(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#)
                == ["basic realm=[simple]", #"newauth realm=[apps] type=[1] title=[Login to "apps"]"#])
        #expect(Self.read("Negotiate", "NTLM") == ["negotiate", "ntlm"])
        #expect(Self.read("Negotiate, NTLM, Basic realm=x") == ["negotiate", "ntlm", "basic realm=[x]"])
        #expect(Self.read("NTLM TlRMTVNTUAACAAAA==") == ["ntlm <TlRMTVNTUAACAAAA==>"])
        #expect(Self.read("Negotiate YII=, Digest nonce=abc") == ["negotiate <YII=>", "digest nonce=[abc]"])
        #expect(Self.read("DIGEST ReAlM = \"a\" ,\tnonce\t=\t\"b\"") == ["digest realm=[a] nonce=[b]"])
        #expect(
            Self.read(#"Digest realm="a, Basic realm=x", qop="auth,auth-int""#)
                == ["digest realm=[a, Basic realm=x] qop=[auth,auth-int]"])
        #expect(Self.read("Basic") == ["basic"])
        #expect(Self.read("Basic ,realm=\"x\"") == ["basic realm=[x]"])
        #expect(Self.read("") == [])
    }

    @Test func broken() {
        #expect(
            Self.read(#"Basic realm="never closed, Digest realm=x"#) == ["basic realm=[never closed, Digest realm=x]"])
        #expect(Self.read(#"Basic realm="ends in \"#) == [#"basic realm=[ends in \]"#])
        #expect(Self.read("Basic realm=") == ["basic <realm=>"])
        #expect(Self.read(",, ,Basic realm=x,,") == ["basic realm=[x]"])
        #expect(Self.read("=x, Basic realm=y") == ["basic realm=[y]"])
        #expect(Self.read("realm=\"a, b\", Basic realm=y") == ["basic realm=[y]"])
        #expect(Self.read("\"quoted, Basic\", Basic realm=y") == ["basic realm=[y]"])
        #expect(Self.read("Basic realm=two words") == ["basic realm=[two]", "words"])
        // Of two realms the first counts.
        let twice = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", "Basic realm=a, realm=b")]))
        #expect(twice.first?["realm"] == "a")
    }

    /// The proxy's lines are not the server's.
    @Test func twoFields() {
        let headers = HeaderBlock([("WWW-Authenticate", "Basic"), ("Proxy-Authenticate", "Digest realm=p")])
        #expect(OfferedChallenge.all(in: headers).map(\.scheme) == ["basic"])
        #expect(OfferedChallenge.all(in: headers, ofProxy: true).map(\.scheme) == ["digest"])
    }

    @Test func bounded() {
        let many = String(repeating: "a,", count: 1000)
        #expect(Self.read(many).count == 32)
        #expect(Self.read(many, many).count == 32)
        let parameters = "Digest " + (0..<1000).map { "p\($0)=1" }.joined(separator: ",")
        #expect(OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", parameters)])).first?.parameters.count == 32)
        #expect(Self.read("Basic realm=" + String(repeating: "x", count: 70_000)) == [])
    }

    /// Whatever comes: no crash, within bounds, and what is read says the same when it is written again.
    @Test func anyBytes() {
        var random = Seeded("ChallengeParsingTests.anyBytes")
        let pieces = [
            "Basic", "Digest", "NTLM", "Negotiate", " ", ",", "=", "\"", "\\", "realm", "nonce", "qop", "auth", "stale",
            "\t", "a", "==", "é", "/", "\0", "charset=UTF-8", "algorithm=SHA-256",
        ].map { Array($0.utf8) }
        var read = 0
        for _ in 0..<Rounds.scaled(3_000) {
            var line = (0..<random.below(20)).flatMap { _ in random.pick(pieces) }
            if random.oneIn(3), !line.isEmpty { line[random.below(line.count)] = random.bytes(1)[0] }
            let head = HeaderBlock(raw: Array("WWW-Authenticate: ".utf8) + line.filter { $0 != 0x0A } + [0x0D, 0x0A])
            let challenges = OfferedChallenge.all(in: head)
            read += challenges.count
            #expect(challenges.count <= 32)
            let again = challenges.map { challenge in
                let parameters = challenge.parameters.map { "\($0.name)=\(quoted($0.value))" }.joined(separator: ", ")
                return
                    "\(challenge.scheme) \(challenge.token.map { parameters.isEmpty ? $0 : "\($0), " } ?? "")\(parameters)"
            }
            let second = OfferedChallenge.all(in: HeaderBlock(again.map { ("WWW-Authenticate", $0) }))
            #expect(second == challenges, "\(String(decoding: line, as: UTF8.self))")
        }
        #expect(read > 1_000)
    }

    private func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        return "\"\(escaped)\""
    }
}
