import HTTPRules
import Testing
import TransferModel

/// Digest against the examples of its standards, and against what curl 7.88.1 sent to the same challenges.
struct ChallengeDigestTests {
    private static func state(_ line: String) throws -> DigestState {
        let offer = try #require(OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", line)])).first)
        return DigestState(try #require(DigestChallenge(offer)))
    }

    /// All that one says to `line`.
    private static func answer(
        _ line: String, user: String, password: String, method: String = "GET", target: String, cnonce: String,
        entity: [UInt8]? = []
    ) throws -> RequestAuthorization {
        var state = try state(line)
        let value = state.authorization(
            .found(user: user, password: password),
            for: DigestedRequest(method: method, target: target, entity: { entity }), clientNonce: cnonce)
        return RequestAuthorization(origin: value.map { .header($0) })
    }

    /// RFC 7616, section 3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func rfc7616(_ algorithm: String, _ response: String) throws {
        let line = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        let answer = try Self.answer(
            line, user: "Mufasa", password: "Circle of Life", target: "/dir/index.html",
            cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        #expect(answer.field("response") == response)
        #expect(answer.field("username") == "Mufasa")
        #expect(answer.field("uri") == "/dir/index.html")
        #expect(answer.field("nc") == "00000001")
        #expect(answer.field("qop") == "auth")
        #expect(answer.field("algorithm") == algorithm)
        #expect(answer.field("opaque") == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
        #expect(answer.field("userhash") == nil)
    }

    /// RFC 2617, section 3.5, and RFC 2069, section 2.4, as its erratum has it.
    @Test func olderStandards() throws {
        let nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093"
        let first = try Self.answer(
            "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", nonce=\"\(nonce)\"", user: "Mufasa",
            password: "Circle Of Life", target: "/dir/index.html", cnonce: "0a4f113b")
        #expect(first.field("response") == "6629fae49393a05397450978507c4ef1")
        let second = try Self.answer(
            "Digest realm=\"testrealm@host.com\", nonce=\"\(nonce)\"", user: "Mufasa", password: "CircleOfLife",
            target: "/dir/index.html", cnonce: "0a4f113b")
        #expect(second.field("response") == "1949323746fe6a43ef61f9606e7febea")
        #expect(second.field("cnonce") == nil && second.field("nc") == nil && second.field("qop") == nil)
    }

    /// What `curl --digest -u 'Mu"fa\sa:Circle: of ü'` sent.
    @Test(arguments: [
        (
            #"Digest realm="a \"b\" c", nonce="n0nce==", qop="auth", algorithm=MD5, opaque="op""#, 0,
            "NmUyYmE3MTc0Y2EwYjUxNDYyYmJmMjA5OGIxNGI0ZjU=", "5238dc3658c03dfdf6976a212b8fcb83"
        ),
        (
            #"Digest realm="r", nonce="n1", qop="auth", algorithm=MD5-sess"#, 1,
            "ZjllNDM1NDI5YTg5ZDA3M2I4OTRjNjQ5ZGJkZTE3ZDc=", "cc25be68f073b7f28f4c79a7ae90c455"
        ),
        (
            #"Digest realm="r", nonce="n2", qop="auth", algorithm=SHA-256"#, 2,
            "NDMwMDBmYThmYTA5NTc0NmFhYzZkMDk3YTExMTI3MjY=",
            "bc4b3b42958af57d500729cc854d7957a6707ece69e8960fa50206786dccf034"
        ),
        (
            #"Digest realm="r", nonce="n3", qop="auth", algorithm=SHA-256-sess, opaque="5""#, 3,
            "MTM1YWRkNjA0MjljMGZkMmQyM2MzNjAyMGU4MmYwM2Y=",
            "955fa34c8a279c1d1bec46d7d564994466e3011c0519aa81ee5d712a48ef0828"
        ),
        (#"Digest realm="r", nonce="n4""#, 4, "", "01dca307ba6c9e80226e270fa8fd83e6"),
        (
            #"Digest realm="r", nonce="n5", algorithm=SHA-256, qop="auth", userhash=true"#, 5,
            "Mzg5ODY0NjhhMmQ5NDA0NzM2YzRjYjkxMGJiYmMxY2Q=",
            "d0a2cefd45f07e36cdf1ff9b7eab748ca14a5fa9ab8ca05ec23af49af19bb6b4"
        ),
        (
            #"Digest realm="r", nonce="n6", qop="auth-int""#, 6, "OTkwMzkyOWZjMjI0NDc2NGYxNjg1Yzc0YjYyMGFhNTM=",
            "943eccef1d44fb56aff1d5bba82c2d8f"
        ),
    ])
    func asCurl(_ line: String, _ number: Int, _ cnonce: String, _ response: String) throws {
        let answer = try Self.answer(
            line, user: #"Mu"fa\sa"#, password: "Circle: of ü", target: "/\(number)/dir?q=1&z", cnonce: cnonce)
        #expect(answer.field("response") == response)
        let hashed = "715344bbcdd01b6a2ba1fff17e3e816ce4e8ad169cb481ddf879b8644880e859"
        #expect(answer.field("username") == (number == 5 ? hashed : #"Mu"fa\sa"#))
        #expect(answer.field("userhash") == (number == 5 ? "true" : nil))
        if number == 0 { #expect(answer.toOrigin?.contains(#"realm="a \"b\" c", nonce="n0nce==""#) == true) }
    }

    /// The body is part of the digest where the server wants nothing else, and is at hand.
    @Test func bodies() throws {
        let line = #"Digest realm="r", nonce="n", qop="auth-int""#
        let body = Array("body".utf8)
        let answer = try Self.answer(
            line, user: "u", password: "p", method: "PUT", target: "/x", cnonce: "c", entity: body)
        #expect(answer.field("response") == "c3c60ff5adf3d694ec8c9de6f2ab6a73")
        let unknown = try Self.answer(line, user: "u", password: "p", target: "/x", cnonce: "c", entity: nil)
        #expect(unknown.isEmpty)
    }

    @Test func names() throws {
        let plain = #"Digest realm="r", nonce="n", qop="auth""#
        let raw = try Self.answer(plain, user: "Jäsøn Doe", password: "p", target: "/", cnonce: "c")
        #expect(raw.field("username") == "Jäsøn Doe")
        // RFC 7616, section 3.9.2, has this very form.
        let utf8 = try Self.answer(
            plain + ", charset=UTF-8", user: "Jäsøn Doe", password: "p", target: "/", cnonce: "c")
        #expect(utf8.field("username*") == "UTF-8''J%C3%A4s%C3%B8n%20Doe")
        #expect(utf8.field("username") == nil)
        #expect(utf8.field("response") == raw.field("response"))
    }

    @Test func countsAndNextNonces() throws {
        var state = try Self.state(#"Digest realm="r", nonce="n", qop="auth""#)
        func next() -> (String?, String?) {
            let value = state.authorization(
                .found(user: "u", password: "p"), for: DigestedRequest(method: "GET", target: "/", entity: { [] }),
                clientNonce: "c")
            let answer = RequestAuthorization(origin: value.map { .header($0) })
            return (answer.field("nonce"), answer.field("nc"))
        }
        #expect(next() == ("n", "00000001"))
        #expect(next() == ("n", "00000002"))
        state.take(authenticationInfo: #"rspauth="6629", cnonce="0a", nc=00000002, qop=auth"#)
        #expect(next() == ("n", "00000003"))
        state.take(authenticationInfo: #"rspauth="6629", nextnonce="m", qop=auth"#)
        #expect(next() == ("m", "00000001"))
        // The same again is no other nonce: its count goes on.
        state.take(authenticationInfo: #"nextnonce="m""#)
        #expect(next() == ("m", "00000002"))
        state.take(authenticationInfo: "nextnonce=\"a\u{7F}b\"")
        #expect(next() == ("m", "00000003"))
    }

    /// What cannot be answered is no offer.
    @Test(arguments: [
        "Digest realm=\"r\"", "Digest nonce=\"n\"", "Digest realm=r, nonce=n, algorithm=SHA-512-256",
        "Digest realm=r, nonce=n, qop=\"auth-conf\"", "Digest realm=\"r\u{01}\", nonce=n", "Basic realm=r, nonce=n",
    ])
    func unanswerable(_ line: String) throws {
        let offer = try #require(OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", line)])).first)
        #expect(DigestChallenge(offer) == nil)
    }

    private static let latin = HeaderBlock(
        raw: Array("WWW-Authenticate: Digest realm=\"caf".utf8) + [0xE9] + Array("\", nonce=n\r\n".utf8))

    /// A realm in Latin-1 cannot be said again as it came.
    @Test func realmsThatAreNoText() throws {
        let offer = try #require(OfferedChallenge.all(in: Self.latin).first)
        #expect(DigestChallenge(offer) == nil)
    }

    /// It is told, with the reason, and nobody is waited for who would know what to say.
    @Test func whatCannotBeAnsweredIsTold() throws {
        let rows: [(headers: HeaderBlock, entity: [UInt8]?, words: String)] = [
            (Self.latin, [], "not in UTF-8"),
            (HeaderBlock([("WWW-Authenticate", #"Digest realm=r, nonce=n, qop="auth-int""#)]), nil, "auth-int"),
            (HeaderBlock([("WWW-Authenticate", "Digest realm=r, nonce=n, algorithm=SHA-512-256")]), [], "`algorithm`"),
        ]
        for row in rows {
            for credentials in [[ChallengeClient.password("u", "p")], []] {
                let policy = ChallengePolicy(credentials: credentials, proxies: [], sessionRules: [], taskRules: [])
                let url = ChallengeClient.url("https://example.org/x")
                var (responder, accepted) = (
                    ChallengeResponder(policy.adding(url), named: [url.origin]), AcceptedCredentials()
                )
                let request = ChallengedRequest(url: url, method: "PUT", entity: { row.entity })
                let step = responder.challenged(request, status: 401, row.headers, &accepted) { "c" }
                #expect(step.records.map(\.disposition) == ["default"])
                #expect(step.records.map(\.method) == ["digest"])
                #expect(!step.isUnanswered)
                #expect(credentials.isEmpty ? step.obstacle == nil : step.obstacle?.contains(row.words) == true)
            }
        }
    }

    /// What can be answered is, whatever stands beside it.
    @Test func theWayThatCanBeGoneIsGone() throws {
        var client = ChallengeClient([ChallengeClient.password("u", "p")])
        let shown = client.challenged("Digest realm=r, nonce=n, algorithm=SHA-512-256", "Basic realm=\"r\"")
        #expect(shown?.toOrigin?.hasPrefix("Basic ") == true)
        #expect(client.records.map { "\($0.method) \($0.disposition)" } == ["basic use"])
    }
}
