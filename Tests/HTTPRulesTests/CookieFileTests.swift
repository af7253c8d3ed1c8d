import HTTPRules
import TestSupport
import Testing
import TransferModel

private let now = WallTime(nanoseconds: 1_800_000_000_000_000_000)

private func read(_ text: String) -> CookieFile.Contents { CookieFile.read(Array(text.utf8), at: now) }

private func jar(_ text: String) -> SessionState {
    var session = SessionConfiguration(name: "s")
    session.cookies.fileBytes = Array(text.utf8)
    return SessionState(session, at: now)
}

/// Cookie files in Netscape's form.
struct CookieFileTests {
    @Test func everyFieldOfALine_isRead() throws {
        let found = read(
            """
            # Netscape HTTP Cookie File
            # a comment

            .example.org\tTRUE\t/shop\tTRUE\t1800000100\tsid\topen
            #HttpOnly_www.example.org\tFALSE\t/\tFALSE\t0\ttoken\ta\tb\r
            www.example.org\tFALSE\t/\tFALSE\t0\tempty
            www.example.org\tFALSE\t/\tFALSE\t1\tended\tx
            """)
        #expect(found.badLines.isEmpty)
        try #require(found.cookies.count == 3)
        let (first, second, third) = (found.cookies[0], found.cookies[1], found.cookies[2])
        #expect(first.domain == "example.org" && !first.isHostOnly && first.path == "/shop" && first.isSecure)
        #expect(first.expires == WallTime(nanoseconds: 1_800_000_100_000_000_000) && first.value.revealed == "open")
        #expect(second.domain == "www.example.org" && second.isHostOnly && second.isHTTPOnly && second.expires == nil)
        #expect(second.value.revealed == "a\tb" && second.value.redacted == "***")
        #expect(third.name == "empty" && third.value.revealed.isEmpty)
        #expect(!first.isPersistent)
    }

    @Test(arguments: [
        ("example.org TRUE / FALSE 0 a b", "1"), ("a\tTRUE\t/\tFALSE\t0", "5"),
        ("a.org\tyes\t/\tFALSE\t0\ta\tb", "`TRUE` or `FALSE`"), ("a.org\tTRUE\t/\t1\t0\ta\tb", "`TRUE` or `FALSE`"),
        ("a.org\tTRUE\t/\tFALSE\tsoon\ta\tb", "number of seconds"),
        ("a.org\tTRUE\t/\tFALSE\t-1\ta\tb", "number of seconds"),
        ("a.org\tTRUE\tx\tFALSE\t0\ta\tb", "does not begin with `/`"),
        (".com\tTRUE\t/\tFALSE\t0\ta\tb", "everybody can register"),
        (".co.uk\tTRUE\t/\tFALSE\t0\ta\tb", "everybody can register"),
        ("\tTRUE\t/\tFALSE\t0\ta\tb", "no host name"), ("a b\tTRUE\t/\tFALSE\t0\ta\tb", "no host name"),
        ("a.org\tTRUE\t/\tFALSE\t0\ta=\tb", "holds a `;`"), ("a.org\tTRUE\t/\tFALSE\t0\ta\tb;c", "holds a `;`"),
        ("a.org\tTRUE\t/\tFALSE\t0\t\t", "neither a name nor a value"),
        ("a.org\tTRUE\t/\tFALSE\t0\t__Secure-a\tb", "promises more"),
        ("a.org\tTRUE\t/\tFALSE\t0\ta\tb\u{1}", "control character"),
    ])
    func wrongLine_isLeftOut_withItsNumberAndTheReason(line: String, why: String) throws {
        let found = read("# x\n\(line)\nb.org\tTRUE\t/\tFALSE\t0\tgood\tx\n")
        #expect(found.cookies.map(\.name) == ["good"])
        #expect(found.badLines.map(\.number) == [2])
        #expect(found.badLines.first?.why.contains(why) == true, "\(found.badLines)")
    }

    @Test func cookieOfAFile_goesWhereAServersWould() throws {
        var lore = jar(".example.org\tTRUE\t/\tFALSE\t0\ta\t1\nx.example.org\tFALSE\t/\tTRUE\t0\tb\t2\n")
        func sent(_ text: String) throws -> String? {
            let url = try ResourceURL.parse(text)
            return lore.dress([], to: url, Visit(asked: url), at: now)?.first?.value.revealed
        }
        #expect(try sent("http://www.example.org/") == "a=1")
        #expect(try sent("https://x.example.org/") == "a=1; b=2")
        #expect(try sent("http://x.example.org/") == "a=1")
        #expect(try sent("https://example.net/") == nil)
    }

    @Test func cookieOfAnEarlierRun_givesWayToTheFile() throws {
        var lore = jar("example.org\tFALSE\t/\tFALSE\t0\ta\tnew\n")
        let url = try ResourceURL.parse("http://example.org/")
        var kept = SessionState.Kept()
        kept.cookies = [
            Cookie(
                name: "a", value: "old", domain: "example.org", isHostOnly: true, path: "/",
                expires: now + .seconds(60), created: now, lastUsed: now)
        ]
        lore.recall(kept, at: now)
        #expect(lore.dress([], to: url, Visit(asked: url), at: now)?.first?.value.revealed == "a=new")
        // By it a server may tell who asks.
        #expect(lore.presets(to: url, Visit(asked: url), at: now) == ["a", "new"])
    }

    @Test func writtenFile_isReadAsTheSameCookies() {
        var random = Seeded("writtenFile_isReadAsTheSameCookies")
        for _ in 0..<200 {
            var cookies: [Cookie] = []
            for number in 0..<random.below(8) {
                var cookie = Cookie(
                    name: random.oneIn(9) ? "" : "c\(number)",
                    value: Cookie.secret("v\(random.below(99)) =\"", of: "c"),
                    domain: random.pick(["example.org", "a.example.org", "10.0.0.1", "[::1]"]), isHostOnly: true,
                    path: random.pick(["/", "/a", "/é"]), created: now, lastUsed: now)
                if cookie.domain.hasSuffix(".org") { cookie.isHostOnly = random.oneIn(2) }
                if random.oneIn(2) { cookie.expires = now + .seconds(Int64(1 + random.below(9999))) }
                cookie.isSecure = random.oneIn(2)
                cookie.isHTTPOnly = random.oneIn(2)
                cookies.append(cookie)
            }
            let text = CookieFile.text(of: cookies, at: now)
            let found = CookieFile.read(text, at: now)
            #expect(found.badLines.isEmpty && found.cookies.map(\.id) == cookies.map(\.id))
            #expect(found.cookies.map(\.value.revealed) == cookies.map(\.value.revealed))
            #expect(found.cookies.map(\.expires) == cookies.map(\.expires))
            #expect(found.cookies.map(\.isSecure) == cookies.map(\.isSecure))
            #expect(found.cookies.map(\.isHTTPOnly) == cookies.map(\.isHTTPOnly))
        }
    }

    /// Whatever a file holds is read to its end, and what is taken of it keeps the rules and can be written and read again.
    @Test func bytesOfAnyKind_makeCookiesThatKeepTheRules() {
        var random = Seeded("bytesOfAnyKind_makeCookiesThatKeepTheRules")
        let pieces = [
            ".example.org", "com", "TRUE", "FALSE", "true", "/", "/a;", "0", "1800000100", "99999999999999999999", "-5",
            "sid",
            "__Host-x", "#HttpOnly_", "#", "\u{0}", "\u{7F}", "é", "", " ", "=", ";",
        ]
        for _ in 0..<3000 {
            var bytes: [UInt8] = []
            for _ in 0..<random.below(30) {
                switch random.below(8) {
                case 0: bytes.append(UInt8(truncatingIfNeeded: random.below(256)))
                case 1: bytes.append(0x0A)
                case 2, 3, 4: bytes.append(0x09)
                default: bytes += Array(random.pick(pieces).utf8)
                }
            }
            if random.oneIn(2) {
                let fields = [".example.org", "TRUE", "/", "FALSE", "0", "n", "v"].map {
                    random.oneIn(5) ? random.pick(pieces) : $0
                }
                bytes += Array(("\n" + fields.joined(separator: "\t") + "\n").utf8)
            }
            let found = CookieFile.read(bytes, at: now)
            for cookie in found.cookies {
                #expect(!cookie.domain.isEmpty && cookie.path.utf8.first == UInt8(ascii: "/"))
                #expect(cookie.isHostOnly || !PublicSuffixes.contains(cookie.domain))
            }
            let again = CookieFile.read(CookieFile.text(of: found.cookies, at: now), at: now)
            #expect(again.badLines.isEmpty && again.cookies.map(\.id) == found.cookies.map(\.id))
        }
    }
}
